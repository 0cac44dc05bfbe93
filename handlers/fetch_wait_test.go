package handlers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/server/parking"
	"kafka-iggy-bridge/internal/wire"
)

// waiting is a Fetch that waits.
type waiting struct {
	lot    *parking.Lot
	parked chan struct{}
	left   atomic.Int64 // requests parked now
	answer chan []generated.FetchResponsePartitionData
}

// wait sends a Fetch and returns once it is parked.
func (f *dataFixture) wait(t *testing.T, version int16, req *generated.FetchRequest) *waiting {
	t.Helper()
	w := &waiting{parked: make(chan struct{}, 1), answer: make(chan []generated.FetchResponsePartitionData, 1)}
	w.lot = parking.NewLot(func(delta int) {
		w.left.Add(int64(delta))
		if delta > 0 {
			w.parked <- struct{}{}
		}
	})
	ctx := parking.NewContext(context.Background(), w.lot)
	go func() { w.answer <- f.fetchRows(ctx, version, req) }()
	select {
	case <-w.parked:
	case rows := <-w.answer:
		t.Fatalf("answered without waiting: %+v", rows)
	case <-time.After(30 * time.Second):
		t.Fatal("neither answered nor parked")
	}
	return w
}

// rows is the answer, which must come while others wait for an hour.
func (w *waiting) rows(t *testing.T) []generated.FetchResponsePartitionData {
	t.Helper()
	select {
	case rows := <-w.answer:
		if n := w.left.Load(); n != 0 {
			t.Errorf("%d still parked", n)
		}
		return rows
	case <-time.After(30 * time.Second):
		t.Fatal("no answer")
		return nil
	}
}

// open fails when there is an answer already.
func (w *waiting) open(t *testing.T) {
	t.Helper()
	select {
	case rows := <-w.answer:
		t.Fatalf("answered too early: %+v", rows)
	default:
	}
}

func TestFetchWaitsForAProduce(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	topic := f.topic("orders", 3)
	f.mustProduce("orders", 0, values("before"))
	for _, v := range []int16{4, 12, 18} {
		var parts []part
		for p := range int32(3) {
			at, err := f.b.HighWatermark(context.Background(), topic, p)
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, part{topic: "orders", id: topic.ID, partition: p, offset: at})
		}
		req := fetchRequest(parts...)
		req.MaxWaitMs = hour
		w := f.wait(t, v, req)
		base := f.mustProduce("orders", 1, values("hello"))
		rows := w.rows(t)
		if got := unpack(t, rows[1].Records, base); len(got) != 1 || got[0].value != "hello" || rows[1].HighWatermark != base+1 {
			t.Errorf("v%d: %+v", v, rows[1])
		}
		if len(rows[0].Records)+len(rows[2].Records) > 0 || rows[0].Records == nil || rows[2].Records == nil {
			t.Errorf("v%d: the others: %+v, %+v", v, rows[0], rows[2])
		}
	}
}

func TestFetchWaitsForEnough(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 2)
	value := strings.Repeat("x", 1000)
	f.mustProduce("orders", 0, values(value))
	req := fetchRequest(part{topic: "orders"}, part{topic: "orders", partition: 1})
	req.MaxWaitMs, req.MinBytes = hour, 4500
	w := f.wait(t, 12, req)
	for i := range 3 {
		f.mustProduce("orders", int32(i%2), values(value))
		w.open(t)
	}
	f.mustProduce("orders", 0, values(value))
	f.mustProduce("orders", 1, values(value))
	rows := w.rows(t)
	n := len(unpack(t, rows[0].Records, 0)) + len(unpack(t, rows[1].Records, 0))
	if size := len(rows[0].Records) + len(rows[1].Records); size < 4500 || n < 5 {
		t.Errorf("%d bytes and %d records", size, n)
	}
}

func TestFetchEndsItsWait(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 2)
	f.mustProduce("orders", 0, values("little"))
	for name, cause := range map[string]error{"the client goes": parking.ErrClientGone, "the bridge stops": parking.ErrShutdown} {
		req := fetchRequest(part{topic: "orders"}, part{topic: "orders", partition: 1})
		req.MaxWaitMs, req.MinBytes = hour, 1<<20
		w := f.wait(t, 12, req)
		w.lot.Evict(cause)
		rows := w.rows(t)
		if got := unpack(t, rows[0].Records, 0); len(got) != 1 || got[0].value != "little" || rows[1].ErrorCode != 0 {
			t.Errorf("%s: %+v", name, rows)
		}
	}
}

func TestFetchWaitIsOverInTime(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 1)
	f.mustProduce("orders", 0, values("little"))
	req := fetchRequest(part{topic: "orders"}, part{topic: "none"})
	req.MaxWaitMs, req.MinBytes = 20, 1<<20
	began := time.Now()
	rows := f.fetchRows(context.Background(), 12, req)
	if took := time.Since(began); took < 20*time.Millisecond {
		t.Errorf("answered after %v", took)
	}
	if got := unpack(t, rows[0].Records, 0); len(got) != 1 || rows[1].ErrorCode != errorcode.UnknownTopicOrPartition {
		t.Errorf("%+v", rows)
	}
}

// Kafka lets idle partitions wait beside unknown ones: clients repeat a request
// until they have new metadata, without a pause.
func TestFetchWaitsBesideUnknownPartitions(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 1)
	req := fetchRequest(part{topic: "none"}, part{topic: "orders"}, part{topic: "orders", partition: 9})
	req.MaxWaitMs = hour
	w := f.wait(t, 12, req)
	f.mustProduce("orders", 0, values("a"))
	rows := w.rows(t)
	if len(rows[1].Records) == 0 || rows[0].ErrorCode != 3 || rows[2].ErrorCode != 3 {
		t.Errorf("%+v", rows)
	}
}

func TestFetchWaitEndsWithTheTopic(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	topic := f.topic("orders", 1)
	for v, want := range map[int16]int16{12: errorcode.UnknownTopicOrPartition, 13: errorcode.UnknownTopicID} {
		req := fetchRequest(part{topic: "orders", id: topic.ID})
		req.MaxWaitMs = hour
		w := f.wait(t, v, req)
		f.drop("orders")
		if rows := w.rows(t); rows[0].ErrorCode != want || rows[0].Records == nil {
			t.Errorf("v%d: %+v, want %d", v, rows[0], want)
		}
		topic = f.topic("orders", 1)
	}
}

// A batch that is larger than the partition's limit comes when it is the first.
func TestFetchWaitsForALargeBatch(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 2)
	req := fetchRequest(part{topic: "orders", max: 1}, part{topic: "orders", partition: 1, max: 1})
	req.MaxWaitMs, req.MaxBytes = hour, 1
	w := f.wait(t, 12, req)
	f.mustProduce("orders", 1, values(strings.Repeat("x", 500_000)))
	if rows := w.rows(t); len(unpack(t, rows[1].Records, 0)) != 1 || len(rows[0].Records) > 0 {
		t.Errorf("%d and %d bytes", len(rows[0].Records), len(rows[1].Records))
	}
}

func TestFetchManyWait(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 1)
	var all []*waiting
	for range 50 {
		req := fetchRequest(part{topic: "orders"})
		req.MaxWaitMs = hour
		all = append(all, f.wait(t, 12, req))
	}
	f.mustProduce("orders", 0, values("for all"))
	for _, w := range all {
		if got := unpack(t, w.rows(t)[0].Records, 0); len(got) != 1 || got[0].value != "for all" {
			t.Fatalf("got %v", got)
		}
	}
}

func TestDataPlaneWithoutIggy(t *testing.T) {
	t.Parallel()
	f := &dataFixture{adminFixture: newAdminAt(t, bridge.Config{Address: "127.0.0.1:1", Username: "u", Password: "p", DialTimeout: time.Second}, nil)}
	retriable := []int16{3, 5, 6, 7, 14, 15}
	check := func(what string, code int16) {
		t.Helper()
		if !slices.Contains(retriable, code) {
			t.Errorf("%s: %d is not retriable", what, code)
		}
	}
	check("Produce", f.produceRows(9, produceRequest(part{topic: "orders", records: values("a")}))[0].ErrorCode)
	req := fetchRequest(part{topic: "orders"})
	req.MaxWaitMs = hour
	began := time.Now()
	row := f.fetchRows(context.Background(), 12, req)[0]
	check("Fetch", row.ErrorCode)
	if row.Records == nil {
		t.Error("Fetch: records are null")
	}
	if took := time.Since(began); took < outageHold {
		t.Errorf("Fetch was answered after %v: clients would ask again and again", took)
	}
	check("ListOffsets", f.offsetRows(7, offsetRequest(0, offsetPart{"orders", 0, -1, -1}))[0].ErrorCode)
	init := generated.DefaultInitProducerIdRequest()
	init.TransactionalId = wire.NullString{}
	answer, _ := f.call(context.Background(), generated.KeyInitProducerId, 4, &init)
	check("InitProducerId", answer.(*generated.InitProducerIdResponse).ErrorCode)
	if err := f.b.Health(); err == nil || errors.Is(err, bridge.ErrClosed) {
		t.Errorf("health: %v", err)
	}
}
