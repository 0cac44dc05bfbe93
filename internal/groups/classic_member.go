package groups

import (
	"bytes"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/statemachine"
	"kafka-iggy-bridge/internal/wire"
)

// classicMember is a member of a classic group.
type classicMember struct {
	id                   string
	instanceID           wire.NullString
	clientID, clientHost string
	// rebalanceTimeout and sessionTimeout are in ms.
	rebalanceTimeout, sessionTimeout int32
	protocolType                     string
	// protocols are those that the member knows, the preferred one first.
	protocols []classicProtocol
	// assignment is what the leader gave it in this generation.
	assignment []byte

	// join and sync are the member's requests that wait.
	join, sync parked
	// isNew is a member in its first rebalance. It does not know its id yet, or
	// cannot send heartbeats, and is removed when that takes too long.
	isNew bool
	// pendingSync is a member that has the generation and has not sent SyncGroup.
	pendingSync bool
}

// classicProtocol is a protocol, such as "range", and what a member has to say in
// it: for consumers, the topics that it subscribes to.
type classicProtocol struct {
	name     string
	metadata []byte
}

// newClassicMember makes a member out of its first JoinGroup. Nothing of it is
// a view of the request.
func newClassicMember(id string, c *statemachine.Call, r *generated.JoinGroupRequest) *classicMember {
	m := &classicMember{
		id:           id,
		instanceID:   cloneNull(r.GroupInstanceId),
		clientID:     strings.Clone(c.ClientID),
		clientHost:   strings.Clone(c.ClientHost),
		protocolType: strings.Clone(r.ProtocolType),
	}
	m.update(r)
	return m
}

// update takes over what a member may change with each JoinGroup.
func (m *classicMember) update(r *generated.JoinGroupRequest) {
	m.rebalanceTimeout = r.RebalanceTimeoutMs
	m.sessionTimeout = r.SessionTimeoutMs
	m.protocols = make([]classicProtocol, len(r.Protocols))
	for i, p := range r.Protocols {
		m.protocols[i] = classicProtocol{strings.Clone(p.Name), cloneBytes(p.Metadata)}
	}
}

// metadata is what the member says in a protocol, which it knows.
func (m *classicMember) metadata(protocol string) []byte {
	for _, p := range m.protocols {
		if p.name == protocol {
			return p.metadata
		}
	}
	return nil
}

// sameProtocols tells whether a JoinGroup changes nothing about the protocols.
func (m *classicMember) sameProtocols(ps []generated.JoinGroupRequestProtocol) bool {
	return slices.EqualFunc(m.protocols, ps, func(a classicProtocol, b generated.JoinGroupRequestProtocol) bool {
		return a.name == b.Name && bytes.Equal(a.metadata, b.Metadata)
	})
}

// waits tells whether the member has a request waiting, and so cannot send
// heartbeats. A new member does not count: its client may be gone, and nothing
// else would tell.
func (m *classicMember) waits() bool {
	return !m.isNew && (m.join.token != 0 || m.sync.token != 0)
}

// countProtocols adds a member's protocols to the counts, or with -1 takes them
// away. One that a member names twice counts once.
func (g *classicGroup) countProtocols(m *classicMember, n int) {
	if g.supported == nil {
		g.supported = make(map[string]int)
	}
	for i, p := range m.protocols {
		if slices.ContainsFunc(m.protocols[:i], func(q classicProtocol) bool { return q.name == p.name }) {
			continue
		}
		if g.supported[p.name] += n; g.supported[p.name] == 0 {
			delete(g.supported, p.name)
		}
	}
}

// supports tells whether a member with these protocols fits in: it must use the
// group for the same, and know a protocol that all members know.
func (g *classicGroup) supports(r *generated.JoinGroupRequest) bool {
	if g.phase == classicEmpty {
		return r.ProtocolType != "" && len(r.Protocols) > 0
	}
	return g.protoType == r.ProtocolType &&
		slices.ContainsFunc(r.Protocols, func(p generated.JoinGroupRequestProtocol) bool {
			return g.supported[p.Name] == len(g.members)
		})
}

// vote chooses a protocol: each member votes for the first of its protocols that
// all members know. On a tie Kafka takes what comes first in its hash map, which
// is the same in every group.
func (g *classicGroup) vote() string {
	votes := make(map[string]int)
	var names []string // in the order of their first vote
	for _, m := range g.members {
		for _, p := range m.protocols {
			if g.supported[p.name] == len(g.members) {
				if votes[p.name] == 0 {
					names = append(names, p.name)
				}
				votes[p.name]++
				break
			}
		}
	}
	buckets := uint32(16)
	for uint32(len(names)) > buckets/4*3 {
		buckets *= 2
	}
	slices.SortStableFunc(names, func(a, b string) int {
		return int(hashSpread(a)%buckets) - int(hashSpread(b)%buckets)
	})
	best := names[0]
	for _, name := range names[1:] {
		if votes[name] > votes[best] {
			best = name
		}
	}
	return best
}

// hashSpread is the hash by which Java's HashMap finds the bucket of a string.
func hashSpread(s string) uint32 {
	var h uint32
	for _, unit := range utf16.Encode([]rune(s)) {
		h = 31*h + uint32(unit)
	}
	return h ^ h>>16
}

// maxRebalanceTimeout is how long the members are given to join: the longest
// that one of them asks for.
func (g *classicGroup) maxRebalanceTimeout() time.Duration {
	longest := int32(0)
	for _, m := range g.members {
		longest = max(longest, m.rebalanceTimeout)
	}
	return millis(longest)
}

// readSubscriptions finds out which topics the members consume. Any version of
// the subscription begins as version 0 does, so versions that are not known yet
// can be read too.
func (g *classicGroup) readSubscriptions() {
	g.subscribed = nil
	if g.protoType != consumerProtocolType || len(g.members) > 0 && !g.protocol.Valid {
		return
	}
	topics := make(map[string]struct{})
	for _, m := range g.members {
		metadata := m.metadata(g.protocol.S)
		if len(metadata) < 2 {
			return
		}
		var subscription generated.ConsumerProtocolSubscription
		if _, err := subscription.Decode(0, metadata[2:]); err != nil {
			return // not what the Java client writes: treated as any topic
		}
		for _, topic := range subscription.Topics {
			topics[topic] = struct{}{}
		}
	}
	g.subscribed = topics
}

// millis is a duration of the protocol.
func millis(ms int32) time.Duration { return time.Duration(ms) * time.Millisecond }

// cloneNull is strings.Clone for a string that may be null.
func cloneNull(s wire.NullString) wire.NullString {
	return wire.NullString{S: strings.Clone(s.S), Valid: s.Valid}
}

// cloneBytes is bytes.Clone that never gives nil, which would be null where
// bytes are nullable.
func cloneBytes(b []byte) []byte { return append([]byte{}, b...) }
