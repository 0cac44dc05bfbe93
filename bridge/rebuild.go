package bridge

import (
	"fmt"
	"time"

	"kafka-iggy-bridge/internal/records"
)

const (
	// maxRebuilt is the size in bytes, before compression, at which a rebuilt
	// batch is ended and another begun.
	maxRebuilt = 1 << 20
	// minRebuilt is a size below which no batch is ended because fetches are
	// small.
	minRebuilt = 16 << 10
	// unreadableLogInterval is how often a partition's unreadable messages are
	// logged.
	unreadableLogInterval = time.Minute
	// recordOverhead is about what a record takes besides key, value and headers.
	recordOverhead = 24
)

// rebuilder makes batches of messages. A batch ends where the next record
// cannot be in it: of another transaction's producer, with another append time,
// or too large.
type rebuilder struct {
	topic     *Topic
	partition *partition
	codec     records.Codec
	byAppend  bool // the topic's records have the time of their append
	limit     int  // size in bytes of a batch

	builder records.Builder
	spec    records.BatchSpec
	decoded decoded
	open    bool
	out     []rebuilt

	maxTime, maxAt int64 // over all messages
	any            bool
}

type rebuilt struct {
	raw       []byte
	base, end int64
}

// take turns messages, which follow one another from f.offset on, into batches:
// as many as fit go to the caller, the others to the cache for the next fetch.
func (f *fetching) take(messages []message) (full bool, err error) {
	codec, _ := f.topic.Config.Codec()
	r := rebuilder{
		topic:     f.topic,
		partition: f.partition,
		codec:     codec,
		byAppend:  f.topic.Config.LogAppendTime(),
		// What goes to the cache should fit the next fetch of the same kind.
		limit: min(maxRebuilt, max(f.spec.MaxBytes, minRebuilt)),
	}
	room := f.left()
	for i := range messages {
		if room, err = r.add(&messages[i], room, messages[i:]); err != nil {
			return false, err
		}
	}
	if err := r.finish(); err != nil {
		return false, err
	}
	first, last := &messages[0], &messages[len(messages)-1]
	f.partition.index.add(int64(first.Header.Offset), int64(last.Header.Offset)+1, r.maxTime, r.maxAt)
	for _, b := range r.out {
		if full = full || !f.fits(len(b.raw)); full {
			f.partition.topic.bridge.cache.put(f.partition, b.base, b.end, b.raw)
			continue
		}
		f.add(b.raw, b.end)
	}
	return full, nil
}

// add appends a message to the open batch, or ends that and begins another.
// room is how many bytes the caller can still take, and what is left of them is
// returned; ahead are the messages from this one on.
func (r *rebuilder) add(m *message, room int, ahead []message) (int, error) {
	d := &r.decoded
	d.decode(m)
	if d.unreadable != "" {
		r.reportUnreadable(d)
	}
	if r.byAppend {
		d.Timestamp = int64(m.Header.Timestamp / 1000)
	}
	if !r.any || d.Timestamp > r.maxTime {
		r.maxTime, r.maxAt, r.any = d.Timestamp, d.Offset, true
	}
	spec := r.specOf(d)
	if r.open && (!r.joins(spec) || r.exceeds(d, room)) {
		room -= r.builder.Size()
		if err := r.finish(); err != nil {
			return room, err
		}
	}
	if !r.open {
		r.spec, r.open = spec, true
		r.builder.Reset(make([]byte, 0, r.capacity(ahead, room)), spec)
	}
	if err := r.builder.Append(d.Timestamp, d.Key, d.Value, d.Headers); err != nil {
		return room, fmt.Errorf("%w: building a batch: %w", ErrStorage, err)
	}
	return room, nil
}

// exceeds reports whether the open batch has no room for d.
func (r *rebuilder) exceeds(d *decoded, room int) bool {
	limit := r.limit
	if room > 0 {
		limit = min(limit, room)
	}
	// The exact size takes a while to find; near the limit only it matters.
	if len(d.Headers) == 0 && r.builder.Size()+len(d.Key)+len(d.Value)+2*recordOverhead < limit {
		return false
	}
	return r.builder.SizeWith(d.Timestamp, d.Key, d.Value, d.Headers) > limit
}

// capacity is about what the batch that begins now will take.
func (r *rebuilder) capacity(ahead []message, room int) int {
	limit := r.limit
	if room > 0 {
		limit = min(limit, room)
	}
	n := records.HeaderSize
	for i := range ahead {
		size := len(ahead[i].Payload) + len(ahead[i].UserHeaders) + recordOverhead
		if i > 0 && n+size > limit {
			break
		}
		n += size
	}
	return n
}

// specOf is the header of a batch that begins with d.
func (r *rebuilder) specOf(d *decoded) records.BatchSpec {
	spec := records.BatchSpec{BaseOffset: d.Offset, LeaderEpoch: leaderEpoch, Codec: r.codec}
	if r.byAppend {
		spec.LogAppendTime, spec.AppendTime = true, d.Timestamp
	}
	if d.transactional {
		spec.Transactional, spec.Control, spec.HasProducer = true, d.control, true
		spec.ProducerID, spec.ProducerEpoch, spec.BaseSequence = d.stamp.ID, d.stamp.Epoch, d.stamp.Sequence
	}
	if d.control {
		spec.Codec = records.CodecNone
	}
	return spec
}

// joins reports whether a record with that header can go on the open batch.
func (r *rebuilder) joins(next records.BatchSpec) bool {
	if next.Control || r.spec.Control {
		return false
	}
	want := r.spec
	want.BaseOffset = next.BaseOffset
	if want.HasProducer {
		want.BaseSequence = nextSequence(r.spec.BaseSequence, r.builder.Count())
	}
	return want == next && next.BaseOffset == r.builder.NextOffset()
}

// finish ends the open batch.
func (r *rebuilder) finish() error {
	if !r.open {
		return nil
	}
	end := r.builder.NextOffset()
	raw, err := r.builder.Finish()
	if err != nil {
		return fmt.Errorf("%w: building a batch: %w", ErrStorage, err)
	}
	r.open = false
	r.out = append(r.out, rebuilt{raw: raw, base: r.spec.BaseOffset, end: end})
	return nil
}

// reportUnreadable counts an unreadable message, and logs one a minute.
func (r *rebuilder) reportUnreadable(d *decoded) {
	p := r.partition
	b, now := p.topic.bridge, p.topic.bridge.config.Now()
	b.metrics.Unreadable(p.topic.name, p.id)
	p.mu.Lock()
	due := now.Sub(p.lastUnreadable) >= unreadableLogInterval
	if due {
		p.lastUnreadable = now
	}
	p.mu.Unlock()
	if due {
		b.log.WithField("topic", p.topic.name).WithField("partition", p.id).WithField("offset", d.Offset).
			WithField("reason", d.unreadable).Warn("a message could not be read and is delivered as it is")
	}
}
