package handlers

import (
	"context"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/transactions"
)

// AddPartitionsToTxn, key 24, versions 0 to 5: partitions that a transaction is
// going to write to.
//
//   - The first partitions begin the transaction. The answer comes when the
//     coordinator has written them down.
//   - When a partition does not exist, it gets 3 and the others of its transaction
//     55, and none is added. Internal topics are for brokers: 29 below version 4.
//   - A producer whose epoch is over gets 90, before version 2 47; one that is not
//     the transactional id's 49; 51 while the transaction before is being ended.
//   - From version 4 on, brokers send it for several producers at a time, and may
//     ask only whether partitions are part of a transaction: 120 for those that are
//     not.
//
// Version history:
//
//	1  throttled clients wait on their side
//	2  90 instead of 47 (KIP-588)
//	3  flexible
//	4  several transactions, verification (KIP-890)
//	5  the producer's epoch grows with each transaction (KIP-890)
var _ = register(generated.KeyAddPartitionsToTxn, 0, 5, (*Handlers).addPartitionsToTxn)

// addPartitionsListSince is the first version with a list of transactions.
const addPartitionsListSince = 4

func (h *Handlers) addPartitionsToTxn(ctx context.Context, req *Request, body *generated.AddPartitionsToTxnRequest) (generated.Message, error) {
	resp := generated.DefaultAddPartitionsToTxnResponse()
	if req.Version < addPartitionsListSince {
		resp.ResultsByTopicV3AndBelow = h.addPartitions(ctx, req, body.V3AndBelowTransactionalId, body.V3AndBelowTopics, body)
		return &resp, nil
	}
	for i := range body.Transactions {
		one := generated.DefaultAddPartitionsToTxnRequest()
		one.Transactions = body.Transactions[i : i+1]
		asked := &one.Transactions[0]
		resp.ResultsByTransaction = append(resp.ResultsByTransaction, generated.AddPartitionsToTxnResponseAddPartitionsToTxnResult{
			TransactionalId: asked.TransactionalId,
			TopicResults:    h.addPartitions(ctx, req, asked.TransactionalId, asked.Topics, &one),
		})
	}
	return &resp, nil
}

// addPartitions asks the coordinator of one transaction.
func (h *Handlers) addPartitions(ctx context.Context, req *Request, id string, topics []generated.AddPartitionsToTxnRequestAddPartitionsToTxnTopic, body *generated.AddPartitionsToTxnRequest) []generated.AddPartitionsToTxnResponseAddPartitionsToTxnTopicResult {
	if missing := h.missingPartitions(ctx, req.Version >= addPartitionsListSince, topics); missing != nil {
		return txnRows(topics, func(p transactions.TopicPartition) int16 {
			if code, ok := missing[p]; ok {
				return code
			}
			return errorcode.OperationNotAttempted
		})
	}
	answer, code := askTransaction[*generated.AddPartitionsToTxnResponse](ctx, h, req, id, body)
	switch {
	case code != errorcode.None:
		return txnRows(topics, func(transactions.TopicPartition) int16 { return code })
	case req.Version < addPartitionsListSince:
		return answer.ResultsByTopicV3AndBelow
	default:
		return answer.ResultsByTransaction[0].TopicResults
	}
}

// txnRows are the rows of an answer for the partitions of a request.
func txnRows(topics []generated.AddPartitionsToTxnRequestAddPartitionsToTxnTopic, code func(transactions.TopicPartition) int16) []generated.AddPartitionsToTxnResponseAddPartitionsToTxnTopicResult {
	rows := make([]generated.AddPartitionsToTxnResponseAddPartitionsToTxnTopicResult, len(topics))
	for i := range topics {
		rows[i].Name = topics[i].Name
		for _, p := range topics[i].Partitions {
			rows[i].ResultsByPartition = append(rows[i].ResultsByPartition, generated.AddPartitionsToTxnResponseAddPartitionsToTxnPartitionResult{
				PartitionIndex: p, PartitionErrorCode: code(transactions.TopicPartition{Topic: topics[i].Name, Partition: p}),
			})
		}
	}
	return rows
}
