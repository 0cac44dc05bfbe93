package assignor

import (
	"cmp"
	"container/heap"
	"slices"
)

// maxRounds bounds how often all topics are balanced anew. Members that overlap
// in their subscriptions even out bit by bit, about half of what is left in each
// round; others are done after the first.
const maxRounds = 16

// balanceMixed balances members with different subscriptions. It hands out what
// nobody has, then evens out one topic's subscribers after the other, until no
// topic can be improved by moving a single partition of it. Topics with the most
// partitions for each subscriber come first, of those the ones with the fewest
// subscribers: they leave the least choice.
func (u *uniform) balanceMixed() {
	order := make([]int, len(u.topics))
	for t := range order {
		order[t] = t
	}
	slices.SortStableFunc(order, u.compareTopics)
	for _, t := range order {
		u.handOut(t)
	}
	shared := slices.DeleteFunc(order, func(t int) bool { return len(u.subscribed[t]) < 2 })
	lists := newPartitionLists(u)
	for range maxRounds {
		moved := 0
		for _, t := range shared {
			moved += u.even(t, lists)
		}
		if moved == 0 {
			return
		}
	}
}

// compareTopics orders topics by partitions for each subscriber, falling, then by
// subscribers, rising.
func (u *uniform) compareTopics(a, b int) int {
	subscribersA, subscribersB := len(u.subscribed[a]), len(u.subscribed[b])
	// Partitions over subscribers, without the division.
	byLoad := cmp.Compare(len(u.owners[b])*subscribersA, len(u.owners[a])*subscribersB)
	return cmp.Or(byLoad, cmp.Compare(subscribersA, subscribersB))
}

// handOut gives a topic's partitions that nobody has to the subscribers with the
// fewest partitions.
func (u *uniform) handOut(topic int) {
	if !slices.Contains(u.owners[topic], nobody) {
		return
	}
	least := newLoads(u.byLoad(topic), 1)
	for p, owner := range u.owners[topic] {
		if owner == nobody {
			u.give(topic, int32(p), least.top().member)
			least.changeTop(1)
		}
	}
}

// even moves partitions of a topic from the subscribers with the most partitions
// to those with the fewest, until the two differ by one at most. It returns how
// many it moved.
//
// Nobody both gives and gets: who gave one still has no fewer than who got it.
// So neither heap needs to know what the other does.
func (u *uniform) even(topic int, lists *partitionLists) int {
	order := u.byLoad(topic)
	if order[len(order)-1].size-order[0].size <= 1 {
		return 0
	}
	lists.fill(topic)
	givers := slices.DeleteFunc(slices.Clone(order), func(l load) bool { return lists.last[l.member] == nobody })
	most, least := newLoads(givers, -1), newLoads(order, 1)
	moved := 0
	for most.Len() > 0 && most.top().size-least.top().size > 1 {
		p := lists.pop(most.top().member)
		u.give(topic, p, least.top().member)
		least.changeTop(1)
		if lists.last[most.top().member] == nobody {
			heap.Pop(most)
		} else {
			most.changeTop(-1)
		}
		moved++
	}
	lists.clear(topic)
	return moved
}

// byLoad returns a topic's subscribers, by rising number of partitions.
func (u *uniform) byLoad(topic int) []load {
	subscribers := u.subscribed[topic]
	order := make([]load, len(subscribers))
	for i, m := range subscribers {
		order[i] = load{member: m, size: u.sizes[m]}
	}
	slices.SortStableFunc(order, func(a, b load) int { return cmp.Compare(a.size, b.size) })
	for i := range order {
		order[i].place = int32(i)
	}
	return order
}

// load is how many partitions a member has, of all topics.
type load struct {
	member, size int32
	// place is the member's place among the others, between members of one size.
	place int32
}

// loads is a heap of members: with the fewest partitions on top for a sign of 1,
// with the most for -1.
type loads struct {
	heap []load
	sign int32
}

func newLoads(members []load, sign int32) *loads {
	h := &loads{heap: members, sign: sign}
	heap.Init(h)
	return h
}

// top is the member on top.
func (h *loads) top() load { return h.heap[0] }

// changeTop changes how many partitions the member on top has.
func (h *loads) changeTop(by int32) {
	h.heap[0].size += by
	heap.Fix(h, 0)
}

func (h *loads) Len() int { return len(h.heap) }

func (h *loads) Less(i, j int) bool {
	a, b := h.heap[i], h.heap[j]
	return cmp.Or(cmp.Compare(a.size, b.size), cmp.Compare(a.place, b.place))*int(h.sign) < 0
}

func (h *loads) Swap(i, j int) { h.heap[i], h.heap[j] = h.heap[j], h.heap[i] }

// Push is for package heap.
func (h *loads) Push(x any) { h.heap = append(h.heap, x.(load)) }

// Pop is for package heap.
func (h *loads) Pop() any {
	last := h.heap[len(h.heap)-1]
	h.heap = h.heap[:len(h.heap)-1]
	return last
}

// partitionLists are the partitions that members have of one topic, from the
// last to the first: lists through arrays, which all topics use in turn.
type partitionLists struct {
	u *uniform
	// last is a member's last partition, before the one in front of each partition.
	last, before []int32
}

func newPartitionLists(u *uniform) *partitionLists {
	l := &partitionLists{u: u, last: make([]int32, len(u.members))}
	for m := range l.last {
		l.last[m] = nobody
	}
	return l
}

// fill makes the lists of a topic.
func (l *partitionLists) fill(topic int) {
	owners := l.u.owners[topic]
	l.before = slices.Grow(l.before[:0], len(owners))[:len(owners)]
	for p, m := range owners {
		if m != nobody {
			l.before[p] = l.last[m]
			l.last[m] = int32(p)
		}
	}
}

// pop takes a member's last partition from its list.
func (l *partitionLists) pop(m int32) int32 {
	p := l.last[m]
	l.last[m] = l.before[p]
	return p
}

// clear empties the lists of a topic's subscribers.
func (l *partitionLists) clear(topic int) {
	for _, m := range l.u.subscribed[topic] {
		l.last[m] = nobody
	}
}
