package handlers

import (
	"context"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
)

// ListGroups, key 16, versions 0 to 5: all groups, of either protocol, and those
// that only have offsets.
//
//   - Filters by state and by type leave all groups where they are empty; case
//     does not matter.
//   - All or nothing: while some groups are loading the answer is 14, as in Kafka.
//   - As long as no group was ever coordinated there are none, and no topic is
//     made for them.
//
// Version history:
//
//	1  throttle time; 2 throttled clients wait on their side
//	3  flexible
//	4  states (KIP-518)
//	5  types (KIP-848)
var _ = register(generated.KeyListGroups, 0, 5, (*Handlers).listGroups)

func (h *Handlers) listGroups(ctx context.Context, req *Request, body *generated.ListGroupsRequest) (generated.Message, error) {
	resp := generated.DefaultListGroupsResponse()
	answers, err := h.groups.CallAll(ctx, coordinatorCall(req, body))
	if err != nil {
		resp.ErrorCode = coordinatorCode(err)
		return &resp, nil
	}
	for _, answer := range answers {
		part := answer.(*generated.ListGroupsResponse)
		if part.ErrorCode != errorcode.None {
			return part, nil
		}
		resp.Groups = append(resp.Groups, part.Groups...)
	}
	return &resp, nil
}
