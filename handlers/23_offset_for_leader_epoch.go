package handlers

import (
	"context"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/wire"
)

// OffsetForLeaderEpoch, key 23, versions 2 to 4. Clients ask where an epoch
// ended to learn whether the log was cut behind what they have read (KIP-320).
//
//   - A partition has had one epoch only, 0, which goes on: it ends at the high
//     watermark.
//   - Epochs that have not begun, and -1, get no epoch and no offset, and no error.
//   - Below the first epoch Kafka answers with the epoch asked for and where the
//     first one began, which is the log's start.
//   - The current epoch that a client believes in is checked first: 74 below 0, 75
//     above, -1 when it does not say.
//   - Replicas may ask as well; what they get is the same.
//   - Rows stand as in the request, also when a partition is asked for twice.
//
// Version history:
//
//	3  replica id; consumers send -1
//	4  flexible
var _ = register(generated.KeyOffsetForLeaderEpoch, 2, 4, (*Handlers).offsetForLeaderEpoch)

// epochLookup is one partition of an OffsetForLeaderEpoch request.
type epochLookup struct {
	topic *bridge.Topic
	epoch int32
	row   *generated.OffsetForLeaderEpochResponseEpochEndOffset
}

func (h *Handlers) offsetForLeaderEpoch(ctx context.Context, req *Request, body *generated.OffsetForLeaderEpochRequest) (generated.Message, error) {
	resp := generated.DefaultOffsetForLeaderEpochResponse()
	resp.Topics = make([]generated.OffsetForLeaderEpochResponseOffsetForLeaderTopicResult, len(body.Topics))
	var lookups []epochLookup
	for i := range body.Topics {
		asked, told := &body.Topics[i], &resp.Topics[i]
		*told = generated.DefaultOffsetForLeaderEpochResponseOffsetForLeaderTopicResult()
		told.Topic = asked.Topic
		told.Partitions = make([]generated.OffsetForLeaderEpochResponseEpochEndOffset, len(asked.Partitions))
		t, code := h.findTopic(ctx, asked.Topic, wire.UUID{}, false)
		for j := range asked.Partitions {
			p, row := &asked.Partitions[j], &told.Partitions[j]
			*row = generated.DefaultOffsetForLeaderEpochResponseEpochEndOffset()
			row.Partition = p.Partition
			switch {
			case code != errorcode.None:
				row.ErrorCode = code
			case !hasPartition(t, p.Partition):
				row.ErrorCode = errorcode.UnknownTopicOrPartition
			default:
				row.ErrorCode = checkLeaderEpoch(p.CurrentLeaderEpoch)
			}
			if row.ErrorCode == errorcode.None && p.LeaderEpoch <= leaderEpoch && p.LeaderEpoch != notKnown {
				lookups = append(lookups, epochLookup{topic: t, epoch: p.LeaderEpoch, row: row})
			}
		}
	}
	inParallel(len(lookups), func(i int) { lookups[i].look(ctx, h.bridge) })
	return &resp, nil
}

// look fills in where an epoch ended that has begun, or what lies before the
// first.
func (l *epochLookup) look(ctx context.Context, b *bridge.Bridge) {
	bound := b.HighWatermark
	if l.epoch < leaderEpoch {
		bound = b.LogStartOffset
	}
	offset, err := bound(ctx, l.topic, l.row.Partition)
	if err != nil {
		l.row.ErrorCode = partitionCode(err, false)
		return
	}
	l.row.LeaderEpoch, l.row.EndOffset = l.epoch, offset
}
