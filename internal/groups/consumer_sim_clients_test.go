package groups

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/wire"
)

// simModern is a client of the consumer protocol.
type simModern struct {
	m     *simConsumer
	epoch int32
	// target is what the last answer gave it, nil when it has taken that over. said
	// is false when it has to tell what it owns.
	target partitionBag
	said   bool
}

// start sends a heartbeat that says everything: the first one, and the one after
// a lost answer.
func (d *simModern) start() { d.send(d.epoch, true) }

func (d *simModern) beat() { d.send(d.epoch, d.m.sim.rnd.IntN(20) == 0) }

func (d *simModern) send(epoch int32, full bool) {
	m := d.m
	if m.c.memberID == "" {
		m.c.memberID = m.c.name
	}
	r := generated.DefaultConsumerGroupHeartbeatRequest()
	r.GroupId, r.MemberId, r.MemberEpoch = m.c.group, m.c.memberID, epoch
	r.InstanceId = wire.NullString{S: m.c.instance, Valid: m.c.instance != ""}
	full = full && epoch >= 0 || epoch == joinEpoch
	if full {
		r.RebalanceTimeoutMs = int32(m.rebal.Milliseconds())
	}
	if epoch >= 0 {
		r.SubscribedTopicNames = append([]string{}, m.names...)
		r.SubscribedTopicRegex = wire.String(m.regex)
	}
	if full || !d.said && d.target == nil {
		r.TopicPartitions = []generated.ConsumerGroupHeartbeatRequestTopicPartitions{}
		owned := m.owned.byTopic()
		for _, id := range topicIDs(owned) {
			partitions := owned[id]
			r.TopicPartitions = append(r.TopicPartitions, generated.ConsumerGroupHeartbeatRequestTopicPartitions{TopicId: id, Partitions: partitions})
		}
		d.said = true
	}
	m.later(8*time.Second, d.beat)
	m.sim.w.send(m.c, 68, 1, &r)
}

func (d *simModern) answered(answer generated.Message) {
	a, ok := answer.(*generated.ConsumerGroupHeartbeatResponse)
	if !ok {
		return
	}
	switch a.ErrorCode {
	case errorcode.None:
		d.epoch = a.MemberEpoch
		if a.Assignment != nil {
			d.take(a.Assignment)
		}
	case errorcode.FencedMemberEpoch, errorcode.UnknownMemberID:
		d.epoch, d.target, d.m.owned = 0, nil, partitionBag{}
		d.m.later(time.Second, d.start)
	case errorcode.UnreleasedInstanceID, errorcode.GroupIDNotFound:
		// Somebody else still has the place, or the group went on without it as a
		// classic one.
		d.epoch, d.target, d.m.owned = 0, nil, partitionBag{}
		d.m.later(5*time.Second, d.start)
	case errorcode.FencedInstanceID:
		d.m.stop()
	default:
		d.m.sim.w.t.Fatalf("%s: %s", d.m.c.memberID, show(a))
	}
}

// take reconciles the client with a new assignment: it first gives up what it
// has to, which takes time, and goes on with heartbeats meanwhile.
func (d *simModern) take(a *generated.ConsumerGroupHeartbeatResponseAssignment) {
	target := partitionBag{}
	for _, t := range a.TopicPartitions {
		for _, p := range t.Partitions {
			target[simPartition{t.TopicId, p}] = true
		}
	}
	d.target = target
	slow := 3 * time.Second
	if !d.m.sim.quiet && d.m.sim.rnd.IntN(20) == 0 {
		slow = 40 * time.Second
	}
	d.m.later(slow, func() {
		if d.target != nil {
			d.m.owned, d.target, d.said = d.target, nil, false
		}
		d.beat()
	})
}

func (d *simModern) leave() { d.send(leaveEpoch, false) }

// simClassic is a consumer of the classic protocol.
type simClassic struct {
	m *simConsumer
	// subs has the leader's knowledge of the members.
	subs     map[string]*generated.ConsumerProtocolSubscription
	protocol string
	leader   bool
	// joinedFor is what was wanted at the last JoinGroup.
	joinedFor partitionBag
}

// start joins. Eager consumers give everything up for it, cooperative ones keep
// it.
func (d *simClassic) start() {
	m := d.m
	d.subs = nil
	d.joinedFor = d.wanted()
	if !m.sim.cooperative {
		m.owned = partitionBag{}
	}
	sub := generated.DefaultConsumerProtocolSubscription()
	sub.Topics = m.names
	owned := m.owned.byTopic()
	for _, id := range topicIDs(owned) {
		if t, ok := m.sim.w.topics.ByID(id); ok {
			sub.OwnedPartitions = append(sub.OwnedPartitions, generated.ConsumerProtocolSubscriptionTopicPartition{Topic: t.Name, Partitions: owned[id]})
		}
	}
	metadata, err := sub.Append([]byte{0, 1}, 1)
	if err != nil {
		m.sim.w.t.Fatal(err)
	}
	r := generated.DefaultJoinGroupRequest()
	r.GroupId, r.MemberId, r.ProtocolType = m.c.group, m.c.memberID, consumerProtocolType
	r.GroupInstanceId = wire.NullString{S: m.c.instance, Valid: m.c.instance != ""}
	r.SessionTimeoutMs, r.RebalanceTimeoutMs = 10_000, int32(m.rebal.Milliseconds())
	r.Protocols = []generated.JoinGroupRequestProtocol{{Name: "range", Metadata: metadata}}
	m.do = nil
	m.sim.w.send(m.c, 11, 9, &r)
}

func (d *simClassic) sync() {
	m := d.m
	r := generated.DefaultSyncGroupRequest()
	r.GroupId, r.MemberId, r.GenerationId = m.c.group, m.c.memberID, m.c.generation
	r.GroupInstanceId = wire.NullString{S: m.c.instance, Valid: m.c.instance != ""}
	r.ProtocolType, r.ProtocolName = wire.String(consumerProtocolType), wire.String(d.protocol)
	if d.leader {
		r.Assignments = d.assign()
	}
	m.do = nil
	m.sim.w.send(m.c, 14, 5, &r)
}

// assign shares the partitions out. Cooperative leaders leave out what another
// member has not given up yet.
func (d *simClassic) assign() []generated.SyncGroupRequestAssignment {
	d.joinedFor = d.wanted()
	ids := sortedKeys(d.subs)
	owner := make(map[string]string)
	for id, sub := range d.subs {
		for _, o := range sub.OwnedPartitions {
			for _, p := range o.Partitions {
				owner[fmt.Sprint(o.Topic, "/", p)] = id
			}
		}
	}
	given := make(map[string]*generated.ConsumerProtocolAssignment)
	for _, id := range ids {
		given[id] = &generated.ConsumerProtocolAssignment{}
	}
	for _, name := range sortedKeys(d.m.sim.topics) {
		t := d.m.sim.topics[name]
		takers := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !slices.Contains(d.subs[id].Topics, name) })
		for p := range t.Partitions {
			if len(takers) == 0 {
				continue
			}
			to := takers[int(p)%len(takers)]
			if was := owner[fmt.Sprint(name, "/", p)]; was != "" && was != to {
				continue
			}
			a := given[to]
			if n := len(a.AssignedPartitions); n == 0 || a.AssignedPartitions[n-1].Topic != name {
				a.AssignedPartitions = append(a.AssignedPartitions, generated.ConsumerProtocolAssignmentTopicPartition{Topic: name})
			}
			last := &a.AssignedPartitions[len(a.AssignedPartitions)-1]
			last.Partitions = append(last.Partitions, p)
		}
	}
	var out []generated.SyncGroupRequestAssignment
	for _, id := range ids {
		b, err := given[id].Append([]byte{0, 1}, 1)
		if err != nil {
			d.m.sim.w.t.Fatal(err)
		}
		out = append(out, generated.SyncGroupRequestAssignment{MemberId: id, Assignment: b})
	}
	return out
}

func (d *simClassic) heartbeat() {
	m := d.m
	r := generated.DefaultHeartbeatRequest()
	r.GroupId, r.MemberId, r.GenerationId = m.c.group, m.c.memberID, m.c.generation
	r.GroupInstanceId = wire.NullString{S: m.c.instance, Valid: m.c.instance != ""}
	m.later(3*time.Second, d.heartbeat)
	m.sim.w.send(m.c, 12, 4, &r)
}

func (d *simClassic) leave() {
	m := d.m
	r := generated.DefaultLeaveGroupRequest()
	r.GroupId = m.c.group
	r.Members = []generated.LeaveGroupRequestMemberIdentity{{
		MemberId: m.c.memberID, GroupInstanceId: wire.NullString{S: m.c.instance, Valid: m.c.instance != ""},
	}}
	m.sim.w.send(m.c, 13, 5, &r)
}

func (d *simClassic) answered(answer generated.Message) {
	switch a := answer.(type) {
	case *generated.JoinGroupResponse:
		d.joined(a)
	case *generated.SyncGroupResponse:
		d.synced(a)
	case *generated.HeartbeatResponse:
		d.failed(a.ErrorCode)
	}
}

func (d *simClassic) joined(a *generated.JoinGroupResponse) {
	m := d.m
	if a.ErrorCode != errorcode.None {
		if a.ErrorCode == errorcode.MemberIDRequired {
			m.c.memberID = a.MemberId
		}
		d.failed(a.ErrorCode)
		return
	}
	m.c.memberID, m.c.generation = a.MemberId, a.GenerationId
	d.protocol, d.leader = a.ProtocolName.S, a.Leader == a.MemberId
	d.subs = make(map[string]*generated.ConsumerProtocolSubscription)
	for _, other := range a.Members {
		sub, err := decodeSubscription(other.Metadata)
		if err != nil {
			m.sim.w.t.Fatal(err)
		}
		for i := range sub.Topics {
			sub.Topics[i] = strings.Clone(sub.Topics[i])
		}
		d.subs[other.MemberId] = sub
	}
	m.later(time.Second, d.sync)
}

func (d *simClassic) synced(a *generated.SyncGroupResponse) {
	m := d.m
	if a.ErrorCode != errorcode.None {
		d.failed(a.ErrorCode)
		return
	}
	now := partitionBag{}
	if len(a.Assignment) > 0 {
		assigned, err := decodeAssignment(a.Assignment)
		if err != nil {
			m.sim.w.t.Fatal(err)
		}
		for _, t := range assigned.AssignedPartitions {
			m.sim.named(t.Topic, t.Partitions, now)
		}
	}
	gaveUp := false
	for p := range m.owned {
		gaveUp = gaveUp || !now[p]
	}
	m.owned = now
	if gaveUp && m.sim.cooperative {
		m.later(time.Second, d.start)
		return
	}
	m.later(3*time.Second, d.heartbeat)
}

// failed does what the error code of an answer asks for.
func (d *simClassic) failed(code int16) {
	m := d.m
	switch code {
	case errorcode.None:
		if d.outdated() {
			m.later(time.Second, d.start)
		}
		return
	case errorcode.RebalanceInProgress, errorcode.MemberIDRequired:
	case errorcode.UnknownMemberID:
		m.c.memberID, m.c.generation, m.owned = "", -1, partitionBag{}
	case errorcode.IllegalGeneration, errorcode.InconsistentGroupProtocol:
		m.c.generation, m.owned = -1, partitionBag{}
	case errorcode.FencedInstanceID:
		m.stop()
		return
	default:
		m.sim.w.t.Fatalf("%s: error %s", m.c.memberID, errorcode.Name(code))
	}
	m.later(time.Second, d.start)
}

// outdated reports whether topics or the subscription are not what they were
// when the client joined: then it joins again by itself.
func (d *simClassic) outdated() bool { return !maps.Equal(d.wanted(), d.joinedFor) }

// wanted are the partitions there are of what the client subscribes to; a leader
// looks after the topics of all members.
func (d *simClassic) wanted() partitionBag {
	now := partitionBag{}
	names := slices.Clone(d.m.names)
	for _, sub := range d.subs {
		names = append(names, sub.Topics...)
	}
	for _, name := range names {
		if t, ok := d.m.sim.topics[name]; ok {
			for p := range t.Partitions {
				now[simPartition{t.ID, p}] = true
			}
		}
	}
	return now
}
