package bridge

import (
	"context"
	"fmt"

	"kafka-iggy-bridge/internal/producers"
	"kafka-iggy-bridge/internal/records"
)

// WriteMarker ends a producer's transaction in a partition with a control
// record, behind what was submitted to the partition before. A marker that is
// there already is not written again, so a coordinator may repeat what it is not
// sure of. Errors: those of package producers, and whatever else ErrorCode
// knows.
func (b *Bridge) WriteMarker(ctx context.Context, t *Topic, partition int32, m producers.Marker) error {
	p, err := b.partition(ctx, t, partition)
	if err != nil {
		return err
	}
	batch, err := b.controlBatch(m.ProducerID, m.Epoch, records.EndTxnMarker{Commit: m.Commit, CoordinatorEpoch: m.CoordinatorEpoch})
	if err != nil {
		return err
	}
	job := newPending(t, batch)
	job.marker = &m
	b.submit(p, job)
	_, err = job.Wait(ctx)
	return err
}

// controlBatch is a marker as a batch to append.
func (b *Bridge) controlBatch(producerID int64, epoch int16, m records.EndTxnMarker) (*records.Batch, error) {
	spec := records.BatchSpec{ProducerID: producerID, ProducerEpoch: epoch, LeaderEpoch: leaderEpoch}
	raw, err := records.AppendEndTxnMarker(nil, spec, b.config.Now().UnixMilli(), m)
	if err != nil {
		return nil, fmt.Errorf("building a marker: %w", err)
	}
	batch, _, err := records.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("building a marker: %w", err)
	}
	return &batch, nil
}

// Producers are the producers with an id that a partition remembers.
func (b *Bridge) Producers(ctx context.Context, t *Topic, partition int32) ([]producers.Producer, error) {
	p, hw, err := b.upToDate(ctx, t, partition)
	if err != nil {
		return nil, err
	}
	if _, err := p.stable(ctx, hw); err != nil {
		return nil, err
	}
	var all []producers.Producer
	p.ledger.with(func(l *producers.Ledger) { all = l.Producers() })
	return all, nil
}

// InTransaction reports whether a partition has records of a producer's open
// transaction, as far as is known without asking Iggy.
func (b *Bridge) InTransaction(t *Topic, partition int32, producerID int64, epoch int16) bool {
	p, err := t.state.partition(partition)
	if err != nil {
		return false
	}
	in := false
	p.ledger.with(func(l *producers.Ledger) {
		present, open := l.Open(producerID)
		in = open && present == epoch
	})
	return in
}

// LastStableOffset is the offset of the first record in an open transaction,
// else the high watermark, which comes from Iggy as of now.
func (b *Bridge) LastStableOffset(ctx context.Context, t *Topic, partition int32) (int64, error) {
	p, hw, err := b.upToDate(ctx, t, partition)
	if err != nil {
		return -1, err
	}
	stable, err := p.stable(ctx, hw)
	if err != nil {
		return -1, err
	}
	return stable, nil
}

// upToDate is a partition's owner and its high watermark as of now.
func (b *Bridge) upToDate(ctx context.Context, t *Topic, partition int32) (*partition, int64, error) {
	p, err := b.partition(ctx, t, partition)
	if err != nil {
		return nil, -1, err
	}
	hw, err := p.freshWatermark(ctx, 0)
	return p, hw, err
}
