package producers

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// ErrSnapshot says that bytes are no snapshot of a ledger.
var ErrSnapshot = errors.New("no snapshot of a partition's producers")

// snapshotVersion begins a snapshot. A later release that keeps more raises it.
const snapshotVersion = 1

// Snapshot is the ledger's state in bytes, from which Restore makes it again.
func (l *Ledger) Snapshot() []byte {
	b := binary.AppendVarint([]byte{snapshotVersion}, l.next)
	b = binary.AppendUvarint(b, uint64(len(l.producers)))
	for _, id := range slices.Sorted(maps.Keys(l.producers)) {
		p := l.producers[id]
		b = binary.AppendVarint(b, id)
		b = binary.AppendVarint(b, int64(p.epoch))
		b = binary.AppendVarint(b, int64(p.coordinatorEpoch))
		b = binary.AppendVarint(b, p.timestamp)
		b = binary.AppendVarint(b, p.firstOffset)
		marked := byte(0)
		if p.marked {
			marked = 1
		}
		b = append(b, marked, byte(len(p.batches)))
		for _, batch := range p.batches {
			b = binary.AppendVarint(b, int64(batch.first))
			b = binary.AppendVarint(b, int64(batch.last))
			b = binary.AppendVarint(b, batch.at.Base)
			b = binary.AppendVarint(b, batch.at.Timestamp)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(l.aborted)))
	for _, a := range l.aborted {
		b = binary.AppendVarint(b, a.ProducerID)
		b = binary.AppendVarint(b, a.First)
		b = binary.AppendVarint(b, a.Last)
		b = binary.AppendVarint(b, a.stable)
	}
	return b
}

// Restore makes a ledger of a snapshot. The error is ErrSnapshot.
func Restore(snapshot []byte) (*Ledger, error) {
	if len(snapshot) == 0 || snapshot[0] != snapshotVersion {
		return nil, fmt.Errorf("%w: %d bytes, of another version", ErrSnapshot, len(snapshot))
	}
	r := reader{rest: snapshot[1:]}
	l := NewLedger(r.varint())
	for range r.count(minProducerSize) {
		r.producer(l)
	}
	for range r.count(minAbortedSize) {
		l.aborted = append(l.aborted, Aborted{ProducerID: r.varint(), First: r.varint(), Last: r.varint(), stable: r.varint()})
	}
	if r.failed || len(r.rest) > 0 {
		return nil, fmt.Errorf("%w: malformed", ErrSnapshot)
	}
	slices.SortFunc(l.open, func(a, b openTransaction) int { return cmp.Compare(a.first, b.first) })
	return l, nil
}

const (
	minProducerSize = 7 // five numbers, the mark, the count
	minAbortedSize  = 4
)

// reader reads a snapshot; once something failed it gives zeros.
type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		r.failed, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// count reads how many elements follow, which have at least a size in bytes.
func (r *reader) count(size int) int {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v > uint64(len(r.rest)-n)/uint64(size) {
		r.failed, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return int(v)
}

func (r *reader) byte() byte {
	if len(r.rest) == 0 {
		r.failed = true
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *reader) producer(l *Ledger) {
	id := r.varint()
	p := &producer{
		epoch: int16(r.varint()), coordinatorEpoch: int32(r.varint()),
		timestamp: r.varint(), firstOffset: r.varint(),
	}
	p.marked = r.byte() == 1
	n := int(r.byte())
	if n > rememberedBatches {
		r.failed = true
		return
	}
	for range n {
		p.batches = append(p.batches, batch{
			first: int32(r.varint()), last: int32(r.varint()),
			at: Appended{Base: r.varint(), Timestamp: r.varint()},
		})
	}
	l.producers[id] = p
	if p.firstOffset != noOffset {
		l.open = append(l.open, openTransaction{first: p.firstOffset, producerID: id})
	}
}
