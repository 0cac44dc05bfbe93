package groups

import (
	"slices"
	"strings"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/statemachine"
)

// deleteGroup deletes a group without members, with its offsets (DeleteGroups
// 0-3, KIP-229): 69 when there is none, 68 while it has members. All tombstones
// are one append, so the group is gone entirely or not at all.
func (s *Shard) deleteGroup(c *statemachine.Call, r *generated.DeleteGroupsRequest) {
	groupID := strings.Clone(r.GroupsNames[0])
	row := generated.DeleteGroupsResponseDeletableGroupResult{GroupId: groupID}
	g := s.groups[groupID]
	switch {
	case !s.exists(groupID):
		row.ErrorCode = errorcode.GroupIDNotFound
	case g != nil && g.checkDelete() != errorcode.None:
		row.ErrorCode = g.checkDelete()
	default:
		s.removeGroup(groupID)
	}
	resp := generated.DefaultDeleteGroupsResponse()
	resp.Results = []generated.DeleteGroupsResponseDeletableGroupResult{row}
	s.answer(groupID, c.Token, &resp)
}

// removeGroup removes a group with its offsets, those that are pending as well.
func (s *Shard) removeGroup(groupID string) {
	var rs []records.Record
	if table := s.offsets[groupID]; table != nil {
		rs = slices.Grow(rs, table.len())
		for topic, partitions := range table.all() {
			for i := range partitions {
				rs = append(rs, offsetTombstone(s.now, groupID, topic, partitions[i].partition))
			}
		}
		rs = append(rs, s.pending.removeFunc(s.now, groupID, anyPending)...)
		delete(s.offsets, groupID)
	}
	if g := s.groups[groupID]; g != nil {
		rs = append(rs, g.tombstones()...)
		g.drop()
		delete(s.groups, groupID)
	}
	s.write(groupID, rs...)
}
