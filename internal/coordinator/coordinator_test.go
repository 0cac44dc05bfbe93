package coordinator

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestPartitionsAreKafkas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why, key string
		hash     int32
		of50     int
	}{
		{"empty", "", 0, 0},
		{"one letter", "a", 97, 47},
		{"several", "hello", 99162322, 22},
		{"negative", "my-consumer-group-2", javaHash("my-consumer-group-2"), partitionFor("my-consumer-group-2", 50)},
		{"the number without an absolute value", "polygenelubricants", -2147483648, 0},
		{"beyond the basic plane: two code units", "😀", 1772899, 49},
		{"bytes that are no text: the replacement character", "\xff", 0xfffd, 33},
	} {
		if got := javaHash(c.key); got != c.hash {
			t.Errorf("%s: hash %d, want %d", c.why, got, c.hash)
		}
		if got := partitionFor(c.key, 50); got != c.of50 || got < 0 || got >= 50 {
			t.Errorf("%s: partition %d, want %d", c.why, got, c.of50)
		}
	}
}

func TestTheTimeReachesTheMachine(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(f *fixture) {
		f.start()
		began := time.Now()
		late := f.begin("later 60000 a/x late")
		early := f.begin("later 1000 a/x early")
		f.want("get a/x", "")
		if o := <-early; o.said != "ok" || time.Since(began) != time.Second {
			t.Errorf("early: %+v after %v", o, time.Since(began))
		}
		middle := f.begin("later 5000 a/x middle")
		if o := <-middle; o.said != "ok" || time.Since(began) != 6*time.Second {
			t.Errorf("middle: %+v after %v", o, time.Since(began))
		}
		f.want("get a/x", "middle")
		if o := <-late; o.said != "ok" || time.Since(began) != time.Minute {
			t.Errorf("late: %+v after %v", o, time.Since(began))
		}
		f.want("get a/x", "late")
	})
}

func TestWhoDoesNotWaitAnyLongerHasHadTheEffect(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	inBubble(t, nil, func(f *fixture) {
		f.start()
		gate := f.gate()
		ended, end := context.WithCancelCause(context.Background())
		end(gone)
		for _, text := range []string{"set a/x 1", "park a", "later 1000 a/y 1"} {
			if o := f.callWith(ended, text); !errors.Is(o.err, gone) {
				t.Errorf("%s: %+v", text, o)
			}
		}
		if o := f.callWith(ended, "get b/x"); o.err != nil {
			t.Errorf("an answer that is there is given: %v", o.err)
		}
		waiting, stop := context.WithCancelCause(context.Background())
		parked := make(chan outcome, 1)
		go func() { parked <- f.callWith(waiting, "park a") }()
		synctest.Wait()
		stop(gone)
		if o := <-parked; !errors.Is(o.err, gone) {
			t.Errorf("parked: %+v", o)
		}
		gate <- nil
		f.want("get a/x", "1")
		f.want("wake a", "awake")
		gate <- nil // of what came later
		f.want("get a/y", "1")
	})
}

func TestClose(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(f *fixture) {
		f.start()
		gate := f.gate()
		parked := f.begin("park b")
		later := f.begin("later 60000 b/y 1")
		first, second := f.begin("set a/x 1"), f.begin("set a/x 2")
		closed := make(chan error, 1)
		go func() { closed <- f.c.Close(context.Background()) }()
		for what, call := range map[string]<-chan outcome{"parked": parked, "later": later} {
			if o := f.ended(what, call); !errors.Is(o.err, ErrClosed) {
				t.Errorf("%s: %+v", what, o)
			}
		}
		f.fails("get a/x", ErrClosed)
		f.pending("what is being written", first)
		gate <- nil
		synctest.Wait()
		gate <- nil
		for what, call := range map[string]<-chan outcome{"in flight": first, "queued": second} {
			if o := f.ended(what, call); o.said != "ok" {
				t.Errorf("%s: %+v", what, o)
			}
		}
		if err := <-closed; err != nil {
			t.Error(err)
		}
		if got := f.log.content()["a/x"]; got != "2" {
			t.Errorf("the log says %q", got)
		}
	})
}

func TestCloseCutsWhatTakesTooLong(t *testing.T) {
	t.Parallel()
	inBubble(t, func(o *Options) { o.Tuning.AppendTimeout = time.Hour }, func(f *fixture) {
		f.start()
		f.gate() // never opened
		write := f.begin("set a/x 1")
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := f.c.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("close: %v", err)
		}
		if o := f.ended("the write", write); !errors.Is(o.err, ErrNotWritten) {
			t.Errorf("write: %+v", o)
		}
		if f.log.loads != 1 {
			t.Errorf("%d loads", f.log.loads)
		}
	})
}

func TestCloseAtOtherTimes(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*fixture){
		"before the start":       func(*fixture) {},
		"while it is looked for": func(f *fixture) { f.c.Start() },
		"between two attempts to load": func(f *fixture) {
			f.log.onLoad = func(int) error { return errAway }
			f.start()
			time.Sleep(10 * time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, nil, func(f *fixture) {
				prepare(f)
				if err := f.c.Close(context.Background()); err != nil {
					t.Error(err)
				}
				f.fails("get a/x", ErrClosed)
				f.c.Start() // too late
				if err := f.c.Open(context.Background()); err != nil && !errors.Is(err, ErrClosed) {
					t.Errorf("open: %v", err)
				}
			})
		})
	}
}

// Many callers, a log that fails now and then, compactions: whatever was
// acknowledged is in the log, and the last acknowledged value is what is read.
func TestWhatIsAcknowledgedIsInTheLog(t *testing.T) {
	t.Parallel()
	const scopes, rounds = 16, 300
	f := newFixture(t, func(o *Options) {
		o.Tuning = Tuning{CompactRatio: 2, CompactSlack: 50, MaxAppendRecords: 8, MinBackoff: time.Microsecond, MaxBackoff: time.Millisecond}
	})
	var failing atomic.Int64
	f.log.onAppend = func(context.Context, int) (bool, error) {
		switch failing.Add(1) % 23 {
		case 0:
			return false, errAway
		case 11:
			return true, errAway
		}
		return true, nil
	}
	f.c.Start()
	var all sync.WaitGroup
	for scope := range scopes {
		all.Go(func() { f.churn(scope, rounds) })
	}
	all.Wait()
	if err := f.c.Close(context.Background()); err != nil {
		t.Error(err)
	}
	f.told.mu.Lock()
	defer f.told.mu.Unlock()
	if f.told.failedAppends == 0 || f.told.compactions == 0 {
		t.Errorf("%d failed appends and %d compactions: not what was to be tried", f.told.failedAppends, f.told.compactions)
	}
}

// churn sets a value again and again and reads it back.
func (f *fixture) churn(scope, rounds int) {
	key := fmt.Sprintf("s%d/x", scope)
	possible := map[string]bool{"": true} // what may be there
	for i := range rounds {
		value := fmt.Sprint(i)
		if o := f.settled("set " + key + " " + value); o.err == nil {
			possible = map[string]bool{value: true}
		} else {
			possible[value] = true
		}
		if rand.IntN(3) > 0 {
			continue
		}
		if o := f.settled("get " + key); o.err == nil {
			if !possible[o.said] {
				f.t.Errorf("%s is %q, want one of %v", key, o.said, possible)
			}
			possible = map[string]bool{o.said: true}
		}
	}
}

// settled makes a call as soon as the machine is loaded.
func (f *fixture) settled(text string) outcome {
	for {
		o := f.call(text)
		if errors.Is(o.err, ErrNotWritten) || o.err == nil {
			return o
		}
		runtime.Gosched()
	}
}
