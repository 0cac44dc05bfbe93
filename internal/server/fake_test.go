package server

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"go.uber.org/goleak"

	"kafka-iggy-bridge/internal/server/parking"
	"kafka-iggy-bridge/internal/telemetry"
)

// patience bounds every wait of these tests; nothing waits for it to pass.
const patience = 20 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The fake protocol: a frame is a verb, a request number and an argument; its
// answer is the number and a payload.
const (
	verbEcho  = 'e' // answers its argument
	verbPark  = 'p' // parks until evicted, answers the cause
	verbHold  = 'h' // waits for fake.release, not parked, answers the cause or "held"
	verbBad   = 'b' // is malformed
	verbPanic = 'x' // panics
	verbNone  = '0' // is applied without an answer
	verbBig   = 'B' // answers as many MiB as the argument's first byte says
	verbLast  = 'l' // answers and closes
)

// fake is a dispatcher that speaks the fake protocol.
type fake struct {
	held    chan struct{} // tells that a verbHold has begun
	release chan struct{}
	parked  chan struct{} // tells that a verbPark has begun

	mu       sync.Mutex
	applied  []uint32
	released atomic.Int64
}

func newFake() *fake {
	return &fake{held: make(chan struct{}, 1024), release: make(chan struct{}), parked: make(chan struct{}, 1024)}
}

func (f *fake) Dispatch(ctx context.Context, _ *Peer, frame []byte) (Response, error) {
	if len(frame) < 5 {
		return Response{}, &RequestError{API: "unknown", Version: -1, Err: fmt.Errorf("%w: %d bytes", ErrMalformed, len(frame))}
	}
	number, arg := binary.BigEndian.Uint32(frame[1:]), frame[5:]
	f.mu.Lock()
	f.applied = append(f.applied, number)
	f.mu.Unlock()
	switch frame[0] {
	case verbEcho:
		return f.answer(number, arg), nil
	case verbPark:
		pctx, leave := parking.Park(ctx)
		defer leave()
		f.parked <- struct{}{}
		<-pctx.Done()
		return f.answer(number, []byte(context.Cause(pctx).Error())), nil
	case verbHold:
		f.held <- struct{}{}
		select {
		case <-f.release:
			return f.answer(number, []byte("held")), nil
		case <-ctx.Done():
			return Response{}, context.Cause(ctx)
		}
	case verbPanic:
		panic("as asked")
	case verbNone:
		return Response{}, nil
	case verbBig:
		piece := make([]byte, 1<<20)
		resp := f.answer(number, nil)
		for range arg[0] {
			resp.Segments = append(resp.Segments, piece)
		}
		binary.BigEndian.PutUint32(resp.Segments[0], uint32(resp.size()-4))
		return resp, nil
	case verbLast:
		resp := f.answer(number, arg)
		resp.Close = true
		return resp, nil
	}
	return Response{}, &RequestError{API: "Fetch", Version: 12, Err: fmt.Errorf("%w: as asked", ErrMalformed)}
}

// answer refers to payload without copying it, as the records of a real answer do.
func (f *fake) answer(number uint32, payload []byte) Response {
	head := binary.BigEndian.AppendUint32(nil, uint32(4+len(payload)))
	head = binary.BigEndian.AppendUint32(head, number)
	return Response{Segments: net.Buffers{head, payload}, Release: func() { f.released.Add(1) }}
}

func (f *fake) appliedNumbers() []uint32 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]uint32(nil), f.applied...)
}

// logLines collects the log of one server.
type logLines struct {
	mu    sync.Mutex
	lines []string
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(p))
	return len(p), nil
}

func (l *logLines) containing(text string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []string
	for _, line := range l.lines {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// harness is a server on a loopback socket.
type harness struct {
	*Server
	t       *testing.T
	addr    string
	log     *logLines
	metrics *telemetry.Metrics
}

func start(t *testing.T, opts Options, d Dispatcher) *harness {
	t.Helper()
	lines := &logLines{}
	log := logrus.New()
	log.SetOutput(lines)
	metrics := telemetry.NewMetrics("test")
	s := New(opts, d, log, metrics)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if err := <-served; !errors.Is(err, ErrServerClosed) {
			t.Errorf("Serve returned %v", err)
		}
	})
	return &harness{Server: s, t: t, addr: l.Addr().String(), log: lines, metrics: metrics}
}

// gauge reads a metric without labels, or the sum over all labels.
func (h *harness) gauge(name string) float64 {
	h.t.Helper()
	families, err := h.metrics.Registry().Gather()
	if err != nil {
		h.t.Fatal(err)
	}
	sum := 0.0
	for _, family := range families {
		if family.GetName() != "kafka_bridge_"+name {
			continue
		}
		for _, m := range family.GetMetric() {
			sum += m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return sum
}

// eventually polls for a state that has no event to wait for.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("never happened: %s", what)
		}
	}
}

// client is the other end of a connection.
type client struct {
	*net.TCPConn
	t *testing.T
}

func (h *harness) dial() *client {
	h.t.Helper()
	nc, err := net.Dial("tcp", h.addr)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { nc.Close() })
	if err := nc.SetDeadline(time.Now().Add(patience)); err != nil {
		h.t.Fatal(err)
	}
	return &client{TCPConn: nc.(*net.TCPConn), t: h.t}
}

func fakeFrame(verb byte, number uint32, arg []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(5+len(arg)))
	b = binary.BigEndian.AppendUint32(append(b, verb), number)
	return append(b, arg...)
}

func (c *client) send(b ...byte) {
	c.t.Helper()
	if _, err := c.Write(b); err != nil {
		c.t.Fatalf("send: %v", err)
	}
}

func (c *client) request(verb byte, number uint32, arg string) {
	c.t.Helper()
	c.send(fakeFrame(verb, number, []byte(arg))...)
}

// answer reads the next answer.
func (c *client) answer() (number uint32, payload []byte) {
	c.t.Helper()
	number, payload, err := c.tryAnswer()
	if err != nil {
		c.t.Fatalf("read answer: %v", err)
	}
	return number, payload
}

func (c *client) tryAnswer() (uint32, []byte, error) {
	var head [8]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return 0, nil, err
	}
	payload := make([]byte, binary.BigEndian.Uint32(head[:])-4)
	_, err := io.ReadFull(c, payload)
	return binary.BigEndian.Uint32(head[4:]), payload, err
}

func (c *client) expect(number uint32, payload string) {
	c.t.Helper()
	n, p := c.answer()
	if n != number || string(p) != payload {
		c.t.Fatalf("answer %d %q, want %d %q", n, p, number, payload)
	}
}

// expectClosed reads on until the server has closed, and wants nothing before that.
func (c *client) expectClosed() {
	c.t.Helper()
	n, err := io.Copy(io.Discard, c)
	if n != 0 {
		c.t.Fatalf("%d bytes before the end", n)
	}
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		c.t.Fatal("the connection stays open")
	}
}

// reset closes with a RST instead of a FIN.
func (c *client) reset() {
	c.t.Helper()
	if err := c.SetLinger(0); err != nil {
		c.t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		c.t.Fatal(err)
	}
}
