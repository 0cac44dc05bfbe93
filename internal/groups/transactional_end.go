package groups

import (
	"maps"
	"slices"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/statemachine"
)

// EndTransaction is the request from within that takes the place of the control
// record which ends a transaction in a partition of __consumer_offsets. It is
// for all groups of the shard: what the producer committed for them in that epoch
// or before becomes committed, or is forgotten.
//
// The answer is an empty WriteTxnMarkersResponse. When it comes, the end is
// durable. Asking again does nothing, and the answer comes when what was done
// first is durable; so whoever has no answer may repeat it until there is one.
// What must not happen is that it comes late, when the producer has begun its
// next transaction in the same epoch. With a bumped epoch it may.
type EndTransaction struct {
	ProducerID    int64
	ProducerEpoch int16
	Commit        bool
	// Bumped says that ProducerEpoch is the one that follows the transaction's
	// (KIP-890), and so may be that of the producer's next transaction, which does
	// not end here.
	Bumped bool
}

// endTransaction writes the ends of a transaction, those of each group as one
// append. A failure in between leaves some groups for the next attempt.
//
// Records of a shard reach the log in the order in which they were emitted, so
// what follows the last of them follows all. Hence the answer's scope: the group
// that was written to last. With that, and not just the groups of this end, it
// waits for an earlier end of the same transaction that is still on its way, and
// for what had removed its pending offsets.
func (s *Shard) endTransaction(c *statemachine.Call, e *EndTransaction) {
	p := s.pending.producer(e.ProducerID)
	p.seen = s.now
	for _, groupID := range slices.Sorted(maps.Keys(p.places)) {
		s.write(groupID, s.endInGroup(groupID, p, e)...)
	}
	// A commit that was on its way when its transaction was aborted in the name of
	// the next epoch comes too late: nothing would ever end it.
	p.epoch = max(p.epoch, e.ProducerEpoch)
	resp := generated.DefaultWriteTxnMarkersResponse()
	s.answer(s.lastWritten, c.Token, &resp)
}

// endInGroup ends a transaction in a group and returns the records: ordinary
// offset commits, with the time at which the producer committed, and tombstones
// of what was pending. As in Kafka, offsets count in the order in which they were
// written and not in that of the transactions' ends, so one that is outdated is
// not committed, and one that is committed outdates the older ones of other
// transactions.
func (s *Shard) endInGroup(groupID string, p *offsetProducer, e *EndTransaction) []records.Record {
	var rs []records.Record
	for _, at := range slices.SortedFunc(maps.Keys(p.places[groupID]), comparePlaces) {
		pending := s.pending.at(groupID, at.topic, at.partition)
		o := pending[slices.IndexFunc(pending, func(o pendingOffset) bool { return o.producerID == e.ProducerID })]
		if o.producerEpoch > e.ProducerEpoch || e.Bumped && o.producerEpoch == e.ProducerEpoch {
			continue
		}
		s.pending.remove(groupID, at.topic, at.partition, e.ProducerID)
		if e.Commit && !o.outdated {
			s.offsetTable(groupID).set(at.topic, o.committedOffset)
			rs = append(rs, offsetRecord(s.now, groupID, at.topic, &o.committedOffset))
			rs = append(rs, s.pending.outdate(s.now, groupID, at.topic, at.partition, o.order)...)
		}
		rs = append(rs, pendingOffsetTombstone(s.now, groupID, at.topic, &o))
	}
	return rs
}
