package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/sirupsen/logrus"

	"kafka-iggy-bridge/internal/server/parking"
	"kafka-iggy-bridge/internal/telemetry"
)

const (
	// readStep is how much of a request has to arrive within the read timeout.
	readStep = 64 << 10

	// goneCheckInterval is how often a reader that has no room looks whether its
	// client is still there.
	goneCheckInterval = 500 * time.Millisecond
)

var (
	errDraining  = errors.New("the connection takes no more requests")
	errIdle      = errors.New("nothing was sent for kafka.idle_timeout")
	errReadSlow  = errors.New("a request did not arrive within kafka.request_read_timeout")
	errFrameSize = errors.New("frame size out of range")
	errCutShort  = errors.New("the client closed in the middle of a request")
)

// read takes frames off the socket until there are no more, and says why.
func (c *conn) read() {
	defer c.in.release()
	for {
		f, err := c.readFrame()
		if err != nil {
			c.readEnded(err)
			return
		}
		c.touch()
		c.srv.metrics.BytesIn(len(f.buf) + 4)
		c.enqueue(request{frame: f, size: len(f.buf)})
	}
}

// enqueue gives a request to the worker.
func (c *conn) enqueue(r request) {
	c.mu.Lock()
	c.requests.push(r)
	start := !c.working
	c.working = true
	c.mu.Unlock()
	if start {
		c.srv.workers.Go(c.workTask)
	}
}

// readEnded turns the reader's last error into the connection's end.
func (c *conn) readEnded(err error) {
	switch {
	case c.isDraining():
		return // somebody else ends the connection and has said why
	case errors.Is(err, io.EOF):
		c.clientClosed = true
		c.drain(parking.ErrClientGone)
	case errors.Is(err, errCutShort):
		c.clientClosed = true
		c.log().Debug("a client closed in the middle of a request")
		c.drain(parking.ErrClientGone)
	case errors.Is(err, errIdle):
		c.srv.metrics.ConnectionClosed(telemetry.ClosedIdle)
		c.log().Debug("a connection was idle for kafka.idle_timeout")
		c.drain(parking.ErrClientGone)
	case errors.Is(err, errReadSlow):
		c.srv.metrics.ConnectionClosed(telemetry.ClosedReadTimeout)
		c.log().WithField("reason", err.Error()).Warn("connection closed")
		c.drain(parking.ErrClientGone)
	case errors.Is(err, errFrameSize):
		c.srv.metrics.ConnectionClosed(telemetry.ClosedMalformed)
		c.log().WithFields(logrus.Fields{"api": "unknown", "version": -1, "reason": err.Error()}).Warn("connection closed")
		c.drain(parking.ErrClientGone)
	default: // reset
		c.log().WithError(err).Debug("a connection was lost")
		c.lose()
	}
}

// readFrame reads one frame into a pooled buffer that grows as bytes arrive.
func (c *conn) readFrame() (*frame, error) {
	if err := c.awaitRequest(); err != nil {
		return nil, err
	}
	if c.in.buffered() < 4 {
		if err := c.setReadDeadline(time.Now().Add(c.srv.opts.ReadTimeout)); err != nil {
			return nil, err
		}
		if err := c.in.await(4); err != nil {
			return nil, readError(err)
		}
	}
	head := c.in.bytes()[:4]
	size := int(int32(binary.BigEndian.Uint32(head)))
	if size < 0 || size > c.srv.opts.MaxRequestBytes {
		return nil, fmt.Errorf("%w: %d is not within 0 and kafka.max_request_bytes=%d%s",
			errFrameSize, size, c.srv.opts.MaxRequestBytes, guessProtocol(head))
	}
	c.in.discard(4)
	if err := c.awaitRoom(size); err != nil {
		return nil, err
	}
	f, err := c.readBody(size)
	if err != nil {
		c.inFlight.give(size)
		return nil, err
	}
	return f, nil
}

// awaitRequest waits for a request's first byte. A connection is not idle while
// a request of it is at work or an answer is being written.
func (c *conn) awaitRequest() error {
	for c.in.buffered() == 0 {
		if err := c.setIdleDeadline(); err != nil {
			return err
		}
		err := c.in.fill()
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return err
		case c.inFlight.idle() && time.Since(time.Unix(0, c.lastActive.Load())) >= c.srv.opts.IdleTimeout:
			return errIdle
		}
		c.deadline = time.Time{} // it is over
	}
	return nil
}

// setIdleDeadline makes sure that the reader wakes when the connection may have
// been idle for too long. It may wake before that, and looks again: a deadline
// that was set for an earlier request stays, as moving it costs more.
func (c *conn) setIdleDeadline() error {
	now := time.Now()
	at := now.Add(c.srv.opts.IdleTimeout)
	if c.inFlight.idle() {
		at = time.Unix(0, c.lastActive.Load()).Add(c.srv.opts.IdleTimeout)
	}
	if c.deadline.After(now) && !c.deadline.After(at) {
		return nil
	}
	return c.setReadDeadline(at)
}

// awaitRoom waits until the budget has room for a frame. Meanwhile it looks
// whether the client has gone: what is parked must not wait for one that has.
func (c *conn) awaitRoom(size int) error {
	if c.inFlight.tryTake(size) {
		return nil
	}
	freed := c.inFlight.wakes()
	ticker := time.NewTicker(goneCheckInterval)
	defer ticker.Stop()
	for !c.inFlight.tryTake(size) {
		select {
		case <-freed:
		case <-ticker.C:
			if c.isDraining() {
				return errDraining
			}
			closed, reset := peerState(c.nc)
			if reset {
				return net.ErrClosed
			}
			if closed {
				c.lot.Evict(parking.ErrClientGone)
			}
		case <-c.ctx.Done():
			return errDraining
		}
	}
	return nil
}

// readBody reads the size bytes of a frame.
func (c *conn) readBody(size int) (*frame, error) {
	f := newFrame(min(size, c.trusted))
	for len(f.buf) < size {
		if len(f.buf) == cap(f.buf) {
			f = f.grow(min(size, frameGrowth*cap(f.buf)))
		}
		step := min(size, cap(f.buf)) - len(f.buf)
		if c.in.buffered() < step {
			step = min(step, readStep)
			if err := c.setReadDeadline(time.Now().Add(c.srv.opts.ReadTimeout)); err != nil {
				f.release()
				return nil, err
			}
		}
		from := len(f.buf)
		f.buf = f.buf[:from+step]
		if err := c.in.readFull(f.buf[from:]); err != nil {
			f.release()
			return nil, readError(err)
		}
	}
	c.trusted = max(c.trusted, min(size, maxTrustedBytes))
	return f, nil
}

// readError sorts the errors of a read inside a request.
func readError(err error) error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errCutShort
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errReadSlow
	}
	return err
}

// guessProtocol names what else often reaches a Kafka port, for the log.
func guessProtocol(head []byte) string {
	switch {
	case head[0] == 0x16 && head[1] == 0x03:
		return " (the bytes look like a TLS handshake)"
	case string(head) == "GET " || string(head) == "POST" || string(head) == "HEAD" || string(head) == "PRI ":
		return " (the bytes look like HTTP)"
	}
	return ""
}
