package handlers

import (
	"context"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
)

// DescribeTransactions, key 65, version 0: transactional ids with the state of
// their transactions (KIP-664).
//
//   - An id that is not known gets 105, an empty one 42.
//   - While the coordinator is loading its rows have 14.
var _ = register(generated.KeyDescribeTransactions, 0, 0, (*Handlers).describeTransactions)

func (h *Handlers) describeTransactions(ctx context.Context, req *Request, body *generated.DescribeTransactionsRequest) (generated.Message, error) {
	resp := generated.DefaultDescribeTransactionsResponse()
	resp.TransactionStates = make([]generated.DescribeTransactionsResponseTransactionState, len(body.TransactionalIds))
	for i, id := range body.TransactionalIds {
		one := generated.DefaultDescribeTransactionsRequest()
		one.TransactionalIds = body.TransactionalIds[i : i+1]
		answer, code := askTransaction[*generated.DescribeTransactionsResponse](ctx, h, req, id, &one)
		if code == errorcode.None {
			resp.TransactionStates[i] = answer.TransactionStates[0]
			continue
		}
		row := generated.DefaultDescribeTransactionsResponseTransactionState()
		row.TransactionalId, row.ErrorCode = id, code
		resp.TransactionStates[i] = row
	}
	return &resp, nil
}
