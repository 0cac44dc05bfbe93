package groups

import (
	"time"

	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/wire"
)

// rebalanceOrComplete begins a rebalance, or ends the join phase of the present
// one if nobody is missing.
func (g *classicGroup) rebalanceOrComplete() {
	if g.canRebalance() {
		g.prepareRebalance()
		return
	}
	g.maybeCompleteJoin()
}

// maybeCompleteJoin ends the join phase if nobody is missing. The first join
// phase of a group lasts as long as its delay: more members are expected.
func (g *classicGroup) maybeCompleteJoin() {
	if g.phase == classicPreparing && g.previous != classicEmpty && g.allJoined() {
		g.completeJoin()
	}
}

// allJoined tells whether all members, and all that were given a member id, have
// joined.
func (g *classicGroup) allJoined() bool {
	return g.awaitingJoin == len(g.members) && len(g.pending) == 0
}

// prepareRebalance begins a rebalance: members learn of it from their heartbeats
// and join again. Requests that wait for the assignment are answered so that
// their clients join.
func (g *classicGroup) prepareRebalance() {
	if g.phase == classicCompleting {
		for _, m := range g.members {
			m.assignment = []byte{}
		}
		g.answerSyncs(errorcode.RebalanceInProgress)
	}
	for _, m := range g.members {
		g.setPendingSync(m, false)
	}
	g.s.timers.Cancel(g.syncKey())

	initial := g.phase == classicEmpty
	g.transition(classicPreparing)
	switch {
	case initial:
		delay := g.s.config.InitialRebalanceDelay
		g.scheduleInitialJoin(delay, max(g.maxRebalanceTimeout()-delay, 0))
	case g.allJoined():
		g.completeJoin()
	default:
		g.scheduleJoin()
	}
}

// scheduleJoin ends the join phase when the members had their time.
func (g *classicGroup) scheduleJoin() {
	g.s.timers.Set(g.joinKey(), g.s.now.Add(g.maxRebalanceTimeout()), func(time.Time) { g.completeJoin() })
}

// scheduleInitialJoin ends the join phase of a group that was empty after a
// delay, which is extended while members arrive, up to what remains of the
// rebalance timeout.
func (g *classicGroup) scheduleInitialJoin(delay, remaining time.Duration) {
	g.s.timers.Set(g.joinKey(), g.s.now.Add(delay), func(time.Time) {
		if !g.newMember || remaining == 0 {
			g.completeJoin()
			return
		}
		g.newMember = false
		g.scheduleInitialJoin(min(g.s.config.InitialRebalanceDelay, remaining), max(remaining-delay, 0))
	})
}

// completeJoin ends the join phase: a new generation begins, without the dynamic
// members that did not join. Static members stay, since they may come back
// within their session.
func (g *classicGroup) completeJoin() {
	g.s.timers.Cancel(g.joinKey())
	var missing []string
	for _, m := range g.members {
		if m.join.token == 0 && !m.instanceID.Valid {
			missing = append(missing, m.id)
		}
	}
	for _, id := range missing {
		g.remove(id)
	}
	if len(g.members) > 0 && !g.electLeader() {
		// Only static members are left and none of them is there. Either one comes,
		// or their sessions end.
		g.scheduleJoin()
		return
	}

	g.generation++
	if len(g.members) == 0 {
		g.protocol = wire.NullString{}
		g.readSubscriptions()
		g.transition(classicEmpty)
		g.store()
		return
	}
	g.protocol = wire.String(g.vote())
	g.readSubscriptions()
	g.transition(classicCompleting)
	for _, m := range g.members {
		g.answerJoin(m, g.generationFor(m))
		g.startSession(m)
		m.isNew = false
		g.setPendingSync(m, true)
	}
	g.s.timers.Set(g.syncKey(), g.s.now.Add(g.maxRebalanceTimeout()), func(time.Time) { g.expireSyncs() })
}

// electLeader makes sure that the leader is a member that joined. It reports
// false when nobody did.
func (g *classicGroup) electLeader() bool {
	if g.byID[g.leader].join.token != 0 {
		return true
	}
	for _, m := range g.members {
		if m.join.token != 0 {
			g.leader = m.id
			return true
		}
	}
	return false
}

// expireSyncs removes the members that did not send SyncGroup in time, among
// them perhaps the leader for whom all others wait.
func (g *classicGroup) expireSyncs() {
	var late []string
	for _, m := range g.members {
		if m.pendingSync {
			late = append(late, m.id)
		}
	}
	for _, id := range late {
		g.remove(id)
	}
	if len(late) > 0 {
		g.prepareRebalance()
	}
}

// setPendingSync notes whether a member's SyncGroup is missing.
func (g *classicGroup) setPendingSync(m *classicMember, pending bool) {
	if m.pendingSync == pending {
		return
	}
	m.pendingSync = pending
	if pending {
		g.pendingSync++
		return
	}
	if g.pendingSync--; g.pendingSync == 0 {
		g.s.timers.Cancel(g.syncKey())
	}
}

// startSession gives a member another session timeout from now on.
func (g *classicGroup) startSession(m *classicMember) {
	timeout := millis(m.sessionTimeout)
	if !g.s.timers.Move(g.sessionKey(m), g.s.now.Add(timeout)) {
		g.startTimer(m, timeout)
	}
}

// startTimer sets when a member is removed unless it is heard of.
func (g *classicGroup) startTimer(m *classicMember, timeout time.Duration) {
	g.s.timers.Set(g.sessionKey(m), g.s.now.Add(timeout), func(time.Time) { g.expireSession(m) })
}

// startSessions starts the timers of all members.
func (g *classicGroup) startSessions() {
	for _, m := range g.members {
		g.startSession(m)
	}
}

// expireSession removes a member that was not heard of. One whose request waits
// is: its session begins anew with the answer.
func (g *classicGroup) expireSession(m *classicMember) {
	if m.waits() {
		return
	}
	g.remove(m.id)
	switch {
	case g.canRebalance():
		g.prepareRebalance()
	case g.allJoined():
		g.completeJoin()
	}
}

func (g *classicGroup) sessionKey(m *classicMember) timerKey {
	return timerKey{timerClassicSession, g.id, m.id}
}

func (g *classicGroup) joinKey() timerKey { return timerKey{timerClassicJoin, g.id, ""} }

func (g *classicGroup) syncKey() timerKey { return timerKey{timerClassicSync, g.id, ""} }
