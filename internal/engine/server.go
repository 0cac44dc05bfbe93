package engine

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

// listen opens the address and starts accepting.
func (e *Engine) listen() error {
	l, err := net.Listen("tcp", e.opts.Listen)
	if err != nil {
		return fmt.Errorf("engine: listen: %w", err)
	}
	e.listener = l
	e.tasks.Add(1)
	go func() {
		defer e.tasks.Done()
		e.accept()
	}()
	return nil
}

func (e *Engine) accept() {
	for pause := time.Duration(0); ; {
		conn, err := e.listener.Accept()
		if err == nil {
			pause = 0
			e.serve(conn)
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		// Most likely the process is out of file descriptors: wait for some to be
		// given back instead of spinning.
		pause = min(max(2*pause, 5*time.Millisecond), time.Second)
		e.log.WithError(err).WithField("pause", pause.String()).Warn("accept failed")
		select {
		case <-time.After(pause):
		case <-e.stop:
			return
		}
	}
}

// serve starts serving a connection.
func (e *Engine) serve(raw net.Conn) {
	if tcp, ok := raw.(*net.TCPConn); ok {
		if err := tcp.SetNoDelay(true); err != nil {
			e.log.WithError(err).Debug("no-delay not set")
		}
	}
	conn := raw
	if e.opts.TLS != nil {
		conn = tls.Server(raw, e.opts.TLS)
	}
	s, ok := e.sessions.add(conn, e.opts.Clock())
	if !ok {
		_ = raw.Close()
		return
	}
	go func() {
		defer e.sessions.remove(s)
		c := newConn(e, s)
		c.run()
		s.leaveAll()
		// The peer may have closed first; there is nothing to be done about an error.
		_ = conn.Close()
	}()
}
