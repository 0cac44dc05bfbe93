package handlers

import (
	"context"
	"slices"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/wire"
)

// OffsetDelete, key 47, version 0: a group forgets where it was in some
// partitions (KIP-496).
//
//   - Topics and partitions that do not exist get 3, in rows before the others'.
//   - An error of the group stands alone, without rows: 24 for an empty group id,
//     69 for one that does not exist, 68 for one with members that are no
//     consumers.
//   - A topic that members consume gets 86.
var _ = register(generated.KeyOffsetDelete, 0, 0, (*Handlers).offsetDelete)

func (h *Handlers) offsetDelete(ctx context.Context, req *Request, body *generated.OffsetDeleteRequest) (generated.Message, error) {
	known, refused := h.splitOffsetDelete(ctx, body.Topics)
	code := errorcode.InvalidGroupID
	if body.GroupId != "" {
		request := *body
		request.Topics = known
		var answer *generated.OffsetDeleteResponse
		if answer, code = askGroup[*generated.OffsetDeleteResponse](ctx, h, req, body.GroupId, &request); code == errorcode.None {
			if answer.ErrorCode == errorcode.None && len(refused) > 0 {
				answer.Topics = joinedDeletes(refused, answer.Topics)
			}
			return answer, nil
		}
	}
	resp := generated.DefaultOffsetDeleteResponse()
	resp.ErrorCode = code
	return &resp, nil
}

// splitOffsetDelete returns the topics and partitions that exist and the answer's
// rows for the others.
func (h *Handlers) splitOffsetDelete(ctx context.Context, topics []generated.OffsetDeleteRequestTopic) (known []generated.OffsetDeleteRequestTopic, refused []generated.OffsetDeleteResponseTopic) {
	for i := range topics {
		asked := topics[i]
		t, err := h.lookUpTopic(ctx, asked.Name, wire.UUID{}, false)
		asked.Partitions = nil
		row := generated.OffsetDeleteResponseTopic{Name: asked.Name}
		for _, p := range topics[i].Partitions {
			if err == nil && hasPartition(t, p.PartitionIndex) {
				asked.Partitions = append(asked.Partitions, p)
				continue
			}
			code := errorcode.UnknownTopicOrPartition
			if err != nil {
				code = offsetTopicCode(err, false)
			}
			row.Partitions = append(row.Partitions, generated.OffsetDeleteResponsePartition{PartitionIndex: p.PartitionIndex, ErrorCode: code})
		}
		if len(asked.Partitions) > 0 {
			known = append(known, asked)
		}
		if len(row.Partitions) > 0 {
			refused = append(refused, row)
		}
	}
	return known, refused
}

// joinedDeletes are the rows of two lists, in one place for each topic, as in
// Kafka.
func joinedDeletes(first, second []generated.OffsetDeleteResponseTopic) []generated.OffsetDeleteResponseTopic {
	var joined []generated.OffsetDeleteResponseTopic
	at := make(map[string]int, len(first)+len(second))
	for _, t := range slices.Concat(first, second) {
		if i, ok := at[t.Name]; ok {
			joined[i].Partitions = append(joined[i].Partitions, t.Partitions...)
			continue
		}
		at[t.Name] = len(joined)
		joined = append(joined, t)
	}
	return joined
}
