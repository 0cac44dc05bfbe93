package groups

import (
	"bytes"
	"cmp"
	"slices"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/groups/assignor"
	"kafka-iggy-bridge/internal/wire"
)

// ownedPartition is a partition of a member with the epoch at which it was given
// to the member: commits of older epochs do not touch it.
type ownedPartition struct {
	partition, epoch int32
}

// ownership are a member's partitions, by topic, ascending, no topic without
// any. It is never changed, so members share it.
type ownership map[wire.UUID][]ownedPartition

func (o ownership) equal(p ownership) bool {
	if len(o) != len(p) {
		return false
	}
	for id, owned := range o {
		if !slices.Equal(owned, p[id]) {
			return false
		}
	}
	return true
}

// find is the epoch of a partition, and false when it is not in there.
func (o ownership) find(id wire.UUID, partition int32) (int32, bool) {
	return findOwned(o[id], partition)
}

func findOwned(owned []ownedPartition, partition int32) (int32, bool) {
	i, ok := slices.BinarySearchFunc(owned, partition, func(p ownedPartition, q int32) int {
		return cmp.Compare(p.partition, q)
	})
	if !ok {
		return 0, false
	}
	return owned[i].epoch, true
}

// withEpoch is the ownership with all partitions at one epoch.
func (o ownership) withEpoch(epoch int32) ownership {
	set := make(ownership, len(o))
	for id, owned := range o {
		owned = slices.Clone(owned)
		for i := range owned {
			owned[i].epoch = epoch
		}
		set[id] = owned
	}
	return set
}

// topicIDs are the topics of an ownership or an assignment in the order of their
// ids, which makes records and answers the same every time.
func topicIDs[V any](m map[wire.UUID]V) []wire.UUID {
	ids := make([]wire.UUID, 0, len(m))
	for id := range m {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b wire.UUID) int { return bytes.Compare(a[:], b[:]) })
	return ids
}

// toRecord is an ownership as current assignments keep it.
func (o ownership) toRecord() []generated.ConsumerGroupCurrentMemberAssignmentValueTopicPartitions {
	topics := make([]generated.ConsumerGroupCurrentMemberAssignmentValueTopicPartitions, 0, len(o))
	for _, id := range topicIDs(o) {
		partitions := make([]int32, len(o[id]))
		epochs := make([]int32, len(o[id]))
		for i, p := range o[id] {
			partitions[i], epochs[i] = p.partition, p.epoch
		}
		topics = append(topics, generated.ConsumerGroupCurrentMemberAssignmentValueTopicPartitions{
			TopicId: id, Partitions: partitions, AssignmentEpochs: epochs,
		})
	}
	return topics
}

// ownershipFromRecord reads toRecord. Records of brokers before 4.3 have no
// epochs: the member's own stands for them.
func ownershipFromRecord(topics []generated.ConsumerGroupCurrentMemberAssignmentValueTopicPartitions, memberEpoch int32) ownership {
	o := make(ownership, len(topics))
	for i := range topics {
		t := &topics[i]
		owned := make([]ownedPartition, len(t.Partitions))
		for j, p := range t.Partitions {
			owned[j] = ownedPartition{partition: p, epoch: max(memberEpoch, 0)}
			if len(t.AssignmentEpochs) == len(t.Partitions) {
				owned[j].epoch = t.AssignmentEpochs[j]
			}
		}
		slices.SortFunc(owned, func(a, b ownedPartition) int { return cmp.Compare(a.partition, b.partition) })
		if len(owned) > 0 {
			o[t.TopicId] = owned
		}
	}
	return o
}

// toAnswer is an ownership as heartbeats are answered with it.
func (o ownership) toAnswer() *generated.ConsumerGroupHeartbeatResponseAssignment {
	a := &generated.ConsumerGroupHeartbeatResponseAssignment{
		TopicPartitions: make([]generated.ConsumerGroupHeartbeatResponseTopicPartitions, 0, len(o)),
	}
	for _, id := range topicIDs(o) {
		a.TopicPartitions = append(a.TopicPartitions, generated.ConsumerGroupHeartbeatResponseTopicPartitions{
			TopicId: id, Partitions: partitionsOf(o[id]),
		})
	}
	return a
}

func partitionsOf(owned []ownedPartition) []int32 {
	partitions := make([]int32, len(owned))
	for i, p := range owned {
		partitions[i] = p.partition
	}
	return partitions
}

// contains reports whether all partitions of a request are in the ownership.
func (o ownership) contains(topics []generated.ConsumerGroupHeartbeatRequestTopicPartitions) bool {
	for i := range topics {
		owned, ok := o[topics[i].TopicId]
		if !ok {
			return false
		}
		for _, p := range topics[i].Partitions {
			if _, ok := findOwned(owned, p); !ok {
				return false
			}
		}
	}
	return true
}

// touches reports whether any partition of a request is in the ownership.
func (o ownership) touches(topics []generated.ConsumerGroupHeartbeatRequestTopicPartitions) bool {
	for i := range topics {
		owned := o[topics[i].TopicId]
		for _, p := range topics[i].Partitions {
			if _, ok := findOwned(owned, p); ok {
				return true
			}
		}
	}
	return false
}

// sameAssignment compares target assignments.
func sameAssignment(a, b assignor.Assignment) bool {
	if len(a) != len(b) {
		return false
	}
	for id, partitions := range a {
		if !slices.Equal(partitions, b[id]) {
			return false
		}
	}
	return true
}
