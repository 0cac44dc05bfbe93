package records

import (
	"bytes"
	"errors"
	"math"
	"testing"
)

func TestBuilderKnowsItsSize(t *testing.T) {
	t.Parallel()
	var b Builder
	b.Reset(nil, producerSpec(CodecNone))
	if b.Size() != HeaderSize {
		t.Errorf("empty size %d", b.Size())
	}
	for i, r := range edge() {
		want := b.SizeWith(r.Timestamp, r.Key, r.Value, r.Headers)
		if err := b.Append(r.Timestamp, r.Key, r.Value, r.Headers); err != nil {
			t.Fatal(err)
		}
		if b.Size() != want || b.Count() != i+1 || b.NextOffset() != int64(i+1) {
			t.Errorf("record %d: size %d, foretold %d; count %d, next %d", i, b.Size(), want, b.Count(), b.NextOffset())
		}
	}
	want := b.Size()
	raw, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) != want {
		t.Errorf("%d bytes, size said %d", len(raw), want)
	}
}

func TestBuilderAppendsBatchesToOneBuffer(t *testing.T) {
	t.Parallel()
	var b Builder
	buf := []byte("before")
	for i, c := range allCodecs {
		spec := producerSpec(c)
		spec.BaseOffset = int64(10 * i)
		b.Reset(buf, spec)
		for _, r := range edge() {
			if err := b.Append(r.Timestamp, r.Key, r.Value, r.Headers); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		if buf, err = b.Finish(); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.HasPrefix(buf, []byte("before")) {
		t.Fatal("what was there is gone")
	}
	rest := buf[len("before"):]
	for i, c := range allCodecs {
		var (
			batch Batch
			err   error
		)
		if batch, rest, err = Parse(rest); err != nil {
			t.Fatal(err)
		}
		want := edge()
		for j := range want {
			want[j].Offset += int64(10 * i)
		}
		if diff := diffRecords(want, collect(t, &batch), 0); diff != "" {
			t.Errorf("%s: %s", c, diff)
		}
	}
	if len(rest) != 0 {
		t.Errorf("%d bytes left", len(rest))
	}
}

func TestBuilderWithoutProducerWritesMinusOnes(t *testing.T) {
	t.Parallel()
	b := parseOne(t, build(t, BatchSpec{}, three()...))
	if b.ProducerID != NoProducerID || b.ProducerEpoch != NoProducerEpoch || b.BaseSequence != NoSequence {
		t.Errorf("producer %d %d %d", b.ProducerID, b.ProducerEpoch, b.BaseSequence)
	}
}

func TestBuilderLogAppendTime(t *testing.T) {
	t.Parallel()
	b := parseOne(t, build(t, BatchSpec{LogAppendTime: true, AppendTime: 12345}, three()...))
	if !b.LogAppendTime() || b.MaxTimestamp != 12345 {
		t.Errorf("max timestamp %d", b.MaxTimestamp)
	}
	for _, r := range collect(t, b) {
		if r.Timestamp != 12345 {
			t.Errorf("timestamp %d", r.Timestamp)
		}
	}
}

func TestBuilderExtremeTimestamps(t *testing.T) {
	t.Parallel()
	rs := []Record{{Timestamp: math.MinInt64}, {Offset: 1, Timestamp: math.MaxInt64}, {Offset: 2, Timestamp: -1}}
	if diff := diffRecords(rs, collect(t, parseOne(t, build(t, BatchSpec{}, rs...))), 0); diff != "" {
		t.Error(diff)
	}
}

func TestBuilderOffsetGaps(t *testing.T) {
	t.Parallel()
	var b Builder
	b.Reset(nil, BatchSpec{BaseOffset: 100})
	for _, offset := range []int64{101, 105, 100 + math.MaxInt32} {
		if err := b.AppendAt(offset, 1, nil, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name   string
		offset int64
		want   error
	}{
		{"the same offset again", 100 + math.MaxInt32, ErrOffsetOrder},
		{"before the base", 99, ErrOffsetOrder},
		{"delta above an int32", 101 + math.MaxInt32, ErrBatchOverflow},
		{"delta above an int64's sight", math.MaxInt64, ErrBatchOverflow},
	} {
		if err := b.AppendAt(tc.offset, 1, nil, nil, nil); !errors.Is(err, tc.want) {
			t.Errorf("%s: error %v, want %v", tc.name, err, tc.want)
		}
	}
	raw, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	batch := parseOne(t, raw)
	got := collect(t, batch)
	if len(got) != 3 || got[0].Offset != 101 || got[1].Offset != 105 || got[2].Offset != batch.LastOffset() {
		t.Errorf("offsets %+v", got)
	}
}

func TestBuilderRefusesEmptyAndUnknownCodec(t *testing.T) {
	t.Parallel()
	var b Builder
	b.Reset(nil, BatchSpec{})
	if _, err := b.Finish(); !errors.Is(err, ErrNoRecords) {
		t.Errorf("no records: %v", err)
	}
	b.Reset(nil, BatchSpec{Codec: 5})
	if err := b.Append(0, nil, nil, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Finish(); !errors.Is(err, ErrUnknownCodec) {
		t.Errorf("codec 5: %v", err)
	}
}

func TestEndTxnMarker(t *testing.T) {
	t.Parallel()
	for _, want := range []EndTxnMarker{{Commit: true, CoordinatorEpoch: 9}, {Commit: false, CoordinatorEpoch: -1}} {
		spec := BatchSpec{BaseOffset: 50, LeaderEpoch: 2, ProducerID: 77, ProducerEpoch: 4}
		raw, err := AppendEndTxnMarker(nil, spec, testNow, want)
		if err != nil {
			t.Fatal(err)
		}
		b := parseOne(t, raw)
		if !b.IsControl() || !b.IsTransactional() || b.ProducerID != 77 || b.ProducerEpoch != 4 ||
			b.BaseSequence != NoSequence || b.Count != 1 || b.BaseOffset != 50 {
			t.Errorf("header %+v", b)
		}
		rs := collect(t, b)
		got, err := ParseEndTxnMarker(&rs[0])
		if err != nil || got != want {
			t.Errorf("marker %+v, %v; want %+v", got, err, want)
		}
		// The bytes are a fact: version 0 and the type, version 0 and the epoch.
		kind := byte(0)
		if want.Commit {
			kind = 1
		}
		if !bytes.Equal(rs[0].Key, []byte{0, 0, 0, kind}) || len(rs[0].Value) != 6 {
			t.Errorf("key %x value %x", rs[0].Key, rs[0].Value)
		}
	}
}

func TestParseEndTxnMarkerRefuses(t *testing.T) {
	t.Parallel()
	value := []byte{0, 0, 0, 0, 0, 1}
	for _, tc := range []struct {
		name string
		r    Record
	}{
		{"no key", Record{Value: value}},
		{"short key", Record{Key: []byte{0, 0, 0}, Value: value}},
		{"negative key version", Record{Key: []byte{0xff, 0xff, 0, 1}, Value: value}},
		{"a leader change marker", Record{Key: []byte{0, 0, 0, 2}, Value: value}},
		{"short value", Record{Key: []byte{0, 0, 0, 1}, Value: value[:5]}},
		{"negative value version", Record{Key: []byte{0, 0, 0, 1}, Value: []byte{0xff, 0xff, 0, 0, 0, 1}}},
	} {
		if _, err := ParseEndTxnMarker(&tc.r); !errors.Is(err, ErrControlRecord) {
			t.Errorf("%s: error %v", tc.name, err)
		}
	}
	later := Record{Key: []byte{0, 1, 0, 1, 9}, Value: []byte{0, 1, 0, 0, 0, 1, 9}}
	if m, err := ParseEndTxnMarker(&later); err != nil || !m.Commit || m.CoordinatorEpoch != 1 {
		t.Errorf("a later version that adds fields: %+v %v", m, err)
	}
}

func TestVarintsAgainstTheirLength(t *testing.T) {
	t.Parallel()
	for shift := range 64 {
		for _, v := range []int64{1 << shift, -1 << shift, 1<<shift - 1, -(1<<shift - 1)} {
			b := appendVarint(nil, v)
			if len(b) != varintLen(v) {
				t.Errorf("%d: %d bytes, foretold %d", v, len(b), varintLen(v))
			}
			if got, next := varlong(b, 0); got != v || next != len(b) {
				t.Errorf("varlong of %d is %d", v, got)
			}
			if v == int64(int32(v)) {
				if got, next := varint(b, 0); int64(got) != v || next != len(b) {
					t.Errorf("varint of %d is %d", v, got)
				}
			}
			if _, next := varlong(b[:len(b)-1], 0); next != -1 {
				t.Errorf("cut varlong of %d is read", v)
			}
			if _, next := varint(b[:len(b)-1], 0); next != -1 {
				t.Errorf("cut varint of %d is read", v)
			}
		}
	}
}
