package handlers

import (
	"context"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
)

// LeaveGroup, key 13, versions 0 to 5. Members leave a group, by themselves or,
// static ones, because an operator wants it.
//
//   - Each member has a row of its own from version 3; one that is not there gets
//     25 in it. Before, the code for the only member is the answer's.
//   - An empty group id gets 24.
//
// Version history:
//
//	1  throttle time; 2 throttled clients wait on their side
//	3  several members, static ones among them (KIP-345)
//	4  flexible
//	5  reason (KIP-800)
var _ = register(generated.KeyLeaveGroup, 0, 5, (*Handlers).leaveGroup)

func (h *Handlers) leaveGroup(ctx context.Context, req *Request, body *generated.LeaveGroupRequest) (generated.Message, error) {
	code := errorcode.InvalidGroupID
	if body.GroupId != "" {
		var answer *generated.LeaveGroupResponse
		if answer, code = askGroup[*generated.LeaveGroupResponse](ctx, h, req, body.GroupId, body); code == errorcode.None {
			return answer, nil
		}
	}
	resp := generated.DefaultLeaveGroupResponse()
	resp.ErrorCode = code
	return &resp, nil
}
