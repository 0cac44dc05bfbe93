// Package assignor has the assignors of Kafka's consumer groups that run in the
// coordinator (KIP-848): uniform, which balances and keeps what members have, and
// range, which gives the same ranges of every topic to the same members. They are
// pure functions: the same members with the same subscriptions and the same
// present assignment give the same result, in whatever order they are listed.
package assignor

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"kafka-iggy-bridge/internal/wire"
)

// The names by which members ask for an assignor.
const (
	UniformName = "uniform"
	RangeName   = "range"
)

// ErrUnknownTopic means that a member subscribes to a topic of which the Spec
// does not say how many partitions it has.
var ErrUnknownTopic = errors.New("subscribed topic is not known")

// Assignment is what a member is given: partitions by topic, each list ascending
// and not empty. An Assignment never changes once it is made, so it may be shared.
type Assignment map[wire.UUID][]int32

// Member is a member of a group.
type Member struct {
	// ID is the member id, unique in a Spec.
	ID string
	// InstanceID is a static member's instance id, "" for dynamic members.
	InstanceID string
	// Topics are the topics that exist of those that the member subscribes to, each
	// once, in any order. They are not changed, so members may share them.
	Topics []wire.UUID
	// Current is the member's present target. It may name topics that the member
	// does not subscribe to any more, or that are gone.
	Current Assignment
}

// Spec is what is to be assigned.
type Spec struct {
	// Members are the group's members, in any order.
	Members []Member
	// Partitions is how many partitions each topic has that any member subscribes to.
	Partitions map[wire.UUID]int32
}

// Names are the names of the assignors. The first is taken by groups none of
// whose members ask for one.
func Names() []string { return []string{UniformName, RangeName} }

// ByName returns the assignor of a name. An assignor gives every member an
// entry, of nil when it gets nothing.
func ByName(name string) (func(*Spec) (map[string]Assignment, error), bool) {
	switch name {
	case UniformName:
		return Uniform, true
	case RangeName:
		return Range, true
	default:
		return nil, false
	}
}

// Range assigns each topic's partitions in ranges, in the order of the members:
// static ones first by instance id, then the others by member id. Members that
// subscribe to the same topics therefore get the same partitions of each topic
// that has as many, whatever its name: co-partitioning. Members keep what they
// have as far as their place in that order stays, which it does for static ones;
// the present assignment is not looked at. The error is ErrUnknownTopic.
func Range(spec *Spec) (map[string]Assignment, error) {
	order := make([]*Member, len(spec.Members))
	subscribers := make(map[wire.UUID]int32, len(spec.Partitions))
	for i := range spec.Members {
		m := &spec.Members[i]
		order[i] = m
		for _, id := range m.Topics {
			if _, err := spec.partitions(id); err != nil {
				return nil, err
			}
			subscribers[id]++
		}
	}
	slices.SortFunc(order, compareMembers)

	result := make(map[string]Assignment, len(order))
	ranges := make(map[wire.UUID]*ranger, len(subscribers))
	for _, m := range order {
		var given Assignment
		for _, id := range m.Topics {
			r := ranges[id]
			if r == nil {
				count := spec.Partitions[id]
				r = &ranger{quota: count / subscribers[id], extra: count % subscribers[id]}
				ranges[id] = r
			}
			if partitions := r.take(); len(partitions) > 0 {
				if given == nil {
					given = make(Assignment, len(m.Topics))
				}
				given[id] = partitions
			}
		}
		result[m.ID] = given
	}
	return result, nil
}

// ranger hands out a topic's partitions in ranges.
type ranger struct {
	next int32
	// quota is what everybody gets, extra the number of those who get one more.
	quota, extra int32
}

// take returns the next range.
func (r *ranger) take() []int32 {
	n := r.quota
	if r.extra > 0 {
		n++
		r.extra--
	}
	partitions := make([]int32, n)
	for i := range partitions {
		partitions[i] = r.next
		r.next++
	}
	return partitions
}

// compareMembers is the order in which Range serves members.
func compareMembers(a, b *Member) int {
	switch {
	case a.InstanceID != "" && b.InstanceID != "":
		if c := strings.Compare(a.InstanceID, b.InstanceID); c != 0 {
			return c
		}
	case a.InstanceID != "":
		return -1
	case b.InstanceID != "":
		return 1
	}
	return strings.Compare(a.ID, b.ID)
}

// partitions is how many partitions a subscribed topic has.
func (spec *Spec) partitions(id wire.UUID) (int32, error) {
	n, ok := spec.Partitions[id]
	if !ok {
		return 0, fmt.Errorf("%w: %s", ErrUnknownTopic, id)
	}
	return n, nil
}

// sortedTopics are the topics that members subscribe to, sorted, and an error
// when one of them is not known.
func (spec *Spec) sortedTopics() ([]wire.UUID, error) {
	seen := make(map[wire.UUID]bool, len(spec.Partitions))
	var topics []wire.UUID
	for i := range spec.Members {
		if i > 0 && sameSlice(spec.Members[i].Topics, spec.Members[i-1].Topics) {
			continue
		}
		for _, id := range spec.Members[i].Topics {
			if seen[id] {
				continue
			}
			if _, err := spec.partitions(id); err != nil {
				return nil, err
			}
			seen[id] = true
			topics = append(topics, id)
		}
	}
	slices.SortFunc(topics, compareUUID)
	return topics, nil
}

// sameSlice tells whether two slices are the same piece of memory.
func sameSlice(a, b []wire.UUID) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

func compareUUID(a, b wire.UUID) int { return bytes.Compare(a[:], b[:]) }
