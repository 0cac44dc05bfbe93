package coordinator

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/statemachine"
)

var errAway = errors.New("away")

func rec(key, value string) records.Record {
	return records.Record{Key: []byte(key), Value: []byte(value)}
}

func TestNothingIsAnsweredFromALogThatIsNotLoaded(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(f *fixture) {
		f.log.records = []records.Record{rec("a/x", "1"), rec("bad", ""), rec("a/x", "2")}
		gate := make(chan error)
		f.log.onLoad = func(int) error { return <-gate }
		f.fails("get a/x", ErrLoading) // before Start
		f.start()
		f.fails("get a/x", ErrLoading)
		gate <- nil
		synctest.Wait()
		f.want("get a/x", "2") // the record that cannot be read is left out
	})
}

func TestLoadingIsTriedAgainAtGrowingIntervals(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(f *fixture) {
		const failures = 12
		var times []time.Time
		f.log.onLoad = func(n int) error {
			times = append(times, time.Now())
			if n <= failures {
				return errAway
			}
			return nil
		}
		f.start()
		f.fails("get a/x", ErrUnavailable)
		time.Sleep(time.Minute)
		f.want("get a/x", "")
		if len(times) != failures+1 || f.told.failedLoads != failures {
			t.Fatalf("%d loads, %d counted as failed", len(times), f.told.failedLoads)
		}
		for i := 2; i < len(times); i++ {
			if gap := times[i].Sub(times[i-1]); gap > 5*time.Second || gap < times[i-1].Sub(times[i-2]) {
				t.Errorf("%v between loads %d and %d", gap, i, i+1)
			}
		}
	})
}

func TestFewAreLoadedAtTheSameTime(t *testing.T) {
	t.Parallel()
	const partitions, atOnce = 20, 3
	var now, most atomic.Int64
	gate := make(chan struct{})
	change := func(o *Options) {
		o.Tuning.LoadsAtOnce = atOnce
		o.Find = func(context.Context) (int32, error) { return partitions, nil }
		o.Log = func(int32) Log {
			l := &fakeLog{}
			l.onLoad = func(int) error {
				most.Store(max(most.Load(), now.Add(1)))
				defer now.Add(-1)
				time.Sleep(time.Second)
				return nil
			}
			return l
		}
	}
	close(gate)
	inBubble(t, change, func(f *fixture) {
		f.start()
		if _, err := f.c.CallAll(context.Background(), statemachine.Call{}); !errors.Is(err, ErrLoading) {
			t.Errorf("all while loading: %v", err)
		}
		time.Sleep(time.Minute)
		if most.Load() != atOnce {
			t.Errorf("%d at the same time", most.Load())
		}
		body := generated.DefaultFindCoordinatorRequest()
		body.Key = "get a/x"
		answers, err := f.c.CallAll(context.Background(), statemachine.Call{Body: &body})
		if err != nil || len(answers) != partitions {
			t.Errorf("all: %d answers, %v", len(answers), err)
		}
	})
}

func TestATopicThatIsNotThereIsMadeWhenItIsNeeded(t *testing.T) {
	t.Parallel()
	var opened, asked atomic.Int64
	change := func(o *Options) {
		o.Find = func(context.Context) (int32, error) {
			if asked.Add(1) < 3 {
				return 0, errAway
			}
			return 0, nil
		}
		o.Open = func(context.Context) (int32, error) {
			if opened.Add(1) == 1 {
				return 0, errAway
			}
			time.Sleep(time.Second)
			return 1, nil
		}
	}
	inBubble(t, change, func(f *fixture) {
		f.c.Start()
		f.fails("get a/x", ErrLoading) // whether there is one is not known yet
		time.Sleep(time.Minute)
		f.fails("get a/x", ErrNotOpen)
		if answers, err := f.c.CallAll(context.Background(), statemachine.Call{}); err != nil || len(answers) != 0 {
			t.Errorf("all of none: %v, %v", answers, err)
		}
		if err := f.c.Open(context.Background()); !errors.Is(err, errAway) {
			t.Errorf("open while Iggy is away: %v", err)
		}
		first := make(chan error)
		for range 3 {
			go func() { first <- f.c.Open(context.Background()) }()
		}
		synctest.Wait()
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		if err := f.c.Open(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("open with a context that is over: %v", err)
		}
		for range 3 {
			if err := <-first; err != nil {
				t.Errorf("open: %v", err)
			}
		}
		synctest.Wait()
		f.want("get a/x", "")
		if opened.Load() != 2 {
			t.Errorf("opened %d times", opened.Load())
		}
		if err := f.c.Open(context.Background()); err != nil {
			t.Errorf("open again: %v", err)
		}
	})
}

func TestPanicsAreContained(t *testing.T) {
	t.Parallel()
	t.Run("at a request", func(t *testing.T) {
		t.Parallel()
		inBubble(t, nil, func(f *fixture) {
			f.start()
			f.want("set a/x 1", "ok")
			parked := f.begin("park b")
			f.fails("panic", ErrPanicked)
			if o := f.ended("parked", parked); !errors.Is(o.err, ErrNotWritten) {
				t.Errorf("parked: %+v", o)
			}
			synctest.Wait()
			f.want("get a/x", "1")
		})
	})
	t.Run("while something is being written: it is loaded afterwards", func(t *testing.T) {
		t.Parallel()
		inBubble(t, nil, func(f *fixture) {
			f.start()
			gate := f.gate()
			write := f.begin("set a/x 1")
			f.fails("panic", ErrPanicked)
			if o := f.ended("the write", write); !errors.Is(o.err, ErrNotWritten) {
				t.Errorf("write: %+v", o)
			}
			f.fails("get a/x", ErrLoading)
			gate <- nil
			synctest.Wait()
			f.want("get a/x", "1")
		})
	})
	t.Run("at its time", func(t *testing.T) {
		t.Parallel()
		inBubble(t, nil, func(f *fixture) {
			f.start()
			f.fails("later 1000 a/x panic", ErrNotWritten)
			synctest.Wait()
			f.want("get a/x", "")
		})
	})
	t.Run("while loading", func(t *testing.T) {
		t.Parallel()
		inBubble(t, nil, func(f *fixture) {
			f.log.records = []records.Record{rec("boom", "")}
			f.start()
			f.fails("get a/x", ErrUnavailable)
			f.log.do(func() { f.log.records = nil })
			time.Sleep(time.Minute)
			f.want("get a/x", "")
		})
	})
	t.Run("when loaded", func(t *testing.T) {
		t.Parallel()
		inBubble(t, nil, func(f *fixture) {
			f.log.records = []records.Record{rec("loaded/panic", "1")}
			f.start()
			f.fails("get a/x", ErrLoading)
			f.log.do(func() { f.log.records = nil })
			time.Sleep(time.Minute)
			f.want("get a/x", "")
		})
	})
}
