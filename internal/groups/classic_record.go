package groups

import (
	"strings"
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/statemachine"
	"kafka-iggy-bridge/internal/wire"
)

// groupMetadataVersion is the version of the value that Kafka 4.4.0 writes.
const groupMetadataVersion = 3

// store writes the group's record: when the leader has assigned, when the group
// is empty, when a static member has another id. What happens in between is lost
// with the coordinator, and the members join again.
func (g *classicGroup) store() { g.s.write(g.id, g.encode()) }

// encode makes the group's record anew, to be written with others.
func (g *classicGroup) encode() records.Record {
	value := generated.DefaultGroupMetadataValue()
	value.ProtocolType = g.protoType
	value.Generation = g.generation
	value.Protocol = g.protocol
	value.Leader = wire.NullString{S: g.leader, Valid: g.leader != ""}
	value.CurrentStateTimestamp = g.stateSince
	value.Members = make([]generated.GroupMetadataValueMemberMetadata, len(g.members))
	for i, m := range g.members {
		row := generated.DefaultGroupMetadataValueMemberMetadata()
		row.MemberId = m.id
		row.GroupInstanceId = m.instanceID
		row.ClientId = m.clientID
		row.ClientHost = m.clientHost
		row.RebalanceTimeout = m.rebalanceTimeout
		row.SessionTimeout = m.sessionTimeout
		row.Subscription = m.metadata(g.protocol.S)
		row.Assignment = m.assignment
		value.Members[i] = row
	}
	g.stored = g.record(g.s.now, &value)
	return g.stored
}

func (g *classicGroup) record(at time.Time, value *generated.GroupMetadataValue) records.Record {
	return statemachine.NewRecord(at, recordGroupMetadata, &generated.GroupMetadataKey{Group: g.id}, groupMetadataVersion, value)
}

// tombstones is part of group.
func (g *classicGroup) tombstones() []records.Record {
	return []records.Record{statemachine.Tombstone(g.s.now, recordGroupMetadata, &generated.GroupMetadataKey{Group: g.id})}
}

// snapshot is part of group. A group that rebalances is what it was before.
func (g *classicGroup) snapshot(yield func(records.Record) bool) bool {
	return g.stored.Key == nil || yield(g.stored)
}

// replayGroupMetadata applies a classic group's record. Its members have the
// one protocol that was chosen: they name the others when they join again.
func (s *Shard) replayGroupMetadata(key *generated.GroupMetadataKey, value *generated.GroupMetadataValue) {
	if value == nil {
		// The group may have become a consumer group before.
		if _, ok := s.groups[key.Group].(*classicGroup); ok {
			delete(s.groups, key.Group)
		}
		return
	}
	g := newClassicGroup(s, strings.Clone(key.Group))
	g.stored = g.record(time.UnixMilli(max(value.CurrentStateTimestamp, 0)), value)
	g.generation = value.Generation
	g.protocol = cloneNull(value.Protocol)
	for i := range value.Members {
		row := &value.Members[i]
		m := &classicMember{
			id:               strings.Clone(row.MemberId),
			instanceID:       cloneNull(row.GroupInstanceId),
			clientID:         strings.Clone(row.ClientId),
			clientHost:       strings.Clone(row.ClientHost),
			rebalanceTimeout: row.RebalanceTimeout,
			sessionTimeout:   row.SessionTimeout,
			protocolType:     strings.Clone(value.ProtocolType),
			protocols:        []classicProtocol{{g.protocol.S, cloneBytes(row.Subscription)}},
			assignment:       cloneBytes(row.Assignment),
		}
		if m.rebalanceTimeout == -1 { // a record of version 0
			m.rebalanceTimeout = m.sessionTimeout
		}
		g.add(m, parked{})
	}
	g.protoType = strings.Clone(value.ProtocolType)
	if _, ok := g.byID[value.Leader.S]; ok {
		g.leader = strings.Clone(value.Leader.S)
	}
	if len(g.members) > 0 {
		g.phase = classicStable
	}
	g.stateSince = value.CurrentStateTimestamp
	g.readSubscriptions()
	s.groups[g.id] = g
}

// classicLoaded starts the sessions of the members that were loaded. A group
// that is larger than the limit now rebalances to get rid of the last ones.
func (s *Shard) classicLoaded() {
	for _, g := range s.groups {
		g, ok := g.(*classicGroup)
		if !ok {
			continue
		}
		g.startSessions()
		if len(g.members) > s.config.MaxSize {
			g.prepareRebalance()
		}
	}
}

// stabilize makes a group out of members that were put together: those of a
// consumer group that becomes a classic one. They have the present generation
// already.
func (g *classicGroup) stabilize() {
	g.protocol = wire.String(g.vote())
	g.readSubscriptions()
	g.phase = classicStable
	g.stateSince = g.s.now.UnixMilli()
}
