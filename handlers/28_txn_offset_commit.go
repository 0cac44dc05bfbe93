package handlers

import (
	"context"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/transactions"
)

// TxnOffsetCommit, key 28, versions 0 to 6: offsets of a group that hold if, and
// as soon as, a transaction is committed.
//
//   - Topics and partitions are looked at as OffsetCommit does.
//   - The transaction must have the group: up to version 4 AddOffsetsToTxn has added
//     it, from 5 on this request does (KIP-890). Otherwise it is 48, from version 4
//     on 120.
//   - Whether the member may commit, the group's coordinator decides (KIP-447).
//
// Version history:
//
//	1  throttled clients wait on their side
//	2  leader epoch (KIP-320)
//	3  flexible, group metadata (KIP-447)
//	4  120 may be answered (KIP-890)
//	5  without AddOffsetsToTxn (KIP-890)
//	6  topics by id
var _ = register(generated.KeyTxnOffsetCommit, 0, 6, (*Handlers).txnOffsetCommit)

const (
	// txnCommitAddsSince is the first version that adds the group, txnCommitIDs the
	// first in which topics are named by id, and txnCommitAbortable the first that
	// knows 120.
	txnCommitAddsSince = 5
	txnCommitIDs       = 6
	txnCommitAbortable = 4
)

func (h *Handlers) txnOffsetCommit(ctx context.Context, req *Request, body *generated.TxnOffsetCommitRequest) (generated.Message, error) {
	known, rows := h.splitCommit(ctx, req.Version >= txnCommitIDs, commitTopics(body.Topics))
	if len(known) == 0 {
		return txnCommitResponse(rows), nil
	}
	code := errorcode.InvalidGroupID
	if body.GroupId != "" {
		code = h.joinGroupToTransaction(ctx, req, body)
	}
	if code == errorcode.None {
		request := *body
		request.Topics = txnCommitTopics(known)
		var answer *generated.TxnOffsetCommitResponse
		answer, code = askGroup[*generated.TxnOffsetCommitResponse](ctx, h, req, body.GroupId, &request)
		if code == errorcode.None {
			addTxnRows(rows, answer)
			return txnCommitResponse(rows), nil
		}
	}
	for i := range known {
		rows.refuse(&known[i], code)
	}
	return txnCommitResponse(rows), nil
}

// joinGroupToTransaction makes sure that the transaction has the group's
// partition.
func (h *Handlers) joinGroupToTransaction(ctx context.Context, req *Request, body *generated.TxnOffsetCommitRequest) int16 {
	if code := h.openGroups(ctx); code != errorcode.None {
		return code
	}
	partition, ok := h.groups.PartitionFor(body.GroupId)
	if !ok {
		return errorcode.CoordinatorLoadInProgress
	}
	at := transactions.TopicPartition{Topic: transactions.OffsetsTopic, Partition: partition}
	j := joining{id: body.TransactionalId, producer: body.ProducerId, epoch: body.ProducerEpoch}
	verify := req.Version < txnCommitAddsSince
	code := h.join(ctx, req, j, verify, []transactions.TopicPartition{at})[at]
	switch {
	case code == errorcode.ConcurrentTransactions && verify:
		// On which clients of that time ask again.
		return errorcode.CoordinatorLoadInProgress
	case code == errorcode.TransactionAbortable && req.Version < txnCommitAbortable:
		return errorcode.InvalidTxnState
	case code == errorcode.ProducerFenced:
		return errorcode.InvalidProducerEpoch
	}
	return code
}

// commitTopics are the topics of a request as OffsetCommit has them.
func commitTopics(topics []generated.TxnOffsetCommitRequestTopic) []generated.OffsetCommitRequestTopic {
	out := make([]generated.OffsetCommitRequestTopic, len(topics))
	for i := range topics {
		out[i] = generated.OffsetCommitRequestTopic{Name: topics[i].Name, TopicId: topics[i].TopicId}
		for _, p := range topics[i].Partitions {
			out[i].Partitions = append(out[i].Partitions, generated.OffsetCommitRequestPartition{
				PartitionIndex: p.PartitionIndex, CommittedOffset: p.CommittedOffset,
				CommittedLeaderEpoch: p.CommittedLeaderEpoch, CommittedMetadata: p.CommittedMetadata,
			})
		}
	}
	return out
}

// txnCommitTopics is commitTopics the other way round.
func txnCommitTopics(topics []generated.OffsetCommitRequestTopic) []generated.TxnOffsetCommitRequestTopic {
	out := make([]generated.TxnOffsetCommitRequestTopic, len(topics))
	for i := range topics {
		out[i] = generated.TxnOffsetCommitRequestTopic{Name: topics[i].Name, TopicId: topics[i].TopicId}
		for _, p := range topics[i].Partitions {
			out[i].Partitions = append(out[i].Partitions, generated.TxnOffsetCommitRequestPartition{
				PartitionIndex: p.PartitionIndex, CommittedOffset: p.CommittedOffset,
				CommittedLeaderEpoch: p.CommittedLeaderEpoch, CommittedMetadata: p.CommittedMetadata,
			})
		}
	}
	return out
}

// addTxnRows adds the rows of the coordinator's answer.
func addTxnRows(rows *commitRows, answer *generated.TxnOffsetCommitResponse) {
	for i := range answer.Topics {
		topic := generated.OffsetCommitResponseTopic{Name: answer.Topics[i].Name, TopicId: answer.Topics[i].TopicId}
		for _, p := range answer.Topics[i].Partitions {
			topic.Partitions = append(topic.Partitions, generated.OffsetCommitResponsePartition{PartitionIndex: p.PartitionIndex, ErrorCode: p.ErrorCode})
		}
		rows.add(&topic)
	}
}

func txnCommitResponse(rows *commitRows) *generated.TxnOffsetCommitResponse {
	resp := generated.DefaultTxnOffsetCommitResponse()
	for i := range rows.topics {
		topic := generated.TxnOffsetCommitResponseTopic{Name: rows.topics[i].Name, TopicId: rows.topics[i].TopicId}
		for _, p := range rows.topics[i].Partitions {
			topic.Partitions = append(topic.Partitions, generated.TxnOffsetCommitResponsePartition{PartitionIndex: p.PartitionIndex, ErrorCode: p.ErrorCode})
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return &resp
}
