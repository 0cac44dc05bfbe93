package handlers

import (
	"context"
	"errors"
	"sync"

	"github.com/sirupsen/logrus"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/internal/coordinator"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/statemachine"
	"kafka-iggy-bridge/internal/transactions"
)

// transactionsTopic is the topic that keeps transactional ids.
const transactionsTopic = "__transaction_state"

// TransactionOptions say how transactions are coordinated.
type TransactionOptions struct {
	// Config is the transactions' own configuration. Its functions are set here.
	Config transactions.Config
	// Partitions is how many partitions __transaction_state gets when it is made.
	Partitions int32
	// Written, unless nil, is told of records when they are in the log. It must not
	// wait, and must not keep them.
	Written func([]records.Record)
	// Metrics and Logger receive what happens.
	Metrics coordinator.Metrics
	Logger  logrus.FieldLogger
}

// TransactionCoordinator coordinates the transactions that a bridge keeps. It is
// to be started after the coordinator of the groups, whose offsets may take part
// in transactions, and closed before it.
type TransactionCoordinator struct {
	*coordinator.Coordinator
	markers *markerWriter
	ids     *producerIDPool
}

// NewTransactionCoordinator makes the coordinator of a bridge's transactions.
func NewTransactionCoordinator(b *bridge.Bridge, groups *coordinator.Coordinator, options TransactionOptions) *TransactionCoordinator {
	t := &TransactionCoordinator{
		ids:     newProducerIDPool(b, options.Logger),
		markers: newMarkerWriter(b, groups, options.Logger),
	}
	config := options.Config
	config.NewProducerID = t.ids.take
	config.OffsetsPartition = func(group string) int32 {
		// The requests that ask for it make sure that it is known.
		partition, _ := groups.PartitionFor(group)
		return partition
	}
	t.Coordinator = coordinator.New(coordinator.Options{
		Name: "transactions",
		Find: func(ctx context.Context) (int32, error) {
			return findInternalTopic(ctx, b, transactionsTopic, options.Partitions)
		},
		Open: func(ctx context.Context) (int32, error) {
			return b.OpenInternalTopic(ctx, transactionsTopic, options.Partitions)
		},
		Log:     func(partition int32) coordinator.Log { return b.CompactedLog(transactionsTopic, partition) },
		Machine: func() statemachine.Machine { return transactions.NewMachine(config) },
		Perform: func(effect any) { t.markers.write(effect.(transactions.WriteMarkers)) },
		Written: options.Written,
		Metrics: options.Metrics,
		Logger:  options.Logger,
	})
	t.markers.written = func(m transactions.WriteMarkers) error {
		return t.Tell(m.TransactionalID, &transactions.MarkersWritten{
			TransactionalID: m.TransactionalID, ProducerID: m.ProducerID, ProducerEpoch: m.ProducerEpoch,
		})
	}
	return t
}

// Close ends the coordinator as Coordinator.Close does. Markers that are not
// written then are written after the next start.
func (t *TransactionCoordinator) Close(ctx context.Context) error {
	err := t.Coordinator.Close(ctx)
	err = errors.Join(err, t.markers.close(ctx))
	t.ids.close()
	return err
}

// producerIDPool holds producer ids ready for machines, which cannot wait for
// them.
type producerIDPool struct {
	bridge *bridge.Bridge
	log    logrus.FieldLogger
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu      sync.Mutex
	ids     []int64
	filling bool
	closed  bool
}

// producerIDPoolSize is how many ids are held ready. What is left of them when
// the bridge ends is lost.
const producerIDPoolSize = 16

func newProducerIDPool(b *bridge.Bridge, log logrus.FieldLogger) *producerIDPool {
	p := &producerIDPool{bridge: b, log: log}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// ready makes sure that there are ids for a request, so that it need not be
// repeated.
func (p *producerIDPool) ready(ctx context.Context) error {
	p.mu.Lock()
	n := len(p.ids)
	p.mu.Unlock()
	if n > producerIDPoolSize/2 {
		return nil
	}
	id, err := p.bridge.NextProducerID(ctx)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.ids = append(p.ids, id)
	p.mu.Unlock()
	return nil
}

// take takes an id, unless there is none: then some are fetched.
func (p *producerIDPool) take() (int64, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.ids); n > 0 {
		id := p.ids[n-1]
		p.ids = p.ids[:n-1]
		return id, true
	}
	if !p.filling && !p.closed {
		p.filling = true
		p.work.Go(p.fill)
	}
	return 0, false
}

// fill fetches an id. When that fails, whoever needs one asks again, which fills
// again.
func (p *producerIDPool) fill() {
	if err := p.ready(p.ctx); err != nil && p.ctx.Err() == nil {
		p.log.WithError(err).Debug("no producer id could be fetched")
	}
	p.mu.Lock()
	p.filling = false
	p.mu.Unlock()
}

func (p *producerIDPool) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	p.work.Wait()
}
