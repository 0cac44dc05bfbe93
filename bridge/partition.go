package bridge

import (
	"context"
	"fmt"
	"hash/fnv"
	"sync"
	"sync/atomic"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
)

// topicState is what the bridge knows of a topic beyond its snapshot: the
// owners of its partitions. It lives as long as the topic's identity in Iggy; a
// topic that is deleted and made anew gets another one.
type topicState struct {
	bridge   *Bridge
	name     string
	id       [16]byte
	location Location
	created  uint64 // Iggy's creation time, part of the identity
	streamID uint32
	topicID  uint32

	// raises numbers the occasions on which a partition's end was seen to grow.
	raises atomic.Uint64
	// gone is set when the topic was deleted.
	gone atomic.Bool

	bounds flights

	mu         sync.Mutex
	partitions []*partition // guarded by mu; grows, never shrinks
}

// partition owns a partition: it orders its appends and knows its bounds.
type partition struct {
	topic *topicState
	id    int32
	ref   partitionRef

	mu sync.Mutex
	// queue holds the appends that wait while running is set.
	queue   []*Pending
	running bool
	// hw is the high watermark as last seen, which is also the offset that the
	// next append expects; hwAt is when it was surely right, lastRaise the raise
	// that brought it.
	hw        int64
	hwKnown   bool
	hwAt      time.Time
	lastRaise uint64
	// logStart is the first offset as last seen.
	logStart      int64
	logStartKnown bool
	logStartAt    time.Time
	watchers      map[*Watcher]int64
	unresolved    []unresolvedAppend
	// averageBytes is a running average of a message's size, 0 when unknown, and
	// largestBytes the largest seen lately.
	averageBytes float64
	largestBytes float64
	// ahead is a read on its way ahead of a consumer.
	ahead *ahead
	// lastTailRead is when a reader last asked near the end.
	lastTailRead time.Time
	// lastUnreadable is when an unreadable message was last logged.
	lastUnreadable time.Time
	// indexRestored says that the index was filled from the internal state.
	indexRestored bool

	starts flights
	index  timeIndex
	ledger partitionLedger
}

func newTopicState(b *Bridge, name string, id [16]byte, info topicInfo) *topicState {
	t := &topicState{
		bridge:   b,
		name:     name,
		id:       id,
		location: info.location,
		created:  info.createdAt,
		streamID: info.streamID,
		topicID:  info.id,
	}
	t.grow(int(info.partitionCount))
	return t
}

// grow makes the owners of the partitions up to n.
func (t *topicState) grow(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := len(t.partitions); i < n; i++ {
		t.partitions = append(t.partitions, &partition{
			topic:  t,
			id:     int32(i),
			ref:    newPartitionRef(t.location, uint32(i)),
			index:  newTimeIndex(),
			ledger: newPartitionLedger(),
		})
	}
}

// newPartitionRef names a partition. Names, not numeric ids, go to Iggy: it
// gives a deleted topic's id to the next one, and a message must not end up
// there.
func newPartitionRef(at Location, partition uint32) partitionRef {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s/%s/%d", at.Stream, at.Topic, partition)
	return partitionRef{
		location:  at,
		partition: partition,
		stream:    nameIdentifier(at.Stream),
		topic:     nameIdentifier(at.Topic),
		lane:      h.Sum32(),
	}
}

func nameIdentifier(name string) iggcon.Identifier {
	return iggcon.Identifier{Kind: iggcon.StringId, Length: len(name), Value: []byte(name)}
}

// partition finds a partition's owner.
func (t *topicState) partition(i int32) (*partition, error) {
	if t.gone.Load() {
		return nil, fmt.Errorf("%w: %s was deleted", ErrTopicNotFound, t.name)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i < 0 || int(i) >= len(t.partitions) {
		return nil, fmt.Errorf("%w: %s-%d of %d", ErrPartitionNotFound, t.name, i, len(t.partitions))
	}
	return t.partitions[i], nil
}

// all are the partitions' owners.
func (t *topicState) all() []*partition {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.partitions[:len(t.partitions):len(t.partitions)]
}

// refresh asks Iggy for the bounds of all partitions. Callers that come while a
// request is on its way share the next one, so that each sees a state no older
// than its call, and many callers cost no more than two requests.
func (t *topicState) refresh(ctx context.Context) error {
	return t.bounds.join(ctx, func(ctx context.Context) error {
		seen, at := t.raises.Load(), t.bridge.config.Now()
		info, err := t.bridge.transport.topic(ctx, t.location)
		if err != nil {
			t.bridge.suspect(t, err)
			return err
		}
		if !t.is(info) {
			t.bridge.suspect(t, ErrTopicNotFound)
			return fmt.Errorf("%w: %s was made anew", ErrTopicNotFound, t.name)
		}
		t.grow(int(info.partitionCount))
		for i, p := range t.all() {
			if i < len(info.partitions) {
				p.observe(info.partitions[i].end, seen, at)
				p.estimate(info.partitions[i])
			}
		}
		return nil
	})
}

// is reports whether info describes this very topic and not a successor.
func (t *topicState) is(info topicInfo) bool {
	return info.createdAt == t.created && info.id == t.topicID && (info.streamID == t.streamID || info.streamID == unknownStream)
}

// observe takes note of where the partition ends, as Iggy said in an answer to
// a request that was sent at the time `at`, when seen raises had happened. It
// reports whether the partition turned out to have lost messages.
func (p *partition) observe(end int64, seen uint64, at time.Time) (lost bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !p.hwKnown || end > p.hw:
		p.raiseLocked(end)
	case end < p.hw && p.lastRaise <= seen && !p.running:
		// Nothing raised the end since the request was sent, so this answer is the
		// newer knowledge: Iggy lost messages, as 0.8.0 does when it is killed.
		p.shrankLocked(end)
		lost = true
	}
	if at.After(p.hwAt) {
		p.hwAt = at
	}
	return lost
}

// shrank forgets what was known beyond the log's new end.
func (p *partition) shrank(end int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shrankLocked(end)
}

func (p *partition) shrankLocked(end int64) {
	b := p.topic.bridge
	b.log.WithField("topic", p.topic.name).WithField("partition", p.id).WithField("was", p.hw).WithField("is", end).
		Warn("Iggy lost messages: the log ends earlier than before")
	p.hw = end
	p.logStart = min(p.logStart, end)
	b.cache.dropFrom(p, end)
	p.index.truncate(end)
	p.ledger.drop()
}

// raiseLocked sets a higher end and wakes those who wait for it.
func (p *partition) raiseLocked(end int64) {
	p.hw, p.hwKnown = end, true
	p.lastRaise = p.topic.raises.Add(1)
	for w, seen := range p.watchers {
		if end > seen {
			w.signal()
		}
	}
}

// estimate seeds the average size of a message.
func (p *partition) estimate(b bounds) {
	if b.messages == 0 || b.bytes == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.averageBytes == 0 {
		p.averageBytes = float64(b.bytes) / float64(b.messages)
	}
}

// watermark is the high watermark as far as known.
func (p *partition) watermark() (hw int64, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hw, p.hwKnown
}

// freshWatermark is the high watermark, at most maxAge old; 0 asks Iggy.
func (p *partition) freshWatermark(ctx context.Context, maxAge time.Duration) (int64, error) {
	p.mu.Lock()
	hw, fresh := p.hw, p.hwKnown && maxAge > 0 && p.topic.bridge.config.Now().Sub(p.hwAt) <= maxAge
	p.mu.Unlock()
	if fresh {
		return hw, nil
	}
	if err := p.topic.refresh(ctx); err != nil {
		return 0, err
	}
	hw, known := p.watermark()
	if !known {
		return 0, fmt.Errorf("%w: iggy did not describe partition %d of %s", ErrPartitionNotFound, p.id, p.topic.name)
	}
	return hw, nil
}

// startOffset is the first offset there is, at most maxAge old; a negative age
// takes whatever is known.
func (p *partition) startOffset(ctx context.Context, maxAge time.Duration) (int64, error) {
	now := p.topic.bridge.config.Now()
	p.mu.Lock()
	start, known, at := p.logStart, p.logStartKnown, p.logStartAt
	p.mu.Unlock()
	if known && (maxAge < 0 || now.Sub(at) <= maxAge) {
		return start, nil
	}
	err := p.starts.join(ctx, func(ctx context.Context) error {
		_, err := p.findStart(ctx, p.topic.bridge.config.Now())
		return err
	})
	if err != nil {
		return 0, err
	}
	return p.knownStart(), nil
}

// findStart asks Iggy for the first message. An empty partition starts where it
// ends.
func (p *partition) findStart(ctx context.Context, now time.Time) (int64, error) {
	start, empty, err := p.readFirst(ctx, now)
	if err == nil && empty {
		// Where it ends is to be known from before a read that finds nothing: what
		// is written between the two would otherwise lie in front of the start.
		var end int64
		if end, err = p.freshWatermark(ctx, 0); err == nil {
			start, empty, err = p.readFirst(ctx, now)
		}
		if empty {
			start = end
		}
	}
	if err != nil {
		return 0, err
	}
	p.setStart(start, now)
	return start, nil
}

// readFirst reads the first message's offset.
func (p *partition) readFirst(ctx context.Context, now time.Time) (offset int64, empty bool, err error) {
	seen := p.topic.raises.Load()
	res, err := p.topic.bridge.transport.read(ctx, &p.ref, readRequest{first: true, count: 1})
	if err != nil {
		p.topic.bridge.suspect(p.topic, err)
		return 0, false, err
	}
	if len(res.messages) == 0 {
		return 0, true, nil
	}
	p.observe(res.current+1, seen, now)
	return int64(res.messages[0].Header.Offset), false, nil
}

// setStart takes note of the first offset, which only ever grows as long as the
// log does not lose its end.
func (p *partition) setStart(start int64, at time.Time) {
	p.mu.Lock()
	if !p.logStartKnown || start > p.logStart {
		p.logStart, p.logStartKnown = start, true
	}
	p.logStartAt = at
	start = p.logStart
	p.mu.Unlock()
	p.index.trim(start)
}

// knownStart is the first offset as far as known, 0 otherwise.
func (p *partition) knownStart() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.logStart
}

// flights lets concurrent callers of the same request share it.
type flights struct {
	mu   sync.Mutex
	next *flight // not yet sent
	busy *flight // sent
}

type flight struct {
	done chan struct{}
	err  error
}

// join runs do, or waits for a run that begins after the call.
func (f *flights) join(ctx context.Context, do func(context.Context) error) error {
	f.mu.Lock()
	if mine := f.next; mine != nil {
		f.mu.Unlock()
		return mine.wait(ctx)
	}
	mine, before := &flight{done: make(chan struct{})}, f.busy
	if before == nil {
		f.busy = mine
	} else {
		f.next = mine
	}
	f.mu.Unlock()
	if before != nil {
		<-before.done
	}
	// Others depend on the outcome: one caller's departure must not end it. The
	// transport bounds it in time.
	mine.err = do(context.WithoutCancel(ctx))
	f.mu.Lock()
	f.busy, f.next = f.next, nil
	f.mu.Unlock()
	close(mine.done)
	return mine.err
}

func (f *flight) wait(ctx context.Context) error {
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return ctx.Err()
	}
}
