package bridge

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kafka-iggy-bridge/internal/producers"
	"kafka-iggy-bridge/internal/records"
)

// idempotent is a batch of n records of producer 7.
func idempotent(t testing.TB, epoch int16, sequence int32, n int) *records.Batch {
	return producerBatch(t, records.BatchSpec{ProducerID: 7, ProducerEpoch: epoch, BaseSequence: sequence}, n)
}

// transactional is a batch of one record within a transaction.
func transactional(t testing.TB, producer int64, sequence int32) *records.Batch {
	return producerBatch(t, records.BatchSpec{ProducerID: producer, BaseSequence: sequence, Transactional: true}, 1)
}

func producerBatch(t testing.TB, spec records.BatchSpec, n int) *records.Batch {
	t.Helper()
	spec.HasProducer = true
	recs := make([]rec, n)
	for i := range recs {
		recs[i] = value(fmt.Sprintf("%d/%d+%d", spec.ProducerID, spec.BaseSequence, i))
	}
	return batchOf(t, spec, recs...)
}

// expectProduce produces a batch and compares the base offset or the error.
func expectProduce(t testing.TB, b *Bridge, topic *Topic, why string, batch *records.Batch, base int64, want error) {
	t.Helper()
	got, err := b.Produce(testContext(t), topic, 0, batch)
	if !errors.Is(err, want) {
		t.Fatalf("%s: error %v, want %v", why, err, want)
	}
	if err == nil && got.BaseOffset != base {
		t.Fatalf("%s: base offset %d, want %d", why, got.BaseOffset, base)
	}
}

// again is a bridge that starts where another one was killed.
func again(t testing.TB, f *fakeIggy, name string) (*Bridge, *Topic) {
	t.Helper()
	b := startBridge(t, f.config())
	topic, err := b.Topic(testContext(t), name)
	if err != nil {
		t.Fatal(err)
	}
	return b, topic
}

func TestBatchesSentAgainAreKnownAfterARestart(t *testing.T) {
	t.Parallel()
	f, b, topic := fakeBridge(t, nil)
	produce(t, b, topic, 0, plainBatch(t, "before", "it all"))
	expectProduce(t, b, topic, "first", idempotent(t, 0, 0, 3), 2, nil)
	produce(t, b, topic, 0, plainBatch(t, "in between"))
	expectProduce(t, b, topic, "second", idempotent(t, 0, 3, 1), 6, nil)
	for _, closed := range []bool{false, true} { // killed, then stopped in order
		b, topic = again(t, f, topic.Name)
		expectProduce(t, b, topic, "the first again", idempotent(t, 0, 0, 3), 2, nil)
		expectProduce(t, b, topic, "the second again", idempotent(t, 0, 3, 1), 6, nil)
		expectProduce(t, b, topic, "a gap", idempotent(t, 0, 9, 1), 0, producers.ErrSequence)
		if closed {
			closeBridge(t, b)
		}
	}
	b, topic = again(t, f, topic.Name)
	expectProduce(t, b, topic, "what comes next", idempotent(t, 0, 4, 2), 7, nil)
	expectProduce(t, b, topic, "another epoch", idempotent(t, 1, 0, 1), 9, nil)
	b, topic = again(t, f, topic.Name)
	expectProduce(t, b, topic, "the old epoch", idempotent(t, 0, 6, 1), 0, producers.ErrEpoch)
	if got := len(readAll(t, b, topic, 0, 0)); got != 10 {
		t.Errorf("%d records, want 10", got)
	}
}

func TestTwinsAreAppendedOnce(t *testing.T) {
	t.Parallel()
	_, b, topic := fakeBridge(t, nil)
	const twins = 8
	var work sync.WaitGroup
	bases := make([]int64, twins)
	for i := range twins {
		work.Go(func() {
			got, err := b.Produce(testContext(t), topic, 0, idempotent(t, 0, 0, 2))
			if err != nil {
				t.Error(err)
			}
			bases[i] = got.BaseOffset
		})
	}
	work.Wait()
	if diff := cmp.Diff(make([]int64, twins), bases); diff != "" {
		t.Error(diff)
	}
	if got := len(readAll(t, b, topic, 0, 0)); got != 2 {
		t.Errorf("%d records, want 2", got)
	}
}

func TestARetryAfterAnUnknownOutcomeIsNotAppendedTwice(t *testing.T) {
	t.Parallel()
	f, b, topic := fakeBridge(t, func(c *Config) { c.OperationTimeout = 300 * time.Millisecond })
	expectProduce(t, b, topic, "first", idempotent(t, 0, 0, 1), 0, nil)
	// The append takes effect, but neither its answer nor any read gets through.
	cut := func(c fakeCall) error {
		if c.at == topic.location {
			return fmt.Errorf("%w: cut", ErrTimeout)
		}
		return nil
	}
	f.hooks(nil, func(c fakeCall) error {
		if c.op == "append" && c.at == topic.location {
			f.hooks(cut, nil)
			return errMaybeAppended
		}
		return nil
	})
	expectProduce(t, b, topic, "cut", idempotent(t, 0, 1, 2), 0, ErrOutcomeUnknown)
	f.hooks(nil, nil)
	expectProduce(t, b, topic, "again", idempotent(t, 0, 1, 2), 1, nil)
	expectProduce(t, b, topic, "and again", idempotent(t, 0, 1, 2), 1, nil)
	expectProduce(t, b, topic, "the next", idempotent(t, 0, 3, 1), 3, nil)
}

func TestTwoBridgesKnowTheSameProducers(t *testing.T) {
	t.Parallel()
	f, b, topic := fakeBridge(t, nil)
	other, same := again(t, f, topic.Name)
	expectProduce(t, b, topic, "first", idempotent(t, 0, 0, 1), 0, nil)
	expectProduce(t, other, same, "second, by the other", idempotent(t, 0, 1, 1), 1, nil)
	if _, err := b.HighWatermark(testContext(t), topic, 0); err != nil {
		t.Fatal(err)
	}
	expectProduce(t, b, topic, "the other's again", idempotent(t, 0, 1, 1), 1, nil)
	expectProduce(t, b, topic, "third", idempotent(t, 0, 2, 1), 2, nil)
}

func TestALedgerOfALogThatLostItsEndIsMadeAnew(t *testing.T) {
	t.Parallel()
	f, b, topic := fakeBridge(t, nil)
	for i := range int32(4) {
		expectProduce(t, b, topic, "batch", idempotent(t, 0, i, 1), int64(i), nil)
	}
	closeBridge(t, b) // stores a snapshot that knows all four
	f.mu.Lock()
	p := f.byName[topic.location.Stream].topics[topic.location.Topic].partitions[0]
	p.messages = p.messages[:2]
	f.mu.Unlock()
	b, topic = again(t, f, topic.Name)
	expectProduce(t, b, topic, "what was lost, sent again", idempotent(t, 0, 2, 1), 2, nil)
	expectProduce(t, b, topic, "what was not", idempotent(t, 0, 1, 1), 1, nil)
}

// transactionLog writes, to partition 0: two transactions, one of them aborted,
// plain records, and an open transaction.
func transactionLog(t *testing.T, b *Bridge, topic *Topic) {
	t.Helper()
	expectProduce(t, b, topic, "8 begins", transactional(t, 8, 0), 0, nil)
	expectProduce(t, b, topic, "9 begins", transactional(t, 9, 0), 1, nil)
	produce(t, b, topic, 0, plainBatch(t, "plain"))
	expectProduce(t, b, topic, "8 goes on", transactional(t, 8, 1), 3, nil)
	endTransaction(t, b, topic, 8, false)
	endTransaction(t, b, topic, 9, true)
	expectProduce(t, b, topic, "8 begins anew", transactional(t, 8, 2), 6, nil)
	produce(t, b, topic, 0, plainBatch(t, "behind"))
}

func endTransaction(t *testing.T, b *Bridge, topic *Topic, producer int64, commit bool) {
	t.Helper()
	m := producers.Marker{ProducerID: producer, CoordinatorEpoch: 1, Commit: commit}
	for range 2 { // the second time nothing is written
		if err := b.WriteMarker(testContext(t), topic, 0, m); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFetchOfCommittedRecords(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]func(*Config){
		"with a cache":    nil,
		"without a cache": func(c *Config) { c.CacheBytes = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, b, topic := fakeBridge(t, config)
			transactionLog(t, b, topic)
			checkCommitted(t, b, topic)
			b, topic = again(t, f, topic.Name)
			checkCommitted(t, b, topic)
			endTransaction(t, b, topic, 8, true)
			got := fetchCommitted(t, b, topic, 6)
			if got.LastStableOffset != 9 || len(got.Records) == 0 || len(got.Aborted) != 0 {
				t.Errorf("after the last one's end: %+v", got)
			}
		})
	}
}

func fetchCommitted(t *testing.T, b *Bridge, topic *Topic, offset int64) Fetched {
	t.Helper()
	got, err := b.Fetch(testContext(t), topic, 0, FetchSpec{Offset: offset, MaxBytes: 1 << 20, AtLeastOne: true, Committed: true})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func checkCommitted(t *testing.T, b *Bridge, topic *Topic) {
	t.Helper()
	for offset, aborted := range map[int64]int{0: 1, 3: 1, 4: 1, 5: 0} {
		got := fetchCommitted(t, b, topic, offset)
		if got.LastStableOffset != 6 || got.HighWatermark != 8 || len(got.Aborted) != aborted {
			t.Errorf("from %d: last stable offset %d, high watermark %d, aborted %+v", offset, got.LastStableOffset, got.HighWatermark, got.Aborted)
		}
		last, _, err := records.Parse(got.Records[len(got.Records)-1])
		if err != nil || last.LastOffset() != 5 {
			t.Errorf("from %d: the last record is %d (%v), want the second marker at 5", offset, last.LastOffset(), err)
		}
	}
	if got := fetchCommitted(t, b, topic, 6); len(got.Records) != 0 {
		t.Errorf("%d batches of an open transaction", len(got.Records))
	}
	all, err := b.Fetch(testContext(t), topic, 0, FetchSpec{MaxBytes: 1 << 20})
	if err != nil || all.LastStableOffset != 6 || all.Aborted != nil {
		t.Errorf("uncommitted: %v, last stable offset %d, aborted %v", err, all.LastStableOffset, all.Aborted)
	}
	if stable, err := b.LastStableOffset(testContext(t), topic, 0); err != nil || stable != 6 {
		t.Errorf("last stable offset %d, %v", stable, err)
	}
	known, err := b.Producers(testContext(t), topic, 0)
	if err != nil || len(known) != 2 || known[0].FirstOffset != 6 || known[1].FirstOffset != -1 {
		t.Errorf("producers %+v, %v", known, err)
	}
}

func TestALogWithoutProducersIsNotReadForThem(t *testing.T) {
	t.Parallel()
	f, b, topic := fakeBridge(t, nil)
	produce(t, b, topic, 0, plainBatch(t, "a", "b", "c"))
	b, topic = again(t, f, topic.Name)
	f.hooks(func(c fakeCall) error {
		if c.op == "read" && c.at == topic.location && c.read.behindAppend && c.read.count > 1 {
			t.Error("the log was read")
		}
		return nil
	}, nil)
	if stable, err := b.LastStableOffset(testContext(t), topic, 0); err != nil || stable != 3 {
		t.Errorf("last stable offset %d, %v", stable, err)
	}
	expectProduce(t, b, topic, "the first with an id", idempotent(t, 0, 0, 1), 3, nil)
	f.hooks(nil, nil)
}

func TestMarkersAreChecked(t *testing.T) {
	t.Parallel()
	_, b, topic := fakeBridge(t, nil)
	expectProduce(t, b, topic, "begins", transactional(t, 8, 0), 0, nil)
	write := func(epoch int16, coordinator int32) error {
		return b.WriteMarker(testContext(t), topic, 0, producers.Marker{ProducerID: 8, Epoch: epoch, CoordinatorEpoch: coordinator})
	}
	if err := write(1, 5); err != nil {
		t.Fatal(err)
	}
	if err := write(0, 5); !errors.Is(err, producers.ErrEpoch) {
		t.Errorf("an old epoch: %v", err)
	}
	if err := write(1, 4); !errors.Is(err, producers.ErrCoordinatorEpoch) {
		t.Errorf("an old coordinator: %v", err)
	}
	expectProduce(t, b, topic, "the fenced producer", transactional(t, 8, 1), 0, producers.ErrEpoch)
}
