package bridge

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kafka-iggy-bridge/internal/records"

	"github.com/google/go-cmp/cmp"
)

const offsetsTopic = "__consumer_offsets"

// quietConfig is a fake's configuration for tests that count calls: nothing goes
// on in the background.
func quietConfig(f *fakeIggy) Config {
	config := f.config()
	config.RefreshInterval = time.Hour
	config.OperationTimeout = 2 * time.Second
	return config
}

// openLog opens an internal topic of four partitions and loads one's log.
func openLog(t testing.TB, b *Bridge, partition int32) *CompactedLog {
	t.Helper()
	if _, err := b.OpenInternalTopic(testContext(t), offsetsTopic, 4); err != nil {
		t.Fatal(err)
	}
	l := b.CompactedLog(offsetsTopic, partition)
	loadLog(t, l)
	return l
}

// contents is what a log comes to.
type contents map[string]string

func (c contents) apply(r *records.Record) {
	if r.Value == nil {
		delete(c, string(r.Key))
		return
	}
	c[string(r.Key)] = string(r.Value)
}

// snapshot yields the contents as records.
func (c contents) snapshot() iter.Seq[records.Record] {
	return func(yield func(records.Record) bool) {
		for _, key := range slices.Sorted(maps.Keys(c)) {
			if !yield(keyed(key, c[key])) {
				return
			}
		}
	}
}

func keyed(key, value string) records.Record {
	return records.Record{Timestamp: 1_700_000_000_000, Key: []byte(key), Value: []byte(value)}
}

func tombstone(key string) records.Record {
	return records.Record{Timestamp: 1_700_000_000_000, Key: []byte(key)}
}

func loadLog(t testing.TB, l *CompactedLog) contents {
	t.Helper()
	c, err := tryLoad(testContext(t), l)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func tryLoad(ctx context.Context, l *CompactedLog) (contents, error) {
	c := make(contents)
	err := l.Load(ctx, c.apply)
	return c, err
}

func appendLog(t testing.TB, l *CompactedLog, recs ...records.Record) {
	t.Helper()
	if err := l.Append(testContext(t), recs); err != nil {
		t.Fatal(err)
	}
}

func compactLog(t testing.TB, l *CompactedLog, c contents) {
	t.Helper()
	if err := l.Compact(testContext(t), c.snapshot()); err != nil {
		t.Fatal(err)
	}
}

func wantContents(t testing.TB, l *CompactedLog, want contents) {
	t.Helper()
	if diff := cmp.Diff(want, loadLog(t, l)); diff != "" {
		t.Fatalf("contents (-want +got):\n%s", diff)
	}
}

// chainOf are the names of a fake's topics that hold a partition.
func chainOf(f *fakeIggy, partition int32) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var names []string
	for name := range f.byName[DefaultStateStream].topics {
		if strings.HasPrefix(name, fmt.Sprintf("%s.%d.", offsetsTopic, partition)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func generationAt(name string) Location { return Location{Stream: DefaultStateStream, Topic: name} }

// cut makes a fake lose all but the first n messages of a generation.
func (f *fakeIggy) cut(at Location, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, err := f.log(at, 0)
	if err != nil {
		panic(err)
	}
	p.messages = slices.Clone(p.messages[:n])
}

// length is the number of messages in a generation.
func (f *fakeIggy) length(at Location) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, err := f.log(at, 0)
	if err != nil {
		panic(err)
	}
	return len(p.messages)
}

// testClock is a clock that a test moves.
type testClock struct {
	mu  sync.Mutex
	now time.Time
}

func newTestClock() *testClock { return &testClock{now: time.UnixMilli(1_700_000_000_000)} }

func (c *testClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *testClock) pass(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	c.mu.Unlock()
}

// onGenerations reports whether a call is about the generations of internal
// topics.
func onGenerations(c fakeCall) bool {
	return c.at.Stream == DefaultStateStream && (c.at.Topic == "" && c.op == "topics" || strings.HasPrefix(c.at.Topic, "__"))
}
