package server

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// peerState looks whether the client has gone, also behind bytes that have not
// been read yet: closed means that it has closed its sending side, reset that
// the connection no longer exists.
func peerState(nc net.Conn) (closed, reset bool) {
	if wrapped, ok := nc.(interface{ NetConn() net.Conn }); ok {
		nc = wrapped.NetConn() // TLS
	}
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return false, false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return false, true // only a closed connection has none
	}
	err = raw.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		for {
			_, pollErr := unix.Poll(fds, 0)
			if !errors.Is(pollErr, unix.EINTR) {
				break
			}
		}
		closed = fds[0].Revents&unix.POLLRDHUP != 0
		reset = fds[0].Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0
	})
	return closed, reset || err != nil
}
