package server

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestWhatIsNoFrameIsClosedAtOnceWithOneLine(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		bytes  []byte
		reason string
	}{
		"TLS handshake on the plaintext port": {[]byte{0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc}, "TLS handshake"},
		"HTTP on the Kafka port":              {[]byte("GET / HTTP/1.1\r\n\r\n"), "HTTP"},
		"size 2^31-1":                         {[]byte{0x7f, 0xff, 0xff, 0xff}, "2147483647"},
		"size -1":                             {[]byte{0xff, 0xff, 0xff, 0xff}, "-1"},
		"size one above the limit":            {binary.BigEndian.AppendUint32(nil, 1<<20+1), "1048577"},
		"size 0: no room for a header":        {[]byte{0, 0, 0, 0}, "0 bytes"},
		"size 3: no room for a header":        {[]byte{0, 0, 0, 3, 1, 2, 3}, "3 bytes"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := start(t, Options{MaxRequestBytes: 1 << 20}, newFake())
			other := h.dial()
			c := h.dial()
			c.send(tc.bytes...)
			c.expectClosed()
			if lines := h.log.containing("connection closed"); len(lines) != 1 || !strings.Contains(lines[0], tc.reason) {
				t.Errorf("log lines %q, want one with %q", lines, tc.reason)
			}
			other.request(verbEcho, 1, "unaffected")
			other.expect(1, "unaffected")
		})
	}
}

func TestAnswersDueBeforeAMalformedFrameAreSent(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string][]byte{
		"bad size":     {0xff, 0xff, 0xff, 0xff},
		"bad contents": fakeFrame(verbBad, 9, nil),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			h := start(t, Options{}, f)
			c := h.dial()
			c.request(verbPark, 1, "")
			<-f.parked
			c.request(verbEcho, 2, "good")
			c.send(bad...)
			c.send(fakeFrame(verbEcho, 3, []byte("behind the bad one"))...)
			if name == "bad contents" { // it has its turn only when the client stops waiting
				if err := c.CloseWrite(); err != nil {
					t.Fatal(err)
				}
			}
			if n, _ := c.answer(); n != 1 {
				t.Fatalf("first answer is to %d", n)
			}
			c.expect(2, "good")
			c.expectClosed()
			if n := len(f.appliedNumbers()); name == "bad contents" && n != 3 || name == "bad size" && n != 2 {
				t.Errorf("%d requests were applied: %v", n, f.appliedNumbers())
			}
		})
	}
}

func TestAnAnnouncedSizeReservesNoMemory(t *testing.T) {
	// Not parallel: it measures the heap of the process.
	h := start(t, Options{}, newFake())
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	const conns = 100
	for range conns {
		c := h.dial()
		c.send(append(binary.BigEndian.AppendUint32(nil, 100<<20), make([]byte, 100)...)...)
	}
	eventually(t, "all connected", func() bool { return h.gauge("connections") == conns })
	other := h.dial()
	other.request(verbEcho, 1, "unaffected")
	other.expect(1, "unaffected")
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 16<<20 {
		t.Errorf("%d connections that announced 100 MiB each hold %d bytes", conns, grown)
	}
}

func TestAHalfSentFrameIsClosedAfterTheReadTimeout(t *testing.T) {
	t.Parallel()
	for name, sent := range map[string][]byte{
		"inside the size":        {0, 0},
		"one byte short":         fakeFrame(verbEcho, 1, []byte("x"))[:9],
		"far from the announced": append(binary.BigEndian.AppendUint32(nil, 50<<20), 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := start(t, Options{ReadTimeout: 50 * time.Millisecond}, newFake())
			c := h.dial()
			c.send(sent...)
			c.expectClosed()
			if lines := h.log.containing("kafka.request_read_timeout"); len(lines) != 1 {
				t.Errorf("log lines %q", lines)
			}
		})
	}
}

func TestATrickleIsClosedAfterTheReadTimeout(t *testing.T) {
	t.Parallel()
	h := start(t, Options{ReadTimeout: 100 * time.Millisecond}, newFake())
	c := h.dial()
	c.send(binary.BigEndian.AppendUint32(nil, 50<<20)...)
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for began := time.Now(); ; <-ticker.C {
		if _, err := c.Write([]byte{1}); err != nil {
			return
		}
		if time.Since(began) > patience {
			t.Fatal("a client that sends byte by byte is kept")
		}
	}
}

func TestIdleConnectionsEnd(t *testing.T) {
	t.Parallel()
	f := newFake()
	h := start(t, Options{IdleTimeout: 60 * time.Millisecond}, f)
	silent, used := h.dial(), h.dial()
	used.request(verbEcho, 1, "then silent")
	used.expect(1, "then silent")
	busy := h.dial()
	busy.request(verbHold, 2, "")
	<-f.held
	silent.expectClosed()
	used.expectClosed()
	close(f.release) // longer at work than the idle timeout, and kept
	busy.expect(2, "held")
	busy.expectClosed()
	if n := h.gauge("connections_closed_total"); n != 3 {
		t.Errorf("%v connections counted as closed", n)
	}
}

func TestConnectionsAboveTheLimitAreClosedAndCounted(t *testing.T) {
	t.Parallel()
	h := start(t, Options{MaxConnections: 2}, newFake())
	a, b := h.dial(), h.dial()
	for i, c := range []*client{a, b} {
		c.request(verbEcho, uint32(i), "in")
		c.expect(uint32(i), "in")
	}
	for range 3 {
		h.dial().expectClosed()
	}
	if n := h.gauge("connections_closed_total"); n != 3 {
		t.Errorf("%v connections counted as refused", n)
	}
	if lines := h.log.containing("kafka.max_connections"); len(lines) != 1 {
		t.Errorf("%d log lines for a burst of refusals", len(lines))
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "room again", func() bool { return h.gauge("connections") == 1 })
	c := h.dial()
	c.request(verbEcho, 9, "room again")
	c.expect(9, "room again")
}

func TestAPanicEndsItsConnectionOnly(t *testing.T) {
	t.Parallel()
	h := start(t, Options{}, newFake())
	other, c := h.dial(), h.dial()
	c.request(verbEcho, 1, "before")
	c.request(verbPanic, 2, "")
	c.expect(1, "before")
	c.expectClosed()
	if lines := h.log.containing("panicked"); len(lines) != 1 || !strings.Contains(lines[0], "as asked") {
		t.Errorf("log lines %q", lines)
	}
	other.request(verbEcho, 3, "unaffected")
	other.expect(3, "unaffected")
}

func TestAnAnswerCanEndItsConnection(t *testing.T) {
	t.Parallel()
	f := newFake()
	h := start(t, Options{}, f)
	c := h.dial()
	c.send(append(fakeFrame(verbLast, 1, []byte("bye")), fakeFrame(verbEcho, 2, nil)...)...)
	c.expect(1, "bye")
	c.expectClosed()
	if n := len(f.appliedNumbers()); n != 1 {
		t.Errorf("%d requests applied", n)
	}
}

func TestASlowReaderIsBoundedAndCut(t *testing.T) {
	t.Parallel()
	f := newFake()
	h := start(t, Options{MaxResponseBacklog: 4 << 20, WriteTimeout: 300 * time.Millisecond}, f)
	c := h.dial()
	if err := c.SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	for i := range uint32(60) {
		c.request(verbBig, i, "\x04") // 4 MiB each, 240 MiB in all
	}
	other := h.dial()
	other.request(verbEcho, 1000, "unaffected")
	other.expect(1000, "unaffected")
	eventually(t, "the slow reader is cut", func() bool { return len(h.log.containing("kafka.write_timeout")) == 1 })
	eventually(t, "its answers are released", func() bool { return h.gauge("connections") == 1 })
	if out := h.gauge("bytes_out_total"); out > 32<<20 {
		t.Errorf("%v bytes were taken by a client that reads nothing", out)
	}
}

func TestASlowReaderCostsOneLargeAnswer(t *testing.T) {
	t.Parallel()
	f := newFake()
	h := start(t, Options{MaxResponseBacklog: 4 << 20}, f)
	c := h.dial()
	if err := c.SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	for i := range uint32(5) {
		c.request(verbBig, i, "\x20") // 32 MiB, more than the kernel buffers
	}
	eventually(t, "the first request is applied", func() bool { return len(f.appliedNumbers()) == 1 })
	other := h.dial()
	for i := range uint32(20) {
		other.request(verbEcho, 1000+i, "goes on")
		other.expect(1000+i, "goes on")
	}
	if got := f.appliedNumbers(); len(got) != 21 || slices.Contains(got, 1) {
		t.Errorf("requests behind an answer that nobody reads were applied: %v", got)
	}
}

func TestASlowButSteadyReaderIsKept(t *testing.T) {
	t.Parallel()
	h := start(t, Options{WriteTimeout: 400 * time.Millisecond}, newFake())
	c := h.dial()
	if err := c.SetReadBuffer(64 << 10); err != nil {
		t.Fatal(err)
	}
	c.request(verbBig, 1, "\x10")
	ticker := time.NewTicker(10 * time.Millisecond) // 16 MiB in steps of 256 KiB: more than the timeout in all
	defer ticker.Stop()
	want, got := int64(16<<20+8), int64(0)
	for got < want {
		n, err := io.CopyN(io.Discard, c, min(256<<10, want-got))
		got += n
		if err != nil {
			t.Fatalf("cut after %d bytes: %v", got, err)
		}
		<-ticker.C
	}
}

func TestManyShortConnectionsLeaveNothing(t *testing.T) {
	t.Parallel()
	h := start(t, Options{}, newFake())
	for i := range 300 {
		c := h.dial()
		switch i % 3 {
		case 0:
			c.request(verbEcho, uint32(i), "x")
			c.expect(uint32(i), "x")
			c.reset()
		case 1:
			c.request(verbEcho, uint32(i), "x")
			c.reset()
		default:
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	eventually(t, "all ended", func() bool { return h.gauge("connections") == 0 && h.gauge("connections_accepted_total") == 300 })
}

// A listener that fails now and then, as one does without file descriptors.
type flakyListener struct {
	net.Listener
	failures int
}

func (l *flakyListener) Accept() (net.Conn, error) {
	if l.failures > 0 {
		l.failures--
		return nil, fmt.Errorf("accept: too many open files")
	}
	return l.Listener.Accept()
}

func TestAcceptingGoesOnAfterAFailure(t *testing.T) {
	t.Parallel()
	h := start(t, Options{}, newFake())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- h.Serve(&flakyListener{Listener: l, failures: 3}) }()
	h.addr = l.Addr().String()
	c := h.dial()
	c.request(verbEcho, 1, "in")
	c.expect(1, "in")
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	<-served
}
