package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
)

// Versions of the requests, those of a Java client of today.
const (
	joinVersion      = 9
	syncVersion      = 5
	heartbeatVersion = 4
)

const (
	protocolType = "consumer"
	protocolName = "range"
	// sessionTime is Java's default.
	sessionTime = 45 * time.Second
)

// member is a member of a classic group, on a connection of its own.
type member struct {
	conn         *conn
	group, topic string
	partitions   int // of the topic

	id         string
	generation int32
	leader     bool
	others     []string // ids of all members, for the leader
	assigned   int      // partitions of the last assignment
}

// joinRequest is this member's request to join.
func (m *member) joinRequest() (*generated.JoinGroupRequest, error) {
	s := generated.DefaultConsumerProtocolSubscription()
	s.Topics = []string{m.topic}
	metadata, err := s.Append(binary.BigEndian.AppendUint16(nil, 1), 1)
	if err != nil {
		return nil, err
	}
	r := generated.DefaultJoinGroupRequest()
	r.GroupId, r.MemberId, r.ProtocolType = m.group, m.id, protocolType
	r.SessionTimeoutMs, r.RebalanceTimeoutMs = int32(sessionTime.Milliseconds()), int32((5 * time.Minute).Milliseconds())
	r.Protocols = []generated.JoinGroupRequestProtocol{{Name: protocolName, Metadata: metadata}}
	return &r, nil
}

// join joins until a generation has the member.
func (m *member) join(ctx context.Context) error {
	for retry := (patience{}); ; {
		if err := m.sendJoin(); err != nil {
			return err
		}
		code, err := m.joined()
		if err != nil || code == errorcode.None {
			return err
		}
		if code == errorcode.MemberIDRequired {
			continue
		}
		if err := retry.pause(ctx, code); err != nil {
			return err
		}
	}
}

func (m *member) sendJoin() error {
	r, err := m.joinRequest()
	if err != nil {
		return err
	}
	return m.conn.send(generated.KeyJoinGroup, joinVersion, r)
}

// joined takes the answer to a join: its code, when that is none or one of those
// that ask for another join.
func (m *member) joined() (code int16, err error) {
	var a generated.JoinGroupResponse
	if err := m.conn.receive(generated.KeyJoinGroup, joinVersion, &a); err != nil {
		return 0, err
	}
	switch code := a.ErrorCode; {
	case code == errorcode.MemberIDRequired:
		m.id = string([]byte(a.MemberId))
		return code, nil
	case notReady(code):
		return code, nil
	case code != errorcode.None:
		return code, fmt.Errorf("join %s: %s", m.group, errorcode.Name(code))
	}
	m.id, m.generation = string([]byte(a.MemberId)), a.GenerationId
	m.leader, m.others = a.Leader == m.id, m.others[:0]
	for i := range a.Members {
		m.others = append(m.others, string([]byte(a.Members[i].MemberId)))
	}
	return errorcode.None, nil
}

// sync gets the assignment, and gives everybody's when the member leads. again
// says that the group rebalances once more.
func (m *member) sync() (again bool, err error) {
	r := generated.DefaultSyncGroupRequest()
	r.GroupId, r.GenerationId, r.MemberId = m.group, m.generation, m.id
	r.ProtocolType.S, r.ProtocolType.Valid = protocolType, true
	r.ProtocolName.S, r.ProtocolName.Valid = protocolName, true
	if m.leader {
		if r.Assignments, err = m.assignments(); err != nil {
			return false, err
		}
	}
	var a generated.SyncGroupResponse
	if err := m.conn.call(generated.KeySyncGroup, syncVersion, &r, &a); err != nil {
		return false, err
	}
	switch {
	case a.ErrorCode == errorcode.RebalanceInProgress:
		return true, nil
	case a.ErrorCode != errorcode.None:
		return false, fmt.Errorf("sync %s: %s", m.group, errorcode.Name(a.ErrorCode))
	case len(a.Assignment) < 2:
		return false, fmt.Errorf("sync %s: an assignment of %d bytes", m.group, len(a.Assignment))
	}
	var mine generated.ConsumerProtocolAssignment
	if _, err := mine.Decode(0, a.Assignment[2:]); err != nil {
		return false, err
	}
	m.assigned = 0
	for _, t := range mine.AssignedPartitions {
		m.assigned += len(t.Partitions)
	}
	return false, nil
}

// assignments deals the partitions out in turn.
func (m *member) assignments() ([]generated.SyncGroupRequestAssignment, error) {
	out := make([]generated.SyncGroupRequestAssignment, len(m.others))
	for i, id := range m.others {
		var mine []int32
		for p := i; p < m.partitions; p += len(m.others) {
			mine = append(mine, int32(p))
		}
		a := generated.ConsumerProtocolAssignment{AssignedPartitions: []generated.ConsumerProtocolAssignmentTopicPartition{{Topic: m.topic, Partitions: mine}}}
		text, err := a.Append([]byte{0, 0}, 0)
		if err != nil {
			return nil, err
		}
		out[i] = generated.SyncGroupRequestAssignment{MemberId: id, Assignment: text}
	}
	return out, nil
}

// settle joins and syncs until the member has an assignment.
func (m *member) settle(ctx context.Context) error {
	for again := true; again; {
		if err := m.join(ctx); err != nil {
			return err
		}
		var err error
		if again, err = m.sync(); err != nil {
			return err
		}
	}
	return nil
}

// heartbeat tells whether the group rebalances.
func (m *member) heartbeat() (rebalances bool, err error) {
	r := generated.DefaultHeartbeatRequest()
	r.GroupId, r.GenerationId, r.MemberId = m.group, m.generation, m.id
	var a generated.HeartbeatResponse
	if err := m.conn.call(generated.KeyHeartbeat, heartbeatVersion, &r, &a); err != nil {
		return false, err
	}
	switch a.ErrorCode {
	case errorcode.None:
		return false, nil
	case errorcode.RebalanceInProgress:
		return true, nil
	}
	return false, fmt.Errorf("heartbeat of %s: %s", m.group, errorcode.Name(a.ErrorCode))
}
