package server

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"kafka-iggy-bridge/internal/telemetry"
)

const (
	// writeStep is how much of its answers a client has to take within the
	// write timeout.
	writeStep = 256 << 10

	// writeSegments bounds the pieces of one system call; the kernel takes 1,024.
	writeSegments = 1024
)

// writer is what a writing goroutine keeps between answers, so that sending
// allocates nothing.
type writer struct {
	batch    []answer
	segments net.Buffers // of the batch
	chunk    net.Buffers // of one step
	vector   net.Buffers // what the system call consumes
}

var writers = sync.Pool{New: func() any { return new(writer) }}

// sendNow sends an answer if that can be done without waiting for the client.
// Otherwise it returns false, and the answer is what is left to be sent.
func (c *conn) sendNow(a *answer) (done bool) {
	if c.socket == nil || a.size > writeStep || len(a.response.Segments) > writeSegments {
		return false
	}
	n, err := c.socket.tryWrite(a.response.Segments)
	c.srv.metrics.BytesOut(n)
	switch {
	case err != nil:
		c.writeFailed(err)
	case n < a.size:
		a.response.Segments = cut(a.response.Segments, n)
		return false
	default:
		c.sent()
	}
	a.response.release()
	c.drop(a.request)
	return true
}

// cut takes n bytes off the front of segments.
func cut(segments net.Buffers, n int) net.Buffers {
	for len(segments) > 0 && n >= len(segments[0]) {
		n -= len(segments[0])
		segments = segments[1:]
	}
	if n > 0 {
		segments[0] = segments[0][n:]
	}
	return segments
}

// write sends the answers in the order of their requests, until there are none.
// Answers that are ready together go out together.
func (c *conn) write() {
	w := writers.Get().(*writer)
	defer writers.Put(w)
	for c.nextAnswers(w) {
		if !c.isLost() {
			if err := c.send(w); err != nil {
				c.writeFailed(err)
			}
		}
		for _, done := range w.batch {
			done.response.release()
			c.drop(done.request)
			c.backlog.give(done.size)
		}
		w.end()
	}
}

// nextAnswers takes the answers that are ready, as far as one step goes. When
// there are none, the connection has no writer any longer.
func (c *conn) nextAnswers(w *writer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, ok := c.answers.pop()
	if !ok {
		c.writing = false
		c.noteQuiet()
		return false
	}
	w.begin(a)
	for size := a.size; size < writeStep; {
		next, ok := c.answers.pop()
		if !ok {
			break
		}
		w.add(next)
		size += next.size
	}
	return true
}

func (w *writer) begin(a answer) {
	w.batch, w.segments = w.batch[:0], w.segments[:0]
	w.add(a)
}

func (w *writer) add(a answer) {
	w.batch = append(w.batch, a)
	w.segments = append(w.segments, a.response.Segments...)
}

// end forgets the buffers, which have gone back to their owners.
func (w *writer) end() {
	clear(w.batch)
	clear(w.segments)
	clear(w.chunk)
}

// send writes the batch, each step of it within the write timeout.
func (c *conn) send(w *writer) error {
	rest := w.segments
	for len(rest) > 0 {
		w.chunk, rest = nextChunk(w.chunk[:0], rest)
		if err := c.nc.SetWriteDeadline(time.Now().Add(c.srv.opts.WriteTimeout)); err != nil {
			return err
		}
		n, err := w.flush(c.nc)
		c.srv.metrics.BytesOut(int(n))
		if err != nil {
			return err
		}
	}
	// What the worker sends itself must not meet a deadline of long ago.
	if err := c.nc.SetWriteDeadline(time.Time{}); err != nil {
		return err
	}
	c.sent()
	return nil
}

// sent takes note of an answer that is on its way.
func (c *conn) sent() {
	c.wrote.Store(true)
	c.touch()
}

// flush writes the chunk.
func (w *writer) flush(nc net.Conn) (int64, error) {
	if len(w.chunk) == 1 {
		n, err := nc.Write(w.chunk[0])
		return int64(n), err
	}
	w.vector = w.chunk
	return w.vector.WriteTo(nc)
}

// nextChunk cuts up to writeStep bytes off the front of segments into chunk, and
// returns the rest. It may shorten the first of the rest.
func nextChunk(chunk, segments net.Buffers) (head, rest net.Buffers) {
	room := writeStep
	for len(segments) > 0 && room > 0 && len(chunk) < writeSegments {
		s := segments[0]
		if len(s) > room {
			segments[0] = s[room:]
			return append(chunk, s[:room]), segments
		}
		chunk, segments = append(chunk, s), segments[1:]
		room -= len(s)
	}
	return chunk, segments
}

// writeFailed gives up a connection whose client takes no more answers.
func (c *conn) writeFailed(err error) {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.srv.metrics.ConnectionClosed(telemetry.ClosedWriteTimeout)
		c.log().WithField("reason", "an answer was not taken within kafka.write_timeout").Warn("connection closed")
	case !c.isLost():
		c.log().WithError(err).Debug("an answer could not be sent")
	}
	c.lose()
}
