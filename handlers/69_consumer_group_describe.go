package handlers

import (
	"context"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
)

// ConsumerGroupDescribe, key 69, versions 0 and 1: epochs, members and assignments
// of consumer groups (KIP-848).
//
//   - A row for each group, in the request's order. A group that does not exist
//     gets 69, and so does a classic one: tools then ask with DescribeGroups.
//   - An empty group id gets 24.
//   - Authorized operations, where asked for, are all that there are, as in a
//     Kafka without an authorizer; rows with an error have none.
//
// Version history:
//
//	1  types of members (KIP-1099)
var _ = register(generated.KeyConsumerGroupDescribe, 0, 1, (*Handlers).consumerGroupDescribe)

func (h *Handlers) consumerGroupDescribe(ctx context.Context, req *Request, body *generated.ConsumerGroupDescribeRequest) (generated.Message, error) {
	resp := generated.DefaultConsumerGroupDescribeResponse()
	resp.Groups = make([]generated.ConsumerGroupDescribeResponseDescribedGroup, len(body.GroupIds))
	inParallel(len(body.GroupIds), func(i int) {
		row := &resp.Groups[i]
		*row = h.describeConsumerGroup(ctx, req, body, i)
		if body.IncludeAuthorizedOperations && row.ErrorCode == errorcode.None {
			row.AuthorizedOperations = allGroupOperations
		}
	})
	return &resp, nil
}

// describeConsumerGroup is the row of one group of the request.
func (h *Handlers) describeConsumerGroup(ctx context.Context, req *Request, body *generated.ConsumerGroupDescribeRequest, i int) generated.ConsumerGroupDescribeResponseDescribedGroup {
	code := errorcode.InvalidGroupID
	if body.GroupIds[i] != "" {
		one := *body
		one.GroupIds = body.GroupIds[i : i+1]
		var answer *generated.ConsumerGroupDescribeResponse
		if answer, code = askGroup[*generated.ConsumerGroupDescribeResponse](ctx, h, req, body.GroupIds[i], &one); code == errorcode.None {
			return answer.Groups[0]
		}
	}
	row := generated.DefaultConsumerGroupDescribeResponseDescribedGroup()
	row.GroupId, row.ErrorCode = body.GroupIds[i], code
	return row
}
