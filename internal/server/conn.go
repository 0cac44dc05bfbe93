package server

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"kafka-iggy-bridge/internal/server/parking"
)

// lingerTime is how long an ended connection waits for its client to close, so
// that a reset does not overtake the last answers.
const lingerTime = time.Second

// request is a frame whose turn has not come yet.
type request struct {
	frame *frame
	size  int // of the frame, as taken from the budget
}

// answer is a response that waits to be written, with the frame it may point to.
type answer struct {
	request
	response Response
	size     int // of the response, as taken from the backlog
}

// conn is one client's connection. Its fields are owned by the goroutine named
// beside them, or may be used by all. Most connections wait for their client
// most of the time, and there are many: what a connection needs only while
// something is at work it has only then.
type conn struct {
	srv    *Server
	nc     net.Conn
	socket *socket // nil where nc has to do
	peer   Peer
	lot    *parking.Lot

	ctx    context.Context // of the connection's requests; ends early only by abort
	cancel context.CancelCauseFunc

	inFlight budget // taken by the reader, given back by the writer
	backlog  budget // taken by the worker, given back by the writer

	lastActive atomic.Int64 // unix nanoseconds: a request read or an answer written
	wrote      atomic.Bool

	mu       sync.Mutex
	draining bool // no more requests are read
	lost     bool // nothing more can be answered; the socket is closed
	requests queue[request]
	answers  queue[answer]
	working  bool          // there is a worker, which is so while there are requests
	writing  bool          // there is a writer, which is so while there are answers
	quiet    chan struct{} // set when serve waits for both to end

	workTask, writeTask func() // work and write, bound once

	over bool // worker: no request is applied any more

	in           inbox     // reader
	deadline     time.Time // reader: what the socket has been given for reading
	trusted      int       // reader: size up to which frames are allocated in one piece
	clientClosed bool      // reader: the client has closed its sending side
}

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{
		srv:      s,
		nc:       nc,
		socket:   newSocket(nc),
		peer:     Peer{ID: s.nextID.Add(1), Addr: nc.RemoteAddr(), Local: nc.LocalAddr()},
		lot:      parking.NewLot(s.parked),
		inFlight: newBudget(s.opts.MaxInFlightRequests, s.opts.MaxInFlightBytes),
		backlog:  newBudget(s.opts.MaxInFlightRequests, s.opts.MaxResponseBacklog),
		trusted:  firstFrameBytes,
	}
	c.in = inbox{nc: nc, socket: c.socket}
	c.workTask, c.writeTask = c.work, c.write
	ctx, cancel := context.WithCancelCause(s.ctx)
	c.ctx, c.cancel = parking.NewContext(ctx, c.lot), cancel
	c.touch()
	return c
}

// log is the logger for what concerns the connection.
func (c *conn) log() logrus.FieldLogger {
	return c.srv.log.WithFields(logrus.Fields{"peer": c.peer.Addr.String(), "conn": c.peer.ID})
}

// serve runs the connection to its end.
func (c *conn) serve() {
	c.read()
	c.awaitQuiet()
	c.cancel(context.Canceled)
	c.finish()
}

// awaitQuiet waits, when nothing more is read, for the last answer.
func (c *conn) awaitQuiet() {
	c.mu.Lock()
	var quiet chan struct{}
	if c.working || c.writing {
		quiet = make(chan struct{})
		c.quiet = quiet
	}
	c.mu.Unlock()
	if quiet != nil {
		<-quiet
	}
}

// noteQuiet wakes serve when the last of worker and writer ends. The mutex is held.
func (c *conn) noteQuiet() {
	if c.quiet != nil && !c.working && !c.writing {
		close(c.quiet)
		c.quiet = nil
	}
}

// drain stops the reading of requests. Those that were read are applied and
// answered; the parked ones and those that would park end with cause.
func (c *conn) drain(cause error) {
	c.lot.Evict(cause)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.draining {
		return
	}
	c.draining = true
	// A deadline in the past wakes the reader. An error means that the
	// connection is closed, which wakes it as well.
	if err := c.nc.SetReadDeadline(time.Unix(1, 0)); err != nil && !errors.Is(err, net.ErrClosed) {
		c.log().WithError(err).Debug("a connection refuses its read deadline")
	}
}

// lose marks that the client can no longer be reached: nothing more is read or
// written. What was read before is still applied, as Kafka does: the producer of
// an acks=0 request may close as soon as it has sent it.
func (c *conn) lose() {
	c.lot.Evict(parking.ErrClientGone)
	c.mu.Lock()
	first := !c.lost
	c.lost, c.draining = true, true
	c.mu.Unlock()
	if first {
		c.srv.closeQuietly(c.nc)
	}
}

// abort gives the connection up: what is at work loses its context, what waits
// is dropped.
func (c *conn) abort(cause error) {
	c.cancel(cause)
	c.lose()
}

func (c *conn) isLost() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost
}

func (c *conn) isDraining() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.draining
}

// setReadDeadline moves the reader's deadline, unless the connection drains: the
// deadline that woke the reader has to stay.
func (c *conn) setReadDeadline(at time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.draining {
		return errDraining
	}
	c.deadline = at
	return c.nc.SetReadDeadline(at)
}

func (c *conn) touch() { c.lastActive.Store(time.Now().UnixNano()) }

// finish closes the socket. Closing with unread bytes makes the kernel send a
// reset, which may destroy answers that are still on their way; so the sending
// side is closed first, and what the client still sends is thrown away for a
// moment.
func (c *conn) finish() {
	defer c.srv.closeQuietly(c.nc)
	if c.isLost() || c.clientClosed || !c.wrote.Load() {
		return
	}
	half, ok := c.nc.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	if c.nc.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
		return
	}
	stop := context.AfterFunc(c.srv.ctx, func() { c.srv.closeQuietly(c.nc) })
	defer stop()
	for c.in.fill() == nil { // until closed by the client, or it had its time
		c.in.release()
	}
}
