package handlers

import (
	"context"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
)

// EndTxn, key 26, versions 0 to 5: commits or aborts a transaction.
//
//   - The answer comes when the decision is written: from then on it holds, whatever
//     happens. The markers in the partitions follow, and until they are there the
//     producer's next transaction is told 51.
//   - Ending what has ended in the same way is no error; in the other way it is 48.
//   - From version 5 on the producer gets the epoch, and with used-up epochs the id,
//     for its next transaction (KIP-890), and may abort what it has not begun.
//   - A producer whose epoch is over gets 90, before version 2 47; one that is not
//     the transactional id's 49.
//
// Version history:
//
//	1  throttled clients wait on their side
//	2  90 instead of 47 (KIP-588)
//	3  flexible
//	4  120 may be answered (KIP-890)
//	5  producer id and epoch in the answer (KIP-890)
var _ = register(generated.KeyEndTxn, 0, 5, (*Handlers).endTxn)

func (h *Handlers) endTxn(ctx context.Context, req *Request, body *generated.EndTxnRequest) (generated.Message, error) {
	resp := generated.DefaultEndTxnResponse()
	if err := h.transactions.ids.ready(ctx); err != nil {
		resp.ErrorCode = bridge.ErrorCodeIn(bridge.ScopeCoordinator, err)
		return &resp, nil
	}
	answer, code := askTransaction[*generated.EndTxnResponse](ctx, h, req, body.TransactionalId, body)
	if code != errorcode.None {
		resp.ErrorCode = code
		return &resp, nil
	}
	return answer, nil
}
