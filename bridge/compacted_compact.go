package bridge

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"kafka-iggy-bridge/internal/records"
)

const (
	// snapshotBytes and snapshotRecords bound one append of a snapshot.
	snapshotBytes   = 1 << 20
	snapshotRecords = 5000
	// maxNames bounds how many bases are tried for a new generation: one is taken
	// when an attempt there was given up.
	maxNames = 100
)

// Compact writes a snapshot, records with at most one for each key, into a fresh
// generation and goes on with that one. The snapshot must be what the log comes
// to with all appends that have returned; appends that come meanwhile wait. It
// is written in several pieces and counts as a whole or not at all, whatever
// happens and wherever the bridge stops.
//
// After ErrLogChanged the log must be loaded anew. After any other error it goes
// on as it was, and Compact can be called again.
func (l *CompactedLog) Compact(ctx context.Context, snapshot iter.Seq[records.Record]) error {
	unlock, err := l.lock(ctx)
	if err != nil {
		return l.wrap("compacting", err)
	}
	defer unlock()
	if err := l.compact(ctx, snapshot); err != nil {
		return l.wrap("compacting", err)
	}
	return nil
}

func (l *CompactedLog) compact(ctx context.Context, snapshot iter.Seq[records.Record]) error {
	if err := l.usable(); err != nil {
		return err
	}
	if !l.base.exists() {
		// Without a generation that is there, a new one would hold before it is
		// complete.
		if err := l.seal(ctx); err != nil {
			return err
		}
	}
	next, err := l.reserve(ctx)
	if err != nil {
		return err
	}
	w, err := l.topic.bridge.newGenerationWriter(next, 0)
	if err != nil {
		return err
	}
	if ok, err := w.mark(ctx, markerSeal); err != nil || !ok {
		return errors.Join(err, w.lostErr(ok))
	}
	count, err := w.writeAll(ctx, snapshot)
	if err != nil {
		return err
	}
	if err := l.seal(ctx); err != nil {
		return err
	}
	// From here on nobody but this bridge may think that the old generation goes
	// on, and it does not know before the marker is where it should be.
	if ok, err := w.mark(ctx, markerComplete); err != nil || !ok {
		l.unload()
		return fmt.Errorf("%w: completing generation %v: %w", ErrLogChanged, next.location, errors.Join(err, w.lostErr(ok)))
	}
	l.switchTo(w, count)
	return nil
}

// seal appends a seal. After an error the log is not loaded any more.
func (l *CompactedLog) seal(ctx context.Context) error {
	batch, err := markerSeal.batch(l.topic.bridge)
	if err != nil {
		return err
	}
	if err := l.append(ctx, batch); err != nil {
		if !errors.Is(err, ErrLogChanged) {
			err = fmt.Errorf("%w: %w", ErrLogChanged, err)
		}
		return err
	}
	return nil
}

// reserve makes the topic of the next generation, which begins where the log
// ends.
func (l *CompactedLog) reserve(ctx context.Context) (generation, error) {
	for range maxNames {
		g, err := l.topic.create(ctx, l.partition, l.end)
		if !errors.Is(err, ErrTopicExists) {
			return g, err
		}
		// An attempt at this base was given up, and something may still be on its way
		// there. The next base is free.
		if err := l.seal(ctx); err != nil {
			return generation{}, err
		}
	}
	return generation{}, fmt.Errorf("%w: %d attempts at a new generation lie around", ErrStorage, maxNames)
}

// switchTo goes on with a generation that is complete.
func (l *CompactedLog) switchTo(w *generationWriter, count int64) {
	old, g, end := l.base, w.generation, w.generation.base+w.next
	c, n := l.topic.chain(l.partition), l.topic.bridge.internals
	v := verdict{generation: g, next: w.next, marker: markerComplete}
	c.remember(v)
	c.moveTo(g, end)
	l.base, l.end = g, end
	l.len.Store(count)
	n.doom(v, old)
	if _, owner, err := l.topic.partition(l.partition); err == nil {
		owner.restart(g.base, end)
	}
	l.topic.bridge.log.WithField("topic", l.topic.at.Topic).WithField("partition", l.partition).
		WithField("records", count).WithField("offset", g.base).Debug("an internal topic's partition was compacted")
}

// generationWriter writes to a generation that nobody else should write to.
type generationWriter struct {
	bridge     *Bridge
	generation generation
	owner      *partition
	next       int64 // offset in Iggy that the next message should get
}

func (b *Bridge) newGenerationWriter(g generation, next int64) (*generationWriter, error) {
	info := topicInfo{location: g.location, streamID: unknownStream, createdAt: g.created, partitionCount: 1}
	owner, err := newTopicState(b, g.location.String(), [16]byte{}, info).partition(0)
	if err != nil {
		return nil, err
	}
	return &generationWriter{bridge: b, generation: g, owner: owner, next: next}, nil
}

// writeAll writes a snapshot and returns how many records it has.
func (w *generationWriter) writeAll(ctx context.Context, snapshot iter.Seq[records.Record]) (count int64, err error) {
	var builder records.Builder
	builder.Reset(nil, records.BatchSpec{})
	flush := func() bool {
		var ok bool
		if ok, err = w.finish(ctx, &builder); err == nil && !ok {
			err = w.lostErr(ok)
		}
		return err == nil
	}
	for r := range snapshot {
		if builder.Count() == snapshotRecords || builder.Count() > 0 && builder.Size() > snapshotBytes {
			if !flush() {
				return count, err
			}
		}
		if err := builder.Append(r.Timestamp, r.Key, r.Value, r.Headers); err != nil {
			return count, fmt.Errorf("%w: %w", ErrRecordTooLarge, err)
		}
		count++
	}
	if builder.Count() > 0 && !flush() {
		return count, err
	}
	return count, nil
}

// finish writes what the builder holds and begins it anew.
func (w *generationWriter) finish(ctx context.Context, builder *records.Builder) (ok bool, err error) {
	raw, err := builder.Finish()
	if err != nil {
		return false, err
	}
	batch, _, err := records.Parse(raw)
	if err != nil {
		return false, err
	}
	ok, err = w.write(ctx, &batch)
	builder.Reset(raw[:0], records.BatchSpec{})
	return ok, err
}

// mark writes a marker.
func (w *generationWriter) mark(ctx context.Context, k marker) (ok bool, err error) {
	batch, err := k.batch(w.bridge)
	if err != nil {
		return false, err
	}
	return w.write(ctx, batch)
}

// write appends a batch; ok says that it lies right behind what was written
// before.
func (w *generationWriter) write(ctx context.Context, batch *records.Batch) (ok bool, err error) {
	b := w.bridge
	ctx, cancel := context.WithTimeout(ctx, b.config.OperationTimeout)
	defer cancel()
	e := encoders.Get().(*encoder)
	defer e.release()
	if err := e.encode(batch, encodeOptions{ids: b.ids, now: b.config.Now()}); err != nil {
		return false, err
	}
	base, _, err := w.owner.write(ctx, e.messages, w.next)
	if err != nil {
		return false, err
	}
	ok = base == w.next
	w.next = base + int64(len(e.messages))
	return ok, nil
}

// lostErr is the error for a write that was not where it should be.
func (w *generationWriter) lostErr(ok bool) error {
	if ok {
		return nil
	}
	return fmt.Errorf("%w: somebody else writes to %v", ErrStorage, w.generation.location)
}
