package groups

import (
	"strings"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/statemachine"
	"kafka-iggy-bridge/internal/wire"
)

// The first versions of OffsetFetch that behave differently.
const (
	fetchGroupErrorVersion int16 = 2 // the group's error beside the rows; null topics for all
	fetchGroupsVersion     int16 = 8 // several groups (KIP-709)
)

// invalidOffset is the offset of a partition for which none is committed.
const invalidOffset = -1

// offsetFetch answers what is committed for a group (OffsetFetch 1-10, of which
// versions 8 and above have exactly one group here). From version 10 on the
// handler gives topics their names besides the ids, keeps back those with ids
// that are not known, and gives the answer to a fetch of all topics their ids.
//
// With require_stable (KIP-447) a partition with offsets of an open transaction
// is answered 88, and the client asks again; without, what is committed is
// answered. A fetch of all offsets has only partitions for which something is
// committed, as in Kafka. Plain commits are always stable: an answer waits until
// all records of its group before it are durable.
func (s *Shard) offsetFetch(c *statemachine.Call, r *generated.OffsetFetchRequest) {
	req := fetchRequest(c.Version, r)
	group := generated.DefaultOffsetFetchResponseGroup()
	group.GroupId = strings.Clone(req.GroupId)
	switch code := s.checkFetch(req); {
	case code == errorcode.None && req.Topics == nil:
		group.Topics = s.fetchAllOffsets(req.GroupId, r.RequireStable)
	case code == errorcode.None:
		group.Topics = s.fetchOffsets(req, r.RequireStable)
	case c.Version < fetchGroupErrorVersion:
		group.Topics = fetchErrorRows(req, code)
	default:
		group.ErrorCode = code
	}
	s.answer(group.GroupId, c.Token, fetchResponse(c.Version, &group))
}

// fetchRequest returns a request in the form of the newer versions.
func fetchRequest(version int16, r *generated.OffsetFetchRequest) *generated.OffsetFetchRequestGroup {
	if version >= fetchGroupsVersion {
		return &r.Groups[0]
	}
	req := generated.DefaultOffsetFetchRequestGroup()
	req.GroupId = r.GroupId
	req.Topics = nil
	if r.Topics != nil {
		req.Topics = make([]generated.OffsetFetchRequestTopics, len(r.Topics))
		for i := range r.Topics {
			req.Topics[i].Name = r.Topics[i].Name
			req.Topics[i].PartitionIndexes = r.Topics[i].PartitionIndexes
		}
	}
	return &req
}

// checkFetch tells whether the group lets a member, or nobody, fetch offsets. A
// group that does not exist does, and has none.
func (s *Shard) checkFetch(req *generated.OffsetFetchRequestGroup) int16 {
	g := s.groups[req.GroupId]
	if g == nil || !req.MemberId.Valid && req.MemberEpoch < 0 {
		return errorcode.None
	}
	return g.checkFetch(req.MemberId.S, req.MemberEpoch)
}

// fetchOffsets returns the rows of the partitions that were asked for, which need
// not exist.
func (s *Shard) fetchOffsets(req *generated.OffsetFetchRequestGroup, stable bool) []generated.OffsetFetchResponseTopics {
	table := s.offsets[req.GroupId]
	topics := make([]generated.OffsetFetchResponseTopics, len(req.Topics))
	for i := range req.Topics {
		t := &req.Topics[i]
		rows := make([]generated.OffsetFetchResponsePartitions, len(t.PartitionIndexes))
		for j, partition := range t.PartitionIndexes {
			if stable && s.isUnstable(req.GroupId, t.Name, partition) {
				rows[j] = fetchErrorRow(partition, errorcode.UnstableOffsetCommit)
				continue
			}
			o := table.get(t.Name, partition)
			if o != nil && otherTopic(o.topicID, t.TopicId) {
				o = nil
			}
			rows[j] = fetchRow(partition, o)
		}
		topics[i].Name = strings.Clone(t.Name)
		topics[i].TopicId = t.TopicId
		topics[i].Partitions = rows
	}
	return topics
}

// otherTopic tells whether two ids, of which either may be unknown, are those of
// different topics: an offset may be left over from one that had the same name.
func otherTopic(a, b wire.UUID) bool { return !a.IsZero() && !b.IsZero() && a != b }

// fetchAllOffsets returns all rows that a group has, without topic ids.
func (s *Shard) fetchAllOffsets(groupID string, stable bool) []generated.OffsetFetchResponseTopics {
	topics := []generated.OffsetFetchResponseTopics{}
	for name, offsets := range s.offsets[groupID].all() {
		rows := make([]generated.OffsetFetchResponsePartitions, len(offsets))
		for i := range offsets {
			o := &offsets[i]
			if stable && s.isUnstable(groupID, name, o.partition) {
				rows[i] = fetchErrorRow(o.partition, errorcode.UnstableOffsetCommit)
			} else {
				rows[i] = fetchRow(o.partition, o)
			}
		}
		topics = append(topics, generated.OffsetFetchResponseTopics{Name: name, Partitions: rows})
	}
	return topics
}

// fetchRow is the row of a partition; o is nil when nothing is committed.
func fetchRow(partition int32, o *committedOffset) generated.OffsetFetchResponsePartitions {
	row := generated.OffsetFetchResponsePartitions{
		PartitionIndex:       partition,
		CommittedOffset:      invalidOffset,
		CommittedLeaderEpoch: -1,
		Metadata:             wire.String(""),
	}
	if o != nil {
		row.CommittedOffset = o.offset
		row.CommittedLeaderEpoch = o.leaderEpoch
		row.Metadata.S = o.metadata
	}
	return row
}

// isUnstable tells whether a transaction may yet change a partition's offset.
func (s *Shard) isUnstable(groupID, topic string, partition int32) bool {
	return len(s.pending.at(groupID, topic, partition)) > 0
}

// fetchErrorRow is the row of a partition with an error.
func fetchErrorRow(partition int32, code int16) generated.OffsetFetchResponsePartitions {
	row := fetchRow(partition, nil)
	row.ErrorCode = code
	return row
}

// fetchErrorRows says a group's error in every row, for version 1.
func fetchErrorRows(req *generated.OffsetFetchRequestGroup, code int16) []generated.OffsetFetchResponseTopics {
	topics := make([]generated.OffsetFetchResponseTopics, len(req.Topics))
	for i := range req.Topics {
		t := &req.Topics[i]
		topics[i].Name = strings.Clone(t.Name)
		topics[i].Partitions = make([]generated.OffsetFetchResponsePartitions, len(t.PartitionIndexes))
		for j, partition := range t.PartitionIndexes {
			topics[i].Partitions[j] = fetchErrorRow(partition, code)
		}
	}
	return topics
}

// fetchResponse puts a group's answer into the form of the version.
func fetchResponse(version int16, group *generated.OffsetFetchResponseGroup) *generated.OffsetFetchResponse {
	resp := generated.DefaultOffsetFetchResponse()
	if version >= fetchGroupsVersion {
		resp.Groups = []generated.OffsetFetchResponseGroup{*group}
		return &resp
	}
	resp.ErrorCode = group.ErrorCode
	resp.Topics = make([]generated.OffsetFetchResponseTopic, len(group.Topics))
	for i := range group.Topics {
		t := &group.Topics[i]
		resp.Topics[i].Name = t.Name
		resp.Topics[i].Partitions = make([]generated.OffsetFetchResponsePartition, len(t.Partitions))
		for j := range t.Partitions {
			p := &t.Partitions[j]
			resp.Topics[i].Partitions[j] = generated.OffsetFetchResponsePartition{
				PartitionIndex:       p.PartitionIndex,
				CommittedOffset:      p.CommittedOffset,
				CommittedLeaderEpoch: p.CommittedLeaderEpoch,
				Metadata:             p.Metadata,
				ErrorCode:            p.ErrorCode,
			}
		}
	}
	return &resp
}
