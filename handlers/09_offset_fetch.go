package handlers

import (
	"context"
	"errors"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/wire"
)

// OffsetFetch, key 9, versions 1 to 10: where a group goes on.
//
//   - A partition without a committed offset gets -1 and no error; this is never
//     the answer of a coordinator that has not loaded, or failed to.
//   - A null list of topics means all that the group has offsets for.
//   - Several groups are asked at the same time, and answered in the request's
//     order.
//   - Partitions need not exist, but a topic id must: else its rows get 100, behind
//     the others'. Topics that were deleted since are not listed by id. Where Iggy
//     cannot be asked for a topic, the whole group is answered with an error.
//   - Stable offsets (KIP-447) are what is always answered: an answer waits until
//     what was committed before is written.
//
// Version history:
//
//	2  null for all topics, an error code for the whole answer
//	3  throttle time; 4 throttled clients wait on their side
//	5  leader epoch (KIP-320)
//	6  flexible
//	7  clients may require stable offsets (KIP-447)
//	8  several groups (KIP-709)
//	9  member id and epoch, with which 25 and 113 may be answered (KIP-848)
//	10 topics by id (KIP-848)
var _ = register(generated.KeyOffsetFetch, 1, 10, (*Handlers).offsetFetch)

const (
	// fetchErrorSince is the first version with an error code beside the rows,
	// fetchGroupsSince that with several groups, fetchOffsetIDs that with topics by
	// id.
	fetchErrorSince  = 2
	fetchGroupsSince = 8
	fetchOffsetIDs   = 10
)

func (h *Handlers) offsetFetch(ctx context.Context, req *Request, body *generated.OffsetFetchRequest) (generated.Message, error) {
	if req.Version < fetchGroupsSince {
		answer, code := askGroup[*generated.OffsetFetchResponse](ctx, h, req, body.GroupId, body)
		if code == errorcode.None {
			return answer, nil
		}
		return failedFetch(req.Version, body, fetchCode(code)), nil
	}
	resp := generated.DefaultOffsetFetchResponse()
	resp.Groups = make([]generated.OffsetFetchResponseGroup, len(body.Groups))
	inParallel(len(body.Groups), func(i int) {
		resp.Groups[i] = h.fetchGroup(ctx, req, body, i)
	})
	return &resp, nil
}

// fetchGroup is the answer for one of the groups of a request.
func (h *Handlers) fetchGroup(ctx context.Context, req *Request, body *generated.OffsetFetchRequest, i int) generated.OffsetFetchResponseGroup {
	group := body.Groups[i]
	var unknown []generated.OffsetFetchResponseTopics
	var err error
	byID := req.Version >= fetchOffsetIDs
	if byID && group.Topics != nil {
		if group.Topics, unknown, err = h.namedTopics(ctx, group.Topics); err != nil {
			return failedGroup(group.GroupId, offsetTopicCode(err, true))
		}
	}
	one := *body
	one.Groups = []generated.OffsetFetchRequestGroup{group}
	answer, code := askGroup[*generated.OffsetFetchResponse](ctx, h, req, group.GroupId, &one)
	if code != errorcode.None {
		return failedGroup(group.GroupId, code)
	}
	row := answer.Groups[0]
	if row.ErrorCode != errorcode.None {
		return row
	}
	if byID {
		if row.Topics, err = h.topicsWithIDs(ctx, row.Topics); err != nil {
			return failedGroup(group.GroupId, offsetTopicCode(err, false))
		}
	}
	row.Topics = append(row.Topics, unknown...)
	return row
}

// failedGroup is the answer for a group that could not be asked.
func failedGroup(id string, code int16) generated.OffsetFetchResponseGroup {
	row := generated.DefaultOffsetFetchResponseGroup()
	row.GroupId, row.ErrorCode = id, fetchCode(code)
	return row
}

// fetchCode is what a fetch is answered where the coordinator could not answer.
// Java consumers before 3.9 give up on 15 here, but look for the coordinator
// again on 16; Kafka does the same.
func fetchCode(code int16) int16 {
	if code == errorcode.CoordinatorNotAvailable {
		return errorcode.NotCoordinator
	}
	return code
}

// namedTopics gives the topics that are asked for by id their names, and answers
// those that do not exist.
func (h *Handlers) namedTopics(ctx context.Context, topics []generated.OffsetFetchRequestTopics) (named []generated.OffsetFetchRequestTopics, unknown []generated.OffsetFetchResponseTopics, err error) {
	named = make([]generated.OffsetFetchRequestTopics, 0, len(topics)) // not nil, which would mean all
	for i := range topics {
		asked := topics[i]
		t, err := h.lookUpTopic(ctx, "", asked.TopicId, true)
		switch {
		case err == nil:
			asked.Name = t.Name
			named = append(named, asked)
		case isNoTopic(err):
			row := generated.OffsetFetchResponseTopics{TopicId: asked.TopicId}
			for _, p := range asked.PartitionIndexes {
				row.Partitions = append(row.Partitions, missingOffset(p, errorcode.UnknownTopicID))
			}
			unknown = append(unknown, row)
		default:
			return nil, nil, err
		}
	}
	return named, unknown, nil
}

// topicsWithIDs gives an answer's topics their ids, and leaves out those that do
// not exist any more.
func (h *Handlers) topicsWithIDs(ctx context.Context, topics []generated.OffsetFetchResponseTopics) ([]generated.OffsetFetchResponseTopics, error) {
	var list []generated.OffsetFetchResponseTopics
	for _, row := range topics {
		if row.TopicId.IsZero() {
			t, err := h.lookUpTopic(ctx, row.Name, wire.UUID{}, false)
			switch {
			case isNoTopic(err):
				continue
			case err != nil:
				return nil, err
			}
			row.TopicId = t.ID
		}
		list = append(list, row)
	}
	return list, nil
}

// isNoTopic reports whether an error says that there is no such topic, rather
// than that this could not be found out.
func isNoTopic(err error) bool {
	return errors.Is(err, bridge.ErrTopicNotFound) || errors.Is(err, bridge.ErrTopicIDNotFound)
}

// missingOffset is the row of a partition whose offset could not be looked for.
func missingOffset(partition int32, code int16) generated.OffsetFetchResponsePartitions {
	row := generated.DefaultOffsetFetchResponsePartitions()
	row.PartitionIndex, row.ErrorCode = partition, code
	row.CommittedOffset, row.CommittedLeaderEpoch = notKnown, notKnown
	row.Metadata = wire.String("")
	return row
}

// failedFetch is the answer of the versions with one group: the error stands in
// each row where there is no other place for it.
func failedFetch(version int16, body *generated.OffsetFetchRequest, code int16) *generated.OffsetFetchResponse {
	resp := generated.DefaultOffsetFetchResponse()
	if version >= fetchErrorSince {
		resp.ErrorCode = code
		return &resp
	}
	for i := range body.Topics {
		t := generated.OffsetFetchResponseTopic{Name: body.Topics[i].Name}
		for _, p := range body.Topics[i].PartitionIndexes {
			row := generated.DefaultOffsetFetchResponsePartition()
			row.PartitionIndex, row.ErrorCode = p, code
			row.CommittedOffset, row.CommittedLeaderEpoch = notKnown, notKnown
			row.Metadata = wire.String("")
			t.Partitions = append(t.Partitions, row)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return &resp
}
