package handlers

import (
	"context"
	"errors"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/wire"
)

// OffsetCommit, key 8, versions 2 to 10: how far a group has come.
//
//   - The answer is given when Iggy has the offsets. All partitions of a request
//     are one append.
//   - Topics and partitions that do not exist get 3, an unknown topic id 100, and
//     do not keep the others from being committed. Their rows stand before the
//     others', as Kafka's do, and only then a topic that the request has twice has
//     one place in the answer.
//   - Any offset may be committed, and for an empty group id, too.
//   - Whether the member may commit, the group's coordinator decides (package
//     groups); a retention time is taken as Kafka takes it.
//
// Version history:
//
//	2  retention time, until 4
//	3  throttle time; 4 throttled clients wait on their side
//	5  no retention time (KIP-211)
//	6  leader epoch (KIP-320)
//	7  static members (KIP-345)
//	8  flexible
//	9  members of consumer groups: 113 and 69 may be answered (KIP-848)
//	10 topics by id (KIP-848)
var _ = register(generated.KeyOffsetCommit, 2, 10, (*Handlers).offsetCommit)

// commitIDs is the first version in which topics are named by id.
const commitIDs = 10

func (h *Handlers) offsetCommit(ctx context.Context, req *Request, body *generated.OffsetCommitRequest) (generated.Message, error) {
	known, rows := h.splitCommit(ctx, req.Version >= commitIDs, body.Topics)
	if len(known) == 0 {
		return rows.response(), nil
	}
	request := *body
	request.Topics = known
	answer, code := askGroup[*generated.OffsetCommitResponse](ctx, h, req, body.GroupId, &request)
	if code == errorcode.UnknownServerError {
		// Kafka's answer to what does not fit into its log.
		code = errorcode.InvalidCommitOffsetSize
	}
	switch {
	case code == errorcode.None && len(rows.topics) == 0:
		return answer, nil
	case code == errorcode.None:
		for i := range answer.Topics {
			rows.add(&answer.Topics[i])
		}
		return rows.response(), nil
	}
	for i := range known {
		rows.refuse(&known[i], code)
	}
	return rows.response(), nil
}

// splitCommit returns the topics and partitions that exist, with names and ids,
// and the answer's rows for the others.
func (h *Handlers) splitCommit(ctx context.Context, byID bool, topics []generated.OffsetCommitRequestTopic) ([]generated.OffsetCommitRequestTopic, *commitRows) {
	rows := &commitRows{at: make(map[topicPlace]int, len(topics))}
	known := make([]generated.OffsetCommitRequestTopic, 0, len(topics))
	for i := range topics {
		asked := topics[i]
		t, err := h.lookUpTopic(ctx, asked.Name, asked.TopicId, byID)
		if err != nil {
			rows.refuse(&asked, offsetTopicCode(err, byID))
			continue
		}
		asked.Name, asked.TopicId = t.Name, t.ID
		absent := asked
		asked.Partitions, absent.Partitions = nil, nil
		for _, p := range topics[i].Partitions {
			if hasPartition(t, p.PartitionIndex) {
				asked.Partitions = append(asked.Partitions, p)
			} else {
				absent.Partitions = append(absent.Partitions, p)
			}
		}
		if len(absent.Partitions) > 0 {
			rows.refuse(&absent, errorcode.UnknownTopicOrPartition)
		}
		if len(asked.Partitions) > 0 {
			known = append(known, asked)
		}
	}
	return known, rows
}

// offsetTopicCode is the code for a topic that offsets cannot be looked at for.
// While Iggy is away it is one that clients know from coordinators.
func offsetTopicCode(err error, byID bool) int16 {
	if byID && errors.Is(err, bridge.ErrTopicNotFound) {
		return errorcode.UnknownTopicID
	}
	return bridge.ErrorCodeIn(bridge.ScopeCoordinator, err)
}

// topicPlace is which topic a row is of.
type topicPlace struct {
	name string
	id   wire.UUID
}

// commitRows are the rows of an answer.
type commitRows struct {
	topics []generated.OffsetCommitResponseTopic
	at     map[topicPlace]int
}

// add adds a topic. One that is there gets more partitions, as in Kafka.
func (r *commitRows) add(t *generated.OffsetCommitResponseTopic) {
	place := topicPlace{t.Name, t.TopicId}
	if i, ok := r.at[place]; ok {
		r.topics[i].Partitions = append(r.topics[i].Partitions, t.Partitions...)
		return
	}
	r.at[place] = len(r.topics)
	r.topics = append(r.topics, *t)
}

// refuse adds a topic of the request, all of whose partitions get a code.
func (r *commitRows) refuse(t *generated.OffsetCommitRequestTopic, code int16) {
	row := generated.OffsetCommitResponseTopic{Name: t.Name, TopicId: t.TopicId}
	row.Partitions = make([]generated.OffsetCommitResponsePartition, len(t.Partitions))
	for i := range t.Partitions {
		row.Partitions[i].PartitionIndex, row.Partitions[i].ErrorCode = t.Partitions[i].PartitionIndex, code
	}
	r.add(&row)
}

func (r *commitRows) response() *generated.OffsetCommitResponse {
	resp := generated.DefaultOffsetCommitResponse()
	resp.Topics = r.topics
	return &resp
}
