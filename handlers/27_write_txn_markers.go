package handlers

import (
	"context"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/producers"
	"kafka-iggy-bridge/internal/transactions"
)

// WriteTxnMarkers, key 27, versions 1 and 2: ends transactions in partitions.
// Brokers send it to each other; here it is for administrators, who end what a
// coordinator has lost track of (kafka-transactions abort, KIP-664).
//
//   - A marker that is there already is not written again.
//   - An epoch that is over gets 47, the epoch of a former coordinator 52, a
//     partition that does not exist 3.
//
// Version history:
//
//	1  flexible
//	2  the producer's transaction version (KIP-1228): from 2 on, a marker has the
//	   epoch that follows the transaction's
var _ = register(generated.KeyWriteTxnMarkers, 1, 2, (*Handlers).writeTxnMarkers)

// bumpedEpochSince is the transaction version from which on a producer's epoch
// grows with each transaction (KIP-890).
const bumpedEpochSince = 2

func (h *Handlers) writeTxnMarkers(ctx context.Context, _ *Request, body *generated.WriteTxnMarkersRequest) (generated.Message, error) {
	resp := generated.DefaultWriteTxnMarkersResponse()
	resp.Markers = make([]generated.WriteTxnMarkersResponseWritableTxnMarkerResult, len(body.Markers))
	for i := range body.Markers {
		asked, told := &body.Markers[i], &resp.Markers[i]
		told.ProducerId = asked.ProducerId
		told.Topics = make([]generated.WriteTxnMarkersResponseWritableTxnMarkerTopicResult, len(asked.Topics))
		marker := producers.Marker{
			ProducerID: asked.ProducerId, Epoch: asked.ProducerEpoch,
			CoordinatorEpoch: asked.CoordinatorEpoch, Commit: asked.TransactionResult,
			Bumped: asked.TransactionVersion >= bumpedEpochSince,
		}
		for j := range asked.Topics {
			topic := &asked.Topics[j]
			told.Topics[j].Name = topic.Name
			rows := make([]generated.WriteTxnMarkersResponseWritableTxnMarkerPartitionResult, len(topic.PartitionIndexes))
			inParallel(len(rows), func(k int) {
				at := transactions.TopicPartition{Topic: topic.Name, Partition: topic.PartitionIndexes[k]}
				rows[k].PartitionIndex, rows[k].ErrorCode = at.Partition, h.markerCode(ctx, at, marker)
			})
			told.Topics[j].Partitions = rows
		}
	}
	return &resp, nil
}

// markerCode writes one marker and returns the code for how that went.
func (h *Handlers) markerCode(ctx context.Context, at transactions.TopicPartition, m producers.Marker) int16 {
	if m.ProducerID < 0 || m.Epoch < 0 {
		return errorcode.InvalidRequest
	}
	if at.Topic != offsetsTopic {
		t, code := h.findTopic(ctx, at.Topic, [16]byte{}, false)
		if code == errorcode.None && !hasPartition(t, at.Partition) {
			code = errorcode.UnknownTopicOrPartition
		}
		if code != errorcode.None {
			return code
		}
	}
	return partitionCode(writeMarker(ctx, h.bridge, h.groups, at, m), false)
}
