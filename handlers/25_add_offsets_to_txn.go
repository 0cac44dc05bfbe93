package handlers

import (
	"context"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
)

// AddOffsetsToTxn, key 25, versions 0 to 4: a group whose offsets a transaction is
// going to commit. It adds the partition of __consumer_offsets that has the group.
// The codes are those of AddPartitionsToTxn.
//
// Version history:
//
//	1  throttled clients wait on their side
//	2  90 instead of 47 (KIP-588)
//	3  flexible
//	4  120 may be answered (KIP-890)
var _ = register(generated.KeyAddOffsetsToTxn, 0, 4, (*Handlers).addOffsetsToTxn)

func (h *Handlers) addOffsetsToTxn(ctx context.Context, req *Request, body *generated.AddOffsetsToTxnRequest) (generated.Message, error) {
	resp := generated.DefaultAddOffsetsToTxnResponse()
	if resp.ErrorCode = h.openGroups(ctx); resp.ErrorCode != errorcode.None {
		return &resp, nil
	}
	answer, code := askTransaction[*generated.AddOffsetsToTxnResponse](ctx, h, req, body.TransactionalId, body)
	if code != errorcode.None {
		resp.ErrorCode = code
		return &resp, nil
	}
	return answer, nil
}
