package handlers

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/server/parking"
	"kafka-iggy-bridge/internal/wire"
)

// neverParks returns a context in which a request that parks fails the test and
// ends its wait.
func neverParks(t testing.TB) context.Context {
	var lot *parking.Lot
	lot = parking.NewLot(func(delta int) {
		if delta > 0 {
			t.Error("the request waits")
			go lot.Evict(parking.ErrShutdown)
		}
	})
	return parking.NewContext(context.Background(), lot)
}

const hour = int32(time.Hour / time.Millisecond)

func TestFetchInAllVersions(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	topic := f.topic("orders", 2)
	f.mustProduce("orders", 0, values("a", "b"))
	f.mustProduce("orders", 0, values("c"))
	for v := int16(4); v <= 18; v++ {
		for isolation := range int8(2) {
			req := fetchRequest(
				part{topic: "orders", id: topic.ID},
				part{topic: "orders", id: topic.ID, partition: 1},
				part{topic: "orders", id: topic.ID, partition: 1, offset: 1},
				part{topic: "none", id: wire.UUID{1}},
				part{topic: "orders", id: topic.ID, partition: 2},
			)
			req.IsolationLevel = isolation
			rows := f.fetchRows(neverParks(t), v, req)
			start := int64(0)
			if v < 5 {
				start = -1
			}
			unknown := int16(3)
			if v >= 13 {
				unknown = 100
			}
			for i, want := range []struct {
				code               int16
				hw, lso, start     int64
				records            int
				abortedIsNullWhen0 bool
			}{
				{0, 3, 3, start, 3, true},
				{0, 0, 0, start, 0, true},
				{1, -1, -1, -1, 0, false},
				{unknown, -1, -1, -1, 0, false},
				{3, -1, -1, -1, 0, false},
			} {
				r := rows[i]
				if r.ErrorCode != want.code || r.HighWatermark != want.hw || r.LastStableOffset != want.lso || r.LogStartOffset != want.start || r.PreferredReadReplica != -1 {
					t.Errorf("v%d isolation %d row %d: %+v, want %+v", v, isolation, i, r, want)
				}
				if r.Records == nil {
					t.Errorf("v%d row %d: records are null", v, i)
				}
				if n := len(unpack(t, r.Records, 0)); n != want.records {
					t.Errorf("v%d row %d: %d records, want %d", v, i, n, want.records)
				}
				if want.abortedIsNullWhen0 && (r.AbortedTransactions == nil) != (isolation == readUncommitted) {
					t.Errorf("v%d isolation %d row %d: aborted transactions null: %v", v, isolation, i, r.AbortedTransactions == nil)
				}
			}
		}
	}
}

// A batch may exceed the limits only if it is the first of the answer (KIP-74).
func TestFetchLimits(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 4)
	big := strings.Repeat("x", 100_000)
	size := len(values(big))
	for p := range int32(3) {
		for range 3 {
			f.mustProduce("orders", p, values(big))
		}
	}
	all := func(limit int32) []part {
		return []part{
			{topic: "orders", partition: 3, max: limit},
			{topic: "orders", partition: 0, max: limit},
			{topic: "orders", partition: 1, max: limit},
			{topic: "orders", partition: 2, max: limit},
		}
	}
	for _, c := range []struct {
		name      string
		max       int32
		partition int32
		want      []int // batches' worth of records by row
	}{
		{"one byte for all", 1, 1 << 20, []int{0, 1, 0, 0}},
		{"no byte for all", 0, 1 << 20, []int{0, 1, 0, 0}},
		{"a negative limit is none at all", -5, -1, []int{0, 1, 0, 0}},
		{"one byte for each partition", 50 << 20, 1, []int{0, 1, 0, 0}},
		{"a partition's limit of a batch", 50 << 20, int32(size), []int{0, 1, 1, 1}},
		{"a partition's limit of two", 50 << 20, int32(2*size) + 10, []int{0, 2, 2, 2}},
		{"the second partition gets what is left", int32(4 * size), 1 << 20, []int{0, 3, 1, 0}},
		{"what is left is less than a batch", int32(4*size) - 400, 1 << 20, []int{0, 3, 0, 0}},
		{"everything", 50 << 20, 1 << 20, []int{0, 3, 3, 3}},
	} {
		req := fetchRequest(all(c.partition)...)
		req.MaxBytes = c.max
		rows := f.fetchRows(neverParks(t), 12, req)
		var got []int
		total := 0
		for _, r := range rows {
			got = append(got, len(unpack(t, r.Records, 0)))
			total += len(r.Records)
			if r.ErrorCode != 0 || r.PartitionIndex != 3 && r.HighWatermark != 3 {
				t.Errorf("%s: %d, high watermark %d", c.name, r.ErrorCode, r.HighWatermark)
			}
		}
		// A batch that the bridge makes anew may hold several records and then saves
		// their headers, so limits count a little less than the batches produced.
		for i := range got {
			if got[i] > c.want[i] || got[i] == 0 && c.want[i] > 0 {
				t.Errorf("%s: %v records, want %v", c.name, got, c.want)
				break
			}
		}
		if limit := max(int(c.max), size); total > limit {
			t.Errorf("%s: %d bytes exceed %d", c.name, total, limit)
		}
	}
}

func TestFetchOffsetsAtTheEnds(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 2, "retention.ms", "3600000")
	for i := range 10 {
		f.mustProduce("orders", 0, values(fmt.Sprint(i)))
	}
	f.expire()
	for i := range 10 {
		f.mustProduce("orders", 0, values(fmt.Sprint(10+i)))
	}
	for _, c := range []struct {
		partition int32
		offset    int64
		code      int16
		records   int
	}{
		{0, 9, 1, 0}, {0, 10, 0, 10}, {0, 19, 0, 1}, {0, 21, 1, 0}, {0, 0, 1, 0}, {0, -1, 1, 0}, {0, -2, 1, 0},
		{0, math.MaxInt64, 1, 0}, {0, math.MinInt64, 1, 0}, {1, 1, 1, 0},
	} {
		req := fetchRequest(part{topic: "orders", partition: c.partition, offset: c.offset})
		req.MaxWaitMs = hour
		r := f.fetchRows(neverParks(t), 12, req)[0]
		if r.ErrorCode != c.code || len(unpack(t, r.Records, c.offset)) != c.records {
			t.Errorf("offset %d of partition %d: %+v, want code %d and %d records", c.offset, c.partition, r, c.code, c.records)
		}
		if c.code == 0 && (r.HighWatermark != 20 || r.LogStartOffset != 10) {
			t.Errorf("offset %d: log %d to %d, want 10 to 20", c.offset, r.LogStartOffset, r.HighWatermark)
		}
	}
	for offset, partition := range map[int64]int32{20: 0, 0: 1} {
		r := f.fetchRows(neverParks(t), 12, fetchRequest(part{topic: "orders", partition: partition, offset: offset}))[0]
		if r.ErrorCode != 0 || len(r.Records) > 0 {
			t.Errorf("at the end of partition %d: %+v", partition, r)
		}
	}
}

func TestFetchFaultsDoNotWait(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	topic := f.topic("orders", 2)
	f.mustProduce("orders", 0, values("a"))
	idle := part{topic: "orders", id: topic.ID, partition: 1}
	for _, c := range []struct {
		name string
		p    part
		code int16
	}{
		{"beyond the end", part{topic: "orders", offset: 2}, 1},
		{"below the start", part{topic: "orders", offset: -1}, 1},
		{"an epoch that has not begun", part{topic: "orders", epoch: 2}, 75},
		{"a last record of such an epoch", part{topic: "orders", lastEpoch: 2}, 1},
		{"beyond the end of epoch 0", part{topic: "orders", offset: 5, lastEpoch: 1}, 0},
	} {
		req := fetchRequest(idle, c.p)
		req.MaxWaitMs = hour
		rows := f.fetchRows(neverParks(t), 12, req)
		if rows[1].ErrorCode != c.code || rows[0].ErrorCode != 0 {
			t.Errorf("%s: %+v, want %d", c.name, rows, c.code)
		}
		if c.code == 0 && (rows[1].DivergingEpoch.Epoch != 0 || rows[1].DivergingEpoch.EndOffset != 1 || rows[1].HighWatermark != 1) {
			t.Errorf("%s: %+v", c.name, rows[1])
		}
	}
	committed := fetchRequest(part{topic: "orders", offset: 5, lastEpoch: 1})
	committed.IsolationLevel = readCommitted
	if r := f.fetchRows(neverParks(t), 12, committed)[0]; r.DivergingEpoch.Epoch != 0 || r.AbortedTransactions != nil {
		t.Errorf("a reader of committed records beyond the end gets %+v, want no list of aborted transactions", r)
	}
	follower := fetchRequest(idle)
	follower.MaxWaitMs, follower.ReplicaId = hour, 1
	if r := f.fetchRows(neverParks(t), 12, follower)[0]; r.ErrorCode != errorcode.NotLeaderOrFollower {
		t.Errorf("a follower gets %d, want 6", r.ErrorCode)
	}
	follower = fetchRequest(idle)
	follower.MaxWaitMs, follower.ReplicaState.ReplicaId = hour, 1
	if r := f.fetchRows(neverParks(t), 15, follower)[0]; r.ErrorCode != errorcode.NotLeaderOrFollower {
		t.Errorf("a follower gets %d in v15, want 6", r.ErrorCode)
	}
}

func TestFetchNothingToWaitFor(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 1)
	f.mustProduce("orders", 0, values("a"))
	idle := part{topic: "orders", offset: 1}
	for name, change := range map[string]func(*generated.FetchRequest){
		"no topics":              func(r *generated.FetchRequest) { r.Topics = nil },
		"no partitions":          func(r *generated.FetchRequest) { r.Topics[0].Partitions = nil },
		"min bytes 0":            func(r *generated.FetchRequest) { r.MinBytes = 0 },
		"min bytes -1":           func(r *generated.FetchRequest) { r.MinBytes = -1 },
		"max wait 0":             func(r *generated.FetchRequest) { r.MaxWaitMs = 0 },
		"max wait -1":            func(r *generated.FetchRequest) { r.MaxWaitMs = -1 },
		"only an unknown topic":  func(r *generated.FetchRequest) { r.Topics[0].Topic = "none" },
		"unknown partition only": func(r *generated.FetchRequest) { r.Topics[0].Partitions[0].Partition = 3 },
		"min bytes above the limit": func(r *generated.FetchRequest) {
			r.Topics[0].Partitions[0].FetchOffset, r.MinBytes, r.MaxBytes = 0, 1<<20, 1
		},
		"an unknown isolation level": func(r *generated.FetchRequest) { r.IsolationLevel = 7 },
		"a session":                  func(r *generated.FetchRequest) { r.SessionEpoch = 1 },
	} {
		req := fetchRequest(idle)
		req.MaxWaitMs = hour
		change(req)
		if answer, _ := f.call(neverParks(t), generated.KeyFetch, 12, req); answer == nil {
			t.Errorf("%s: no answer", name)
		}
	}
}

func TestFetchSessions(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 1)
	f.mustProduce("orders", 0, values("a"))
	for _, c := range []struct {
		name      string
		id, epoch int32
		code      int16
	}{
		{"no session", 0, -1, 0},
		{"a new one", 0, 0, 0},
		{"a new one in the place of another", 12345, 0, 0},
		{"the end of one", 12345, -1, 0},
		{"a negative id", -5, 0, 0},
		{"one that goes on", 12345, 1, 70},
		{"an epoch without a session", 0, 1, 70},
		{"an epoch below all", 0, -2, 70},
	} {
		for _, v := range []int16{7, 12, 18} {
			topic, err := f.b.Topic(context.Background(), "orders")
			if err != nil {
				t.Fatal(err)
			}
			req := fetchRequest(part{topic: "orders", id: topic.ID})
			req.SessionId, req.SessionEpoch = c.id, c.epoch
			answer, _ := f.call(neverParks(t), generated.KeyFetch, v, req)
			resp := answer.(*generated.FetchResponse)
			if resp.ErrorCode != c.code || resp.SessionId != 0 || len(resp.Responses) == 0 == (c.code == 0) {
				t.Errorf("%s, v%d: %+v", c.name, v, resp)
			}
		}
	}
}

func TestFetchUnknownIsolationLevel(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 1)
	for _, level := range []int8{2, -1, 127} {
		req := fetchRequest(part{topic: "orders"})
		req.IsolationLevel = level
		answer, _ := f.call(neverParks(t), generated.KeyFetch, 12, req)
		resp := answer.(*generated.FetchResponse)
		if resp.ErrorCode != 42 || resp.Responses[0].Partitions[0].ErrorCode != 42 {
			t.Errorf("level %d: %+v", level, resp)
		}
	}
}

func TestFetchWithinABatch(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 1)
	for _, c := range []records.Codec{records.CodecNone, records.CodecZstd} {
		base := f.mustProduce("orders", 0, batch(records.BatchSpec{Codec: c}, record{value: []byte("0")}, record{value: []byte("1")}, record{value: []byte("2")}))
		if got, want := f.contents("orders", 0, base+1), []string{"1", "2"}; !slices.Equal(got, want) {
			t.Errorf("codec %v: %v, want %v", c, got, want)
		}
	}
}

func TestFetchByIDOfARecreatedTopic(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	old := f.topic("orders", 1)
	f.mustProduce("orders", 0, values("old"))
	f.drop("orders")
	topic := f.topic("orders", 1)
	f.mustProduce("orders", 0, values("new"))
	rows := f.fetchRows(neverParks(t), 13, fetchRequest(part{id: old.ID}, part{id: topic.ID}))
	if rows[0].ErrorCode != errorcode.UnknownTopicID || rows[1].ErrorCode != 0 {
		t.Fatalf("%+v", rows)
	}
	if got := unpack(t, rows[1].Records, 0); len(got) != 1 || got[0].value != "new" {
		t.Errorf("got %v", got)
	}
}

// A consumer of many partitions asks often, so an idle one must cost little.
func TestFetchManyPartitions(t *testing.T) {
	f := newData(t, nil)
	const partitions = 200
	f.topic("wide", partitions)
	parts := make([]part, partitions)
	for i := range parts {
		parts[i] = part{topic: "wide", partition: int32(i)}
	}
	req := fetchRequest(parts...)
	one := fetchRequest(parts[0])
	one.Topics[0].Partitions = nil
	for i := range req.Topics {
		one.Topics[0].Partitions = append(one.Topics[0].Partitions, req.Topics[i].Partitions...)
	}
	for i, r := range f.fetchRows(neverParks(t), 12, one) {
		if r.ErrorCode != 0 || r.PartitionIndex != int32(i) {
			t.Fatalf("row %d: %+v", i, r)
		}
	}
	endpoint, _ := f.h.Lookup(generated.KeyFetch)
	handled := &Request{Key: generated.KeyFetch, Version: 12, Body: one}
	allocs := testing.AllocsPerRun(5, func() {
		if _, err := endpoint.Handle(context.Background(), handled); err != nil {
			t.Error(err)
		}
	})
	if allocs > 2*partitions {
		t.Errorf("%v allocations for %d idle partitions", allocs, partitions)
	}
}
