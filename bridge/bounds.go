package bridge

import (
	"context"
	"time"
)

// earliestMaxAge is how old the knowledge of a partition's first offset may be
// when a client asks for it.
const earliestMaxAge = time.Second

// HighWatermark is the offset behind a partition's last record, 0 for one that
// was never written. It is what Iggy says now, so it includes what other
// writers had been confirmed before the call.
func (b *Bridge) HighWatermark(ctx context.Context, t *Topic, partition int32) (int64, error) {
	p, err := b.partition(ctx, t, partition)
	if err != nil {
		return -1, err
	}
	hw, err := p.freshWatermark(ctx, 0)
	if err != nil {
		return -1, err
	}
	return hw, nil
}

// LogStartOffset is the offset of the first record that is still there, and the
// high watermark when there is none.
func (b *Bridge) LogStartOffset(ctx context.Context, t *Topic, partition int32) (int64, error) {
	p, err := b.partition(ctx, t, partition)
	if err != nil {
		return -1, err
	}
	start, err := p.startOffset(ctx, earliestMaxAge)
	if err != nil {
		return -1, err
	}
	return start, nil
}
