package groups

import (
	"bytes"
	"slices"
	"strings"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/groups/assignor"
	"kafka-iggy-bridge/internal/wire"
)

// The functions below apply a record each, of the log or just made. What they
// keep is cloned, since records are views.

// replayedConsumerGroup is the group of a record. A group that is not there is
// made when the record has a value; one of the classic protocol is in the way
// only when it has nothing of its own (Kafka's simple group).
func (s *Shard) replayedConsumerGroup(id string, create bool) *consumerGroup {
	if g, ok := s.groups[id].(*consumerGroup); ok {
		return g
	}
	if !create {
		return nil
	}
	g := newConsumerGroup(s, strings.Clone(id))
	s.groups[g.id] = g
	return g
}

func (s *Shard) replayConsumerGroup(key *generated.ConsumerGroupMetadataKey, v *generated.ConsumerGroupMetadataValue) {
	g := s.replayedConsumerGroup(key.GroupId, v != nil)
	switch {
	case g == nil:
	case v == nil:
		delete(s.groups, g.id)
	default:
		g.epoch, g.metadataHash = v.Epoch, v.MetadataHash
	}
}

func (s *Shard) replayConsumerTarget(key *generated.ConsumerGroupTargetAssignmentMetadataKey, v *generated.ConsumerGroupTargetAssignmentMetadataValue) {
	g := s.replayedConsumerGroup(key.GroupId, v != nil)
	switch {
	case g == nil:
	case v == nil:
		g.assignmentEpoch, g.assignedAt = -1, 0
	default:
		g.assignmentEpoch, g.assignedAt = v.AssignmentEpoch, v.AssignmentTimestamp
	}
}

func (s *Shard) replayConsumerTargetMember(key *generated.ConsumerGroupTargetAssignmentMemberKey, v *generated.ConsumerGroupTargetAssignmentMemberValue) {
	g := s.replayedConsumerGroup(key.GroupId, v != nil)
	switch {
	case g == nil:
	case v == nil:
		delete(g.targets, key.MemberId)
	default:
		target := make(assignor.Assignment, len(v.TopicPartitions))
		for i := range v.TopicPartitions {
			if t := &v.TopicPartitions[i]; len(t.Partitions) > 0 {
				target[t.TopicId] = slices.Sorted(slices.Values(t.Partitions))
			}
		}
		g.targets[g.memberID(key.MemberId)] = target
	}
}

// memberID is the id as the group already keeps it, or a copy.
func (g *consumerGroup) memberID(id string) string {
	if m, ok := g.members[id]; ok {
		return m.id
	}
	return strings.Clone(id)
}

// replayedMember is the member of a record, made when it is not there.
func (g *consumerGroup) replayedMember(id string) *consumerMember {
	if m, ok := g.members[id]; ok {
		return m
	}
	return newConsumerMember(strings.Clone(id))
}

func (s *Shard) replayConsumerMember(key *generated.ConsumerGroupMemberMetadataKey, v *generated.ConsumerGroupMemberMetadataValue) {
	g := s.replayedConsumerGroup(key.GroupId, v != nil)
	if g == nil {
		return
	}
	if v == nil {
		g.remove(key.MemberId)
		return
	}
	old := g.replayedMember(key.MemberId)
	m := *old
	m.instanceID = keepNull(old.instanceID, v.InstanceId)
	m.rackID = keepNull(old.rackID, v.RackId)
	m.clientID, m.clientHost = keep(old.clientID, v.ClientId), keep(old.clientHost, v.ClientHost)
	m.topics = nameSet(old.topics, v.SubscribedTopicNames)
	m.regex = keep(old.regex, v.SubscribedTopicRegex.S)
	m.rebalanceTimeout = v.RebalanceTimeoutMs
	m.assignor = keepNull(old.assignor, v.ServerAssignor)
	m.classic = classicFromRecord(v.ClassicMemberMetadata)
	g.put(&m)
}

func keepNull(was, now wire.NullString) wire.NullString {
	return wire.NullString{S: keep(was.S, now.S), Valid: now.Valid}
}

func classicFromRecord(v *generated.ConsumerGroupMemberMetadataValueClassicMemberMetadata) *classicMetadata {
	if v == nil {
		return nil
	}
	c := &classicMetadata{sessionTimeout: v.SessionTimeoutMs}
	for i := range v.SupportedProtocols {
		c.protocols = append(c.protocols, generated.ConsumerGroupMemberMetadataValueClassicProtocol{
			Name:     strings.Clone(v.SupportedProtocols[i].Name),
			Metadata: bytes.Clone(v.SupportedProtocols[i].Metadata),
		})
	}
	return c
}

func (s *Shard) replayConsumerMemberAssignment(key *generated.ConsumerGroupCurrentMemberAssignmentKey, v *generated.ConsumerGroupCurrentMemberAssignmentValue) {
	g := s.replayedConsumerGroup(key.GroupId, v != nil)
	if g == nil {
		return
	}
	if v == nil {
		if old, ok := g.members[key.MemberId]; ok {
			m := *old
			m.epoch, m.previousEpoch = leaveEpoch, leaveEpoch
			m.assigned, m.revoking = nil, nil
			g.put(&m)
		}
		return
	}
	m := *g.replayedMember(key.MemberId)
	m.epoch, m.previousEpoch = v.MemberEpoch, v.PreviousMemberEpoch
	switch m.state = memberState(v.State); m.state {
	case memberStable, memberUnrevoked, memberUnreleased:
	default:
		m.state = memberUnknown
	}
	m.assigned = ownershipFromRecord(v.AssignedPartitions, v.MemberEpoch)
	m.revoking = ownershipFromRecord(v.PartitionsPendingRevocation, v.MemberEpoch)
	g.put(&m)
}

func (s *Shard) replayConsumerRegex(key *generated.ConsumerGroupRegularExpressionKey, v *generated.ConsumerGroupRegularExpressionValue) {
	g := s.replayedConsumerGroup(key.GroupId, v != nil)
	if g == nil {
		return
	}
	countRegex(g.topicCounts, g.resolved[key.RegularExpression], -1)
	if v == nil {
		delete(g.resolved, key.RegularExpression)
		return
	}
	r := &resolvedRegex{topics: nameSet(nil, v.Topics), version: v.Version, at: v.Timestamp}
	countRegex(g.topicCounts, r, +1)
	g.resolved[strings.Clone(key.RegularExpression)] = r
}

// put adds a member or replaces it, and all that is counted over members.
func (g *consumerGroup) put(m *consumerMember) {
	old := g.members[m.id]
	if old != nil {
		g.uncount(old, m)
	}
	g.members[m.id] = m
	if m.instanceID.Valid {
		g.static[m.instanceID.S] = m.id
	}
	g.own(m.assigned, m.epoch)
	g.own(m.revoking, m.epoch)
	if old != nil && old.sameMetadata(m) {
		return
	}
	countNames(g.topicCounts, m, +1)
	g.countMember(m, +1)
}

// remove takes a member out.
func (g *consumerGroup) remove(id string) {
	if old, ok := g.members[id]; ok {
		g.uncount(old, nil)
		delete(g.members, id)
	}
}

// uncount takes back what put has counted for a member that next, which may be
// nil, replaces.
func (g *consumerGroup) uncount(old, next *consumerMember) {
	if old.instanceID.Valid && g.static[old.instanceID.S] == old.id {
		delete(g.static, old.instanceID.S)
	}
	g.disown(old.assigned, old.epoch)
	g.disown(old.revoking, old.epoch)
	if next != nil && old.sameMetadata(next) {
		return
	}
	countNames(g.topicCounts, old, -1)
	g.countMember(old, -1)
}

func (g *consumerGroup) countMember(m *consumerMember, by int) {
	if m.regex != "" {
		count(g.regexes, m.regex, by)
	}
	if m.assignor.Valid {
		count(g.assignors, m.assignor.S, by)
	}
	if m.classic != nil {
		g.classicMembers += by
		for i := range m.classic.protocols {
			count(g.classicProtocols, m.classic.protocols[i].Name, by)
		}
	}
}

// own notes at which epoch partitions are owned. Of two owners, which only
// records of different ages can tell of, the later one counts.
func (g *consumerGroup) own(o ownership, epoch int32) {
	for id, owned := range o {
		epochs := g.owners[id]
		if epochs == nil {
			epochs = make(map[int32]int32, len(owned))
			g.owners[id] = epochs
		}
		for _, p := range owned {
			if was, ok := epochs[p.partition]; !ok || was < epoch {
				epochs[p.partition] = epoch
			}
		}
	}
}

func (g *consumerGroup) disown(o ownership, epoch int32) {
	for id, owned := range o {
		epochs := g.owners[id]
		for _, p := range owned {
			if was, ok := epochs[p.partition]; ok && was == epoch {
				delete(epochs, p.partition)
			}
		}
		if len(epochs) == 0 {
			delete(g.owners, id)
		}
	}
}
