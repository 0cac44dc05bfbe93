package groups

import (
	"encoding/binary"
	"errors"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/groups/assignor"
	"kafka-iggy-bridge/internal/statemachine"
	"kafka-iggy-bridge/internal/wire"
)

// The embedded protocol of consumers, which classic members speak among
// themselves: a version, and behind it the message in that version. Later
// versions only add to the end, so that an unknown one is read as the last known.
const (
	subscriptionVersion int16 = 3
	assignmentVersion   int16 = 3
)

var errEmbeddedProtocol = errors.New("embedded consumer protocol: no version")

// embeddedVersion is the version of an embedded message, at most the last known.
func embeddedVersion(b []byte, last int16) (int16, error) {
	if len(b) < 2 {
		return 0, errEmbeddedProtocol
	}
	version := int16(binary.BigEndian.Uint16(b))
	if version < 0 {
		return 0, errEmbeddedProtocol
	}
	return min(version, last), nil
}

// decodeSubscription reads what a consumer says in JoinGroup. Strings are views.
func decodeSubscription(b []byte) (*generated.ConsumerProtocolSubscription, error) {
	version, err := embeddedVersion(b, subscriptionVersion)
	if err != nil {
		return nil, err
	}
	m := new(generated.ConsumerProtocolSubscription)
	_, err = m.Decode(version, b[2:])
	return m, err
}

// decodeAssignment reads what the leader of a classic group assigned.
func decodeAssignment(b []byte) (*generated.ConsumerProtocolAssignment, error) {
	version, err := embeddedVersion(b, assignmentVersion)
	if err != nil {
		return nil, err
	}
	m := new(generated.ConsumerProtocolAssignment)
	_, err = m.Decode(version, b[2:])
	return m, err
}

// encodeAssignment is an assignment as SyncGroup gives it to a classic member, in
// the version of the subscription that the member sent.
func (s *Shard) encodeAssignment(a assignor.Assignment, subscription []byte) []byte {
	version, err := embeddedVersion(subscription, assignmentVersion)
	if err != nil {
		version = 0
	}
	topics := s.viewTopics()
	m := &generated.ConsumerProtocolAssignment{
		AssignedPartitions: make([]generated.ConsumerProtocolAssignmentTopicPartition, 0, len(a)),
	}
	for _, id := range topicIDs(a) {
		if t, ok := topics.ByID(id); ok {
			m.AssignedPartitions = append(m.AssignedPartitions, generated.ConsumerProtocolAssignmentTopicPartition{
				Topic: t.Name, Partitions: a[id],
			})
		}
	}
	return statemachine.Encode(version, m, version)
}

// ownedTopics are the partitions that a classic member says it owns, by topic id.
func (s *Shard) ownedTopics(sub *generated.ConsumerProtocolSubscription) []generated.ConsumerGroupHeartbeatRequestTopicPartitions {
	topics := s.viewTopics()
	owned := make([]generated.ConsumerGroupHeartbeatRequestTopicPartitions, 0, len(sub.OwnedPartitions))
	for i := range sub.OwnedPartitions {
		p := &sub.OwnedPartitions[i]
		if t, ok := topics.ByName(p.Topic); ok {
			owned = append(owned, generated.ConsumerGroupHeartbeatRequestTopicPartitions{TopicId: t.ID, Partitions: p.Partitions})
		}
	}
	return owned
}

// plain is an ownership without its epochs.
func (o ownership) plain() assignor.Assignment {
	a := make(map[wire.UUID][]int32, len(o))
	for id, owned := range o {
		a[id] = partitionsOf(owned)
	}
	return a
}
