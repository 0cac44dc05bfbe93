package bridge

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"reflect"
	"syscall"
	"time"
	"unsafe"

	"github.com/apache/iggy/foreign/go/client/tcp"
)

// The SDK's client keeps its connection to itself and has no deadlines: a call
// to a server that stalls never returns, and closing the client waits for that
// call. The bridge therefore reaches for the connection inside. With it a call
// that takes too long is ended rather than left behind, Nagle's algorithm is
// turned off, and a connection that the server closed while it lay idle is
// noticed before messages are sent into it.
//
// This depends on the SDK's private layout, so it holds for the SDK version in
// go.mod only; a test fails when another one is used.

// socketField is the field of the SDK's client that holds its connection.
const socketField = "conn"

// errSDKLayout says that the SDK's client is not as this file expects.
var errSDKLayout = errors.New("the Iggy SDK's client has no field " + socketField + " of type net.Conn: this version of the SDK is not supported")

// socket is the connection inside an SDK client.
type socket struct {
	conn net.Conn
	tcp  *net.TCPConn
	tls  bool
}

// socketOf finds a client's connection. Nobody may use the client meanwhile.
func socketOf(client *tcp.IggyTcpClient) (*socket, error) {
	field := reflect.ValueOf(client).Elem().FieldByName(socketField)
	if !field.IsValid() || field.Type() != reflect.TypeFor[net.Conn]() {
		return nil, errSDKLayout
	}
	conn := *(*net.Conn)(unsafe.Pointer(field.UnsafeAddr()))
	s := &socket{conn: conn}
	switch c := conn.(type) {
	case *net.TCPConn:
		s.tcp = c
	case *tls.Conn:
		s.tls = true
		tcpConn, ok := c.NetConn().(*net.TCPConn)
		if !ok {
			return nil, fmt.Errorf("the Iggy SDK's connection is a %T", c.NetConn())
		}
		s.tcp = tcpConn
	default:
		return nil, fmt.Errorf("the Iggy SDK's connection is a %T", conn)
	}
	if err := s.tcp.SetNoDelay(true); err != nil {
		return nil, fmt.Errorf("turning Nagle's algorithm off: %w", err)
	}
	return s, nil
}

// limit makes whatever is or will be done on the connection fail at a time.
func (s *socket) limit(until time.Time) error { return s.conn.SetDeadline(until) }

// abort ends the connection with a reset: what was not sent yet of a request is
// discarded, so that a request given up does not go out later.
func (s *socket) abort() {
	// Neither can fail in a way that matters: the connection is useless already.
	_ = s.tcp.SetLinger(0)
	_ = s.tcp.Close()
}

// errSocketStale says that a connection is not to be used again.
var errSocketStale = errors.New("the connection was closed by iggy")

// check reports whether a connection that lay idle can still be used: the
// server did not close it, and did not send anything unasked, as it does when
// it shuts down.
func (s *socket) check() error {
	raw, err := s.tcp.SyscallConn()
	if err != nil {
		return err
	}
	result := error(nil)
	err = raw.Read(func(fd uintptr) bool {
		var b [1]byte
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		switch {
		case err == syscall.EAGAIN || err == syscall.EINTR:
		case err != nil:
			result = err
		case n == 0:
			result = errSocketStale
		case !s.tls:
			// Under TLS there may be session tickets to read.
			result = errSocketStale
		}
		return true
	})
	return errors.Join(err, result)
}
