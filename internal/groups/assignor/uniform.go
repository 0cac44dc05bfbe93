package assignor

import (
	"slices"
	"strings"

	"kafka-iggy-bridge/internal/wire"
)

// Uniform gives every member the same number of partitions, give or take one, as
// far as the subscriptions allow it, and moves no more partitions than that
// takes. It does not look at which partitions of a topic go together. A member
// whose assignment does not change gets Member.Current itself. The error is
// ErrUnknownTopic.
func Uniform(spec *Spec) (map[string]Assignment, error) {
	topics, err := spec.sortedTopics()
	if err != nil {
		return nil, err
	}
	u := newUniform(spec, topics)
	if u.homogeneous() {
		u.balanceAlike()
	} else {
		u.balanceMixed()
	}
	return u.result(), nil
}

// nobody is the owner of a partition that is not assigned.
const nobody = -1

// uniform is an assignment in the making. Members and topics are numbered in the
// order of their ids, so that no map's order shows in the result.
type uniform struct {
	members []*Member
	topics  []wire.UUID
	// owners has the number of each partition's member, by topic.
	owners [][]int32
	// sizes is how many partitions each member has.
	sizes []int32
	// changed marks members whose assignment is not Current any more.
	changed []bool
	// subscribed tells, by topic, its members; nil when all members subscribe to all
	// topics.
	subscribed [][]int32
}

// newUniform starts with what the members keep: all that is there of what they
// subscribe to.
func newUniform(spec *Spec, topics []wire.UUID) *uniform {
	u := &uniform{
		members: make([]*Member, len(spec.Members)),
		topics:  topics,
		owners:  make([][]int32, len(topics)),
		sizes:   make([]int32, len(spec.Members)),
		changed: make([]bool, len(spec.Members)),
	}
	for i := range spec.Members {
		u.members[i] = &spec.Members[i]
	}
	slices.SortFunc(u.members, func(a, b *Member) int { return strings.Compare(a.ID, b.ID) })
	for t, id := range topics {
		u.owners[t] = make([]int32, spec.Partitions[id])
		for p := range u.owners[t] {
			u.owners[t][p] = nobody
		}
	}
	number := make(map[wire.UUID]int, len(topics))
	for t, id := range topics {
		number[id] = t
	}
	u.subscribe(number)
	for m := range u.members {
		u.keep(int32(m), number)
	}
	return u
}

// subscribe finds out who subscribes to what.
func (u *uniform) subscribe(number map[wire.UUID]int) {
	// Each topic once and as many as there are: that is all of them.
	if !slices.ContainsFunc(u.members, func(m *Member) bool { return len(m.Topics) != len(u.topics) }) {
		return
	}
	u.subscribed = make([][]int32, len(u.topics))
	for m := range u.members {
		for _, id := range u.members[m].Topics {
			t := number[id]
			u.subscribed[t] = append(u.subscribed[t], int32(m))
		}
	}
}

// homogeneous tells whether all members subscribe to the same topics.
func (u *uniform) homogeneous() bool { return u.subscribed == nil }

// keep gives a member what it has, as far as it may.
func (u *uniform) keep(m int32, number map[wire.UUID]int) {
	for id, partitions := range u.members[m].Current {
		t, ok := number[id]
		if !ok || !u.subscribes(m, t) {
			u.changed[m] = true
			continue
		}
		for _, p := range partitions {
			if p < 0 || int(p) >= len(u.owners[t]) || u.owners[t][p] != nobody {
				u.changed[m] = true
				continue
			}
			u.owners[t][p] = m
			u.sizes[m]++
		}
	}
}

func (u *uniform) subscribes(m int32, topic int) bool {
	if u.subscribed == nil {
		return true
	}
	_, ok := slices.BinarySearch(u.subscribed[topic], m)
	return ok
}

// give makes m, or nobody, the owner of a partition.
func (u *uniform) give(topic int, partition int32, m int32) {
	if old := u.owners[topic][partition]; old != nobody {
		u.sizes[old]--
		u.changed[old] = true
	}
	u.owners[topic][partition] = m
	if m != nobody {
		u.sizes[m]++
		u.changed[m] = true
	}
}

// balanceAlike balances members with the same subscriptions: everybody gets the
// same number, or one more while there is a remainder. The remainder goes to
// members that have one more already, so that it does not move.
func (u *uniform) balanceAlike() {
	if len(u.members) == 0 {
		return
	}
	total := 0
	for _, owners := range u.owners {
		total += len(owners)
	}
	quota := u.quotas(int32(total/len(u.members)), total%len(u.members))

	// What somebody has too much of is the last of it.
	kept := make([]int32, len(u.members))
	for t, owners := range u.owners {
		for p, m := range owners {
			if m == nobody {
				continue
			}
			if kept[m] == quota[m] {
				u.give(t, int32(p), nobody)
				continue
			}
			kept[m]++
		}
	}
	m := int32(0)
	for t, owners := range u.owners {
		for p, owner := range owners {
			if owner != nobody {
				continue
			}
			for u.sizes[m] >= quota[m] {
				m++
			}
			u.give(t, int32(p), m)
		}
	}
}

// quotas is how many partitions each member is to have: least, and one more for
// as many members as extra says.
func (u *uniform) quotas(least int32, extra int) []int32 {
	quota := make([]int32, len(u.members))
	for m := range quota {
		quota[m] = least
		if extra > 0 && u.sizes[m] > least {
			quota[m]++
			extra--
		}
	}
	for m := range quota {
		if extra > 0 && quota[m] == least {
			quota[m]++
			extra--
		}
	}
	return quota
}

// result is the assignment by member id.
func (u *uniform) result() map[string]Assignment {
	given := make([]Assignment, len(u.members))
	lists := make([][]int32, len(u.members))
	var touched []int32
	for t, owners := range u.owners {
		touched = touched[:0]
		for p, m := range owners {
			if m == nobody || !u.changed[m] {
				continue
			}
			if lists[m] == nil {
				touched = append(touched, m)
			}
			lists[m] = append(lists[m], int32(p))
		}
		for _, m := range touched {
			if given[m] == nil {
				given[m] = make(Assignment)
			}
			given[m][u.topics[t]] = lists[m]
			lists[m] = nil
		}
	}
	result := make(map[string]Assignment, len(u.members))
	for i, m := range u.members {
		result[m.ID] = given[i]
		if !u.changed[i] {
			result[m.ID] = m.Current
		}
	}
	return result
}
