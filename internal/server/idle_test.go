package server

import (
	"bytes"
	"net"
	"runtime"
	"testing"
	"time"
)

func TestAnIdleConnectionHasOneGoroutineAndNoBuffers(t *testing.T) {
	// Not parallel: it counts the goroutines of the process.
	h := start(t, Options{}, newFake())
	before := runtime.NumGoroutine()
	const many = 200
	for i := range many {
		c := h.dial()
		c.request(verbEcho, uint32(i), "then idle")
		c.expect(uint32(i), "then idle")
	}
	eventually(t, "one goroutine each", func() bool {
		return runtime.NumGoroutine()-before <= many+maxResting
	})
	// The last worker may still be about to find that there is nothing left.
	eventually(t, "no connection has a worker, a writer or room for more than it needs", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		for c := range h.conns {
			if !c.isIdle() {
				return false
			}
		}
		return true
	})
}

// isIdle tells whether a connection has what it needs to wait for its client, and
// no more.
func (c *conn) isIdle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.working && !c.writing && cap(c.requests.items) <= keptQueue && cap(c.answers.items) <= keptQueue
}

func TestAnAnswerThatTheSocketTakesInPartArrivesWhole(t *testing.T) {
	t.Parallel()
	h := start(t, Options{}, newFake())
	c := h.dial()
	if err := c.SetReadBuffer(64 << 10); err != nil {
		t.Fatal(err)
	}
	// Below one step, so that the worker sends them, and more than fits: nothing is
	// read before all have been asked for.
	want := bytes.Repeat([]byte("0123456789abcdef"), writeStep/16-1)
	const many = 40
	for i := range uint32(many) {
		c.send(fakeFrame(verbEcho, i, want)...)
		eventually(t, "the request is applied", func() bool { return h.gauge("bytes_in_total") >= float64(i+1)*float64(len(want)+9) })
	}
	for i := range uint32(many) {
		if n, got := c.answer(); n != i || !bytes.Equal(got, want) {
			t.Fatalf("answer %d of %d bytes, want %d of %d", n, len(got), i, len(want))
		}
	}
}

func TestAWriteDeadlineOfLongAgoDoesNotEndAConnection(t *testing.T) {
	t.Parallel()
	const timeout = 50 * time.Millisecond
	h := start(t, Options{WriteTimeout: timeout}, newFake())
	c := h.dial()
	c.request(verbBig, 1, "\x01") // 1 MiB, by the writer with its deadline
	if n, _ := c.answer(); n != 1 {
		t.Fatalf("answer to %d", n)
	}
	timer := time.NewTimer(2 * timeout)
	defer timer.Stop()
	<-timer.C
	c.request(verbEcho, 2, "by the worker")
	c.expect(2, "by the worker")
}

// wrapped is a connection that is not a socket itself, as one with TLS.
type wrapped struct{ net.Conn }

type wrappingListener struct{ net.Listener }

func (l wrappingListener) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return wrapped{nc}, nil
}

func TestConnectionsThatAreNoSockets(t *testing.T) {
	t.Parallel()
	h := start(t, Options{}, newFake())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- h.Serve(wrappingListener{l}) }()
	h.addr = l.Addr().String()
	c := h.dial()
	for i, size := range []int{0, 5, 4096, 70_000, 1 << 20} {
		want := bytes.Repeat([]byte{byte(i + 1)}, size)
		go c.Write(fakeFrame(verbEcho, uint32(i), want))
		if n, got := c.answer(); n != uint32(i) || !bytes.Equal(got, want) {
			t.Fatalf("size %d: answer %d with %d bytes differs", size, n, len(got))
		}
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	<-served
}

func TestAFramesSizeMayLieAcrossTwoBuffers(t *testing.T) {
	t.Parallel()
	h := start(t, Options{MaxInFlightRequests: 1000}, newFake())
	c := h.dial()
	var all []byte
	for i := range uint32(900) { // 13 bytes each, so that every buffer ends elsewhere in a frame
		all = append(all, fakeFrame(verbEcho, i, nil)...)
	}
	c.send(all...)
	for i := range uint32(900) {
		c.expect(i, "")
	}
}
