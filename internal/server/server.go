package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"kafka-iggy-bridge/internal/server/parking"
	"kafka-iggy-bridge/internal/telemetry"
	"kafka-iggy-bridge/internal/workers"
)

const (
	// acceptBackoffMin and Max are the pauses after a failed accept, for example
	// when the process has no file descriptors left.
	acceptBackoffMin = 5 * time.Millisecond
	acceptBackoffMax = time.Second

	// refusedLogInterval keeps a flood of refused connections out of the log.
	refusedLogInterval = 10 * time.Second

	// forcedWait is how long a forced end waits for handlers to notice it.
	forcedWait = 2 * time.Second

	// maxResting is how many goroutines wait for requests that others of all
	// connections are done with.
	maxResting = 64
)

// Server serves Kafka clients on any number of listeners.
type Server struct {
	opts       Options
	dispatcher Dispatcher
	log        logrus.FieldLogger
	metrics    *telemetry.Metrics
	parked     func(delta int) // of the metrics, bound once

	ctx    context.Context // of all requests; ends when the end is forced
	cancel context.CancelCauseFunc

	nextID      atomic.Uint64
	lastRefused atomic.Int64 // unix nanoseconds of the last refusal that was logged

	mu        sync.Mutex
	closing   bool
	listeners map[net.Listener]struct{}
	conns     map[*conn]struct{}

	serving sync.WaitGroup // accept loops and connections
	workers *workers.Pool  // for requests and answers
}

// New makes a server. It serves once Serve is called.
func New(opts Options, d Dispatcher, log logrus.FieldLogger, m *telemetry.Metrics) *Server {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &Server{
		opts:       opts.withDefaults(),
		dispatcher: d,
		log:        log,
		metrics:    m,
		parked:     m.Parked,
		ctx:        ctx,
		cancel:     cancel,
		listeners:  map[net.Listener]struct{}{},
		conns:      map[*conn]struct{}{},
		workers:    workers.New(maxResting),
	}
}

// Serve accepts connections until Shutdown or Close, and returns
// ErrServerClosed then. It closes the listener. It may be called for several
// listeners at the same time.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return errors.Join(ErrServerClosed, l.Close())
	}
	s.listeners[l] = struct{}{}
	s.serving.Add(1)
	s.mu.Unlock()
	defer s.serving.Done()

	backoff := acceptBackoffMin
	for {
		nc, err := l.Accept()
		switch {
		case err == nil:
			backoff = acceptBackoffMin
			s.admit(nc)
		case s.isClosing():
			return ErrServerClosed
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accept on %s: %w", l.Addr(), err)
		default:
			s.log.WithError(err).WithField("listener", l.Addr().String()).Warn("a connection could not be accepted")
			if !s.pause(backoff) {
				return ErrServerClosed
			}
			backoff = min(2*backoff, acceptBackoffMax)
		}
	}
}

// admit starts serving a connection, or closes it when there are too many.
func (s *Server) admit(nc net.Conn) {
	s.mu.Lock()
	if s.closing || len(s.conns) >= s.opts.MaxConnections {
		refused := !s.closing
		s.mu.Unlock()
		if refused {
			s.metrics.ConnectionClosed(telemetry.ClosedLimit)
			s.logRefused(nc)
		}
		s.closeQuietly(nc)
		return
	}
	c := newConn(s, nc)
	s.conns[c] = struct{}{}
	s.serving.Add(1)
	s.mu.Unlock()

	s.metrics.ConnectionOpened()
	go func() {
		defer s.serving.Done()
		c.serve()
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
		s.metrics.ConnectionEnded()
	}()
}

func (s *Server) logRefused(nc net.Conn) {
	now, last := time.Now().UnixNano(), s.lastRefused.Load()
	if now-last < int64(refusedLogInterval) || !s.lastRefused.CompareAndSwap(last, now) {
		return
	}
	s.log.WithFields(logrus.Fields{"peer": nc.RemoteAddr().String(), "max_connections": s.opts.MaxConnections}).
		Warn("a connection was refused: kafka.max_connections is reached")
}

// Shutdown ends the server in order: no new connections and no new requests;
// parked requests are told to answer (parking.ErrShutdown); what was read is
// applied and answered; then the connections are closed. When ctx ends first,
// the rest is cut, and the error says so. It returns when nothing runs any more.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.stopAccepting()
	for _, c := range s.connections() {
		c.drain(parking.ErrShutdown)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.serving.Wait()
		s.workers.Close()
		s.workers.Wait()
	}()
	select {
	case <-done:
		s.cancel(ErrServerClosed)
		return err
	case <-ctx.Done():
	}
	left := s.connections()
	s.cancel(ErrForced)
	for _, c := range left {
		c.abort(ErrForced)
	}
	err = errors.Join(err, fmt.Errorf("%d connections were cut: %w", len(left), ErrForced))
	timer := time.NewTimer(forcedWait)
	defer timer.Stop()
	select {
	case <-done:
		return err
	case <-timer.C:
		return errors.Join(err, errors.New("a handler does not end"))
	}
}

// Close ends the server at once: connections are cut.
func (s *Server) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, ErrForced) {
		return err
	}
	return nil
}

func (s *Server) stopAccepting() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
	var errs []error
	for l := range s.listeners {
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, fmt.Errorf("close listener %s: %w", l.Addr(), err))
		}
	}
	clear(s.listeners)
	return errors.Join(errs...)
}

func (s *Server) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

func (s *Server) connections() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		all = append(all, c)
	}
	return all
}

// pause waits for d; false when the server is closing.
func (s *Server) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.ctx.Done():
	}
	return !s.isClosing()
}

func (s *Server) closeQuietly(nc net.Conn) {
	if err := nc.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		s.log.WithError(err).Debug("a connection could not be closed cleanly")
	}
}
