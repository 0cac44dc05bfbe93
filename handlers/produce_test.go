package handlers

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/wire"
)

func TestProduceInAllVersions(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	topic := f.topic("orders", 1)
	var want []string
	for v := int16(3); v <= 13; v++ {
		rows := f.produceRows(v, produceRequest(part{topic: "orders", id: topic.ID, records: values(fmt.Sprint("a", v), "b")}))
		if len(rows) != 1 {
			t.Fatalf("v%d: %d rows", v, len(rows))
		}
		wantStart := int64(0)
		if v < 5 {
			wantStart = -1
		}
		r := rows[0]
		if r.ErrorCode != 0 || r.BaseOffset != int64(len(want)) || r.LogAppendTimeMs != -1 || r.LogStartOffset != wantStart || len(r.RecordErrors) > 0 || r.ErrorMessage.Valid {
			t.Errorf("v%d: %+v", v, r)
		}
		want = append(want, fmt.Sprint("a", v), "b")
	}
	if got := f.contents("orders", 0, 0); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestProduceRefusesAcks(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 1)
	for _, acks := range []int16{2, -2, 32767, -32768} {
		req := produceRequest(part{topic: "orders", records: values("a")}, part{topic: "none", records: values("a")}, part{topic: "orders", partition: 7, records: values("a")})
		req.Acks = acks
		codes := produceCodes(f.produceRows(9, req))
		if want := []int16{21, 3, 3}; !slices.Equal(codes, want) {
			t.Errorf("acks %d: %v, want %v", acks, codes, want)
		}
	}
	if got := f.contents("orders", 0, 0); len(got) > 0 {
		t.Errorf("written all the same: %v", got)
	}
}

func produceCodes(rows []generated.ProduceResponsePartitionProduceResponse) []int16 {
	var codes []int16
	for _, r := range rows {
		codes = append(codes, r.ErrorCode)
	}
	return codes
}

func TestProduceWithoutAnswer(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 1)
	broken := values("x")
	broken[20] ^= 1
	for name, c := range map[string]struct {
		parts  []part
		closes bool
	}{
		"sound":                           {[]part{{topic: "orders", records: values("a")}}, false},
		"nothing":                         {nil, false},
		"unknown topic":                   {[]part{{topic: "none", records: values("a")}}, true},
		"broken batch":                    {[]part{{topic: "orders", records: broken}}, true},
		"null records":                    {[]part{{topic: "orders"}}, true},
		"a sound one beside an unknown":   {[]part{{topic: "orders", records: values("b")}, {topic: "orders", partition: 5, records: values("c")}}, true},
		"transactional, no transactional": {[]part{{topic: "orders", records: batch(records.BatchSpec{Transactional: true, HasProducer: true}, record{value: []byte("t")})}}, true},
	} {
		req := produceRequest(c.parts...)
		req.Acks = 0
		answer, r := f.call(context.Background(), generated.KeyProduce, 9, req)
		if answer != nil {
			t.Errorf("%s: answered %+v", name, answer)
		}
		if r.CloseAfterwards != c.closes {
			t.Errorf("%s: closes %v, want %v", name, r.CloseAfterwards, c.closes)
		}
	}
	got := f.contents("orders", 0, 0)
	slices.Sort(got)
	if want := []string{"a", "b"}; !slices.Equal(got, want) {
		t.Errorf("written: %v, want %v", got, want)
	}
}

func TestProducePartitionsStandAlone(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 3)
	broken := values("x")
	broken[20] ^= 1
	rows := f.produceRows(9, produceRequest(
		part{topic: "orders", partition: 0, records: values("p0")},
		part{topic: "orders", partition: 1, records: broken},
		part{topic: "none", records: values("a")},
		part{topic: "orders", partition: 2, records: values("p2")},
		part{topic: "orders", partition: -1, records: values("a")},
	))
	if got, want := produceCodes(rows), []int16{0, 2, 3, 0, 3}; !slices.Equal(got, want) {
		t.Fatalf("codes %v, want %v", got, want)
	}
	for i, r := range rows {
		if (r.ErrorCode == 0) != (r.BaseOffset == 0) || r.ErrorCode != 0 && r.BaseOffset != -1 {
			t.Errorf("row %d: base offset %d with code %d", i, r.BaseOffset, r.ErrorCode)
		}
	}
	for p, want := range [][]string{{"p0"}, nil, {"p2"}} {
		if got := f.contents("orders", int32(p), 0); !slices.Equal(got, want) {
			t.Errorf("partition %d: %v, want %v", p, got, want)
		}
	}
}

func TestProduceTopicIDs(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	old := f.topic("orders", 1)
	f.drop("orders")
	topic := f.topic("orders", 1)
	req := produceRequest(
		part{id: old.ID, records: values("to the old one")},
		part{id: topic.ID, records: values("to the new one")},
		part{id: wire.UUID{1, 2, 3}, records: values("a")},
		part{records: values("a")},
		part{id: topic.ID, partition: 4, records: values("a")},
	)
	if got, want := produceCodes(f.produceRows(13, req)), []int16{100, 0, 100, 100, 3}; !slices.Equal(got, want) {
		t.Errorf("codes %v, want %v", got, want)
	}
	if got, want := f.contents("orders", 0, 0), []string{"to the new one"}; !slices.Equal(got, want) {
		t.Errorf("the new topic holds %v, want %v", got, want)
	}
}

func TestProduceNeverCreatesTopics(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	for _, name := range []string{"none", "", ".", "..", "a b", "é", strings.Repeat("n", 250)} {
		if got := produceCodes(f.produceRows(9, produceRequest(part{topic: name, records: values("a")}))); !slices.Equal(got, []int16{3}) {
			t.Errorf("%q: %v, want 3", name, got)
		}
		if f.has(name) {
			t.Errorf("%q was created", name)
		}
	}
}

func TestProduceTransactionsAreNotServed(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 1)
	transactional := batch(records.BatchSpec{Transactional: true, HasProducer: true, ProducerID: 7}, record{value: []byte("t")})
	id := wire.String("tx")
	for _, c := range []struct {
		name string
		id   wire.NullString
		raw  []byte
		want []int16
	}{
		{"a transactional batch", id, transactional, []int16{49, 0}},
		{"a transactional batch without an id", wire.NullString{}, transactional, []int16{53, 53}},
		{"a transactional batch with an empty id", wire.String(""), transactional, []int16{42, 42}},
		{"an id and a plain batch", id, values("plain"), []int16{0, 0}},
	} {
		req := produceRequest(part{topic: "orders", records: c.raw}, part{topic: "orders", records: values("beside")})
		req.TransactionalId = c.id
		if got := produceCodes(f.produceRows(12, req)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if got, want := f.contents("orders", 0, 0), []string{"beside", "plain", "beside"}; !slices.Equal(got, want) {
		t.Errorf("written: %v, want %v", got, want)
	}
}

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

func TestProduceInternalTopics(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	for _, name := range []string{"__consumer_offsets", "__transaction_state"} {
		if got := produceCodes(f.produceRows(9, produceRequest(part{topic: name, records: values("a")}))); !slices.Equal(got, []int16{17}) {
			t.Errorf("%s: %v, want 17", name, got)
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
			if r.ErrorCode != errInvalidRecord || r.BaseOffset != -1 || r.LogStartOffset != 0 {
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
				if code != errUnsupportedCompression {
					t.Errorf("zstd in v%d: %d, want 76", v, code)
				}
				continue
			}
			if code != errNone {
				t.Errorf("codec %v in v%d: %d", c, v, code)
			}
			want = append(want, value, "2")
		}
	}
	unknown := values("x")
	unknown[22] |= 5
	records.SetLogAppendTime(unknown, 1) // sets the checksum anew
	if code := f.produceRows(9, produceRequest(part{topic: "orders", records: unknown}))[0].ErrorCode; code != errUnsupportedCompression {
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
			if r.ErrorCode != errInvalidRecord || r.BaseOffset != -1 || r.LogStartOffset != -1 {
				t.Errorf("%s records in v%d: %+v, want 87", name, v, r)
			}
		}
	}
}

func TestProduceIdempotentBatches(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 1)
	idempotent := func(sequence int32, epoch int16, n int) []byte {
		list := make([]record, n)
		for i := range list {
			list[i] = record{value: []byte(fmt.Sprint(sequence, "+", i)), timestamp: 1}
		}
		return batch(records.BatchSpec{HasProducer: true, ProducerID: 77, ProducerEpoch: epoch, BaseSequence: sequence}, list...)
	}
	for _, c := range []struct {
		name     string
		sequence int32
		epoch    int16
		n        int
		want     int16
	}{
		{"an unknown producer may begin anywhere", 2147483646, 0, 2, 0},
		{"the sequence goes on at 0", 0, 0, 1, 0},
		{"a batch across the end of the sequence", 2147483646, 1, 4, 0},
		{"the next after it", 2, 1, 1, 0},
		{"the least sequence", math.MinInt32, 0, 1, 87},
		{"no sequence", -1, 0, 1, 87},
	} {
		if got := f.produceRows(9, produceRequest(part{topic: "orders", records: idempotent(c.sequence, c.epoch, c.n)}))[0].ErrorCode; got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	if got, want := len(f.contents("orders", 0, 0)), 8; got != want {
		t.Errorf("%d records, want %d", got, want)
	}
}

func TestProduceKeepsTheOrderOfARequest(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 1)
	var parts []part
	var want []string
	for i := range 20 {
		parts = append(parts, part{topic: "orders", records: values(fmt.Sprint(i))})
		want = append(want, fmt.Sprint(i))
	}
	for i, r := range f.produceRows(9, produceRequest(parts...)) {
		if r.ErrorCode != 0 || r.BaseOffset != int64(i) {
			t.Errorf("row %d: %+v", i, r)
		}
	}
	if got := f.contents("orders", 0, 0); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestProduceManyCompressedPartitions(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	const partitions = 12
	f.topic("orders", partitions)
	// Together they decompress to more than a request may hold at a time.
	value := []byte(strings.Repeat("a", 8<<20))
	var parts []part
	for i := range int32(partitions) {
		raw := batch(records.BatchSpec{Codec: records.CodecZstd}, record{value: value, timestamp: 1})
		parts = append(parts, part{topic: "orders", partition: i, records: raw})
	}
	for i, r := range f.produceRows(9, produceRequest(parts...)) {
		if r.ErrorCode != 0 {
			t.Errorf("partition %d: %+v", i, r)
		}
	}
}

func TestProduceConcurrently(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 2)
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		bases = map[int32][]int64{}
	)
	const clients, each = 8, 25
	for c := range clients {
		wg.Go(func() {
			for i := range each {
				rows := f.produceRows(9, produceRequest(
					part{topic: "orders", partition: 0, records: values(fmt.Sprint(c, ".", i))},
					part{topic: "orders", partition: 1, records: values(fmt.Sprint(c, ".", i), "second")},
				))
				mu.Lock()
				for _, r := range rows {
					if r.ErrorCode != 0 {
						t.Errorf("%+v", r)
					}
					bases[r.Index] = append(bases[r.Index], r.BaseOffset)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for p, list := range bases {
		slices.Sort(list)
		for i, base := range list {
			if base != int64(i)*int64(p+1) {
				t.Fatalf("partition %d: base offsets are not contiguous: %v", p, list)
			}
		}
	}
}
