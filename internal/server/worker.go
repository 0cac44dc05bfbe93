package server

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/sirupsen/logrus"

	"kafka-iggy-bridge/internal/server/parking"
	"kafka-iggy-bridge/internal/telemetry"
)

// panicError is a panic of a handler.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// work applies the connection's requests in order and hands on their answers,
// until there are none.
func (c *conn) work() {
	for {
		r, ok := c.nextRequest()
		if !ok {
			return
		}
		if c.over || !c.awaitBacklog() {
			c.drop(r)
			continue
		}
		c.over = c.apply(r)
	}
}

// nextRequest takes the next request. When there is none, the connection has no
// worker any longer.
func (c *conn) nextRequest() (request, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.requests.pop()
	if !ok {
		c.working = false
		c.noteQuiet()
	}
	return r, ok
}

// apply serves one request. It returns true when no request of the connection
// may be applied after it.
func (c *conn) apply(r request) (last bool) {
	resp, err := c.dispatch(r.frame.buf)
	if err != nil {
		resp.release()
		c.drop(r)
		c.fail(err)
		return true
	}
	if len(resp.Segments) == 0 {
		resp.release()
		c.drop(r)
	} else {
		c.hand(answer{request: r, response: resp, size: resp.size()})
	}
	if resp.Close {
		c.drain(parking.ErrClientGone)
	}
	return resp.Close
}

// dispatch calls the dispatcher and turns its panics into errors.
func (c *conn) dispatch(b []byte) (resp Response, err error) {
	defer func() {
		if v := recover(); v != nil {
			resp, err = Response{}, &panicError{value: v, stack: debug.Stack()}
		}
	}()
	return c.srv.dispatcher.Dispatch(c.ctx, &c.peer, b)
}

// awaitBacklog waits until the answers that were made before leave room for
// another one: the answer to the next request may be large, and would be held
// for as long as the client does not read. It returns false when the connection
// is given up.
func (c *conn) awaitBacklog() bool {
	if c.backlog.hasRoom() {
		return c.ctx.Err() == nil
	}
	freed := c.backlog.wakes()
	for !c.backlog.hasRoom() {
		select {
		case <-freed:
		case <-c.ctx.Done():
			return false
		}
	}
	return c.ctx.Err() == nil
}

// hand sends an answer, or gives it to the writer. Only the last one may exceed
// the backlog.
func (c *conn) hand(a answer) {
	if c.isAlone() && c.sendNow(&a) {
		return
	}
	c.backlog.take(a.size)
	c.mu.Lock()
	c.answers.push(a)
	start := !c.writing
	c.writing = true
	c.mu.Unlock()
	if start {
		c.srv.workers.Go(c.writeTask)
	}
}

// isAlone tells whether no answer comes before the worker's and no request waits
// for the worker: it may as well send the answer itself.
func (c *conn) isAlone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.writing && !c.lost && c.requests.empty()
}

// fail ends the connection after a request that has no answer, with one line in
// the log. The answers before it are still written.
func (c *conn) fail(err error) {
	fields := logrus.Fields{"reason": err.Error()}
	var request *RequestError
	if errors.As(err, &request) {
		fields = logrus.Fields{"api": request.API, "version": request.Version, "reason": request.Err.Error()}
	}
	log := c.log().WithFields(fields)
	var panicked *panicError
	switch {
	case errors.As(err, &panicked):
		c.srv.metrics.ConnectionClosed(telemetry.ClosedPanic)
		log.WithField("stack", string(panicked.stack)).Error("connection closed: a handler panicked")
	case c.ctx.Err() != nil:
		log.Debug("a request was cut by the end of the bridge")
	case errors.Is(err, ErrMalformed), errors.Is(err, ErrUnsupported):
		c.srv.metrics.ConnectionClosed(telemetry.ClosedMalformed)
		log.Warn("connection closed")
	default:
		log.Error("connection closed: a request failed without an answer")
	}
	c.drain(parking.ErrClientGone)
}

// drop releases a request that is answered or never will be.
func (c *conn) drop(r request) {
	r.frame.release()
	c.inFlight.give(r.size)
}
