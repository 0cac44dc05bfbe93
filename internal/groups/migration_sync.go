package groups

import (
	"strings"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/statemachine"
	"kafka-iggy-bridge/internal/wire"
)

// syncConsumerGroupAsClassic handles SyncGroup of a classic member: it fetches
// what it was assigned when it joined.
func (s *Shard) syncConsumerGroupAsClassic(c *statemachine.Call, r *generated.SyncGroupRequest, g *consumerGroup) {
	m, code := g.classicMember(r.MemberId, r.GroupInstanceId, r.GenerationId)
	if code == errorcode.None {
		code = g.checkClassicSync(m, r)
	}
	if code != errorcode.None {
		s.refuseSync(c, r, code)
		return
	}
	s.timers.Cancel(timerKey{timerConsumerSync, g.id, m.id})
	s.restartConsumerSession(g.id, m.id, millis(m.classic.sessionTimeout))
	answer := syncError(errorcode.None)
	answer.ProtocolType = cloneNull(r.ProtocolType)
	answer.ProtocolName = cloneNull(r.ProtocolName)
	answer.Assignment = s.encodeAssignment(m.assigned.plain(), m.classic.protocols[0].Metadata)
	s.answer(g.id, c.Token, answer)
}

// classicMember finds the member of a classic request, which must be of that
// protocol and at its epoch.
func (g *consumerGroup) classicMember(id string, instance wire.NullString, generation int32) (*consumerMember, int16) {
	m := g.members[id]
	if instance.Valid {
		if m = g.staticMember(instance); m != nil && m.id != id {
			return nil, errorcode.FencedInstanceID
		}
	}
	switch {
	case m == nil || m.classic == nil:
		return nil, errorcode.UnknownMemberID
	case m.epoch != generation:
		return nil, errorcode.IllegalGeneration
	}
	return m, errorcode.None
}

// checkClassicSync refuses another protocol than the one that JoinGroup named,
// and sends a member that is behind back to join, unless it first has to give
// something up.
func (g *consumerGroup) checkClassicSync(m *consumerMember, r *generated.SyncGroupRequest) int16 {
	switch {
	case r.ProtocolType.Valid && r.ProtocolType.S != consumerProtocolType,
		r.ProtocolName.Valid && r.ProtocolName.S != m.classic.protocols[0].Name:
		return errorcode.InconsistentGroupProtocol
	case g.assignmentEpoch > m.epoch && m.state != memberUnrevoked:
		g.awaitClassicJoin(m)
		return errorcode.RebalanceInProgress
	}
	return errorcode.None
}

// awaitClassicJoin gives a member, once, the time to join again.
func (g *consumerGroup) awaitClassicJoin(m *consumerMember) {
	if !g.s.timers.Has(timerKey{timerConsumerJoin, g.id, m.id}) {
		g.s.startClassicTimer(timerConsumerJoin, g.id, m.id, m.rebalanceTimeout)
	}
}

// heartbeatConsumerGroupAsClassic handles Heartbeat of a classic member. It is
// told to join again when there is something for it: a new assignment, partitions
// to give up, or partitions that were given up for it.
func (s *Shard) heartbeatConsumerGroupAsClassic(c *statemachine.Call, r *generated.HeartbeatRequest, g *consumerGroup) {
	m, code := g.classicMember(r.MemberId, r.GroupInstanceId, r.GenerationId)
	if code == errorcode.None {
		s.restartConsumerSession(g.id, m.id, millis(m.classic.sessionTimeout))
		if m.epoch < g.assignmentEpoch || m.state == memberUnrevoked || m.state == memberUnreleased && !g.waitsForOthers(m) {
			g.awaitClassicJoin(m)
			code = errorcode.RebalanceInProgress
		}
	}
	s.answerHeartbeat(g.id, c, code)
}

// waitsForOthers reports whether any partition of a member's target still belongs
// to another member.
func (g *consumerGroup) waitsForOthers(m *consumerMember) bool {
	for id, partitions := range g.targets[m.id] {
		for _, p := range partitions {
			if _, has := m.assigned.find(id, p); !has && g.owned(id, p) {
				return true
			}
		}
	}
	return false
}

// leaveConsumerGroupAsClassic handles LeaveGroup in a consumer group, where an
// administrator may also name members of the consumer protocol.
func (s *Shard) leaveConsumerGroupAsClassic(c *statemachine.Call, r *generated.LeaveGroupRequest, g *consumerGroup) {
	codes := make([]int16, len(r.Members))
	var leaving []*consumerMember
	gone := make(map[string]bool)
	for i := range r.Members {
		m, code := g.leavingMember(&r.Members[i])
		codes[i] = code
		if code == errorcode.None && !gone[m.id] {
			gone[m.id] = true
			leaving = append(leaving, m)
		}
	}
	groupID := strings.Clone(g.id)
	s.removeConsumerMembers(g, leaving)
	s.answerLeave(groupID, c, r, codes)
}

func (g *consumerGroup) leavingMember(who *generated.LeaveGroupRequestMemberIdentity) (*consumerMember, int16) {
	if !who.GroupInstanceId.Valid {
		if m := g.members[who.MemberId]; m != nil {
			return m, errorcode.None
		}
		return nil, errorcode.UnknownMemberID
	}
	m := g.staticMember(who.GroupInstanceId)
	switch {
	case m == nil:
		return nil, errorcode.UnknownMemberID
	case who.MemberId != "" && m.id != who.MemberId:
		return nil, errorcode.FencedInstanceID
	}
	return m, errorcode.None
}
