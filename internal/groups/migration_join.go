package groups

import (
	"slices"
	"strings"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/statemachine"
	"kafka-iggy-bridge/internal/wire"
)

// joinConsumerGroupAsClassic handles JoinGroup of a member of the classic
// protocol in a consumer group that has members. It is answered at once: the
// coordinator assigns, so nobody waits for a leader.
func (s *Shard) joinConsumerGroupAsClassic(c *statemachine.Call, r *generated.JoinGroupRequest, g *consumerGroup) {
	if code := s.classicJoin(c, r, g); code != errorcode.None {
		s.refuseJoin(c, r, code, "")
	}
}

func (s *Shard) classicJoin(c *statemachine.Call, r *generated.JoinGroupRequest, g *consumerGroup) int16 {
	id, isNew := strings.Clone(r.MemberId), r.MemberId == ""
	if isNew {
		id = s.config.NewMemberUUID()
	}
	switch {
	case g.checkRoom(id, r.GroupInstanceId) != nil:
		return errorcode.GroupMaxSizeReached
	case !g.supportsClassic(r):
		return errorcode.InconsistentGroupProtocol
	case isNew && !r.GroupInstanceId.Valid && c.Version >= joinMemberIDVersion:
		s.answerJoin(g.id, parked{c.Token, c.Version}, joinError(errorcode.MemberIDRequired, id))
		return errorcode.None
	}
	op := &consumerOp{s: s, groupID: g.id}
	// Whether the group becomes a classic one depends on whom the member replaces.
	downgrade := g.downgradesWith(g.staticMember(r.GroupInstanceId))
	member, bad := op.classicJoiner(g, id, r.GroupInstanceId, isNew)
	if bad != nil {
		return bad.code
	}
	subscription, err := decodeSubscription(r.Protocols[0].Metadata)
	switch {
	case err != nil:
		return errorcode.InconsistentGroupProtocol
	case len(subscription.OwnedPartitions) > 0 && g.members[id] == nil && !r.GroupInstanceId.Valid:
		// It was fenced meanwhile, and others may have what it still owns: it has to
		// give that up first. Kafka takes it for a new member.
		return errorcode.UnknownMemberID
	}
	return op.joinClassic(c, g, member, member.joined(c, r, subscription), subscription, downgrade)
}

// joinClassic takes in a classic member, or what has changed about it, and
// answers.
func (op *consumerOp) joinClassic(c *statemachine.Call, g *consumerGroup, member, updated *consumerMember,
	subscription *generated.ConsumerProtocolSubscription, downgrade bool,
) int16 {
	s, topics := op.s, op.s.viewTopics()
	change, bad := op.subscribe(g, member, updated)
	if bad != nil {
		return bad.code
	}
	change.bump = change.names || change.regex != regexSame
	owned := s.ownedTopics(subscription)
	if downgrade {
		updated, bad = op.rejoinDowngraded(g, member, updated, &change, owned)
	} else {
		updated, bad = op.rebalance(g, member, updated, &change, owned)
	}
	if bad != nil {
		return bad.code
	}
	op.after = append(op.after, func() { s.joinedClassic(op.groupID, updated, downgrade) })
	op.commit()
	answer := joinError(errorcode.None, updated.id)
	answer.GenerationId = updated.epoch
	answer.ProtocolType = wire.String(consumerProtocolType)
	answer.ProtocolName = wire.String(updated.classic.protocols[0].Name)
	s.answerJoin(g.id, parked{c.Token, c.Version}, answer)
	s.finishSubscription(g.id, topics, change)
	return errorcode.None
}

// joinedClassic starts the timers of a member that has joined: it has to fetch
// its assignment soon. In a classic group it has that group's timers.
func (s *Shard) joinedClassic(groupID string, m *consumerMember, downgraded bool) {
	s.timers.Cancel(timerKey{timerConsumerJoin, groupID, m.id})
	s.timers.Cancel(timerKey{timerConsumerRebalance, groupID, m.id})
	if downgraded {
		return
	}
	s.restartConsumerSession(groupID, m.id, millis(m.classic.sessionTimeout))
	s.startClassicTimer(timerConsumerSync, groupID, m.id, m.rebalanceTimeout)
}

// supportsClassic reports whether a classic member fits in: it has a protocol
// that all classic members have.
func (g *consumerGroup) supportsClassic(r *generated.JoinGroupRequest) bool {
	return r.ProtocolType == consumerProtocolType && slices.ContainsFunc(r.Protocols,
		func(p generated.JoinGroupRequestProtocol) bool { return g.classicProtocols[p.Name] == g.classicMembers })
}

// classicJoiner finds the member that joins, or makes it. A static member without
// a member id has been restarted: it takes the place of the one before, be that of
// either protocol.
func (op *consumerOp) classicJoiner(g *consumerGroup, id string, instance wire.NullString, isNew bool) (*consumerMember, *refusal) {
	if instance.Valid {
		old := g.staticMember(instance)
		if !isNew {
			return old, old.checkStatic(id, instance.S)
		}
		if old != nil {
			return op.replaceStatic(g, old, id), nil
		}
	}
	if m := g.members[id]; m != nil {
		return m, nil
	}
	return newConsumerMember(id), nil
}

// joined is the member after a JoinGroup.
func (m *consumerMember) joined(c *statemachine.Call, r *generated.JoinGroupRequest, sub *generated.ConsumerProtocolSubscription) *consumerMember {
	u := *m
	u.clientID, u.clientHost = keep(m.clientID, c.ClientID), keep(m.clientHost, c.ClientHost)
	if r.GroupInstanceId.Valid {
		u.instanceID = keepNull(m.instanceID, r.GroupInstanceId)
	}
	if sub.RackId.S != "" {
		u.rackID = keepNull(m.rackID, sub.RackId)
	}
	if r.RebalanceTimeoutMs != -1 {
		u.rebalanceTimeout = r.RebalanceTimeoutMs
	}
	u.topics = nameSet(m.topics, sub.Topics)
	u.regex = ""
	u.classic = &classicMetadata{sessionTimeout: r.SessionTimeoutMs}
	for i := range r.Protocols {
		u.classic.protocols = append(u.classic.protocols, generated.ConsumerGroupMemberMetadataValueClassicProtocol{
			Name: strings.Clone(r.Protocols[i].Name), Metadata: cloneBytes(r.Protocols[i].Metadata),
		})
	}
	return &u
}

// rejoinDowngraded is rebalance for the member with which the group becomes a
// classic one: without a new target assignment, since from now on its leader
// assigns. The targets that there are hold when they are up to date and, other
// than for Kafka, everybody has them already: else two members would own a
// partition for a while.
func (op *consumerOp) rejoinDowngraded(g *consumerGroup, member, updated *consumerMember, change *subscriptionChange,
	owned []generated.ConsumerGroupHeartbeatRequestTopicPartitions,
) (*consumerMember, *refusal) {
	stale := g.assignmentEpoch < op.bumpEpoch(g, member, updated, change)
	if !stale {
		replaced := g.staticMember(updated.instanceID)
		for _, m := range g.members {
			stale = stale || m != replaced && !m.reconciledTo(g.assignmentEpoch)
		}
	}
	if !stale {
		var bad *refusal
		updated, bad = op.reconcile(updated, &reconciliation{
			group: g, epoch: g.assignmentEpoch, target: g.target(updated), owned: owned,
			subscriptionChanged: change.bump,
		})
		if bad != nil {
			return nil, bad
		}
	}
	op.downgrade(g, nil, updated, stale)
	return updated, nil
}
