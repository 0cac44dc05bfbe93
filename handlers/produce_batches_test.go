package handlers

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/records"
)

func TestProduceLogAppendTime(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("appended", 1, "message.timestamp.type", "LogAppendTime")
	f.topic("created", 1)
	for _, ts := range []int64{1000, -1, 0, math.MaxInt64 / 4} {
		before := time.Now().UnixMilli()
		raw := batch(records.BatchSpec{}, record{value: []byte("a"), timestamp: ts}, record{value: []byte("b"), timestamp: ts})
		rows := f.produceRows(9, produceRequest(part{topic: "appended", records: slices.Clone(raw)}))
		at := rows[0].LogAppendTimeMs
		if rows[0].ErrorCode != 0 || at < before || at > time.Now().UnixMilli() {
			t.Fatalf("timestamp %d: code %d, append time %d, not within %d and now", ts, rows[0].ErrorCode, at, before)
		}
		got := f.fetchRows(context.Background(), 12, fetchRequest(part{topic: "appended", offset: rows[0].BaseOffset}))
		for _, r := range unpack(t, got[0].Records, rows[0].BaseOffset) {
			if r.timestamp != at {
				t.Errorf("timestamp %d: record %d has %d, want the append time %d", ts, r.offset, r.timestamp, at)
			}
		}
	}
	for _, ts := range []int64{1000, -1, 0} {
		rows := f.produceRows(9, produceRequest(part{topic: "created", records: batch(records.BatchSpec{}, record{value: []byte("a"), timestamp: ts})}))
		if rows[0].ErrorCode != 0 || rows[0].LogAppendTimeMs != -1 {
			t.Fatalf("timestamp %d: %+v", ts, rows[0])
		}
		got := f.fetchRows(context.Background(), 12, fetchRequest(part{topic: "created", offset: rows[0].BaseOffset}))
		for _, r := range unpack(t, got[0].Records, rows[0].BaseOffset) {
			if r.timestamp != ts {
				t.Errorf("record has the timestamp %d, want %d", r.timestamp, ts)
			}
		}
	}
}

func TestProduceTimestamps(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("default", 1)
	f.topic("narrow", 1, "message.timestamp.before.max.ms", "60000", "message.timestamp.after.max.ms", "60000")
	now := time.Now().UnixMilli()
	for _, c := range []struct {
		topic string
		at    int64
		want  int16
	}{
		{"default", now, 0}, {"default", 0, 0}, {"default", now + 3_500_000, 0}, {"default", now + 3_700_000, 32},
		{"narrow", now, 0}, {"narrow", -1, 0}, {"narrow", now - 90_000, 32}, {"narrow", now + 120_000, 32}, {"narrow", now - 30_000, 0},
	} {
		raw := batch(records.BatchSpec{}, record{value: []byte("a"), timestamp: now}, record{value: []byte("b"), timestamp: c.at})
		r := f.produceRows(9, produceRequest(part{topic: c.topic, records: raw}))[0]
		if r.ErrorCode != c.want || (len(r.RecordErrors) == 1) != (c.want != 0) || c.want != 0 && (r.RecordErrors[0].BatchIndex != 1 || r.LogStartOffset != 0) {
			t.Errorf("%s, %d ms from now: %+v, want %d", c.topic, c.at-now, r, c.want)
		}
	}
}

func TestProduceKeylessToCompacted(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	for _, policy := range []string{"compact", "compact,delete"} {
		name := strings.ReplaceAll(policy, ",", "-")
		f.topic(name, 1, "cleanup.policy", policy)
		now := time.Now().UnixMilli()
		key := []byte("k")
		for _, v := range []int16{7, 8, 13} {
			topic, err := f.b.Topic(context.Background(), name)
			if err != nil {
				t.Fatal(err)
			}
			raw := batch(records.BatchSpec{}, record{key: key, timestamp: now}, record{timestamp: now, value: []byte("b")}, record{key: key, timestamp: now})
			r := f.produceRows(v, produceRequest(part{topic: name, id: topic.ID, records: raw}))[0]
			if r.ErrorCode != errorcode.InvalidRecord || r.BaseOffset != -1 || r.LogStartOffset != 0 {
				t.Errorf("%s v%d: %+v", policy, v, r)
			}
			if v < 8 {
				continue
			}
			if len(r.RecordErrors) != 1 || r.RecordErrors[0].BatchIndex != 1 || !r.RecordErrors[0].BatchIndexErrorMessage.Valid || !r.ErrorMessage.Valid {
				t.Errorf("%s v%d: record errors %+v, message %+v", policy, v, r.RecordErrors, r.ErrorMessage)
			}
		}
		if got := f.contents(name, 0, 0); len(got) > 0 {
			t.Errorf("%s: written all the same: %v", policy, got)
		}
		f.mustProduce(name, 0, batch(records.BatchSpec{}, record{key: []byte{}, timestamp: now}))
	}
}

func TestProduceSizeLimits(t *testing.T) {
	t.Parallel()
	f := newData(t, func(c *Config, _ *bridge.Config) { c.MaxMessageBytes = 300 })
	f.topic("own", 1, "max.message.bytes", "200")
	f.topic("larger", 1, "max.message.bytes", "400")
	f.topic("broker", 1)
	sized := func(n int) []byte {
		overhead := len(values(strings.Repeat("x", 100))) - 100
		raw := values(strings.Repeat("x", n-overhead))
		if len(raw) != n {
			t.Fatalf("batch of %d bytes, want %d", len(raw), n)
		}
		return raw
	}
	for _, c := range []struct {
		topic string
		size  int
		want  int16
	}{{"own", 200, 0}, {"own", 201, 10}, {"larger", 400, 0}, {"larger", 401, 10}, {"broker", 300, 0}, {"broker", 301, 10}} {
		if got := produceCodes(f.produceRows(9, produceRequest(part{topic: c.topic, records: sized(c.size)}))); got[0] != c.want {
			t.Errorf("%d bytes to %s: %d, want %d", c.size, c.topic, got[0], c.want)
		}
	}
}

func TestProduceCodecs(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 1)
	var want []string
	for _, c := range []records.Codec{records.CodecNone, records.CodecGzip, records.CodecSnappy, records.CodecLZ4, records.CodecZstd} {
		for _, v := range []int16{3, 6, 7, 12} {
			value := fmt.Sprint("codec ", c, " v", v)
			raw := batch(records.BatchSpec{Codec: c}, record{value: []byte(value), timestamp: 5}, record{value: []byte("2"), timestamp: 6})
			code := f.produceRows(v, produceRequest(part{topic: "orders", records: raw}))[0].ErrorCode
			if c == records.CodecZstd && v < 7 {
				if code != errorcode.UnsupportedCompressionType {
					t.Errorf("zstd in v%d: %d, want 76", v, code)
				}
				continue
			}
			if code != errorcode.None {
				t.Errorf("codec %v in v%d: %d", c, v, code)
			}
			want = append(want, value, "2")
		}
	}
	unknown := values("x")
	unknown[22] |= 5
	records.SetLogAppendTime(unknown, 1) // sets the checksum anew
	if code := f.produceRows(9, produceRequest(part{topic: "orders", records: unknown}))[0].ErrorCode; code != errorcode.UnsupportedCompressionType {
		t.Errorf("codec 5: %d, want 76", code)
	}
	if got := f.contents("orders", 0, 0); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestProduceEmptyAndNullRecords(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 1)
	for _, v := range []int16{3, 8, 12} {
		for name, raw := range map[string][]byte{"null": nil, "empty": {}, "ten bytes": make([]byte, 10)} {
			r := f.produceRows(v, produceRequest(part{topic: "orders", records: raw}))[0]
			if r.ErrorCode != errorcode.InvalidRecord || r.BaseOffset != -1 || r.LogStartOffset != -1 {
				t.Errorf("%s records in v%d: %+v, want 87", name, v, r)
			}
		}
	}
}

func TestProduceIdempotentBatches(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 1)
	idempotent := func(producer int64, sequence int32, epoch int16, n int) []byte {
		list := make([]record, n)
		for i := range list {
			list[i] = record{value: []byte(fmt.Sprint(sequence, "+", i)), timestamp: 1}
		}
		return batch(records.BatchSpec{HasProducer: true, ProducerID: producer, ProducerEpoch: epoch, BaseSequence: sequence}, list...)
	}
	for _, c := range []struct {
		name     string
		producer int64
		sequence int32
		epoch    int16
		n        int
		want     int16
	}{
		{"an unknown producer may begin anywhere", 77, 2147483646, 0, 2, 0},
		{"the sequence goes on at 0", 77, 0, 0, 1, 0},
		{"a batch across the end of the sequence", 78, 2147483646, 1, 4, 0},
		{"the next after it", 78, 2, 1, 1, 0},
		{"the least sequence", 78, math.MinInt32, 0, 1, 87},
		{"no sequence", 78, -1, 0, 1, 87},
		{"a gap", 78, 9, 1, 1, 45},
		{"an epoch that is over", 78, 3, 0, 1, 47},
	} {
		if got := f.produceRows(9, produceRequest(part{topic: "orders", records: idempotent(c.producer, c.sequence, c.epoch, c.n)}))[0].ErrorCode; got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	if got, want := len(f.contents("orders", 0, 0)), 8; got != want {
		t.Errorf("%d records, want %d", got, want)
	}
}

func TestProduceManyCompressedPartitions(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	const partitions = 6
	f.topic("orders", partitions)
	// Together they decompress to more than a request may hold at a time.
	value := []byte(strings.Repeat("a", 12<<20))
	raw := batch(records.BatchSpec{Codec: records.CodecZstd}, record{value: value, timestamp: 1})
	var parts []part
	for i := range int32(partitions) {
		parts = append(parts, part{topic: "orders", partition: i, records: raw})
	}
	for i, r := range f.produceRows(9, produceRequest(parts...)) {
		if r.ErrorCode != 0 {
			t.Errorf("partition %d: %+v", i, r)
		}
	}
}

// A few bytes must not take the memory of the bridge.
func TestProduceDecompressionBomb(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("default", 1)
	f.topic("wide", 1, "max.decompressed.message.bytes", "1073741824")
	f.topic("narrow", 1, "max.decompressed.message.bytes", "100000")
	for size, want := range map[int]int16{200_000: 10, 90_000: 0} {
		raw := batch(records.BatchSpec{Codec: records.CodecZstd}, record{value: make([]byte, size), timestamp: 1})
		if r := f.produceRows(9, produceRequest(part{topic: "narrow", records: raw}))[0]; r.ErrorCode != want {
			t.Errorf("%d bytes in %d: %+v, want %d", size, len(raw), r, want)
		}
	}
	for _, c := range []struct {
		topic    string
		maxBytes int
		want     int
	}{
		{"default", 1 << 20, 64 << 20},
		{"default", 100 << 20, 400 << 20},
		{"default", 1 << 30, math.MaxInt32 - 8},
		{"wide", 1 << 20, 1 << 30},
		{"narrow", 1 << 20, 100_000},
	} {
		topic, err := f.b.Topic(context.Background(), c.topic)
		if err != nil {
			t.Fatal(err)
		}
		if got := maxDecompressed(topic, c.maxBytes); got != c.want {
			t.Errorf("%s, batches of %d bytes: %d, want %d", c.topic, c.maxBytes, got, c.want)
		}
	}
}
