package handlers

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/records"
)

// offsetPart is a partition in a ListOffsets request.
type offsetPart struct {
	topic     string
	partition int32
	timestamp int64
	epoch     int32
}

func offsetRequest(isolation int8, parts ...offsetPart) *generated.ListOffsetsRequest {
	req := generated.DefaultListOffsetsRequest()
	req.ReplicaId, req.IsolationLevel = -1, isolation
	for _, p := range parts {
		t := generated.DefaultListOffsetsRequestListOffsetsTopic()
		t.Name = p.topic
		q := generated.DefaultListOffsetsRequestListOffsetsPartition()
		q.PartitionIndex, q.Timestamp, q.CurrentLeaderEpoch = p.partition, p.timestamp, p.epoch
		t.Partitions = append(t.Partitions, q)
		req.Topics = append(req.Topics, t)
	}
	return &req
}

func (f *dataFixture) offsetRows(version int16, req *generated.ListOffsetsRequest) []generated.ListOffsetsResponseListOffsetsPartitionResponse {
	f.t.Helper()
	answer, _ := f.call(context.Background(), generated.KeyListOffsets, version, req)
	resp, ok := answer.(*generated.ListOffsetsResponse)
	if !ok {
		f.t.Fatalf("no answer to ListOffsets v%d", version)
	}
	var rows []generated.ListOffsetsResponseListOffsetsPartitionResponse
	for _, t := range resp.Topics {
		rows = append(rows, t.Partitions...)
	}
	return rows
}

// timed are batches whose records have these timestamps.
func (f *dataFixture) timed(topic string, partition int32, batches ...[]int64) {
	f.t.Helper()
	for _, timestamps := range batches {
		list := make([]record, len(timestamps))
		for i, ts := range timestamps {
			list[i] = record{value: []byte(fmt.Sprint(ts)), timestamp: ts}
		}
		f.mustProduce(topic, partition, batch(records.BatchSpec{}, list...))
	}
}

func TestListOffsetsSpecialTimestamps(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 2)
	f.timed("orders", 0, []int64{100, 500, 900}, []int64{300, 200}, []int64{900}, []int64{-1}, []int64{50})
	type answer struct {
		since             int16
		offset, timestamp int64
		epoch             int32
	}
	for partition, list := range []map[int64]answer{
		{
			-1: {0, 8, -1, 0}, -2: {0, 0, -1, 0}, -3: {7, 2, 900, 0}, -4: {8, 0, -1, 0}, -5: {9, -1, -1, -1}, -6: {11, -1, -1, -1},
			0: {0, 0, 100, 0}, 100: {0, 0, 100, 0}, 101: {0, 1, 500, 0}, 250: {0, 1, 500, 0}, 501: {0, 2, 900, 0}, 901: {0, -1, -1, -1}, math.MaxInt64: {0, -1, -1, -1},
			-7: {99, 0, 0, 0}, math.MinInt64: {99, 0, 0, 0},
		},
		{
			-1: {0, 0, -1, 0}, -2: {0, 0, -1, 0}, -3: {7, -1, -1, -1}, -4: {8, 0, -1, 0}, -5: {9, -1, -1, -1}, -6: {11, -1, -1, -1}, 0: {0, -1, -1, -1}, 5: {0, -1, -1, -1},
		},
	} {
		for ts, want := range list {
			for v := int16(1); v <= 11; v++ {
				for isolation := range int8(2) {
					if isolation > 0 && v < 2 {
						continue
					}
					r := f.offsetRows(v, offsetRequest(isolation, offsetPart{"orders", int32(partition), ts, -1}))[0]
					code, offset, timestamp, epoch := int16(0), want.offset, want.timestamp, want.epoch
					if v < want.since {
						code, offset, timestamp, epoch = errorcode.UnsupportedVersion, -1, -1, -1
					}
					if v < 4 {
						epoch = -1
					}
					if r.ErrorCode != code || r.Offset != offset || r.Timestamp != timestamp || r.LeaderEpoch != epoch {
						t.Errorf("partition %d, timestamp %d, v%d, isolation %d: %+v, want code %d, %+v", partition, ts, v, isolation, r, code, want)
					}
				}
			}
		}
	}
}

func TestListOffsetsFaults(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 2)
	f.mustProduce("orders", 1, values("a"))
	at := func(partition int32, ts int64, epoch int32) offsetPart {
		return offsetPart{"orders", partition, ts, epoch}
	}
	for _, c := range []struct {
		name      string
		isolation int8
		parts     []offsetPart
		want      []int16
	}{
		{"unknown topic and partitions", 0, []offsetPart{{"none", 0, -1, -1}, {"a b", 0, -1, -1}, {"", 0, -2, -1}, at(2, -1, -1), at(-1, 5, -1)}, []int16{3, 3, 3, 3, 3}},
		{"one partition twice", 0, []offsetPart{at(1, -1, -1), at(0, -1, -1), at(1, -2, -1)}, []int16{42, 0, 42}},
		{"twice comes before the timestamp", 0, []offsetPart{at(9, -77, -1), at(9, -1, -1)}, []int16{42, 42}},
		{"the timestamp comes before the partition", 0, []offsetPart{at(9, -77, -1), {"none", 0, -77, -1}}, []int16{35, 35}},
		{"the timestamp comes before the epoch", 0, []offsetPart{at(1, -77, 1)}, []int16{35}},
		{"the partition comes before the epoch", 0, []offsetPart{at(9, -1, 1)}, []int16{3}},
		{"epochs", 0, []offsetPart{at(1, -1, 0)}, []int16{0}},
		{"an epoch to come", 0, []offsetPart{at(1, -1, 1), at(0, -1, math.MaxInt32)}, []int16{75, 75}},
		{"an epoch that is over", 0, []offsetPart{at(1, -1, -2), at(0, -1, math.MinInt32)}, []int16{74, 74}},
		{"an epoch to come, of remote storage", 0, []offsetPart{at(1, -5, 1)}, []int16{75}},
		{"an unknown isolation level", 7, []offsetPart{at(1, -1, -1)}, []int16{42}},
		{"nothing", 0, nil, nil},
	} {
		var got []int16
		for _, r := range f.offsetRows(9, offsetRequest(c.isolation, c.parts...)) {
			got = append(got, r.ErrorCode)
			if r.ErrorCode != 0 && (r.Offset != -1 || r.Timestamp != -1 || r.LeaderEpoch != -1) {
				t.Errorf("%s: %+v", c.name, r)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestListOffsetsBounds(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	topic := f.topic("orders", 1, "retention.ms", "3600000")
	bounds := func() (start, end int64) {
		t.Helper()
		rows := f.offsetRows(7, offsetRequest(0, offsetPart{"orders", 0, -2, -1}))
		end = f.offsetRows(7, offsetRequest(1, offsetPart{"orders", 0, -1, -1}))[0].Offset
		if hw := f.fetchRows(context.Background(), 13, fetchRequest(part{id: topic.ID, offset: end}))[0].HighWatermark; hw != end {
			t.Errorf("Fetch says %d, ListOffsets %d", hw, end)
		}
		return rows[0].Offset, end
	}
	if start, end := bounds(); start != 0 || end != 0 {
		t.Errorf("never written: %d to %d", start, end)
	}
	f.mustProduce("orders", 0, values("a"))
	if start, end := bounds(); start != 0 || end != 1 {
		t.Errorf("one record: %d to %d", start, end)
	}
	f.mustProduce("orders", 0, values("b", "c"))
	f.expire()
	f.await(func() bool { start, _ := bounds(); return start == 3 })
	if start, end := bounds(); start != 3 || end != 3 {
		t.Errorf("all expired: %d to %d", start, end)
	}
	if base := f.mustProduce("orders", 0, values("d")); base != 3 {
		t.Errorf("after that: base offset %d", base)
	}
}

func TestListOffsetsOfManyPartitions(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	const partitions = 100
	f.topic("wide", partitions)
	var parts []offsetPart
	for p := range int32(partitions) {
		if p%3 == 0 {
			f.mustProduce("wide", p, values("a", "b"))
		}
		parts = append(parts, offsetPart{"wide", p, -1, -1})
	}
	for p, r := range f.offsetRows(7, offsetRequest(0, parts...)) {
		want := int64(0)
		if p%3 == 0 {
			want = 2
		}
		if r.ErrorCode != 0 || r.Offset != want || r.PartitionIndex != int32(p) {
			t.Errorf("partition %d: %+v, want %d", p, r, want)
		}
	}
}

// With LogAppendTime every record's time is that of its append, whatever its
// producer said.
func TestListOffsetsOfAppendTimes(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 1, "message.timestamp.type", "LogAppendTime")
	before := time.Now().UnixMilli()
	var at []int64
	for range 2 {
		raw := batch(records.BatchSpec{}, record{value: []byte("a"), timestamp: 1000}, record{value: []byte("b"), timestamp: 2000})
		at = append(at, f.produceRows(9, produceRequest(part{topic: "orders", records: raw}))[0].LogAppendTimeMs)
	}
	for _, c := range []struct {
		name                  string
		ask, offset, expected int64
	}{
		{"before all", before - 1000, 0, at[0]},
		{"the producer's time", 1500, 0, at[0]},
		{"the first append", at[0], 0, at[0]},
		{"after all", at[1] + 3_600_000, -1, -1},
	} {
		if r := f.offsetRows(7, offsetRequest(0, offsetPart{"orders", 0, c.ask, -1}))[0]; r.Offset != c.offset || r.Timestamp != c.expected {
			t.Errorf("%s: %+v, want %d at %d", c.name, r, c.offset, c.expected)
		}
	}
	if r := f.offsetRows(7, offsetRequest(0, offsetPart{"orders", 0, -3, -1}))[0]; r.Timestamp != max(at[0], at[1]) {
		t.Errorf("the greatest time: %+v, want %v", r, at)
	}
}
