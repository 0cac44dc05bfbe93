package handlers

import (
	"context"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
)

// SyncGroup, key 14, versions 0 to 5. The leader of a classic group's generation
// gives everybody's assignment, and every member takes its own.
//
//   - The request is parked until the leader's has come.
//   - From version 5 protocol type and name must be there, else 23.
//   - An empty group id gets 24.
//   - While the coordinator is loading a member gets 27 and joins again. Kafka
//     4.4.0 says 14, which Java's clients take for fatal here; brokers up to 3.x said
//     27 for that reason.
//
// Version history:
//
//	1  throttle time; 2 throttled clients wait on their side
//	3  static members (KIP-345)
//	4  flexible
//	5  protocol type and name (KIP-559)
var _ = register(generated.KeySyncGroup, 0, 5, (*Handlers).syncGroup)

// syncProtocolSince is the first version in which the protocol must be named.
const syncProtocolSince = 5

func (h *Handlers) syncGroup(ctx context.Context, req *Request, body *generated.SyncGroupRequest) (generated.Message, error) {
	var code int16
	switch {
	case req.Version >= syncProtocolSince && (!body.ProtocolType.Valid || !body.ProtocolName.Valid):
		code = errorcode.InconsistentGroupProtocol
	case body.GroupId == "":
		code = errorcode.InvalidGroupID
	default:
		var answer *generated.SyncGroupResponse
		if answer, code = awaitGroup[*generated.SyncGroupResponse](ctx, h, req, body.GroupId, body); code == errorcode.None {
			return answer, nil
		}
		if code == errorcode.CoordinatorLoadInProgress {
			code = errorcode.RebalanceInProgress
		}
	}
	resp := generated.DefaultSyncGroupResponse()
	resp.ErrorCode = code
	return &resp, nil
}
