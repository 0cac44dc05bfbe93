package groups

import (
	"maps"
	"slices"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/groups/assignor"
)

// upgrade turns a classic group into a consumer group, for a member of the
// consumer protocol that joins it (KIP-848). Its members go on with their
// assignments and learn from their heartbeats that they have to join again. The
// group that is returned takes the place of the old one with op.commit.
func (s *Shard) upgrade(op *consumerOp, old *classicGroup) (*consumerGroup, *refusal) {
	g := newConsumerGroup(s, old.id)
	if old.phase != classicEmpty {
		if bad := g.adopt(old); bad != nil {
			return nil, bad
		}
	}
	op.groupID = g.id
	op.records = append(op.records, old.tombstones()...)
	op.before = func() { delete(s.groups, old.id) }
	op.after = append(op.after, old.drop)
	if len(g.members) > 0 {
		op.writeGroup(g)
		op.after = append(op.after, func() {
			for id, m := range g.members {
				s.restartConsumerSession(g.id, id, millis(m.classic.sessionTimeout))
			}
		})
	}
	return g, nil
}

// adopt takes over the members of a classic group. They must be consumers whose
// assignments are all that they know of each other: what an assignor of their own
// keeps in user data would be lost.
func (g *consumerGroup) adopt(old *classicGroup) *refusal {
	switch {
	case old.protoType != consumerProtocolType:
		return refuse(errorcode.GroupIDNotFound,
			"Cannot upgrade classic group %s to consumer group because the group does not use the consumer embedded protocol.", g.id)
	case len(old.members) > g.s.config.ConsumerMaxSize:
		return refuse(errorcode.GroupIDNotFound,
			"Cannot upgrade classic group %s to consumer group because the group size exceeds the consumer group maximum size.", g.id)
	}
	g.epoch, g.assignmentEpoch = old.generation, old.generation
	protocol := old.protocol.S
	if !old.protocol.Valid && len(old.members) > 0 {
		protocol = old.vote() // its first rebalance is not over yet
	}
	for _, m := range old.members {
		if bad := g.adoptMember(m, protocol); bad != nil {
			return bad
		}
	}
	for _, m := range old.members {
		if old.phase != classicStable || m.pendingSync {
			g.adoptClaims(m.id, m.metadata(protocol))
		}
	}
	g.metadataHash = g.s.metadataHash(g.topicCounts)
	return nil
}

func (g *consumerGroup) adoptMember(old *classicMember, protocol string) *refusal {
	subscription, err := decodeSubscription(old.metadata(protocol))
	if err != nil {
		return g.malformed()
	}
	m := newConsumerMember(old.id)
	m.epoch, m.previousEpoch = g.epoch, g.epoch
	m.instanceID = old.instanceID
	if subscription.RackId.S != "" {
		m.rackID = cloneNull(subscription.RackId)
	}
	m.rebalanceTimeout = old.rebalanceTimeout
	m.clientID, m.clientHost = old.clientID, old.clientHost
	m.topics = nameSet(nil, subscription.Topics)
	m.classic = &classicMetadata{sessionTimeout: old.sessionTimeout}
	for _, p := range old.protocols {
		m.classic.protocols = append(m.classic.protocols,
			generated.ConsumerGroupMemberMetadataValueClassicProtocol{Name: p.name, Metadata: p.metadata})
	}
	target := assignor.Assignment{}
	if len(old.assignment) > 0 {
		assignment, err := decodeAssignment(old.assignment)
		switch {
		case err != nil:
			return g.malformed()
		case len(assignment.UserData) > 0:
			return refuse(errorcode.GroupIDNotFound, "Cannot upgrade classic group %s to consumer group because an unsupported custom assignor is in use. "+
				"Please refer to the documentation or switch to a default assignor before re-attempting the upgrade.", g.id)
		}
		target = g.readAssignment(assignment)
	}
	m.assigned = owning(target, g.epoch)
	g.targets[m.id] = target
	g.put(m)
	return nil
}

func (g *consumerGroup) malformed() *refusal {
	return refuse(errorcode.GroupIDNotFound,
		"Cannot upgrade classic group %s to consumer group because the embedded consumer protocol is malformed.", g.id)
}

// readAssignment is an assignment with the ids of its topics, without those that
// are gone.
func (g *consumerGroup) readAssignment(a *generated.ConsumerProtocolAssignment) assignor.Assignment {
	topics := g.s.viewTopics()
	target := make(assignor.Assignment, len(a.AssignedPartitions))
	for i := range a.AssignedPartitions {
		p := &a.AssignedPartitions[i]
		if t, ok := topics.ByName(p.Topic); ok && len(p.Partitions) > 0 {
			partitions := slices.Sorted(slices.Values(p.Partitions))
			target[t.ID] = slices.Compact(partitions)
		}
	}
	return target
}

// adoptClaims adds to a member's partitions what it said in its JoinGroup that it
// owns. In the middle of a rebalance a cooperative member may not know yet of its
// assignment: it consumes what it had before, and nobody else may get that until
// it has given it up. For Kafka such a member owns its assignment only.
func (g *consumerGroup) adoptClaims(id string, metadata []byte) {
	subscription, err := decodeSubscription(metadata)
	if err != nil {
		return
	}
	m := *g.members[id]
	target, assigned := maps.Clone(g.targets[id]), maps.Clone(m.assigned)
	for _, t := range g.s.ownedTopics(subscription) {
		for _, p := range t.Partitions {
			if _, twice := assigned.find(t.TopicId, p); !twice && !g.owned(t.TopicId, p) {
				target[t.TopicId] = append(slices.Clone(target[t.TopicId]), p)
				assigned[t.TopicId] = merge(assigned[t.TopicId], []ownedPartition{{partition: p, epoch: g.epoch}})
			}
		}
		slices.Sort(target[t.TopicId])
	}
	m.assigned, g.targets[id] = assigned, target
	g.put(&m)
}

// owning is an assignment as a member's own since an epoch.
func owning(target assignor.Assignment, epoch int32) ownership {
	o := make(ownership, len(target))
	for id, partitions := range target {
		owned := make([]ownedPartition, len(partitions))
		for i, p := range partitions {
			owned[i] = ownedPartition{partition: p, epoch: epoch}
		}
		o[id] = owned
	}
	return o
}

// writeGroup writes all records of a group that was put together.
func (op *consumerOp) writeGroup(g *consumerGroup) {
	ids := sortedKeys(g.members)
	for _, id := range ids {
		op.setMember(g.members[id])
	}
	op.setEpoch(g.epoch, g.metadataHash)
	for _, id := range ids {
		op.setTarget(id, g.targets[id])
	}
	op.setTargetEpoch(g.assignmentEpoch, g.assignedAt)
	for _, id := range ids {
		op.setCurrent(g.members[id])
	}
}
