// Package rawclient speaks frames of Iggy 0.8's TCP protocol without the SDK, for
// tests: it can send what the SDK cannot, and sees what the SDK hides.
package rawclient

import (
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"
)

// patience bounds everything a connection does.
const patience = 2 * time.Minute

// Conn is one connection of a test, which it fails on broken I/O.
type Conn struct {
	Net net.Conn
	tb  testing.TB
}

// Dial connects; the connection is closed when the test ends.
func Dial(tb testing.TB, address string) *Conn {
	tb.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		tb.Fatal(err)
	}
	c := New(tb, conn)
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return c
}

// New speaks over a connection that somebody else has made and will close.
func New(tb testing.TB, conn net.Conn) *Conn { return &Conn{Net: conn, tb: tb} }

// Close closes the connection. It may have been closed before.
func (c *Conn) Close() { _ = c.Net.Close() }

// Frame is a request as it goes over the wire.
func Frame(code uint32, payload []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(payload)+4))
	b = binary.LittleEndian.AppendUint32(b, code)
	return append(b, payload...)
}

// Write sends bytes as they are.
func (c *Conn) Write(b []byte) {
	c.tb.Helper()
	if _, err := c.Net.Write(b); err != nil {
		c.tb.Fatalf("write: %v", err)
	}
}

// Push sends bytes beside whoever reads: a server that answers before it has read
// all may stop reading for as long as its answers are not taken. It ends with the
// bytes or with the connection; wait says that it has.
func (c *Conn) Push(b []byte) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = c.Net.Write(b) // how far it came is nobody's concern
	}()
	return func() { <-done }
}

// ReadWithin is Read for a server that may not answer at all: it waits for so long,
// and reports whether there was an answer. The connection is of no more use then.
func (c *Conn) ReadWithin(d time.Duration) (status uint32, answered bool) {
	c.tb.Helper()
	if err := c.Net.SetReadDeadline(time.Now().Add(d)); err != nil {
		c.tb.Fatal(err)
	}
	var head [8]byte
	if _, err := io.ReadFull(c.Net, head[:]); err != nil {
		return 0, false
	}
	return binary.LittleEndian.Uint32(head[:]), true
}

// Read reads one response and checks what holds for all of them: errors have no body,
// and no body is a single byte, which the SDK would not read.
func (c *Conn) Read() (status uint32, body []byte) {
	c.tb.Helper()
	var head [8]byte
	if _, err := io.ReadFull(c.Net, head[:]); err != nil {
		c.tb.Fatalf("read response: %v", err)
	}
	status = binary.LittleEndian.Uint32(head[:])
	body = make([]byte, binary.LittleEndian.Uint32(head[4:]))
	if _, err := io.ReadFull(c.Net, body); err != nil {
		c.tb.Fatalf("read response of %d bytes: %v", len(body), err)
	}
	if status != 0 && len(body) > 0 {
		c.tb.Errorf("status %d came with a body of %d bytes", status, len(body))
	}
	if len(body) == 1 {
		c.tb.Error("a body of one byte, which the SDK does not read")
	}
	return status, body
}

// Do sends a request and reads the response.
func (c *Conn) Do(code uint32, payload []byte) (status uint32, body []byte) {
	c.tb.Helper()
	c.Write(Frame(code, payload))
	return c.Read()
}

// Closed waits for the server to close the connection, and reports whether it did so
// without sending more.
func (c *Conn) Closed() bool {
	var b [1]byte
	_, err := c.Net.Read(b[:])
	return err != nil
}

// Login is the payload of a login.
func Login(user, password string) []byte {
	b := append([]byte{byte(len(user))}, user...)
	b = append(b, byte(len(password)))
	b = append(b, password...)
	return append(b, make([]byte, 8)...) // neither version nor context
}

// Name is a text behind its length in one byte.
func Name(s string) []byte { return append([]byte{byte(len(s))}, s...) }

// NameID identifies by name, NumberID by number.
func NameID(s string) []byte { return append([]byte{2, byte(len(s))}, s...) }

// NumberID identifies by number.
func NumberID(n uint32) []byte { return binary.LittleEndian.AppendUint32([]byte{1, 4}, n) }

// The partitionings.

// ToPartition sends to one partition.
func ToPartition(id uint32) []byte { return binary.LittleEndian.AppendUint32([]byte{2, 4}, id) }

// Balanced sends to the partitions in turn.
func Balanced() []byte { return []byte{1, 0} }

// ByKey sends to the partition that belongs to a key.
func ByKey(key string) []byte { return append([]byte{3, byte(len(key))}, key...) }

// Send builds a SendMessages payload; topic is the stream's identifier followed by the
// topic's.
func Send(topic, partitioning []byte, payloads ...string) []byte {
	meta := append(append([]byte(nil), topic...), partitioning...)
	meta = binary.LittleEndian.AppendUint32(meta, uint32(len(payloads)))
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(meta)))
	b = append(b, meta...)
	var messages []byte
	for _, p := range payloads {
		m := make([]byte, 64)
		binary.LittleEndian.PutUint32(m[52:], uint32(len(p)))
		messages = append(append(messages, m...), p...)
		b = binary.LittleEndian.AppendUint32(b, 0)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(messages)))
		b = binary.LittleEndian.AppendUint64(b, 0)
	}
	return append(b, messages...)
}

// PollStrategyAt is where in Poll's payload, counted from its end, the strategy's kind
// stands.
const PollStrategyAt = 14

// Poll builds a PollMessages payload that asks, as single consumer 9, for up to count
// messages of a partition from an offset.
func Poll(topic []byte, partition uint32, offset uint64, count uint32) []byte {
	b := append(append([]byte{1}, NumberID(9)...), topic...)
	b = binary.LittleEndian.AppendUint32(append(b, 1), partition)
	b = binary.LittleEndian.AppendUint64(append(b, 1), offset)
	return append(binary.LittleEndian.AppendUint32(b, count), 0)
}
