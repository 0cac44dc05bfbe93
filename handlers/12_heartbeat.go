package handlers

import (
	"context"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
)

// Heartbeat, key 12, versions 0 to 4. A member of a classic group shows that it is
// there, and learns when to join anew.
//
//   - An empty group id gets 24.
//   - While the coordinator loads, every heartbeat is answered without an error,
//     as in Kafka: nothing is known that would say otherwise, sessions begin when
//     it has loaded, and the member goes on.
//
// Version history:
//
//	1  throttle time; 2 throttled clients wait on their side
//	3  static members (KIP-345)
//	4  flexible
var _ = register(generated.KeyHeartbeat, 0, 4, (*Handlers).heartbeat)

func (h *Handlers) heartbeat(ctx context.Context, req *Request, body *generated.HeartbeatRequest) (generated.Message, error) {
	code := errorcode.InvalidGroupID
	if body.GroupId != "" {
		var answer *generated.HeartbeatResponse
		if answer, code = askGroup[*generated.HeartbeatResponse](ctx, h, req, body.GroupId, body); code == errorcode.None {
			return answer, nil
		}
	}
	resp := generated.DefaultHeartbeatResponse()
	if code != errorcode.CoordinatorLoadInProgress {
		resp.ErrorCode = code
	}
	return &resp, nil
}
