package bridge

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"kafka-iggy-bridge/internal/records"

	"github.com/google/go-cmp/cmp"
)

// batchesFrom fetches batches from an offset to the end, as a consumer does, and
// returns the records that consumers get and the offset it then stands at.
func batchesFrom(t testing.TB, b *Bridge, topic *Topic, partition int32, from int64) (recs []rec, at int64, err error) {
	t.Helper()
	for {
		f, err := b.Fetch(testContext(t), topic, partition, FetchSpec{Offset: from, MaxBytes: 64 << 10, AtLeastOne: true})
		if err != nil {
			return recs, from, err
		}
		if len(f.Records) == 0 {
			return recs, from, nil
		}
		for _, raw := range f.Records {
			batch, _, err := records.Parse(raw)
			if err != nil {
				t.Fatal(err)
			}
			if !batch.IsControl() {
				for _, r := range recordsOf(t, Fetched{Records: [][]byte{raw}}) {
					if r.Offset >= from {
						recs = append(recs, r)
					}
				}
			}
			from = batch.LastOffset() + 1
		}
	}
}

func internalTopicOf(t testing.TB, b *Bridge) *Topic {
	t.Helper()
	topic, err := b.Topic(testContext(t), offsetsTopic)
	if err != nil {
		t.Fatal(err)
	}
	return topic
}

func keysOf(recs []rec) []string {
	out := []string{}
	for _, r := range recs {
		out = append(out, string(r.Key))
	}
	return out
}

func TestConsumersReadAcrossACompaction(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why  string
		same bool // the reader is the bridge that compacts
	}{{"through the owner", true}, {"through another bridge", false}} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			f, clock := newFakeIggy(), newTestClock()
			config := f.config()
			config.Now = clock.Now
			owner := startBridge(t, config)
			l := openLog(t, owner, 0)
			reader := owner
			if !c.same {
				reader = startBridge(t, config)
				if _, err := reader.OpenInternalTopic(testContext(t), offsetsTopic, 4); err != nil {
					t.Fatal(err)
				}
			}
			topic := internalTopicOf(t, reader)
			appendLog(t, l, keyed("a", "1"), keyed("b", "1"), tombstone("a"), keyed("c", "1"))
			clock.pass(time.Second)
			recs, at, err := batchesFrom(t, reader, topic, 0, 0)
			if err != nil || at != 4 {
				t.Fatalf("stands at %d (%v), want 4", at, err)
			}
			if diff := cmp.Diff([]string{"a", "b", "a", "c"}, keysOf(recs)); diff != "" {
				t.Error(diff)
			}
			if recs[2].Value != nil {
				t.Errorf("a tombstone has the value %q", recs[2].Value)
			}

			compactLog(t, l, contents{"b": "1", "c": "1"})
			appendLog(t, l, keyed("d", "1"))
			clock.pass(time.Minute)
			recs, at, err = batchesFrom(t, reader, topic, 0, at)
			if err == nil && !c.same {
				// What another bridge did may take two looks to be seen.
				clock.pass(time.Second)
				var more []rec
				more, at, err = batchesFrom(t, reader, topic, 0, at)
				recs = append(recs, more...)
			}
			if err != nil || at != 9 { // seal, b, c, marker, d
				t.Fatalf("stands at %d (%v), want 9", at, err)
			}
			if diff := cmp.Diff([]string{"b", "c", "d"}, keysOf(recs)); diff != "" {
				t.Error(diff)
			}
			if _, _, err := batchesFrom(t, reader, topic, 0, 3); !errors.Is(err, ErrOffsetOutOfRange) {
				t.Errorf("below the log's start: %v, want %v", err, ErrOffsetOutOfRange)
			}
			start, err := reader.LogStartOffset(testContext(t), topic, 0)
			if err != nil || start != 4 {
				t.Errorf("the log starts at %d (%v), want 4", start, err)
			}

			// The same once the old generation is gone.
			owner.internals.sweep(testContext(t))
			if names := chainOf(f, 0); len(names) != 1 {
				t.Fatalf("generations %v", names)
			}
			recs, at, err = batchesFrom(t, reader, topic, 0, 4)
			if err != nil || at != 9 {
				t.Fatalf("from the start, stands at %d (%v), want 9", at, err)
			}
			if diff := cmp.Diff([]string{"b", "c", "d"}, keysOf(recs)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReaderWhoseGenerationVanishedFindsTheNext(t *testing.T) {
	t.Parallel()
	f, clock := newFakeIggy(), newTestClock()
	config := quietConfig(f)
	config.Now = clock.Now
	owner, reader := startBridge(t, config), startBridge(t, config)
	l := openLog(t, owner, 0)
	openLog(t, reader, 0)
	appendLog(t, l, keyed("a", "1"))
	clock.pass(time.Second)
	topic := internalTopicOf(t, reader)
	if _, at, err := batchesFrom(t, reader, topic, 0, 0); at != 1 || err != nil {
		t.Fatalf("stands at %d (%v)", at, err)
	}
	compactLog(t, l, contents{"a": "1"})
	compactLog(t, l, contents{"a": "1"})
	clock.pass(time.Hour)
	owner.internals.sweep(testContext(t))
	if _, _, err := batchesFrom(t, reader, topic, 0, 0); !errors.Is(err, ErrOffsetOutOfRange) {
		t.Errorf("far below the log's start: %v, want %v", err, ErrOffsetOutOfRange)
	}
	start, err := reader.LogStartOffset(testContext(t), topic, 0)
	if err != nil {
		t.Fatal(err)
	}
	recs, _, err := batchesFrom(t, reader, topic, 0, start)
	if diff := cmp.Diff([]string{"a"}, keysOf(recs)); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestInternalTopicsAnswerByTime(t *testing.T) {
	t.Parallel()
	b := startBridge(t, newFakeIggy().config())
	l := openLog(t, b, 0)
	at := func(key string, ts int64) records.Record {
		return records.Record{Timestamp: ts, Key: []byte(key), Value: []byte("v")}
	}
	const late = 3_000_000_000_000 // markers have the time of now
	appendLog(t, l, at("a", 1000), at("b", late), at("c", 3000))
	topic, ctx := internalTopicOf(t, b), testContext(t)
	for _, compacted := range []bool{false, true} {
		base := int64(0)
		if compacted {
			if err := l.Compact(ctx, func(yield func(records.Record) bool) { _ = yield(at("b", late)) && yield(at("c", 3000)) }); err != nil {
				t.Fatal(err)
			}
			base = 3 // a seal is at 3, b at 4
		}
		if offset, ts, err := b.OffsetForTimestamp(ctx, topic, 0, late-1); offset != base+1 || ts != late || err != nil {
			t.Errorf("compacted %v: offset %d at %d (%v), want %d", compacted, offset, ts, err, base+1)
		}
		if offset, ts, err := b.MaxTimestamp(ctx, topic, 0); offset != base+1 || ts != late || err != nil {
			t.Errorf("compacted %v: greatest at offset %d, %d (%v), want %d", compacted, offset, ts, err, base+1)
		}
		if offset, _, err := b.OffsetForTimestamp(ctx, topic, 0, late+1); offset != -1 || err != nil {
			t.Errorf("compacted %v: beyond all: offset %d (%v)", compacted, offset, err)
		}
	}
}

func TestAppendAndCompactWakeThoseWhoWait(t *testing.T) {
	t.Parallel()
	config := newFakeIggy().config()
	config.WatchInterval = time.Hour
	b := startBridge(t, config)
	l := openLog(t, b, 0)
	topic := internalTopicOf(t, b)
	for _, c := range []struct {
		why string
		do  func()
	}{
		{"append", func() { appendLog(t, l, keyed("a", "1")) }},
		{"compact", func() { compactLog(t, l, contents{"a": "1"}) }},
		{"append behind a compaction", func() { appendLog(t, l, keyed("b", "1")) }},
	} {
		hw, err := b.HighWatermark(testContext(t), topic, 0)
		if err != nil {
			t.Fatal(err)
		}
		w := b.Watch([]TopicPartition{{Topic: topic, Partition: 0, Offset: hw}})
		c.do()
		select {
		case <-w.C:
		case <-testContext(t).Done():
			t.Errorf("%s: nobody was told", c.why)
		}
		w.Close()
	}
}

func TestWatchersThroughAnotherBridgeAreTold(t *testing.T) {
	t.Parallel()
	config := iggyConfig(t)
	config.WatchInterval = 20 * time.Millisecond
	owner, reader := startBridge(t, config), startBridge(t, config)
	l := openLog(t, owner, 1)
	if _, err := reader.OpenInternalTopic(testContext(t), offsetsTopic, 4); err != nil {
		t.Fatal(err)
	}
	topic := internalTopicOf(t, reader)
	for n := range 4 {
		hw, err := reader.HighWatermark(testContext(t), topic, 1)
		if err != nil {
			t.Fatal(err)
		}
		w := reader.Watch([]TopicPartition{{Topic: topic, Partition: 1, Offset: hw}})
		key := fmt.Sprint("key ", n)
		if n == 2 {
			compactLog(t, l, contents{"old": "1"})
		}
		appendLog(t, l, keyed(key, "1"))
		select {
		case <-w.C:
		case <-testContext(t).Done():
			t.Fatal("nobody was told")
		}
		w.Close()
		eventually(t, 10*time.Second, func() error {
			recs, _, err := batchesFrom(t, reader, topic, 1, hw)
			if keys := keysOf(recs); err != nil || len(keys) == 0 || keys[len(keys)-1] != key {
				return fmt.Errorf("append %d: read %v (%v)", n, keys, err)
			}
			return nil
		})
	}
}

// sharedState is what several writers append, applied before it is appended: a
// snapshot may be ahead of the log, but never behind.
type sharedState struct {
	mu    sync.Mutex
	state contents
}

func (s *sharedState) apply(r *records.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.apply(r)
}

func (s *sharedState) snapshot(yield func(records.Record) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.snapshot()(yield)
}

// TestCompactedLogThroughIggy appends, compacts and fetches at the same time.
func TestCompactedLogThroughIggy(t *testing.T) {
	t.Parallel()
	config := iggyConfig(t)
	b := startBridge(t, config)
	l := openLog(t, b, 2)
	shared := sharedState{state: make(contents)}
	var writers, readers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := range 100 {
				r := keyed(fmt.Sprintf("w%d-%d", w, i%20), fmt.Sprint(i))
				if i%7 == 0 {
					r = tombstone(string(r.Key))
				}
				shared.apply(&r)
				if err := l.Append(testContext(t), []records.Record{r}); err != nil {
					t.Error(err)
					return
				}
				if i%25 != w {
					continue
				}
				if err := l.Compact(testContext(t), shared.snapshot); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	done, seen, topic := make(chan struct{}), make(contents), internalTopicOf(t, b)
	readers.Go(func() { followLog(t, b, topic, seen, done) })
	writers.Wait()
	close(done)
	readers.Wait()
	wantContents(t, l, shared.state)
	if diff := cmp.Diff(shared.state, seen); diff != "" {
		t.Errorf("what a consumer saw (-want +got):\n%s", diff)
	}
	// Another bridge, after all is over.
	wantContents(t, openLog(t, startBridge(t, config), 2), shared.state)
}

// followLog consumes partition 2 as a consumer with auto.offset.reset=earliest
// until done is closed and everything is read.
func followLog(t *testing.T, b *Bridge, topic *Topic, seen contents, done chan struct{}) {
	at := int64(0)
	for last := false; ; {
		recs, next, err := batchesFrom(t, b, topic, 2, at)
		for i := range recs {
			if recs[i].Offset < at {
				t.Errorf("offset %d came behind %d", recs[i].Offset, at)
			}
			seen.apply(&recs[i])
		}
		at = next
		if errors.Is(err, ErrOffsetOutOfRange) {
			if at, err = b.LogStartOffset(testContext(t), topic, 2); err == nil {
				clear(seen) // keys that were deleted are not told of any more
				continue
			}
		}
		if err != nil {
			t.Error(err)
			return
		}
		if last {
			return
		}
		select {
		case <-done:
			last = true
		default:
		}
	}
}
