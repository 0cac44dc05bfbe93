package groups

import (
	"strings"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/statemachine"
)

// heartbeat handles Heartbeat, by which members show that they are there and
// learn of rebalances.
func (s *Shard) heartbeat(c *statemachine.Call, r *generated.HeartbeatRequest) {
	switch g := s.groups[r.GroupId].(type) {
	case *classicGroup:
		s.answerHeartbeat(g.id, c, g.heartbeat(r))
	case *consumerGroup:
		s.heartbeatConsumerGroupAsClassic(c, r, g)
	default:
		code := errorcode.UnknownMemberID
		if r.GroupId == "" {
			code = errorcode.InvalidGroupID
		}
		s.answerHeartbeat(strings.Clone(r.GroupId), c, code)
	}
}

// heartbeat starts a member's session anew. While the members are asked to join
// again, that is the answer; a generation whose assignment is being made is as
// good as a stable one.
func (g *classicGroup) heartbeat(r *generated.HeartbeatRequest) int16 {
	m, code := g.checkMember(r.MemberId, r.GroupInstanceId)
	switch {
	case code != errorcode.None:
		return code
	case r.GenerationId != g.generation:
		return errorcode.IllegalGeneration
	}
	g.startSession(m)
	if g.phase == classicPreparing {
		return errorcode.RebalanceInProgress
	}
	return errorcode.None
}

func (s *Shard) answerHeartbeat(groupID string, c *statemachine.Call, code int16) {
	s.answer(groupID, c.Token, &generated.HeartbeatResponse{ErrorCode: code})
}
