package groups

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/wire"
)

// consumerSim is a random schedule: groups of clients that join, consume, slow
// down, crash, restart and change their subscriptions, over topics that come,
// grow and go.
type consumerSim struct {
	w      *world
	rnd    *rand.Rand
	groups int
	live   []*simConsumer
	serial int
	topics map[string]Topic
	// classic is how many of ten clients use the classic protocol; cooperative
	// tells how those hand partitions over.
	classic     int
	cooperative bool
	// quiet: nothing happens any more but what clients must do.
	quiet bool
}

// simPartition is a partition as clients know it: by topic id.
type simPartition struct {
	topic     wire.UUID
	partition int32
}

type partitionBag map[simPartition]bool

// simConsumer is what clients of both protocols have in common: they own
// partitions, and do something at a time.
type simConsumer struct {
	sim    *consumerSim
	c      *client
	names  []string
	regex  string
	dead   bool
	owned  partitionBag
	do     func()
	at     time.Time
	lost   bool // the next answer does not arrive
	rebal  time.Duration
	driver simDriver
}

// simDriver is the protocol of a client.
type simDriver interface {
	start()
	answered(answer generated.Message)
	leave()
}

func init() {
	onAnswer = append(onAnswer, func(c *client, answer generated.Message) {
		m, ok := c.state.(*simConsumer)
		if !ok || m.dead {
			return
		}
		if m.lost {
			m.lost = false
			m.later(time.Second, m.driver.start)
			return
		}
		m.driver.answered(answer)
	})
}

func newConsumerSim(w *world, seed uint64) *consumerSim {
	w.lax = true
	s := &consumerSim{w: w, rnd: rand.New(rand.NewPCG(seed, seed)), groups: 3, topics: make(map[string]Topic)}
	for range 6 {
		s.changeTopics()
	}
	return s
}

// changeTopics makes a topic, grows one or deletes one.
func (s *consumerSim) changeTopics() {
	names := sortedKeys(s.topics)
	switch n := s.rnd.IntN(10); {
	case len(names) < 5 || n < 3 && len(names) < 12:
		s.serial++
		name := fmt.Sprintf("%s-%d", []string{"orders", "payments"}[s.rnd.IntN(2)], s.serial)
		s.topics[name] = Topic{Name: name, ID: topicID(name), Partitions: 1 + s.rnd.Int32N(24)}
	case n < 8:
		t := s.topics[names[s.rnd.IntN(len(names))]]
		t.Partitions += s.rnd.Int32N(4)
		s.topics[t.Name] = t
	default:
		delete(s.topics, names[s.rnd.IntN(len(names))])
	}
	s.w.topics = NewTopicSet(slices.Collect(maps.Values(s.topics)))
}

// subscription is what a client wants to consume.
func (s *consumerSim) subscription() []string {
	names := sortedKeys(s.topics)
	switch s.rnd.IntN(3) {
	case 0:
		return names
	case 1:
		return names[:len(names)/2]
	default:
		return slices.DeleteFunc(names, func(string) bool { return s.rnd.IntN(2) == 0 })
	}
}

// join starts a client; instance is "" for a dynamic one.
func (s *consumerSim) join(group, instance string) *simConsumer {
	s.serial++
	m := &simConsumer{sim: s, names: s.subscription(), owned: partitionBag{}, rebal: 20 * time.Second}
	m.c = &client{name: fmt.Sprintf("m%d", s.serial), group: group, instance: instance, generation: -1, state: m}
	if s.rnd.IntN(10) < s.classic {
		m.driver = &simClassic{m: m}
	} else {
		m.driver = &simModern{m: m}
		if s.rnd.IntN(4) == 0 {
			m.regex = []string{"orders.*", ".*s-[0-9]+", "payments.*"}[s.rnd.IntN(3)]
		}
	}
	s.live = append(s.live, m)
	m.later(time.Second, m.driver.start)
	return m
}

func (m *simConsumer) later(most time.Duration, do func()) {
	m.do, m.at = do, m.sim.w.now.Add(time.Duration(m.sim.rnd.Int64N(int64(most))))
}

// stop ends a client: what it owned nobody consumes any more.
func (m *simConsumer) stop() {
	m.dead, m.do = true, nil
	m.owned = nil
	m.sim.live = slices.DeleteFunc(m.sim.live, func(o *simConsumer) bool { return o == m })
}

// step lets the next thing happen.
func (s *consumerSim) step() {
	if !s.quiet {
		s.churn()
	}
	var next *simConsumer
	for _, m := range s.live {
		if m.do != nil && (next == nil || m.at.Before(next.at)) {
			next = m
		}
	}
	if next == nil {
		s.w.advance(time.Second)
		return
	}
	if wait := next.at.Sub(s.w.now); wait > 0 {
		s.w.advance(wait)
	}
	if next.dead || next.do == nil {
		return
	}
	do := next.do
	next.do = nil
	do()
	s.check(next.c.group)
}

// churn is what people, and failing machines, do.
func (s *consumerSim) churn() {
	if s.rnd.IntN(150) == 0 {
		s.changeTopics()
	}
	if s.rnd.IntN(20) != 0 {
		return
	}
	group := "g" + strconv.Itoa(s.rnd.IntN(s.groups))
	if len(s.live) == 0 || s.rnd.IntN(3) == 0 && len(s.live) < 150 {
		instance := ""
		if s.rnd.IntN(3) == 0 {
			s.serial++
			instance = "i" + strconv.Itoa(s.serial)
		}
		s.join(group, instance)
		return
	}
	m := s.live[s.rnd.IntN(len(s.live))]
	switch s.rnd.IntN(6) {
	case 0: // it leaves
		m.driver.leave()
		m.stop()
	case 1: // it crashes
		m.stop()
	case 2: // it restarts
		if static := m.c.instance != ""; static {
			if modern, ok := m.driver.(*simModern); ok && s.rnd.IntN(2) == 0 {
				modern.send(staticLeaveEpoch, false)
			}
			m.stop()
			s.join(m.c.group, m.c.instance)
		}
	case 3: // it consumes something else
		m.names = s.subscription()
	case 4: // an answer is lost
		m.lost = m.do != nil
	case 5:
		m.rebal = time.Duration(1+s.rnd.IntN(30)) * time.Second
	}
}

// member reports whether the coordinator has a client as a member.
func (s *consumerSim) member(m *simConsumer) bool {
	switch g := s.w.shard.groups[m.c.group].(type) {
	case *consumerGroup:
		return g.members[m.c.memberID] != nil
	case *classicGroup:
		return g.byID[m.c.memberID] != nil
	}
	return false
}

// check checks that no partition of a group is owned twice, neither as its
// clients see it nor as the coordinator does.
func (s *consumerSim) check(group string) {
	s.w.t.Helper()
	owners := make(map[simPartition]*simConsumer, 256)
	for _, m := range s.live {
		if m.c.group != group || !s.member(m) {
			continue // fenced, and does not know it yet
		}
		for p := range m.owned {
			if other := owners[p]; other != nil {
				s.w.t.Fatalf("%s-%d of %s is owned by %s and %s", showTopicID(p.topic), p.partition, group, other.c.memberID, m.c.memberID)
			}
			owners[p] = m
		}
	}
	if g, ok := s.w.shard.groups[group].(*consumerGroup); ok {
		checkOwners(s.w, group, g)
	}
}

func checkOwners(w *world, id string, g *consumerGroup) {
	w.t.Helper()
	owners := make(map[simPartition]string, 256)
	for _, m := range g.members {
		for _, o := range []ownership{m.assigned, m.revoking} {
			for topic, owned := range o {
				for _, p := range owned {
					key := simPartition{topic, p.partition}
					if other, ok := owners[key]; ok {
						w.t.Fatalf("%s-%d of %s belongs to %s and %s", showTopicID(topic), p.partition, id, other, m.id)
					}
					owners[key] = m.id
					if epoch, ok := g.owners[topic][p.partition]; !ok || epoch != m.epoch {
						w.t.Fatalf("%s-%d of %s: owned at epoch %d, noted is %d", showTopicID(topic), p.partition, id, m.epoch, epoch)
					}
				}
			}
		}
	}
}

// wants reports whether a client subscribes to a topic.
func (m *simConsumer) wants(topic string) bool {
	if slices.Contains(m.names, topic) {
		return true
	}
	return m.regex != "" && slices.Contains(matches(m.regex, m.sim.w.topics), topic)
}

// checkSettled checks that all groups are stable, and that every partition that
// a member of a group subscribes to is consumed.
func (s *consumerSim) checkSettled() {
	s.w.t.Helper()
	want := make(map[string]int)
	have := make(map[string]int)
	for _, m := range s.live {
		group := s.w.shard.groups[m.c.group]
		if group == nil || group.state() != "Stable" || !s.member(m) {
			s.w.t.Fatalf("%s of %s: member %v, group\n%s", m.c.memberID, m.c.group, s.member(m), s.w.run("members group="+m.c.group))
		}
		have[m.c.group] += len(m.owned)
	}
	for g := range have {
		for name, t := range s.topics {
			if slices.ContainsFunc(s.live, func(m *simConsumer) bool { return m.c.group == g && m.wants(name) }) {
				want[g] += int(t.Partitions)
			}
		}
		if want[g] != have[g] {
			s.w.t.Fatalf("%s: %d of %d partitions are consumed", g, have[g], want[g])
		}
	}
}

// toPartitions reads topics of names, as classic members know them.
func (s *consumerSim) named(name string, partitions []int32, to partitionBag) {
	if t, ok := s.w.topics.ByName(name); ok {
		for _, p := range partitions {
			to[simPartition{t.ID, p}] = true
		}
	}
}

// byTopic are the partitions of a client, by topic.
func (p partitionBag) byTopic() map[wire.UUID][]int32 {
	topics := make(map[wire.UUID][]int32)
	for one := range p {
		topics[one.topic] = append(topics[one.topic], one.partition)
	}
	for _, partitions := range topics {
		slices.Sort(partitions)
	}
	return topics
}

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
	// sub has the leader's knowledge of the members.
	subs     map[string]*generated.ConsumerProtocolSubscription
	protocol string
	leader   bool
	lastOwn  partitionBag
}

// start joins. Eager consumers give everything up for it, cooperative ones keep
// it.
func (d *simClassic) start() {
	m := d.m
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

// outdated reports whether the client has to join again by itself: the leader
// when topics have changed, others when their own subscription has.
func (d *simClassic) outdated() bool {
	now := partitionBag{}
	for _, name := range d.m.names {
		if t, ok := d.m.sim.topics[name]; ok {
			for p := range t.Partitions {
				now[simPartition{t.ID, p}] = true
			}
		}
	}
	if d.lastOwn == nil || maps.Equal(now, d.lastOwn) {
		d.lastOwn = now
		return false
	}
	d.lastOwn = now
	return true
}
