package handlers

import (
	"context"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
)

// JoinGroup, key 11, versions 0 to 9. A member of a classic group asks to be part
// of the next generation, and is answered when that has begun.
//
//   - What the answer is, the group's coordinator decides (package groups).
//   - The request is parked while it waits for other members. A client that goes
//     meanwhile stays a member until its session times out, as in Kafka.
//   - An empty group id gets 24.
//   - At the end of the bridge those who wait get 15: they look for their
//     coordinator again and join there.
//
// Version history:
//
//	1  rebalance timeout, which was the session's before (KIP-62)
//	2  throttle time; 3 throttled clients wait on their side
//	4  members get their id first, with 79, and join with it then (KIP-394)
//	5  static members (KIP-345)
//	6  flexible
//	7  protocol type in the answer, protocol may be null (KIP-559)
//	8  reason (KIP-800)
//	9  the leader may be told to assign nothing (KIP-814)
var _ = register(generated.KeyJoinGroup, 0, 9, (*Handlers).joinGroup)

// nullProtocolSince is the first version that can say that there is no protocol.
const nullProtocolSince = 7

func (h *Handlers) joinGroup(ctx context.Context, req *Request, body *generated.JoinGroupRequest) (generated.Message, error) {
	code := errorcode.InvalidGroupID
	if body.GroupId != "" {
		var answer *generated.JoinGroupResponse
		if answer, code = awaitGroup[*generated.JoinGroupResponse](ctx, h, req, body.GroupId, body); code == errorcode.None {
			if answer.ErrorCode == errorcode.None && answer.Leader == answer.MemberId {
				h.metrics.Rebalanced()
			}
			return withProtocol(req.Version, answer), nil
		}
	}
	resp := generated.DefaultJoinGroupResponse()
	resp.MemberId, resp.ErrorCode = body.MemberId, code
	return withProtocol(req.Version, &resp), nil
}

// withProtocol says that there is no protocol as the version does.
func withProtocol(version int16, resp *generated.JoinGroupResponse) *generated.JoinGroupResponse {
	resp.ProtocolName.Valid = version < nullProtocolSince || resp.ProtocolName.S != ""
	return resp
}
