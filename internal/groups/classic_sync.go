package groups

import (
	"strings"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/statemachine"
	"kafka-iggy-bridge/internal/wire"
)

// syncProtocolVersion is the first SyncGroup that has to name the protocol
// (KIP-559).
const syncProtocolVersion = 5

// syncGroup handles SyncGroup: the leader brings what it assigns, the others
// wait for it.
func (s *Shard) syncGroup(c *statemachine.Call, r *generated.SyncGroupRequest) {
	switch {
	case c.Version >= syncProtocolVersion && !(r.ProtocolType.Valid && r.ProtocolName.Valid):
		s.refuseSync(c, r, errorcode.InconsistentGroupProtocol)
		return
	case r.GroupId == "":
		s.refuseSync(c, r, errorcode.InvalidGroupID)
		return
	}
	switch g := s.groups[r.GroupId].(type) {
	case *classicGroup:
		g.sync(c, r)
	case *consumerGroup:
		s.syncConsumerGroupAsClassic(c, r, g)
	default:
		s.refuseSync(c, r, errorcode.UnknownMemberID)
	}
}

// sync handles the SyncGroup of a member.
func (g *classicGroup) sync(c *statemachine.Call, r *generated.SyncGroupRequest) {
	m, code := g.checkSync(r)
	if code != errorcode.None {
		g.s.refuseSync(c, r, code)
		return
	}
	g.setPendingSync(m, false)
	if g.phase == classicStable {
		g.s.answer(g.id, c.Token, g.assignmentFor(m))
		return
	}
	// One that waited before comes from a connection that the client has given up.
	g.answerSync(m, syncError(errorcode.RebalanceInProgress))
	m.sync = parked{c.Token, c.Version}
	if g.isLeader(m) {
		g.assign(r.Assignments)
	}
}

// checkSync tells whether a SyncGroup may be served.
func (g *classicGroup) checkSync(r *generated.SyncGroupRequest) (*classicMember, int16) {
	if g.phase == classicEmpty {
		return nil, errorcode.UnknownMemberID
	}
	m, code := g.checkMember(r.MemberId, r.GroupInstanceId)
	switch {
	case code != errorcode.None:
		return nil, code
	case r.GenerationId != g.generation:
		return nil, errorcode.IllegalGeneration
	case r.ProtocolType.Valid && r.ProtocolType.S != g.protoType,
		r.ProtocolName.Valid && g.protocol.Valid && r.ProtocolName.S != g.protocol.S:
		return nil, errorcode.InconsistentGroupProtocol
	case g.phase == classicPreparing:
		return nil, errorcode.RebalanceInProgress
	}
	return m, errorcode.None
}

// assign takes over the leader's assignment, which makes the group stable.
// Members that the leader left out are assigned nothing.
func (g *classicGroup) assign(assignments []generated.SyncGroupRequestAssignment) {
	for _, m := range g.members {
		m.assignment = []byte{}
	}
	for _, a := range assignments {
		if m, ok := g.byID[a.MemberId]; ok {
			m.assignment = cloneBytes(a.Assignment)
		}
	}
	g.store()
	g.answerSyncs(errorcode.None)
	g.transition(classicStable)
}

// answerSyncs answers all SyncGroups that wait. Sessions begin anew: while a
// request waits, its member is not held to them.
func (g *classicGroup) answerSyncs(code int16) {
	for _, m := range g.members {
		if m.sync.token == 0 {
			continue
		}
		if code == errorcode.None {
			g.answerSync(m, g.assignmentFor(m))
		} else {
			g.answerSync(m, syncError(code))
		}
		g.startSession(m)
	}
}

// answerSync answers a member's waiting SyncGroup, if there is one.
func (g *classicGroup) answerSync(m *classicMember, answer *generated.SyncGroupResponse) {
	if m.sync.token != 0 {
		g.s.answer(g.id, m.sync.token, answer)
		m.sync = parked{}
	}
}

// assignmentFor tells a member what it is assigned.
func (g *classicGroup) assignmentFor(m *classicMember) *generated.SyncGroupResponse {
	answer := syncError(errorcode.None)
	answer.ProtocolType = wire.String(g.protoType)
	answer.ProtocolName = g.protocol
	answer.Assignment = m.assignment
	return answer
}

// syncError is an answer without an assignment.
func syncError(code int16) *generated.SyncGroupResponse {
	answer := generated.DefaultSyncGroupResponse()
	answer.ErrorCode = code
	return &answer
}

// refuseSync answers a SyncGroup that changes nothing.
func (s *Shard) refuseSync(c *statemachine.Call, r *generated.SyncGroupRequest, code int16) {
	s.answer(strings.Clone(r.GroupId), c.Token, syncError(code))
}
