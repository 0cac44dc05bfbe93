package bridge

import (
	"sync"
	"sync/atomic"
	"time"
)

// Watcher tells when partitions grow.
type Watcher struct {
	// C receives when one of the partitions has grown beyond the offset it was
	// watched with, or when its topic vanished. It is never closed.
	C <-chan struct{}

	c          chan struct{}
	partitions []*partition
	one        [1]*partition // what partitions is made of in the common case
	hub        *watchHub
}

func (w *Watcher) signal() {
	select {
	case w.c <- struct{}{}:
	default: // it was told already
	}
}

// Close ends the watch. It must be called once the watcher is not needed.
func (w *Watcher) Close() {
	for _, p := range w.partitions {
		p.mu.Lock()
		delete(p.watchers, w)
		p.mu.Unlock()
	}
	w.hub.leave(w.partitions)
	w.partitions = nil
}

// Watch tells when partitions grow beyond the offsets given with them. Appends
// through this bridge are told at once, those of others when the topic is
// looked at next: once in Config.WatchInterval or so, for all its watchers
// together, and only while there are any.
func (b *Bridge) Watch(partitions []TopicPartition) *Watcher {
	w := &Watcher{c: make(chan struct{}, 1), hub: b.watches}
	w.C = w.c
	if b.usable() != nil {
		w.signal()
		return w
	}
	if w.partitions = w.one[:0]; len(partitions) > len(w.one) {
		w.partitions = make([]*partition, 0, len(partitions))
	}
	for _, tp := range partitions {
		p, err := tp.Topic.state.partition(tp.Partition)
		if err != nil {
			w.signal()
			continue
		}
		p.mu.Lock()
		if p.watchers == nil {
			p.watchers = make(map[*Watcher]int64)
		}
		p.watchers[w] = tp.Offset
		grown := p.hwKnown && p.hw > tp.Offset
		p.mu.Unlock()
		if grown || p.topic.gone.Load() {
			w.signal()
		}
		w.partitions = append(w.partitions, p)
	}
	b.watches.join(w.partitions)
	return w
}

// wakeAll tells all watchers of a partition.
func (p *partition) wakeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for w := range p.watchers {
		w.signal()
	}
}

// watchHub looks at the topics that are watched. One goroutine does so for all
// of them, and there is none while nobody watches.
type watchHub struct {
	bridge *Bridge

	mu      sync.Mutex
	topics  map[*topicState]int // watched partitions, one count for each watcher
	running bool
	closed  bool
	wake    chan struct{}
	pause   atomic.Int64 // time between two looks at a topic, ns
}

// watchPace is the least time between two looks: with very many topics each is
// looked at less often, rather than Iggy all the time.
const watchPace = 4 * time.Millisecond

func newWatchHub(b *Bridge) *watchHub {
	h := &watchHub{bridge: b, topics: make(map[*topicState]int), wake: make(chan struct{}, 1)}
	h.pause.Store(int64(b.config.WatchInterval))
	return h
}

// maxAge is how old the knowledge of a partition's end may be when a consumer
// that has read everything asks again: as old as it may get while it is watched.
func (h *watchHub) maxAge() time.Duration { return 2 * time.Duration(h.pause.Load()) }

func (h *watchHub) join(partitions []*partition) {
	if len(partitions) == 0 {
		return
	}
	h.mu.Lock()
	for _, p := range partitions {
		h.topics[p.topic]++
	}
	start := !h.running && !h.closed
	h.running = h.running || start
	h.mu.Unlock()
	if start {
		h.bridge.spawn(h.run)
	}
}

func (h *watchHub) leave(partitions []*partition) {
	if len(partitions) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range partitions {
		if h.topics[p.topic]--; h.topics[p.topic] <= 0 {
			delete(h.topics, p.topic)
		}
	}
}

func (h *watchHub) close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// watched are the topics watched now; none ends the goroutine.
func (h *watchHub) watched() []*topicState {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.topics) == 0 || h.closed {
		h.running = false
		return nil
	}
	topics := make([]*topicState, 0, len(h.topics))
	for t := range h.topics {
		topics = append(topics, t)
	}
	return topics
}

// run looks at the watched topics in turn. A topic that is not watched any
// longer is looked at once more at most.
func (h *watchHub) run() {
	timer := time.NewTimer(h.bridge.config.WatchInterval)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-h.wake:
		case <-h.bridge.ctx.Done():
		}
		topics := h.watched()
		if len(topics) == 0 {
			return
		}
		begun := time.Now()
		for _, t := range topics {
			if t.gone.Load() || h.bridge.ctx.Err() != nil {
				continue
			}
			if err := t.refresh(h.bridge.ctx); err != nil {
				h.bridge.log.WithError(err).WithField("topic", t.name).Debug("a watched topic could not be looked at")
			}
		}
		pause := max(h.bridge.config.WatchInterval, time.Duration(len(topics))*watchPace)
		h.pause.Store(int64(pause))
		timer.Reset(max(pause-time.Since(begun), watchPace))
	}
}
