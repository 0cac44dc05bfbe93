package handlers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/wire"
)

// DeleteTopics, key 20, versions 1 to 6.
//
//   - Topics are named by name or, from version 6 on, by id; both or neither is
//     42. What is named twice is not deleted and answers 42 once; so does a topic
//     that is named by name and by id.
//   - An unknown name answers 3, an unknown id 100.
//   - The topics that Kafka keeps for itself answer 17: what groups and
//     transactions have stored goes only with them. Kafka deletes them, and makes
//     them anew when they are needed.
//   - Rows are in the order of the request. A topic that was deleted is named
//     with its name and its id.
//   - A topic is gone when the answer is written, with its stream when that was
//     its own.
//   - timeout_ms bounds the whole request. What could not be done in time answers
//     7, as does everything when it is not above 0, unless there is nothing to do.
//
// Version history:
//
//	1  throttle time
//	4  flexible
//	5  error messages (KIP-599 brought throttling, which never happens here)
//	6  topics by id; names may be null (KIP-516)
var _ = register(generated.KeyDeleteTopics, 1, 6, (*Handlers).deleteTopics)

// What Kafka says of topics that it does not have.
const (
	messageUnknownName = "This server does not host this topic-partition."
	messageUnknownID   = "This server does not host this topic ID."
)

// doomed is a topic of a DeleteTopics request.
type doomed struct {
	name  wire.NullString
	id    wire.UUID
	topic *bridge.Topic // nil when there is a fault
	fault *topicFault
	again bool // its fault is told by the row of the one named first
}

func (h *Handlers) deleteTopics(ctx context.Context, req *Request, body *generated.DeleteTopicsRequest) (generated.Message, error) {
	list := topicsToDelete(req.Version, body)
	checkDoomed(list)
	if body.TimeoutMs <= 0 && slices.ContainsFunc(list, func(d doomed) bool { return d.fault == nil }) {
		for i := range list {
			list[i].fault, list[i].again = &topicFault{code: errorcode.RequestTimedOut}, false
		}
		return deleteAnswer(list), nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(body.TimeoutMs)*time.Millisecond)
	defer cancel()

	for i := range list {
		h.findDoomed(ctx, &list[i])
	}
	checkNamedTwice(list)
	for i := range list {
		d := &list[i]
		if d.fault != nil {
			continue
		}
		if err := h.delete(ctx, d); err != nil {
			d.fault = deleteFault(d, err)
			continue
		}
		d.name, d.id = wire.String(d.topic.Name), d.topic.ID
	}
	return deleteAnswer(list), nil
}

// delete deletes the topic that was named. An id never hits another topic that
// has taken the name in the meantime.
func (h *Handlers) delete(ctx context.Context, d *doomed) error {
	if d.name.Valid {
		// The bridge locks the name for others, too, for longer than the frame lives.
		return h.bridge.DeleteTopic(ctx, strings.Clone(d.name.S))
	}
	return h.bridge.DeleteTopicByID(ctx, d.id)
}

func topicsToDelete(version int16, body *generated.DeleteTopicsRequest) []doomed {
	if version < 6 {
		list := make([]doomed, len(body.TopicNames))
		for i, name := range body.TopicNames {
			list[i].name = wire.String(name)
		}
		return list
	}
	list := make([]doomed, len(body.Topics))
	for i := range body.Topics {
		list[i].name, list[i].id = body.Topics[i].Name, body.Topics[i].TopicId
	}
	return list
}

// checkDoomed finds what is wrong with the request itself.
func checkDoomed(list []doomed) {
	names := make(map[string]*doomed, len(list))
	ids := make(map[wire.UUID]*doomed)
	for i := range list {
		d := &list[i]
		switch {
		case d.name.Valid && !d.id.IsZero():
			d.fault = faultf(errorcode.InvalidRequest, "You may not specify both topic name and topic id.")
		case d.name.Valid:
			if first := names[d.name.S]; first != nil {
				first.fault = faultf(errorcode.InvalidRequest, "Duplicate topic name.")
				d.fault, d.again = first.fault, true
				continue
			}
			names[d.name.S] = d
		case !d.id.IsZero():
			if first := ids[d.id]; first != nil {
				first.fault = faultf(errorcode.InvalidRequest, "Duplicate topic id.")
				d.fault, d.again = first.fault, true
				continue
			}
			ids[d.id] = d
		default:
			d.fault = faultf(errorcode.InvalidRequest, "Neither topic name nor id were specified.")
		}
	}
}

// findDoomed looks up the topic that is to be deleted.
func (h *Handlers) findDoomed(ctx context.Context, d *doomed) {
	if d.fault != nil {
		return
	}
	var err error
	if d.name.Valid {
		d.topic, err = h.bridge.Topic(ctx, d.name.S)
	} else {
		d.topic, err = h.bridge.TopicByID(ctx, d.id)
	}
	if err != nil {
		d.fault = deleteFault(d, err)
	}
}

// checkNamedTwice finds topics that are named both by name and by id.
func checkNamedTwice(list []doomed) {
	first := make(map[[16]byte]*doomed, len(list))
	for i := range list {
		d := &list[i]
		if d.topic == nil {
			continue
		}
		f := first[d.topic.ID]
		if f == nil {
			first[d.topic.ID] = d
			continue
		}
		f.fault = faultf(errorcode.InvalidRequest, "The provided topic name maps to an ID that was already supplied.")
		f.name, f.id = wire.String(f.topic.Name), f.topic.ID
		d.fault, d.again = f.fault, true
	}
}

// deleteFault is why a topic could not be found or deleted.
func deleteFault(d *doomed, err error) *topicFault {
	switch {
	case errors.Is(err, bridge.ErrTopicIDNotFound), errors.Is(err, bridge.ErrTopicNotFound) && !d.name.Valid:
		return faultf(errorcode.UnknownTopicID, messageUnknownID)
	case errors.Is(err, bridge.ErrTopicNotFound):
		return faultf(errorcode.UnknownTopicOrPartition, messageUnknownName)
	}
	return faultf(bridge.ErrorCodeIn(bridge.ScopeAdmin, err), "%s", err.Error())
}

func deleteAnswer(list []doomed) *generated.DeleteTopicsResponse {
	resp := generated.DefaultDeleteTopicsResponse()
	resp.Responses = make([]generated.DeleteTopicsResponseDeletableTopicResult, 0, len(list))
	for i := range list {
		d := &list[i]
		if d.again {
			continue
		}
		row := generated.DefaultDeleteTopicsResponseDeletableTopicResult()
		row.Name, row.TopicId = d.name, d.id
		if d.fault != nil {
			row.ErrorCode, row.ErrorMessage = d.fault.code, d.fault.message
		}
		resp.Responses = append(resp.Responses, row)
	}
	return &resp
}
