// Package coordinator runs state machines (package statemachine) over logs: one
// machine for each partition of an internal topic. It loads a machine from its
// log, gives it requests and the time, appends the records it emits and sends
// its answers when their records are written.
//
// A machine whose records could not be written is thrown away and loaded anew,
// so a machine never has to turn its state back, and nothing is answered that
// is not in the log.
package coordinator

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/statemachine"
	"kafka-iggy-bridge/internal/workers"
)

// Errors of Call. A request that gets one has no answer of a machine.
var (
	// ErrLoading says that the machine is being loaded: nothing was done, and the
	// same request can be answered soon (COORDINATOR_LOAD_IN_PROGRESS).
	ErrLoading = errors.New("the coordinator is loading")
	// ErrUnavailable says that the machine cannot be loaded at the time: nothing
	// was done (COORDINATOR_NOT_AVAILABLE).
	ErrUnavailable = errors.New("the coordinator is not available")
	// ErrNotOpen says that the internal topic does not exist yet, so there is
	// nothing to ask for (NOT_COORDINATOR, on which clients look for their
	// coordinator, and that makes it).
	ErrNotOpen = errors.New("the coordinator's topic does not exist")
	// ErrNotWritten says that records could not be written. What the request was
	// to do may have happened all the same.
	ErrNotWritten = errors.New("the coordinator's records could not be written")
	// ErrPanicked says that the machine panicked at this very request.
	ErrPanicked = errors.New("the coordinator panicked")
	// ErrClosed says that the bridge is shutting down.
	ErrClosed = errors.New("the coordinator is closed")
)

// Log keeps the records of one machine.
type Log interface {
	// Load applies all records, from the first to the last. It may be called again
	// at any time when nothing else is at work.
	Load(ctx context.Context, apply func(*records.Record)) error
	// Append writes records, all or none. After an error it is not known which of
	// the two, and the log is loaded before it is used again.
	Append(ctx context.Context, rs []records.Record) error
	// Compact replaces all records by those of the snapshot. An error leaves
	// either, and the log is loaded before it is used again.
	Compact(ctx context.Context, snapshot iter.Seq[records.Record]) error
	// Len is the number of records.
	Len() int64
}

// Metrics receives what coordinators count. Name is the coordinator's.
type Metrics interface {
	// CoordinatorLoaded counts the loading of one machine.
	CoordinatorLoaded(name string, records int, took time.Duration, err error)
	// CoordinatorAppended counts an append of records.
	CoordinatorAppended(name string, records int, took time.Duration, err error)
	// CoordinatorCompacted counts a compaction to a number of records.
	CoordinatorCompacted(name string, records int, took time.Duration, err error)
}

// Options make a Coordinator.
type Options struct {
	// Name says what is coordinated, in the log and in metrics: "groups".
	Name string
	// Find tells how many partitions the internal topic has, 0 when there is no
	// such topic.
	Find func(ctx context.Context) (int32, error)
	// Open creates the internal topic or finds it, and tells how many partitions
	// it has.
	Open func(ctx context.Context) (int32, error)
	// Log gives the log of a partition.
	Log func(partition int32) Log
	// Machine makes an empty machine.
	Machine func() statemachine.Machine
	// Written, unless nil, is told of records when they are in the log. It runs
	// between two appends of a partition, so it must not wait, and it must not keep
	// the records.
	Written func([]records.Record)
	// Perform, unless nil, does what a machine wants done outside (Action.Effect).
	// It must not wait: what takes time goes on a goroutine of its own, and the
	// machine is told by Tell.
	Perform func(effect any)
	// Metrics and Logger receive what happens.
	Metrics Metrics
	Logger  logrus.FieldLogger
	// Tuning is how it works; zero values are replaced by defaults.
	Tuning Tuning
}

// Tuning has the numbers of a Coordinator's work.
type Tuning struct {
	// MaxAppendRecords and MaxAppendBytes bound what one append holds, 10,000 and
	// 1 MiB by default. The records of one action stay together.
	MaxAppendRecords, MaxAppendBytes int
	// AppendTimeout bounds an append, 15 s by default.
	AppendTimeout time.Duration
	// LoadsAtOnce is how many machines are loaded at the same time, 4 by default.
	LoadsAtOnce int
	// CompactRatio and CompactSlack tell when a log is compacted: when it holds
	// more records than the machine needs times the ratio, 4 by default, plus the
	// slack, 10,000 by default.
	CompactRatio, CompactSlack int64
	// MinBackoff and MaxBackoff bound the time before what failed is tried again,
	// 100 ms and 5 s by default. Compactions wait for sixty times as long.
	MinBackoff, MaxBackoff time.Duration
}

func (t Tuning) withDefaults() Tuning {
	orElse(&t.MaxAppendRecords, 10_000)
	orElse(&t.MaxAppendBytes, 1<<20)
	orElse(&t.AppendTimeout, 15*time.Second)
	orElse(&t.LoadsAtOnce, 4)
	orElse(&t.CompactRatio, 4)
	orElse(&t.CompactSlack, 10_000)
	orElse(&t.MinBackoff, 100*time.Millisecond)
	orElse(&t.MaxBackoff, 5*time.Second)
	return t
}

func orElse[T comparable](p *T, def T) {
	var zero T
	if *p == zero {
		*p = def
	}
}

// maxResting is how many goroutines wait for the next append after theirs. They
// have the stack that an append needs.
const maxResting = 32

// backoff is the time to wait after a number of failures: none after the first.
func (t *Tuning) backoff(failures int) time.Duration {
	if failures <= 1 {
		return 0
	}
	return min(t.MinBackoff<<min(failures-2, 16), t.MaxBackoff)
}

// Coordinator runs the machines of one internal topic. It is safe for
// concurrent use.
type Coordinator struct {
	options Options
	tuning  Tuning
	log     logrus.FieldLogger

	// ctx ends what is at work when the coordinator has to be closed at once,
	// loadCtx, which it is the parent of, what is not worth waiting for.
	ctx, loadCtx       context.Context
	cancel, cancelLoad context.CancelFunc
	// work are goroutines and timers; writers runs those that append.
	work    sync.WaitGroup
	writers *workers.Pool
	// loads and compactions are slots; opening lets one caller open the topic.
	loads, compactions, opening chan struct{}

	// shards is nil until the topic is found or opened. Absent says that it was
	// looked for and does not exist.
	shards atomic.Pointer[[]*shard]
	absent atomic.Bool
	// failing is how many shards cannot be loaded.
	failing atomic.Int64

	mu      sync.Mutex // guards started, closed, and shards against both; before a shard's
	started bool
	closed  bool
}

// New makes a Coordinator. It does nothing before Start.
func New(options Options) *Coordinator {
	c := &Coordinator{
		options: options,
		tuning:  options.Tuning.withDefaults(),
		log:     options.Logger.WithField("coordinator", options.Name),
		opening: make(chan struct{}, 1),
		writers: workers.New(maxResting),
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.loadCtx, c.cancelLoad = context.WithCancel(c.ctx)
	c.loads = make(chan struct{}, c.tuning.LoadsAtOnce)
	c.compactions = make(chan struct{}, 1)
	return c
}

// Start looks for the internal topic and loads the machines of what it finds,
// in the background. It must be called once.
func (c *Coordinator) Start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.started || c.closed {
		return
	}
	c.started = true
	c.work.Go(c.find)
}

// find looks for the topic until it is known whether there is one.
func (c *Coordinator) find() {
	for failures := 0; ; failures++ {
		if !wait(c.loadCtx, c.tuning.backoff(failures)) {
			return
		}
		n, err := c.options.Find(c.loadCtx)
		switch {
		case err != nil:
			c.log.WithError(err).Debug("the internal topic could not be looked for")
			continue
		case n > 0:
			c.launch(n)
		default:
			c.absent.Store(true)
		}
		return
	}
}

// Open makes sure that the internal topic exists and that its machines are, or
// are being, loaded.
func (c *Coordinator) Open(ctx context.Context) error {
	if c.shards.Load() != nil {
		return nil
	}
	select {
	case c.opening <- struct{}{}:
		defer func() { <-c.opening }()
	case <-ctx.Done():
		return ctx.Err()
	case <-c.loadCtx.Done():
		return ErrClosed
	}
	if c.shards.Load() != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.loadCtx, cancel)()
	n, err := c.options.Open(ctx)
	if err != nil {
		return fmt.Errorf("open the topic of the %s coordinator: %w", c.options.Name, err)
	}
	c.launch(n)
	return nil
}

// Await opens the topic and waits until the machine that is responsible for a key
// is loaded, or ctx ends: then the error says what was missing.
func (c *Coordinator) Await(ctx context.Context, key string) error {
	for pause := minAwaitPause; ; pause = min(2*pause, maxAwaitPause) {
		err := c.Open(ctx)
		if err == nil {
			shards, _ := c.shardsNow()
			if len(shards) > 0 {
				err = shards[partitionFor(key, len(shards))].loading()
			}
		}
		if err == nil || errors.Is(err, ErrClosed) || !wait(ctx, pause) {
			return err
		}
	}
}

// The time between two looks whether a machine is loaded.
const (
	minAwaitPause = time.Millisecond
	maxAwaitPause = 50 * time.Millisecond
)

// launch begins to load the machines of n partitions, unless that was done.
func (c *Coordinator) launch(n int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.shards.Load() != nil {
		return
	}
	shards := make([]*shard, n)
	for i := range shards {
		shards[i] = newShard(c, int32(i))
	}
	for _, s := range shards {
		s.mu.Lock()
		s.startLoading()
		s.mu.Unlock()
	}
	c.shards.Store(&shards)
}

// shardsNow are the shards, or why there are none.
func (c *Coordinator) shardsNow() ([]*shard, error) {
	if shards := c.shards.Load(); shards != nil {
		return *shards, nil
	}
	switch {
	case c.loadCtx.Err() != nil:
		return nil, ErrClosed
	case c.absent.Load():
		return nil, ErrNotOpen
	default:
		return nil, ErrLoading
	}
}

// Call gives a request to the machine that is responsible for a key, such as a
// group id, and waits for its answer. The machine has taken the request when
// Call returns, whatever it returns, so the request's frame may be released.
// When ctx ends first, its cause is the error; the request has its effects all
// the same. The Token of the call is set here.
func (c *Coordinator) Call(ctx context.Context, key string, call statemachine.Call) (generated.Message, error) {
	shards, err := c.shardsNow()
	if err != nil {
		return nil, err
	}
	return shards[partitionFor(key, len(shards))].call(ctx, call)
}

// CallPartition is Call for the machine of a partition that the caller knows.
func (c *Coordinator) CallPartition(ctx context.Context, partition int32, call statemachine.Call) (generated.Message, error) {
	shards, err := c.shardsNow()
	switch {
	case err != nil:
		return nil, err
	case partition < 0 || int(partition) >= len(shards):
		return nil, fmt.Errorf("%w: partition %d of %d", ErrNotOpen, partition, len(shards))
	}
	return shards[partition].call(ctx, call)
}

// Tell gives the machine that is responsible for a key a request that has no
// answer. A machine that is not loaded is not told, which is ErrLoading or
// ErrUnavailable: when it is loaded, it asks for what it needs.
func (c *Coordinator) Tell(key string, body any) error {
	shards, err := c.shardsNow()
	if err != nil {
		return err
	}
	return shards[partitionFor(key, len(shards))].tellMachine(body)
}

// PartitionFor is the partition that is responsible for a key, and false while
// it is not known how many there are.
func (c *Coordinator) PartitionFor(key string) (int32, bool) {
	shards, err := c.shardsNow()
	if err != nil {
		return 0, false
	}
	return int32(partitionFor(key, len(shards))), true
}

// CallAll gives a request to every machine, and returns the answers in the order
// of the partitions. It fails when one of them does; without an internal topic
// there are no answers.
func (c *Coordinator) CallAll(ctx context.Context, call statemachine.Call) ([]generated.Message, error) {
	shards, err := c.shardsNow()
	if errors.Is(err, ErrNotOpen) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	answers := make([]generated.Message, len(shards))
	for i, s := range shards {
		if answers[i], err = s.call(ctx, call); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// Close refuses new requests, answers those that wait for others with ErrClosed,
// and finishes the appends that were begun, until ctx ends. When it returns,
// nothing is at work any more.
func (c *Coordinator) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	c.cancelLoad()
	if shards := c.shards.Load(); shards != nil {
		for _, s := range *shards {
			s.close()
		}
	}
	c.mu.Unlock()
	defer c.cancel()

	done := make(chan struct{})
	go func() {
		defer close(done)
		c.work.Wait()
		c.writers.Close()
		c.writers.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	c.cancel()
	<-done
	return fmt.Errorf("close the %s coordinator: %w", c.options.Name, ctx.Err())
}

// wait returns true after a time, false when ctx ends first.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
