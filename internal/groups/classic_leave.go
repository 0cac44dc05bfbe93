package groups

import (
	"strings"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/statemachine"
	"kafka-iggy-bridge/internal/wire"
)

// leaveManyVersion is the first LeaveGroup that names several members, each with
// an answer of its own (KIP-345).
const leaveManyVersion = 3

// leaveGroup handles LeaveGroup.
func (s *Shard) leaveGroup(c *statemachine.Call, r *generated.LeaveGroupRequest) {
	if r.GroupId == "" {
		s.answer("", c.Token, &generated.LeaveGroupResponse{ErrorCode: errorcode.InvalidGroupID})
		return
	}
	if c.Version < leaveManyVersion {
		r.Members = []generated.LeaveGroupRequestMemberIdentity{{MemberId: r.MemberId}}
	}
	switch g := s.groups[r.GroupId].(type) {
	case *classicGroup:
		s.answerLeave(g.id, c, r, g.leave(r.Members))
	case *consumerGroup:
		s.leaveConsumerGroupAsClassic(c, r, g)
	default:
		codes := make([]int16, len(r.Members))
		for i := range codes {
			codes[i] = errorcode.UnknownMemberID
		}
		s.answerLeave(strings.Clone(r.GroupId), c, r, codes)
	}
}

// leave removes members and gives an error code for each. All of them leave
// before the group rebalances, once.
func (g *classicGroup) leave(identities []generated.LeaveGroupRequestMemberIdentity) []int16 {
	codes := make([]int16, len(identities))
	left := false
	for i, who := range identities {
		codes[i] = g.leaveOne(who.MemberId, who.GroupInstanceId)
		left = left || codes[i] == errorcode.None
	}
	if left && g.phase != classicEmpty {
		g.rebalanceOrComplete()
	}
	return codes
}

// leaveOne removes a member. An administrator knows static members by their
// instance id only.
func (g *classicGroup) leaveOne(memberID string, instanceID wire.NullString) int16 {
	if memberID == "" {
		m, ok := g.static[instanceID.S]
		if !ok || !instanceID.Valid {
			return errorcode.UnknownMemberID
		}
		g.remove(m.id)
		return errorcode.None
	}
	if _, ok := g.pending[memberID]; !ok {
		if _, code := g.checkMember(memberID, instanceID); code != errorcode.None {
			return code
		}
	}
	g.remove(memberID)
	return errorcode.None
}

// answerLeave answers with an error code for each member: in a row of its own
// or, where a request names one member, as that of the request.
func (s *Shard) answerLeave(groupID string, c *statemachine.Call, r *generated.LeaveGroupRequest, codes []int16) {
	answer := generated.DefaultLeaveGroupResponse()
	if c.Version < leaveManyVersion {
		answer.ErrorCode = codes[0]
		s.answer(groupID, c.Token, &answer)
		return
	}
	answer.Members = make([]generated.LeaveGroupResponseMemberResponse, len(codes))
	for i, code := range codes {
		row := generated.DefaultLeaveGroupResponseMemberResponse()
		row.MemberId = strings.Clone(r.Members[i].MemberId)
		row.GroupInstanceId = cloneNull(r.Members[i].GroupInstanceId)
		row.ErrorCode = code
		answer.Members[i] = row
	}
	s.answer(groupID, c.Token, &answer)
}
