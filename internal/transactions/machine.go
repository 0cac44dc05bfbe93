// Package transactions is the transaction coordinator's state machine, without
// I/O and without a clock. A Machine holds the transactional ids of one
// partition of __transaction_state. It behaves as the coordinator of Apache
// Kafka 4.4.0 does with transaction.version 2 (KIP-98, KIP-360, KIP-447,
// KIP-588, KIP-890), and keeps the same records.
package transactions

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/statemachine"
)

// Config is how the coordinator behaves. Names in brackets are Kafka's
// configurations of a broker.
type Config struct {
	// MaxTimeout bounds the time that producers may ask for
	// (transaction.max.timeout.ms).
	MaxTimeout time.Duration
	// IDExpiration is how long a transactional id without an open transaction is
	// remembered (transactional.id.expiration.ms), ExpirationCheck how often that
	// is looked at (transaction.remove.expired.transaction.cleanup.interval.ms).
	IDExpiration, ExpirationCheck time.Duration
	// NewProducerID gives a producer id that nobody had before, and false when none
	// is at hand: the request is then to be repeated.
	NewProducerID func() (int64, bool)
	// OffsetsPartition is the partition of __consumer_offsets that has a group's
	// offsets.
	OffsetsPartition func(group string) int32
}

// DefaultConfig has the defaults of Kafka 4.4.0, without the functions.
func DefaultConfig() Config {
	return Config{
		MaxTimeout:      15 * time.Minute,
		IDExpiration:    7 * 24 * time.Hour,
		ExpirationCheck: time.Hour,
	}
}

// OffsetsTopic is the topic in which groups' offsets are kept.
const OffsetsTopic = "__consumer_offsets"

// TopicPartition is a partition that takes part in a transaction.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// WriteMarkers is the effect by which a transaction is ended in its partitions.
// When all markers are written, the machine is to be told by a MarkersWritten
// with the same id, producer id and epoch. A marker that was written before must
// not be written twice.
type WriteMarkers struct {
	TransactionalID string
	ProducerID      int64
	ProducerEpoch   int16
	Commit          bool
	// Bumped says that ProducerEpoch is the one that follows the transaction's.
	Bumped     bool
	Partitions []TopicPartition
}

// MarkersWritten is the request from within that says that all markers of a
// WriteMarkers are written.
type MarkersWritten struct {
	TransactionalID string
	ProducerID      int64
	ProducerEpoch   int16
}

// AddPartitions is the request from within by which partitions get into a
// transaction that its producer writes to without having announced it (KIP-890),
// or by which it is found out whether they are in it. The answer is an
// AddPartitionsToTxnResponse of version 4 and above.
type AddPartitions struct {
	TransactionalID string
	ProducerID      int64
	ProducerEpoch   int16
	// VerifyOnly leaves the transaction as it is.
	VerifyOnly bool
	Partitions []TopicPartition
}

// Machine is the coordinator of the transactional ids of one partition. It
// implements statemachine.Machine.
type Machine struct {
	config       Config
	transactions map[string]*transaction
	timers       statemachine.Timers[timerKey]
	actions      []statemachine.Action
	now          time.Time
}

var _ statemachine.Machine = (*Machine)(nil)

// timerKey names a timer: the time-out of a transactional id, or, when that is
// empty, the look at ids that expire.
type timerKey struct{ id string }

// NewMachine makes a Machine without transactional ids.
func NewMachine(config Config) *Machine {
	return &Machine{config: config, transactions: make(map[string]*transaction)}
}

// Handle takes a request. Those that may name several transactions name exactly
// one.
func (m *Machine) Handle(now time.Time, c statemachine.Call) {
	m.now = now
	switch body := c.Body.(type) {
	case *generated.InitProducerIdRequest:
		m.initProducerID(&c, body)
	case *generated.AddPartitionsToTxnRequest:
		m.addPartitionsToTxn(&c, body)
	case *AddPartitions:
		m.addPartitionsFromWithin(&c, body)
	case *generated.AddOffsetsToTxnRequest:
		m.addOffsetsToTxn(&c, body)
	case *generated.EndTxnRequest:
		m.endTxn(&c, body)
	case *MarkersWritten:
		m.markersWritten(body)
	case *generated.DescribeTransactionsRequest:
		m.describe(&c, body)
	case *generated.ListTransactionsRequest:
		m.list(&c, body)
	default:
		panic(fmt.Sprintf("transactions: %T is no request of the transaction coordinator", c.Body))
	}
}

// Next is when the first timer is due.
func (m *Machine) Next() time.Time { return m.timers.Next() }

// Tick aborts transactions that took too long and forgets expired ids.
func (m *Machine) Tick(now time.Time) {
	m.now = now
	m.timers.Tick(now)
}

// Take returns what is to be done.
func (m *Machine) Take() []statemachine.Action {
	actions := m.actions
	m.actions = nil
	return actions
}

// Loaded starts the timers of open transactions, and goes on with those that
// were about to end.
func (m *Machine) Loaded(now time.Time) {
	m.now = now
	for _, t := range m.transactions {
		switch t.state {
		case stateOngoing:
			m.watchTimeout(t)
		case statePrepareCommit, statePrepareAbort:
			m.finish(t)
		}
	}
	m.timers.Set(timerKey{}, now.Add(m.config.ExpirationCheck), m.expire)
}

// Snapshot yields all records that make up the state.
func (m *Machine) Snapshot() iter.Seq[records.Record] {
	return func(yield func(records.Record) bool) {
		for _, t := range m.transactions {
			if !yield(t.record(m.now)) {
				return
			}
		}
	}
}

// Live is the number of transactional ids.
func (m *Machine) Live() int { return len(m.transactions) }

// find looks for a transactional id that came in a request.
func (m *Machine) find(id string) *transaction { return m.transactions[id] }

// add makes a transactional id known, whose name is a view.
func (m *Machine) add(id string) *transaction {
	t := newTransaction(strings.Clone(id))
	m.transactions[t.id] = t
	return t
}

// write emits the record of a transaction's present state.
func (m *Machine) write(t *transaction) {
	m.actions = append(m.actions, statemachine.Action{Scope: t.id, Records: []records.Record{t.record(m.now)}})
}

// answer answers a request when what it did is written.
func (m *Machine) answer(id string, token statemachine.Token, answer generated.Message) {
	if token != 0 {
		m.actions = append(m.actions, statemachine.Action{Scope: id, Token: token, Answer: answer})
	}
}

// expire forgets ids that were not used for a long time (KIP-98).
func (m *Machine) expire(now time.Time) {
	for id, t := range m.transactions {
		if t.isOpen() || now.Sub(time.UnixMilli(t.updated)) < m.config.IDExpiration {
			continue
		}
		delete(m.transactions, id)
		m.actions = append(m.actions, statemachine.Action{Scope: id, Records: []records.Record{statemachine.Tombstone(now, recordTransactionLog, transactionKey(id))}})
	}
	m.timers.Set(timerKey{}, now.Add(m.config.ExpirationCheck), m.expire)
}
