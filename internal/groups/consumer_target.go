package groups

import (
	"maps"
	"slices"

	"kafka-iggy-bridge/internal/groups/assignor"
	"kafka-iggy-bridge/internal/wire"
)

// assignmentSpec is what an assignor has to know of the group once updated is a
// member of it, in the order of the member ids, and the targets that hold so far.
func (g *consumerGroup) assignmentSpec(updated *consumerMember) (*assignor.Spec, map[string]assignor.Assignment) {
	targets := g.targets
	members := maps.Clone(g.members)
	members[updated.id] = updated
	if old := g.staticMember(updated.instanceID); old != nil && old.id != updated.id {
		delete(members, old.id)
		targets = maps.Clone(targets)
		if target, ok := targets[old.id]; ok {
			targets[updated.id] = target
			delete(targets, old.id)
		}
	}
	spec := &assignor.Spec{Members: make([]assignor.Member, 0, len(members)), Partitions: make(map[wire.UUID]int32)}
	var last *consumerMember
	var topics []wire.UUID
	for _, id := range sortedKeys(members) {
		m := members[id]
		// Members mostly subscribe to the same.
		if last == nil || !slices.Equal(last.topics, m.topics) || last.regex != m.regex {
			topics = g.subscribedTopics(m, spec.Partitions)
		}
		last = m
		spec.Members = append(spec.Members, assignor.Member{
			ID: id, InstanceID: m.instanceID.S, Topics: topics, Current: targets[id],
		})
	}
	return spec, targets
}

// subscribedTopics are the topics there are of a member's subscription. Their
// numbers of partitions are added to partitions.
func (g *consumerGroup) subscribedTopics(m *consumerMember, partitions map[wire.UUID]int32) []wire.UUID {
	view := g.s.viewTopics()
	names := m.topics
	if r := g.resolved[m.regex]; m.regex != "" && r != nil {
		names = append(slices.Clone(names), r.topics...)
		slices.Sort(names)
		names = slices.Compact(names)
	}
	ids := make([]wire.UUID, 0, len(names))
	for _, name := range names {
		if t, ok := view.ByName(name); ok {
			ids = append(ids, t.ID)
			partitions[t.ID] = t.Partitions
		}
	}
	return ids
}

// subscribes reports whether a member subscribes to a topic that there is.
func (g *consumerGroup) subscribes(m *consumerMember, id wire.UUID) bool {
	t, ok := g.s.viewTopics().ByID(id)
	if !ok {
		return false
	}
	if _, ok := slices.BinarySearch(m.topics, t.Name); ok {
		return true
	}
	r := g.resolved[m.regex]
	if m.regex == "" || r == nil {
		return false
	}
	_, ok = slices.BinarySearch(r.topics, t.Name)
	return ok
}
