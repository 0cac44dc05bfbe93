package coordinator

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/statemachine"
)

// shard is one machine with its log. Events (requests, the time) run on whoever
// brings them, one at a time; appends and loads run on goroutines that exist
// while there is something to append or to load. An idle shard has a timer at
// most.
type shard struct {
	c         *Coordinator
	partition int32
	log       Log
	writeTask func() // write, bound once

	mu sync.Mutex // guards everything below, and the use of the machine
	// machine is nil while it is not loaded; reason is then why.
	machine statemachine.Machine
	reason  error
	tokens  statemachine.Token
	// waiting are the requests that the machine has not answered.
	waiting map[statemachine.Token]*waiter
	// queue and inFlight hold actions whose records are not written: those that
	// wait and those that the writer is at. last has the last one of each scope.
	queue, inFlight []*entry
	last            map[string]*entry
	// writing says that there is a writer, which is so whenever the queue is not
	// empty. Nothing is loaded meanwhile.
	writing bool
	timer   *time.Timer
	armed   time.Time // when the timer fires, zero when it is not set
	closed  bool
	// failures counts since the last successful append.
	failures int
	// failing says that the last attempt to load failed.
	failing bool
	// compactAfter is when a compaction may be tried after one that failed.
	compactAfter    time.Time
	compactFailures int
}

// entry is an action whose records are not written yet, with the answers and
// effects that wait for it.
type entry struct {
	scope   string
	records []records.Record
	bytes   int
	answers []held
	effects []any
}

// held is an answer that is not sent yet.
type held struct {
	waiter  *waiter
	message generated.Message
}

// waiter is a request that waits for its answer. A shard's mutex guards it until
// done has been seen or something came out of the channel.
type waiter struct {
	done    bool
	message generated.Message
	err     error
	// ready is made when the request has to wait, and closed when it is done.
	ready chan struct{}
}

func (w *waiter) finish(m generated.Message, err error) {
	if w.done {
		return
	}
	w.done, w.message, w.err = true, m, err
	if w.ready != nil {
		close(w.ready)
	}
}

func newShard(c *Coordinator, partition int32) *shard {
	s := &shard{
		c:         c,
		partition: partition,
		log:       c.options.Log(partition),
		reason:    ErrLoading,
		waiting:   make(map[statemachine.Token]*waiter),
		last:      make(map[string]*entry),
	}
	s.writeTask = s.write
	return s
}

// call gives a request to the machine and waits for its answer.
func (s *shard) call(ctx context.Context, call statemachine.Call) (generated.Message, error) {
	w, token, err := s.submit(call)
	if err != nil {
		return nil, err
	}
	if w.ready != nil {
		select {
		case <-w.ready:
		case <-ctx.Done():
			if !s.abandon(w, token) {
				return nil, context.Cause(ctx)
			}
		}
	}
	return w.message, w.err
}

// submit lets the machine take a request. The waiter is done, or its channel is
// made.
func (s *shard) submit(call statemachine.Call) (*waiter, statemachine.Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, 0, ErrClosed
	}
	if s.machine == nil {
		return nil, 0, s.reason
	}
	s.tokens++
	call.Token = s.tokens
	w := &waiter{}
	s.waiting[call.Token] = w
	s.event(w, func(m statemachine.Machine, now time.Time) { m.Handle(now, call) })
	if !w.done {
		w.ready = make(chan struct{})
	}
	return w, call.Token, nil
}

// loading is nil when the machine is loaded, else why it is not.
func (s *shard) loading() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return ErrClosed
	case s.machine == nil:
		return s.reason
	}
	return nil
}

// tellMachine lets the machine take a request that has no answer.
func (s *shard) tellMachine(body any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	if s.machine == nil {
		return s.reason
	}
	s.event(nil, func(m statemachine.Machine, now time.Time) { m.Handle(now, statemachine.Call{Body: body}) })
	return nil
}

// abandon stops waiting for an answer, and reports whether it has come.
func (s *shard) abandon(w *waiter, token statemachine.Token) (done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting, token)
	return w.done
}

// event lets something happen to the machine and does what the machine wants
// done. A panic fails the request it came from, and the machine. The mutex is
// held.
func (s *shard) event(from *waiter, happen func(m statemachine.Machine, now time.Time)) {
	defer func() {
		if v := recover(); v != nil {
			s.logger().WithFields(logrus.Fields{"panic": fmt.Sprint(v), "stack": string(debug.Stack())}).
				Error("a coordinator panicked and is loaded anew")
			if from != nil {
				from.finish(nil, ErrPanicked)
			}
			s.fail(ErrNotWritten)
		}
	}()
	happen(s.machine, time.Now())
	for _, action := range s.machine.Take() {
		s.carryOut(&action)
	}
	s.arm()
	s.startWriting()
}

// carryOut queues an action's records, and does the rest of it or attaches that
// to the records that it waits for.
func (s *shard) carryOut(a *statemachine.Action) {
	e := s.last[a.Scope]
	if len(a.Records) > 0 {
		e = &entry{scope: a.Scope, records: a.Records, bytes: sizeOf(a.Records)}
		s.queue = append(s.queue, e)
		s.last[a.Scope] = e
	}
	if a.Effect != nil {
		if e == nil {
			s.c.options.Perform(a.Effect)
		} else {
			e.effects = append(e.effects, a.Effect)
		}
	}
	if a.Answer == nil {
		return
	}
	w, ok := s.waiting[a.Token]
	if !ok {
		return // nobody waits any more
	}
	delete(s.waiting, a.Token)
	if e == nil {
		w.finish(a.Answer, nil)
	} else {
		e.answers = append(e.answers, held{w, a.Answer})
	}
}

// fail throws the machine away, fails all requests that wait and has the machine
// loaded anew. The mutex is held.
func (s *shard) fail(err error) {
	s.machine = nil
	s.reason = ErrLoading
	s.failures++
	for token, w := range s.waiting {
		delete(s.waiting, token)
		w.finish(nil, err)
	}
	for _, entries := range [][]*entry{s.inFlight, s.queue} {
		for _, e := range entries {
			for _, a := range e.answers {
				a.waiter.finish(nil, err)
			}
		}
	}
	s.queue, s.inFlight = nil, nil
	clear(s.last)
	s.disarm()
	if !s.writing {
		s.startLoading()
	}
}

// close lets what is queued be written and fails the requests that wait for
// anything else.
func (s *shard) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.disarm()
	for token, w := range s.waiting {
		delete(s.waiting, token)
		w.finish(nil, ErrClosed)
	}
}

// arm sets the timer to when the machine has something to do. A timer that is
// set for an earlier time stays: it is set anew when it fires, which is cheaper
// than moving it with every heartbeat.
func (s *shard) arm() {
	if s.closed || s.machine == nil {
		return
	}
	next := s.machine.Next()
	if next.IsZero() || !s.armed.IsZero() && !next.Before(s.armed) {
		return
	}
	s.armed = next
	wait := max(time.Until(next), 0)
	if s.timer == nil {
		s.c.work.Add(1)
		s.timer = time.AfterFunc(wait, s.tick)
	} else if !s.timer.Reset(wait) {
		s.c.work.Add(1)
	}
}

func (s *shard) disarm() {
	s.armed = time.Time{}
	if s.timer != nil && s.timer.Stop() {
		s.c.work.Done()
	}
}

// tick is the timer's function.
func (s *shard) tick() {
	defer s.c.work.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = time.Time{}
	if s.closed || s.machine == nil {
		return
	}
	if next := s.machine.Next(); next.IsZero() || next.After(time.Now()) {
		s.arm()
		return
	}
	s.event(nil, func(m statemachine.Machine, now time.Time) { m.Tick(now) })
}

func (s *shard) logger() logrus.FieldLogger { return s.c.log.WithField("partition", s.partition) }

// sizeOf is about how many bytes records take.
func sizeOf(rs []records.Record) int {
	const perRecord = 32
	n := perRecord * len(rs)
	for i := range rs {
		n += len(rs[i].Key) + len(rs[i].Value)
	}
	return n
}
