package engine

import (
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"
)

// rawConn speaks frames to an engine, without the SDK.
type rawConn struct {
	t    testing.TB
	conn net.Conn
}

func dialRaw(t testing.TB, e *Engine) *rawConn {
	t.Helper()
	conn, err := net.Dial("tcp", e.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &rawConn{t: t, conn: conn}
}

func (c *rawConn) close() { _ = c.conn.Close() }

// frame is a request as it goes over the wire.
func frame(code uint32, payload []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(payload)+4))
	b = binary.LittleEndian.AppendUint32(b, code)
	return append(b, payload...)
}

func (c *rawConn) write(b []byte) {
	c.t.Helper()
	if _, err := c.conn.Write(b); err != nil {
		c.t.Fatalf("write: %v", err)
	}
}

// read reads one response and checks what holds for all of them.
func (c *rawConn) read() (status uint32, body []byte) {
	c.t.Helper()
	var head [8]byte
	if _, err := io.ReadFull(c.conn, head[:]); err != nil {
		c.t.Fatalf("read response: %v", err)
	}
	status = binary.LittleEndian.Uint32(head[:])
	body = make([]byte, binary.LittleEndian.Uint32(head[4:]))
	if _, err := io.ReadFull(c.conn, body); err != nil {
		c.t.Fatalf("read response of %d bytes: %v", len(body), err)
	}
	if status != 0 && len(body) > 0 {
		c.t.Errorf("status %d came with a body of %d bytes", status, len(body))
	}
	if len(body) == 1 {
		c.t.Error("a body of one byte, which the SDK does not read")
	}
	return status, body
}

func (c *rawConn) do(code uint32, payload []byte) (status uint32, body []byte) {
	c.t.Helper()
	c.write(frame(code, payload))
	return c.read()
}

// closed reports whether the server has closed the connection.
func (c *rawConn) closed() bool {
	var b [1]byte
	_, err := c.conn.Read(b[:])
	return err != nil
}

// login is the payload of a login.
func login(user, password string) []byte {
	b := append([]byte{byte(len(user))}, user...)
	b = append(b, byte(len(password)))
	b = append(b, password...)
	return append(b, make([]byte, 8)...)
}

// loginRoot logs in as the root user.
func (c *rawConn) loginRoot(e *Engine) {
	c.t.Helper()
	user, password := e.Credentials()
	if status, _ := c.do(38, login(user, password)); status != 0 {
		c.t.Fatalf("login: status %d", status)
	}
}
