package records

import (
	"bytes"
	"math"
	"testing"
)

// malformedRecords are encoded records that no batch may hold, compressed or not.
func malformedRecords() []struct {
	name    string
	count   int32
	encoded []byte
} {
	two := cat(plainRecord(0, vi(0)), plainRecord(1, vi(0)))
	key := func(size int64) []byte {
		return sized([]byte{0}, vi(0), vi(0), vi(size), vi(1), []byte("v"), vi(0))
	}
	value := func(size int64) []byte {
		return sized([]byte{0}, vi(0), vi(0), vi(-1), vi(size), []byte("v"), vi(0))
	}
	overlong := []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0}
	return []struct {
		name    string
		count   int32
		encoded []byte
	}{
		{"fewer records than counted", 3, two},
		{"more records than counted", 1, two},
		{"bytes behind the records", 2, cat(two, []byte{1, 2, 3})},
		{"a zero byte behind the records", 2, cat(two, []byte{0})},
		{"no record at all", 1, nil},
		{"record size negative", 1, vi(-5)},
		{"record size zero", 1, vi(0)},
		{"record size beyond the batch", 1, cat(vi(100), []byte{0, 0, 0})},
		{"record size cut", 1, []byte{0x80}},
		{"record size overlong (the broker has an unknown error, uncompressed)", 1, overlong},
		{"record ends in its timestamp", 1, sized([]byte{0, 0x80})},
		{"timestamp of 11 bytes", 1, sized([]byte{0}, bytes.Repeat([]byte{0x80}, 10), []byte{0}, vi(0), vi(-1), vi(-1), vi(0))},
		{"record ends behind its timestamp", 1, sized([]byte{0}, vi(0))},
		{"record ends behind its offset", 1, sized([]byte{0}, vi(0), vi(0))},
		{"key beyond the record", 1, key(100)},
		{"key size of 2 GiB", 1, key(math.MaxInt32)},
		{"key size overlong", 1, sized([]byte{0}, vi(0), vi(0), overlong, vi(1), []byte("v"), vi(0))},
		{"value beyond the record", 1, value(100)},
		{"header count missing", 1, plainRecord(0, nil)},
		{"header count -1", 1, plainRecord(0, vi(-1))},
		{"header count 2^31-1", 1, plainRecord(0, vi(math.MaxInt32))},
		{"header count 1 without a header", 1, plainRecord(0, vi(1))},
		{"header name null", 1, plainRecord(0, cat(vi(1), vi(-1), vi(1), []byte("v")))},
		{"header name beyond the record", 1, plainRecord(0, cat(vi(1), vi(50), vi(1), []byte("v")))},
		{"header value beyond the record", 1, plainRecord(0, cat(vi(1), vi(1), []byte("k"), vi(50)))},
		{"header value missing", 1, plainRecord(0, cat(vi(1), vi(1), []byte("k")))},
		{"bytes behind the headers", 1, plainRecord(0, cat(vi(0), []byte{9, 9}))},
	}
}

func TestValidateRecords(t *testing.T) {
	large := func(o *ValidateOptions) { o.MaxBytes = 4 << 20 }
	var cases []validateCase
	add := func(c Codec, name string, count int32, encoded []byte, code int16) {
		cases = append(cases, validateCase{name: c.String() + ": " + name, raw: withRecords(t, c, count, encoded), change: large, code: code, start: true})
	}
	body := func(parts ...[]byte) []byte { return sized(append([][]byte{{0}, vi(0), vi(0)}, parts...)...) }
	for _, c := range allCodecs {
		for _, m := range malformedRecords() {
			add(c, m.name, m.count, m.encoded, 87)
		}
		v := cat(vi(1), []byte("v"))
		add(c, "key size -2 is null", 1, body(vi(-2), v, vi(0)), 0)
		add(c, "value size -2 is null", 1, body(vi(-1), vi(-2), vi(0)), 0)
		add(c, "header value null", 1, body(vi(-1), v, vi(1), vi(1), []byte("k"), vi(-1)), 0)
		add(c, "header value size -2 is null", 1, body(vi(-1), v, vi(1), vi(1), []byte("k"), vi(-2)), 0)
		add(c, "header name not UTF-8", 1, body(vi(-1), v, vi(1), vi(1), []byte{0xff}, vi(-1)), 0)
		add(c, "record attributes 0xff", 1, sized([]byte{0xff}, vi(0), vi(0), vi(-1), v, vi(0)), 0)
		add(c, "200,000 empty headers", 1, body(vi(-1), v, vi(200_000), make([]byte, 400_000)), 0)
		add(c, "varint padded with zeros", 1, body(vi(-1), v, []byte{0x80, 0}), 0)
		add(c, "varint with bits above 32", 1, sized([]byte{0}, vi(0), []byte{0x80, 0x80, 0x80, 0x80, 0x70}, vi(-1), v, vi(0)), 0)
		add(c, "varlong with bits above 64", 1, sized([]byte{0}, append(bytes.Repeat([]byte{0x80}, 9), 0x7e), vi(0), vi(-1), v, vi(0)), 0)
		// The broker stores such a batch uncompressed, with offsets that
		// contradict its log, and has an unknown error compressed.
		add(c, "offset deltas 1, 0 (departs)", 2, cat(plainRecord(1, vi(0)), plainRecord(0, vi(0))), 87)
		add(c, "offset deltas 0, 0 (departs)", 2, cat(plainRecord(0, vi(0)), plainRecord(0, vi(0))), 87)
		add(c, "offset deltas 0, 2 (departs)", 2, cat(plainRecord(0, vi(0)), plainRecord(2, vi(0))), 87)
		add(c, "offset deltas -1, 0 (departs)", 2, cat(plainRecord(-1, vi(0)), plainRecord(0, vi(0))), 87)
		// A bound of ours.
		add(c, "more than MaxHeaders headers (departs)", 1, body(vi(-1), v, vi(MaxHeaders+1), make([]byte, 2*(MaxHeaders+1))), 87)
	}
	runCases(t, cases)
}

func TestValidateCompressedPayload(t *testing.T) {
	garbage := []byte("this is not compressed data at all, really")
	var cases []validateCase
	for _, c := range allCodecs[1:] {
		payload := build(t, producerSpec(c), three()...)[HeaderSize:]
		add := func(name string, count int32, p []byte, code int16) {
			cases = append(cases, validateCase{name: c.String() + ": " + name, raw: withPayload(t, c, count, p), code: code, start: true})
		}
		// To all but the empty zstd payload and the doubled streams the broker
		// has an unknown error.
		add("garbage (departs)", 3, garbage, 87)
		add("empty (departs)", 3, nil, 87)
		add("cut (departs)", 3, payload[:len(payload)-6], 87)
		tail, twice := int16(0), int16(87)
		switch c {
		case CodecSnappy, CodecZstd:
			tail = 87
		case CodecLZ4:
			twice = 0
		}
		add("bytes behind the stream", 3, append(bytes.Clone(payload), 1, 2, 3, 4, 5), tail)
		add("the stream twice, counted once", 3, append(bytes.Clone(payload), payload...), twice)
		add("the stream twice, counted twice", 6, append(bytes.Clone(payload), payload...), 87)
	}
	runCases(t, cases)
}
