package groups

import (
	"slices"
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/statemachine"
	"kafka-iggy-bridge/internal/wire"
)

// The timers of classic groups.
const (
	// timerClassicSession removes a member that is not heard of, and a member id
	// that was given out and not used.
	timerClassicSession timerPurpose = iota + 1
	// timerClassicJoin ends the join phase of a rebalance.
	timerClassicJoin
	// timerClassicSync removes members that joined and did not sync.
	timerClassicSync
)

// classicState is the state of a classic group, by the name that clients see.
// There is no Dead: a group that is deleted is not kept.
type classicState string

const (
	// classicEmpty: no members. There may be offsets, and pending members.
	classicEmpty classicState = "Empty"
	// classicPreparing: the members are asked to join again; those that did wait.
	classicPreparing classicState = "PreparingRebalance"
	// classicCompleting: there is a generation, the leader makes its assignment.
	classicCompleting classicState = "CompletingRebalance"
	// classicStable: the members have what they are assigned.
	classicStable classicState = "Stable"
)

// consumerProtocolType is the protocol type of consumers, the one whose metadata
// the coordinator looks into.
const consumerProtocolType = "consumer"

// classicGroup is a group whose members assign partitions among themselves:
// JoinGroup, SyncGroup.
type classicGroup struct {
	s  *Shard
	id string

	phase classicState
	// previous is the phase before: a join phase that follows Empty waits for more
	// members, and does not end early.
	previous classicState
	// stateSince is when the phase began, in ms; -1 in a group that was loaded from
	// a record that did not say so.
	stateSince int64
	generation int32
	// protoType is what the members use the group for, "" while nobody ever joined.
	protoType string
	// protocol is the one that was chosen for this generation.
	protocol wire.NullString
	// leader is the id of the member that assigns, "" without members.
	leader string

	// members are in the order in which they joined. A static member that comes
	// back takes the place that it had.
	members []*classicMember
	byID    map[string]*classicMember
	// static has the static members by instance id (KIP-345).
	static map[string]*classicMember
	// pending are the member ids that were given out and have not joined (KIP-394).
	pending map[string]struct{}
	// supported counts, by protocol, the members that know it.
	supported map[string]int
	// awaitingJoin counts the members whose JoinGroup waits, pendingSync those that
	// have the generation and have not sent their SyncGroup.
	awaitingJoin, pendingSync int
	// newMember tells that members came during the initial delay, which extends it.
	newMember bool
	// subscribed are the topics that the members consume, nil when that is not
	// known.
	subscribed map[string]struct{}
	// stored is the group's record in the log; without key before there is one, as
	// in a group that exists for commits from outside of it.
	stored records.Record
}

var _ group = (*classicGroup)(nil)

// newClassicGroup makes an empty group, which is not yet one of the shard's.
func newClassicGroup(s *Shard, id string) *classicGroup {
	return &classicGroup{
		s:          s,
		id:         id,
		phase:      classicEmpty,
		stateSince: s.now.UnixMilli(),
		byID:       make(map[string]*classicMember),
	}
}

// kind is part of group.
func (g *classicGroup) kind() string { return "classic" }

// protocolType is part of group.
func (g *classicGroup) protocolType() string { return g.protoType }

// state is part of group.
func (g *classicGroup) state() string { return string(g.phase) }

// transition moves to another phase.
func (g *classicGroup) transition(to classicState) {
	g.previous, g.phase = g.phase, to
	g.stateSince = g.s.now.UnixMilli()
}

// canRebalance tells whether a rebalance may begin: not while members join for
// one already.
func (g *classicGroup) canRebalance() bool { return g.phase != classicPreparing }

// add makes m a member. join is its waiting request, zero for a member without.
func (g *classicGroup) add(m *classicMember, join parked) {
	if len(g.members) == 0 {
		g.protoType = m.protocolType
	}
	if g.leader == "" {
		g.leader = m.id
	}
	g.members = append(g.members, m)
	g.byID[m.id] = m
	if m.instanceID.Valid {
		if g.static == nil {
			g.static = make(map[string]*classicMember)
		}
		g.static[m.instanceID.S] = m
	}
	g.countProtocols(m, 1)
	g.park(m, join)
	delete(g.pending, m.id)
}

// remove ends a membership, or a pending one, with its timer and its waiting
// requests: UnknownMemberID makes a client that is still there join anew. It
// does not rebalance.
func (g *classicGroup) remove(memberID string) {
	if _, ok := g.pending[memberID]; ok {
		delete(g.pending, memberID)
		g.s.timers.Cancel(timerKey{timerClassicSession, g.id, memberID})
		return
	}
	m, ok := g.byID[memberID]
	if !ok {
		return
	}
	g.answerJoin(m, joinError(errorcode.UnknownMemberID, ""))
	g.answerSync(m, syncError(errorcode.UnknownMemberID))
	g.setPendingSync(m, false)
	g.s.timers.Cancel(g.sessionKey(m))
	delete(g.byID, m.id)
	if m.instanceID.Valid {
		delete(g.static, m.instanceID.S)
	}
	g.countProtocols(m, -1)
	i := slices.Index(g.members, m)
	g.members = slices.Delete(g.members, i, i+1)
	if g.leader == m.id {
		g.leader = ""
		if len(g.members) > 0 {
			g.leader = g.members[0].id
		}
	}
}

// isLeader tells whether m assigns.
func (g *classicGroup) isLeader(m *classicMember) bool { return m.id == g.leader }

// checkMember finds a member. A static member is known by its instance id: the
// member id of an older incarnation is fenced (KIP-345).
func (g *classicGroup) checkMember(memberID string, instanceID wire.NullString) (*classicMember, int16) {
	if instanceID.Valid {
		m, ok := g.static[instanceID.S]
		if !ok {
			return nil, errorcode.UnknownMemberID
		}
		if m.id != memberID {
			return nil, errorcode.FencedInstanceID
		}
		return m, errorcode.None
	}
	m, ok := g.byID[memberID]
	if !ok {
		return nil, errorcode.UnknownMemberID
	}
	return m, errorcode.None
}

// checkCommit is part of group. A commit from inside counts as a heartbeat.
func (g *classicGroup) checkCommit(c *commitCheck) int16 {
	inside := c.epoch >= 0 || c.memberID != "" || c.hasInstance
	switch {
	case c.epoch < 0 && g.phase == classicEmpty:
		// An administrator, or a consumer that assigns itself.
		return errorcode.None
	case inside:
		m, code := g.checkMember(c.memberID, wire.NullString{S: c.instanceID, Valid: c.hasInstance})
		if code != errorcode.None {
			return code
		}
		if c.epoch != g.generation {
			return errorcode.IllegalGeneration
		}
		if c.txn {
			return errorcode.None
		}
		if g.phase == classicCompleting {
			// The member has the generation from its JoinGroup already, so this is not
			// its fault: it syncs and commits again.
			return errorcode.RebalanceInProgress
		}
		g.startSession(m)
		return errorcode.None
	case c.txn:
		// Old producers do not say on whose behalf they commit.
		return errorcode.None
	default:
		return errorcode.UnknownMemberID
	}
}

// checkFetch is part of group. Anybody may read the offsets of a classic group.
func (g *classicGroup) checkFetch(string, int32) int16 { return errorcode.None }

// checkDelete is part of group.
func (g *classicGroup) checkDelete() int16 {
	if g.phase != classicEmpty {
		return errorcode.NonEmptyGroup
	}
	return errorcode.None
}

// subscribedTo is part of group. Consumers whose subscription cannot be read may
// consume anything.
func (g *classicGroup) subscribedTo(topic string) bool {
	if g.subscribed == nil {
		return g.protoType == consumerProtocolType
	}
	_, ok := g.subscribed[topic]
	return ok
}

// expiresFrom is part of group. Old records do not say since when a group has
// been empty. In any phase but Empty and Stable, and with members that are no
// consumers, it is not known which offsets will be needed.
func (g *classicGroup) expiresFrom() (time.Time, bool) {
	switch {
	case g.protoType == "":
		return time.Time{}, true
	case g.phase == classicEmpty && g.stateSince >= 0:
		return time.UnixMilli(g.stateSince), true
	case g.phase == classicEmpty:
		return time.Time{}, true
	default:
		return time.Time{}, g.phase == classicStable && g.subscribed != nil
	}
}

// drop is part of group. Requests that wait are answered so that their clients
// join again.
func (g *classicGroup) drop() {
	for _, m := range g.members {
		g.answerJoin(m, joinError(errorcode.RebalanceInProgress, m.id))
		g.answerSync(m, syncError(errorcode.RebalanceInProgress))
		g.s.timers.Cancel(g.sessionKey(m))
	}
	for id := range g.pending {
		g.s.timers.Cancel(timerKey{timerClassicSession, g.id, id})
	}
	g.s.timers.Cancel(g.joinKey())
	g.s.timers.Cancel(g.syncKey())
}

// describe fills in what DescribeGroups says of the group.
func (g *classicGroup) describe(d *generated.DescribeGroupsResponseDescribedGroup) {
	d.GroupState = g.state()
	d.ProtocolType = g.protoType
	if g.phase == classicStable {
		d.ProtocolData = g.protocol.S
	}
	d.Members = make([]generated.DescribeGroupsResponseDescribedGroupMember, len(g.members))
	for i, m := range g.members {
		row := generated.DefaultDescribeGroupsResponseDescribedGroupMember()
		row.MemberId = m.id
		row.GroupInstanceId = m.instanceID
		row.ClientId = m.clientID
		row.ClientHost = m.clientHost
		row.MemberAssignment = m.assignment
		if g.phase == classicStable {
			row.MemberMetadata = m.metadata(g.protocol.S)
		}
		d.Members[i] = row
	}
}

// parked is a request that waits for its answer. The zero value is none.
type parked struct {
	token   statemachine.Token
	version int16
}
