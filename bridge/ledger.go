package bridge

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"kafka-iggy-bridge/internal/producers"
	"kafka-iggy-bridge/internal/records"
)

// A partition's ledger (package producers) is in memory and follows from the
// log: message ids say who wrote what. It is opened by the first append of a
// producer with an id, or by the first reader who asks for committed records:
// from the snapshot in the internal state, and the messages behind it. So that
// a log which no producer with an id ever wrote to needs no reading, the first
// such append stores a snapshot before it is written: without one there is
// nothing to be known.

const (
	producersPrefix = "producers/"
	// lostSnapshotTail is how many messages before the end are read when a
	// snapshot should be there and is not to be had: producers that are still at
	// work wrote within them.
	lostSnapshotTail = 100_000
	// snapshotEvery is after how many messages a ledger's snapshot is renewed, so
	// that little is to be read after a crash: some 100 MB with records of 1 KB.
	// Where a snapshot is large it is renewed less often, after snapshotEach messages
	// for each producer in it.
	snapshotEvery = 100_000
	snapshotEach  = 10
	// absentFor is how long it holds that a partition has no snapshot: other
	// bridges may write one.
	absentFor = time.Second
)

// partitionLedger is a partition's ledger and what is needed to keep it.
type partitionLedger struct {
	// catching is held by whoever reads the log into the ledger, saving by whoever
	// stores a snapshot.
	catching, saving chan struct{}

	mu     sync.Mutex
	ledger *producers.Ledger // nil until opened
	// saved is how far the stored snapshot reaches, noSnapshot without one.
	saved int64
	// renewing is where the ledger was when a newer snapshot was last asked for.
	renewing int64
	// absentAt is when it was found that there is no snapshot.
	absentAt time.Time
}

const noSnapshot = -1

func newPartitionLedger() partitionLedger {
	return partitionLedger{catching: make(chan struct{}, 1), saving: make(chan struct{}, 1), saved: noSnapshot}
}

// with calls f with the ledger unless it is not open.
func (pl *partitionLedger) with(f func(*producers.Ledger)) (open bool) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	if pl.ledger != nil {
		f(pl.ledger)
	}
	return pl.ledger != nil
}

// drop forgets the ledger: the log lost what it knows of.
func (pl *partitionLedger) drop() {
	pl.mu.Lock()
	pl.ledger = nil
	pl.mu.Unlock()
}

// openLedger makes the ledger account for the log up to an offset.
func (p *partition) openLedger(ctx context.Context, end int64) error {
	pl := &p.ledger
	done := false
	if open := pl.with(func(l *producers.Ledger) { done = l.Next() >= end }); open && done {
		return nil
	}
	release, err := hold(ctx, pl.catching)
	if err != nil {
		return err
	}
	defer release()
	pl.mu.Lock()
	if pl.ledger == nil {
		pl.ledger, pl.saved = p.restoreLedger(end)
	}
	from := pl.ledger.Next()
	pl.mu.Unlock()
	if from >= end {
		return nil
	}
	return p.replay(ctx, from, end)
}

// restoreLedger makes a ledger of the snapshot in the internal state.
func (p *partition) restoreLedger(end int64) (ledger *producers.Ledger, saved int64) {
	b := p.topic.bridge
	raw, ok := b.state.get(p.ledgerKey())
	if !ok {
		return producers.NewLedger(end), noSnapshot
	}
	var snapshot []byte
	err := json.Unmarshal(raw, &snapshot)
	if err == nil {
		ledger, err = producers.Restore(snapshot)
	}
	if err == nil && ledger.Next() > end {
		err = fmt.Errorf("%w: it reaches to offset %d of a log that ends at %d", ErrStorage, ledger.Next(), end)
	}
	if err != nil {
		b.log.WithError(err).WithField("topic", p.topic.name).WithField("partition", p.id).
			Warn("a stored snapshot of a partition's producers is of no use; they are taken from the log's tail")
		return producers.NewLedger(max(0, end-lostSnapshotTail)), 0
	}
	return ledger, ledger.Next()
}

func (p *partition) ledgerKey() string {
	return ledgerKeys(p.topic.id) + strconv.Itoa(int(p.id))
}

func ledgerKeys(id [16]byte) string { return producersPrefix + hex.EncodeToString(id[:]) + "/" }

// hasLedger reports whether a producer with an id may ever have written to the
// partition.
func (p *partition) hasLedger() bool {
	pl, b := &p.ledger, p.topic.bridge
	now := b.config.Now()
	pl.mu.Lock()
	defer pl.mu.Unlock()
	switch {
	case pl.ledger != nil:
		return true
	case now.Sub(pl.absentAt) < absentFor, IsReservedTopic(p.topic.name):
		return false
	}
	if _, ok := b.state.get(p.ledgerKey()); ok {
		return true
	}
	pl.absentAt = now
	return false
}

// admit decides what becomes of a batch or marker, before it is written where
// the log is expected to end. What was written before is not written again.
func (p *partition) admit(ctx context.Context, job *Pending, expected int64) (before *producers.Appended, err error) {
	if !job.batch.HasProducer() || IsReservedTopic(p.topic.name) {
		return nil, nil // the bridge writes its own topics, markers of its own among it
	}
	if err := p.openLedger(ctx, expected); err != nil {
		return nil, err
	}
	if err := p.saveFirst(ctx); err != nil {
		return nil, err
	}
	p.ledger.with(func(l *producers.Ledger) {
		if job.marker == nil {
			before, err = l.Check(ledgerBatch(job.batch))
			return
		}
		var needed bool
		if needed, err = l.CheckMarker(*job.marker); err == nil && !needed {
			before = &producers.Appended{Base: unknownOffset, Timestamp: records.NoTimestamp}
		}
	})
	return before, err
}

// unknownOffset is the base offset of a marker that was written before.
const unknownOffset = -1

// saveFirst stores a snapshot where there is none: it says that the log is to be
// read from here on.
func (p *partition) saveFirst(ctx context.Context) error {
	pl := &p.ledger
	pl.mu.Lock()
	missing := pl.ledger != nil && pl.saved == noSnapshot
	pl.mu.Unlock()
	if !missing {
		return nil
	}
	return p.saveLedger(ctx)
}

// saveLedger stores a snapshot if there is something new.
func (p *partition) saveLedger(ctx context.Context) error {
	pl, b := &p.ledger, p.topic.bridge
	release, err := hold(ctx, pl.saving)
	if err != nil {
		return err
	}
	defer release()
	pl.mu.Lock()
	if pl.ledger == nil || pl.saved >= pl.ledger.Next() {
		pl.mu.Unlock()
		return nil
	}
	next, snapshot := pl.ledger.Next(), pl.ledger.Snapshot()
	pl.mu.Unlock()
	if err := b.state.put(ctx, p.ledgerKey(), snapshot); err != nil {
		return fmt.Errorf("storing the producers of %s-%d: %w", p.topic.name, p.id, err)
	}
	pl.mu.Lock()
	pl.saved = next
	pl.mu.Unlock()
	return nil
}

func ledgerBatch(b *records.Batch) producers.Batch {
	return producers.Batch{
		ProducerID: b.ProducerID, Epoch: b.ProducerEpoch,
		FirstSequence: b.BaseSequence, LastSequence: nextSequence(b.BaseSequence, int(b.Count)-1),
		Transactional: b.IsTransactional(),
	}
}

// account puts a batch that was written at base into the ledger, if that is
// open; n is the number of its records and maxTime its greatest timestamp.
func (p *partition) account(ctx context.Context, job *Pending, base int64, n int, maxTime int64) {
	batch := job.batch
	behind := false
	p.ledger.with(func(l *producers.Ledger) {
		switch {
		case l.Next() != base:
			behind = true
		case job.marker != nil:
			l.End(*job.marker, base, maxTime)
		case batch.HasProducer():
			l.Append(ledgerBatch(batch), producers.Appended{Base: base, Timestamp: maxTime}, n)
		default:
			l.Skip(base + int64(n))
		}
	})
	if behind && (batch.HasProducer() || job.marker != nil) {
		// Somebody else wrote in between: what that was has to be read.
		if err := p.openLedger(ctx, base+int64(n)); err != nil {
			p.topic.bridge.log.WithError(err).WithField("topic", p.topic.name).WithField("partition", p.id).
				Warn("the producers of a partition could not be brought up to date; that is tried again by who needs them")
		}
	}
	p.renewSnapshot()
}

// renewSnapshot stores a snapshot, in the background, when the last one is old.
func (p *partition) renewSnapshot() {
	pl, b := &p.ledger, p.topic.bridge
	pl.mu.Lock()
	due := false
	if pl.ledger != nil && pl.saved != noSnapshot {
		due = pl.ledger.Next()-max(pl.saved, pl.renewing) > max(snapshotEvery, snapshotEach*int64(pl.ledger.Len()))
	}
	if due {
		pl.renewing = pl.ledger.Next()
	}
	pl.mu.Unlock()
	if !due {
		return
	}
	b.spawn(func() {
		if err := p.saveLedger(b.ctx); err != nil && b.ctx.Err() == nil {
			b.log.WithError(err).Warn("a snapshot of a partition's producers could not be stored; the next is due later")
		}
	})
}

// stable is the last stable offset of a partition with a high watermark.
func (p *partition) stable(ctx context.Context, hw int64) (int64, error) {
	if !p.hasLedger() {
		return hw, nil
	}
	if err := p.openLedger(ctx, hw); err != nil {
		return 0, err
	}
	stable := hw
	p.ledger.with(func(l *producers.Ledger) { stable = l.LastStable(hw) })
	return stable, nil
}

// aborted are the aborted transactions with records from one offset up to
// another.
func (p *partition) aborted(from, to int64) (found []producers.Aborted) {
	p.ledger.with(func(l *producers.Ledger) { found = l.Aborted(from, to) })
	return found
}

// tidyLedger forgets what is not needed any longer, and stores the rest if it
// changed.
func (p *partition) tidyLedger(ctx context.Context) error {
	config, start := &p.topic.bridge.config, p.knownStart()
	p.ledger.with(func(l *producers.Ledger) {
		l.Expire(config.Now(), config.ProducerIDExpiration)
		l.Trim(start)
	})
	return p.saveLedger(ctx)
}
