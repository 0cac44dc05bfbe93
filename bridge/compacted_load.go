package bridge

import (
	"context"
	"fmt"

	"kafka-iggy-bridge/internal/records"
)

const (
	// loadReadBytes is about how much one read of a load fetches.
	loadReadBytes = 4 << 20
	// loadAhead is how many reads may wait for the one who takes the records.
	loadAhead = 2
	// markerAttempts bounds how often a generation without a marker is voided
	// before the load gives up.
	markerAttempts = 3
)

// Load reads the log from the start of its present generation to its end, and
// calls apply for each record in the order of their offsets. The record and what
// it points to are apply's only during the call. A nil value is a tombstone;
// markers are left out.
//
// It may be called again at any time, also after a failure; what was applied
// before is then to be thrown away. Errors say where the log cannot be read.
// ErrLogChanged says that another bridge has left the generation meanwhile.
func (l *CompactedLog) Load(ctx context.Context, apply func(*records.Record)) error {
	unlock, err := l.lock(ctx)
	if err != nil {
		return l.wrap("loading", err)
	}
	defer unlock()
	l.unload()
	_, owner, err := l.topic.partition(l.partition)
	if err == nil {
		err = l.topic.bridge.usable()
	}
	if err != nil {
		return l.wrap("loading", err)
	}
	err = l.load(ctx, owner, apply)
	if isGone(err) {
		err = fmt.Errorf("%w: its generation was deleted: %v", ErrLogChanged, err)
	}
	if err != nil {
		return l.wrap("loading", err)
	}
	return nil
}

func (l *CompactedLog) load(ctx context.Context, owner *partition, apply func(*records.Record)) error {
	g, err := l.settle(ctx)
	if err != nil {
		return err
	}
	r := logReader{log: l, generation: g, apply: apply}
	if g.exists() {
		if err := r.run(ctx); err != nil {
			return err
		}
	}
	l.topic.chain(l.partition).moveTo(g, g.base+r.next)
	owner.restart(g.base, g.base+r.next)
	l.loaded, l.base, l.end = true, g, g.base+r.next
	l.len.Store(r.count)
	return nil
}

// settle decides which generation holds, for good, and makes the others be
// deleted later.
func (l *CompactedLog) settle(ctx context.Context) (generation, error) {
	listed, err := l.topic.listGenerations(ctx)
	if err != nil {
		return generation{}, err
	}
	generations := listed[l.partition]
	if len(generations) == 0 {
		return generation{}, nil
	}
	c, n := l.topic.chain(l.partition), l.topic.bridge.internals
	for i := len(generations) - 1; i > 0; i-- {
		v := newVerdict(generations[i])
		if err := l.topic.judge(ctx, &v); err != nil {
			return generation{}, err
		}
		if v.marker == markerNone {
			if err := l.void(ctx, &v); err != nil {
				return generation{}, err
			}
		}
		c.remember(v)
		if v.marker == markerComplete {
			n.doom(v, generations[:i]...)
			return v.generation, nil
		}
		n.doom(v, v.generation)
	}
	return generations[0], nil
}

// void writes a void marker into a generation that has no marker, and finds out
// which marker is its first.
func (l *CompactedLog) void(ctx context.Context, v *verdict) error {
	for range markerAttempts {
		w, err := l.topic.bridge.newGenerationWriter(v.generation, v.next)
		if err != nil {
			return err
		}
		_, writeErr := w.mark(ctx, markerVoid)
		if err := l.topic.judge(ctx, v); err != nil {
			return err
		}
		if v.marker != markerNone {
			return nil
		}
		if writeErr != nil && isOutcomeKnown(writeErr) {
			return writeErr
		}
	}
	return fmt.Errorf("%w: the marker does not appear in %v", ErrStorage, v.generation.location)
}

// logReader reads a generation from its start to its end.
type logReader struct {
	log        *CompactedLog
	generation generation
	apply      func(*records.Record)

	decoded decoded
	next    int64 // offset in Iggy
	count   int64 // records
	foreign int64 // messages that are no records of an internal topic
	whole   bool  // the marker of a complete snapshot was there
}

// readAnswer is what one read brought.
type readAnswer struct {
	messages []message
	err      error
}

// run reads and applies at the same time.
func (r *logReader) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	answers := make(chan readAnswer, loadAhead-1)
	go r.read(ctx, answers)
	// The reader ends by itself, or soon after ctx does; what it has read by then
	// is thrown away.
	defer func() {
		cancel()
		for range answers {
		}
	}()
	for answer := range answers {
		if answer.err != nil {
			return answer.err
		}
		for i := range answer.messages {
			if err := r.take(&answer.messages[i]); err != nil {
				return err
			}
		}
	}
	r.report()
	return ctx.Err()
}

// report logs what is odd about what was read.
func (r *logReader) report() {
	log := r.log.topic.bridge.log.WithField("iggy", r.generation.location.String())
	if r.foreign > 0 {
		log.WithField("messages", r.foreign).Warn("messages without a key in an internal topic are left out")
	}
	if r.generation.base > 0 && !r.whole {
		log.Error("the only generation of an internal topic's partition is not complete: Iggy lost messages of it")
	}
}

// read sends the generation's messages until there are no more, and closes the
// channel.
func (r *logReader) read(ctx context.Context, answers chan<- readAnswer) {
	defer close(answers)
	inner := r.log.topic.bridge.inner
	count, next := firstReadCount, int64(0)
	for {
		res, err := inner.read(ctx, r.generation.ref, readRequest{offset: next, count: count, behindAppend: true})
		if err != nil {
			err = fmt.Errorf("reading %v at %d: %w", r.generation.location, next, err)
		} else if len(res.messages) == 0 {
			return
		}
		select {
		case answers <- readAnswer{messages: res.messages, err: err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
		bytes := 0
		for i := range res.messages {
			bytes += messageSize(&res.messages[i])
		}
		next += int64(len(res.messages))
		count = min(max(loadReadBytes/(bytes/len(res.messages)), 1), maxReadCount)
	}
}

// take applies a message.
func (r *logReader) take(m *message) error {
	if int64(m.Header.Offset) != r.next {
		return fmt.Errorf("%w: %v has offset %d where %d should be", ErrStorage, r.generation.location, m.Header.Offset, r.next)
	}
	r.next++
	d := &r.decoded
	d.decode(m)
	switch {
	case d.control:
		r.whole = r.whole || markerOf(m) == markerComplete
	case d.unreadable != "":
		return fmt.Errorf("%w: %v, offset %d: %s", ErrStorage, r.generation.location, m.Header.Offset, d.unreadable)
	case d.Key == nil:
		r.foreign++
	default:
		d.Offset += r.generation.base
		r.apply(&d.Record)
		r.count++
	}
	return nil
}

// restart sets a partition's bounds as its log was just read.
func (p *partition) restart(start, end int64) {
	now := p.topic.bridge.config.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hwKnown && end < p.hw {
		p.shrankLocked(end)
	}
	if end > p.hw || !p.hwKnown {
		p.raiseLocked(end)
	}
	p.hwAt = now
	p.logStart, p.logStartKnown, p.logStartAt = start, true, now
	p.index.trim(start)
}
