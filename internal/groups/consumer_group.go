package groups

import (
	"maps"
	"slices"
	"time"

	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/groups/assignor"
	"kafka-iggy-bridge/internal/wire"
)

// consumerGroup is a group of the consumer protocol (KIP-848). Some or all of its
// members may use the classic protocol, while it is migrated.
//
// Its fields change in the replay functions only (consumer_replay.go), whether a
// record comes from the log or has just been made.
type consumerGroup struct {
	s  *Shard
	id string

	// epoch grows with whatever asks for a new assignment, and metadataHash says
	// what the subscribed topics were at that epoch.
	epoch        int32
	metadataHash int64
	// assignmentEpoch is the epoch that targets are for, assignedAt (ms) when they
	// were computed, 0 for never.
	assignmentEpoch int32
	assignedAt      int64

	members map[string]*consumerMember
	targets map[string]assignor.Assignment
	// static are the ids of the static members, by instance id.
	static map[string]string
	// owners has the member epoch at which a partition is owned.
	owners map[wire.UUID]map[int32]int32

	// topicCounts tells for each topic who subscribes to it, regexes how many
	// members use an expression, assignors how many vote for one, and
	// classicProtocols how many classic members support one.
	topicCounts      map[string]subscribers
	regexes          map[string]int
	assignors        map[string]int
	classicProtocols map[string]int
	classicMembers   int
	resolved         map[string]*resolvedRegex

	// seen are the topics that the metadata hash was last compared with.
	seen *TopicSet
}

// subscribers are how many members name a topic, and how many regular expressions
// match it.
type subscribers struct{ byName, byRegex int }

var _ group = (*consumerGroup)(nil)

func newConsumerGroup(s *Shard, id string) *consumerGroup {
	return &consumerGroup{
		s: s, id: id, epoch: 1, assignmentEpoch: 1,
		members:          make(map[string]*consumerMember),
		targets:          make(map[string]assignor.Assignment),
		static:           make(map[string]string),
		owners:           make(map[wire.UUID]map[int32]int32),
		topicCounts:      make(map[string]subscribers),
		regexes:          make(map[string]int),
		assignors:        make(map[string]int),
		classicProtocols: make(map[string]int),
		resolved:         make(map[string]*resolvedRegex),
	}
}

func (g *consumerGroup) kind() string         { return "consumer" }
func (g *consumerGroup) protocolType() string { return consumerProtocolType }

// state is worked out when somebody asks, which is seldom.
func (g *consumerGroup) state() string {
	if len(g.members) == 0 {
		return "Empty"
	}
	if g.epoch > g.assignmentEpoch {
		return "Assigning"
	}
	for _, m := range g.members {
		if !m.reconciledTo(g.assignmentEpoch) {
			return "Reconciling"
		}
	}
	return "Stable"
}

// checkCommit lets members commit with their epoch, or with an older one of
// which they still have the partition.
func (g *consumerGroup) checkCommit(c *commitCheck) int16 {
	if c.epoch < 0 && len(g.members) == 0 {
		return errorcode.None
	}
	if c.txn && c.epoch == -1 && c.memberID == "" && !c.hasInstance {
		return errorcode.None
	}
	m := g.members[c.memberID]
	switch {
	case m == nil:
		return errorcode.UnknownMemberID
	case !c.txn && m.classic == nil && c.version < 9:
		// Older versions have no code for a stale epoch.
		return errorcode.UnsupportedVersion
	case c.epoch == m.epoch:
		return errorcode.None
	case c.epoch > m.epoch:
		return m.staleEpoch()
	}
	for id, partition := range c.partitions {
		since, ok := m.assigned.find(id, partition)
		if !ok {
			since, ok = m.revoking.find(id, partition)
		}
		if !ok || c.epoch < since {
			return m.staleEpoch()
		}
	}
	return errorcode.None
}

// staleEpoch is the code for an epoch that is not the member's, in the words of
// its protocol.
func (m *consumerMember) staleEpoch() int16 {
	if m.classic != nil {
		return errorcode.IllegalGeneration
	}
	return errorcode.StaleMemberEpoch
}

func (g *consumerGroup) checkFetch(memberID string, epoch int32) int16 {
	m := g.members[memberID]
	switch {
	case m == nil:
		return errorcode.UnknownMemberID
	case m.epoch != epoch:
		return m.staleEpoch()
	}
	return errorcode.None
}

func (g *consumerGroup) checkDelete() int16 {
	if len(g.members) > 0 {
		return errorcode.NonEmptyGroup
	}
	return errorcode.None
}

func (g *consumerGroup) subscribedTo(topic string) bool {
	_, ok := g.topicCounts[topic]
	return ok
}

// expiresFrom: offsets of consumer groups age from their own commit.
func (g *consumerGroup) expiresFrom() (time.Time, bool) { return time.Time{}, true }

func (g *consumerGroup) drop() {
	for id := range g.members {
		g.s.cancelConsumerTimers(g.id, id)
	}
}

// staticMember finds a member by its instance id, nil without one.
func (g *consumerGroup) staticMember(instance wire.NullString) *consumerMember {
	if !instance.Valid {
		return nil
	}
	id, ok := g.static[instance.S]
	if !ok {
		return nil
	}
	return g.members[id]
}

// target is a member's target assignment; a static member that is about to be
// replaced hands its own on.
func (g *consumerGroup) target(m *consumerMember) assignor.Assignment {
	if !m.instanceID.Valid {
		return g.targets[m.id]
	}
	return g.targets[g.static[m.instanceID.S]]
}

// owned reports whether any member owns a partition.
func (g *consumerGroup) owned(id wire.UUID, partition int32) bool {
	epoch, ok := g.owners[id][partition]
	return ok && epoch != -1
}

// preferredAssignor is the assignor most members vote for once updated, which
// may be nil, has taken the place of member.
func (g *consumerGroup) preferredAssignor(member, updated *consumerMember) string {
	best, most := assignor.Names()[0], 0
	for _, name := range assignor.Names() {
		votes := g.assignors[name]
		if member != nil && member.assignor == wire.String(name) {
			votes--
		}
		if updated != nil && updated.assignor == wire.String(name) {
			votes++
		}
		if votes > most {
			best, most = name, votes
		}
	}
	return best
}

// subscriptionWith are the names of the subscribed topics once updated, which
// may be nil, has taken the place of member.
func (g *consumerGroup) subscriptionWith(member, updated *consumerMember) map[string]subscribers {
	counts := maps.Clone(g.topicCounts)
	countNames(counts, member, -1)
	countNames(counts, updated, +1)
	if member != nil && member.regex != "" && (updated == nil || updated.regex != member.regex) && g.regexes[member.regex] == 1 {
		countRegex(counts, g.resolved[member.regex], -1)
	}
	return counts
}

func countNames(counts map[string]subscribers, m *consumerMember, by int) {
	if m == nil {
		return
	}
	for _, name := range m.topics {
		n := counts[name]
		n.byName += by
		setCount(counts, name, n)
	}
}

func countRegex(counts map[string]subscribers, r *resolvedRegex, by int) {
	if r == nil {
		return
	}
	for _, name := range r.topics {
		n := counts[name]
		n.byRegex += by
		setCount(counts, name, n)
	}
}

func setCount(counts map[string]subscribers, name string, n subscribers) {
	if n.byName <= 0 && n.byRegex <= 0 {
		delete(counts, name)
		return
	}
	counts[name] = n
}

// count adds to a counter and drops it at 0.
func count(counters map[string]int, name string, by int) {
	if n := counters[name] + by; n > 0 {
		counters[name] = n
	} else {
		delete(counters, name)
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
