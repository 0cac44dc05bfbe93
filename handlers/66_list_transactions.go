package handlers

import (
	"context"

	"kafka-iggy-bridge/generated"
)

// ListTransactions, key 66, versions 0 to 2: the transactional ids that the
// coordinator knows (KIP-664).
//
//   - Filters go together; states that there are none of are named in the answer.
//   - While any part of the coordinator is loading the answer is 14.
//
// Version history:
//
//	1  filter by how long a transaction is open (KIP-994)
//	2  filter by a regular expression that the whole id matches, RE2, else 128
//	   (KIP-1152)
var _ = register(generated.KeyListTransactions, 0, 2, (*Handlers).listTransactions)

func (h *Handlers) listTransactions(ctx context.Context, req *Request, body *generated.ListTransactionsRequest) (generated.Message, error) {
	resp := generated.DefaultListTransactionsResponse()
	answers, err := h.transactions.CallAll(ctx, coordinatorCall(req, body))
	if err != nil {
		resp.ErrorCode = coordinatorCode(err)
		return &resp, nil
	}
	for i, m := range answers {
		answer := m.(*generated.ListTransactionsResponse)
		if i == 0 {
			resp.ErrorCode, resp.UnknownStateFilters = answer.ErrorCode, answer.UnknownStateFilters
		}
		resp.TransactionStates = append(resp.TransactionStates, answer.TransactionStates...)
	}
	return &resp, nil
}
