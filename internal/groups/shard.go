// Package groups is the group coordinator's state machine, without I/O and
// without a clock. A Shard holds all groups of one partition of
// __consumer_offsets, of both protocols: classic groups (JoinGroup, SyncGroup)
// and consumer groups (KIP-848), and the offsets that are committed for them. It
// behaves as the coordinator of Apache Kafka 4.4.0 does, and keeps the same
// records; only what is pending in transactions has records of its own.
package groups

import (
	"fmt"
	"iter"
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/statemachine"
	"kafka-iggy-bridge/internal/wire"
)

// Shard is the coordinator of the groups of one partition. It implements
// statemachine.Machine, and every rule about its use is written there.
//
// A method that handles a request decides first, then changes the state and
// emits the records that replay to that same state, then the answer: nothing is
// ever turned back.
type Shard struct {
	config Config
	topics func() *TopicSet

	groups map[string]group
	// offsets are by group id. An entry without a group is a simple group: one that
	// exists by its offsets alone, which Kafka shows as an Empty classic group
	// without a protocol type.
	offsets map[string]*offsetTable
	// pending are the offsets of open transactions. Their groups have an entry in
	// offsets.
	pending pendingTable
	timers  statemachine.Timers[timerKey]
	actions []statemachine.Action
	// offsetTopics are the topics as the offsets last knew them.
	offsetTopics *TopicSet
	// topicView is what consumer groups know of the topics.
	topicView topicView
	// now is the time of the event that is being handled.
	now time.Time
	// lastWritten is the group whose records were written last.
	lastWritten string
	// loaded is set once the log has been replayed.
	loaded bool
}

var _ statemachine.Machine = (*Shard)(nil)

// group is a group of either protocol.
type group interface {
	// kind is the group's type as ListGroups says it.
	kind() string
	// protocolType is what the members use the group for, "consumer" in most.
	protocolType() string
	// state is the name of the group's state, as ListGroups says it.
	state() string
	// checkCommit tells whether a member may commit offsets: an error code, which
	// then is that of every partition. A memberID "" with a generation or epoch below
	// 0 comes from outside the group. Commits within transactions (txn) leave some
	// checks out. A classic group refreshes the member's session with it, as Kafka
	// does: it is asked only when the commit follows.
	checkCommit(c *commitCheck) int16
	// checkFetch tells whether offsets may be fetched in the name of a member: an
	// error code. It is not asked for fetches in nobody's name, those without a
	// member id (null) and with an epoch below 0.
	checkFetch(memberID string, epoch int32) int16
	// checkDelete tells whether the group may be deleted: NonEmptyGroup while it
	// has members.
	checkDelete() int16
	// subscribedTo reports whether members consume a topic, as far as is known:
	// its offsets are not expired or deleted meanwhile.
	subscribedTo(topic string) bool
	// expiresFrom is since when the group's offsets age towards their end (KIP-211):
	// the zero time for each since its own commit, which is so for simple groups and
	// consumer groups and for Stable classic groups of consumers; the time when the
	// last member left for an Empty classic group; and false while nothing may
	// expire. Topics with subscribedTo are left out besides.
	expiresFrom() (time.Time, bool)
	// tombstones are the records that remove all records of the group itself;
	// without those of its offsets.
	tombstones() []records.Record
	// snapshot yields the group's own records, and returns false when yield did.
	snapshot(yield func(records.Record) bool) bool
	// drop ends the group's timers: it is deleted or replaced.
	drop()
}

// commitCheck is who wants to commit.
type commitCheck struct {
	memberID   string
	instanceID string
	// hasInstance tells a null instance id from an empty one.
	hasInstance bool
	// epoch is the generation or the member epoch.
	epoch int32
	// version is the request's; txn marks a TxnOffsetCommit.
	version int16
	txn     bool
	// partitions are those whose offsets would be stored: a member of a consumer
	// group may be behind in its epoch as long as it was given each of them in that
	// epoch or before (KIP-1251).
	partitions iter.Seq2[wire.UUID, int32]
}

// timerKey names a timer: what it is for, of which group and, where it is a
// member's, of which member.
type timerKey struct {
	purpose timerPurpose
	group   string
	member  string
}

type timerPurpose uint8

// NewShard makes a Shard without groups. topics gives the newest snapshot of
// the topics there are; it must be cheap and never nil.
func NewShard(config Config, topics func() *TopicSet) *Shard {
	return &Shard{
		config:  config,
		topics:  topics,
		groups:  make(map[string]group),
		offsets: make(map[string]*offsetTable),
		pending: newPendingTable(),
	}
}

// Handle takes a request: any API of the group coordinator that names exactly
// one group, and EndTransaction, which names none. Requests for several groups
// are split by the caller.
func (s *Shard) Handle(now time.Time, c statemachine.Call) {
	s.now = now
	s.forgetDeletedTopics()
	switch body := c.Body.(type) {
	case *generated.JoinGroupRequest:
		s.joinGroup(&c, body)
	case *generated.SyncGroupRequest:
		s.syncGroup(&c, body)
	case *generated.HeartbeatRequest:
		s.heartbeat(&c, body)
	case *generated.LeaveGroupRequest:
		s.leaveGroup(&c, body)
	case *generated.ConsumerGroupHeartbeatRequest:
		s.consumerGroupHeartbeat(&c, body)
	case *generated.OffsetCommitRequest:
		s.offsetCommit(&c, body)
	case *generated.TxnOffsetCommitRequest:
		s.txnOffsetCommit(&c, body)
	case *EndTransaction:
		s.endTransaction(&c, body)
	case *generated.OffsetFetchRequest:
		s.offsetFetch(&c, body)
	case *generated.OffsetDeleteRequest:
		s.offsetDelete(&c, body)
	case *generated.DescribeGroupsRequest:
		s.describeGroup(&c, body)
	case *generated.ConsumerGroupDescribeRequest:
		s.consumerGroupDescribe(&c, body)
	case *generated.ListGroupsRequest:
		s.listGroups(&c, body)
	case *generated.DeleteGroupsRequest:
		s.deleteGroup(&c, body)
	default:
		panic(fmt.Sprintf("groups: %T is no request of the group coordinator", c.Body))
	}
}

// Next is when the first timer is due.
func (s *Shard) Next() time.Time { return s.timers.Next() }

// Tick fires the timers that are due.
func (s *Shard) Tick(now time.Time) {
	s.now = now
	s.timers.Tick(now)
}

// Take returns what is to be done.
func (s *Shard) Take() []statemachine.Action {
	actions := s.actions
	s.actions = nil
	return actions
}

// Loaded starts the timers of what was replayed.
func (s *Shard) Loaded(now time.Time) {
	s.now = now
	s.loaded = true
	s.classicLoaded()
	s.consumerLoaded()
	s.offsetsLoaded()
}

// Snapshot yields all records that make up the state.
func (s *Shard) Snapshot() iter.Seq[records.Record] {
	return func(yield func(records.Record) bool) {
		for _, g := range s.groups {
			if !g.snapshot(yield) {
				return
			}
		}
		for id, table := range s.offsets {
			if !table.snapshot(id, yield) {
				return
			}
		}
		s.pending.snapshot(yield)
	}
}

// Live is about how many records there are.
func (s *Shard) Live() int {
	n := len(s.groups) + s.pending.count
	for _, table := range s.offsets {
		n += table.len()
	}
	return n
}

// answer answers a request once the group's records so far are written.
func (s *Shard) answer(groupID string, token statemachine.Token, m generated.Message) {
	if token != 0 {
		s.actions = append(s.actions, statemachine.Action{Scope: groupID, Token: token, Answer: m})
	}
}

// write appends records, all or none.
func (s *Shard) write(groupID string, rs ...records.Record) {
	if len(rs) > 0 {
		s.lastWritten = groupID
		s.actions = append(s.actions, statemachine.Action{Scope: groupID, Records: rs})
	}
}
