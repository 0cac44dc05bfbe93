package server

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"kafka-iggy-bridge/internal/server/parking"
)

func TestParkedRequestsEndWhenTheirClientGoes(t *testing.T) {
	t.Parallel()
	ways := map[string]func(*client){
		"FIN": func(c *client) {
			if err := c.Close(); err != nil {
				c.t.Fatal(err)
			}
		},
		"RST": (*client).reset,
	}
	behind := map[string]int{"nothing behind": 0, "requests behind": 3, "more behind than is read ahead": 500}
	for way, leave := range ways {
		for queue, n := range behind {
			t.Run(way+", "+queue, func(t *testing.T) {
				t.Parallel()
				f := newFake()
				h := start(t, Options{MaxInFlightRequests: 8}, f)
				c := h.dial()
				c.request(verbPark, 0, "")
				<-f.parked
				for i := range n {
					c.request(verbNone, uint32(i+1), "some bytes that stay in the socket's buffer")
				}
				if n > 8 { // the reader has no room left, and does not see the end by reading
					eventually(t, "read ahead", func() bool { return h.gauge("bytes_in_total") >= 8*9 })
				}
				began := time.Now()
				leave(c)
				eventually(t, "unparked and closed", func() bool {
					return h.gauge("parked_requests") == 0 && h.gauge("connections") == 0
				})
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("a parked request outlived its client by %v", took)
				}
			})
		}
	}
}

func TestManyParkedClientsGoAtOnce(t *testing.T) {
	t.Parallel()
	f := newFake()
	h := start(t, Options{}, f)
	const many = 300
	clients := make([]*client, many)
	for i := range clients {
		clients[i] = h.dial()
		clients[i].request(verbPark, uint32(i), "")
	}
	for range clients {
		<-f.parked
	}
	if n := h.gauge("parked_requests"); n != many {
		t.Errorf("%v requests counted as parked", n)
	}
	for i, c := range clients {
		if i%2 == 0 {
			c.reset()
		} else if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all released", func() bool {
		return h.gauge("parked_requests") == 0 && h.gauge("connections") == 0
	})
}

func TestShutdownAnswersTheParkedAndFinishesTheRest(t *testing.T) {
	t.Parallel()
	f := newFake()
	h := start(t, Options{}, f)
	const each = 40
	var parkedConns, heldConns []*client
	for i := range uint32(each) {
		p := h.dial()
		p.send(append(fakeFrame(verbPark, i, nil), fakeFrame(verbEcho, 1000+i, []byte("queued"))...)...)
		w := h.dial()
		w.request(verbHold, i, "")
		parkedConns, heldConns = append(parkedConns, p), append(heldConns, w)
	}
	idle := h.dial()
	for range each {
		<-f.parked
		<-f.held
	}
	eventually(t, "all read", func() bool { return h.gauge("bytes_in_total") == each*(9+9+6+9) })
	done := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	go func() { done <- h.Shutdown(ctx) }()

	idle.expectClosed()
	for i, c := range parkedConns {
		c.expect(uint32(i), parking.ErrShutdown.Error())
		c.expect(1000+uint32(i), "queued")
		c.expectClosed()
	}
	select {
	case err := <-done:
		t.Fatalf("shutdown ended before what is in flight: %v", err)
	default:
	}
	close(f.release)
	for i, c := range heldConns {
		c.expect(uint32(i), "held")
		c.expectClosed()
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range append(parkedConns, idle) {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		t.Fatalf("shutdown: %v", err)
	}
}

func TestShutdownCutsWhatOutlivesTheGrace(t *testing.T) {
	t.Parallel()
	f := newFake()
	h := start(t, Options{}, f)
	c := h.dial()
	c.request(verbHold, 1, "")
	<-f.held
	c.request(verbEcho, 2, "never applied")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if err := h.Shutdown(ctx); !errors.Is(err, ErrForced) {
		t.Fatalf("shutdown: %v, want ErrForced", err)
	}
	c.expectClosed()
	if got := f.appliedNumbers(); len(got) != 1 {
		t.Errorf("applied %v", got)
	}
}

// countingListener counts how often it is closed.
type countingListener struct {
	net.Listener
	closed int
}

func (l *countingListener) Close() error {
	l.closed++
	return nil
}

func TestAClosedServerTakesNoListener(t *testing.T) {
	t.Parallel()
	h := start(t, Options{}, newFake())
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	l := &countingListener{}
	if err := h.Serve(l); !errors.Is(err, ErrServerClosed) || l.closed != 1 {
		t.Errorf("Serve: %v, listener closed %d times", err, l.closed)
	}
}
