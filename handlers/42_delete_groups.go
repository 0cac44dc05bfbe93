package handlers

import (
	"context"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
)

// DeleteGroups, key 42, versions 0 to 3: groups without members and their offsets
// are removed for good.
//
//   - One row for each group, in the request's order; a group that is named twice
//     has one, as in Kafka.
//   - A group that has members gets 68, one that does not exist 69.
//
// Version history:
//
//	1  throttled clients wait on their side
//	2  flexible
//	3  message (KIP-1043)
var _ = register(generated.KeyDeleteGroups, 0, 3, (*Handlers).deleteGroups)

func (h *Handlers) deleteGroups(ctx context.Context, req *Request, body *generated.DeleteGroupsRequest) (generated.Message, error) {
	names := distinct(body.GroupsNames)
	resp := generated.DefaultDeleteGroupsResponse()
	resp.Results = make([]generated.DeleteGroupsResponseDeletableGroupResult, len(names))
	inParallel(len(names), func(i int) {
		one := generated.DefaultDeleteGroupsRequest()
		one.GroupsNames = names[i : i+1]
		answer, code := askGroup[*generated.DeleteGroupsResponse](ctx, h, req, names[i], &one)
		if code == errorcode.None {
			resp.Results[i] = answer.Results[0]
			return
		}
		row := &resp.Results[i]
		*row = generated.DefaultDeleteGroupsResponseDeletableGroupResult()
		row.GroupId, row.ErrorCode = names[i], code
	})
	return &resp, nil
}

// distinct is the list with the first of each name.
func distinct(names []string) []string {
	seen := make(map[string]bool, len(names))
	list := make([]string, 0, len(names))
	for _, name := range names {
		if !seen[name] {
			seen[name] = true
			list = append(list, name)
		}
	}
	return list
}
