// Package producers is what a partition remembers of those who write to it:
// epochs and sequence numbers of idempotent producers (KIP-98, KIP-360), open
// transactions, and which transactions were aborted. It does no I/O; its state
// is a function of the partition's log.
package producers

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// Errors of Check and CheckMarker. They come wrapped, with what was expected.
var (
	// ErrSequence says that a batch does not follow the producer's last one:
	// OUT_OF_ORDER_SEQUENCE_NUMBER.
	ErrSequence = errors.New("out of order sequence number")
	// ErrEpoch says that the producer was fenced by a later epoch:
	// INVALID_PRODUCER_EPOCH.
	ErrEpoch = errors.New("the producer's epoch is over")
	// ErrTransactionState says that a producer with an open transaction wrote
	// outside of it: INVALID_TXN_STATE.
	ErrTransactionState = errors.New("the producer has an open transaction")
	// ErrCoordinatorEpoch says that a marker comes from a former coordinator:
	// TRANSACTION_COORDINATOR_FENCED.
	ErrCoordinatorEpoch = errors.New("the transaction coordinator's epoch is over")
)

// rememberedBatches is how many batches of a producer can be told from new ones
// when they are sent again: as many as a client may have in flight.
const rememberedBatches = 5

const (
	noEpoch    int16 = -1
	noSequence int32 = -1
	noOffset   int64 = -1
)

// Batch is a batch of a producer with an id.
type Batch struct {
	ProducerID    int64
	Epoch         int16
	FirstSequence int32
	LastSequence  int32
	Transactional bool
}

// Appended is where a batch lies.
type Appended struct {
	// Base is the offset of its first record.
	Base int64
	// Timestamp is its greatest record timestamp, in ms.
	Timestamp int64
}

// Marker ends a transaction in the partition.
type Marker struct {
	ProducerID       int64
	Epoch            int16
	CoordinatorEpoch int32
	Commit           bool
	// Bumped says that Epoch is the one that follows the transaction's (KIP-890): it
	// is the next transaction's as well, so a marker that comes late can be told.
	Bumped bool
}

// Ledger is the memory of one partition. It is not safe for concurrent use.
type Ledger struct {
	producers map[int64]*producer
	// open are the transactions without a marker, by the offset of their first
	// record.
	open []openTransaction
	// aborted are the aborted transactions, by the offset of their marker.
	aborted []Aborted
	// next is the offset behind the last record that is accounted for.
	next int64
	// last is the batch that a replayed record may still belong to.
	last replayed
}

type producer struct {
	epoch            int16
	coordinatorEpoch int32
	// marked says that a marker was the last that came for the producer.
	marked bool
	// timestamp is that of the last batch or marker, in ms.
	timestamp int64
	// firstOffset is that of the open transaction, or noOffset.
	firstOffset int64
	batches     []batch // of the present epoch, oldest first
}

type batch struct {
	first, last int32
	at          Appended
}

type openTransaction struct {
	first      int64
	producerID int64
}

// Aborted is an aborted transaction.
type Aborted struct {
	ProducerID int64
	// First is the offset of its first record, Last that of its marker.
	First, Last int64
	// stable is the last stable offset once the marker was there: what is aborted
	// later begins at or behind it.
	stable int64
}

// NewLedger makes a Ledger that knows nothing of what lies before an offset.
func NewLedger(next int64) *Ledger {
	return &Ledger{producers: make(map[int64]*producer), next: next}
}

// Next is the offset behind the last record that is accounted for.
func (l *Ledger) Next() int64 { return l.next }

// Len is the number of producers that are remembered.
func (l *Ledger) Len() int { return len(l.producers) }

// Check tells what is to become of a batch that a client sends. It is appended
// when both results are nil. A duplicate of one of the producer's last five
// batches is not appended, but answered as the original was. The error is
// ErrEpoch, ErrSequence or ErrTransactionState.
//
// A producer that is not known may begin with any sequence number: its state may
// have expired, or its records may have been deleted (KIP-360).
func (l *Ledger) Check(b Batch) (duplicate *Appended, err error) {
	p, ok := l.producers[b.ProducerID]
	if !ok {
		return nil, nil
	}
	if at := p.find(&b); at != nil {
		return at, nil
	}
	if b.Epoch < p.epoch {
		return nil, fmt.Errorf("%w: epoch %d of producer %d, which has epoch %d", ErrEpoch, b.Epoch, b.ProducerID, p.epoch)
	}
	last := noSequence
	if b.Epoch == p.epoch {
		last = p.lastSequence()
	}
	if !follows(last, b.FirstSequence) {
		return nil, fmt.Errorf("%w: producer %d epoch %d sends %d behind %d", ErrSequence, b.ProducerID, b.Epoch, b.FirstSequence, last)
	}
	if p.firstOffset != noOffset && !b.Transactional {
		return nil, fmt.Errorf("%w: producer %d, since offset %d", ErrTransactionState, b.ProducerID, p.firstOffset)
	}
	return nil, nil
}

// find looks for a batch among the last ones of the present epoch.
func (p *producer) find(b *Batch) *Appended {
	if b.Epoch != p.epoch {
		return nil
	}
	for i := range p.batches {
		if p.batches[i].first == b.FirstSequence && p.batches[i].last == b.LastSequence {
			at := p.batches[i].at
			return &at
		}
	}
	return nil
}

func (p *producer) lastSequence() int32 {
	if len(p.batches) == 0 {
		return noSequence
	}
	return p.batches[len(p.batches)-1].last
}

// follows reports whether a sequence number comes behind another: behind
// 2^31-1 comes 0.
func follows(last, next int32) bool {
	if last == math.MaxInt32 {
		return next == 0
	}
	return next == last+1
}

// Append takes note of a batch of n records that was appended.
func (l *Ledger) Append(b Batch, at Appended, n int) {
	p := l.producer(b.ProducerID)
	if p.epoch != b.Epoch {
		p.epoch, p.batches = b.Epoch, p.batches[:0]
	}
	if len(p.batches) == rememberedBatches {
		p.batches = append(p.batches[:0], p.batches[1:]...)
	}
	p.batches = append(p.batches, batch{first: b.FirstSequence, last: b.LastSequence, at: at})
	p.timestamp, p.marked = at.Timestamp, false
	if b.Transactional && p.firstOffset == noOffset {
		p.firstOffset = at.Base
		l.open = append(l.open, openTransaction{first: at.Base, producerID: b.ProducerID})
	}
	l.next = max(l.next, at.Base+int64(n))
	l.last = replayed{}
}

// Skip takes note of records without a producer, up to the offset next.
func (l *Ledger) Skip(next int64) {
	l.next = max(l.next, next)
	l.last = replayed{}
}

func (l *Ledger) producer(id int64) *producer {
	p, ok := l.producers[id]
	if !ok {
		p = &producer{epoch: noEpoch, coordinatorEpoch: -1, firstOffset: noOffset, timestamp: -1}
		l.producers[id] = p
	}
	return p
}

// CheckMarker tells whether a marker has to be written. It has not when it was
// written before: a coordinator that does not know sends its markers again. One
// with a bumped epoch is known also when the producer's next transaction is open.
// The error is ErrEpoch or ErrCoordinatorEpoch.
func (l *Ledger) CheckMarker(m Marker) (needed bool, err error) {
	p, ok := l.producers[m.ProducerID]
	switch {
	case !ok:
		return true, nil
	case m.Epoch < p.epoch:
		return false, fmt.Errorf("%w: marker with epoch %d for producer %d, which has epoch %d", ErrEpoch, m.Epoch, m.ProducerID, p.epoch)
	case m.CoordinatorEpoch < p.coordinatorEpoch:
		return false, fmt.Errorf("%w: %d, producer %d had a marker of %d", ErrCoordinatorEpoch, m.CoordinatorEpoch, m.ProducerID, p.coordinatorEpoch)
	}
	if m.Bumped {
		return p.epoch != m.Epoch, nil
	}
	return p.firstOffset != noOffset || !p.marked || p.epoch != m.Epoch, nil
}

// End takes note of a marker that was appended at an offset; timestamp in ms.
func (l *Ledger) End(m Marker, offset, timestamp int64) {
	p := l.producer(m.ProducerID)
	first := p.firstOffset
	if p.epoch != m.Epoch {
		p.epoch, p.batches = m.Epoch, p.batches[:0]
	}
	p.coordinatorEpoch, p.firstOffset, p.marked, p.timestamp = m.CoordinatorEpoch, noOffset, true, timestamp
	l.next = max(l.next, offset+1)
	l.last = replayed{}
	if first == noOffset {
		return
	}
	l.open = slices.DeleteFunc(l.open, func(t openTransaction) bool { return t.first == first })
	if !m.Commit {
		l.aborted = append(l.aborted, Aborted{ProducerID: m.ProducerID, First: first, Last: offset, stable: l.LastStable(offset + 1)})
	}
}

// LastStable is the last stable offset of a partition with a high watermark: no
// transaction is open before it.
func (l *Ledger) LastStable(highWatermark int64) int64 {
	if len(l.open) > 0 {
		return min(l.open[0].first, highWatermark)
	}
	return highWatermark
}

// Aborted are the aborted transactions with records from offset from up to, and
// without, the offset to.
func (l *Ledger) Aborted(from, to int64) []Aborted {
	var found []Aborted
	i, _ := slices.BinarySearchFunc(l.aborted, from, func(a Aborted, from int64) int {
		if a.Last < from {
			return -1
		}
		return 1
	})
	for ; i < len(l.aborted); i++ {
		if l.aborted[i].First < to {
			found = append(found, l.aborted[i])
		}
		if l.aborted[i].stable >= to {
			break
		}
	}
	return found
}

// Trim forgets aborted transactions that end before the log's start.
func (l *Ledger) Trim(start int64) {
	n := 0
	for n < len(l.aborted) && l.aborted[n].Last < start {
		n++
	}
	l.aborted = slices.Delete(l.aborted, 0, n)
}

// Expire forgets producers without an open transaction that have been silent
// for a time, by the timestamps of what they wrote (producer.id.expiration.ms).
func (l *Ledger) Expire(now time.Time, after time.Duration) {
	before := now.Add(-after).UnixMilli()
	for id, p := range l.producers {
		if p.firstOffset == noOffset && p.timestamp <= before {
			delete(l.producers, id)
		}
	}
}

// Producer is the state of a producer, as DescribeProducers shows it.
type Producer struct {
	ID               int64
	Epoch            int16
	LastSequence     int32 // -1 without any
	LastTimestamp    int64 // ms
	CoordinatorEpoch int32 // -1 without any
	FirstOffset      int64 // of the open transaction, -1 without one
}

// Producers are the producers that are remembered, by id.
func (l *Ledger) Producers() []Producer {
	all := make([]Producer, 0, len(l.producers))
	for id, p := range l.producers {
		all = append(all, Producer{
			ID: id, Epoch: p.epoch, LastSequence: p.lastSequence(), LastTimestamp: p.timestamp,
			CoordinatorEpoch: p.coordinatorEpoch, FirstOffset: p.firstOffset,
		})
	}
	slices.SortFunc(all, func(a, b Producer) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Open reports whether a producer has a transaction open, and its epoch.
func (l *Ledger) Open(producerID int64) (epoch int16, open bool) {
	p, ok := l.producers[producerID]
	if !ok || p.firstOffset == noOffset {
		return noEpoch, false
	}
	return p.epoch, true
}
