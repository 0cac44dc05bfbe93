package bridge

import (
	"context"
	"fmt"
	"math"
	"time"
)

const (
	// startMaxAge is how old the knowledge of a partition's first offset may be
	// when it is told to consumers. A read that comes too early notices at once.
	startMaxAge = 30 * time.Second
	// tailDistance is how near to the end, in records, a read counts as one of a
	// consumer that keeps up.
	tailDistance = 20_000
	// maxReadCount bounds the messages of one read.
	maxReadCount = 20_000
	// maxReadBytes bounds, by the average size of a message, the bytes of one.
	maxReadBytes = 8 << 20
	// maxReads bounds the reads of one fetch.
	maxReads = 4
	// firstReadCount is how many messages are read while their size is unknown.
	firstReadCount = 64
)

// Fetch reads batches from an offset on. Nothing to read is no error: Records
// is then empty. Errors: ErrOffsetOutOfRange, at once, for offsets below the
// log's start or above its end; ErrStorage when Iggy's log has a hole; and
// whatever else ErrorCode knows.
func (b *Bridge) Fetch(ctx context.Context, t *Topic, partition int32, spec FetchSpec) (Fetched, error) {
	p, err := b.partition(ctx, t, partition)
	if err != nil {
		return Fetched{}, err
	}
	start, hw, err := p.checkOffset(ctx, spec.Offset)
	f := fetching{
		Fetched: Fetched{HighWatermark: hw, LogStartOffset: start, LastStableOffset: hw},
		spec:    spec, topic: t, partition: p, offset: spec.Offset, limit: math.MaxInt64,
	}
	if err != nil {
		return f.Fetched, err
	}
	if f.LastStableOffset, err = p.stable(ctx, hw); err != nil {
		return f.Fetched, err
	}
	if spec.Committed {
		f.limit = f.LastStableOffset
	}
	if spec.Offset >= min(hw, f.limit) {
		return f.Fetched, nil
	}
	if err := f.run(ctx); err != nil {
		if len(f.Records) == 0 {
			return f.Fetched, err
		}
		// What was read before the fault is good; the next fetch meets it again.
		b.log.WithError(err).WithField("topic", t.Name).WithField("partition", partition).Debug("fetch cut short")
	} else {
		f.readAhead()
	}
	if spec.Committed {
		f.Aborted = p.aborted(spec.Offset, f.offset)
	}
	return f.Fetched, nil
}

// checkOffset returns the partition's bounds, or ErrOffsetOutOfRange when the
// offset is not within them.
func (p *partition) checkOffset(ctx context.Context, offset int64) (start, hw int64, err error) {
	if start, err = p.startOffset(ctx, startMaxAge); err != nil {
		return -1, -1, err
	}
	hw, known := p.watermark()
	switch {
	case !known || offset > hw:
		hw, err = p.freshWatermark(ctx, 0)
	case offset == hw:
		// Those who wait are told by the watch; only a fetch that nobody told asks.
		hw, err = p.freshWatermark(ctx, p.topic.bridge.watches.maxAge())
	}
	if err != nil {
		return start, -1, err
	}
	if offset < start || offset > hw {
		return start, hw, fmt.Errorf("%w: %d is not within %d to %d", ErrOffsetOutOfRange, offset, start, hw)
	}
	if hw-offset <= tailDistance {
		p.mu.Lock()
		p.lastTailRead = p.topic.bridge.config.Now()
		p.mu.Unlock()
	}
	return start, hw, nil
}

// fetching is a fetch on its way.
type fetching struct {
	Fetched
	spec      FetchSpec
	topic     *Topic
	partition *partition
	offset    int64 // the next one to read
	limit     int64 // the first offset that is not to be returned
	size      int   // of Records
	toCache   bool  // nothing is returned, everything goes to the cache
}

// left is how many bytes the caller can still take.
func (f *fetching) left() int { return f.spec.MaxBytes - f.size }

// fits reports whether a batch of n bytes may be returned.
func (f *fetching) fits(n int) bool {
	return !f.toCache && (n <= f.left() || f.spec.AtLeastOne && len(f.Records) == 0)
}

func (f *fetching) add(raw []byte, end int64) {
	f.Records = append(f.Records, raw)
	f.size += len(raw)
	f.offset = end
	f.HighWatermark = max(f.HighWatermark, end)
}

func (f *fetching) run(ctx context.Context) error {
	cache := f.partition.topic.bridge.cache
	for reads := 0; f.offset < min(f.HighWatermark, f.limit); {
		raw, end, ok := cache.get(f.partition, f.offset)
		switch {
		case ok && !f.fits(len(raw)):
			return nil
		case ok:
			f.add(raw, end)
			continue
		case reads == maxReads, f.size > f.spec.MaxBytes/2, f.left() <= 0 && !f.spec.AtLeastOne:
			return nil
		case f.partition.awaitAhead(ctx, f.offset):
			reads++
			continue
		}
		reads++
		full, err := f.read(ctx)
		if err != nil || full {
			return err
		}
	}
	return nil
}

// read asks Iggy for about as many messages as the caller can still take. full
// says that it cannot take what comes next.
func (f *fetching) read(ctx context.Context) (full bool, err error) {
	p, b := f.partition, f.partition.topic.bridge
	seen, at := p.topic.raises.Load(), b.config.Now()
	res, err := b.transport.read(ctx, &p.ref, readRequest{offset: f.offset, count: p.readCount(f.left())})
	if err != nil {
		b.suspect(p.topic, err)
		return false, err
	}
	messages, err := p.contiguous(ctx, res.messages, f.offset)
	if err != nil {
		return false, err
	}
	if len(messages) == 0 {
		return true, nil
	}
	p.observe(res.current+1, seen, at)
	f.HighWatermark = max(f.HighWatermark, res.current+1)
	if last := f.offset + int64(len(messages)); last > f.limit {
		// What lies behind belongs to open transactions, or is mixed with them.
		messages = messages[:f.limit-f.offset]
	}

	p.noteSizes(messages)
	return f.take(messages)
}

// readCount is how many messages should fit into n bytes. It goes by the
// average size, but when larger messages came by lately, by those: an answer
// has no limit in bytes, and is held in memory.
func (p *partition) readCount(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n = min(max(n, 1), maxReadBytes)
	size := max(p.averageBytes, p.largestBytes/16)
	if size == 0 {
		return firstReadCount
	}
	return min(max(int(float64(n)/size)+1, 1), maxReadCount)
}

// contiguous returns the leading messages that follow one another from offset
// on. Messages missing at the front mean that retention deleted them, which is
// ErrOffsetOutOfRange, or that the log has a hole, which is ErrStorage and
// never skipped.
func (p *partition) contiguous(ctx context.Context, messages []message, offset int64) ([]message, error) {
	if len(messages) > 0 && int64(messages[0].Header.Offset) == offset {
		for i := range messages {
			if int64(messages[i].Header.Offset) != offset+int64(i) {
				return messages[:i], nil
			}
		}
		return messages, nil
	}
	b := p.topic.bridge
	start, err := p.findStart(ctx, b.config.Now())
	if err != nil {
		return nil, err
	}
	if offset < start {
		return nil, fmt.Errorf("%w: the log starts at %d, not %d", ErrOffsetOutOfRange, start, offset)
	}
	if len(messages) > 0 {
		got := messages[0].Header.Offset
		b.log.WithField("topic", p.topic.name).WithField("partition", p.id).WithField("offset", offset).WithField("got", got).
			Error("Iggy's log has a hole")
		return nil, fmt.Errorf("%w: asked for offset %d, got %d", ErrStorage, offset, got)
	}
	hw, err := p.freshWatermark(ctx, 0)
	if err != nil {
		return nil, err
	}
	if offset < hw {
		return nil, fmt.Errorf("%w: nothing at offset %d of a log from %d to %d", ErrStorage, offset, start, hw)
	}
	return nil, nil
}
