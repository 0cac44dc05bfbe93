package bridge

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kafka-iggy-bridge/internal/records"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite golden files")

const testTime = int64(1_700_000_000_000)

func header(name, value string) records.Header {
	return records.Header{Key: name, Value: []byte(value)}
}

func testIDs() *idSource {
	s := &idSource{seed: [8]byte{0xf0, 1, 2, 3, 4, 5, 6, 7}}
	return s
}

// encodeAll encodes a batch and returns messages that own their bytes, with
// offsets as Iggy gives them.
func encodeAll(t testing.TB, batch *records.Batch, opts encodeOptions) []message {
	t.Helper()
	e := encoders.Get().(*encoder)
	defer e.release()
	if opts.ids == nil {
		opts.ids = testIDs()
	}
	if opts.now.IsZero() {
		opts.now = time.UnixMilli(testTime)
	}
	if err := e.encode(batch, opts); err != nil {
		t.Fatal(err)
	}
	out := make([]message, len(e.messages))
	for i, m := range e.messages {
		m.Payload, m.UserHeaders = bytes.Clone(m.Payload), bytes.Clone(m.UserHeaders)
		m.Header.Offset = uint64(i)
		out[i] = m
	}
	return out
}

// mappingCases has every form in which a record is stored. Their bytes are a
// promise to other implementations of the mapping.
func mappingCases() []struct {
	name string
	spec records.BatchSpec
	recs []rec
} {
	long := strings.Repeat("k", 256)
	many := make([]records.Header, 400)
	for i := range many {
		many[i] = header(fmt.Sprintf("header-%03d", i), strings.Repeat("v", 255))
	}
	one := func(r rec) []rec { return []rec{r} }
	at := func(r rec) rec { r.Timestamp = testTime; return r }
	producer := records.BatchSpec{HasProducer: true, ProducerID: 4711, ProducerEpoch: 3, BaseSequence: 2147483647}
	txn := producer
	txn.Transactional, txn.ProducerID, txn.BaseSequence = true, 4712, 0
	return []struct {
		name string
		spec records.BatchSpec
		recs []rec
	}{
		{"plain", records.BatchSpec{}, one(at(rec{Value: []byte("hello")}))},
		{"key", records.BatchSpec{}, one(at(rec{Key: []byte("k"), Value: []byte("v")}))},
		{"headers in order", records.BatchSpec{}, one(at(rec{Value: []byte("v"), Headers: []records.Header{header("z", "1"), header("a", "2"), header("", "3")}}))},
		{"null value", records.BatchSpec{}, one(at(rec{Key: []byte("k")}))},
		{"empty value", records.BatchSpec{}, one(at(rec{Key: []byte("k"), Value: []byte{}}))},
		{"empty value without a key", records.BatchSpec{}, one(at(rec{Value: []byte{}}))},
		{"null key and value", records.BatchSpec{}, one(at(rec{}))},
		{"key of 255 bytes", records.BatchSpec{}, one(at(rec{Key: []byte(long[:255]), Value: []byte("v")}))},
		{"envelope for a key of 256 bytes", records.BatchSpec{}, one(at(rec{Key: []byte(long), Value: []byte("v")}))},
		{"envelope for an empty key", records.BatchSpec{}, one(at(rec{Key: []byte{}, Value: []byte("v")}))},
		{"envelope for an empty header value", records.BatchSpec{}, one(at(rec{Value: []byte("v"), Headers: []records.Header{header("h", "")}}))},
		{"envelope for a null header value", records.BatchSpec{}, one(at(rec{Value: []byte("v"), Headers: []records.Header{{Key: "h"}}}))},
		{"envelope for a header value of 256 bytes", records.BatchSpec{}, one(at(rec{Headers: []records.Header{header("h", long)}}))},
		{"header name of 247 bytes", records.BatchSpec{}, one(at(rec{Value: []byte("v"), Headers: []records.Header{header(long[:247], "1")}}))},
		{"envelope for a header name of 248 bytes", records.BatchSpec{}, one(at(rec{Value: []byte("v"), Headers: []records.Header{header(long[:248], "1")}}))},
		{"envelope for a repeated header", records.BatchSpec{}, one(at(rec{Key: []byte("k"), Headers: []records.Header{header("h", "1"), header("h", "1")}}))},
		{"envelope for a header name that is not text", records.BatchSpec{}, one(at(rec{Value: []byte("v"), Headers: []records.Header{header("\xff\xfe", "1")}}))},
		{"envelope for more than 100000 bytes of headers", records.BatchSpec{}, one(at(rec{Value: []byte("v"), Headers: many}))},
		{"timestamp 0", records.BatchSpec{}, []rec{at(rec{Value: []byte("a")}), {Value: []byte("b"), Timestamp: 0}}},
		{"timestamp -1", records.BatchSpec{}, []rec{at(rec{Value: []byte("a")}), {Value: []byte("b"), Timestamp: -1}}},
		{"only timestamp -1", records.BatchSpec{}, one(rec{Value: []byte("a"), Timestamp: -1})},
		{"timestamps out of order", records.BatchSpec{}, []rec{{Value: []byte("a"), Timestamp: testTime}, {Value: []byte("b"), Timestamp: testTime - 1000}}},
		{"last timestamp inside the window", records.BatchSpec{}, []rec{{Value: []byte("a"), Timestamp: testTime}, {Value: []byte("b"), Timestamp: testTime + 4294967}}},
		{"first timestamp outside the window", records.BatchSpec{}, []rec{{Value: []byte("a"), Timestamp: testTime}, {Value: []byte("b"), Timestamp: testTime + 4294968}}},
		{"window from the earliest", records.BatchSpec{}, []rec{{Value: []byte("a"), Timestamp: testTime}, {Value: []byte("b"), Timestamp: testTime - 4294968}}},
		{"timestamp beyond what an origin can say", records.BatchSpec{}, []rec{{Value: []byte("a"), Timestamp: maxOriginMs}, {Value: []byte("b"), Timestamp: 1<<63 - 1}}},
		{"envelope with a timestamp", records.BatchSpec{}, one(rec{Key: []byte{}, Value: []byte("v"), Timestamp: 0})},
		{"idempotent producer whose sequence wraps", producer, []rec{at(rec{Value: []byte("a")}), at(rec{Value: []byte("b")})}},
		{"transactional", txn, one(at(rec{Key: []byte("k"), Value: []byte("a")}))},
	}
}

func describeMessage(b *strings.Builder, m *message) {
	fmt.Fprintf(b, "  id      %x\n  origin  %d\n", m.Header.Id, m.Header.OriginTimestamp)
	dump := func(name string, bytes []byte) {
		text := hex.EncodeToString(bytes)
		if len(text) > 160 {
			text = fmt.Sprintf("%s… (%d bytes)", text[:160], len(bytes))
		}
		fmt.Fprintf(b, "  %s %s\n", name, text)
	}
	dump("headers", m.UserHeaders)
	dump("payload", m.Payload)
}

func TestMappingGolden(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, c := range mappingCases() {
		fmt.Fprintf(&b, "%s\n", c.name)
		for _, m := range encodeAll(t, batchOf(t, c.spec, c.recs...), encodeOptions{}) {
			describeMessage(&b, &m)
		}
	}
	path := filepath.Join("testdata", "mapping.golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Fatalf("the mapping changed, which other implementations rely on (-golden +now):\n%s", diff)
	}
}

func TestRecordsRoundTrip(t *testing.T) {
	t.Parallel()
	for _, c := range mappingCases() {
		t.Run(c.name, func(t *testing.T) { checkRoundTrip(t, batchOf(t, c.spec, c.recs...), c.recs) })
	}
}

// checkRoundTrip encodes and decodes records and compares them.
func checkRoundTrip(t testing.TB, batch *records.Batch, recs []rec) {
	t.Helper()
	var lowest, highest uint64
	for i, m := range encodeAll(t, batch, encodeOptions{}) {
		var d decoded
		d.decode(&m)
		want, got := recs[i], cloneRecord(d.Record)
		want.Offset, got.Offset = 0, 0
		if d.unreadable != "" || d.appendTime {
			t.Fatalf("record %d: unreadable %q, append time %v", i, d.unreadable, d.appendTime)
		}
		if !sameRecord(want, got) {
			t.Fatalf("record %d: %s", i, cmp.Diff(cloneRecord(want), got))
		}
		if len(m.Payload) == 0 {
			t.Fatalf("record %d has an empty payload, which Iggy's clients cannot read", i)
		}
		if len(m.UserHeaders) > maxUserHeaders {
			t.Fatalf("record %d has %d bytes of user headers", i, len(m.UserHeaders))
		}
		checkUserHeaders(t, m.UserHeaders)
		o := m.Header.OriginTimestamp
		if i == 0 {
			lowest, highest = o, o
		}
		lowest, highest = min(lowest, o), max(highest, o)
	}
	if highest-lowest > originWindow {
		t.Fatalf("origin timestamps span %d µs", highest-lowest)
	}
}

// checkUserHeaders parses user headers as Iggy's own clients do.
func checkUserHeaders(t testing.TB, b []byte) {
	t.Helper()
	if len(b) == 0 {
		return
	}
	entries, err := iggcon.DeserializeHeaders(b)
	if err != nil {
		t.Fatalf("the SDK cannot read the user headers: %v", err)
	}
	seen := make(map[string]bool)
	for _, e := range entries {
		if e.Key.Kind != iggcon.String || seen[string(e.Key.Value)] {
			t.Fatalf("user header %q is not text or repeated", e.Key.Value)
		}
		seen[string(e.Key.Value)] = true
	}
}

// randomRecord makes records that are likely to hit a border of the mapping.
func randomRecord(r *rand.Rand) rec {
	blob := func(limit int) []byte {
		switch r.IntN(6) {
		case 0:
			return nil
		case 1:
			return []byte{}
		case 2:
			b := make([]byte, 250+r.IntN(12))
			return fill(r, b)
		default:
			return fill(r, make([]byte, r.IntN(limit)))
		}
	}
	out := rec{Key: blob(40), Value: blob(200), Timestamp: testTime + r.Int64N(10_000_000) - 5_000_000}
	switch r.IntN(12) {
	case 0:
		out.Timestamp = -1
	case 1:
		out.Timestamp = 0
	case 2:
		out.Timestamp = r.Int64N(1 << 62)
	case 3:
		out.Value = fill(r, make([]byte, 100_000))
	}
	for range r.IntN(4) {
		h := records.Header{Key: string(blob(10)), Value: blob(20)}
		if r.IntN(4) == 0 {
			h.Key = "same"
		}
		if r.IntN(30) == 0 {
			h.Value = fill(r, make([]byte, 100_000))
		}
		out.Headers = append(out.Headers, h)
	}
	return out
}

func fill(r *rand.Rand, b []byte) []byte {
	for i := 0; i < len(b); i += 8 {
		var eight [8]byte
		binary.LittleEndian.PutUint64(eight[:], r.Uint64())
		copy(b[i:], eight[:])
	}
	return b
}

func TestRandomRecordsRoundTrip(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		recs := make([]rec, 1+r.IntN(4))
		for i := range recs {
			recs[i] = randomRecord(r)
		}
		checkRoundTrip(t, batchOf(t, records.BatchSpec{}, recs...), recs)
	}
}

func TestDecodeForeignMessages(t *testing.T) {
	t.Parallel()
	entry := func(keyKind iggcon.HeaderKind, key, val string) []byte {
		return iggcon.GetHeadersBytes([]iggcon.HeaderEntry{{
			Key:   iggcon.HeaderKey{Kind: keyKind, Value: []byte(key)},
			Value: iggcon.HeaderValue{Kind: iggcon.Raw, Value: []byte(val)},
		}})
	}
	version := entry(iggcon.String, "kafka.v", "\x01")
	cat := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	origin := uint64(testTime)*1000 + 999
	unreadable := func(why string) []records.Header { return []records.Header{header("kafka.unreadable", why)} }
	cases := []struct {
		name    string
		message message
		want    rec
	}{
		{"payload without headers", message{Payload: []byte("p")}, rec{Value: []byte("p")}},
		{"empty payload is an empty value, not a null one", message{}, rec{Value: []byte{}}},
		{"its own headers", message{Payload: []byte("p"), UserHeaders: cat(entry(iggcon.String, "a", "1"), entry(iggcon.Int32, "\x07\x00\x00\x00", "2"))},
			rec{Value: []byte("p"), Headers: []records.Header{header("a", "1"), header("7", "2")}}},
		{"a key that is not text", message{Payload: []byte("p"), UserHeaders: entry(iggcon.Raw, "\xff\x00", "1")}, rec{Value: []byte("p"), Headers: []records.Header{header("ff00", "1")}}},
		{"kafka headers without a version are its own", message{Payload: []byte("p"), UserHeaders: entry(iggcon.String, "kafka.key", "k")}, rec{Value: []byte("p"), Headers: []records.Header{header("kafka.key", "k")}}},
		{"the version may come last", message{Payload: []byte("p"), UserHeaders: cat(entry(iggcon.String, "kafka.key", "k"), version)}, rec{Key: []byte("k"), Value: []byte("p")}},
		{"a header of another kind beside ours", message{Payload: []byte("p"), UserHeaders: cat(version, entry(iggcon.String, "trace", "t"))}, rec{Value: []byte("p"), Headers: []records.Header{header("trace", "t")}}},
		{"user headers that are none", message{Payload: []byte("p"), UserHeaders: []byte("junk")}, rec{Value: []byte("p"), Headers: unreadable("malformed user headers")}},
		{"a later version of the mapping", message{Payload: []byte("p"), UserHeaders: entry(iggcon.String, "kafka.v", "\x02")}, rec{Value: []byte("p"), Headers: unreadable("unknown mapping version 02")}},
		{"a broken envelope", message{Payload: []byte("p"), UserHeaders: cat(version, entry(iggcon.String, "kafka.envelope", "\x01"))}, rec{Value: []byte("p"), Headers: unreadable("malformed envelope: unknown flags 0x70")}},
		{"a later envelope", message{Payload: []byte("p"), UserHeaders: cat(version, entry(iggcon.String, "kafka.envelope", "\x02"))}, rec{Value: []byte("p"), Headers: unreadable("unknown envelope version 02")}},
		{"an unknown kind of value", message{Payload: []byte("p"), UserHeaders: cat(version, entry(iggcon.String, "kafka.value", "odd"))}, rec{Value: []byte("p"), Headers: unreadable(`unknown kind of value "odd"`)}},
		{"a timestamp of another size", message{Payload: []byte("p"), UserHeaders: cat(version, entry(iggcon.String, "kafka.ts", "1"))}, rec{Value: []byte("p"), Headers: unreadable("a timestamp of 1 bytes")}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.message.Header.OriginTimestamp = origin
			c.want.Timestamp = testTime
			var d decoded
			d.decode(&c.message)
			if diff := cmp.Diff(c.want, cloneRecord(d.Record)); diff != "" {
				t.Fatal(diff)
			}
		})
	}
}

func TestDecodeTimes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name           string
		origin, server uint64
		want           int64
		appendTime     bool
	}{
		{"the origin's", 1_700_000_000_123_999, 5, 1_700_000_000_123, false},
		{"Iggy's own when the origin says nothing", 0, 1_700_000_000_456_000, 1_700_000_000_456, true},
		{"none at all", 0, 0, -1, true},
		{"beyond any clock", 1<<64 - 1, 0, maxOriginMs, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := message{Payload: []byte("p"), Header: iggcon.MessageHeader{OriginTimestamp: c.origin, Timestamp: c.server}}
			var d decoded
			d.decode(&m)
			if d.Timestamp != c.want || d.appendTime != c.appendTime {
				t.Fatalf("got %d, append time %v", d.Timestamp, d.appendTime)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	for _, c := range mappingCases() {
		for _, m := range encodeAll(f, batchOf(f, c.spec, c.recs...), encodeOptions{}) {
			f.Add(m.Payload, m.UserHeaders, m.Header.Id[:], m.Header.OriginTimestamp)
		}
	}
	f.Fuzz(func(t *testing.T, payload, headers, id []byte, origin uint64) {
		m := message{Payload: payload, UserHeaders: headers, Header: iggcon.MessageHeader{OriginTimestamp: origin}}
		copy(m.Header.Id[:], id)
		var d decoded
		d.decode(&m)
		if d.unreadable != "" && (!bytes.Equal(d.Value, payload) || d.Value == nil || d.Key != nil || len(d.Headers) != 1) {
			t.Fatalf("an unreadable message became %+v", d.Record)
		}
		// Whatever came out is a record that can be sent and stored again.
		var b records.Builder
		b.Reset(nil, records.BatchSpec{})
		if err := b.Append(d.Timestamp, d.Key, d.Value, d.Headers); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte("k"), []byte("v"), "h", []byte("x"), uint8(0), testTime)
	f.Fuzz(func(t *testing.T, key, val []byte, name string, headerValue []byte, nulls uint8, ts int64) {
		r := rec{Key: key, Value: val, Timestamp: ts, Headers: []records.Header{{Key: name, Value: headerValue}}}
		if nulls&1 != 0 {
			r.Key = nil
		}
		if nulls&2 != 0 {
			r.Value = nil
		}
		if nulls&4 != 0 {
			r.Headers[0].Value = nil
		}
		if nulls&8 != 0 {
			r.Headers = nil
		}
		if nulls&16 != 0 && r.Headers != nil {
			r.Headers = append(r.Headers, r.Headers[0])
		}
		checkRoundTrip(t, batchOf(t, records.BatchSpec{}, r), []rec{r})
	})
}
