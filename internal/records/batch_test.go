package records

import (
	"bytes"
	"errors"
	"testing"
)

func TestParseReadsHeaderAndRest(t *testing.T) {
	t.Parallel()
	spec := BatchSpec{
		BaseOffset: 1 << 40, LeaderEpoch: 7, Codec: CodecLZ4, Transactional: true,
		HasProducer: true, ProducerID: 99, ProducerEpoch: 3, BaseSequence: 41,
	}
	raw := build(t, spec, three()...)
	b, rest, err := Parse(append(bytes.Clone(raw), "rest"...))
	if err != nil {
		t.Fatal(err)
	}
	if string(rest) != "rest" {
		t.Errorf("rest %q", rest)
	}
	if !bytes.Equal(b.Raw, raw) || cap(b.Raw) != len(raw) {
		t.Errorf("Raw is not exactly the batch")
	}
	if b.BaseOffset != 1<<40 || b.LeaderEpoch != 7 || b.Magic != 2 || b.LastOffset() != 1<<40+2 || b.Count != 3 ||
		b.ProducerID != 99 || b.ProducerEpoch != 3 || b.BaseSequence != 41 || int(b.Length) != len(raw)-12 ||
		b.BaseTimestamp != testNow || b.MaxTimestamp != testNow {
		t.Errorf("header %+v", b)
	}
	if b.Codec() != CodecLZ4 || !b.IsTransactional() || b.IsControl() || b.LogAppendTime() || !b.HasProducer() {
		t.Errorf("attributes %x", b.Attributes)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	valid := build(t, producerSpec(CodecNone), three()...)
	change := func(f func(b []byte)) []byte { b := bytes.Clone(valid); f(b); return b }
	for _, tc := range []struct {
		name string
		in   []byte
		want error
	}{
		{"nothing at all", nil, ErrTruncated},
		{"no magic yet", valid[:16], ErrTruncated},
		{"header cut", valid[:60], ErrTruncated},
		{"last byte missing", valid[:len(valid)-1], ErrTruncated},
		{"magic 1 has another layout", change(func(b []byte) { b[posMagic] = 1 }), ErrMagic},
		{"magic from the future", change(func(b []byte) { b[posMagic] = 3 }), ErrMagic},
		{"length below the header's", change(func(b []byte) { put32(b, posLength, 48) }), ErrBatchLength},
		{"negative length", change(func(b []byte) { put32(b, posLength, -1) }), ErrBatchLength},
		{"length of 2 GiB in a small frame", change(func(b []byte) { put32(b, posLength, 1<<31-1) }), ErrTruncated},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if _, _, err := Parse(tc.in); !errors.Is(err, tc.want) {
				t.Errorf("error %v, want %v", err, tc.want)
			}
		})
	}
}

func TestVerifyCRCSeesEveryCoveredByte(t *testing.T) {
	t.Parallel()
	valid := build(t, producerSpec(CodecNone), three()...)
	for i := range valid {
		raw := bytes.Clone(valid)
		raw[i] ^= 0x80
		b, _, err := Parse(raw)
		if err != nil {
			continue // length or magic
		}
		err = b.VerifyCRC()
		if covered := i >= posCRC; covered != errors.Is(err, ErrCRC) {
			t.Errorf("byte %d changed: %v", i, err)
		}
	}
}

func TestRebaseLeavesChecksumValid(t *testing.T) {
	t.Parallel()
	b := parseOne(t, build(t, producerSpec(CodecZstd), three()...))
	b.Rebase(1000, 5)
	again := parseOne(t, b.Raw)
	if again.BaseOffset != 1000 || again.LeaderEpoch != 5 {
		t.Errorf("header %d %d", again.BaseOffset, again.LeaderEpoch)
	}
	for i, r := range collect(t, b) {
		if r.Offset != 1000+int64(i) {
			t.Errorf("record %d has offset %d", i, r.Offset)
		}
	}
}

func TestSetLogAppendTimeGivesEveryRecordThatTime(t *testing.T) {
	t.Parallel()
	for _, c := range allCodecs {
		rs := three()
		rs[1].Timestamp = -1
		b := parseOne(t, build(t, producerSpec(c), rs...))
		b.SetLogAppendTime(testNow + 77)
		again := parseOne(t, b.Raw)
		if !again.LogAppendTime() || again.MaxTimestamp != testNow+77 || again.Codec() != c {
			t.Errorf("%s: header %+v", c, again)
		}
		for _, got := range [][]Record{collect(t, b), collect(t, again)} {
			for i, r := range got {
				if r.Timestamp != testNow+77 {
					t.Errorf("%s: record %d has time %d", c, i, r.Timestamp)
				}
			}
		}
		again.SetMaxTimestamp(testNow)
		if back := collect(t, parseOne(t, again.Raw)); back[1].Timestamp != -1 {
			t.Errorf("%s: create time lost: %d", c, back[1].Timestamp)
		}
	}
}

func TestIterateCompressedBeforeDecompress(t *testing.T) {
	t.Parallel()
	b := parseOne(t, build(t, producerSpec(CodecGzip), three()...))
	it := b.Iterator()
	if it.Next(new(Record)) || !errors.Is(it.Err(), ErrCompressed) {
		t.Errorf("error %v", it.Err())
	}
}

func TestReleaseTwiceAndOnZeroBatch(t *testing.T) {
	t.Parallel()
	b := parseOne(t, build(t, producerSpec(CodecGzip), three()...))
	collect(t, b)
	b.Release()
	b.Release()
	new(Batch).Release()
}

func TestEveryRecordComesBack(t *testing.T) {
	t.Parallel()
	for _, c := range allCodecs {
		b := parseOne(t, build(t, producerSpec(c), edge()...))
		if diff := diffRecords(edge(), collect(t, b), 0); diff != "" {
			t.Errorf("%s: %s", c, diff)
		}
		if b.MaxTimestamp != testNow+5 || b.BaseTimestamp != testNow {
			t.Errorf("%s: times %d %d", c, b.BaseTimestamp, b.MaxTimestamp)
		}
	}
}

func TestIteratorRefusesMalformedRecords(t *testing.T) {
	t.Parallel()
	for _, tc := range malformedRecords() {
		for _, c := range allCodecs {
			raw := withRecords(t, c, tc.count, tc.encoded)
			b := parseOne(t, raw)
			if err := b.Decompress(1 << 20); err != nil {
				t.Fatal(err)
			}
			it := b.Iterator()
			var r Record
			for it.Next(&r) {
			}
			if err := it.Err(); !errors.Is(err, ErrInvalidRecord) {
				t.Errorf("%s (%s): error %v", tc.name, c, err)
			}
			if it.Next(&r) {
				t.Errorf("%s (%s): goes on after an error", tc.name, c)
			}
		}
	}
}
