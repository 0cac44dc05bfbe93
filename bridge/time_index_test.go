package bridge

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"kafka-iggy-bridge/internal/records"
)

// timeModel answers questions about times from a list of records.
type timeModel struct {
	start int64
	times []int64
}

func (m *timeModel) first(ts int64) (offset, time int64) {
	for i := m.start; i < int64(len(m.times)); i++ {
		if m.times[i] >= ts {
			return i, m.times[i]
		}
	}
	return -1, -1
}

func (m *timeModel) greatest() (offset, time int64) {
	offset, time = -1, -1
	for i := m.start; i < int64(len(m.times)); i++ {
		if offset < 0 || m.times[i] > time {
			offset, time = i, m.times[i]
		}
	}
	return offset, time
}

// TestOffsetsByTimeAgreeWithAModel produces, injects, retains and restarts at
// random and compares the answers with those of a plain list.
func TestOffsetsByTimeAgreeWithAModel(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 7))
	f, b, topic := fakeBridge(t, nil)
	model := &timeModel{}
	time := func() int64 { return testTime + r.Int64N(1_000_000) }
	for step := range 400 {
		switch n := r.IntN(20); {
		case n < 10:
			recs := make([]rec, 1+r.IntN(20))
			for i := range recs {
				recs[i] = rec{Value: []byte("v"), Timestamp: time()}
				model.times = append(model.times, recs[i].Timestamp)
			}
			produce(t, b, topic, 0, batchOf(t, records.BatchSpec{}, recs...))
		case n < 12:
			m := foreign("x")
			at := time()
			m.Header.OriginTimestamp = uint64(at) * 1000
			f.inject(ordersAt, 0, m)
			model.times = append(model.times, at)
		case n == 12 && int64(len(model.times)) > model.start:
			model.start += r.Int64N(int64(len(model.times)) - model.start + 1)
			f.retain(ordersAt, 0, model.start)
		case n == 13:
			closeBridge(t, b)
			b = startBridge(t, f.config())
			var err error
			if topic, err = b.Topic(testContext(t), "orders"); err != nil {
				t.Fatal(err)
			}
		default:
			ts := testTime + r.Int64N(1_100_000) - 50_000
			offset, at, err := b.OffsetForTimestamp(testContext(t), topic, 0, ts)
			wantOffset, wantAt := model.first(ts)
			if err != nil || offset != wantOffset || at != wantAt {
				t.Fatalf("step %d: first at %d or later: %d at %d, want %d at %d; %v", step, ts, offset, at, wantOffset, wantAt, err)
			}
			offset, at, err = b.MaxTimestamp(testContext(t), topic, 0)
			wantOffset, wantAt = model.greatest()
			if err != nil || offset != wantOffset || at != wantAt {
				t.Fatalf("step %d: greatest: %d at %d, want %d at %d; %v", step, offset, at, wantOffset, wantAt, err)
			}
		}
	}
}

func TestOffsetByTimeRemembersWhatItRead(t *testing.T) {
	t.Parallel()
	f, b, topic := fakeBridge(t, nil)
	for i := range 10 {
		m := foreign("x")
		m.Header.OriginTimestamp = uint64(testTime+int64(i)) * 1000
		f.inject(ordersAt, 0, m)
	}
	if offset, _, err := b.OffsetForTimestamp(testContext(t), topic, 0, testTime+100); offset != -1 || err != nil {
		t.Fatal(offset, err)
	}
	f.hooks(func(c fakeCall) error {
		if c.op == "read" && c.at == ordersAt && !c.read.first {
			return errTest
		}
		return nil
	}, nil)
	if offset, _, err := b.OffsetForTimestamp(testContext(t), topic, 0, testTime+100); offset != -1 || err != nil {
		t.Fatalf("the log was read again: %d, %v", offset, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := b.OffsetForTimestamp(ctx, topic, 0, testTime); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func TestTimeIndexStaysSmall(t *testing.T) {
	t.Parallel()
	x := newTimeIndex()
	for i := range int64(100_000) {
		x.add(i*100, i*100+100, i, i*100)
	}
	if n := len(x.stretches); n > maxStretches {
		t.Fatalf("%d stretches", n)
	}
	snapshot := x.snapshot()
	if len(snapshot) > 16*maxSnapshotStretches {
		t.Fatalf("a snapshot of %d bytes", len(snapshot))
	}
	if x.snapshot() != nil {
		t.Fatal("an unchanged index was stored again")
	}
	y := newTimeIndex()
	if err := y.restore(snapshot, 100_000*100); err != nil {
		t.Fatal(err)
	}
	for offset := int64(0); offset < 100_000*100; {
		s, known := y.next(offset, 100_000*100)
		if !known || s.maxTime != (s.end-1)/100 {
			t.Fatalf("at %d: %+v, known %v", offset, s, known)
		}
		offset = s.end
	}
}

func FuzzTimeIndexRestore(f *testing.F) {
	x := newTimeIndex()
	x.add(0, 10, 5, 3)
	x.add(20, 30, 7, 20)
	f.Add(x.snapshot(), int64(100))
	f.Fuzz(func(t *testing.T, b []byte, end int64) {
		x := newTimeIndex()
		if err := x.restore(b, end); err != nil {
			return
		}
		last := int64(0)
		for _, s := range x.stretches {
			if s.base < last || s.end <= s.base || s.maxAt < s.base || s.maxAt >= s.end || s.end > end {
				t.Fatalf("stretch %+v behind %d", s, last)
			}
			last = s.end
		}
	})
}
