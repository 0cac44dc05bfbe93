package producers

import (
	"errors"
	"math"
	"testing"
	"time"
)

const pid = 7

// send checks a batch of n records and, when it is to be appended, appends it at
// the ledger's end.
func send(l *Ledger, epoch int16, sequence int32, n int, transactional bool) (*Appended, error) {
	b := Batch{ProducerID: pid, Epoch: epoch, FirstSequence: sequence, LastSequence: last(sequence, n), Transactional: transactional}
	duplicate, err := l.Check(b)
	if duplicate != nil || err != nil {
		return duplicate, err
	}
	l.Append(b, Appended{Base: l.Next(), Timestamp: 1000 + l.Next()}, n)
	return nil, nil
}

// last is the sequence number of the last of n records.
func last(first int32, n int) int32 { return int32((int64(first) + int64(n) - 1) & math.MaxInt32) }

func TestCheckSequences(t *testing.T) {
	t.Parallel()
	type step struct {
		why       string
		epoch     int16
		sequence  int32
		n         int
		duplicate int64 // base offset of the original, -1 for none
		err       error
	}
	for name, steps := range map[string][]step{
		"from the beginning": {
			{"first batch", 0, 0, 3, -1, nil},
			{"the next", 0, 3, 1, -1, nil},
			{"the same again", 0, 3, 1, 3, nil},
			{"the first again", 0, 0, 3, 0, nil},
			{"the first again, but shorter", 0, 0, 2, -1, ErrSequence},
			{"a gap", 0, 9, 1, -1, ErrSequence},
			{"behind the gap all goes on", 0, 4, 1, -1, nil},
		},
		"only five batches are remembered": {
			{"", 0, 0, 1, -1, nil}, {"", 0, 1, 1, -1, nil}, {"", 0, 2, 1, -1, nil},
			{"", 0, 3, 1, -1, nil}, {"", 0, 4, 1, -1, nil}, {"", 0, 5, 1, -1, nil},
			{"the fifth last", 0, 1, 1, 1, nil},
			{"the sixth last", 0, 0, 1, -1, ErrSequence},
		},
		"a producer that is not known begins anywhere": {
			{"", 3, 500, 2, -1, nil},
			{"", 3, 502, 2, -1, nil},
		},
		"epochs": {
			{"", 0, 0, 2, -1, nil},
			{"the next epoch begins at 0", 1, 2, 1, -1, ErrSequence},
			{"", 1, 0, 1, -1, nil},
			{"the old epoch is over, also for what was sent before", 0, 0, 2, -1, ErrEpoch},
			{"epochs may be left out", 5, 0, 1, -1, nil},
		},
		"behind 2^31-1 comes 0": {
			{"", 0, math.MaxInt32 - 1, 2, -1, nil},
			{"not a negative number", 0, math.MinInt32, 1, -1, ErrSequence},
			{"", 0, 0, 1, -1, nil},
		},
		"a batch across the wrap": {
			{"", 0, math.MaxInt32 - 1, 4, -1, nil},
			{"its last is 1", 0, 2, 1, -1, nil},
			{"found again", 0, math.MaxInt32 - 1, 4, 0, nil},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := NewLedger(0)
			for i, s := range steps {
				at, err := send(l, s.epoch, s.sequence, s.n, false)
				if !errors.Is(err, s.err) {
					t.Fatalf("step %d (%s): error %v, want %v", i, s.why, err, s.err)
				}
				if got := baseOf(at); got != s.duplicate {
					t.Fatalf("step %d (%s): original at %d, want %d", i, s.why, got, s.duplicate)
				}
			}
		})
	}
}

func baseOf(at *Appended) int64 {
	if at == nil {
		return -1
	}
	return at.Base
}

func TestTransactionsHoldTheLastStableOffset(t *testing.T) {
	t.Parallel()
	l := NewLedger(0)
	if _, err := send(l, 0, 0, 2, true); err != nil {
		t.Fatal(err)
	}
	other := Batch{ProducerID: 8, FirstSequence: 0, LastSequence: 0, Transactional: true}
	l.Append(other, Appended{Base: 2}, 1)
	if got := l.LastStable(3); got != 0 {
		t.Errorf("with two open transactions: %d, want the first one's start", got)
	}
	if _, err := send(l, 0, 2, 1, false); !errors.Is(err, ErrTransactionState) {
		t.Errorf("outside of the open transaction: %v", err)
	}
	end(t, l, Marker{ProducerID: pid, Commit: true})
	if got := l.LastStable(4); got != 2 {
		t.Errorf("after the first one's end: %d, want the second one's start", got)
	}
	end(t, l, Marker{ProducerID: 8})
	if got := l.LastStable(5); got != 5 {
		t.Errorf("without open transactions: %d, want the high watermark", got)
	}
	if got := l.Aborted(0, 5); len(got) != 1 || got[0].ProducerID != 8 || got[0].First != 2 || got[0].Last != 4 {
		t.Errorf("aborted: %+v", got)
	}
	if _, open := l.Open(pid); open {
		t.Error("still open")
	}
	if _, err := send(l, 0, 2, 1, false); err != nil {
		t.Errorf("the marker must not reset the sequence of its epoch: %v", err)
	}
}

// end checks and appends a marker at the ledger's end.
func end(t *testing.T, l *Ledger, m Marker) {
	t.Helper()
	needed, err := l.CheckMarker(m)
	if err != nil || !needed {
		t.Fatalf("marker %+v: needed %v, error %v", m, needed, err)
	}
	l.End(m, l.Next(), 2000)
}

func TestMarkers(t *testing.T) {
	t.Parallel()
	type step struct {
		why    string
		marker Marker
		needed bool
		err    error
	}
	begin := func(l *Ledger) {
		if _, err := send(l, 3, 0, 1, true); err != nil {
			panic(err)
		}
	}
	for name, test := range map[string]struct {
		begin func(*Ledger)
		steps []step
	}{
		"the same again is written once": {begin, []step{
			{"", Marker{pid, 3, 1, true, false}, true, nil},
			{"sent again by a coordinator that does not know", Marker{pid, 3, 1, true, false}, false, nil},
			{"by its successor", Marker{pid, 3, 2, true, false}, false, nil},
		}},
		"a bumped one is known when the next transaction is open": {func(l *Ledger) {
			begin(l)
			l.End(Marker{ProducerID: pid, Epoch: 4, CoordinatorEpoch: 1, Bumped: true}, l.Next(), 0)
			if _, err := send(l, 4, 0, 1, true); err != nil {
				panic(err)
			}
		}, []step{
			{"it comes late", Marker{pid, 4, 1, false, true}, false, nil},
			{"the next one's", Marker{pid, 5, 1, true, true}, true, nil},
		}},
		"a later epoch fences": {begin, []step{
			{"", Marker{pid, 4, 1, false, false}, true, nil},
			{"what comes late", Marker{pid, 3, 1, true, false}, false, ErrEpoch},
		}},
		"a former coordinator": {begin, []step{
			{"", Marker{pid, 3, 5, false, false}, true, nil},
			{"", Marker{pid, 3, 4, false, false}, false, ErrCoordinatorEpoch},
		}},
		"a partition without records of the transaction": {func(*Ledger) {}, []step{
			{"", Marker{pid, 3, 1, false, false}, true, nil},
			{"", Marker{pid, 3, 1, false, false}, false, nil},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := NewLedger(0)
			test.begin(l)
			for i, s := range test.steps {
				needed, err := l.CheckMarker(s.marker)
				if !errors.Is(err, s.err) || needed != s.needed {
					t.Fatalf("step %d (%s): needed %v, error %v", i, s.why, needed, err)
				}
				if needed {
					l.End(s.marker, l.Next(), 0)
				}
			}
		})
	}
}

func TestALaterEpochOfAMarkerFencesTheProducer(t *testing.T) {
	t.Parallel()
	l := NewLedger(0)
	if _, err := send(l, 3, 0, 2, true); err != nil {
		t.Fatal(err)
	}
	end(t, l, Marker{ProducerID: pid, Epoch: 4})
	if _, err := send(l, 3, 2, 1, true); !errors.Is(err, ErrEpoch) {
		t.Errorf("the old epoch: %v", err)
	}
	if _, err := send(l, 4, 2, 1, true); !errors.Is(err, ErrSequence) {
		t.Errorf("the new epoch does not begin at 0: %v", err)
	}
	if _, err := send(l, 4, 0, 1, true); err != nil {
		t.Errorf("the new epoch: %v", err)
	}
}

func TestExpire(t *testing.T) {
	t.Parallel()
	l := NewLedger(0)
	if _, err := send(l, 0, 0, 1, false); err != nil {
		t.Fatal(err)
	}
	l.Append(Batch{ProducerID: 8, Transactional: true}, Appended{Base: 1, Timestamp: 1000}, 1)
	now := time.UnixMilli(1000).Add(time.Hour)
	l.Expire(now, time.Hour+time.Millisecond)
	if l.Len() != 2 {
		t.Fatal("expired too early")
	}
	l.Expire(now, time.Hour)
	if got := l.Producers(); len(got) != 1 || got[0].ID != 8 || got[0].FirstOffset != 1 {
		t.Errorf("left: %+v, want the one with an open transaction", got)
	}
	if _, err := send(l, 0, 77, 1, false); err != nil {
		t.Errorf("a producer that was forgotten goes on: %v", err)
	}
}
