// Package offsetmirror shows the commits of Kafka groups to Iggy's own tools: it
// stores them as the offsets of a single consumer named like the group
// (groups.mirror_offsets). Kafka clients never read what it writes.
package offsetmirror

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"kafka-iggy-bridge/bridge"
)

// Store is where the offsets go, bridge.ConsumerOffsets. Offsets are Kafka's: the
// next to be consumed; 0 removes what is stored.
type Store interface {
	SetConsumer(ctx context.Context, consumer, topic string, partition int32, next int64) error
}

const (
	// flushInterval is how long commits are collected: of those for one partition
	// by one group only the newest is stored.
	flushInterval = time.Second
	// maxFlushInterval bounds the pause after failures, which double it.
	maxFlushInterval = 30 * time.Second
	// maxPending bounds what waits, at some 200 bytes each.
	maxPending = 50_000
	// noticeInterval is how often what could not be mirrored is logged.
	noticeInterval = time.Minute
)

// key is what an offset is stored under.
type key struct {
	group, topic string
	partition    int32
}

// Mirror takes commits and stores them in the background. It is safe for
// concurrent use. Create it with New and end it with Close.
type Mirror struct {
	store    Store
	log      logrus.FieldLogger
	interval time.Duration

	wake chan struct{}
	stop chan struct{}
	done chan struct{}
	// ctx ends the last flush when the time for it is over.
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	closed  bool
	pending map[key]int64 // the next offset, 0 for none

	// Of the loop's own.
	noticed time.Time
	refused int // since then
}

// New starts a Mirror.
func New(store Store, log logrus.FieldLogger) *Mirror { return start(store, log, flushInterval) }

func start(store Store, log logrus.FieldLogger, interval time.Duration) *Mirror {
	m := &Mirror{
		store:    store,
		log:      log,
		interval: interval,
		wake:     make(chan struct{}, 1),
		stop:     make(chan struct{}),
		done:     make(chan struct{}),
		pending:  make(map[key]int64),
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	go m.run()
	return m
}

// Committed takes a commit that is durable and was, or will be, acknowledged:
// offset is the next that the group consumes. It never waits, and copies what it
// keeps. Of what comes while too much waits already, commits for other
// partitions are dropped; their next commit makes up for it.
func (m *Mirror) Committed(group, topic string, partition int32, offset int64) {
	if bridge.CheckConsumerName(group) != nil || offset < 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	k := key{group: group, topic: topic, partition: partition}
	if _, ok := m.pending[k]; !ok {
		if m.closed || len(m.pending) >= maxPending {
			return
		}
		k.group, k.topic = strings.Clone(group), strings.Clone(topic)
	}
	m.pending[k] = offset
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// Deleted takes note that a committed offset is gone: deleted, with its group or
// alone, or expired. It never waits.
func (m *Mirror) Deleted(group, topic string, partition int32) {
	m.Committed(group, topic, partition, 0)
}

// Close stores what waits, until ctx ends, and stops. It fails when something
// was left.
func (m *Mirror) Close(ctx context.Context) error {
	m.mu.Lock()
	closed := m.closed
	m.closed = true
	m.mu.Unlock()
	if !closed {
		close(m.stop)
	}
	stop := context.AfterFunc(ctx, m.cancel)
	defer stop()
	<-m.done
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.pending); n > 0 {
		return fmt.Errorf("%d committed offsets were not mirrored to iggy", n)
	}
	return nil
}

// run stores what is collected. Nothing happens while nothing waits.
func (m *Mirror) run() {
	defer close(m.done)
	defer m.cancel()
	for {
		select {
		case <-m.wake:
		case <-m.stop:
			m.flush()
			return
		}
		for pause := m.interval; pause > 0; {
			if !m.wait(pause) {
				m.flush()
				return
			}
			if m.flush() {
				break
			}
			pause = min(2*pause, max(maxFlushInterval, m.interval))
		}
	}
}

// wait pauses; false means that the mirror is to stop.
func (m *Mirror) wait(pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-m.stop:
		return false
	}
}

// flush stores what is pending and reports whether Iggy took it. What it does
// not take now stays pending, unless there is something newer.
func (m *Mirror) flush() bool {
	m.mu.Lock()
	batch := m.pending
	m.pending = make(map[key]int64)
	m.mu.Unlock()
	for k, next := range batch {
		err := m.store.SetConsumer(m.ctx, k.group, k.topic, k.partition, next)
		if err != nil && !permanent(err) {
			m.log.WithError(err).WithField("offsets", len(batch)).Debug("committed offsets not mirrored yet")
			m.keep(batch)
			return false
		}
		if err != nil {
			m.refuse(k, next, err)
		}
		delete(batch, k)
	}
	return true
}

// keep takes back what could not be stored.
func (m *Mirror) keep(batch map[key]int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, next := range batch {
		if _, newer := m.pending[k]; !newer && len(m.pending) < maxPending {
			m.pending[k] = next
		}
	}
}

// permanent reports whether another attempt would fail as well: Kafka commits
// beyond the end of a partition, and for topics that are gone.
func permanent(err error) bool {
	for _, p := range []error{bridge.ErrOffsetOutOfRange, bridge.ErrTopicNotFound, bridge.ErrPartitionNotFound, bridge.ErrInvalidConsumer} {
		if errors.Is(err, p) {
			return true
		}
	}
	return false
}

// refuse logs what Iggy cannot take, now and then.
func (m *Mirror) refuse(k key, next int64, err error) {
	m.refused++
	if next == 0 || time.Since(m.noticed) < noticeInterval {
		return
	}
	m.log.WithError(err).WithFields(logrus.Fields{
		"group": k.group, "topic": k.topic, "partition": k.partition, "offset": next, "refused": m.refused,
	}).Info("iggy cannot hold a committed offset, it is not mirrored")
	m.noticed, m.refused = time.Now(), 0
}
