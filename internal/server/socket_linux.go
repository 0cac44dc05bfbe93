package server

import (
	"errors"
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// socket reads and writes a connection's socket without a buffer that waits for
// bytes, and without waiting for a client that does not read. Each direction is
// used by one goroutine at a time.
type socket struct {
	raw syscall.RawConn

	// onReadable and onWritable are what raw calls; bound once.
	onReadable, onWritable func(fd uintptr) bool

	in      *inbox // what onReadable reads into
	readN   int
	readErr error

	out      net.Buffers // what onWritable writes
	writeN   int
	writeErr error
}

// newSocket returns nil for a connection that is not a socket itself.
func newSocket(nc net.Conn) *socket {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	s := &socket{raw: raw}
	s.onReadable, s.onWritable = s.readNow, s.writeNow
	return s
}

// fill waits until there is something to read and reads it. The inbox has a
// buffer only while there are bytes in it: thousands of connections wait here.
func (s *socket) fill(in *inbox) (int, error) {
	s.in = in
	err := s.raw.Read(s.onReadable)
	s.in = nil
	if err != nil {
		return 0, err
	}
	return s.readN, s.readErr
}

func (s *socket) readNow(fd uintptr) (done bool) {
	n, err := unix.Read(int(fd), s.in.room())
	for err == unix.EINTR {
		n, err = unix.Read(int(fd), s.in.room())
	}
	switch {
	case errors.Is(err, unix.EAGAIN):
		s.in.shrink()
		return false
	case err == nil && n == 0:
		err = io.EOF
	}
	s.readN, s.readErr = max(n, 0), err
	return true
}

// tryWrite writes as much as the socket takes at once, which may be nothing.
func (s *socket) tryWrite(segments net.Buffers) (int, error) {
	s.out = segments
	err := s.raw.Write(s.onWritable)
	s.out = nil
	if err != nil {
		return 0, err
	}
	return s.writeN, s.writeErr
}

func (s *socket) writeNow(fd uintptr) (done bool) {
	n, err := write(int(fd), s.out)
	if errors.Is(err, unix.EAGAIN) {
		err = nil
	}
	s.writeN, s.writeErr = max(n, 0), err
	return true
}

// write is one system call that was not interrupted.
func write(fd int, segments net.Buffers) (n int, err error) {
	for {
		if len(segments) == 1 {
			n, err = unix.Write(fd, segments[0])
		} else {
			n, err = unix.Writev(fd, segments)
		}
		if err != unix.EINTR {
			return n, err
		}
	}
}
