package bridge

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/records"

	"github.com/google/go-cmp/cmp"
)

// countingMetrics counts the outcomes of ambiguous appends.
type countingMetrics struct {
	noMetrics
	mu       sync.Mutex
	outcomes map[string]int
	hits     int
}

func (m *countingMetrics) Resolved(outcome string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.outcomes == nil {
		m.outcomes = make(map[string]int)
	}
	m.outcomes[outcome]++
}

func (m *countingMetrics) CacheLookup(hit bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if hit {
		m.hits++
	}
}

func (m *countingMetrics) count(outcome string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.outcomes[outcome]
}

// fakeBridge starts a bridge on a fake Iggy with one topic of two partitions.
func fakeBridge(t testing.TB, change func(*Config)) (*fakeIggy, *Bridge, *Topic) {
	t.Helper()
	f := newFakeIggy()
	config := f.config()
	config.OperationTimeout = 2 * time.Second
	if change != nil {
		change(&config)
	}
	b := startBridge(t, config)
	return f, b, makeTopic(t, b, "orders", 2)
}

var ordersAt = Location{Stream: "orders", Topic: "orders"}

func foreign(s string) message {
	m := message{Payload: []byte(s)}
	m.Header.PayloadLength = uint32(len(s))
	m.Header.Id = messageID{0xaa, 1, 2, 3}
	m.Header.OriginTimestamp = uint64(testTime) * 1000
	return m
}

func TestBatchesAreAppendedInTheOrderOfSubmission(t *testing.T) {
	t.Parallel()
	f, b, topic := fakeBridge(t, nil)
	produce(t, b, topic, 0, plainBatch(t, "first"))
	begun, release := make(chan struct{}), make(chan struct{})
	var held atomic.Bool
	f.hooks(func(c fakeCall) error {
		if c.op == "append" && held.CompareAndSwap(false, true) {
			close(begun)
			<-release
		}
		return nil
	}, nil)
	jobs := make([]*Pending, 50)
	for i := range jobs {
		jobs[i] = b.Submit(testContext(t), topic, 0, plainBatch(t, fmt.Sprint(i, "a"), fmt.Sprint(i, "b")))
		if i == 0 {
			<-begun
		}
	}
	// While one partition's append is on its way, another's is not held up.
	produce(t, b, topic, 1, plainBatch(t, "elsewhere"))
	close(release)
	for i, job := range jobs {
		a, err := job.Wait(testContext(t))
		if err != nil || a.BaseOffset != int64(1+2*i) {
			t.Fatalf("batch %d: %+v, %v", i, a, err)
		}
	}
}

func TestAnAppendThatWaitsCanBeWithdrawn(t *testing.T) {
	t.Parallel()
	f, b, topic := fakeBridge(t, nil)
	produce(t, b, topic, 0, plainBatch(t, "first"))
	begun, release := make(chan struct{}), make(chan struct{})
	var held atomic.Bool
	f.hooks(func(c fakeCall) error {
		if c.op == "append" && held.CompareAndSwap(false, true) {
			close(begun)
			<-release
		}
		return nil
	}, nil)
	running := b.Submit(testContext(t), topic, 0, plainBatch(t, "running"))
	<-begun
	waiting := b.Submit(testContext(t), topic, 0, plainBatch(t, "waiting"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := waiting.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("the waiting append: %v", err)
	}
	close(release)
	if _, err := running.Wait(ctx); err != nil {
		t.Fatalf("the running append is waited for whatever happens: %v", err)
	}
	if diff := cmp.Diff([]string{"first", "running"}, values(readAll(t, b, topic, 0, 0))); diff != "" {
		t.Fatal(diff)
	}
}

func TestAmbiguousAppends(t *testing.T) {
	t.Parallel()
	lost := func(n int) func(fakeCall) error { return onCall("append", "orders", n, lostReply()) }
	cases := []struct {
		name          string
		before, after func(*fakeIggy) func(fakeCall) error
		wantBase      int64
		want          []string
		outcome       string
	}{
		{"an Iggy client writes in between", func(f *fakeIggy) func(fakeCall) error {
			return func(c fakeCall) error {
				if c.op == "append" {
					f.inject(ordersAt, 0, foreign("x"), foreign("y"))
				}
				return nil
			}
		}, nil, 3, []string{"old", "x", "y", "a", "b"}, ""},
		{"an Iggy client writes behind", nil, func(f *fakeIggy) func(fakeCall) error {
			return func(c fakeCall) error {
				if c.op == "append" {
					f.inject(ordersAt, 0, foreign("x"))
				}
				return nil
			}
		}, 1, []string{"old", "a", "b", "x"}, ""},
		{"the answer is lost, the messages are not", nil, func(*fakeIggy) func(fakeCall) error { return lost(1) }, 1, []string{"old", "a", "b"}, outcomeAppended},
		{"the request is lost", func(*fakeIggy) func(fakeCall) error { return lost(1) }, nil, 1, []string{"old", "a", "b"}, outcomeMissing},
		{"two requests are lost", func(*fakeIggy) func(fakeCall) error {
			first, second := lost(1), lost(2)
			return func(c fakeCall) error { return errors.Join(first(c), second(c)) }
		}, nil, 1, []string{"old", "a", "b"}, outcomeMissing},
		{"the answer is lost behind somebody else's messages", func(f *fakeIggy) func(fakeCall) error {
			return func(c fakeCall) error {
				if c.op == "append" {
					f.inject(ordersAt, 0, foreign("x"))
				}
				return nil
			}
		}, func(*fakeIggy) func(fakeCall) error { return lost(1) }, 2, []string{"old", "x", "a", "b"}, outcomeAppended},
		{"Iggy is killed and keeps half of the batch", nil, func(f *fakeIggy) func(fakeCall) error {
			reply := lost(1)
			return func(c fakeCall) error {
				err := reply(c)
				if err != nil {
					f.mu.Lock()
					p, _ := f.log(ordersAt, 0)
					p.messages = p.messages[:len(p.messages)-1]
					f.mu.Unlock()
				}
				return err
			}
		}, 1, []string{"old", "a", "b"}, ""},
		{"the check fails a few times", nil, func(*fakeIggy) func(fakeCall) error {
			return func(c fakeCall) error {
				if c.op == "read" && c.read.behindAppend && c.read.offset > 0 {
					return onceErr("check", c)
				}
				return nil
			}
		}, 1, []string{"old", "a", "b"}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			metrics := new(countingMetrics)
			f, b, topic := fakeBridge(t, func(c *Config) { c.Metrics = metrics })
			produce(t, b, topic, 0, plainBatch(t, "old"))
			var before, after func(fakeCall) error
			if c.before != nil {
				before = c.before(f)
			}
			if c.after != nil {
				after = c.after(f)
			}
			f.hooks(before, after)
			a := produce(t, b, topic, 0, plainBatch(t, "a", "b"))
			f.hooks(nil, nil)
			if a.BaseOffset != c.wantBase {
				t.Errorf("base offset %d, want %d", a.BaseOffset, c.wantBase)
			}
			if diff := cmp.Diff(c.want, values(readAll(t, b, topic, 0, 0))); diff != "" {
				t.Error(diff)
			}
			if c.outcome != "" && metrics.count(c.outcome) == 0 {
				t.Errorf("outcomes %v, want %s", metrics.outcomes, c.outcome)
			}
		})
	}
}

var onceSeen sync.Map

// onceErr fails the first call of a kind.
func onceErr(kind string, c fakeCall) error {
	if _, seen := onceSeen.LoadOrStore(kind+c.at.String(), true); seen {
		return nil
	}
	return errTest
}

func TestAnUnknownOutcomeIsFoundOutWhenTheProducerRetries(t *testing.T) {
	t.Parallel()
	for _, applied := range []bool{true, false} {
		t.Run(fmt.Sprintf("applied %v", applied), func(t *testing.T) {
			f, b, topic := fakeBridge(t, func(c *Config) { c.OperationTimeout = 100 * time.Millisecond })
			produce(t, b, topic, 0, plainBatch(t, "old"))
			spec := records.BatchSpec{HasProducer: true, ProducerID: 1, BaseSequence: 0}
			unreachable := func(c fakeCall) error {
				switch {
				case c.at != ordersAt:
					return nil
				case c.op == "append" && applied:
					f.inject(c.at, c.partition, c.messages...)
					return lostReply()
				case c.op == "append":
					return lostReply()
				}
				return errFakeDown
			}
			f.hooks(unreachable, nil)
			_, err := b.Produce(testContext(t), topic, 0, batchOf(t, spec, value("a"), value("b")))
			if !errors.Is(err, ErrOutcomeUnknown) || ErrorCode(err) != errorcode.RequestTimedOut {
				t.Fatalf("got %v, code %d", err, ErrorCode(err))
			}
			f.hooks(nil, nil)
			if a := produce(t, b, topic, 0, batchOf(t, spec, value("a"), value("b"))); a.BaseOffset != 1 {
				t.Fatalf("the retry got offset %d", a.BaseOffset)
			}
			if diff := cmp.Diff([]string{"old", "a", "b"}, values(readAll(t, b, topic, 0, 0))); diff != "" {
				t.Fatal(diff)
			}
		})
	}
}

func TestWaitingForWhatWasRefused(t *testing.T) {
	t.Parallel()
	_, b, topic := fakeBridge(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 50 {
		if _, err := b.Submit(testContext(t), topic, 9, plainBatch(t, "a")).Wait(ctx); !errors.Is(err, ErrPartitionNotFound) {
			t.Fatal(err)
		}
	}
}

func TestFaultsBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		err  error
		code int16
	}{
		{"Iggy cannot be reached", errFakeDown, errorcode.NotLeaderOrFollower},
		{"the topic is gone", ErrTopicNotFound, errorcode.UnknownTopicOrPartition},
		{"the user may not", ErrUnauthorized, errorcode.TopicAuthorizationFailed},
		{"Iggy's disk is full", ErrStorage, errorcode.KafkaStorageError},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f, b, topic := fakeBridge(t, nil)
			f.hooks(onCall("append", "orders", 1, c.err), nil)
			_, err := b.Produce(testContext(t), topic, 0, plainBatch(t, "a"))
			if ErrorCode(err) != c.code || errors.Is(err, ErrOutcomeUnknown) {
				t.Fatalf("got %v, code %d", err, ErrorCode(err))
			}
		})
	}
}

func TestIggyThatLostMessages(t *testing.T) {
	t.Parallel()
	f, b, topic := fakeBridge(t, nil)
	produce(t, b, topic, 0, plainBatch(t, "a", "b", "c", "d"))
	f.mu.Lock()
	p, _ := f.log(ordersAt, 0)
	p.messages = p.messages[:1]
	f.mu.Unlock()
	if a := produce(t, b, topic, 0, plainBatch(t, "e")); a.BaseOffset != 1 {
		t.Fatalf("base offset %d", a.BaseOffset)
	}
	if hw, err := b.HighWatermark(testContext(t), topic, 0); hw != 2 || err != nil {
		t.Fatalf("high watermark %d, %v", hw, err)
	}
	if diff := cmp.Diff([]string{"a", "e"}, values(readAll(t, b, topic, 0, 0))); diff != "" {
		t.Fatal(diff)
	}
}

func TestLogAppendTime(t *testing.T) {
	t.Parallel()
	f, b, _ := fakeBridge(t, nil)
	at := time.UnixMilli(testTime + 5000)
	f.mu.Lock()
	f.now = func() time.Time { return at }
	f.mu.Unlock()
	topic := makeTopic(t, b, "stamped", 1, ConfigTimestampType, "LogAppendTime")
	for i := range 2 {
		a := produce(t, b, topic, 0, batchOf(t, records.BatchSpec{}, rec{Value: []byte("a"), Timestamp: 1000}, rec{Key: []byte("k"), Timestamp: -1}))
		if a.LogAppendTime != at.UnixMilli() {
			t.Fatalf("append time %d", a.LogAppendTime)
		}
		// The second time around the batch comes from the cache.
		got, err := b.Fetch(testContext(t), topic, 0, FetchSpec{Offset: int64(2 * i), MaxBytes: 1000})
		if err != nil || len(got.Records) != 1 {
			t.Fatalf("%d batches, %v", len(got.Records), err)
		}
		batch, _, err := records.Parse(got.Records[0])
		if err != nil || !batch.LogAppendTime() || batch.MaxTimestamp != at.UnixMilli() {
			t.Fatalf("batch %+v, %v", batch, err)
		}
		for _, r := range recordsOf(t, got) {
			if r.Timestamp != at.UnixMilli() {
				t.Fatalf("record time %d", r.Timestamp)
			}
		}
	}
	offset, ts, err := b.OffsetForTimestamp(testContext(t), topic, 0, at.UnixMilli())
	if offset != 0 || ts != at.UnixMilli() || err != nil {
		t.Fatalf("by time: %d, %d, %v", offset, ts, err)
	}
}
