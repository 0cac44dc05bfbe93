package bridge

import (
	"context"
)

// indexReadBytes is about how much one read fetches when the index is grown
// from the log.
const indexReadBytes = 4 << 20

// OffsetForTimestamp finds the first record of a partition whose timestamp, in
// ms, is ts or later, also when timestamps are out of order, and returns its
// offset and timestamp; -1 and -1 when there is none. What the index does not
// know yet is read from the log, and known from then on even if the call ends
// early.
func (b *Bridge) OffsetForTimestamp(ctx context.Context, t *Topic, partition int32, ts int64) (offset, timestamp int64, err error) {
	walk, err := b.newTimeWalk(ctx, t, partition)
	if err != nil {
		return -1, -1, err
	}
	for walk.offset < walk.end {
		s, known := walk.partition.index.next(walk.offset, walk.end)
		if known && s.maxTime < ts {
			walk.offset = s.end
			continue
		}
		found, at, err := walk.scan(ctx, min(s.end, walk.end), func(d *decoded) bool { return d.Timestamp >= ts })
		if err != nil {
			return -1, -1, err
		}
		if found {
			return at.offset, at.time, nil
		}
	}
	return -1, -1, nil
}

// MaxTimestamp finds the record with the greatest timestamp, the first of them
// when there are several, and returns its offset and timestamp in ms; -1 and -1
// for an empty partition.
func (b *Bridge) MaxTimestamp(ctx context.Context, t *Topic, partition int32) (offset, timestamp int64, err error) {
	walk, err := b.newTimeWalk(ctx, t, partition)
	if err != nil {
		return -1, -1, err
	}
	offset, timestamp = -1, -1
	for walk.offset < walk.end {
		s, known := walk.partition.index.next(walk.offset, walk.end)
		if !known || s.end > walk.end {
			// Reading makes it known; with s beyond the end only its front counts.
			_, _, err := walk.scan(ctx, min(s.end, walk.end), func(d *decoded) bool {
				if offset < 0 || d.Timestamp > timestamp {
					offset, timestamp = d.Offset, d.Timestamp
				}
				return false
			})
			if err != nil {
				return -1, -1, err
			}
			continue
		}
		if offset < 0 || s.maxTime > timestamp {
			offset, timestamp = s.maxAt, s.maxTime
		}
		walk.offset = s.end
	}
	return offset, timestamp, nil
}

// timeWalk is a way through a partition from its start to its end.
type timeWalk struct {
	topic       *Topic
	partition   *partition
	offset, end int64
	decoded     decoded
}

type timePoint struct{ offset, time int64 }

func (b *Bridge) newTimeWalk(ctx context.Context, t *Topic, partition int32) (*timeWalk, error) {
	p, err := b.partition(ctx, t, partition)
	if err != nil {
		return nil, err
	}
	start, err := p.startOffset(ctx, 0)
	if err != nil {
		return nil, err
	}
	end, err := p.freshWatermark(ctx, 0)
	if err != nil {
		return nil, err
	}
	b.restoreIndex(ctx, p, end)
	p.index.trim(start)
	return &timeWalk{topic: t, partition: p, offset: start, end: end}, nil
}

// scan reads records from w.offset up to end until one matches, and moves
// w.offset. What it read goes into the index.
func (w *timeWalk) scan(ctx context.Context, end int64, match func(*decoded) bool) (found bool, at timePoint, err error) {
	p, b := w.partition, w.partition.topic.bridge
	for w.offset < end {
		if err := ctx.Err(); err != nil {
			return false, at, err
		}
		count := min(int64(p.readCount(indexReadBytes)), end-w.offset)
		res, err := b.transport.read(ctx, &p.ref, readRequest{offset: w.offset, count: int(count)})
		if err != nil {
			return false, at, err
		}
		messages, err := p.contiguous(ctx, res.messages, w.offset)
		if err != nil {
			return false, at, err
		}
		if len(messages) == 0 {
			w.offset = w.end // the log ends earlier than it did
			return false, at, nil
		}
		found, at = w.look(messages, match)
		if found {
			return true, at, nil
		}
		w.offset += int64(len(messages))
	}
	return false, at, nil
}

// look decodes messages until one matches. When none did, they are indexed.
func (w *timeWalk) look(messages []message, match func(*decoded) bool) (bool, timePoint) {
	byAppend := w.topic.Config.LogAppendTime()
	var maxTime, maxAt int64
	for i := range messages {
		d := &w.decoded
		d.decode(&messages[i])
		if byAppend {
			d.Timestamp = int64(messages[i].Header.Timestamp / 1000)
		}
		if i == 0 || d.Timestamp > maxTime {
			maxTime, maxAt = d.Timestamp, d.Offset
		}
		if match(d) {
			return true, timePoint{d.Offset, d.Timestamp}
		}
	}
	w.partition.index.add(w.offset, w.offset+int64(len(messages)), maxTime, maxAt)
	return false, timePoint{}
}
