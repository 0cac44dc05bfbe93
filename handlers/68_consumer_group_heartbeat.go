package handlers

import (
	"context"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
)

// ConsumerGroupHeartbeat, key 68, versions 0 and 1: the whole conversation of a
// consumer group's member with its coordinator (KIP-848). Members join, say what
// they subscribe to and own, learn what they are assigned, and leave.
//
//   - What the answer is, the group's coordinator decides (package groups). It
//     never waits for other members.
//
// Version history:
//
//	1  subscription to a regular expression; the client makes the member id
//	   (KIP-1082)
var _ = register(generated.KeyConsumerGroupHeartbeat, 0, 1, (*Handlers).consumerGroupHeartbeat)

func (h *Handlers) consumerGroupHeartbeat(ctx context.Context, req *Request, body *generated.ConsumerGroupHeartbeatRequest) (generated.Message, error) {
	answer, code := askGroup[*generated.ConsumerGroupHeartbeatResponse](ctx, h, req, body.GroupId, body)
	if code == errorcode.None {
		return answer, nil
	}
	resp := generated.DefaultConsumerGroupHeartbeatResponse()
	resp.ErrorCode = code
	return &resp, nil
}
