package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"kafka-iggy-bridge/internal/records"
)

func TestAnswersWaitForTheRecordsOfTheirScopeOnly(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(f *fixture) {
		f.start()
		gate := f.gate()
		write := f.begin("set a/x 1")
		read := f.begin("get a/x")
		f.want("get b/x", "")
		f.pending("the write", write)
		f.pending("a read of the same scope", read)
		gate <- nil
		if o := f.ended("the write", write); o.said != "ok" {
			t.Errorf("write: %+v", o)
		}
		if o := f.ended("the read", read); o.said != "1" {
			t.Errorf("read: %+v", o)
		}
	})
}

func TestAReadWaitsForTheLastOfSeveralAppends(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(f *fixture) {
		f.start()
		gate := f.gate()
		first := f.begin("set a/x 1")
		second := f.begin("set a/x 2")
		read := f.begin("get a/x")
		gate <- nil
		f.ended("the first write", first)
		f.pending("the second write", second)
		f.pending("the read", read)
		gate <- nil
		f.ended("the second write", second)
		if o := f.ended("the read", read); o.said != "2" {
			t.Errorf("read: %+v", o)
		}
	})
}

func TestWhatComesDuringAnAppendGoesIntoTheNextOne(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(f *fixture) {
		f.start()
		gate := f.gate()
		calls := []<-chan outcome{f.begin("set a/x 1")}
		for i := range 100 {
			calls = append(calls, f.begin(fmt.Sprintf("set s%d/x %d", i%7, i)))
		}
		gate <- nil
		synctest.Wait()
		gate <- nil
		for i, call := range calls {
			if o := f.ended(fmt.Sprint("call ", i), call); o.err != nil {
				t.Errorf("call %d: %v", i, o.err)
			}
		}
		if !slices.Equal(f.log.appends, []int{1, 100}) {
			t.Errorf("appends of %v records", f.log.appends)
		}
		if f.told.appends != 2 || f.told.records != 101 {
			t.Errorf("counted %d appends of %d records", f.told.appends, f.told.records)
		}
	})
}

func TestAnActionIsNeverSplit(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]func(*Options){
		"by the number of records": func(o *Options) { o.Tuning.MaxAppendRecords = 5 },
		"by the bytes":             func(o *Options) { o.Tuning.MaxAppendBytes = 5 * (32 + 4) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, limit, func(f *fixture) {
				f.start()
				gate := f.gate()
				for _, text := range []string{"set a/x 1", "set a/x 1 2 3", "set b/x 1 2 3", "set c/x 1 2", "set d/x 1 2 3 4 5 6 7 8", "set e/x 1"} {
					f.begin(text)
				}
				for range 5 {
					gate <- nil
					synctest.Wait()
				}
				if !slices.Equal(f.log.appends, []int{1, 3, 5, 8, 1}) {
					t.Errorf("appends of %v records", f.log.appends)
				}
			})
		})
	}
}

func TestAFailedAppendFailsWhoWaitsAndLoadsAnew(t *testing.T) {
	t.Parallel()
	cause := errors.New("disk full")
	for name, written := range map[string]bool{"not written": false, "written all the same": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, nil, func(f *fixture) {
				f.start()
				f.want("set a/x 1", "ok")
				gate := make(chan struct{})
				f.log.do(func() {
					f.log.onAppend = func(context.Context, int) (bool, error) { <-gate; return written, cause }
				})
				parked := f.begin("park b")
				inFlight := f.begin("set a/x 2")
				sameScope := f.begin("get a/x")
				queued := f.begin("set c/x 1")
				f.log.do(func() { f.log.onLoad = func(int) error { <-gate; return nil } })
				gate <- struct{}{}
				for what, call := range map[string]<-chan outcome{"parked": parked, "in flight": inFlight, "same scope": sameScope, "queued": queued} {
					if o := f.ended(what, call); !errors.Is(o.err, ErrNotWritten) {
						t.Errorf("%s: %+v", what, o)
					}
				}
				f.fails("get a/x", ErrLoading)
				gate <- struct{}{}
				synctest.Wait()
				f.log.do(func() { f.log.onAppend, f.log.onLoad = nil, nil })
				f.want("get a/x", map[bool]string{true: "2", false: "1"}[written])
				f.want("get c/x", "")
				f.want("set c/x 3", "ok")
			})
		})
	}
}

func TestOnlyWhoWasAloneIsToldTheCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("too large")
	inBubble(t, nil, func(f *fixture) {
		f.start()
		gate := f.gate()
		alone := f.begin("set a/x 1")
		gate <- cause
		if o := f.ended("alone", alone); !errors.Is(o.err, cause) || !errors.Is(o.err, ErrNotWritten) {
			t.Errorf("alone: %v", o.err)
		}
		synctest.Wait()
		first := f.begin("set a/x 1")
		second, third := f.begin("set b/x 1"), f.begin("set c/x 1")
		gate <- nil
		f.ended("the first", first)
		gate <- cause
		for what, call := range map[string]<-chan outcome{"second": second, "third": third} {
			if o := f.ended(what, call); errors.Is(o.err, cause) || !errors.Is(o.err, ErrNotWritten) {
				t.Errorf("%s: %v", what, o.err)
			}
		}
	})
}

func TestAnAppendThatTakesTooLongIsCut(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(f *fixture) {
		f.start()
		f.gate() // never opened
		began := time.Now()
		f.fails("set a/x 1", ErrNotWritten)
		if took := time.Since(began); took != 15*time.Second {
			t.Errorf("after %v", took)
		}
	})
}

func TestRecordsInTheLogAreToldOf(t *testing.T) {
	t.Parallel()
	var told []string
	note := func(rs []records.Record) {
		for _, r := range rs {
			told = append(told, string(r.Key)+"="+string(r.Value))
		}
	}
	inBubble(t, func(o *Options) { o.Written = note }, func(f *fixture) {
		f.start()
		f.want("set a/x 1 2", "ok")
		gate := f.gate()
		failing := f.begin("set a/x 3")
		gate <- errors.New("no")
		f.ended("the failing one", failing)
	})
	if want := []string{"a/x=1", "a/x=2"}; !slices.Equal(told, want) {
		t.Errorf("told of %v, want %v", told, want)
	}
}

func compacting(o *Options) { o.Tuning.CompactRatio, o.Tuning.CompactSlack = 2, 3 }

func TestALogThatIsMuchLongerThanNeededIsCompacted(t *testing.T) {
	t.Parallel()
	inBubble(t, compacting, func(f *fixture) {
		f.start()
		for i := range 20 {
			f.want(fmt.Sprintf("set a/x %d", i), "ok")
		}
		synctest.Wait()
		if f.log.compacts < 2 || len(f.log.records) > 6 {
			t.Errorf("%d compactions, %d records", f.log.compacts, len(f.log.records))
		}
		if got := f.log.content()["a/x"]; got != "19" {
			t.Errorf("the log says %q", got)
		}
		if f.told.compactions != f.log.compacts || f.told.failedCompactions != 0 {
			t.Errorf("counted %d compactions", f.told.compactions)
		}
	})
}

// What is queued when the snapshot is taken is in it: the compaction writes it.
func TestACompactionWritesWhatIsQueued(t *testing.T) {
	t.Parallel()
	inBubble(t, compacting, func(f *fixture) {
		f.start()
		compaction := make(chan error)
		f.log.do(func() { f.log.onCompact = func() error { return <-compaction } })
		gate := f.gate()
		first := f.begin("set a/x 1 2 3 4 5 6 7 8")
		queued := f.begin("set b/x 1")
		read := f.begin("get b/x")
		gate <- nil
		f.ended("the first", first)
		f.pending("what is queued", queued)
		during := f.begin("set c/x 1")
		f.want("get d/x", "")
		compaction <- nil
		if o := f.ended("what was queued", queued); o.said != "ok" {
			t.Errorf("queued: %+v", o)
		}
		if o := f.ended("the read of it", read); o.said != "1" {
			t.Errorf("read: %+v", o)
		}
		f.pending("what came during the compaction", during)
		gate <- nil
		f.ended("what came during the compaction", during)
		if got := f.log.content(); got["a/x"] != "8" || got["b/x"] != "1" || got["c/x"] != "1" {
			t.Errorf("the log says %v", got)
		}
		if !slices.Equal(f.log.appends, []int{8, 1}) {
			t.Errorf("appends of %v records", f.log.appends)
		}
	})
}

func TestACompactionThatFailsIsPutOff(t *testing.T) {
	t.Parallel()
	for name, panics := range map[string]bool{"in the log": false, "in the machine": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, compacting, func(f *fixture) {
				f.start()
				f.log.do(func() { f.log.onCompact = func() error { return errors.New("no") } })
				if panics {
					f.want("set snapshot/panic 1", "ok")
				}
				f.want("set a/x 1 2 3 4 5 6 7 8 9", "ok")
				synctest.Wait()
				compacts := f.log.compacts
				f.want("get a/x", "9") // loaded anew
				for range 10 {
					f.want("set a/x 9", "ok")
				}
				if f.log.compacts != compacts || f.log.loads != 2 {
					t.Errorf("%d compactions and %d loads after a failure", f.log.compacts, f.log.loads)
				}
				f.log.do(func() { f.log.onCompact = nil })
				f.log.do(func() { // heals the snapshot, too
					f.log.records = slices.DeleteFunc(f.log.records, func(r records.Record) bool { return string(r.Key) == "snapshot/panic" })
				})
				time.Sleep(time.Minute)
				f.want("set a/x 10", "ok")
				synctest.Wait()
				if !panics && (f.log.compacts != 2 || len(f.log.records) != 1) {
					t.Errorf("%d compactions, %d records after a while", f.log.compacts, len(f.log.records))
				}
			})
		})
	}
}
