package groups

import (
	"strings"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/groups/assignor"
	"kafka-iggy-bridge/internal/statemachine"
	"kafka-iggy-bridge/internal/wire"
)

// consumerGroupHeartbeat handles ConsumerGroupHeartbeat (KIP-848): a member joins
// with epoch 0, leaves with -1 or -2, and otherwise says that it is alive, what
// it owns and what it wants; the answer says its epoch and, when that is new, its
// assignment.
func (s *Shard) consumerGroupHeartbeat(c *statemachine.Call, r *generated.ConsumerGroupHeartbeatRequest) {
	if s.steadyHeartbeat(c, r) {
		return
	}
	bad := checkConsumerHeartbeat(c.Version, r)
	if bad == nil {
		if r.MemberEpoch == leaveEpoch || r.MemberEpoch == staticLeaveEpoch {
			bad = s.leaveConsumerGroup(c, r)
		} else {
			bad = s.joinConsumerGroup(c, r)
		}
	}
	if bad != nil {
		s.answer(strings.Clone(r.GroupId), c.Token, &generated.ConsumerGroupHeartbeatResponse{
			ErrorCode: bad.code, ErrorMessage: wire.String(bad.message),
		})
	}
}

// steadyHeartbeat answers a heartbeat that changes nothing, as almost all do,
// without any work that grows with the group. It leaves all others alone.
func (s *Shard) steadyHeartbeat(c *statemachine.Call, r *generated.ConsumerGroupHeartbeatRequest) bool {
	if r.MemberEpoch <= joinEpoch {
		return false
	}
	g, ok := s.groups[r.GroupId].(*consumerGroup)
	if !ok || g.epoch > g.assignmentEpoch || g.seen != s.viewTopics() {
		return false
	}
	m := g.members[r.MemberId]
	if m == nil || m.epoch != r.MemberEpoch || !m.reconciledTo(g.assignmentEpoch) ||
		!m.saidNothingNew(c.ClientID, c.ClientHost, r) ||
		len(g.regexes) > 0 && g.regexesDue(false, len(g.regexes)) {
		return false
	}
	s.restartConsumerSession(g.id, m.id, s.config.ConsumerSessionTimeout)
	s.answer(g.id, c.Token, s.heartbeatAnswer(m, fullHeartbeat(r)))
	return true
}

// fullHeartbeat reports whether a request says all: then the answer does, too.
// Clients send it after an error or a lost answer.
func fullHeartbeat(r *generated.ConsumerGroupHeartbeatRequest) bool {
	return r.RebalanceTimeoutMs != -1 && (r.SubscribedTopicNames != nil || r.SubscribedTopicRegex.Valid) && r.TopicPartitions != nil
}

func (s *Shard) heartbeatAnswer(m *consumerMember, assignment bool) *generated.ConsumerGroupHeartbeatResponse {
	answer := &generated.ConsumerGroupHeartbeatResponse{
		MemberId:            wire.String(m.id),
		MemberEpoch:         m.epoch,
		HeartbeatIntervalMs: int32(s.config.ConsumerHeartbeatInterval.Milliseconds()),
	}
	if assignment {
		answer.Assignment = m.assigned.toAnswer()
	}
	return answer
}

// joinConsumerGroup handles a heartbeat of a member that joins or is in the group
// already, in all its parts.
func (s *Shard) joinConsumerGroup(c *statemachine.Call, r *generated.ConsumerGroupHeartbeatRequest) *refusal {
	topics := s.viewTopics()
	op := &consumerOp{s: s}
	g, bad := s.groupToJoin(op, r.GroupId, r.MemberEpoch == joinEpoch)
	if bad != nil {
		return bad
	}
	op.groupID = g.id
	if bad := g.checkRoom(r.MemberId, r.InstanceId); bad != nil {
		return bad
	}
	member, bad := s.heartbeatMember(op, g, r)
	if bad != nil {
		return bad
	}
	updated := member.heard(c.ClientID, c.ClientHost, r)
	change, bad := op.subscribe(g, member, updated)
	if bad != nil {
		return bad
	}
	change.bump = change.names || change.regex == regexResolved ||
		g.preferredAssignor(nil, nil) != g.preferredAssignor(member, updated)
	updated, bad = op.rebalance(g, member, updated, &change, r.TopicPartitions)
	if bad != nil {
		return bad
	}
	op.after = append(op.after, func() {
		s.restartConsumerSession(op.groupID, updated.id, s.config.ConsumerSessionTimeout)
		if member.classic != nil {
			s.timers.Cancel(timerKey{timerConsumerJoin, op.groupID, updated.id})
			s.timers.Cancel(timerKey{timerConsumerSync, op.groupID, updated.id})
		}
	})
	op.commit()
	s.answer(op.groupID, c.Token, s.heartbeatAnswer(updated,
		r.MemberEpoch == joinEpoch || fullHeartbeat(r) || !member.assigned.equal(updated.assigned)))
	s.finishSubscription(op.groupID, topics, change)
	return nil
}

// finishSubscription is what follows the answer to a request of a member.
func (s *Shard) finishSubscription(groupID string, topics *TopicSet, change subscriptionChange) {
	g, ok := s.groups[groupID].(*consumerGroup)
	if !ok {
		return
	}
	if change.looked {
		g.seen = topics
	}
	if change.resolve {
		s.resolveRegexes(g)
	}
}

// groupToJoin finds the group of a heartbeat. A joining member makes it when it
// is not there, and turns a classic one into a consumer group; op.before then
// puts the old one away.
func (s *Shard) groupToJoin(op *consumerOp, id string, join bool) (*consumerGroup, *refusal) {
	switch g := s.groups[id].(type) {
	case *consumerGroup:
		return g, nil
	case *classicGroup:
		if join {
			return s.upgrade(op, g)
		}
	}
	switch {
	case join:
		return newConsumerGroup(s, strings.Clone(id)), nil
	case s.exists(id):
		return nil, refuse(errorcode.GroupIDNotFound, "Group %s is not a consumer group.", id)
	}
	return nil, refuse(errorcode.GroupIDNotFound, "Consumer group %s not found.", id)
}

// heartbeatMember finds the member of a heartbeat, or makes it when it joins.
func (s *Shard) heartbeatMember(op *consumerOp, g *consumerGroup, r *generated.ConsumerGroupHeartbeatRequest) (*consumerMember, *refusal) {
	id := r.MemberId
	if id == "" {
		id = s.config.NewMemberUUID()
	}
	join := r.MemberEpoch == joinEpoch
	if r.InstanceId.Valid {
		return op.heartbeatStatic(g, id, join, r)
	}
	m := g.members[id]
	switch {
	case m != nil:
		return m, m.checkEpoch(r)
	case join:
		return newConsumerMember(strings.Clone(id)), nil
	}
	return nil, unknownMember(id, g.id)
}

// heartbeatStatic is heartbeatMember for a static member. One that joins takes
// the place, and the partitions, of the one that left to come back.
func (op *consumerOp) heartbeatStatic(g *consumerGroup, id string, join bool, r *generated.ConsumerGroupHeartbeatRequest) (*consumerMember, *refusal) {
	m := g.staticMember(r.InstanceId)
	switch {
	case !join:
		if bad := m.checkStatic(id, r.InstanceId.S); bad != nil {
			return nil, bad
		}
		return m, m.checkEpoch(r)
	case m == nil:
		if known := g.members[id]; known != nil {
			return known, nil
		}
		return newConsumerMember(strings.Clone(id)), nil
	case m.classic == nil && m.epoch != staticLeaveEpoch:
		return nil, refuse(errorcode.UnreleasedInstanceID,
			"Static member %s with instance id %s cannot join the group because the instance id is owned by %s member.", id, r.InstanceId.S, m.id)
	}
	return op.replaceStatic(g, m, strings.Clone(id)), nil
}

// replaceStatic gives a static member's place to a new member id.
func (op *consumerOp) replaceStatic(g *consumerGroup, old *consumerMember, id string) *consumerMember {
	m := *old
	m.id, m.epoch, m.previousEpoch = id, 0, 0
	op.removeMember(old.id)
	op.setMember(&m)
	op.setTarget(id, g.targets[old.id])
	op.setCurrent(&m)
	op.after = append(op.after, func() { op.s.cancelConsumerTimers(op.groupID, old.id) })
	return &m
}

// subscriptionChange is what a request changed.
type subscriptionChange struct {
	// names, the topic names it subscribes to; regex, the regular expression.
	names bool
	regex regexChange
	// bump: the group needs a new epoch for it.
	bump bool
	// resolve: the group's regular expressions are looked up after the answer.
	resolve bool
	// looked: the newest topics have been looked at.
	looked bool
}

// subscribe records what the member said, and what that changes.
func (op *consumerOp) subscribe(g *consumerGroup, member, updated *consumerMember) (subscriptionChange, *refusal) {
	var change subscriptionChange
	if !updated.sameMetadata(member) {
		op.setMember(updated)
		change.names = !sameNames(member.topics, updated.topics)
	}
	var bad *refusal
	change.regex, change.resolve, bad = op.changeRegex(g, member, updated)
	return change, bad
}

// rebalance takes the group and the member as far as they can go now: a new
// epoch when something changed, a new target assignment when it is time for one,
// and the member's own assignment.
func (op *consumerOp) rebalance(g *consumerGroup, member, updated *consumerMember, change *subscriptionChange,
	owned []generated.ConsumerGroupHeartbeatRequestTopicPartitions,
) (*consumerMember, *refusal) {
	epoch := op.bumpEpoch(g, member, updated, change)
	targetEpoch, target, bad := op.assign(g, epoch, member, updated)
	if bad != nil {
		return nil, bad
	}
	return op.reconcile(updated, &reconciliation{
		group: g, epoch: targetEpoch, target: target, owned: owned,
		subscriptionChanged: change.names || change.regex != regexSame,
	})
}

// bumpEpoch writes a new epoch when a change asks for it or the subscribed topics
// are not what they were, and returns the group's epoch.
func (op *consumerOp) bumpEpoch(g *consumerGroup, member, updated *consumerMember, change *subscriptionChange) int32 {
	if !change.bump && g.seen == op.s.viewTopics() {
		return g.epoch
	}
	change.looked = true
	hash := op.s.metadataHash(g.subscriptionWith(member, updated))
	if !change.bump && hash == g.metadataHash {
		return g.epoch
	}
	op.setEpoch(g.epoch+1, hash)
	return g.epoch + 1
}

// assign computes a new target assignment for an epoch that has none, unless the
// last one is too young, and returns the one that is in force for the member.
func (op *consumerOp) assign(g *consumerGroup, epoch int32, member, updated *consumerMember) (int32, assignor.Assignment, *refusal) {
	now := op.s.now.UnixMilli()
	if g.assignmentEpoch >= epoch ||
		g.assignedAt != 0 && now < g.assignedAt+op.s.config.ConsumerAssignmentInterval.Milliseconds() {
		return g.assignmentEpoch, g.target(updated), nil
	}
	spec, targets := g.assignmentSpec(updated)
	assign, _ := assignor.ByName(g.preferredAssignor(member, updated))
	assigned, err := assign(spec)
	if err != nil {
		return 0, nil, refuse(errorcode.UnknownServerError, "Failed to compute a new target assignment for epoch %d: %s", epoch, err)
	}
	for i := range spec.Members {
		id := spec.Members[i].ID
		if was, ok := targets[id]; !ok || !sameAssignment(was, assigned[id]) {
			op.setTarget(id, assigned[id])
		}
	}
	op.setTargetEpoch(epoch, now)
	return epoch, assigned[updated.id], nil
}
