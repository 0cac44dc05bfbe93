package transactions

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"kafka-iggy-bridge/internal/statemachine"
)

// state is a transaction's state; the numbers are those in Kafka's records.
type state int8

const (
	stateEmpty          state = 0
	stateOngoing        state = 1
	statePrepareCommit  state = 2
	statePrepareAbort   state = 3
	stateCompleteCommit state = 4
	stateCompleteAbort  state = 5
	// Kafka has a state Dead (6), which is only in memory, and PrepareEpochFence
	// (7), during which others have to wait; here nobody sees it.
)

// stateNames are the states' names in answers, by number.
var stateNames = []string{
	"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence",
}

const (
	noProducerID int64 = -1
	noEpoch      int16 = -1
	noTime       int64 = -1

	// lastUsableEpoch is the greatest epoch that producers get: the one above it
	// fences the last one.
	lastUsableEpoch int16 = math.MaxInt16 - 1
)

// transaction is a transactional id with its present, or last, transaction.
type transaction struct {
	id    string
	state state

	producerID int64
	epoch      int16
	// lastEpoch is the epoch before this one when the producer itself asked for
	// this one, so that it may ask again; previousID is the id before this one.
	lastEpoch  int16
	previousID int64
	// nextID is the id that the producer gets when the transaction is over, as its
	// epochs are used up; otherwise noProducerID.
	nextID int64

	timeoutMs  int32
	partitions map[TopicPartition]struct{}
	// started is when the transaction was begun and updated when the state last
	// changed, in ms.
	started, updated int64
	// version is the client's transaction version (KIP-890): 2 for one whose epoch
	// grows with each transaction, else 0.
	version int16
}

// transactionVersion2 is the transaction version of KIP-890.
const transactionVersion2 int16 = 2

func newTransaction(id string) *transaction {
	return &transaction{
		id: id, producerID: noProducerID, previousID: noProducerID, nextID: noProducerID,
		epoch: noEpoch, lastEpoch: noEpoch, started: noTime, updated: noTime,
	}
}

// isOpen reports whether there is a transaction that has not ended.
func (t *transaction) isOpen() bool {
	return t.state == stateOngoing || t.isEnding()
}

// isEnding reports whether markers are being written.
func (t *transaction) isEnding() bool {
	return t.state == statePrepareCommit || t.state == statePrepareAbort
}

func (t *transaction) isExhausted() bool { return t.epoch >= lastUsableEpoch }

// sorted are the partitions, in order.
func (t *transaction) sorted() []TopicPartition {
	return slices.SortedFunc(maps.Keys(t.partitions), func(a, b TopicPartition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
}

// watchTimeout sets the time at which an open transaction is aborted.
func (m *Machine) watchTimeout(t *transaction) {
	at := time.UnixMilli(t.started).Add(time.Duration(t.timeoutMs) * time.Millisecond)
	m.timers.Set(timerKey{t.id}, at, func(time.Time) { m.fence(t) })
}

// fence aborts an open transaction and fences its producer: the epoch that the
// abort brings is nobody's. It reports whether that was possible.
func (m *Machine) fence(t *transaction) bool {
	next := noProducerID
	if t.isExhausted() {
		var ok bool
		if next, ok = m.config.NewProducerID(); !ok {
			m.timers.Set(timerKey{t.id}, m.now.Add(retryPause), func(time.Time) { m.fence(t) })
			return false
		}
	}
	m.prepare(t, statePrepareAbort, transactionVersion2, next)
	return true
}

// retryPause is the time until something is tried again that no client repeats.
const retryPause = time.Second

// prepare decides the end of a transaction, writes that down, and has it ended in
// its partitions.
func (m *Machine) prepare(t *transaction, to state, version int16, nextID int64) {
	m.timers.Cancel(timerKey{t.id})
	if version >= transactionVersion2 {
		t.lastEpoch = t.epoch
		if t.epoch < math.MaxInt16 {
			t.epoch++
		}
	}
	if t.state != stateOngoing { // an abort of nothing, for its epoch's sake
		t.started = m.now.UnixMilli()
	}
	t.previousID, t.nextID = t.producerID, nextID
	t.state, t.version, t.updated = to, version, m.now.UnixMilli()
	m.write(t)
	m.finish(t)
}

// finish has the markers written that end a transaction in its partitions.
func (m *Machine) finish(t *transaction) {
	if len(t.partitions) == 0 {
		m.complete(t)
		return
	}
	m.actions = append(m.actions, statemachine.Action{Scope: t.id, Effect: WriteMarkers{
		TransactionalID: t.id, ProducerID: t.producerID, ProducerEpoch: t.epoch,
		Commit: t.state == statePrepareCommit, Bumped: t.version >= transactionVersion2, Partitions: t.sorted(),
	}})
}

// markersWritten completes a transaction, unless that was done.
func (m *Machine) markersWritten(w *MarkersWritten) {
	t := m.find(w.TransactionalID)
	if t == nil || !t.isEnding() || t.producerID != w.ProducerID || t.epoch != w.ProducerEpoch {
		return
	}
	m.complete(t)
}

// complete writes down that a transaction has ended everywhere.
func (m *Machine) complete(t *transaction) {
	switch t.state {
	case statePrepareCommit:
		t.state = stateCompleteCommit
	case statePrepareAbort:
		t.state = stateCompleteAbort
	}
	t.previousID = t.producerID
	t.producerID, t.epoch = t.afterEnd()
	t.nextID = noProducerID
	t.partitions = nil
	t.updated = m.now.UnixMilli()
	m.write(t)
}

// afterEnd is the producer id and epoch for what comes behind the transaction.
func (t *transaction) afterEnd() (int64, int16) {
	if t.version >= transactionVersion2 && t.nextID != noProducerID {
		return t.nextID, 0
	}
	return t.producerID, t.epoch
}
