package groups

import (
	"cmp"
	"slices"
	"strings"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/statemachine"
)

// kindClassic is the type of classic groups, and of groups that exist by their
// offsets alone.
const kindClassic = "classic"

// listGroups lists the shard's groups (ListGroups 0-5), by id. Both filters
// (states KIP-518, types KIP-848) let everything through when they are empty,
// and ignore case; states also blanks around. A type that is not known is not an
// error, there just are no such groups.
func (s *Shard) listGroups(c *statemachine.Call, r *generated.ListGroupsRequest) {
	states := filterSet(r.StatesFilter, func(state string) string { return strings.TrimSpace(strings.ToLower(state)) })
	types := filterSet(r.TypesFilter, strings.ToLower)
	resp := generated.DefaultListGroupsResponse()
	list := func(groupID, protocolType, state, kind string) {
		if passes(states, strings.ToLower(state)) && passes(types, kind) {
			resp.Groups = append(resp.Groups, generated.ListGroupsResponseListedGroup{
				GroupId: groupID, ProtocolType: protocolType, GroupState: state, GroupType: kind,
			})
		}
	}
	for groupID, g := range s.groups {
		list(groupID, g.protocolType(), g.state(), g.kind())
	}
	for groupID := range s.offsets {
		if s.groups[groupID] == nil {
			list(groupID, "", stateEmpty, kindClassic)
		}
	}
	slices.SortFunc(resp.Groups, func(a, b generated.ListGroupsResponseListedGroup) int {
		return cmp.Compare(a.GroupId, b.GroupId)
	})
	s.answer("", c.Token, &resp)
}

// filterSet makes a filter of a request's strings, nil when there are none.
func filterSet(names []string, normal func(string) string) map[string]bool {
	if len(names) == 0 {
		return nil
	}
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[normal(name)] = true
	}
	return set
}

func passes(filter map[string]bool, name string) bool { return filter == nil || filter[name] }
