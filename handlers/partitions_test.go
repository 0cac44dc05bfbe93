package handlers

import (
	"sync/atomic"
	"testing"
)

func TestInParallelCallsEachOnce(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, rowsAtOnce, 1000} {
		calls := make([]atomic.Int64, n)
		inParallel(n, func(i int) { calls[i].Add(1) })
		for i := range calls {
			if c := calls[i].Load(); c != 1 {
				t.Errorf("%d of %d: %d calls", i, n, c)
			}
		}
	}
}

// A panic must reach the connection's goroutine, where it is caught; elsewhere
// it would end the process.
func TestInParallelHandsPanicsOn(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 5, 100} {
		var got any
		func() {
			defer func() { got = recover() }()
			inParallel(n, func(i int) {
				if i == n-1 {
					panic("boom")
				}
			})
		}()
		if got != "boom" {
			t.Errorf("n = %d: recovered %v", n, got)
		}
	}
}

func TestLeaderEpochs(t *testing.T) {
	t.Parallel()
	for epoch, want := range map[int32]int16{-1: 0, 0: 0, 1: 75, 1 << 30: 75, -2: 74, -1 << 31: 74} {
		if got := checkLeaderEpoch(epoch); got != want {
			t.Errorf("%d: %d, want %d", epoch, got, want)
		}
	}
}
