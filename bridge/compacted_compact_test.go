package bridge

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"kafka-iggy-bridge/internal/records"

	"github.com/google/go-cmp/cmp"
)

// fillLog appends many versions of some keys and tombstones, and returns what they
// come to.
func fillLog(t testing.TB, l *CompactedLog, keys int) contents {
	t.Helper()
	c := make(contents)
	for round := range 3 {
		var recs []records.Record
		for i := range keys {
			r := keyed(fmt.Sprintf("k%04d", i), fmt.Sprintf("v%d", round))
			if round == 1 && i%3 == 0 || round == 2 && i%5 == 0 {
				r = tombstone(string(r.Key))
			}
			c.apply(&r)
			recs = append(recs, r)
		}
		appendLog(t, l, recs...)
	}
	return c
}

func TestCompactLeavesOneShorterGeneration(t *testing.T) {
	t.Parallel()
	f, clock := newFakeIggy(), newTestClock()
	config := quietConfig(f)
	config.Now = clock.Now
	b := startBridge(t, config)
	l := openLog(t, b, 3)
	c := fillLog(t, l, 40)
	if n := l.Len(); n != 120 {
		t.Fatalf("%d records before, want 120", n)
	}
	compactLog(t, l, c)
	if n := l.Len(); n != int64(len(c)) {
		t.Errorf("%d records after, want %d", n, len(c))
	}
	appendLog(t, l, keyed("new", "1"))
	c["new"] = "1"
	wantContents(t, l, c)

	old, now := "__consumer_offsets.3.0", "__consumer_offsets.3.120"
	clock.pass(generationGrace - time.Second)
	b.internals.sweep(testContext(t))
	if diff := cmp.Diff([]string{old, now}, chainOf(f, 3)); diff != "" {
		t.Errorf("before its time (-want +got):\n%s", diff)
	}
	clock.pass(time.Second)
	b.internals.sweep(testContext(t))
	if diff := cmp.Diff([]string{now}, chainOf(f, 3)); diff != "" {
		t.Errorf("after a while (-want +got):\n%s", diff)
	}
	wantContents(t, l, c)

	// Compacting nothing, and again what has no records.
	compactLog(t, l, c)
	compactLog(t, l, contents{})
	wantContents(t, l, contents{})
	clock.pass(time.Hour)
	b.internals.sweep(testContext(t))
	if names := chainOf(f, 3); len(names) != 1 {
		t.Errorf("generations %v, want one", names)
	}
	appendLog(t, l, keyed("again", "1"))
	wantContents(t, openLog(t, startBridge(t, f.config()), 3), contents{"again": "1"})
}

func TestCompactOfALogThatWasNeverWritten(t *testing.T) {
	t.Parallel()
	b := startBridge(t, newFakeIggy().config())
	l := openLog(t, b, 0)
	compactLog(t, l, contents{"a": "1"})
	wantContents(t, l, contents{"a": "1"})
}

func TestCompactWritesLargeSnapshotsInPieces(t *testing.T) {
	t.Parallel()
	f := newFakeIggy()
	b := startBridge(t, f.config())
	l := openLog(t, b, 0)
	appendLog(t, l, keyed("a", "1"))
	want := make(contents)
	for i := range 2*snapshotRecords + 1 {
		want[fmt.Sprintf("k%06d", i)] = "v"
	}
	pieces := 0
	f.hooks(func(c fakeCall) error {
		if c.op == "append" && len(c.messages) > 1 {
			pieces++
		}
		return nil
	}, nil)
	compactLog(t, l, want)
	f.hooks(nil, nil)
	if pieces != 2 { // and the last record alone
		t.Errorf("%d pieces of several records, want 2", pieces)
	}
	wantContents(t, l, want)
}

// crashes are the ways in which a bridge stops in the middle of a call.
var crashes = []struct {
	name  string
	hooks func(f *fakeIggy, step int)
}{
	{"before the call", func(f *fakeIggy, step int) {
		calls := 0
		f.hooks(func(c fakeCall) error {
			if onGenerations(c) {
				calls++
			}
			if calls >= step {
				return errFakeDown
			}
			return nil
		}, nil)
	}},
	{"after the call, before its answer", func(f *fakeIggy, step int) {
		calls := 0
		f.hooks(func(fakeCall) error {
			if calls >= step {
				return errFakeDown
			}
			return nil
		}, func(c fakeCall) error {
			if onGenerations(c) {
				calls++
			}
			if calls >= step {
				return lostReply()
			}
			return nil
		})
	}},
}

func TestCompactIsSafeAgainstACrashAtEveryStep(t *testing.T) {
	t.Parallel()
	for _, crash := range crashes {
		t.Run(crash.name, func(t *testing.T) {
			t.Parallel()
			for step := 1; ; step++ {
				if step > 100 {
					t.Fatal("it does not end")
				}
				if done := crashAt(t, step, crash.hooks); done {
					if step < 8 {
						t.Errorf("a compaction of %d steps", step-1)
					}
					return
				}
			}
		})
	}
}

// crashAt stops a compaction at a step, and reports whether it had ended before.
func crashAt(t *testing.T, step int, hooks func(*fakeIggy, int)) (done bool) {
	t.Helper()
	f := newFakeIggy()
	config := quietConfig(f)
	config.OperationTimeout = 120 * time.Millisecond
	first := startBridge(t, config)
	l := openLog(t, first, 0)
	want := fillLog(t, l, 20)
	hooks(f, step)
	err := l.Compact(testContext(t), want.snapshot())
	f.hooks(nil, nil)

	second := openLog(t, startBridge(t, quietConfig(f)), 0)
	wantContents(t, second, want)
	appendLog(t, second, keyed("behind", "it"))
	want["behind"] = "it"
	compactLog(t, second, want)
	wantContents(t, second, want)
	// The first bridge, should it still live, must notice.
	if stale := l.Append(testContext(t), []records.Record{keyed("stale", "1")}); !errors.Is(stale, ErrLogChanged) {
		t.Fatalf("step %d: the first bridge appends: %v", step, stale)
	}
	delete(want, "stale")
	wantContents(t, l, want)
	appendLog(t, l, keyed("first", "again"))
	want["first"] = "again"
	wantContents(t, second, want)
	return err == nil
}

func TestCompactGoesOnAfterAFaultAtEveryStep(t *testing.T) {
	t.Parallel()
	for _, fault := range []struct {
		name string
		err  error
		late bool
	}{
		{"Iggy is away for a moment", errFakeDown, false},
		{"a request is lost", lostReply(), false},
		{"an answer is lost", lostReply(), true},
		{"Iggy fails", ErrStorage, false},
	} {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			f := newFakeIggy()
			l := openLog(t, startBridge(t, quietConfig(f)), 0)
			want := fillLog(t, l, 20)
			for step := 1; step <= 25; step++ {
				calls := 0
				hook := func(c fakeCall) error {
					if !onGenerations(c) {
						return nil
					}
					if calls++; calls == step {
						return fault.err
					}
					return nil
				}
				if fault.late {
					f.hooks(nil, hook)
				} else {
					f.hooks(hook, nil)
				}
				err := l.Compact(testContext(t), want.snapshot())
				f.hooks(nil, nil)
				if errors.Is(err, ErrLogChanged) {
					wantContents(t, l, want)
				}
				key := fmt.Sprintf("behind step %d", step)
				appendLog(t, l, keyed(key, "1"))
				want[key] = "1"
				wantContents(t, l, want)
			}
			compactLog(t, l, want)
			wantContents(t, openLog(t, startBridge(t, f.config()), 0), want)
		})
	}
}

func TestLoadFallsBackWhenIggyLostTheMarker(t *testing.T) {
	t.Parallel()
	// As long as the marker is lost, so is all behind it, and the old generation is
	// the whole truth.
	for lost := 1; lost <= 23; lost++ {
		f, clock := newFakeIggy(), newTestClock()
		config := quietConfig(f)
		config.Now = clock.Now
		b := startBridge(t, config)
		l := openLog(t, b, 0)
		want := make(contents)
		for i := range 20 {
			r := keyed(fmt.Sprint("k", i), "v")
			want.apply(&r)
			appendLog(t, l, r)
		}
		compactLog(t, l, want)
		appendLog(t, l, keyed("k0", "newer"))
		next := generationAt("__consumer_offsets.0.20")
		left := f.length(next) - lost
		f.cut(next, left)
		// Without the late append, with or without the marker, down to nothing.
		wantContents(t, l, want)
		if names := chainOf(f, 0); len(names) != 2 {
			t.Fatalf("lost %d: generations %v", lost, names)
		}
		appendLog(t, l, keyed("k1", "later"))
		want["k1"] = "later"
		wantContents(t, openLog(t, startBridge(t, quietConfig(f)), 0), want)

		// What does not hold goes in the end, and only that.
		clock.pass(2 * generationGrace)
		b.internals.sweep(testContext(t))
		if names := chainOf(f, 0); len(names) != 1 {
			t.Fatalf("lost %d: generations %v after a while", lost, names)
		}
		wantContents(t, l, want)
		compactLog(t, l, want)
		wantContents(t, l, want)
	}
}

func TestSweepSparesAGenerationThatHoldsAgain(t *testing.T) {
	t.Parallel()
	f, clock := newFakeIggy(), newTestClock()
	config := quietConfig(f)
	config.Now = clock.Now
	b := startBridge(t, config)
	l := openLog(t, b, 0)
	want := fillLog(t, l, 5)
	compactLog(t, l, want)
	// Iggy loses the marker, and another bridge goes back to the old generation.
	f.cut(generationAt("__consumer_offsets.0.15"), 3)
	other := openLog(t, startBridge(t, quietConfig(f)), 0)
	appendLog(t, other, keyed("other", "1"))
	want["other"] = "1"
	clock.pass(time.Hour)
	b.internals.sweep(testContext(t))
	wantContents(t, other, want)
	wantContents(t, l, want)
}

func TestOldGenerationsOfABridgeThatStoppedAreDeleted(t *testing.T) {
	t.Parallel()
	f, clock := newFakeIggy(), newTestClock()
	config := quietConfig(f)
	config.Now = clock.Now
	l := openLog(t, startBridge(t, config), 0)
	want := fillLog(t, l, 5)
	compactLog(t, l, want)
	compactLog(t, l, want)
	next := startBridge(t, config)
	wantContents(t, openLog(t, next, 0), want)
	clock.pass(generationGrace)
	next.internals.sweep(testContext(t))
	if names := chainOf(f, 0); len(names) != 1 {
		t.Errorf("generations %v, want one", names)
	}
	wantContents(t, openLog(t, next, 0), want)
}
