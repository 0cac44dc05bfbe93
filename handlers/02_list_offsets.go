package handlers

import (
	"context"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/wire"
)

// ListOffsets, key 2, versions 1 to 11.
//
//   - A timestamp from 0 on asks for the first record, in offset order, whose
//     timestamp is that or later, exactly and also when they are out of order: its
//     offset and timestamp, or -1 and -1 without an error when there is none.
//   - Negative ones ask for: -1 the end, -2 the start, -3 the record with the
//     greatest timestamp, the first of several (KIP-734), -4 the start of what is
//     on local disks (KIP-405), -5 the end of what was moved to remote storage, -6
//     what is still to be moved. Nothing is ever moved, so -4 is -2, and -5 and
//     -6 get -1 and no error, as from a Kafka without tiered storage.
//   - Any other negative one, and these in versions before they existed, get 35.
//   - The timestamp told for -1 and -2 is -1.
//   - A reader of committed records is told the last stable offset for -1, which is
//     the high watermark as long as there are no transactions. An unknown
//     isolation level gets 42.
//   - A partition that occurs twice gets 42 in each of its rows.
//   - What the client believes to be the leader epoch is checked, see
//     checkLeaderEpoch; the epoch told is 0 where an offset is.
//   - Replicas and debugging clients (-2) are answered like everybody.
//   - The order in which Kafka finds faults: twice, the timestamp, the partition,
//     the epoch.
//   - Partitions are looked up several at a time.
//
// Version history:
//
//	2  isolation level
//	3  throttled clients wait on their side
//	4  leader epochs (KIP-320)
//	6  flexible
//	7  -3 (KIP-734)
//	8  -4 (KIP-405)
//	9  -5 (KIP-1005)
//	10 timeout for what lies in remote storage (KIP-1075); nothing does
//	11 -6 (KIP-1023)
var _ = register(generated.KeyListOffsets, 1, 11, (*Handlers).listOffsets)

// The timestamps that stand for something else.
const (
	latestTimestamp          = -1
	earliestTimestamp        = -2
	maxTimestamp             = -3
	earliestLocalTimestamp   = -4
	latestTieredTimestamp    = -5
	earliestPendingTimestamp = -6
)

// timestampSince is the first version in which a timestamp may be asked for.
func timestampSince(timestamp int64) (version int16, ok bool) {
	switch {
	case timestamp >= 0, timestamp == latestTimestamp, timestamp == earliestTimestamp:
		return 0, true
	case timestamp == maxTimestamp:
		return 7, true
	case timestamp == earliestLocalTimestamp:
		return 8, true
	case timestamp == latestTieredTimestamp:
		return 9, true
	case timestamp == earliestPendingTimestamp:
		return 11, true
	}
	return 0, false
}

// partitionKey tells partitions of a request apart.
type partitionKey struct {
	topic     string
	partition int32
}

// offsetLookup is one partition of a ListOffsets request.
type offsetLookup struct {
	topic     *bridge.Topic
	timestamp int64
	committed bool // what lies behind the last stable offset does not count
	epochs    bool // the answer can carry leader epochs
	row       *generated.ListOffsetsResponseListOffsetsPartitionResponse
}

func (h *Handlers) listOffsets(ctx context.Context, req *Request, body *generated.ListOffsetsRequest) (generated.Message, error) {
	resp := generated.DefaultListOffsetsResponse()
	resp.Topics = make([]generated.ListOffsetsResponseListOffsetsTopicResponse, len(body.Topics))
	twice := askedTwice(body)
	var lookups []offsetLookup
	for i := range body.Topics {
		asked, told := &body.Topics[i], &resp.Topics[i]
		*told = generated.DefaultListOffsetsResponseListOffsetsTopicResponse()
		told.Name = asked.Name
		told.Partitions = make([]generated.ListOffsetsResponseListOffsetsPartitionResponse, len(asked.Partitions))
		t, topicCode := h.findTopic(ctx, asked.Name, wire.UUID{}, false)
		for j := range asked.Partitions {
			p, row := &asked.Partitions[j], &told.Partitions[j]
			*row = generated.DefaultListOffsetsResponseListOffsetsPartitionResponse()
			row.PartitionIndex = p.PartitionIndex
			since, known := timestampSince(p.Timestamp)
			switch {
			case !isIsolationLevel(body.IsolationLevel) || twice[partitionKey{asked.Name, p.PartitionIndex}]:
				row.ErrorCode = errorcode.InvalidRequest
			case !known || req.Version < since:
				row.ErrorCode = errorcode.UnsupportedVersion
			case topicCode != errorcode.None:
				row.ErrorCode = topicCode
			case !hasPartition(t, p.PartitionIndex):
				row.ErrorCode = errorcode.UnknownTopicOrPartition
			default:
				row.ErrorCode = checkLeaderEpoch(p.CurrentLeaderEpoch)
			}
			if row.ErrorCode == errorcode.None {
				lookups = append(lookups, offsetLookup{
					topic: t, timestamp: p.Timestamp, row: row, epochs: req.Version >= 4,
					committed: body.IsolationLevel != readUncommitted,
				})
			}
		}
	}
	inParallel(len(lookups), func(i int) { lookups[i].look(ctx, h.bridge) })
	return &resp, nil
}

// askedTwice are the partitions that occur more than once; nil when none does.
func askedTwice(body *generated.ListOffsetsRequest) map[partitionKey]bool {
	n := 0
	for i := range body.Topics {
		n += len(body.Topics[i].Partitions)
	}
	if n < 2 {
		return nil
	}
	var twice map[partitionKey]bool
	seen := make(map[partitionKey]struct{}, n)
	for i := range body.Topics {
		for j := range body.Topics[i].Partitions {
			key := partitionKey{body.Topics[i].Name, body.Topics[i].Partitions[j].PartitionIndex}
			if _, ok := seen[key]; ok {
				if twice == nil {
					twice = make(map[partitionKey]bool)
				}
				twice[key] = true
			}
			seen[key] = struct{}{}
		}
	}
	return twice
}

// look fills in the row. Whatever is told as an offset belongs to the one epoch
// there is.
func (l *offsetLookup) look(ctx context.Context, b *bridge.Bridge) {
	var (
		offset, timestamp int64 = notKnown, notKnown
		err               error
	)
	switch p := l.row.PartitionIndex; l.timestamp {
	case latestTimestamp:
		if l.committed {
			offset, err = b.LastStableOffset(ctx, l.topic, p)
		} else {
			offset, err = b.HighWatermark(ctx, l.topic, p)
		}
	case earliestTimestamp, earliestLocalTimestamp:
		offset, err = b.LogStartOffset(ctx, l.topic, p)
	case maxTimestamp:
		offset, timestamp, err = b.MaxTimestamp(ctx, l.topic, p)
	case latestTieredTimestamp, earliestPendingTimestamp:
	default:
		offset, timestamp, err = b.OffsetForTimestamp(ctx, l.topic, p, l.timestamp)
	}
	if err == nil && l.committed && timestamp != notKnown {
		var stable int64
		if stable, err = b.LastStableOffset(ctx, l.topic, l.row.PartitionIndex); offset >= stable {
			offset, timestamp = notKnown, notKnown
		}
	}
	if err != nil {
		l.row.ErrorCode = partitionCode(err, false)
		return
	}
	l.row.Offset, l.row.Timestamp = offset, timestamp
	if offset != notKnown && l.epochs {
		l.row.LeaderEpoch = leaderEpoch
	}
}
