package bridge

import (
	"context"
	"fmt"
	"sync/atomic"

	"kafka-iggy-bridge/internal/records"
)

// CompactedLog is a partition of an internal topic as its coordinator uses it: a
// log that is loaded as a whole, appended to, and compacted now and then. It is
// safe for concurrent use; what it does it does one after the other.
//
// Any number of bridges may have a log of the same partition. Each append checks
// that nobody else wrote in between, and fails with ErrLogChanged otherwise: the
// log is then to be loaded anew, as after every error of Append.
type CompactedLog struct {
	topic     *internalTopic
	partition int32
	// busy holds a token while something is done with the log.
	busy chan struct{}

	loaded bool
	base   generation // that was loaded
	end    int64      // offset of the next record
	len    atomic.Int64
}

// maxAppend bounds, in bytes, what goes to Iggy in one piece: the size of Iggy's
// largest message.
const maxAppend = maxPayload

// CompactedLog is the log of a partition of an internal topic, always the same
// one for the same partition. It must be loaded before it is used, and that
// fails unless OpenInternalTopic was called.
func (b *Bridge) CompactedLog(name string, partition int32) *CompactedLog {
	t := b.internals.get(name)
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.logs[partition]
	if l == nil {
		l = &CompactedLog{topic: t, partition: partition, busy: make(chan struct{}, 1)}
		t.logs[partition] = l
	}
	return l
}

// Len is the number of records in the present generation: those that were
// loaded, and those appended since. It is 0 while the log is not loaded.
func (l *CompactedLog) Len() int64 { return l.len.Load() }

// Append writes records behind the last one, all of them or none, and returns
// when Iggy has them. A nil value is a tombstone. The records' offsets and
// headers' order are Kafka's; the given offsets do not count.
//
// After an error the log must be loaded anew, and the records may be there all
// the same: ErrLogChanged says that somebody else has written to it,
// ErrOutcomeUnknown that it could not be found out what became of the append.
// Exceptions are the errors that come before anything is done, after which the
// log stays loaded: ErrRecordTooLarge for more than 64,000,000 bytes, and the
// end of ctx while another call is still busy.
func (l *CompactedLog) Append(ctx context.Context, recs []records.Record) error {
	if len(recs) == 0 {
		return nil
	}
	batch, err := buildBatch(recs)
	if err != nil {
		return l.wrap("appending to", err)
	}
	unlock, err := l.lock(ctx)
	if err != nil {
		return l.wrap("appending to", err)
	}
	defer unlock()
	if err := l.append(ctx, batch); err != nil {
		return l.wrap("appending to", err)
	}
	l.len.Add(int64(len(recs)))
	return nil
}

// buildBatch makes a batch of records. The error is ErrRecordTooLarge.
func buildBatch(recs []records.Record) (*records.Batch, error) {
	size := 0
	for i := range recs {
		size += iggyMessageHeader + recordOverhead + len(recs[i].Key) + len(recs[i].Value)
		for _, h := range recs[i].Headers {
			size += 2*headerOverhead + len(h.Key) + len(h.Value)
		}
	}
	if size > maxAppend {
		return nil, fmt.Errorf("%w: %d records have %d bytes, and %d can be appended at once", ErrRecordTooLarge, len(recs), size, maxAppend)
	}
	var builder records.Builder
	builder.Reset(make([]byte, 0, size), records.BatchSpec{LeaderEpoch: leaderEpoch})
	for i := range recs {
		r := &recs[i]
		if err := builder.Append(r.Timestamp, r.Key, r.Value, r.Headers); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrRecordTooLarge, err)
		}
	}
	raw, err := builder.Finish()
	if err != nil {
		return nil, err
	}
	batch, _, err := records.Parse(raw)
	return &batch, err
}

// lock waits until nothing else is done with the log.
func (l *CompactedLog) lock(ctx context.Context) (unlock func(), err error) {
	return hold(ctx, l.busy)
}

// append writes a batch right behind the log's end. After an error the log is
// not loaded any more.
func (l *CompactedLog) append(ctx context.Context, batch *records.Batch) (err error) {
	if err := l.usable(); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			l.unload()
		}
	}()
	topic, owner, err := l.topic.partition(l.partition)
	if err != nil {
		return err
	}
	if end, known := owner.watermark(); known && end != l.end {
		return fmt.Errorf("%w: it ends at %d instead of %d", ErrLogChanged, end, l.end)
	}
	result, err := l.topic.bridge.Produce(ctx, topic, l.partition, batch)
	if isGone(err) {
		return fmt.Errorf("%w: generation %v is gone", ErrLogChanged, l.base.location)
	}
	if err != nil {
		return err
	}
	if result.BaseOffset != l.end {
		return fmt.Errorf("%w: the records are at offset %d instead of %d", ErrLogChanged, result.BaseOffset, l.end)
	}
	if !l.base.exists() {
		l.base, _ = l.topic.chain(l.partition).current()
	}
	l.end += int64(batch.Count)
	return nil
}

// usable fails when the log is not loaded, or not as it is now.
func (l *CompactedLog) usable() error {
	if !l.loaded {
		return fmt.Errorf("%w: it is not loaded", ErrLogChanged)
	}
	if present, known := l.topic.chain(l.partition).current(); !known || !present.same(l.base) {
		l.unload()
		return fmt.Errorf("%w: its generation is %v by now", ErrLogChanged, present.location)
	}
	return nil
}

func (l *CompactedLog) unload() {
	l.loaded = false
	l.len.Store(0)
}

// wrap says which log an error is of, and what was being done.
func (l *CompactedLog) wrap(doing string, err error) error {
	return fmt.Errorf("%s %s-%d: %w", doing, l.topic.at.Topic, l.partition, err)
}
