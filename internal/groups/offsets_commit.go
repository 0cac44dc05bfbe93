package groups

import (
	"iter"
	"math"
	"strings"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/statemachine"
	"kafka-iggy-bridge/internal/wire"
)

// commitGroupIDNotFoundVersion is the first version of OffsetCommit that answers
// 69 instead of 22 for a group that does not exist.
const commitGroupIDNotFoundVersion int16 = 9

// defaultRetentionTime in a commit leaves the end of its offsets to the
// configuration. Only versions 2 to 4 can say anything else.
const defaultRetentionTime = -1

// offsetCommit stores offsets, of a member or of nobody (OffsetCommit 2-10). The
// request has only topics and partitions that exist, each topic with its name
// and its id: the handler answers the others, as Kafka does before it asks the
// coordinator, and asks for nothing if none are left.
//
// The group decides on the request as a whole, then each partition's metadata is
// looked at (12). What is left is one append. Any offset may be committed.
func (s *Shard) offsetCommit(c *statemachine.Call, r *generated.OffsetCommitRequest) {
	groupID := strings.Clone(r.GroupId)
	code := errorcode.None
	if len(r.Topics) > 0 {
		code = s.checkCommit(groupID, &commitCheck{
			memberID:    r.MemberId,
			instanceID:  r.GroupInstanceId.S,
			hasInstance: r.GroupInstanceId.Valid,
			epoch:       r.GenerationIdOrMemberEpoch,
			version:     c.Version,
			partitions:  s.storedPartitions(r),
		}, commitGroupIDNotFoundVersion)
		if code == errorcode.None {
			s.storeCommit(groupID, r)
		}
	}
	resp := generated.DefaultOffsetCommitResponse()
	resp.Topics = make([]generated.OffsetCommitResponseTopic, len(r.Topics))
	for i := range r.Topics {
		t := &r.Topics[i]
		rows := make([]generated.OffsetCommitResponsePartition, len(t.Partitions))
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

// checkCommit tells whether the group takes a commit: the error code of all its
// partitions. Versions from notFoundVersion on have a code for groups that do not
// exist.
func (s *Shard) checkCommit(groupID string, c *commitCheck, notFoundVersion int16) int16 {
	if g := s.groups[groupID]; g != nil {
		return g.checkCommit(c)
	}
	switch {
	case c.epoch < 0:
		return errorcode.None
	case s.offsets[groupID] != nil:
		// Simple groups have no members to be known.
		return errorcode.UnknownMemberID
	case c.version >= notFoundVersion:
		return errorcode.GroupIDNotFound
	default:
		return errorcode.IllegalGeneration
	}
}

// storedPartitions yields the partitions whose offsets would be stored.
func (s *Shard) storedPartitions(r *generated.OffsetCommitRequest) iter.Seq2[wire.UUID, int32] {
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

// storeCommit stores what the group takes, as one append. What is pending for the
// same partitions is older from now on.
func (s *Shard) storeCommit(groupID string, r *generated.OffsetCommitRequest) {
	nowMs := s.now.UnixMilli()
	expireMs := int64(noExpiry)
	if r.RetentionTimeMs != defaultRetentionTime {
		expireMs = nowMs + r.RetentionTimeMs
	}
	n := 0
	for i := range r.Topics {
		n += len(r.Topics[i].Partitions)
	}
	rs := make([]records.Record, 0, n)
	for i := range r.Topics {
		t := &r.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			if !s.metadataFits(p.CommittedMetadata.S) {
				continue
			}
			o := committedOffset{
				partition:   p.PartitionIndex,
				offset:      p.CommittedOffset,
				leaderEpoch: p.CommittedLeaderEpoch,
				metadata:    p.CommittedMetadata.OrEmpty(),
				commitMs:    nowMs,
				expireMs:    expireMs,
				topicID:     t.TopicId,
			}
			if expireMs != noExpiry {
				// The record with an expire timestamp has no room for these.
				o.leaderEpoch, o.topicID = -1, wire.UUID{}
			}
			s.offsetTable(groupID).set(t.Name, o)
			rs = append(rs, offsetRecord(s.now, groupID, t.Name, &o))
			rs = append(rs, s.pending.outdate(s.now, groupID, t.Name, p.PartitionIndex, math.MaxInt64)...)
		}
	}
	s.write(groupID, rs...)
}

// metadataFits tells whether a partition's metadata is within the limit.
func (s *Shard) metadataFits(metadata string) bool {
	limit := s.config.OffsetMetadataMaxBytes
	return len(metadata) <= limit || utf16Len(metadata) <= limit
}

// utf16Len is how long Java finds a string, which is how Kafka counts metadata,
// whatever its limit is called.
func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}
