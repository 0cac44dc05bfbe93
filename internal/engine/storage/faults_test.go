package storage

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestAnyFaults lets writes stop after any number of bytes, syncs, cuts and opens
// fail, and the log be opened anew, in random order. What was acknowledged must be
// there, what failed must not be, and offsets follow one another.
func TestAnyFaults(t *testing.T) {
	t.Parallel()
	schedules := 12
	if testing.Short() {
		schedules = 3
	}
	for seed := range schedules {
		for _, policy := range []SyncPolicy{SyncNever, SyncInterval, SyncAlways} {
			t.Run(fmt.Sprintf("policy %d schedule %d", policy, seed), func(t *testing.T) {
				t.Parallel()
				runFaults(t, rand.New(rand.NewPCG(uint64(seed), 7)), policy)
			})
		}
	}
}

func runFaults(t *testing.T, rng *rand.Rand, policy SyncPolicy) {
	f, dir := &faults{room: -1}, t.TempDir()
	opts := Options{OpenFile: f.open, Sync: policy, SegmentBytes: 1 << 10, MaxOpenFiles: 2}
	l := openLog(t, testStore(t, dir, opts))
	var want []string
	failures := 0
	for step := range 120 {
		f.set(rng)
		payloads := make([]string, 1+rng.IntN(3))
		for i := range payloads {
			payloads[i] = fmt.Sprintf("%d.%d%s", step, i, strings.Repeat("p", rng.IntN(200)))
		}
		b, n := batch(payloads...)
		base, err := l.Append(b, n)
		if err != nil {
			failures++
		} else {
			if base != uint64(len(want)) {
				t.Fatalf("step %d: appended at %d, want %d", step, base, len(want))
			}
			want = append(want, payloads...)
		}
		f.clear()
		switch rng.IntN(12) {
		case 0:
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			l = openLog(t, testStore(t, dir, opts))
			compareLog(t, l, want, fmt.Sprintf("step %d, opened anew", step))
		case 1:
			compareLog(t, l, want, fmt.Sprintf("step %d", step))
		}
	}
	compareLog(t, l, want, "at the end")
	if failures == 0 || len(want) == 0 {
		t.Errorf("%d appends failed, %d messages were written", failures, len(want))
	}
}

// set lets something fail, most of the time.
func (f *faults) set(rng *rand.Rand) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch rng.IntN(6) {
	case 0, 1:
		f.room = int64(rng.IntN(300))
		f.failTrunc = rng.IntN(2)
	case 2:
		f.failSync = 1 + rng.IntN(2)
		f.failTrunc = rng.IntN(2)
	case 3:
		f.failOpen = 1
	}
}

func (f *faults) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.room, f.failSync, f.failTrunc, f.failOpen = -1, 0, 0, 0
}

func compareLog(t *testing.T, l *Log, want []string, when string) {
	t.Helper()
	if _, end := l.Bounds(); end != uint64(len(want)) {
		t.Fatalf("%s: the log ends at %d, want %d", when, end, len(want))
	}
	if got := mustRead(t, l, 0, uint32(len(want))+1); got != strings.Join(want, " ") {
		t.Fatalf("%s: got %.300q\nwant %.300q", when, got, strings.Join(want, " "))
	}
}
