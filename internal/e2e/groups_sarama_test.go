package e2e

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/IBM/sarama"
)

// saramaMember is a Sarama consumer group of one member. It receives and commits
// until it is told to leave.
type saramaMember struct {
	name  string
	l     *ledger
	group sarama.ConsumerGroup
	stop  context.CancelFunc
	ended chan struct{}

	patient atomic.Bool // tries again when a session ends with an error

	mu     sync.Mutex
	claims map[string][]int32
	begun  int // sessions
	err    error
}

func joinSarama(t *testing.T, addr, group, topic, name string, l *ledger, configure func(*sarama.Config)) *saramaMember {
	t.Helper()
	config := saramaConfig(sarama.CompressionNone, sarama.WaitForAll)
	config.ClientID = name
	config.Consumer.Return.Errors = false
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Group.Heartbeat.Interval = 100 * time.Millisecond
	config.Consumer.Group.Session.Timeout = 6 * time.Second
	config.Metadata.RefreshFrequency = time.Second
	if configure != nil {
		configure(config)
	}
	g, err := sarama.NewConsumerGroup([]string{addr}, group, config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	m := &saramaMember{name: name, l: l, group: g, stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(m.ended)
		for ctx.Err() == nil {
			if err := g.Consume(ctx, []string{topic}, m); err != nil && ctx.Err() == nil && !m.patient.Load() {
				m.mu.Lock()
				m.err = err
				m.mu.Unlock()
				return
			}
		}
	}()
	t.Cleanup(func() {
		m.leave()
		if m.err != nil {
			t.Errorf("a member of %s: %v", group, m.err)
		}
	})
	return m
}

// leave ends the member. A static one stays in its group.
func (m *saramaMember) leave() {
	m.stop()
	<-m.ended
	_ = m.group.Close()
}

// Setup notes what the session gives.
func (m *saramaMember) Setup(s sarama.ConsumerGroupSession) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.claims = s.Claims()
	m.begun++
	return nil
}

// Cleanup notes that the session is over.
func (m *saramaMember) Cleanup(sarama.ConsumerGroupSession) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.claims = nil
	return nil
}

// ConsumeClaim receives one partition. It commits whenever there is nothing more
// to receive at once, and before it gives the partition away.
func (m *saramaMember) ConsumeClaim(s sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	defer s.Commit()
	for {
		select {
		case r, ok := <-claim.Messages():
			if !ok {
				return nil
			}
			m.l.enter(m.name, r.Topic, r.Partition, r.Offset)
			s.MarkMessage(r, "by sarama")
			if len(claim.Messages()) == 0 {
				s.Commit()
			}
		case <-s.Context().Done():
			return nil
		}
	}
}

func (m *saramaMember) share() []int32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []int32
	for _, ps := range m.claims {
		all = append(all, ps...)
	}
	return all
}

func (m *saramaMember) sessions() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.begun
}

func awaitSarama(t *testing.T, members []*saramaMember, shares ...int) {
	t.Helper()
	await(t, "Sarama's members share partitions", func() bool {
		var sizes []int
		all := map[int32]bool{}
		total := 0
		for _, m := range members {
			ps := m.share()
			sizes, total = append(sizes, len(ps)), total+len(ps)
			for _, p := range ps {
				all[p] = true
			}
		}
		slices.Sort(sizes)
		return slices.Equal(sizes, shares) && len(all) == total
	})
}

func TestSaramaGroups(t *testing.T) {
	t.Parallel()
	b := startGroups(t)
	strategies := map[string]sarama.BalanceStrategy{
		"range":      sarama.NewBalanceStrategyRange(),
		"roundrobin": sarama.NewBalanceStrategyRoundRobin(),
		"sticky":     sarama.NewBalanceStrategySticky(),
	}
	together(t, maps.Keys(strategies), func(t *testing.T, name string) {
		topic := topicName(t)
		createTopic(t, b.addr, topic, 4, nil)
		l := newLedger(t)
		configure := func(c *sarama.Config) {
			c.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{strategies[name]}
		}
		f := startFeed(t, b.addr, topic, 4)
		first := joinSarama(t, b.addr, topic, topic, "first", l, configure)
		awaitSarama(t, []*saramaMember{first}, 4)
		second := joinSarama(t, b.addr, topic, topic, "second", l, configure)
		awaitSarama(t, []*saramaMember{first, second}, 2, 2)
		first.leave()
		awaitSarama(t, []*saramaMember{second}, 4)
		total := f.finish(t)
		await(t, "all records are received", func() bool { n, _ := l.counts(); return n >= total })
		second.leave()
		if n, again := l.counts(); n != total || again != 0 {
			t.Errorf("%d records and %d of them again, want %d and none", n, again, total)
		}
		// A third one goes on where the group was.
		more := newLedger(t)
		maps.Copy(more.next, l.next)
		maps.Copy(more.committed, l.next)
		franzProduce(t, b.addr, topic, []record{{partition: 1, value: []byte("more")}})
		third := joinSarama(t, b.addr, topic, topic, "third", more, configure)
		await(t, "the next record is received", func() bool { n, _ := more.counts(); return n == 1 })
		third.leave()
	})
	b.alive()
}

func TestSaramaStaticMember(t *testing.T) {
	t.Parallel()
	b := startGroups(t)
	topic := topicName(t)
	createTopic(t, b.addr, topic, 4, nil)
	l := newLedger(t)
	static := func(name string) *saramaMember {
		return joinSarama(t, b.addr, topic, topic, name, l, func(c *sarama.Config) { c.Consumer.Group.InstanceId = name })
	}
	stays := static("stays")
	awaitSarama(t, []*saramaMember{stays}, 4)
	restarts := static("restarts")
	awaitSarama(t, []*saramaMember{stays, restarts}, 2, 2)
	before, sessions := restarts.share(), stays.sessions()
	restarts.leave()
	restarts = static("restarts")
	awaitSarama(t, []*saramaMember{stays, restarts}, 2, 2)
	after := restarts.share()
	slices.Sort(before)
	slices.Sort(after)
	if !slices.Equal(before, after) || stays.sessions() != sessions {
		t.Errorf("the restarted member had %v and has %v, the other had %d sessions and has had %d", before, after, sessions, stays.sessions())
	}
	b.alive()
}

// TestSaramaAdminGroups asks Sarama's admin, as of several releases of Kafka,
// about a group, and has it delete the group bit by bit.
func TestSaramaAdminGroups(t *testing.T) {
	t.Parallel()
	b := startGroups(t)
	versions := map[string]sarama.KafkaVersion{"1.1": sarama.V1_1_0_0, "2.4": sarama.V2_4_0_0, "3.0": sarama.V3_0_0_0, "newest": sarama.MaxVersion}
	together(t, maps.Keys(versions), func(t *testing.T, name string) {
		version := versions[name]
		topic := strings.ReplaceAll(topicName(t), " ", "")
		createTopic(t, b.addr, topic, 2, nil)
		franzProduce(t, b.addr, topic, stamped(0, 0, forSarama(edgeCases())))
		l := newLedger(t)
		m := joinSarama(t, b.addr, topic, topic, "member", l, func(c *sarama.Config) {
			c.Version = version
			if version.IsAtLeast(sarama.V2_4_0_0) {
				c.Consumer.Group.InstanceId = "instance"
			}
		})
		await(t, "all records are received", func() bool { n, _ := l.counts(); return n == len(forSarama(edgeCases())) })
		config := saramaConfig(sarama.CompressionNone, sarama.WaitForAll)
		config.Version = version
		admin, err := sarama.NewClusterAdmin([]string{b.addr}, config)
		if err != nil {
			t.Fatal(err)
		}
		defer admin.Close()
		saramaDescribes(t, admin, topic)
		if err := admin.DeleteConsumerGroup(topic); !errors.Is(err, sarama.ErrNonEmptyGroup) {
			t.Errorf("delete a group with members: %v", err)
		}
		m.leave()
		if version.IsAtLeast(sarama.V2_4_0_0) {
			left, err := admin.RemoveMemberFromConsumerGroup(topic, []string{"instance"})
			if err != nil || !errors.Is(left.Err, sarama.ErrNoError) {
				t.Errorf("remove a member: %+v, %v", left, err)
			}
			if err := admin.DeleteConsumerGroupOffset(topic, topic, 0); err != nil {
				t.Errorf("delete an offset: %v", err)
			}
		}
		if err := admin.DeleteConsumerGroup(topic); err != nil {
			t.Errorf("delete the group: %v", err)
		}
		if groups, err := admin.ListConsumerGroups(); err != nil || groups[topic] != "" {
			t.Errorf("the deleted group is listed: %v, %v", groups, err)
		}
	})
	b.alive()
}

func saramaDescribes(t *testing.T, admin sarama.ClusterAdmin, topic string) {
	t.Helper()
	groups, err := admin.ListConsumerGroups()
	if err != nil || groups[topic] != "consumer" {
		t.Errorf("listed %v (%v), want %s", groups, err, topic)
	}
	described, err := admin.DescribeConsumerGroups([]string{topic})
	if err != nil || len(described) != 1 {
		t.Fatalf("described %v: %v", described, err)
	}
	if g := described[0]; g.State != "Stable" || g.ProtocolType != "consumer" || g.Protocol != "range" || len(g.Members) != 1 {
		t.Errorf("described %+v", g)
	} else {
		for _, m := range g.Members {
			assigned, err := m.GetMemberAssignment()
			if err != nil || m.ClientId != "member" || len(assigned.Topics[topic]) != 2 {
				t.Errorf("member %+v: assigned %+v (%v)", m, assigned, err)
			}
		}
	}
	await(t, "the last commit is stored", func() bool {
		offsets, err := admin.ListConsumerGroupOffsets(topic, map[string][]int32{topic: {0, 1}})
		if err != nil {
			t.Fatal(err)
		}
		zero, one := offsets.GetBlock(topic, 0), offsets.GetBlock(topic, 1)
		if one == nil || one.Offset != -1 {
			t.Fatalf("partition 1 is committed: %+v", one)
		}
		return zero != nil && zero.Offset == int64(len(forSarama(edgeCases()))) && zero.Metadata == "by sarama"
	})
}
