package bridge

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
)

// relay passes bytes between bridges and an Iggy, and can stop doing so.
type relay struct {
	listener net.Listener
	work     sync.WaitGroup

	mu     sync.Mutex
	target string
	conns  map[net.Conn]bool
	gate   chan struct{} // closed while bytes pass
}

func newRelay(t testing.TB, target string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{listener: l, target: target, conns: make(map[net.Conn]bool), gate: make(chan struct{})}
	close(r.gate)
	r.work.Go(r.accept)
	t.Cleanup(func() {
		r.resume()
		_ = l.Close()
		r.cut()
		r.work.Wait()
	})
	return r
}

func (r *relay) address() string { return r.listener.Addr().String() }

func (r *relay) accept() {
	for {
		in, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.mu.Lock()
		target := r.target
		r.mu.Unlock()
		out, err := net.Dial("tcp", target)
		if err != nil {
			_ = in.Close()
			continue
		}
		r.mu.Lock()
		r.conns[in], r.conns[out] = true, true
		r.mu.Unlock()
		r.work.Go(func() { r.pass(in, out) })
		r.work.Go(func() { r.pass(out, in) })
	}
}

func (r *relay) pass(from, to net.Conn) {
	defer func() { _ = from.Close(); _ = to.Close() }()
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		r.mu.Lock()
		gate := r.gate
		r.mu.Unlock()
		<-gate
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}

// stall holds all bytes back, resume lets them through.
func (r *relay) stall() {
	r.mu.Lock()
	r.gate = make(chan struct{})
	r.mu.Unlock()
}

func (r *relay) resume() {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.gate:
	default:
		close(r.gate)
	}
}

// cut ends all connections.
func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.conns {
		_ = c.Close()
	}
	clear(r.conns)
}

// oddIggy answers login and ping and then whatever the test wants.
func oddIggy(t *testing.T, answer func(code uint32) []byte) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); work.Wait() })
	serve := func(c net.Conn) {
		defer func() { _ = c.Close() }()
		for {
			var head [8]byte
			if _, err := io.ReadFull(c, head[:]); err != nil {
				return
			}
			if _, err := io.CopyN(io.Discard, c, int64(binary.LittleEndian.Uint32(head[:]))-4); err != nil {
				return
			}
			body := []byte{}
			switch code := binary.LittleEndian.Uint32(head[4:]); code {
			case 1:
			case 38:
				body = make([]byte, 4)
			default:
				body = answer(code)
			}
			out := make([]byte, 8, 8+len(body))
			binary.LittleEndian.PutUint32(out[4:], uint32(len(body)))
			if _, err := c.Write(append(out, body...)); err != nil {
				return
			}
		}
	}
	work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() { serve(c) })
		}
	})
	return l.Addr().String()
}
