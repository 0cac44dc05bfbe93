package handlers

import (
	"context"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/wire"
)

// DescribeProducers, key 61, version 0: the producers with an id that partitions
// remember, and where their open transactions begin (KIP-664).
//
//   - A partition that does not exist gets 3, an impossible name 17.
var _ = register(generated.KeyDescribeProducers, 0, 0, (*Handlers).describeProducers)

func (h *Handlers) describeProducers(ctx context.Context, _ *Request, body *generated.DescribeProducersRequest) (generated.Message, error) {
	resp := generated.DefaultDescribeProducersResponse()
	resp.Topics = make([]generated.DescribeProducersResponseTopicResponse, len(body.Topics))
	for i := range body.Topics {
		asked, told := &body.Topics[i], &resp.Topics[i]
		told.Name = asked.Name
		told.Partitions = make([]generated.DescribeProducersResponsePartitionResponse, len(asked.PartitionIndexes))
		inParallel(len(told.Partitions), func(j int) {
			told.Partitions[j] = h.describePartition(ctx, asked.Name, asked.PartitionIndexes[j])
		})
	}
	return &resp, nil
}

func (h *Handlers) describePartition(ctx context.Context, topic string, partition int32) generated.DescribeProducersResponsePartitionResponse {
	row := generated.DefaultDescribeProducersResponsePartitionResponse()
	row.PartitionIndex = partition
	t, code := h.findTopic(ctx, topic, wire.UUID{}, false)
	if code == errorcode.None && !hasPartition(t, partition) {
		code = errorcode.UnknownTopicOrPartition
	}
	if row.ErrorCode = code; code != errorcode.None {
		return row
	}
	known, err := h.bridge.Producers(ctx, t, partition)
	if err != nil {
		row.ErrorCode = partitionCode(err, false)
		row.ErrorMessage = wire.String(err.Error())
		return row
	}
	for _, p := range known {
		row.ActiveProducers = append(row.ActiveProducers, generated.DescribeProducersResponseProducerState{
			ProducerId: p.ID, ProducerEpoch: int32(p.Epoch), LastSequence: p.LastSequence, LastTimestamp: p.LastTimestamp,
			CoordinatorEpoch: p.CoordinatorEpoch, CurrentTxnStartOffset: p.FirstOffset,
		})
	}
	return row
}
