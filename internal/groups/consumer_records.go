package groups

import (
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/groups/assignor"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/statemachine"
	"kafka-iggy-bridge/internal/wire"
)

// consumerOp is a change of a consumer group under way: the records that are to
// be written and, for each, its application to the state. Nothing changes before
// commit, so a request can be refused at any point until then.
type consumerOp struct {
	s       *Shard
	groupID string
	// before runs first: a group of the other protocol makes room.
	before  func()
	records []records.Record
	apply   []func()
	// after runs last: timers, and what others wait for.
	after []func()
}

// commit changes the state and writes the records.
func (op *consumerOp) commit() {
	if op.before != nil {
		op.before()
	}
	for _, apply := range op.apply {
		apply()
	}
	op.s.write(op.groupID, op.records...)
	for _, after := range op.after {
		after()
	}
}

// add adds a record, or the tombstone of a key when the value is nil. The state
// changes through the same function as when the record is replayed.
func add[K, V any, PK keyMessage[K], PV keyMessage[V]](op *consumerOp, keyType int16, key *K, value *V, apply func(*K, *V)) {
	if value == nil {
		op.records = append(op.records, statemachine.Tombstone(op.s.now, keyType, PK(key)))
	} else {
		op.records = append(op.records, statemachine.NewRecord(op.s.now, keyType, PK(key), 0, PV(value)))
	}
	op.apply = append(op.apply, func() { apply(key, value) })
}

// keyMessage is a pointer to a generated message that can be encoded.
type keyMessage[T any] interface {
	*T
	generated.Message
}

// setEpoch writes the group's epoch and the hash of what it subscribes to.
func (op *consumerOp) setEpoch(epoch int32, hash int64) {
	add(op, recordConsumerGroup, &generated.ConsumerGroupMetadataKey{GroupId: op.groupID},
		&generated.ConsumerGroupMetadataValue{Epoch: epoch, MetadataHash: hash}, op.s.replayConsumerGroup)
}

// setMember writes what a member said of itself.
func (op *consumerOp) setMember(m *consumerMember) {
	add(op, recordConsumerMember, &generated.ConsumerGroupMemberMetadataKey{GroupId: op.groupID, MemberId: m.id},
		memberToRecord(m), op.s.replayConsumerMember)
}

// setTarget writes a member's target assignment.
func (op *consumerOp) setTarget(memberID string, target assignor.Assignment) {
	add(op, recordConsumerTargetMember, &generated.ConsumerGroupTargetAssignmentMemberKey{GroupId: op.groupID, MemberId: memberID},
		targetToRecord(target), op.s.replayConsumerTargetMember)
}

// setTargetEpoch writes the epoch of the target assignment and when it was made.
func (op *consumerOp) setTargetEpoch(epoch int32, at int64) {
	add(op, recordConsumerTarget, &generated.ConsumerGroupTargetAssignmentMetadataKey{GroupId: op.groupID},
		&generated.ConsumerGroupTargetAssignmentMetadataValue{AssignmentEpoch: epoch, AssignmentTimestamp: at}, op.s.replayConsumerTarget)
}

// setCurrent writes a member's epoch and current assignment.
func (op *consumerOp) setCurrent(m *consumerMember) {
	add(op, recordConsumerMemberAssignment, &generated.ConsumerGroupCurrentMemberAssignmentKey{GroupId: op.groupID, MemberId: m.id},
		currentToRecord(m), op.s.replayConsumerMemberAssignment)
}

// setRegex writes the topics that a regular expression matches, nil to forget it.
func (op *consumerOp) setRegex(regex string, resolved *resolvedRegex) {
	key := &generated.ConsumerGroupRegularExpressionKey{GroupId: op.groupID, RegularExpression: regex}
	add(op, recordConsumerRegex, key, regexToRecord(resolved), op.s.replayConsumerRegex)
}

// removeMember writes the tombstones of a member.
func (op *consumerOp) removeMember(memberID string) {
	add(op, recordConsumerMemberAssignment, &generated.ConsumerGroupCurrentMemberAssignmentKey{GroupId: op.groupID, MemberId: memberID},
		nil, op.s.replayConsumerMemberAssignment)
	add(op, recordConsumerTargetMember, &generated.ConsumerGroupTargetAssignmentMemberKey{GroupId: op.groupID, MemberId: memberID},
		nil, op.s.replayConsumerTargetMember)
	add(op, recordConsumerMember, &generated.ConsumerGroupMemberMetadataKey{GroupId: op.groupID, MemberId: memberID},
		nil, op.s.replayConsumerMember)
}

func memberToRecord(m *consumerMember) *generated.ConsumerGroupMemberMetadataValue {
	v := &generated.ConsumerGroupMemberMetadataValue{
		InstanceId:           m.instanceID,
		RackId:               m.rackID,
		ClientId:             m.clientID,
		ClientHost:           m.clientHost,
		SubscribedTopicNames: m.topics,
		SubscribedTopicRegex: wire.String(m.regex),
		RebalanceTimeoutMs:   m.rebalanceTimeout,
		ServerAssignor:       m.assignor,
	}
	if m.classic != nil {
		v.ClassicMemberMetadata = &generated.ConsumerGroupMemberMetadataValueClassicMemberMetadata{
			SessionTimeoutMs: m.classic.sessionTimeout, SupportedProtocols: m.classic.protocols,
		}
	}
	return v
}

func currentToRecord(m *consumerMember) *generated.ConsumerGroupCurrentMemberAssignmentValue {
	return &generated.ConsumerGroupCurrentMemberAssignmentValue{
		MemberEpoch:                 m.epoch,
		PreviousMemberEpoch:         m.previousEpoch,
		State:                       int8(m.state),
		AssignedPartitions:          m.assigned.toRecord(),
		PartitionsPendingRevocation: m.revoking.toRecord(),
	}
}

func targetToRecord(target assignor.Assignment) *generated.ConsumerGroupTargetAssignmentMemberValue {
	v := &generated.ConsumerGroupTargetAssignmentMemberValue{
		TopicPartitions: make([]generated.ConsumerGroupTargetAssignmentMemberValueTopicPartition, 0, len(target)),
	}
	for _, id := range topicIDs(target) {
		v.TopicPartitions = append(v.TopicPartitions, generated.ConsumerGroupTargetAssignmentMemberValueTopicPartition{
			TopicId: id, Partitions: target[id],
		})
	}
	return v
}

func regexToRecord(r *resolvedRegex) *generated.ConsumerGroupRegularExpressionValue {
	if r == nil {
		return nil
	}
	return &generated.ConsumerGroupRegularExpressionValue{Topics: r.topics, Version: r.version, Timestamp: r.at}
}

// tombstones are the records that remove all of the group's, in Kafka's order:
// what depends on something goes before it. The group's partition metadata was
// kept in a record of its own until 4.0.
func (g *consumerGroup) tombstones() []records.Record {
	return g.tombstonesReplacing("", "")
}

// tombstonesReplacing are the tombstones of the group in which a member has
// another id than in this state.
func (g *consumerGroup) tombstonesReplacing(oldID, newID string) []records.Record {
	at := g.s.now
	ids := sortedKeys(g.members)
	for i, id := range ids {
		if newID != "" && id == oldID {
			ids[i] = newID
		}
	}
	var rs []records.Record
	for _, id := range ids {
		rs = append(rs, statemachine.Tombstone(at, recordConsumerMemberAssignment, &generated.ConsumerGroupCurrentMemberAssignmentKey{GroupId: g.id, MemberId: id}))
	}
	for _, id := range ids {
		rs = append(rs, statemachine.Tombstone(at, recordConsumerTargetMember, &generated.ConsumerGroupTargetAssignmentMemberKey{GroupId: g.id, MemberId: id}))
	}
	rs = append(rs, statemachine.Tombstone(at, recordConsumerTarget, &generated.ConsumerGroupTargetAssignmentMetadataKey{GroupId: g.id}))
	for _, id := range ids {
		rs = append(rs, statemachine.Tombstone(at, recordConsumerMember, &generated.ConsumerGroupMemberMetadataKey{GroupId: g.id, MemberId: id}))
	}
	for _, regex := range sortedKeys(g.resolved) {
		rs = append(rs, statemachine.Tombstone(at, recordConsumerRegex, &generated.ConsumerGroupRegularExpressionKey{GroupId: g.id, RegularExpression: regex}))
	}
	return append(rs,
		statemachine.Tombstone(at, recordConsumerPartitions, &generated.ConsumerGroupPartitionMetadataKey{GroupId: g.id}),
		statemachine.Tombstone(at, recordConsumerGroup, &generated.ConsumerGroupMetadataKey{GroupId: g.id}))
}

// snapshot yields the records of the group.
func (g *consumerGroup) snapshot(yield func(records.Record) bool) bool {
	at := time.UnixMilli(g.s.now.UnixMilli())
	for _, m := range g.members {
		if !yield(statemachine.NewRecord(at, recordConsumerMember, &generated.ConsumerGroupMemberMetadataKey{GroupId: g.id, MemberId: m.id}, 0, memberToRecord(m))) {
			return false
		}
	}
	if !yield(statemachine.NewRecord(at, recordConsumerGroup, &generated.ConsumerGroupMetadataKey{GroupId: g.id}, 0,
		&generated.ConsumerGroupMetadataValue{Epoch: g.epoch, MetadataHash: g.metadataHash})) {
		return false
	}
	for id, target := range g.targets {
		if !yield(statemachine.NewRecord(at, recordConsumerTargetMember, &generated.ConsumerGroupTargetAssignmentMemberKey{GroupId: g.id, MemberId: id}, 0, targetToRecord(target))) {
			return false
		}
	}
	if !yield(statemachine.NewRecord(at, recordConsumerTarget, &generated.ConsumerGroupTargetAssignmentMetadataKey{GroupId: g.id}, 0,
		&generated.ConsumerGroupTargetAssignmentMetadataValue{AssignmentEpoch: g.assignmentEpoch, AssignmentTimestamp: g.assignedAt})) {
		return false
	}
	for _, m := range g.members {
		if !yield(statemachine.NewRecord(at, recordConsumerMemberAssignment, &generated.ConsumerGroupCurrentMemberAssignmentKey{GroupId: g.id, MemberId: m.id}, 0, currentToRecord(m))) {
			return false
		}
	}
	for regex, r := range g.resolved {
		if !yield(statemachine.NewRecord(at, recordConsumerRegex, &generated.ConsumerGroupRegularExpressionKey{GroupId: g.id, RegularExpression: regex}, 0, regexToRecord(r))) {
			return false
		}
	}
	return true
}
