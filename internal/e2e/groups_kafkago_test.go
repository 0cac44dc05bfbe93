package e2e

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
)

// kafkaGoMember is a kafka-go reader in a group. It receives and commits until it
// is told to leave.
type kafkaGoMember struct {
	r     *kafka.Reader
	stop  context.CancelFunc
	ended chan struct{}

	patient atomic.Bool // goes on after errors

	mu   sync.Mutex
	from map[int]int // records received by partition
	err  error
}

func joinKafkaGo(t *testing.T, addr, group string, topics []string, l *ledger, balancer kafka.GroupBalancer) *kafkaGoMember {
	t.Helper()
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{addr}, GroupID: group, GroupTopics: topics, StartOffset: kafka.FirstOffset,
		GroupBalancers: []kafka.GroupBalancer{balancer}, HeartbeatInterval: 100 * time.Millisecond, SessionTimeout: 6 * time.Second,
		JoinGroupBackoff: 100 * time.Millisecond, MaxWait: 200 * time.Millisecond, ReadBackoffMin: 10 * time.Millisecond,
		WatchPartitionChanges: true, PartitionWatchInterval: 500 * time.Millisecond})
	ctx, stop := context.WithCancel(context.Background())
	m := &kafkaGoMember{r: r, stop: stop, ended: make(chan struct{}), from: map[int]int{}}
	go func() {
		defer close(m.ended)
		for {
			msg, err := r.FetchMessage(ctx)
			if err == nil {
				l.enter("a member", msg.Topic, int32(msg.Partition), msg.Offset)
				m.mu.Lock()
				m.from[msg.Partition]++
				m.mu.Unlock()
				err = r.CommitMessages(context.WithoutCancel(ctx), msg)
			}
			if ctx.Err() != nil {
				return
			}
			if err != nil && !m.patient.Load() {
				m.mu.Lock()
				m.err = errors.Join(m.err, err)
				m.mu.Unlock()
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

func (m *kafkaGoMember) leave() {
	m.stop()
	<-m.ended
	_ = m.r.Close()
}

// partitions are those that the member has received records of, anew since the
// last call.
func (m *kafkaGoMember) partitions() []int {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []int
	for p := range m.from {
		out = append(out, p)
	}
	slices.Sort(out)
	clear(m.from)
	return out
}

func TestKafkaGoGroups(t *testing.T) {
	t.Parallel()
	b := startGroups(t)
	balancers := map[string]kafka.GroupBalancer{"range": kafka.RangeGroupBalancer{}, "roundrobin": kafka.RoundRobinGroupBalancer{}}
	together(t, maps.Keys(balancers), func(t *testing.T, name string) {
		balancer := balancers[name]
		topic := topicName(t)
		createTopic(t, b.addr, topic, 4, nil)
		l := newLedger(t)
		f := startFeed(t, b.addr, topic, 4)
		first := joinKafkaGo(t, b.addr, topic, []string{topic}, l, balancer)
		await(t, "the first member has all", func() bool { n, _ := l.counts(); return n > 40 && len(first.partitions()) == 4 })
		second := joinKafkaGo(t, b.addr, topic, []string{topic}, l, balancer)
		await(t, "both members have two", func() bool {
			before, _ := l.counts()
			await(t, "more is received", func() bool { n, _ := l.counts(); return n > before+40 })
			one, two := first.partitions(), second.partitions()
			return len(one) == 2 && len(two) == 2 && !slices.Equal(one, two)
		})
		first.leave()
		total := f.finish(t)
		await(t, "all records are received", func() bool { n, _ := l.counts(); return n >= total })
		second.leave()
		// Not before: the reader hands out what it had fetched before a rebalance
		// when others have that partition.
		maps.Copy(l.committed, l.next)
		l.matches(b.addr, topic)

		// Another one goes on at the commits.
		franzProduce(t, b.addr, topic, []record{{partition: 2, value: []byte("more")}})
		third := joinKafkaGo(t, b.addr, topic, []string{topic}, l, balancer)
		await(t, "the next record is received", func() bool { n, _ := l.counts(); return n == total+1 })
		third.leave()
		maps.Copy(l.committed, l.next)
		l.matches(b.addr, topic)
	})
	b.alive()
}

// TestKafkaGoAdminGroups lists, describes and deletes groups with kafka-go's
// client, and commits without members.
func TestKafkaGoAdminGroups(t *testing.T) {
	t.Parallel()
	b := startGroups(t)
	topic := topicName(t)
	createTopic(t, b.addr, topic, 2, nil)
	c := &kafka.Client{Addr: kafka.TCP(b.addr), Transport: &kafka.Transport{}}
	defer c.Transport.(*kafka.Transport).CloseIdleConnections()
	ctx := within(t, stepTime)
	committed, err := c.OffsetCommit(ctx, &kafka.OffsetCommitRequest{GroupID: topic, GenerationID: -1,
		Topics: map[string][]kafka.OffsetCommit{topic: {{Partition: 0, Offset: 3, Metadata: "by kafka-go"}, {Partition: 1, Offset: 0}}}})
	if err != nil || len(committed.Topics[topic]) != 2 || committed.Topics[topic][0].Error != nil {
		t.Fatalf("commit: %+v, %v", committed, err)
	}
	fetched, err := c.OffsetFetch(ctx, &kafka.OffsetFetchRequest{GroupID: topic, Topics: map[string][]int{topic: {0, 1}}})
	if err != nil || fetched.Error != nil {
		t.Fatalf("fetch: %+v, %v", fetched, err)
	}
	for _, p := range fetched.Topics[topic] {
		if p.Error != nil || p.Partition == 0 && (p.CommittedOffset != 3 || p.Metadata != "by kafka-go") || p.Partition == 1 && p.CommittedOffset != 0 {
			t.Errorf("fetched %+v", p)
		}
	}
	listed, err := c.ListGroups(ctx, &kafka.ListGroupsRequest{})
	if err != nil || !slices.ContainsFunc(listed.Groups, func(g kafka.ListGroupsResponseGroup) bool { return g.GroupID == topic }) {
		t.Errorf("listed %+v, %v", listed, err)
	}
	described, err := c.DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{topic}})
	if err != nil || len(described.Groups) != 1 || described.Groups[0].GroupState != "Empty" {
		t.Errorf("described %+v, %v", described, err)
	}
	deleted, err := c.OffsetDelete(ctx, &kafka.OffsetDeleteRequest{GroupID: topic, Topics: map[string][]int{topic: {0}}})
	if err != nil || deleted.Error != nil || len(deleted.Topics[topic]) != 1 || deleted.Topics[topic][0].Error != nil {
		t.Errorf("deleted %+v, %v", deleted, err)
	}
	gone, err := c.DeleteGroups(ctx, &kafka.DeleteGroupsRequest{GroupIDs: []string{topic, "no-such-group"}})
	if err != nil || gone.Errors[topic] != nil || !errors.Is(gone.Errors["no-such-group"], kafka.GroupIdNotFound) {
		t.Errorf("deleted %+v, %v", gone, err)
	}
	b.alive()
}
