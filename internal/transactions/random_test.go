package transactions

import (
	"maps"
	"math"
	"slices"
	"testing"

	"kafka-iggy-bridge/internal/records"
)

// TestRandomSchedules lets producers work, of which several share an id and fence
// each other, while the bridge is killed between any two steps. In the end every
// transaction is committed in all of its partitions or in none, as its producer
// was told, and none is open.
func TestRandomSchedules(t *testing.T) {
	t.Parallel()
	told, kills := map[outcome]int{}, 0
	for seed := range uint64(50) {
		w := newWorld(seed, 4)
		if seed%4 == 0 {
			exhaust(w, "a")
		}
		var attempts []*attempt
		clients := []*client{
			{w: w, id: "a", version2: true}, {w: w, id: "a", version2: true}, {w: w, id: "b", version2: true},
			{w: w, id: "c"}, {w: w, id: "c"}, {w: w, id: "d"},
		}
		for range 3000 {
			switch r := w.random.IntN(1000); {
			case r < 2:
				w.kill()
			case r < 4:
				c := clients[w.random.IntN(len(clients))]
				*c = client{w: w, id: c.id, version2: c.version2} // a restart of the application
			case r < 300:
				w.step()
			default:
				clients[w.random.IntN(len(clients))].step(&attempts)
			}
			checkStable(t, seed, w)
		}
		w.settle()
		checkAttempts(t, seed, w, attempts)
		checkReplayed(t, seed, w)
		for _, a := range attempts {
			told[a.outcome]++
		}
		kills += w.kills
	}
	t.Logf("%d transactions committed, %d aborted, %d without an answer; killed %d times", told[outcomeCommitted], told[outcomeAborted], told[outcomeUnknown], kills)
	if told[outcomeCommitted] < 500 || told[outcomeAborted] < 200 {
		t.Error("too few transactions came to an end")
	}
}

// exhaust makes an id whose epochs are nearly used up.
func exhaust(w *world, id string) {
	x := w.machine.add(id)
	w.nextID++
	x.producerID, x.epoch, x.timeoutMs = w.nextID, math.MaxInt16-4, 60_000
	w.log = append(w.log, x.record(w.now))
}

// checkStable makes sure that no partition's last stable offset has passed an
// open transaction.
func checkStable(t *testing.T, seed uint64, w *world) {
	t.Helper()
	for at, p := range w.partitions {
		open := make(map[int64]int64)
		for _, r := range p.records {
			if r.Marker != nil {
				delete(open, r.Marker.ProducerID)
			} else if _, ok := open[r.ProducerID]; !ok {
				open[r.ProducerID] = r.Offset
			}
		}
		want := int64(len(p.records))
		for _, first := range open {
			want = min(want, first)
		}
		if got := p.ledger.LastStable(int64(len(p.records))); got != want {
			t.Fatalf("seed %d: %v: last stable offset %d, want %d", seed, at, got, want)
		}
	}
}

func checkAttempts(t *testing.T, seed uint64, w *world, attempts []*attempt) {
	t.Helper()
	committed := make(map[TopicPartition]map[int]int)
	for at, p := range w.partitions {
		committed[at] = p.committed()
		if got := p.ledger.LastStable(p.ledger.Next()); got != int64(len(p.records)) {
			t.Fatalf("seed %d: %v: a transaction is open for ever: last stable offset %d of %d", seed, at, got, len(p.records))
		}
	}
	for _, a := range attempts {
		whole, none := true, true
		for at, n := range a.records {
			switch got := committed[at][a.number]; {
			case got > n:
				t.Fatalf("seed %d: transaction %d: %d records in %v, %d were written", seed, a.number, got, at, n)
			case got != n:
				whole = false
			}
			none = none && committed[at][a.number] == 0
		}
		if a.outcome == outcomeCommitted && !whole || a.outcome == outcomeAborted && !none || !whole && !none {
			t.Fatalf("seed %d: transaction %d has outcome %d, but all of it is committed: %v, nothing: %v", seed, a.number, a.outcome, whole, none)
		}
	}
}

// checkReplayed makes sure that the log's records give the machine's state.
func checkReplayed(t *testing.T, seed uint64, w *world) {
	t.Helper()
	show := func(m *Machine) []string {
		m.now = w.now
		return slices.Sorted(maps.Keys(byContent(slices.Collect(m.Snapshot()))))
	}
	other := NewMachine(w.machine.config)
	for i := range w.log {
		if err := other.Replay(&w.log[i]); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := show(other), show(w.machine); !slices.Equal(got, want) {
		t.Fatalf("seed %d: the log gives another state", seed)
	}
}

func byContent(rs []records.Record) map[string]bool {
	m := make(map[string]bool)
	for _, r := range rs {
		m[string(r.Key)+"="+string(r.Value)] = true
	}
	return m
}
