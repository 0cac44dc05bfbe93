package groups

import (
	"strings"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/statemachine"
	"kafka-iggy-bridge/internal/wire"
)

// leaveConsumerGroup handles a heartbeat with epoch -1, of a member that leaves,
// or -2, of a static member that comes back within its session timeout and keeps
// its partitions meanwhile.
func (s *Shard) leaveConsumerGroup(c *statemachine.Call, r *generated.ConsumerGroupHeartbeatRequest) *refusal {
	g, ok := s.groups[r.GroupId].(*consumerGroup)
	if !ok {
		if s.exists(r.GroupId) {
			return refuse(errorcode.GroupIDNotFound, "Group %s is not a consumer group.", r.GroupId)
		}
		return refuse(errorcode.GroupIDNotFound, "Group %s not found.", r.GroupId)
	}
	m := g.members[r.MemberId]
	if r.InstanceId.Valid {
		m = g.staticMember(r.InstanceId)
		if bad := m.checkStatic(r.MemberId, r.InstanceId.S); bad != nil {
			return bad
		}
	} else if m == nil {
		return unknownMember(r.MemberId, g.id)
	}
	if r.InstanceId.Valid && r.MemberEpoch == staticLeaveEpoch {
		g.leaveForAWhile(m)
	} else {
		s.removeConsumerMembers(g, []*consumerMember{m})
	}
	s.answer(strings.Clone(r.GroupId), c.Token, &generated.ConsumerGroupHeartbeatResponse{
		MemberId: wire.String(strings.Clone(r.MemberId)), MemberEpoch: r.MemberEpoch,
	})
	return nil
}

// leaveForAWhile keeps a static member's place. Its partitions lose their epochs,
// so that the next to have the place may commit with whatever epoch it gets.
func (g *consumerGroup) leaveForAWhile(m *consumerMember) {
	op := &consumerOp{s: g.s, groupID: g.id}
	left := *m
	left.epoch = staticLeaveEpoch
	left.assigned, left.revoking = m.assigned.withEpoch(0), nil
	op.setCurrent(&left)
	op.commit()
}

// removeConsumerMembers takes members out of a group. When only members of the
// classic protocol stay behind, the group becomes a classic one.
func (s *Shard) removeConsumerMembers(g *consumerGroup, members []*consumerMember) {
	if len(members) == 0 {
		return
	}
	if g.onlyClassicWithout(members) {
		op := &consumerOp{s: s, groupID: g.id}
		op.downgrade(g, members, nil, true)
		op.commit()
		return
	}
	op := &consumerOp{s: s, groupID: g.id}
	for _, m := range members {
		op.removeMember(m.id)
	}
	counts := g.subscriptionWith(nil, nil)
	users := make(map[string]int)
	for _, m := range members {
		countNames(counts, m, -1)
		if m.regex != "" {
			users[m.regex]++
		}
	}
	for _, regex := range sortedKeys(users) {
		if g.regexes[regex] == users[regex] {
			op.setRegex(regex, nil)
			countRegex(counts, g.resolved[regex], -1)
		}
	}
	op.setEpoch(g.epoch+1, s.metadataHash(counts))
	if len(members) == len(g.members) {
		// Nobody is left to compute a target for: it is up to date.
		op.setTargetEpoch(g.epoch+1, 0)
	}
	op.after = append(op.after, func() {
		for _, m := range members {
			s.cancelConsumerTimers(g.id, m.id)
		}
	})
	op.commit()
}
