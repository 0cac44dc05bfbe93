package server

import (
	"errors"
	"net"
	"os"
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

// writer is what the writing goroutine keeps between answers, so that sending
// allocates nothing.
type writer struct {
	batch    []answer
	segments net.Buffers // of the batch
	chunk    net.Buffers // of one step
	vector   net.Buffers // what the system call consumes
}

// write sends the answers in the order of their requests. Answers that are
// ready together go out together.
func (c *conn) write() {
	var w writer
	for a := range c.answers {
		w.begin(a)
		for size := a.size; size < writeStep; {
			next, ok := c.nextReady()
			if !ok {
				break
			}
			w.add(next)
			size += next.size
		}
		if !c.isLost() {
			if err := c.send(&w); err != nil {
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

func (c *conn) nextReady() (answer, bool) {
	select {
	case a, ok := <-c.answers:
		return a, ok
	default:
		return answer{}, false
	}
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
	c.wrote.Store(true)
	c.touch()
	return nil
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
		c.log.WithField("reason", "an answer was not taken within kafka.write_timeout").Warn("connection closed")
	case !c.isLost():
		c.log.WithError(err).Debug("an answer could not be sent")
	}
	c.lose()
}
