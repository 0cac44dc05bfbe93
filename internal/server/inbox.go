package server

import (
	"io"
	"net"
	"sync"
)

// readBufferBytes is large enough for most requests without records, so that
// size and frame come in one system call.
const readBufferBytes = 4 << 10

var readBuffers = sync.Pool{New: func() any { return new([readBufferBytes]byte) }}

// inbox holds what has been read from a client and not yet been taken. It has a
// buffer only when there is something in it.
type inbox struct {
	nc     net.Conn
	socket *socket // nil: nc itself is to be read

	buf      *[readBufferBytes]byte
	from, to int
}

func (in *inbox) buffered() int { return in.to - in.from }

// bytes are those that are there, valid until the next call.
func (in *inbox) bytes() []byte {
	if in.buf == nil {
		return nil
	}
	return in.buf[in.from:in.to]
}

// room is where more can be read into, never empty while less than a buffer is
// held.
func (in *inbox) room() []byte {
	if in.buf == nil {
		in.buf = readBuffers.Get().(*[readBufferBytes]byte)
	}
	if in.to == readBufferBytes {
		in.to = copy(in.buf[:], in.buf[in.from:in.to])
		in.from = 0
	}
	return in.buf[in.to:]
}

// shrink gives an empty buffer back.
func (in *inbox) shrink() {
	if in.buf != nil && in.buffered() == 0 {
		readBuffers.Put(in.buf)
		in.buf, in.from, in.to = nil, 0, 0
	}
}

// discard takes n of the bytes that are there.
func (in *inbox) discard(n int) {
	if in.from += n; in.from == in.to {
		in.shrink()
	}
}

// release gives the buffer back with whatever is in it.
func (in *inbox) release() { in.discard(in.buffered()) }

// fill reads what the client has sent, at least one byte.
func (in *inbox) fill() error {
	var n int
	var err error
	if in.socket != nil {
		n, err = in.socket.fill(in)
	} else {
		n, err = in.nc.Read(in.room())
	}
	in.to += n
	in.shrink()
	if n > 0 {
		return nil // an error comes again
	}
	return err
}

// await reads until n bytes are there, at most as many as a buffer holds.
func (in *inbox) await(n int) error {
	for in.buffered() < n {
		if err := in.fill(); err != nil {
			return err
		}
	}
	return nil
}

// readFull fills p.
func (in *inbox) readFull(p []byte) error {
	for len(p) > 0 {
		if n := copy(p, in.bytes()); n > 0 {
			in.discard(n)
			p = p[n:]
			continue
		}
		if len(p) >= readBufferBytes {
			_, err := io.ReadFull(in.nc, p)
			return err
		}
		if err := in.fill(); err != nil {
			return err
		}
	}
	return nil
}
