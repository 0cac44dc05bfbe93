package coordinator

import (
	"fmt"
	"runtime/debug"
	"time"

	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/statemachine"
)

// startLoading has the machine loaded in the background. The mutex is held, and
// nobody writes.
func (s *shard) startLoading() {
	if s.closed {
		return
	}
	s.c.work.Go(s.load)
}

// load loads the machine, however often it takes.
func (s *shard) load() {
	for {
		s.mu.Lock()
		pause := s.c.tuning.backoff(s.failures)
		s.mu.Unlock()
		if !wait(s.c.loadCtx, pause) {
			return
		}
		select {
		case s.c.loads <- struct{}{}:
		case <-s.c.loadCtx.Done():
			return
		}
		began := time.Now()
		machine, n, err := s.replay()
		<-s.c.loads
		s.c.options.Metrics.CoordinatorLoaded(s.c.options.Name, n, time.Since(began), err)
		if s.loaded(machine, err) {
			return
		}
	}
}

// replay makes a machine out of the log.
func (s *shard) replay() (m statemachine.Machine, n int, err error) {
	var unreadable int
	var first error
	defer func() {
		if v := recover(); v != nil {
			m, err = nil, fmt.Errorf("%w while loading: %v\n%s", errPanic, v, debug.Stack())
		}
		if unreadable > 0 {
			s.logger().WithError(first).WithField("records", unreadable).Warn("records of the log could not be read and are left out")
		}
	}()
	m = s.c.options.Machine()
	err = s.log.Load(s.c.loadCtx, func(r *records.Record) {
		n++
		if err := m.Replay(r); err != nil {
			if unreadable++; first == nil {
				first = err
			}
		}
	})
	return m, n, err
}

// loaded puts a machine to use, or takes note that there is none. It reports
// whether the loading is over.
func (s *shard) loaded(m statemachine.Machine, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return true
	}
	s.noteFailing(err)
	if err != nil {
		s.failures++
		s.reason = ErrUnavailable
		return false
	}
	s.machine = m
	s.event(nil, func(m statemachine.Machine, now time.Time) { m.Loaded(now) })
	return true
}

// noteFailing logs when the first shard cannot be loaded, and when the last one
// can be again: all fail together, as a rule.
func (s *shard) noteFailing(err error) {
	switch {
	case err != nil && !s.failing:
		s.failing = true
		if s.c.failing.Add(1) == 1 {
			s.logger().WithError(err).Warn("the coordinator cannot be loaded; it is tried again")
		}
	case err == nil && s.failing:
		s.failing = false
		if s.c.failing.Add(-1) == 0 {
			s.c.log.Info("the coordinator could be loaded")
		}
	}
}
