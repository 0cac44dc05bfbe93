package records

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

const testNow = int64(1_700_000_000_000)

var allCodecs = []Codec{CodecNone, CodecGzip, CodecSnappy, CodecLZ4, CodecZstd}

// producerSpec is what a producer without idempotence sends.
func producerSpec(c Codec) BatchSpec { return BatchSpec{LeaderEpoch: NoLeaderEpoch, Codec: c} }

func build(t testing.TB, spec BatchSpec, rs ...Record) []byte {
	t.Helper()
	var b Builder
	b.Reset(nil, spec)
	for _, r := range rs {
		if err := b.Append(r.Timestamp, r.Key, r.Value, r.Headers); err != nil {
			t.Fatalf("append: %v", err)
		}
	}
	out, err := b.Finish()
	if err != nil {
		t.Fatalf("finish: %v", err)
	}
	return out
}

// three are records whose offsets are those of a batch at 0.
func three() []Record {
	return []Record{
		{Offset: 0, Timestamp: testNow, Key: []byte("a"), Value: []byte("1")},
		{Offset: 1, Timestamp: testNow, Key: []byte("b"), Value: []byte("2")},
		{Offset: 2, Timestamp: testNow, Key: []byte("c"), Value: []byte("3")},
	}
}

// edge has every combination of null and empty, repeated and odd headers, and
// times before and after the first.
func edge() []Record {
	long := bytes.Repeat([]byte("long value. "), 2000)
	return []Record{
		{Offset: 0, Timestamp: testNow},
		{Offset: 1, Timestamp: testNow + 5, Key: []byte{}, Value: []byte{}},
		{Offset: 2, Timestamp: testNow - 86_400_000, Key: []byte("k"), Value: nil},
		{Offset: 3, Timestamp: testNow, Key: nil, Value: []byte("v")},
		{Offset: 4, Timestamp: -1, Key: []byte("k"), Value: long},
		{Offset: 5, Timestamp: 0, Key: long, Value: []byte("v"), Headers: []Header{
			{Key: "h", Value: []byte("1")}, {Key: "h", Value: nil}, {Key: "h", Value: []byte{}}, {Key: "", Value: nil},
			{Key: "\xff\x00", Value: long}, {Key: strings.Repeat("n", 1024), Value: []byte("x")},
		}},
	}
}

// collect reads all records of a batch, copied.
func collect(t testing.TB, b *Batch) []Record {
	t.Helper()
	if err := b.Decompress(64 << 20); err != nil {
		t.Fatalf("decompress: %v", err)
	}
	var (
		out []Record
		r   Record
	)
	it := b.Iterator()
	for it.Next(&r) {
		out = append(out, cloneRecord(r))
	}
	if err := it.Err(); err != nil {
		t.Fatalf("iterate: %v", err)
	}
	return out
}

func cloneRecord(r Record) Record {
	r.Key, r.Value = bytes.Clone(r.Key), bytes.Clone(r.Value)
	var hs []Header
	for _, h := range r.Headers {
		hs = append(hs, Header{Key: strings.Clone(h.Key), Value: bytes.Clone(h.Value)})
	}
	r.Headers = hs
	return r
}

// parseOne parses raw as exactly one batch with a right checksum.
func parseOne(t testing.TB, raw []byte) *Batch {
	t.Helper()
	b, rest, err := Parse(raw)
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	if len(rest) != 0 {
		t.Fatalf("%d bytes left", len(rest))
	}
	if err := b.VerifyCRC(); err != nil {
		t.Fatal(err)
	}
	return &b
}

// edit changes a batch and gives it the right checksum again.
func edit(raw []byte, f func(b []byte)) []byte {
	f(raw)
	return seal(raw)
}

func seal(raw []byte) []byte {
	binary.BigEndian.PutUint32(raw[posCRC:], checksum(raw))
	return raw
}

func put32(b []byte, pos int, v int32) { binary.BigEndian.PutUint32(b[pos:], uint32(v)) }
func put64(b []byte, pos int, v int64) { binary.BigEndian.PutUint64(b[pos:], uint64(v)) }

// withPayload makes a batch that announces count records around a payload.
func withPayload(t testing.TB, c Codec, count int32, payload []byte) []byte {
	t.Helper()
	raw := append(build(t, producerSpec(CodecNone), three()...)[:HeaderSize], payload...)
	put32(raw, posLength, int32(len(raw)-logOverhead))
	raw[posAttributes+1] = byte(c)
	put32(raw, posLastOffsetDelta, count-1)
	put32(raw, posCount, count)
	return seal(raw)
}

// withRecords is withPayload for encoded records that are to be compressed.
func withRecords(t testing.TB, c Codec, count int32, encoded []byte) []byte {
	t.Helper()
	payload, err := AppendCompressed(nil, c, encoded)
	if err != nil {
		t.Fatal(err)
	}
	return withPayload(t, c, count, payload)
}

func vi(v int64) []byte { return appendVarint(nil, v) }

func cat(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// sized is a record around its body.
func sized(parts ...[]byte) []byte {
	b := cat(parts...)
	return append(vi(int64(len(b))), b...)
}

// plainRecord is a record without a key whose headers are given as bytes.
func plainRecord(delta int64, headers []byte) []byte {
	return sized([]byte{0}, vi(0), vi(delta), vi(-1), vi(1), []byte("v"), headers)
}

// text is compressible, noise is not.
func text(n int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, `{"id":%d,"name":"user-%d","ok":%t}`, i, i*7919%1000, i%3 == 0)
	}
	return b.Bytes()[:n]
}

func noise(n int) []byte {
	b := make([]byte, n)
	x := uint64(88172645463325252)
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x)
	}
	return b
}

// What diffRecords overlooks, where another client's model is coarser than
// Kafka's.
const (
	sameEmpty = 1 << iota // null and empty are the same
	anyTime               // timestamps may differ
)

// diffRecords says how got differs from want; cmp.Diff would compare long
// values byte by byte.
func diffRecords(want, got []Record, overlook int) string {
	if len(want) != len(got) {
		return fmt.Sprintf("%d records, want %d", len(got), len(want))
	}
	for i := range want {
		w, g := want[i], got[i]
		if overlook&anyTime != 0 {
			g.Timestamp = w.Timestamp
		}
		if !equalRecords(w, g, overlook&sameEmpty == 0) {
			return fmt.Sprintf("record %d: %.200v, want %.200v", i, g, w)
		}
	}
	return ""
}

func equalRecords(a, b Record, nulls bool) bool {
	same := func(x, y []byte) bool { return bytes.Equal(x, y) && (!nulls || (x == nil) == (y == nil)) }
	if a.Offset != b.Offset || a.Timestamp != b.Timestamp || !same(a.Key, b.Key) || !same(a.Value, b.Value) || len(a.Headers) != len(b.Headers) {
		return false
	}
	for i := range a.Headers {
		if a.Headers[i].Key != b.Headers[i].Key || !same(a.Headers[i].Value, b.Headers[i].Value) {
			return false
		}
	}
	return true
}
