package groups

import (
	"time"
)

// The timers of members of consumer groups.
const (
	// timerConsumerSession fences a member that is not heard of.
	timerConsumerSession timerPurpose = 50 + iota
	// timerConsumerRebalance fences one that does not give up partitions in time.
	timerConsumerRebalance
	// timerConsumerJoin and timerConsumerSync fence a classic member that does not
	// join again when asked to, or does not fetch its assignment.
	timerConsumerJoin
	timerConsumerSync
)

// consumerLoaded starts the timers of the members that were replayed.
func (s *Shard) consumerLoaded() {
	s.viewTopics()
	for _, g := range s.groups {
		g, ok := g.(*consumerGroup)
		if !ok {
			continue
		}
		for _, m := range g.members {
			s.restartConsumerSession(g.id, m.id, s.config.ConsumerSessionTimeout)
			if m.state == memberUnrevoked {
				s.startRebalanceTimer(g.id, m)
			}
		}
	}
}

// restartConsumerSession moves a member's session timer, or sets it.
func (s *Shard) restartConsumerSession(groupID, memberID string, timeout time.Duration) {
	key := timerKey{timerConsumerSession, groupID, memberID}
	if at := s.now.Add(timeout); !s.timers.Move(key, at) {
		s.timers.Set(key, at, func(time.Time) { s.fenceConsumerMember(groupID, memberID) })
	}
}

// startRebalanceTimer gives a member its rebalance timeout to give up partitions:
// when it then still is at the same epoch, it is fenced.
func (s *Shard) startRebalanceTimer(groupID string, m *consumerMember) {
	memberID, epoch := m.id, m.epoch
	at := s.now.Add(time.Duration(m.rebalanceTimeout) * time.Millisecond)
	s.timers.Set(timerKey{timerConsumerRebalance, groupID, memberID}, at, func(time.Time) {
		if g, ok := s.groups[groupID].(*consumerGroup); ok && g.members[memberID] != nil && g.members[memberID].epoch == epoch {
			s.fenceConsumerMember(groupID, memberID)
		}
	})
}

// startClassicTimer gives a classic member its rebalance timeout (ms) to join, or
// to sync.
func (s *Shard) startClassicTimer(purpose timerPurpose, groupID, memberID string, rebalanceTimeout int32) {
	at := s.now.Add(time.Duration(rebalanceTimeout) * time.Millisecond)
	s.timers.Set(timerKey{purpose, groupID, memberID}, at, func(time.Time) { s.fenceConsumerMember(groupID, memberID) })
}

// cancelConsumerTimers ends all timers of a member.
func (s *Shard) cancelConsumerTimers(groupID, memberID string) {
	for purpose := timerConsumerSession; purpose <= timerConsumerSync; purpose++ {
		s.timers.Cancel(timerKey{purpose, groupID, memberID})
	}
}

// fenceConsumerMember puts a member out of its group, if it still is there.
func (s *Shard) fenceConsumerMember(groupID, memberID string) {
	g, ok := s.groups[groupID].(*consumerGroup)
	if !ok {
		return
	}
	if m := g.members[memberID]; m != nil {
		s.removeConsumerMembers(g, []*consumerMember{m})
	}
}
