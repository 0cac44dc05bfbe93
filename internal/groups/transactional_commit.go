package groups

import (
	"iter"
	"strings"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/statemachine"
	"kafka-iggy-bridge/internal/wire"
)

// txnCommitNewCodesVersion is the first version of TxnOffsetCommit that answers
// 69 for a group that does not exist and 113 for a stale member epoch; older ones
// answer 22 for both.
const txnCommitNewCodesVersion int16 = 6

// txnOffsetCommit keeps offsets that are committed when the producer's
// transaction is (TxnOffsetCommit 0-6; KIP-98, members' checks KIP-447). As with
// offsetCommit, the request has only topics and partitions that exist, with names
// and ids. That the transaction is open, and has the group's partition of
// __consumer_offsets in it, is made sure of before.
//
// An offset that the transaction has for a partition already is replaced. A
// producer whose epoch is over gets 47, as from Kafka's log, which is why errors
// of the group come first.
func (s *Shard) txnOffsetCommit(c *statemachine.Call, r *generated.TxnOffsetCommitRequest) {
	groupID := strings.Clone(r.GroupId)
	code := errorcode.None
	switch {
	case groupID == "":
		code = errorcode.InvalidGroupID
	case len(r.Topics) > 0:
		if code = s.checkTxnCommit(c, r); code == errorcode.None {
			s.storePending(groupID, r)
		}
	}
	resp := generated.DefaultTxnOffsetCommitResponse()
	resp.Topics = make([]generated.TxnOffsetCommitResponseTopic, len(r.Topics))
	for i := range r.Topics {
		t := &r.Topics[i]
		rows := make([]generated.TxnOffsetCommitResponsePartition, len(t.Partitions))
		for j := range t.Partitions {
			rows[j].PartitionIndex = t.Partitions[j].PartitionIndex
			rows[j].ErrorCode = code
			if code == errorcode.None && !s.metadataFits(t.Partitions[j].CommittedMetadata.S) {
				rows[j].ErrorCode = errorcode.OffsetMetadataTooLarge
			}
		}
		resp.Topics[i].Name = strings.Clone(t.Name)
		resp.Topics[i].TopicId = t.TopicId
		resp.Topics[i].Partitions = rows
	}
	s.answer(groupID, c.Token, &resp)
}

// checkTxnCommit tells whether the group, and then the producer's epoch, lets a
// commit through: the error code of all its partitions.
func (s *Shard) checkTxnCommit(c *statemachine.Call, r *generated.TxnOffsetCommitRequest) int16 {
	code := s.checkCommit(r.GroupId, &commitCheck{
		memberID:    r.MemberId,
		instanceID:  r.GroupInstanceId.S,
		hasInstance: r.GroupInstanceId.Valid,
		epoch:       r.GenerationIdOrMemberEpoch,
		version:     c.Version,
		txn:         true,
		partitions:  s.pendingPartitions(r),
	}, txnCommitNewCodesVersion)
	if code == errorcode.StaleMemberEpoch && c.Version < txnCommitNewCodesVersion {
		return errorcode.IllegalGeneration
	}
	if code != errorcode.None {
		return code
	}
	if p := s.pending.producers[r.ProducerId]; p != nil && r.ProducerEpoch < p.epoch {
		// What writes nothing does not reach Kafka's log.
		for range s.pendingPartitions(r) {
			code = errorcode.InvalidProducerEpoch
		}
	}
	return code
}

// pendingPartitions yields the partitions whose offsets would be kept.
func (s *Shard) pendingPartitions(r *generated.TxnOffsetCommitRequest) iter.Seq2[wire.UUID, int32] {
	return func(yield func(wire.UUID, int32) bool) {
		for i := range r.Topics {
			t := &r.Topics[i]
			for j := range t.Partitions {
				p := &t.Partitions[j]
				if s.metadataFits(p.CommittedMetadata.S) && !yield(t.TopicId, p.PartitionIndex) {
					return
				}
			}
		}
	}
}

// storePending keeps what the group takes, as one append. It makes a simple
// group where there is none, which stays if the transaction is aborted.
func (s *Shard) storePending(groupID string, r *generated.TxnOffsetCommitRequest) {
	s.offsetTable(groupID)
	var rs []records.Record
	for i := range r.Topics {
		t := &r.Topics[i]
		for j := range t.Partitions {
			row := &t.Partitions[j]
			if !s.metadataFits(row.CommittedMetadata.S) {
				continue
			}
			p := pendingOffset{
				committedOffset: committedOffset{
					partition:   row.PartitionIndex,
					offset:      row.CommittedOffset,
					leaderEpoch: row.CommittedLeaderEpoch,
					metadata:    row.CommittedMetadata.OrEmpty(),
					commitMs:    s.now.UnixMilli(),
					expireMs:    noExpiry,
					topicID:     t.TopicId,
				},
				producerID:    r.ProducerId,
				producerEpoch: r.ProducerEpoch,
				order:         s.pending.nextOrder(groupID, t.Name, row.PartitionIndex),
			}
			s.pending.set(groupID, t.Name, p)
			s.pending.producer(r.ProducerId).seen = s.now
			rs = append(rs, pendingOffsetRecord(s.now, groupID, t.Name, &p))
		}
	}
	s.write(groupID, rs...)
}
