package producers

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
)

// model is a partition's log, record by record, from which everything that a
// ledger says can be found out the slow way.
type model struct {
	records []Record
}

// grow appends a random batch or marker to the log and to the ledger.
func (m *model) grow(r *rand.Rand, l *Ledger, sequences map[int64]*producerModel) {
	id := int64(r.IntN(6))
	p := sequences[id]
	if p == nil {
		p = &producerModel{}
		sequences[id] = p
	}
	switch at := l.Next(); {
	case r.IntN(8) == 0: // somebody without an id
		n := 1 + r.IntN(3)
		for i := range n {
			m.records = append(m.records, Record{Offset: at + int64(i), AppendTime: uint64(at)})
		}
		l.Skip(at + int64(n))
	case p.open && r.IntN(3) == 0:
		marker := Marker{ProducerID: id, Epoch: p.epoch, Commit: r.IntN(2) == 0}
		if r.IntN(2) == 0 { // KIP-890: the end raises the epoch
			p.epoch++
			p.next = 0
			marker.Epoch, marker.Bumped = p.epoch, true
		}
		l.End(marker, at, at)
		m.records = append(m.records, Record{Offset: at, Timestamp: at, Marker: &marker})
		p.open = false
	default:
		n := 1 + r.IntN(4)
		transactional := p.open || r.IntN(2) == 0
		b := Batch{ProducerID: id, Epoch: p.epoch, FirstSequence: p.next, LastSequence: p.next + int32(n) - 1, Transactional: transactional}
		l.Append(b, Appended{Base: at, Timestamp: at + int64(n) - 1}, n)
		for i := range n {
			m.records = append(m.records, Record{
				Offset: at + int64(i), HasProducer: true, ProducerID: id, Epoch: p.epoch, Sequence: p.next + int32(i),
				Transactional: transactional, Timestamp: at + int64(i), AppendTime: uint64(at),
			})
		}
		p.next += int32(n)
		p.open = transactional
	}
}

type producerModel struct {
	epoch int16
	next  int32
	open  bool
}

// open finds the first record of the open transactions.
func (m *model) lastStable() int64 {
	open := make(map[int64]int64)
	for _, r := range m.records {
		switch {
		case r.Marker != nil:
			delete(open, r.Marker.ProducerID)
		case r.Transactional:
			if _, ok := open[r.ProducerID]; !ok {
				open[r.ProducerID] = r.Offset
			}
		}
	}
	stable := int64(len(m.records))
	for _, first := range open {
		stable = min(stable, first)
	}
	return stable
}

// abortedRecords are the offsets of records that belong to aborted transactions.
func (m *model) abortedRecords() map[int64]bool {
	pending := make(map[int64][]int64)
	aborted := make(map[int64]bool)
	for _, r := range m.records {
		switch {
		case r.Marker != nil:
			for _, offset := range pending[r.Marker.ProducerID] {
				aborted[offset] = !r.Marker.Commit
			}
			delete(pending, r.Marker.ProducerID)
		case r.Transactional:
			pending[r.ProducerID] = append(pending[r.ProducerID], r.Offset)
		}
	}
	return aborted
}

// filter does what a consumer with read_committed does with what it fetched from
// the offsets from to to: a producer's records are left out from the first offset
// of an aborted transaction to the next marker.
func (m *model) filter(from, to int64, list []Aborted) (delivered []int64) {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b Aborted) int { return int(a.First - b.First) })
	skipping := make(map[int64]bool)
	for _, r := range m.records[from:to] {
		for len(list) > 0 && list[0].First <= r.Offset {
			skipping[list[0].ProducerID] = true
			list = list[1:]
		}
		switch {
		case r.Marker != nil:
			delete(skipping, r.Marker.ProducerID)
		case r.Transactional && skipping[r.ProducerID]:
		default:
			delivered = append(delivered, r.Offset)
		}
	}
	return delivered
}

func TestRandomLogs(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 6))
		l, m, sequences := NewLedger(0), &model{}, make(map[int64]*producerModel)
		for range 150 {
			m.grow(r, l, sequences)
		}
		stable := l.LastStable(l.Next())
		if want := m.lastStable(); stable != want {
			t.Fatalf("seed %d: last stable offset %d, want %d", seed, stable, want)
		}
		checkReplay(t, seed, l, m)
		aborted := m.abortedRecords()
		for range 50 {
			from := r.Int64N(stable + 1)
			to := from + r.Int64N(stable-from+1)
			delivered := m.filter(from, to, l.Aborted(from, to))
			want := 0
			for _, record := range m.records[from:to] {
				if record.Marker == nil && !aborted[record.Offset] {
					if want >= len(delivered) || delivered[want] != record.Offset {
						t.Fatalf("seed %d: from %d to %d: record %d is missing", seed, from, to, record.Offset)
					}
					want++
				}
			}
			if want != len(delivered) {
				t.Fatalf("seed %d: from %d to %d: %d aborted records delivered", seed, from, to, len(delivered)-want)
			}
		}
	}
}

// checkReplay compares the ledger with one that was rebuilt from the log, from
// its start and behind a snapshot somewhere in it, even within a batch.
func checkReplay(t *testing.T, seed uint64, l *Ledger, m *model) {
	t.Helper()
	rebuilt := NewLedger(0)
	for i := range m.records {
		if i == len(m.records)/2 && !rebuilt.last.set {
			restored, err := Restore(rebuilt.Snapshot())
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			rebuilt = restored
		}
		rebuilt.Replay(&m.records[i])
	}
	if got, want := rebuilt.Snapshot(), l.Snapshot(); !bytes.Equal(got, want) {
		t.Fatalf("seed %d: the rebuilt ledger differs:\n%+v\n%+v", seed, rebuilt.Producers(), l.Producers())
	}
}

func FuzzRestore(f *testing.F) {
	l, m, sequences := NewLedger(0), &model{}, make(map[int64]*producerModel)
	r := rand.New(rand.NewPCG(1, 2))
	f.Add(l.Snapshot())
	for range 40 {
		m.grow(r, l, sequences)
	}
	f.Add(l.Snapshot())
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := Restore(b)
		if err != nil {
			return
		}
		again, err := Restore(l.Snapshot())
		if err != nil || !bytes.Equal(again.Snapshot(), l.Snapshot()) {
			t.Fatalf("not the same after another round: %v", err)
		}
	})
}
