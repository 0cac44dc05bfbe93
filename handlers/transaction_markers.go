package handlers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/internal/coordinator"
	"kafka-iggy-bridge/internal/groups"
	"kafka-iggy-bridge/internal/producers"
	"kafka-iggy-bridge/internal/statemachine"
	"kafka-iggy-bridge/internal/transactions"
)

// markerWriter ends transactions in their partitions. Each marker is written
// until that has succeeded; one that is there already is not written again.
type markerWriter struct {
	bridge *bridge.Bridge
	groups *coordinator.Coordinator
	log    logrus.FieldLogger
	// written is called when all markers of a transaction are there.
	written func(transactions.WriteMarkers) error

	ctx    context.Context
	cancel context.CancelFunc

	mu     sync.Mutex // guards the rest, and work against closed
	closed bool
	work   sync.WaitGroup
	// writing are the transactions whose markers are being written, by transactional
	// id, with what came for the same id meanwhile.
	writing map[string][]transactions.WriteMarkers
}

const (
	// minMarkerPause and maxMarkerPause bound the time before a marker is tried
	// again.
	minMarkerPause = 20 * time.Millisecond
	maxMarkerPause = 2 * time.Second
)

func newMarkerWriter(b *bridge.Bridge, groups *coordinator.Coordinator, log logrus.FieldLogger) *markerWriter {
	w := &markerWriter{bridge: b, groups: groups, log: log, writing: make(map[string][]transactions.WriteMarkers)}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	return w
}

// write begins to write a transaction's markers. A coordinator that is loaded
// anew asks for markers that are being written already: these are waited for, so
// that none comes when the id's next transaction has begun.
func (w *markerWriter) write(m transactions.WriteMarkers) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	if waiting, busy := w.writing[m.TransactionalID]; busy {
		w.writing[m.TransactionalID] = append(waiting, m)
		return
	}
	w.writing[m.TransactionalID] = nil
	w.work.Go(func() {
		for more := true; more; m, more = w.next(m.TransactionalID) {
			w.writeAll(m)
		}
	})
}

// next is what came for a transactional id while its markers were being written.
func (w *markerWriter) next(id string) (m transactions.WriteMarkers, more bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	waiting := w.writing[id]
	if len(waiting) == 0 {
		delete(w.writing, id)
		return m, false
	}
	w.writing[id] = waiting[1:]
	return waiting[0], true
}

// writeAll writes the markers, side by side, and tells when they are there.
func (w *markerWriter) writeAll(m transactions.WriteMarkers) {
	inParallel(len(m.Partitions), func(i int) { w.writeOne(m, m.Partitions[i]) })
	if w.ctx.Err() != nil {
		return
	}
	if err := w.written(m); err != nil && !errors.Is(err, coordinator.ErrClosed) {
		// The machine is being loaded, and asks for the markers again when it is.
		w.log.WithError(err).WithField("transactional_id", m.TransactionalID).Debug("a transaction's end could not be told")
	}
}

// writeOne writes one marker, however often it takes.
func (w *markerWriter) writeOne(m transactions.WriteMarkers, at transactions.TopicPartition) {
	log := w.log.WithFields(logrus.Fields{"transactional_id": m.TransactionalID, "topic": at.Topic, "partition": at.Partition})
	for pause := minMarkerPause; w.ctx.Err() == nil; pause = min(2*pause, maxMarkerPause) {
		err := writeMarker(w.ctx, w.bridge, w.groups, at, producers.Marker{
			ProducerID: m.ProducerID, Epoch: m.ProducerEpoch, Commit: m.Commit, Bumped: m.Bumped,
		})
		switch {
		case err == nil, w.ctx.Err() != nil:
			return
		case errors.Is(err, bridge.ErrTopicNotFound), errors.Is(err, bridge.ErrPartitionNotFound):
			log.Info("a partition of a transaction is gone")
			return
		case errors.Is(err, producers.ErrEpoch), errors.Is(err, producers.ErrCoordinatorEpoch):
			// Somebody has ended it with a later epoch, such as an administrator.
			log.WithError(err).Warn("a transaction was ended by somebody else")
			return
		}
		log.WithError(err).Warn("a transaction's marker could not be written; it is tried again")
		select {
		case <-time.After(pause):
		case <-w.ctx.Done():
		}
	}
}

// writeMarker ends a producer's transaction in one partition.
func writeMarker(ctx context.Context, b *bridge.Bridge, offsets *coordinator.Coordinator, at transactions.TopicPartition, m producers.Marker) error {
	if at.Topic == offsetsTopic {
		_, err := offsets.CallPartition(ctx, at.Partition, statemachine.Call{Body: &groups.EndTransaction{
			ProducerID: m.ProducerID, ProducerEpoch: m.Epoch, Commit: m.Commit, Bumped: m.Bumped,
		}})
		return err
	}
	t, err := b.Topic(ctx, at.Topic)
	if err != nil {
		return err
	}
	return b.WriteMarker(ctx, t, at.Partition, m)
}

// close ends what is at work, until ctx ends.
func (w *markerWriter) close(ctx context.Context) error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.work.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("close the writer of transaction markers: %w", ctx.Err())
	}
}
