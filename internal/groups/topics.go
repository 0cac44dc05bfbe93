package groups

import (
	"maps"
	"slices"

	"kafka-iggy-bridge/internal/wire"
)

// Topic is what the coordinator has to know of a topic.
type Topic struct {
	Name       string
	ID         wire.UUID
	Partitions int32
}

// TopicSet is a snapshot of the topics there are. It never changes; two sets
// are the same exactly when their pointers are.
type TopicSet struct {
	byName map[string]Topic
	byID   map[wire.UUID]Topic
	names  []string
}

// NewTopicSet makes a TopicSet.
func NewTopicSet(topics []Topic) *TopicSet {
	set := &TopicSet{
		byName: make(map[string]Topic, len(topics)),
		byID:   make(map[wire.UUID]Topic, len(topics)),
	}
	for _, t := range topics {
		set.byName[t.Name] = t
		set.byID[t.ID] = t
	}
	set.names = slices.Sorted(maps.Keys(set.byName))
	return set
}

// ByName finds a topic by its name.
func (s *TopicSet) ByName(name string) (Topic, bool) {
	t, ok := s.byName[name]
	return t, ok
}

// ByID finds a topic by its id.
func (s *TopicSet) ByID(id wire.UUID) (Topic, bool) {
	t, ok := s.byID[id]
	return t, ok
}

// Names are the topics' names, sorted; not to be changed.
func (s *TopicSet) Names() []string { return s.names }
