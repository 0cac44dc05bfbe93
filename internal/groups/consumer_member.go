package groups

import (
	"slices"
	"strings"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/wire"
)

// memberState is where a member of a consumer group stands on the way to its
// target assignment (KIP-848). The numbers are those of the records.
type memberState int8

const (
	// memberStable has all that its epoch gives it.
	memberStable memberState = 0
	// memberUnrevoked still owns partitions that it was told to give up.
	memberUnrevoked memberState = 1
	// memberUnreleased waits for partitions that others still own.
	memberUnreleased memberState = 2
	// memberUnknown is a state of a later release.
	memberUnknown memberState = 127
)

// The member epochs with a meaning of their own.
const (
	// joinEpoch is sent to join, and to join again after having been fenced.
	joinEpoch int32 = 0
	// leaveEpoch is sent to leave the group.
	leaveEpoch int32 = -1
	// staticLeaveEpoch is sent by a static member that comes back.
	staticLeaveEpoch int32 = -2
)

// consumerMember is a member of a consumer group, of the consumer protocol or,
// with classic set, of the classic one. It never changes: an update makes a new
// one, so that what is decided can be compared with what was.
type consumerMember struct {
	id                   string
	instanceID, rackID   wire.NullString
	clientID, clientHost string
	// rebalanceTimeout is in ms, -1 when it was never said.
	rebalanceTimeout int32
	// topics are the names that it subscribes to, sorted, each once.
	topics []string
	// regex is the regular expression that it subscribes to, "" without one.
	regex string
	// assignor is the server-side assignor it votes for.
	assignor wire.NullString
	classic  *classicMetadata

	epoch, previousEpoch int32
	state                memberState
	// assigned is what it may consume, revoking what it has to give up.
	assigned, revoking ownership
}

// classicMetadata is what a member of the classic protocol said in JoinGroup.
type classicMetadata struct {
	sessionTimeout int32 // ms
	protocols      []generated.ConsumerGroupMemberMetadataValueClassicProtocol
}

// newConsumerMember is a member that nothing is known of yet.
func newConsumerMember(id string) *consumerMember {
	return &consumerMember{id: id, rebalanceTimeout: -1, previousEpoch: -1}
}

// reconciledTo reports whether the member has all that an assignment of this
// epoch gives it.
func (m *consumerMember) reconciledTo(epoch int32) bool {
	return m.state == memberStable && m.epoch == epoch
}

// sameMetadata reports whether the records of both members' metadata are the
// same.
func (m *consumerMember) sameMetadata(o *consumerMember) bool {
	return m.instanceID == o.instanceID && m.rackID == o.rackID &&
		m.clientID == o.clientID && m.clientHost == o.clientHost &&
		m.rebalanceTimeout == o.rebalanceTimeout && slices.Equal(m.topics, o.topics) &&
		m.regex == o.regex && m.assignor == o.assignor && m.classic.equal(o.classic)
}

func (c *classicMetadata) equal(o *classicMetadata) bool {
	if c == nil || o == nil {
		return c == o
	}
	return c.sessionTimeout == o.sessionTimeout && slices.EqualFunc(c.protocols, o.protocols,
		func(a, b generated.ConsumerGroupMemberMetadataValueClassicProtocol) bool {
			return a.Name == b.Name && string(a.Metadata) == string(b.Metadata)
		})
}

// sameState reports whether the records of both members' current assignments are
// the same.
func (m *consumerMember) sameState(o *consumerMember) bool {
	return m.epoch == o.epoch && m.previousEpoch == o.previousEpoch && m.state == o.state &&
		m.assigned.equal(o.assigned) && m.revoking.equal(o.revoking)
}

// saidNothingNew reports whether a heartbeat's fields leave the member as it is.
func (m *consumerMember) saidNothingNew(clientID, clientHost string, r *generated.ConsumerGroupHeartbeatRequest) bool {
	return m.classic == nil && m.clientID == clientID && m.clientHost == clientHost &&
		(!r.InstanceId.Valid || r.InstanceId == m.instanceID) &&
		(!r.RackId.Valid || r.RackId == m.rackID) &&
		(r.RebalanceTimeoutMs == -1 || r.RebalanceTimeoutMs == m.rebalanceTimeout) &&
		(!r.ServerAssignor.Valid || r.ServerAssignor == m.assignor) &&
		(!r.SubscribedTopicRegex.Valid || r.SubscribedTopicRegex.S == m.regex) &&
		(r.SubscribedTopicNames == nil || sameNames(m.topics, r.SubscribedTopicNames))
}

// heard is the member after a heartbeat: what the request leaves out (null) stays
// as it was.
func (m *consumerMember) heard(clientID, clientHost string, r *generated.ConsumerGroupHeartbeatRequest) *consumerMember {
	u := *m
	u.classic = nil
	u.clientID, u.clientHost = keep(m.clientID, clientID), keep(m.clientHost, clientHost)
	if r.InstanceId.Valid {
		u.instanceID = wire.String(keep(m.instanceID.S, r.InstanceId.S))
	}
	if r.RackId.Valid {
		u.rackID = wire.String(keep(m.rackID.S, r.RackId.S))
	}
	if r.RebalanceTimeoutMs != -1 {
		u.rebalanceTimeout = r.RebalanceTimeoutMs
	}
	if r.ServerAssignor.Valid {
		u.assignor = wire.String(keep(m.assignor.S, r.ServerAssignor.S))
	}
	if r.SubscribedTopicNames != nil {
		u.topics = nameSet(m.topics, r.SubscribedTopicNames)
	}
	if r.SubscribedTopicRegex.Valid {
		u.regex = keep(m.regex, r.SubscribedTopicRegex.S)
	}
	return &u
}

// keep is now, which is a view of a request: was where both are the same, so that
// nothing is copied for what does not change.
func keep(was, now string) string {
	if was == now {
		return was
	}
	return strings.Clone(now)
}

// sameNames reports whether a sorted set of names has the names of a list.
func sameNames(set, list []string) bool {
	if slices.Equal(set, list) {
		return true
	}
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Equal(set, slices.Compact(list))
}

// nameSet makes a sorted set of a list of views, or returns was when it is that
// set.
func nameSet(was, list []string) []string {
	if sameNames(was, list) {
		return was
	}
	set := slices.Clone(list)
	slices.Sort(set)
	set = slices.Compact(set)
	for i, name := range set {
		set[i] = strings.Clone(name)
	}
	return set
}
