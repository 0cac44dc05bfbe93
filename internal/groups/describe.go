package groups

import (
	"fmt"
	"strings"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/statemachine"
	"kafka-iggy-bridge/internal/wire"
)

// describeNotFoundVersion is the first version of DescribeGroups that has an
// error for groups that do not exist (KIP-1043); in older ones they are Dead.
const describeNotFoundVersion int16 = 6

// The states of groups that are not classicGroups, as clients see them.
const (
	stateDead  = "Dead"
	stateEmpty = "Empty"
)

// describeGroup describes a classic group (DescribeGroups 0-6). To this request
// groups of the consumer protocol do not exist.
func (s *Shard) describeGroup(c *statemachine.Call, r *generated.DescribeGroupsRequest) {
	groupID := strings.Clone(r.Groups[0])
	d := generated.DefaultDescribeGroupsResponseDescribedGroup()
	d.GroupId = groupID
	switch g := s.groups[groupID].(type) {
	case *classicGroup:
		g.describe(&d)
	case nil:
		if s.offsets[groupID] != nil {
			d.GroupState = stateEmpty
			break
		}
		describeMissing(&d, c.Version, fmt.Sprintf("Group %s not found.", groupID))
	default:
		describeMissing(&d, c.Version, fmt.Sprintf("Group %s is not a classic group.", groupID))
	}
	resp := generated.DefaultDescribeGroupsResponse()
	resp.Groups = []generated.DescribeGroupsResponseDescribedGroup{d}
	s.answer(groupID, c.Token, &resp)
}

// describeMissing says that there is no such group, and why.
func describeMissing(d *generated.DescribeGroupsResponseDescribedGroup, version int16, why string) {
	d.GroupState = stateDead
	if version >= describeNotFoundVersion {
		d.ErrorCode = errorcode.GroupIDNotFound
		d.ErrorMessage = wire.String(why)
	}
}

// consumerGroupDescribe describes a group of the consumer protocol
// (ConsumerGroupDescribe 0-1, KIP-848). To this request classic groups do not
// exist, so that clients ask with DescribeGroups instead.
func (s *Shard) consumerGroupDescribe(c *statemachine.Call, r *generated.ConsumerGroupDescribeRequest) {
	groupID := strings.Clone(r.GroupIds[0])
	d := generated.DefaultConsumerGroupDescribeResponseDescribedGroup()
	d.GroupId = groupID
	if g, ok := s.groups[groupID].(*consumerGroup); ok {
		g.describe(&d)
	} else {
		d.ErrorCode = errorcode.GroupIDNotFound
		d.ErrorMessage = wire.String(fmt.Sprintf("Group %s not found.", groupID))
		if s.exists(groupID) {
			d.ErrorMessage = wire.String(fmt.Sprintf("Group %s is not a consumer group.", groupID))
		}
	}
	resp := generated.DefaultConsumerGroupDescribeResponse()
	resp.Groups = []generated.ConsumerGroupDescribeResponseDescribedGroup{d}
	s.answer(groupID, c.Token, &resp)
}

// exists tells whether there is a group, if only by its offsets.
func (s *Shard) exists(groupID string) bool {
	return s.groups[groupID] != nil || s.offsets[groupID] != nil
}
