package bridge

import (
	"context"
)

// A consumer that works its way through a log asks for the next part as soon as
// it has one. While it is busy with that, the bridge reads the next part from
// Iggy and puts it into the cache, so that both work at the same time.

// ahead is a read that goes on ahead of a consumer.
type ahead struct {
	from int64
	done chan struct{}
}

// readAhead begins to read what follows a fetch, unless somebody does so
// already, the cache has it, or the cache is off.
func (f *fetching) readAhead() {
	p, b := f.partition, f.partition.topic.bridge
	if !b.cache.enabled() || f.offset >= min(f.HighWatermark, f.limit) || f.size < f.spec.MaxBytes/2 || b.cache.has(p, f.offset) {
		return
	}
	a := &ahead{from: f.offset, done: make(chan struct{})}
	p.mu.Lock()
	busy := p.ahead != nil
	if !busy {
		p.ahead = a
	}
	p.mu.Unlock()
	if busy {
		return
	}
	next := &fetching{Fetched: f.Fetched, topic: f.topic, partition: p, offset: f.offset, limit: f.limit, toCache: true}
	next.Records = nil
	next.spec.MaxBytes = f.spec.MaxBytes
	b.spawn(func() {
		// A failure is met again, and told, by the fetch that needs the data.
		if _, err := next.read(b.ctx); err != nil {
			b.log.WithError(err).WithField("topic", p.topic.name).WithField("partition", p.id).Debug("reading ahead failed")
		}
		p.mu.Lock()
		p.ahead = nil
		p.mu.Unlock()
		close(a.done)
	})
}

// awaitAhead waits for a read that is on its way to the offset, and reports
// whether there was one.
func (p *partition) awaitAhead(ctx context.Context, offset int64) bool {
	p.mu.Lock()
	a := p.ahead
	p.mu.Unlock()
	if a == nil || a.from != offset {
		return false
	}
	select {
	case <-a.done:
		return true
	case <-ctx.Done():
		return false
	}
}
