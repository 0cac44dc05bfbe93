package e2e

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// record is a record as the tests know it, whatever the client. Nil is null.
type record struct {
	partition int32
	offset    int64
	timestamp int64 // ms
	key       []byte
	value     []byte
	headers   []header
}

type header struct {
	key   string
	value []byte
}

// baseTime is the timestamp of the first record, in ms; each further record is
// one second younger.
const baseTime = int64(1_700_000_000_000)

// stamped gives the records timestamps, partition and the offsets they are
// expected at.
func stamped(partition int32, from int64, rs []record) []record {
	for i := range rs {
		rs[i].partition, rs[i].offset = partition, from+int64(i)
		rs[i].timestamp = baseTime + 1000*rs[i].offset
	}
	return rs
}

// edgeCases are records that servers between Kafka and another store tend to
// change.
func edgeCases() []record {
	kib := bytes.Repeat([]byte("h"), 1024)
	return []record{
		{value: []byte("plain")},
		{key: []byte("k"), value: []byte("v")},
		{key: []byte{}, value: []byte("empty key")},
		{key: []byte("tombstone")},
		{key: []byte("k"), value: []byte{}},
		{},
		{key: []byte{}, value: []byte{}},
		{value: []byte{0}},
		{key: []byte{0xff, 0, 0xfe}, value: []byte{0x80}},
		{key: bytes.Repeat([]byte("K"), 300), value: []byte("a key that no Iggy header holds")},
		{value: []byte("one header"), headers: []header{{"a", []byte("1")}}},
		{value: []byte("order"), headers: []header{{"z", []byte("1")}, {"a", []byte("2")}, {"m", []byte("3")}}},
		{value: []byte("repeated"), headers: []header{{"a", []byte("1")}, {"b", []byte("2")}, {"a", []byte("3")}, {"a", []byte("1")}}},
		{value: []byte("empty header value"), headers: []header{{"e", []byte{}}}},
		{value: []byte("null header value"), headers: []header{{"n", nil}}},
		{value: []byte("null and empty"), headers: []header{{"n", nil}, {"e", []byte{}}, {"n", nil}}},
		{value: []byte("empty header name"), headers: []header{{"", []byte("x")}}},
		{value: []byte("1 KiB header"), headers: []header{{"big", kib}}},
		{value: []byte("a name of the mapping's own"), headers: []header{{"kafka.v", []byte{9}}, {"kafka.key", []byte("no")}, {"kafka.h.a", nil}}},
		{key: []byte("k"), headers: []header{{"tombstone", []byte("with header")}}},
		{value: []byte("ünïcode 中文"), headers: []header{{"ключ", []byte("знач")}}},
	}
}

// large is one record just below the default size limit of producers.
func large() record {
	v := make([]byte, 900<<10)
	for i := range v {
		v[i] = byte(i * 7)
	}
	return record{key: []byte("large"), value: v}
}

// same compares what was consumed with what was produced, byte for byte.
func same(t *testing.T, what string, got, want []record) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d records, want %d", what, len(got), len(want))
		return
	}
	for i := range want {
		if diff := difference(got[i], want[i]); diff != "" {
			t.Errorf("%s: record %d: %s", what, i, diff)
			return
		}
	}
}

func difference(got, want record) string {
	switch {
	case got.partition != want.partition || got.offset != want.offset:
		return fmt.Sprintf("at %d/%d, want %d/%d", got.partition, got.offset, want.partition, want.offset)
	case got.timestamp != want.timestamp:
		return fmt.Sprintf("timestamp %d, want %d", got.timestamp, want.timestamp)
	case !sameBytes(got.key, want.key):
		return fmt.Sprintf("key %s, want %s", show(got.key), show(want.key))
	case !sameBytes(got.value, want.value):
		return fmt.Sprintf("value %s, want %s", show(got.value), show(want.value))
	case len(got.headers) != len(want.headers):
		return fmt.Sprintf("%d headers, want %d", len(got.headers), len(want.headers))
	}
	for i, h := range want.headers {
		if g := got.headers[i]; g.key != h.key || !sameBytes(g.value, h.value) {
			return fmt.Sprintf("header %d is %q=%s, want %q=%s", i, g.key, show(g.value), h.key, show(h.value))
		}
	}
	return ""
}

// sameBytes tells null from empty.
func sameBytes(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

func show(b []byte) string {
	if b == nil {
		return "null"
	}
	if len(b) > 40 {
		return fmt.Sprintf("%q… (%d bytes)", b[:40], len(b))
	}
	return fmt.Sprintf("%q", b)
}

// topicName is a name of the test's own.
func topicName(t *testing.T) string {
	return strings.NewReplacer("/", ".", "=", "-", "#", "-").Replace(t.Name())
}
