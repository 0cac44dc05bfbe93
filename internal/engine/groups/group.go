// Package groups is the state of consumer groups: who is a member, who reads which
// partition, and how partitions change hands. It does no I/O and keeps no time; its
// caller guards a Group with a lock and tells it the time.
package groups

import (
	"slices"
	"time"
)

// HandoverTimeout is how long a partition that is to change hands waits for its
// member to commit what it has polled.
const HandoverTimeout = 30 * time.Second

// Client identifies a connection.
type Client uint64

// Committed tells the stored offset of the group for a partition.
type Committed func(partition uint32) (offset uint64, ok bool)

// Group is the membership of one consumer group. Members live as long as their
// connections.
type Group struct {
	partitions []uint32 // ascending
	members    []*member
	nextID     uint32
	committed  Committed

	// polled is the last offset handed to a member per partition: a partition that
	// changes hands waits until that much is committed.
	polled map[uint32]uint64
}

type member struct {
	id         uint32
	client     Client
	partitions []uint32
	cursor     int
	leaving    []handover
}

// handover is a partition promised to another member.
type handover struct {
	partition uint32
	to        uint32 // member id
	since     time.Time
}

// Member is a member as clients see it.
type Member struct {
	ID         uint32
	Partitions []uint32
}

// New returns a group without members over partitions 0 to n-1.
func New(n uint32, committed Committed) *Group {
	g := &Group{committed: committed, polled: make(map[uint32]uint64)}
	g.setPartitions(n)
	return g
}

func (g *Group) setPartitions(n uint32) {
	g.partitions = g.partitions[:0]
	for p := range n {
		g.partitions = append(g.partitions, p)
	}
}

// Members returns the members in the order they joined.
func (g *Group) Members() []Member {
	members := make([]Member, len(g.members))
	for i, m := range g.members {
		members[i] = Member{ID: m.id, Partitions: slices.Clone(m.partitions)}
	}
	return members
}

// Size returns the number of members.
func (g *Group) Size() int { return len(g.members) }

func (g *Group) find(client Client) *member {
	for _, m := range g.members {
		if m.client == client {
			return m
		}
	}
	return nil
}

func (g *Group) byID(id uint32) *member {
	for _, m := range g.members {
		if m.id == id {
			return m
		}
	}
	return nil
}

// Has reports whether the client is a member.
func (g *Group) Has(client Client) bool { return g.find(client) != nil }

// Join makes the client a member; it reports false when it is one already.
func (g *Group) Join(client Client, now time.Time) bool {
	if g.Has(client) {
		return false
	}
	g.members = append(g.members, &member{id: g.nextID, client: client})
	g.nextID++
	g.giveUnassigned()
	g.promiseSurplus(now)
	g.settle(now)
	return true
}

// Leave ends the client's membership and deals all partitions anew; it reports false
// when the client is not a member.
func (g *Group) Leave(client Client) bool {
	i := slices.IndexFunc(g.members, func(m *member) bool { return m.client == client })
	if i < 0 {
		return false
	}
	g.members = slices.Delete(g.members, i, i+1)
	g.deal()
	return true
}

// Resize tells the group that the topic has n partitions now.
func (g *Group) Resize(n uint32) {
	g.setPartitions(n)
	for p := range g.polled {
		if p >= n {
			delete(g.polled, p)
		}
	}
	g.deal()
}

// deal distributes all partitions round-robin.
func (g *Group) deal() {
	for _, m := range g.members {
		m.partitions, m.leaving = m.partitions[:0], nil
	}
	if len(g.members) == 0 {
		clear(g.polled)
		return
	}
	for i, p := range g.partitions {
		m := g.members[i%len(g.members)]
		m.partitions = append(m.partitions, p)
	}
}

// giveUnassigned deals partitions that nobody has to members that have none.
func (g *Group) giveUnassigned() {
	taken := make(map[uint32]bool, len(g.partitions))
	var idle []*member
	for _, m := range g.members {
		if len(m.partitions) == 0 {
			idle = append(idle, m)
		}
		for _, p := range m.partitions {
			taken[p] = true
		}
	}
	if len(idle) == 0 {
		return
	}
	next := 0
	for _, p := range g.partitions {
		if !taken[p] {
			m := idle[next%len(idle)]
			m.partitions = append(m.partitions, p)
			next++
		}
	}
}

// promiseSurplus lets members above their fair share promise one partition, the last
// they have, to each member that has none.
func (g *Group) promiseSurplus(now time.Time) {
	idle := g.waiting()
	share, extra := len(g.partitions)/len(g.members), len(g.partitions)%len(g.members)
	for _, m := range g.members {
		limit := share
		kept := len(m.partitions) - len(m.leaving)
		if extra > 0 && kept > share {
			limit++
			extra--
		}
		for i := len(m.partitions) - 1; i >= 0 && kept > limit && len(idle) > 0; i-- {
			if m.promised(m.partitions[i]) {
				continue
			}
			m.leaving = append(m.leaving, handover{partition: m.partitions[i], to: idle[0].id, since: now})
			idle = idle[1:]
			kept--
		}
	}
}

// waiting returns the members that have no partition and none promised.
func (g *Group) waiting() []*member {
	expecting := make(map[uint32]bool)
	for _, m := range g.members {
		for _, h := range m.leaving {
			expecting[h.to] = true
		}
	}
	var idle []*member
	for _, m := range g.members {
		if len(m.partitions) == 0 && !expecting[m.id] {
			idle = append(idle, m)
		}
	}
	return idle
}

func (m *member) promised(partition uint32) bool {
	return slices.ContainsFunc(m.leaving, func(h handover) bool { return h.partition == partition })
}

// settle completes the handovers that need not wait any longer: of partitions never
// polled, of those whose polled messages are committed, and of those that timed out.
func (g *Group) settle(now time.Time) {
	for _, m := range g.members {
		for i := 0; i < len(m.leaving); {
			h := m.leaving[i]
			if !g.ready(h, now) {
				i++
				continue
			}
			m.leaving = slices.Delete(m.leaving, i, i+1)
			m.partitions = slices.DeleteFunc(m.partitions, func(p uint32) bool { return p == h.partition })
			delete(g.polled, h.partition)
			// Whoever leaves causes a full deal, which takes all promises back, so
			// the receiver is still there.
			to := g.byID(h.to)
			to.partitions = append(to.partitions, h.partition)
		}
	}
}

func (g *Group) ready(h handover, now time.Time) bool {
	polled, ok := g.polled[h.partition]
	if !ok || now.Sub(h.since) >= HandoverTimeout {
		return true
	}
	stored, ok := g.committed(h.partition)
	return ok && stored >= polled
}

// Tick completes handovers that timed out.
func (g *Group) Tick(now time.Time) { g.settle(now) }

// Next returns the partition that the client's next poll or store without a partition
// is for. advance moves the rotation on, as polls do. ok is false when the member has
// no partition to read.
func (g *Group) Next(client Client, advance bool) (partition uint32, ok bool) {
	m := g.find(client)
	if m == nil {
		return 0, false
	}
	kept := len(m.partitions) - len(m.leaving)
	if kept == 0 {
		return 0, false
	}
	index := m.cursor % kept
	if advance {
		m.cursor = (m.cursor + 1) % kept
	}
	for _, p := range m.partitions {
		if m.promised(p) {
			continue
		}
		if index == 0 {
			return p, true
		}
		index--
	}
	return 0, false
}

// Owns reports whether the partition is the client's, also while it waits to be
// handed over.
func (g *Group) Owns(client Client, partition uint32) bool {
	m := g.find(client)
	return m != nil && slices.Contains(m.partitions, partition)
}

// Polled notes that messages up to offset went to the partition's member.
func (g *Group) Polled(partition uint32, offset uint64) {
	g.polled[partition] = offset
}

// Stored tells the group that an offset was stored, which may complete a handover.
func (g *Group) Stored(now time.Time) { g.settle(now) }
