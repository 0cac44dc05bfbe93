package groups

import (
	"strings"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/statemachine"
)

// offsetDelete removes offsets of topics that a group does not consume
// (OffsetDelete 0, KIP-496). The request has only topics and partitions that
// exist; an error of the group stands alone. What is pending in transactions is
// deleted as well, so their ends do not bring it back.
func (s *Shard) offsetDelete(c *statemachine.Call, r *generated.OffsetDeleteRequest) {
	resp := generated.DefaultOffsetDeleteResponse()
	groupID := strings.Clone(r.GroupId)
	resp.ErrorCode = s.checkOffsetDelete(groupID)
	if resp.ErrorCode == errorcode.None {
		resp.Topics = s.deleteOffsets(groupID, r)
	}
	s.answer(groupID, c.Token, &resp)
}

// checkOffsetDelete tells whether offsets of the group may be deleted at all: of
// groups that consume they may, topic by topic, of others without members only.
func (s *Shard) checkOffsetDelete(groupID string) int16 {
	g := s.groups[groupID]
	switch {
	case groupID == "":
		return errorcode.InvalidGroupID
	case g == nil && s.offsets[groupID] == nil:
		return errorcode.GroupIDNotFound
	case g == nil || g.protocolType() == consumerProtocolType:
		return errorcode.None
	default:
		return g.checkDelete()
	}
}

// deleteOffsets removes the offsets of a request and returns the answer's rows.
func (s *Shard) deleteOffsets(groupID string, r *generated.OffsetDeleteRequest) []generated.OffsetDeleteResponseTopic {
	g, table := s.groups[groupID], s.offsets[groupID]
	topics := make([]generated.OffsetDeleteResponseTopic, len(r.Topics))
	var rs []records.Record
	for i := range r.Topics {
		t := &r.Topics[i]
		code := errorcode.None
		if g != nil && g.subscribedTo(t.Name) {
			code = errorcode.GroupSubscribedToTopic
		}
		rows := make([]generated.OffsetDeleteResponsePartition, len(t.Partitions))
		for j := range t.Partitions {
			partition := t.Partitions[j].PartitionIndex
			rows[j] = generated.OffsetDeleteResponsePartition{PartitionIndex: partition, ErrorCode: code}
			if code != errorcode.None {
				continue
			}
			if table.get(t.Name, partition) != nil {
				table.remove(t.Name, partition)
				rs = append(rs, offsetTombstone(s.now, groupID, t.Name, partition))
			}
			rs = append(rs, s.pending.removeAt(s.now, groupID, place{t.Name, partition}, anyPending)...)
		}
		topics[i] = generated.OffsetDeleteResponseTopic{Name: strings.Clone(t.Name), Partitions: rows}
	}
	s.write(groupID, rs...)
	return topics
}
