package handlers

import (
	"context"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
)

// DescribeGroups, key 15, versions 0 to 6: state, protocol and members of classic
// groups.
//
//   - A row for each group, in the request's order. A group that does not exist is
//     one without an error in the state Dead, and 69 from version 6; so is one of
//     another type.
//   - Authorized operations, where asked for, are all that there are, as in a
//     Kafka without an authorizer; rows with an error have none.
//
// Version history:
//
//	1  throttle time; 2 throttled clients wait on their side
//	3  authorized operations (KIP-430)
//	4  static members' instance ids (KIP-345)
//	5  flexible
//	6  69 and a message for groups that do not exist (KIP-1043)
var _ = register(generated.KeyDescribeGroups, 0, 6, (*Handlers).describeGroups)

func (h *Handlers) describeGroups(ctx context.Context, req *Request, body *generated.DescribeGroupsRequest) (generated.Message, error) {
	resp := generated.DefaultDescribeGroupsResponse()
	resp.Groups = make([]generated.DescribeGroupsResponseDescribedGroup, len(body.Groups))
	inParallel(len(body.Groups), func(i int) {
		row := &resp.Groups[i]
		*row = h.describeGroup(ctx, req, body, i)
		if body.IncludeAuthorizedOperations && row.ErrorCode == errorcode.None {
			row.AuthorizedOperations = allGroupOperations
		}
	})
	return &resp, nil
}

// describeGroup is the row of one group of the request.
func (h *Handlers) describeGroup(ctx context.Context, req *Request, body *generated.DescribeGroupsRequest, i int) generated.DescribeGroupsResponseDescribedGroup {
	one := *body
	one.Groups = body.Groups[i : i+1]
	answer, code := askGroup[*generated.DescribeGroupsResponse](ctx, h, req, body.Groups[i], &one)
	if code == errorcode.None {
		return answer.Groups[0]
	}
	row := generated.DefaultDescribeGroupsResponseDescribedGroup()
	row.GroupId, row.ErrorCode = body.Groups[i], code
	return row
}
