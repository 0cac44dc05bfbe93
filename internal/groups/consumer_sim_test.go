package groups

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"kafka-iggy-bridge/generated"
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
			// A classic group does not look at what a restarted static member subscribes
			// to.
			s.join(m.c.group, m.c.instance).names = m.names
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
