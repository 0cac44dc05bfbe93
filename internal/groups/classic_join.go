package groups

import (
	"strings"
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/statemachine"
	"kafka-iggy-bridge/internal/wire"
)

const (
	// classicNewMemberTimeout is how long a new member may wait for its first
	// generation. A client whose connection is gone may have come back as another
	// member meanwhile.
	classicNewMemberTimeout = 5 * time.Minute
	// joinMemberIDVersion is the first JoinGroup that has to come with a member id
	// (KIP-394), joinNullProtocolVersion the first whose protocol name may be null,
	// joinSkipVersion the first that can tell a leader not to assign (KIP-814).
	joinMemberIDVersion     = 4
	joinNullProtocolVersion = 7
	joinSkipVersion         = 9
)

// joinGroup handles JoinGroup. The answer waits for the end of the rebalance
// that the request takes part in.
func (s *Shard) joinGroup(c *statemachine.Call, r *generated.JoinGroupRequest) {
	if c.Version == 0 {
		r.RebalanceTimeoutMs = r.SessionTimeoutMs
	}
	session := millis(r.SessionTimeoutMs)
	switch {
	case r.GroupId == "":
		s.refuseJoin(c, r, errorcode.InvalidGroupID, r.MemberId)
		return
	case session < s.config.MinSessionTimeout, session > s.config.MaxSessionTimeout:
		s.refuseJoin(c, r, errorcode.InvalidSessionTimeout, r.MemberId)
		return
	}
	if g, ok := s.groups[r.GroupId].(*consumerGroup); ok && g.checkDelete() != errorcode.None {
		s.joinConsumerGroupAsClassic(c, r, g)
		return
	}
	g := s.classicGroupToJoin(r)
	switch {
	case g == nil:
		s.refuseJoin(c, r, errorcode.UnknownMemberID, r.MemberId)
	case !g.hasRoom(r.MemberId):
		g.remove(r.MemberId)
		s.refuseJoin(c, r, errorcode.GroupMaxSizeReached, "")
	case !g.supports(r):
		s.refuseJoin(c, r, errorcode.InconsistentGroupProtocol, r.MemberId)
	case r.MemberId == "":
		g.joinNew(c, r)
	default:
		g.joinAgain(c, r)
	}
}

// classicGroupToJoin finds the group, or makes one for a client without member
// id; otherwise there is none. A consumer group without members becomes a
// classic one.
func (s *Shard) classicGroupToJoin(r *generated.JoinGroupRequest) *classicGroup {
	old, exists := s.groups[r.GroupId]
	if g, ok := old.(*classicGroup); ok {
		return g
	}
	if r.MemberId != "" {
		return nil
	}
	g := newClassicGroup(s, strings.Clone(r.GroupId))
	var gone []records.Record
	if exists {
		gone = old.tombstones()
		old.drop()
	}
	s.groups[g.id] = g
	s.write(g.id, append(gone, g.encode())...)
	return g
}

// hasRoom tells whether the group may take, or keep, a member. Where members
// join again, those count that did: so a group that is too large, since the limit
// was lowered, gets rid of the last ones.
func (g *classicGroup) hasRoom(memberID string) bool {
	limit := g.s.config.MaxSize
	m, isMember := g.byID[memberID]
	switch g.phase {
	case classicEmpty:
		return true
	case classicPreparing:
		return isMember && m.join.token != 0 || g.awaitingJoin < limit
	default:
		return isMember || len(g.members) < limit
	}
}

// joinNew takes in a client without member id.
func (g *classicGroup) joinNew(c *statemachine.Call, r *generated.JoinGroupRequest) {
	s := g.s
	if !r.GroupInstanceId.Valid {
		id := c.ClientID + "-" + s.config.NewMemberID()
		if c.Version >= joinMemberIDVersion {
			g.addPending(id, millis(r.SessionTimeoutMs))
			s.answerJoin(g.id, parked{c.Token, c.Version}, joinError(errorcode.MemberIDRequired, id))
			return
		}
		g.joinAs(id, c, r)
		return
	}
	id := r.GroupInstanceId.S + "-" + s.config.NewMemberID()
	if old, ok := g.static[r.GroupInstanceId.S]; ok {
		g.replaceStatic(old, id, c, r)
		return
	}
	g.joinAs(id, c, r)
}

// addPending remembers a member id that was given out, until its first JoinGroup
// or the end of its session. A rebalance waits for it.
func (g *classicGroup) addPending(id string, session time.Duration) {
	if g.pending == nil {
		g.pending = make(map[string]struct{})
	}
	g.pending[id] = struct{}{}
	g.s.timers.Set(timerKey{timerClassicSession, g.id, id}, g.s.now.Add(session), func(time.Time) {
		delete(g.pending, id)
		if g.phase == classicPreparing && g.allJoined() {
			g.completeJoin()
		}
	})
}

// joinAs adds a member and begins a rebalance, or takes part in the one there
// is.
func (g *classicGroup) joinAs(id string, c *statemachine.Call, r *generated.JoinGroupRequest) {
	m := newClassicMember(id, c, r)
	m.isNew = true
	if g.phase == classicPreparing && g.previous == classicEmpty {
		g.newMember = true
	}
	g.add(m, parked{c.Token, c.Version})
	g.startTimer(m, classicNewMemberTimeout)
	g.rebalanceOrComplete()
}

// joinAgain handles the JoinGroup of a client with a member id.
func (g *classicGroup) joinAgain(c *statemachine.Call, r *generated.JoinGroupRequest) {
	if _, ok := g.pending[r.MemberId]; ok {
		if r.GroupInstanceId.Valid {
			// Only dynamic members are given ids beforehand.
			g.s.refuseJoin(c, r, errorcode.UnknownServerError, "")
			return
		}
		g.joinAs(strings.Clone(r.MemberId), c, r)
		return
	}
	m, code := g.checkMember(r.MemberId, r.GroupInstanceId)
	if code != errorcode.None {
		g.s.refuseJoin(c, r, code, r.MemberId)
		return
	}
	// The answer of a JoinGroup may have been lost: then nothing changes. A leader
	// that joins a stable group wants to assign anew, perhaps since topics changed.
	changed := !m.sameProtocols(r.Protocols)
	switch {
	case g.phase == classicCompleting && !changed:
		g.s.answerJoin(g.id, parked{c.Token, c.Version}, g.generationFor(m))
	case g.phase == classicStable && !changed && !g.isLeader(m):
		g.s.answerJoin(g.id, parked{c.Token, c.Version}, g.generationFor(m))
	default:
		g.updateMember(m, r, parked{c.Token, c.Version})
		g.rebalanceOrComplete()
	}
}

// updateMember takes over a member's JoinGroup, which waits.
func (g *classicGroup) updateMember(m *classicMember, r *generated.JoinGroupRequest, join parked) {
	g.countProtocols(m, -1)
	m.update(r)
	g.countProtocols(m, 1)
	g.park(m, join)
}

// replaceStatic handles a static member that comes back: under a new id, with
// the place and the assignment that it had (KIP-345). Who still uses the old id
// is fenced.
func (g *classicGroup) replaceStatic(old *classicMember, id string, c *statemachine.Call, r *generated.JoinGroupRequest) {
	leaderBefore := g.leader
	m := g.swapStatic(old, id)
	g.startSession(m)
	g.updateMember(m, r, parked{c.Token, c.Version})
	switch {
	case g.phase == classicStable && g.protocol.S == g.vote():
		g.readSubscriptions()
		g.store()
		answer := g.generationFor(m)
		if c.Version >= joinSkipVersion {
			answer.SkipAssignment = g.isLeader(m)
		} else {
			// A leader that reads its own id would assign, and its SyncGroup would be
			// ignored. The id that it had makes it a follower.
			answer.Leader = leaderBefore
			answer.Members = nil
		}
		g.answerJoin(m, answer)
	case g.phase == classicCompleting:
		// The leader may have been told the old id, and would assign nothing to the
		// new one.
		g.prepareRebalance()
	default:
		g.rebalanceOrComplete()
	}
}

// swapStatic puts a member in the place of its older incarnation.
func (g *classicGroup) swapStatic(old *classicMember, id string) *classicMember {
	g.answerJoin(old, joinError(errorcode.FencedInstanceID, old.id))
	g.answerSync(old, syncError(errorcode.FencedInstanceID))
	g.s.timers.Cancel(g.sessionKey(old))

	m := &classicMember{}
	*m = *old
	m.id, m.isNew = id, false
	for i := range g.members {
		if g.members[i] == old {
			g.members[i] = m
		}
	}
	delete(g.byID, old.id)
	g.byID[id] = m
	g.static[m.instanceID.S] = m
	if g.leader == old.id {
		g.leader = id
	}
	return m
}

// park makes a member's JoinGroup wait. One that waited before comes from a
// connection that the client has given up, or from a second client with the
// member's id: it is told to join again.
func (g *classicGroup) park(m *classicMember, join parked) {
	g.answerJoin(m, joinError(errorcode.RebalanceInProgress, m.id))
	if join.token != 0 {
		m.join = join
		g.awaitingJoin++
	}
}

// answerJoin answers a member's waiting JoinGroup, if there is one.
func (g *classicGroup) answerJoin(m *classicMember, answer *generated.JoinGroupResponse) {
	if m.join.token == 0 {
		return
	}
	g.s.answerJoin(g.id, m.join, answer)
	m.join = parked{}
	g.awaitingJoin--
}

// generationFor tells a member the present generation; the leader also whom it
// assigns to.
func (g *classicGroup) generationFor(m *classicMember) *generated.JoinGroupResponse {
	answer := joinError(errorcode.None, m.id)
	answer.GenerationId = g.generation
	answer.ProtocolType = wire.String(g.protoType)
	answer.ProtocolName = g.protocol
	answer.Leader = g.leader
	if !g.isLeader(m) {
		return answer
	}
	answer.Members = make([]generated.JoinGroupResponseMember, len(g.members))
	for i, other := range g.members {
		row := generated.DefaultJoinGroupResponseMember()
		row.MemberId = other.id
		row.GroupInstanceId = other.instanceID
		row.Metadata = other.metadata(g.protocol.S)
		answer.Members[i] = row
	}
	return answer
}

// joinError is an answer without a generation.
func joinError(code int16, memberID string) *generated.JoinGroupResponse {
	answer := generated.DefaultJoinGroupResponse()
	answer.ErrorCode = code
	answer.MemberId = memberID
	answer.ProtocolName = wire.NullString{}
	return &answer
}

// refuseJoin answers a JoinGroup that changes nothing.
func (s *Shard) refuseJoin(c *statemachine.Call, r *generated.JoinGroupRequest, code int16, memberID string) {
	s.answerJoin(strings.Clone(r.GroupId), parked{c.Token, c.Version}, joinError(code, strings.Clone(memberID)))
}

// answerJoin answers a JoinGroup.
func (s *Shard) answerJoin(groupID string, p parked, answer *generated.JoinGroupResponse) {
	if p.version < joinNullProtocolVersion {
		answer.ProtocolName.Valid = true // "" instead of null
	}
	s.answer(groupID, p.token, answer)
}
