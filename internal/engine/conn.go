package engine

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"runtime/debug"
	"time"

	"kafka-iggy-bridge/internal/engine/buffers"
	"kafka-iggy-bridge/internal/engine/protocol"
)

const (
	requestHeaderSize  = 8 // length u32, code u32
	responseHeaderSize = 8 // status u32, length u32

	// readBufferSize holds whole small requests, pipelined ones too.
	readBufferSize = 4 << 10

	// flushSize is how many answered bytes may gather before they are sent.
	flushSize = 32 << 10

	// writePiece is what a client must accept within the write timeout.
	writePiece = 4 << 20

	// trustedSize is how much memory a frame's announced length gets at once; more
	// is taken as bytes arrive.
	trustedSize = 16 << 20
)

// conn serves one connection: it reads a request, carries it out, and appends the
// answer to what will be sent before the next read that has to wait.
type conn struct {
	*session
	e *Engine

	in   []byte // read buffer
	r, w int    // in[r:w] is unread

	out []byte // answers not sent yet
}

func newConn(e *Engine, s *session) *conn {
	return &conn{session: s, e: e, in: make([]byte, readBufferSize)}
}

// run serves until the connection ends.
func (c *conn) run() {
	defer func() {
		if p := recover(); p != nil {
			c.e.log.WithField("peer", c.address).WithField("panic", p).WithField("stack", string(debug.Stack())).
				Error("request failed, connection closed")
		}
	}()
	err := c.loop()
	if c.e.sessions.stopping() {
		c.sayGoodbye()
		return
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
		c.e.log.WithField("peer", c.address).WithError(err).Debug("connection ended")
	}
}

// errEnd ends a connection in order, after its answers are sent.
var errEnd = errors.New("connection is to be closed")

func (c *conn) loop() error {
	for {
		head, err := c.peek(requestHeaderSize)
		if err != nil {
			return err
		}
		length := binary.LittleEndian.Uint32(head)
		code := protocol.Code(binary.LittleEndian.Uint32(head[4:]))
		c.r += requestHeaderSize
		if length < 4 {
			c.answer(protocol.ErrInvalidCommand)
			continue
		}
		if err := c.request(code, int64(length)-4); err != nil {
			if errors.Is(err, errEnd) {
				return c.flush()
			}
			return err
		}
		if len(c.out) >= flushSize {
			if err := c.flush(); err != nil {
				return err
			}
		}
	}
}

// request reads and answers one request. An error ends the connection.
func (c *conn) request(code protocol.Code, size int64) error {
	if code == protocol.SendMessages {
		return c.send(size)
	}
	if size > protocol.MaxCommandBytes {
		c.answer(protocol.ErrInvalidCommand)
		return c.discard(size)
	}
	payload, buf, err := c.payload(int(size))
	if err != nil {
		return err
	}
	defer buf.Release()
	if code == protocol.PollMessages {
		return c.poll(payload)
	}
	return c.dispatch(code, payload)
}

// dispatch carries out any command but the two that move messages.
func (c *conn) dispatch(code protocol.Code, payload []byte) error {
	run, ok := commands[code]
	if !ok {
		c.answer(protocol.ErrInvalidCommand)
		return nil
	}
	start := len(c.out)
	c.out = append(c.out, make([]byte, responseHeaderSize)...)
	r := protocol.NewReader(payload)
	if err := run(c, &r); err != nil {
		c.out = c.out[:start]
		return c.fail(code, err)
	}
	binary.LittleEndian.PutUint32(c.out[start:], uint32(protocol.OK))
	binary.LittleEndian.PutUint32(c.out[start+4:], uint32(len(c.out)-start-responseHeaderSize))
	return nil
}

// fail answers with an error's status. Two of them end the connection, since the
// client they concern is no longer known.
func (c *conn) fail(code protocol.Code, err error) error {
	var status protocol.Status
	if !errors.As(err, &status) {
		c.e.log.WithField("peer", c.address).WithField("command", uint32(code)).WithError(err).Error("request failed")
		status = protocol.ErrGeneric
	}
	c.answer(status)
	if status == protocol.ErrStaleClient || status == protocol.ErrClientNotFound {
		return errEnd
	}
	return nil
}

// answer appends a response without a body.
func (c *conn) answer(status protocol.Status) {
	c.out = protocol.AppendU32(c.out, uint32(status))
	c.out = protocol.AppendU32(c.out, 0)
}

// flush sends the gathered answers.
func (c *conn) flush() error {
	if len(c.out) == 0 {
		return nil
	}
	err := c.write(c.out)
	if cap(c.out) > 4*flushSize {
		c.out = nil // a big listing; idle connections should not hold on to it
	} else {
		c.out = c.out[:0]
	}
	return err
}

// write sends b. The client has the write timeout for each piece of it, so that a slow
// one gets large answers too while one that has stopped reading is cut.
func (c *conn) write(b []byte) error {
	for len(b) > 0 {
		piece := b[:min(len(b), writePiece)]
		if err := c.conn.SetWriteDeadline(time.Now().Add(c.e.opts.WriteTimeout)); err != nil {
			return err
		}
		if _, err := c.conn.Write(piece); err != nil {
			return err
		}
		b = b[len(piece):]
	}
	return nil
}

// sayGoodbye sends what is still to be sent and tells the client that the server is
// leaving.
func (c *conn) sayGoodbye() {
	c.answer(protocol.ErrDisconnected)
	if err := c.flush(); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.e.log.WithField("peer", c.address).WithError(err).Debug("client not told of the shutdown")
	}
}

// peek returns the next n bytes, at most readBufferSize, without consuming them.
func (c *conn) peek(n int) ([]byte, error) {
	for c.w-c.r < n {
		if err := c.fill(); err != nil {
			if errors.Is(err, io.EOF) && c.w > c.r {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	return c.in[c.r : c.r+n], nil
}

// fill reads more bytes into the read buffer, which must not be full. Whatever has
// been answered is sent first: the client may be waiting for it.
func (c *conn) fill() error {
	if err := c.flush(); err != nil {
		return err
	}
	if c.r > 0 {
		c.w = copy(c.in, c.in[c.r:c.w])
		c.r = 0
	}
	n, err := c.conn.Read(c.in[c.w:])
	c.w += n
	if n > 0 {
		return nil
	}
	return err
}

// payload reads n bytes. Small payloads are views of the read buffer and come with
// no buffer; others are on loan. The view is valid until the next read.
func (c *conn) payload(n int) ([]byte, *buffers.Buffer, error) {
	if n <= readBufferSize {
		b, err := c.peek(n)
		if err != nil {
			return nil, nil, err
		}
		c.r += n
		return b, nil, nil
	}
	buf, err := c.frame(0, n)
	if err != nil {
		return nil, nil, err
	}
	return buf.B[:n], buf, nil
}

// frame reads n bytes into a buffer from the pool, leaving the first room bytes of
// the buffer free. The buffer grows as bytes arrive, so that a length alone cannot
// take much memory.
func (c *conn) frame(room, n int) (*buffers.Buffer, error) {
	buf := buffers.Get(room + min(n, trustedSize))
	for have := 0; have < n; {
		if room+have == len(buf.B) {
			buf = buf.Grow(room+have, room+min(n, 2*have))
		}
		want := min(n, len(buf.B)-room)
		got, err := c.readFull(buf.B[room+have : room+want])
		if err != nil {
			buf.Release()
			return nil, err
		}
		have += got
	}
	return buf, nil
}

// readFull fills b from the read buffer and the connection.
func (c *conn) readFull(b []byte) (int, error) {
	n := copy(b, c.in[c.r:c.w])
	c.r += n
	if n == len(b) {
		return n, nil
	}
	if err := c.flush(); err != nil {
		return n, err
	}
	m, err := io.ReadFull(c.conn, b[n:])
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n + m, err
}

// discard reads and drops n bytes, so that the next request is found where it begins.
func (c *conn) discard(n int64) error {
	buffered := min(n, int64(c.w-c.r))
	c.r += int(buffered)
	if n == buffered {
		return nil
	}
	if err := c.flush(); err != nil {
		return err
	}
	_, err := io.CopyN(io.Discard, c.conn, n-buffered)
	return err
}
