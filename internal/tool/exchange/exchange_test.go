package exchange

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/tool"
	"kafka-iggy-bridge/internal/tool/corpus"
	"kafka-iggy-bridge/internal/tool/frame"
)

func TestSend(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		api     string
		version int16
		behave  behaviour
		server  func(string) Server
		status  Status
		detail  string
	}{
		{"answers well", "Heartbeat", 4, answer, server, OK, "bytes"},
		{"answers with an error code", "Heartbeat", 0, echoes("\x00\x19"), server, OK, "6 bytes, error codes 25"},
		{"closes", "Heartbeat", 4, closes, server, Closed, "no answer"},
		{"resets", "Heartbeat", 4, resets, server, Closed, "no answer"},
		{"never answers", "Heartbeat", 4, never, impatient, Timeout, "no whole answer in time"},
		{"answers in another protocol", "Heartbeat", 4, says("HTTP/1.1 400 Bad Request\r\n\r\n"), server, Malformed, "it announces"},
		{"closes inside a frame", "Heartbeat", 4, says("\x00\x00\x00\x09ab"), server, Malformed, "2 of 9 bytes came"},
		{"closes inside a size", "Heartbeat", 4, says("\x00"), server, Malformed, "1 of 4 bytes came"},
		{"announces a negative size", "Heartbeat", 4, says("\xff\xff\xff\xff"), server, Malformed, "announces -1 bytes"},
		{"answers less than a header", "Heartbeat", 4, says("\x00\x00\x00\x02ab"), server, Malformed, "too few for a response header"},
		{"answers another request", "Heartbeat", 4, says("\x00\x00\x00\x06abcdef"), server, Malformed, "correlation id is 1633837924"},
		{"answers with bytes behind", "Heartbeat", 0, echoes("\x00\x00\x00"), server, Malformed, "1 bytes are left behind"},
		{"answers with bytes missing", "Heartbeat", 0, echoes("\x00"), server, Malformed, "HeartbeatResponse v0"},
		{"answers ApiVersions with tags in the header", "ApiVersions", 3, echoes("\x00\x00\x00\x01\x00\x00\x00\x00\x00"), server, Malformed, "ApiVersionsResponse v3"},
		{"does not know a version of ApiVersions", "ApiVersions", 5, echoes("\x00\x23\x00\x00\x00\x01\x00\x12\x00\x00\x00\x03"), server, OK, "error codes 35"},
		{"does not know ApiVersions and says so badly", "ApiVersions", 5, echoes("\x00\x23\x00\x00\x00\x01\x00\x12"), server, Malformed, "ApiVersionsResponse v0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := make1(t, c.api, c.version)
			out := c.server(peer(t, c.behave)).Send(t.Context(), x)
			if out.Status != c.status || !strings.Contains(out.Detail, c.detail) || out.Pair != x.Pair {
				t.Errorf("%s: %s %q, want %s with %q", out.Pair, out.Status, out.Detail, c.status, c.detail)
			}
		})
	}
}

// TestNoAnswerDue: a Produce with acks of 0 is owed no answer, which shows in
// what the next request on the connection gets.
func TestNoAnswerDue(t *testing.T) {
	t.Parallel()
	silent := func(conn net.Conn, payload []byte) bool {
		return binary.BigEndian.Uint16(payload) == 0 || answer(conn, payload)
	}
	for _, c := range []struct {
		name   string
		behave behaviour
		server func(string) Server
		status Status
		detail string
	}{
		{"none comes", silent, server, OK, "as none is due"},
		{"one comes", answer, server, Malformed, "answered, though none is due"},
		{"closes, as Kafka does with errors", closes, server, Closed, "no answer"},
		{"never answers again", never, impatient, Timeout, ""},
		{"answers neither", says("\x00\x00\x00\x06abcdef"), server, Malformed, "which no request has"},
		{"answers too little", says("\x00\x00\x00\x01a"), server, Malformed, "too few"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := make1(t, "Produce", 9)
			body := generated.DefaultProduceRequest()
			var err error
			if x.Request, err = frame.AppendRequest(nil, x.Pair, x.CorrelationID, "test", &body); err != nil {
				t.Fatal(err)
			}
			out := c.server(peer(t, c.behave)).Send(t.Context(), x)
			if out.Status != c.status || !strings.Contains(out.Detail, c.detail) {
				t.Errorf("%s %q, want %s with %q", out.Status, out.Detail, c.status, c.detail)
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	s := server(nobody(t))
	if out := s.Send(t.Context(), make1(t, "Heartbeat", 4)); out.Status != Unreachable || !out.Status.Failed() {
		t.Errorf("%s %q, want unreachable", out.Status, out.Detail)
	}
	if s.Reachable(t.Context()) == nil {
		t.Error("nobody passes for reachable")
	}
	if err := server(peer(t, closes)).Reachable(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestSendAll(t *testing.T) {
	t.Parallel()
	pairs, err := tool.Select("", tool.AllVersions)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]*corpus.Exchange, len(pairs))
	for i, p := range pairs {
		if all[i], err = corpus.Make(p, corpus.Options{Seed: 2}); err != nil {
			t.Fatal(err)
		}
	}
	var open, most atomic.Int32
	address := peer(t, func(conn net.Conn, payload []byte) bool {
		now := open.Add(1)
		defer open.Add(-1)
		for {
			if m := most.Load(); now <= m || most.CompareAndSwap(m, now) {
				break
			}
		}
		// Every other API is not served.
		return binary.BigEndian.Uint16(payload)%2 == 0 && answer(conn, payload)
	})
	const concurrency = 3
	i := 0
	counts, err := server(address).SendAll(t.Context(), all, concurrency, func(o Outcome) {
		want := OK
		if o.API.Key%2 == 1 {
			want = Closed
		}
		if o.Pair != pairs[i] || o.Status != want {
			t.Errorf("outcome %d is %s %s %q, want %s %s", i, o.Pair, o.Status, o.Detail, pairs[i], want)
		}
		i++
	})
	if err != nil || counts[OK]+counts[Closed] != 309 || counts.Failed() != 0 {
		t.Errorf("%s (%v)", counts, err)
	}
	if !strings.HasPrefix(counts.String(), "309 requests: ") || !strings.HasSuffix(counts.String(), " closed, 0 malformed, 0 timeout, 0 unreachable") {
		t.Errorf("counts read %q", counts)
	}
	if most.Load() > concurrency {
		t.Errorf("%d requests at a time, want %d at most", most.Load(), concurrency)
	}
}

// TestCancel: a cancelled context ends everything that is under way.
func TestCancel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	address := peer(t, func(conn net.Conn, payload []byte) bool {
		cancel()
		return never(conn, payload)
	})
	x := make1(t, "Heartbeat", 4)
	_, err := server(address).SendAll(ctx, []*corpus.Exchange{x, x, x}, 1, func(o Outcome) { t.Errorf("reports %s", o.Status) })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}

func TestCheckAddress(t *testing.T) {
	t.Parallel()
	for address, ok := range map[string]bool{
		"localhost:9093": true, "[::1]:9093": true, ":9093": true,
		"localhost": false, "localhost:": false, "localhost:http": false, "localhost:0": false, "localhost:65536": false, "": false, "::1": false,
	} {
		if err := CheckAddress(address); (err == nil) != ok || err != nil && !errors.Is(err, tool.ErrInput) {
			t.Errorf("%q: %v, want ok: %t", address, err, ok)
		}
	}
}

func TestRanges(t *testing.T) {
	t.Parallel()
	old := func(conn net.Conn, payload []byte) bool {
		if binary.BigEndian.Uint16(payload[2:]) > 2 {
			return echoes("\x00\x23\x00\x00\x00\x01\x00\x12\x00\x00\x00\x02")(conn, payload)
		}
		return echoes("\x00\x00\x00\x00\x00\x01\x00\x03\x00\x01\x00\x08\x00\x00\x00\x00")(conn, payload)
	}
	ranges, err := server(peer(t, old)).Ranges(t.Context())
	if err != nil || len(ranges) != 1 || ranges[3] != (Range{1, 8}) {
		t.Errorf("an older server: %v, %v", ranges, err)
	}
	oldest := func(conn net.Conn, payload []byte) bool {
		if binary.BigEndian.Uint16(payload[2:]) > 0 {
			return echoes("\x00\x23\x00\x00\x00\x00")(conn, payload) // lists nothing, as servers before KIP-511
		}
		return echoes("\x00\x00\x00\x00\x00\x01\x00\x03\x00\x01\x00\x08")(conn, payload)
	}
	if ranges, err = server(peer(t, oldest)).Ranges(t.Context()); err != nil || ranges[3] != (Range{1, 8}) {
		t.Errorf("the oldest servers: %v, %v", ranges, err)
	}
	for _, c := range []struct {
		name, want string
		behave     behaviour
	}{
		{"closes", "closed: no answer", closes},
		{"garbage", "malformed", says("\x00\x00\x00\x06abcdef")},
		{"does not decode", "malformed", echoes("\x00\x00")},
		{"refuses", "error code 42", echoes("\x00\x2a\x01\x00\x00\x00\x00\x00")},
	} {
		if _, err := server(peer(t, c.behave)).Ranges(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", c.name, err, c.want)
		}
	}
}
