package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"kafka-iggy-bridge/internal/records"
)

// startWriting makes sure that somebody writes the queue. The mutex is held.
func (s *shard) startWriting() {
	if s.writing || len(s.queue) == 0 || s.machine == nil {
		return
	}
	s.writing = true
	s.c.work.Add(1)
	s.c.writers.Go(s.writeTask)
}

// write appends what is queued until there is nothing, and compacts the log when
// that is worth it. Events go on meanwhile: what they queue during one append
// goes into the next.
func (s *shard) write() {
	defer s.c.work.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.machine != nil && len(s.queue) > 0 {
		s.writeBatch()
		if s.worthCompacting() {
			s.compact()
		}
	}
	s.writing = false
	if s.machine == nil {
		s.startLoading()
	}
}

// writeBatch appends the front of the queue. The mutex is held on entry and on
// return, and not meanwhile.
func (s *shard) writeBatch() {
	s.inFlight = s.nextBatch()
	rs := make([]records.Record, 0, len(s.inFlight))
	for _, e := range s.inFlight {
		rs = append(rs, e.records...)
	}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(s.c.ctx, s.c.tuning.AppendTimeout)
	began := time.Now()
	err := guarded(func() error { return s.log.Append(ctx, rs) })
	cancel()
	s.c.options.Metrics.CoordinatorAppended(s.c.options.Name, len(rs), time.Since(began), err)
	s.tell(rs, err)
	s.mu.Lock()
	if err == nil && s.machine != nil {
		s.failures = 0
	}
	s.settle(err)
}

// tell says which records are in the log.
func (s *shard) tell(rs []records.Record, err error) {
	if err != nil || s.c.options.Written == nil {
		return
	}
	if err := guarded(func() error { s.c.options.Written(rs); return nil }); err != nil {
		s.logger().WithError(err).Error("who was told of written records panicked")
	}
}

// nextBatch takes from the queue what one append may hold, and one action in any
// case.
func (s *shard) nextBatch() []*entry {
	var count, bytes int
	for n, e := range s.queue {
		count += len(e.records)
		bytes += e.bytes
		if n > 0 && (count > s.c.tuning.MaxAppendRecords || bytes > s.c.tuning.MaxAppendBytes) {
			return s.cut(n)
		}
	}
	return s.cut(len(s.queue))
}

// cut takes the first n of the queue.
func (s *shard) cut(n int) []*entry {
	batch := s.queue[:n:n]
	if s.queue = s.queue[n:]; len(s.queue) == 0 {
		s.queue = nil
	}
	return batch
}

// settle sends the answers and performs the effects that waited for what was in
// flight, or fails the machine. The mutex is held.
func (s *shard) settle(err error) {
	if s.machine == nil {
		s.inFlight = nil
		return // it has failed meanwhile, and so have the requests
	}
	if err != nil {
		s.logger().WithError(err).Warn("records could not be written; the coordinator is loaded anew")
		s.failWritten(err)
		return
	}
	for _, e := range s.inFlight {
		if s.last[e.scope] == e {
			delete(s.last, e.scope)
		}
		for _, a := range e.answers {
			a.waiter.finish(a.message, nil)
		}
		for _, effect := range e.effects {
			s.c.options.Perform(effect)
		}
	}
	s.inFlight = nil
}

// failWritten fails the machine. Only who was alone in the append is told the
// cause: it may be the request's fault, such as a record that is too large.
func (s *shard) failWritten(err error) {
	if len(s.inFlight) == 1 {
		for _, a := range s.inFlight[0].answers {
			a.waiter.finish(nil, fmt.Errorf("%w: %w", ErrNotWritten, err))
		}
	}
	s.fail(ErrNotWritten)
}

// worthCompacting reports whether the log holds much more than the machine needs.
func (s *shard) worthCompacting() bool {
	if s.machine == nil || s.closed || time.Now().Before(s.compactAfter) {
		return false
	}
	live := int64(s.machine.Live())
	return s.log.Len() > s.c.tuning.CompactRatio*live+s.c.tuning.CompactSlack
}

// compact replaces the log by a snapshot of the machine, unless another shard is
// at that. The snapshot holds what is queued, too, so the compaction writes
// that. The mutex is held on entry and on return, and not while the log works.
func (s *shard) compact() {
	select {
	case s.c.compactions <- struct{}{}:
		defer func() { <-s.c.compactions }()
	default:
		return // the next append asks again
	}
	snapshot, err := s.snapshot()
	if err != nil {
		s.logger().WithError(err).Error("a coordinator panicked and is loaded anew")
		s.putOffCompaction()
		s.fail(ErrNotWritten)
		return
	}
	queued := s.queue
	s.inFlight, s.queue = queued, nil
	s.mu.Unlock()
	began := time.Now()
	err = guarded(func() error { return s.log.Compact(s.c.ctx, slices.Values(snapshot)) })
	s.c.options.Metrics.CoordinatorCompacted(s.c.options.Name, len(snapshot), time.Since(began), err)
	for _, e := range queued {
		s.tell(e.records, err)
	}
	s.mu.Lock()
	if err != nil {
		err = fmt.Errorf("compaction: %w", err)
		s.putOffCompaction()
	} else {
		s.compactFailures = 0
	}
	s.settle(err)
}

// putOffCompaction lets some time pass before the next attempt: a log that
// cannot be compacted can still be appended to.
func (s *shard) putOffCompaction() {
	s.compactFailures++
	s.compactAfter = time.Now().Add(60 * s.c.tuning.backoff(s.compactFailures+1))
}

// snapshot encodes the machine's state.
func (s *shard) snapshot() (rs []records.Record, err error) {
	err = guarded(func() error {
		rs = slices.AppendSeq(make([]records.Record, 0, s.machine.Live()), s.machine.Snapshot())
		return nil
	})
	return rs, err
}

// errPanic is a panic as an error.
var errPanic = errors.New("panic")

// guarded turns a panic of f into an error.
func guarded(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %v", errPanic, v)
		}
	}()
	return f()
}
