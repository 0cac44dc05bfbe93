package groups

import (
	"slices"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/wire"
)

// The member types of ConsumerGroupDescribe.
const (
	memberTypeClassic  int8 = 0
	memberTypeConsumer int8 = 1
)

// describe fills in what ConsumerGroupDescribe shows of the group.
func (g *consumerGroup) describe(d *generated.ConsumerGroupDescribeResponseDescribedGroup) {
	d.GroupState = g.state()
	d.GroupEpoch = g.epoch
	d.AssignmentEpoch = g.assignmentEpoch
	d.AssignorName = g.preferredAssignor(nil, nil)
	d.Members = make([]generated.ConsumerGroupDescribeResponseMember, 0, len(g.members))
	for _, id := range sortedKeys(g.members) {
		d.Members = append(d.Members, g.describeMember(g.members[id]))
	}
}

func (g *consumerGroup) describeMember(m *consumerMember) generated.ConsumerGroupDescribeResponseMember {
	owned := make(map[wire.UUID][]int32, len(m.assigned))
	for id, partitions := range m.assigned {
		owned[id] = partitionsOf(partitions)
	}
	for id, partitions := range m.revoking {
		owned[id] = append(owned[id], partitionsOf(partitions)...)
	}
	d := generated.ConsumerGroupDescribeResponseMember{
		MemberId:             m.id,
		InstanceId:           m.instanceID,
		RackId:               m.rackID,
		MemberEpoch:          m.epoch,
		ClientId:             m.clientID,
		ClientHost:           m.clientHost,
		SubscribedTopicNames: slices.Clone(m.topics),
		SubscribedTopicRegex: wire.String(m.regex),
		Assignment:           g.describeAssignment(owned),
		TargetAssignment:     g.describeAssignment(g.targets[m.id]),
		MemberType:           memberTypeConsumer,
	}
	if m.classic != nil {
		d.MemberType = memberTypeClassic
	}
	return d
}

// describeAssignment leaves out the topics that are gone.
func (g *consumerGroup) describeAssignment(partitions map[wire.UUID][]int32) generated.ConsumerGroupDescribeResponseAssignment {
	a := generated.ConsumerGroupDescribeResponseAssignment{
		TopicPartitions: make([]generated.ConsumerGroupDescribeResponseTopicPartitions, 0, len(partitions)),
	}
	for _, id := range topicIDs(partitions) {
		if t, ok := g.s.topics().ByID(id); ok {
			a.TopicPartitions = append(a.TopicPartitions, generated.ConsumerGroupDescribeResponseTopicPartitions{
				TopicId: id, TopicName: t.Name, Partitions: slices.Clone(partitions[id]),
			})
		}
	}
	return a
}
