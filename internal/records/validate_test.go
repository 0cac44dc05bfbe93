package records

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"
	"time"
)

// The codes and record indexes in this file are what a Kafka 4.4.0 broker
// answered to the same bytes, but where a case says that we depart from it.

type validateCase struct {
	name   string
	raw    []byte
	change func(o *ValidateOptions)
	code   int16   // 0: accepted
	blame  []int32 // batch indexes of record_errors
	start  bool    // the answer names the log start offset
}

func (tc validateCase) run(t *testing.T) {
	t.Helper()
	opts := DefaultValidateOptions(9, testNow)
	if tc.change != nil {
		tc.change(&opts)
	}
	b, err := ValidateProduce(bytes.Clone(tc.raw), opts)
	if tc.code == 0 {
		if err != nil {
			t.Fatalf("refused: %v", err)
		}
		defer b.Release()
		if got := collect(t, b); len(got) != int(b.Count) {
			t.Errorf("%d records of %d", len(got), b.Count)
		}
		parseOne(t, b.Raw)
		return
	}
	var verr *ValidationError
	if !errors.As(err, &verr) {
		t.Fatalf("error %v", err)
	}
	if verr.Kind.Code() != tc.code || verr.LogStartOffset != tc.start || verr.Message == "" {
		t.Errorf("code %d, log start offset %t, %q; want %d, %t", verr.Kind.Code(), verr.LogStartOffset, verr.Message, tc.code, tc.start)
	}
	var blame []int32
	for _, e := range verr.RecordErrors {
		blame = append(blame, e.BatchIndex)
		if e.Message == "" {
			t.Errorf("record %d is blamed for nothing", e.BatchIndex)
		}
	}
	if !slices.Equal(blame, tc.blame) {
		t.Errorf("record errors %v, want %v", blame, tc.blame)
	}
}

func runCases(t *testing.T, cases []validateCase) {
	t.Parallel()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.run(t)
		})
	}
}

func version(v int16) func(*ValidateOptions) { return func(o *ValidateOptions) { o.Version = v } }

func compacted(o *ValidateOptions) { o.RequireKeys = true }

func appendTimes(o *ValidateOptions) { o.LogAppendTime = true }

func TestValidateRequest(t *testing.T) {
	ok := func() []byte { return build(t, producerSpec(CodecNone), three()...) }
	magic := func(m byte) []byte { return edit(ok(), func(b []byte) { b[posMagic] = m }) }
	length := func(n int32) []byte { return edit(ok(), func(b []byte) { put32(b, posLength, n) }) }
	zstd := build(t, producerSpec(CodecZstd), three()...)
	right := int32(len(ok()) - logOverhead)
	runCases(t, []validateCase{
		{name: "valid, oldest version", raw: ok(), change: version(3)},
		{name: "valid, newest version", raw: ok(), change: version(13)},
		{name: "no records", raw: []byte{}, code: 87},
		{name: "null records (the broker does not answer at all)", raw: nil, code: 87},
		{name: "two batches", raw: append(ok(), ok()...), code: 87},
		{name: "truncated before the length", raw: ok()[:11], code: 87},
		{name: "truncated before the magic", raw: ok()[:16], code: 87},
		{name: "truncated behind the magic", raw: ok()[:17], code: 87},
		{name: "truncated in the header", raw: ok()[:60], code: 87},
		{name: "truncated behind the header", raw: ok()[:61], code: 87},
		{name: "last byte missing", raw: ok()[:len(ok())-1], code: 87},
		{name: "length -1", raw: length(-1), code: 2},
		{name: "length 0", raw: length(0), code: 2},
		{name: "length 13, below any message", raw: length(13), code: 2},
		{name: "length 13 and nothing more", raw: length(13)[:12], code: 2},
		{name: "length 14, below a batch", raw: length(14), code: 2},
		{name: "length 48, one below a batch", raw: length(48), code: 2},
		{name: "length 48 of as many bytes", raw: length(48)[:60], code: 2},
		{name: "length 49, the bare header", raw: length(49), code: 2},
		{name: "length one too small", raw: length(right - 1), code: 2},
		{name: "length one too large", raw: length(right + 1), code: 87},
		{name: "length of 1 GiB", raw: length(1 << 30), code: 87},
		{name: "trailing bytes too few for a batch are cut off", raw: append(ok(), 1, 2, 3, 4, 5)},
		{name: "trailing half of a batch is cut off", raw: append(ok(), ok()[:40]...)},
		{name: "12 trailing zero bytes", raw: append(ok(), make([]byte, 12)...), code: 2},
		{name: "100 trailing zero bytes", raw: append(ok(), make([]byte, 100)...), code: 2},
		{name: "second batch of magic 1", raw: append(ok(), magic(1)...), code: 87},
		{name: "second batch of magic 7", raw: append(ok(), magic(7)...), code: 2},
		{name: "magic 0 in v3", raw: magic(0), change: version(3), code: 87},
		{name: "magic 1", raw: magic(1), code: 87},
		{name: "magic 1 truncated", raw: magic(1)[:50], code: 87},
		{name: "magic 3", raw: magic(3), code: 2},
		{name: "magic 127", raw: magic(127), code: 2},
		{name: "magic -1", raw: magic(255), code: 2},
		{name: "magic 5 truncated behind it", raw: magic(5)[:17], code: 2},
		{name: "magic 5 truncated before it", raw: magic(5)[:16], code: 87},
		{name: "zstd in v3", raw: zstd, change: version(3), code: 76},
		{name: "zstd in v6", raw: zstd, change: version(6), code: 76},
		{name: "zstd in v7", raw: zstd, change: version(7)},
		{name: "zstd in v6 comes before a wrong checksum", raw: func() []byte { b := bytes.Clone(zstd); b[posCRC] ^= 1; return b }(), change: version(6), code: 76},
		{name: "zstd in v6 comes before a second batch", raw: append(bytes.Clone(zstd), ok()...), change: version(6), code: 76},
		{name: "a second batch comes before its zstd in v6", raw: append(ok(), zstd...), change: version(6), code: 87},
	})
}

func TestValidateHeader(t *testing.T) {
	ok := func() []byte { return build(t, producerSpec(CodecNone), three()...) }
	with := func(f func(b []byte)) []byte { return edit(ok(), f) }
	attr := func(high, low byte) []byte {
		return with(func(b []byte) { b[posAttributes] |= high; b[posAttributes+1] |= low })
	}
	broken := func(f func(b []byte)) []byte { b := ok(); f(b); b[posCRC] ^= 1; return b }
	counts := func(count, lastDelta int32) []byte {
		return with(func(b []byte) { put32(b, posCount, count); put32(b, posLastOffsetDelta, lastDelta) })
	}
	producer := func(id int64, epoch int16, sequence int32) []byte {
		return with(func(b []byte) {
			put64(b, posProducerID, id)
			b[posProducerEpoch], b[posProducerEpoch+1] = byte(epoch>>8), byte(epoch)
			put32(b, posBaseSequence, sequence)
		})
	}
	runCases(t, []validateCase{
		{name: "wrong checksum", raw: broken(func([]byte) {}), code: 2},
		{name: "a byte of the records changed", raw: func() []byte { b := ok(); b[len(b)-2] ^= 1; return b }(), code: 2},
		{name: "base offset 5", raw: with(func(b []byte) { put64(b, 0, 5) }), code: 87, start: true},
		{name: "base offset -1", raw: with(func(b []byte) { put64(b, 0, -1) }), code: 87, start: true},
		{name: "base offset comes before the checksum", raw: broken(func(b []byte) { put64(b, 0, 5) }), code: 87, start: true},
		{name: "checksum comes before the control bit", raw: broken(func(b []byte) { b[posAttributes+1] |= attrControl }), code: 2},
		{name: "checksum comes before the codec", raw: broken(func(b []byte) { b[posAttributes+1] |= 5 }), code: 2},
		{name: "leader epoch set", raw: with(func(b []byte) { put32(b, posLeaderEpoch, 7) })},
		{name: "leader epoch -9", raw: with(func(b []byte) { put32(b, posLeaderEpoch, -9) })},
		{name: "control bit", raw: attr(0, attrControl), code: 87, start: true},
		{name: "delete horizon bit", raw: attr(0, attrDeleteHorizon)},
		{name: "attribute bit 7", raw: attr(0, 0x80)},
		{name: "attribute bits 8 to 15", raw: attr(0xff, 0)},
		{name: "transactional bit (the handler checks the request's transactional id)", raw: attr(0, attrTransactional)},
		{name: "codec 5 (departs: the broker has an unknown error)", raw: attr(0, 5), code: 76, start: true},
		{name: "codec 7 (departs likewise)", raw: attr(0, 7), code: 76, start: true},
		{name: "codec 5 comes before the control bit", raw: attr(0, 5|attrControl), code: 76, start: true},
		{name: "count -1", raw: counts(-1, 2), code: 87, start: true},
		{name: "count 0 of 3", raw: counts(0, -1), code: 87, start: true},
		{name: "count 1 of 3", raw: counts(1, 0), code: 87, start: true},
		{name: "count 2 of 3", raw: counts(2, 1), code: 87, start: true},
		{name: "count 4 of 3", raw: counts(4, 3), code: 87, start: true},
		{name: "count 1 GiB", raw: counts(1<<30, 1<<30-1), code: 87, start: true},
		{name: "least count", raw: counts(math.MinInt32, math.MaxInt32), code: 87, start: true},
		{name: "count 2, last offset delta 2", raw: counts(2, 2), code: 87, start: true},
		{name: "last offset delta -1", raw: counts(3, -1), code: 87, start: true},
		{name: "last offset delta 1 of 3 records", raw: counts(3, 1), code: 87, start: true},
		{name: "last offset delta 3 of 3 records", raw: counts(3, 3), code: 87, start: true},
		{name: "greatest last offset delta", raw: counts(3, math.MaxInt32), code: 87, start: true},
		{name: "no records, count 0", raw: withRecords(t, CodecNone, 0, nil), code: 87, start: true},
		{name: "no records, count 0, last offset delta 0", raw: edit(withRecords(t, CodecNone, 0, nil), func(b []byte) { put32(b, posLastOffsetDelta, 0) }), code: 87, start: true},
		{name: "producer id and sequence", raw: producer(777, 0, 0)},
		{name: "producer id without sequence", raw: producer(777, 0, -1), code: 87, start: true},
		{name: "producer id, sequence -2", raw: producer(777, 0, -2), code: 87, start: true},
		{name: "producer id, epoch -1", raw: producer(777, -1, 0)},
		{name: "sequence without producer id", raw: producer(-1, -1, 5)},
		{name: "epoch and sequence without producer id", raw: producer(-1, 3, 5)},
		{name: "producer id -5", raw: producer(-5, 0, 0)},
	})
}

func TestValidateSize(t *testing.T) {
	limit := func(n int) func(*ValidateOptions) { return func(o *ValidateOptions) { o.MaxBytes = n } }
	raw := build(t, producerSpec(CodecNone), Record{Timestamp: testNow, Value: make([]byte, 500)})
	n := len(raw)
	with := func(f func(b []byte)) []byte { return edit(bytes.Clone(raw), f) }
	packed := build(t, producerSpec(CodecGzip), Record{Timestamp: testNow, Value: make([]byte, 5000)})
	runCases(t, []validateCase{
		{name: "exactly max.message.bytes", raw: raw, change: limit(n)},
		{name: "one byte above", raw: raw, change: limit(n - 1), code: 10},
		{name: "trailing bytes do not count", raw: append(bytes.Clone(raw), 1, 2, 3), change: limit(n)},
		{name: "compressed size counts", raw: packed, change: limit(200)},
		{name: "size comes before the checksum", raw: func() []byte { b := bytes.Clone(raw); b[posCRC] ^= 1; return b }(), change: limit(200), code: 10},
		{name: "size comes before the control bit", raw: with(func(b []byte) { b[posAttributes+1] |= attrControl }), change: limit(200), code: 10},
		{name: "base offset comes before the size", raw: with(func(b []byte) { put64(b, 0, 5) }), change: limit(200), code: 87, start: true},
		{name: "decompressed size has a bound (departs: the broker has none)", raw: packed, change: func(o *ValidateOptions) { o.MaxDecompressed = 1000 }, code: 10, start: true},
		{name: "decompressed size within the bound", raw: packed, change: func(o *ValidateOptions) { o.MaxDecompressed = 6000 }},
		{name: "no bound given is the default", raw: packed, change: func(o *ValidateOptions) { o.MaxDecompressed = 0 }},
	})
}

func TestValidateKeysAndTimestamps(t *testing.T) {
	const hours = int64(2 * time.Hour / time.Millisecond)
	bounds := func(o *ValidateOptions) { o.TimestampBeforeMax, o.TimestampAfterMax = 3600000, 3600000 }
	unbounded := func(o *ValidateOptions) { o.TimestampAfterMax = math.MaxInt64 }
	rec := func(key string, ts int64) Record {
		r := Record{Timestamp: ts, Value: []byte("v")}
		if key != "-" {
			r.Key = []byte(key)
		}
		return r
	}
	var cases []validateCase
	for _, c := range allCodecs {
		add := func(name string, change func(*ValidateOptions), code int16, blame []int32, rs ...Record) {
			cases = append(cases, validateCase{name: c.String() + ": " + name, raw: build(t, producerSpec(c), rs...), change: change, code: code, blame: blame, start: true})
		}
		now, later, before := testNow, testNow+hours, testNow-hours
		add("compacted, the middle one without a key", compacted, 87, []int32{1}, rec("a", now), rec("-", now), rec("c", now))
		add("compacted, two without a key", compacted, 87, []int32{0, 2}, rec("-", now), rec("a", now), rec("-", now))
		add("compacted, an empty key is a key", compacted, 0, nil, rec("", now))
		add("compacted, no key hides a bad time", compacted, 87, []int32{0}, rec("-", later))
		add("compacted, no key and another's bad time", compacted, 32, []int32{0, 1}, rec("-", now), rec("a", later))
		add("compacted, a bad time and another without key", compacted, 32, []int32{0, 1}, rec("a", later), rec("-", now))
		add("two hours ahead", nil, 32, []int32{1, 2}, rec("a", now), rec("a", later), rec("a", later))
		add("one hour ahead", nil, 0, nil, rec("a", now+3600000))
		add("one hour and a millisecond ahead", nil, 32, []int32{0}, rec("a", now+3600001))
		add("two hours ago, bounded", bounds, 32, []int32{0}, rec("a", before), rec("a", now))
		add("two hours ago, not bounded", nil, 0, nil, rec("a", before))
		add("no timestamp, bounded", bounds, 0, nil, rec("a", -1))
		add("timestamp -2, bounded", bounds, 32, []int32{0}, rec("a", -2))
		add("timestamp -2", nil, 0, nil, rec("a", -2))
		add("least timestamp", nil, 32, []int32{0}, rec("a", math.MinInt64))
		add("least timestamp, not bounded", unbounded, 0, nil, rec("a", math.MinInt64))
		add("greatest timestamp, not bounded", unbounded, 0, nil, rec("a", math.MaxInt64))
		add("log append time does not look at times", appendTimes, 0, nil, rec("a", later))
		malformed := func(name string, change func(*ValidateOptions), count int32, encoded []byte, blame []int32) {
			cases = append(cases, validateCase{name: c.String() + ": " + name, raw: withRecords(t, c, count, encoded), change: change, code: 87, blame: blame, start: true})
		}
		bad := cat(plainRecord(0, vi(0)), plainRecord(1, vi(-1)))
		malformed("malformed comes before no key", compacted, 2, bad, nil)
		malformed("malformed comes before a bad time", func(o *ValidateOptions) { o.Now = 0 }, 2, bad, nil)
		malformed("trailing bytes come before no key", compacted, 1, cat(plainRecord(0, vi(0)), []byte{1}), nil)
		malformed("no key comes before a wrong offset delta", compacted, 1, plainRecord(5, vi(0)), []int32{0})

		claim := func(name string, change func(*ValidateOptions), maxTimestamp, ts int64, code int16, blame []int32) {
			spec := producerSpec(c)
			spec.LogAppendTime, spec.AppendTime = true, maxTimestamp
			raw := build(t, spec, rec("a", ts), rec("b", ts))
			cases = append(cases, validateCase{name: c.String() + ": " + name, raw: raw, change: change, code: code, blame: blame, start: true})
		}
		claim("log append time claimed", nil, now, now, 0, nil)
		claim("log append time claimed, in the future", nil, later, now, 32, []int32{0, 1})
		claim("log append time claimed hides record times", nil, now, later, 0, nil)
		claim("log append time claimed where the broker sets it", appendTimes, now, now, 32, []int32{0, 1})
	}
	runCases(t, cases)
}

func TestValidateManyBadRecordsAnswerIsBounded(t *testing.T) {
	t.Parallel()
	rs := make([]Record, 3*MaxRecordErrors)
	opts := DefaultValidateOptions(9, testNow)
	opts.RequireKeys = true
	_, err := ValidateProduce(build(t, producerSpec(CodecZstd), rs...), opts)
	var verr *ValidationError
	if !errors.As(err, &verr) || len(verr.RecordErrors) != MaxRecordErrors {
		t.Errorf("error %v", err)
	}
}

func TestValidateCorrectsTimestamps(t *testing.T) {
	t.Parallel()
	for _, c := range allCodecs {
		rs := three()
		rs[1].Timestamp = testNow + 10
		for name, raw := range map[string][]byte{
			"too great":       edit(build(t, producerSpec(c), rs...), func(b []byte) { put64(b, posMaxTimestamp, testNow+7_200_000) }),
			"too small":       edit(build(t, producerSpec(c), rs...), func(b []byte) { put64(b, posMaxTimestamp, -1) }),
			"log append time": build(t, BatchSpec{Codec: c, LogAppendTime: true, AppendTime: testNow}, rs...),
		} {
			b, err := ValidateProduce(raw, DefaultValidateOptions(9, testNow))
			if err != nil {
				t.Fatalf("%s, %s: %v", c, name, err)
			}
			again := parseOne(t, b.Raw)
			if b.MaxTimestamp != testNow+10 || again.MaxTimestamp != testNow+10 || again.LogAppendTime() {
				t.Errorf("%s, %s: greatest timestamp %d", c, name, again.MaxTimestamp)
			}
			if diff := diffRecords(rs, collect(t, again), 0); diff != "" {
				t.Errorf("%s, %s: %s", c, name, diff)
			}
			b.Release()
		}
	}
}

func TestValidateLeavesARightBatchAlone(t *testing.T) {
	t.Parallel()
	for _, c := range allCodecs {
		raw := build(t, producerSpec(c), three()...)
		want := bytes.Clone(raw)
		b, err := ValidateProduce(append(raw, 1, 2, 3), DefaultValidateOptions(9, testNow))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b.Raw, want) {
			t.Errorf("%s: batch changed", c)
		}
		if diff := diffRecords(three(), collect(t, b), 0); diff != "" {
			t.Errorf("%s: %s", c, diff)
		}
	}
}

func TestValidationErrorCarriesItsCause(t *testing.T) {
	t.Parallel()
	ok := build(t, producerSpec(CodecNone), three()...)
	for _, tc := range []struct {
		name string
		raw  []byte
		want error
	}{
		{"checksum", func() []byte { b := bytes.Clone(ok); b[posCRC] ^= 1; return b }(), ErrCRC},
		{"codec", edit(bytes.Clone(ok), func(b []byte) { b[posAttributes+1] |= 6 }), ErrUnknownCodec},
		{"payload", withPayload(t, CodecLZ4, 3, []byte("garbage")), ErrCorruptPayload},
		{"record", withRecords(t, CodecLZ4, 3, []byte("garbage")), ErrInvalidRecord},
	} {
		if _, err := ValidateProduce(tc.raw, DefaultValidateOptions(9, testNow)); !errors.Is(err, tc.want) {
			t.Errorf("%s: error %v", tc.name, err)
		}
	}
}

func TestKindNames(t *testing.T) {
	t.Parallel()
	for kind, want := range map[Kind]string{
		KindCorruptMessage: "CORRUPT_MESSAGE", KindMessageTooLarge: "MESSAGE_TOO_LARGE", KindInvalidTimestamp: "INVALID_TIMESTAMP",
		KindUnsupportedCompression: "UNSUPPORTED_COMPRESSION_TYPE", KindInvalidRecord: "INVALID_RECORD",
	} {
		if kind.String() != want {
			t.Errorf("%v, want %s", kind, want)
		}
	}
}
