package bridge

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
)

// Bridge keeps Kafka's topics in Iggy. It is safe for concurrent use.
type Bridge struct {
	config    Config
	log       logrus.FieldLogger
	metrics   Metrics
	transport transport
	inner     transport // Iggy as it is, without internal topics
	internals *internals
	ids       *idSource
	cache     *batchCache
	catalog   *catalog
	state     *stateStore
	watches   *watchHub
	producers *producerIDs

	ctx    context.Context // ends when the bridge closes
	cancel context.CancelFunc
	work   sync.WaitGroup // appends and loops
	kick   chan string    // names of topics that may have changed

	mu        sync.Mutex
	started   bool
	closed    bool
	downSince time.Time // of Health, zero when all is well
	downWhy   error
}

// saveInterval is how often time indexes go into the internal state.
const saveInterval = 5 * time.Minute

// New makes a Bridge. It checks the configuration and does not talk to Iggy.
func New(config Config) (*Bridge, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := CheckTopicConfigs(config.TopicDefaults); err != nil {
		return nil, fmt.Errorf("bridge: broker-wide topic configuration: %w", err)
	}
	ids, err := newIDSource()
	if err != nil {
		return nil, fmt.Errorf("bridge: %w", err)
	}
	b := &Bridge{
		config:  config,
		log:     config.Logger,
		metrics: config.Metrics,
		inner:   config.transport,
		ids:     ids,
		cache:   newBatchCache(config.CacheBytes, config.Metrics),
		kick:    make(chan string, 64),
	}
	if b.inner == nil {
		b.inner = newSDKPool(config)
	}
	b.internals = newInternals(b)
	b.transport = &internalTransport{transport: b.inner, internals: b.internals}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.catalog = newCatalog(b)
	b.state = newStateStore(b)
	b.watches = newWatchHub(b)
	b.producers = newProducerIDs(b)
	return b, nil
}

// Start begins to connect to Iggy and to look after topics, in the background:
// it returns at once, whether Iggy is there or not. It fails when the bridge
// was started or closed before.
func (b *Bridge) Start(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return ErrClosed
	}
	if b.started {
		return errors.New("bridge: started twice")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	b.started = true
	b.downSince, b.downWhy = b.config.Now(), ErrNotReady
	b.transport.start()
	b.work.Go(b.lookAfterTopics)
	return nil
}

// Close refuses new appends, waits for those on their way until ctx ends, saves
// what is worth saving and closes the connections. Everything else ends at once
// with ErrClosed. It returns ctx's error when appends had to be cut off.
func (b *Bridge) Close(ctx context.Context) error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil
	}
	b.closed = true
	started := b.started
	b.mu.Unlock()

	close(b.kick)
	b.watches.close()
	done := make(chan struct{})
	go func() {
		b.work.Wait()
		close(done)
	}()
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		err = fmt.Errorf("bridge: closing: %w", ctx.Err())
	}
	saved := make(chan struct{})
	go func() {
		defer close(saved)
		if started && err == nil {
			b.saveIndexes(ctx)
		}
	}()
	select {
	case <-saved:
	case <-ctx.Done(): // a call to an Iggy that does not answer is cut off below
	}
	b.cancel()
	closeErr := b.transport.close()
	<-saved
	<-done
	if err == nil {
		err = closeErr
	}
	return err
}

// spawn runs f on a goroutine that Close waits for, or right here when the
// bridge is closing and nobody may be added to those.
func (b *Bridge) spawn(f func()) {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		f()
		return
	}
	b.work.Add(1)
	b.mu.Unlock()
	go func() {
		defer b.work.Done()
		f()
	}()
}

// usable fails when the bridge is not started or closed.
func (b *Bridge) usable() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.started || b.closed {
		return ErrClosed
	}
	return nil
}

// Health is nil when Iggy answers and the internal state is loaded, otherwise
// what is wrong and since when.
func (b *Bridge) Health() error {
	if err := b.usable(); err != nil {
		return err
	}
	err := b.transport.health()
	if err == nil {
		err = b.state.ready()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		b.downSince, b.downWhy = time.Time{}, nil
		return nil
	}
	if b.downSince.IsZero() {
		b.downSince = b.config.Now()
	}
	b.downWhy = err
	return fmt.Errorf("since %s: %w", b.downSince.UTC().Format(time.RFC3339), err)
}

// lookAfterTopics loads the internal state and the topics, keeps them up to
// date, and saves time indexes, until the bridge closes.
func (b *Bridge) lookAfterTopics() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	saved := b.config.Now()
	failures := 0
	for {
		select {
		case name, ok := <-b.kick:
			if !ok {
				return
			}
			b.lookAgain(name)
			continue
		case <-timer.C:
		}
		err := b.lookAround()
		if err == nil {
			failures = 0
		} else {
			failures++
		}
		b.logHealth(err)
		if now := b.config.Now(); err == nil && now.Sub(saved) >= saveInterval {
			b.saveIndexes(b.ctx)
			saved = now
		}
		timer.Reset(b.pause(failures))
	}
}

// pause is the time until the next look: short after a failure, so that the
// bridge recovers soon after Iggy does.
func (b *Bridge) pause(failures int) time.Duration {
	if failures == 0 {
		return b.config.RefreshInterval
	}
	return min(b.config.RefreshInterval, 100*time.Millisecond<<min(failures, 6))
}

// lookAround brings state and catalog up to date.
func (b *Bridge) lookAround() error {
	ctx, cancel := context.WithTimeout(b.ctx, b.config.OperationTimeout)
	defer cancel()
	if err := b.state.refresh(ctx); err != nil {
		return err
	}
	if err := b.catalog.load(ctx); err != nil {
		return err
	}
	b.internals.sweep(ctx)
	return nil
}

// lookAgain compares one topic with Iggy.
func (b *Bridge) lookAgain(name string) {
	ctx, cancel := context.WithTimeout(b.ctx, b.config.OperationTimeout)
	defer cancel()
	if _, err := b.catalog.lookFresh(ctx, name); err != nil {
		b.log.WithError(err).WithField("topic", name).Debug("a topic could not be compared with Iggy")
	}
}

// logHealth logs when the bridge becomes unable to work, and able again.
func (b *Bridge) logHealth(err error) {
	b.mu.Lock()
	was := b.downWhy
	if err == nil {
		b.downWhy, b.downSince = nil, time.Time{}
	} else {
		b.downWhy = err
		if b.downSince.IsZero() {
			b.downSince = b.config.Now()
		}
	}
	since, closed := b.downSince, b.closed
	b.mu.Unlock()
	switch {
	case closed:
	case err != nil && (was == nil || was.Error() != err.Error()):
		b.log.WithError(err).WithField("since", since.UTC().Format(time.RFC3339)).Error("the bridge cannot work")
	case err == nil && was != nil:
		b.log.Info("Iggy is reachable and the topics are known")
	}
}

// suspect makes the catalog look at a topic again when err says that it is not
// as known.
func (b *Bridge) suspect(t *topicState, err error) {
	if !errors.Is(err, ErrTopicNotFound) && !errors.Is(err, ErrPartitionNotFound) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || t.gone.Load() {
		return
	}
	select {
	case b.kick <- t.name:
	default: // the next round looks at many anyway
	}
}

// partition finds the owner of a topic's partition.
func (b *Bridge) partition(ctx context.Context, t *Topic, partition int32) (*partition, error) {
	if err := b.usable(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return t.state.partition(partition)
}
