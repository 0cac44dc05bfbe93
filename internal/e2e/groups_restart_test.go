package e2e

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestGroupResumesAtCommit has a member consume half of a partition and commit
// that. The next one begins there: at once, after a restart of the bridge, and
// after it was killed.
func TestGroupResumesAtCommit(t *testing.T) {
	t.Parallel()
	b := startGroups(t)
	all := stamped(0, 0, append(edgeCases(), edgeCases()...))
	topics := map[string]string{}
	for name := range groupProtocols {
		topics[name] = topicName(t) + "." + name
		createTopic(t, b.addr, topics[name], 1, nil)
		franzProduce(t, b.addr, topics[name], all)
	}
	from := 0
	for _, again := range []struct {
		why  string
		make func()
	}{{"at once", func() {}}, {"after a restart", b.restart}, {"after a kill", func() { b.kill(); b.run() }}} {
		again.make()
		for name, topic := range topics {
			same(t, name+" "+again.why, consumeAndCommit(t, b.addr, topic, 10, groupProtocols[name]), all[from:from+10])
		}
		from += 10
	}
	b.alive()
}

// consumeAndCommit receives n records as the only member of a group, commits
// them, and leaves.
func consumeAndCommit(t *testing.T, addr, topic string, n int, protocol []kgo.Opt) []record {
	t.Helper()
	c := franz(t, addr, append([]kgo.Opt{kgo.ConsumerGroup(topic), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.HeartbeatInterval(100 * time.Millisecond), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())}, protocol...)...)
	defer c.Close()
	ctx := within(t, stepTime)
	var got []record
	for len(got) < n {
		fetches := c.PollRecords(ctx, n-len(got))
		if err := fetches.Err(); err != nil {
			t.Fatalf("%d of %d records: %v", len(got), n, err)
		}
		if err := c.CommitRecords(ctx, fetches.Records()...); err != nil {
			t.Fatalf("commit: %v", err)
		}
		fetches.EachRecord(func(r *kgo.Record) { got = append(got, fromFranz(r)) })
	}
	return got
}

// TestGroupSurvivesStops ends the bridge while members consume and commit, in
// good order and with SIGKILL in turn. Nothing is left out, and nothing comes
// again whose commit was acknowledged.
func TestGroupSurvivesStops(t *testing.T) {
	t.Parallel()
	const partitions, rounds = 4, 4
	b := startGroups(t)
	ledgers, feeds, members := map[string]*ledger{}, map[string]*feed{}, map[string][]*member{}
	for _, name := range []string{"range", "cooperative-sticky", "consumer-uniform"} {
		topic := topicName(t) + "." + name
		createTopic(t, b.addr, topic, partitions, nil)
		l := newLedger(t)
		opts := append([]kgo.Opt{kgo.ConsumeTopics(topic)}, groupProtocols[name]...)
		ledgers[topic], feeds[topic] = l, startFeed(t, b.addr, topic, partitions)
		members[topic] = []*member{joinGroup(t, b.addr, topic, "first", l, opts...), joinGroup(t, b.addr, topic, "second", l, opts...)}
	}
	for i := range rounds {
		for topic, l := range ledgers {
			before, _ := l.counts()
			await(t, topic+" gets on", func() bool { n, _ := l.counts(); return n >= before+100 })
		}
		if i%2 == 0 {
			b.kill()
			b.run()
		} else {
			b.restart()
		}
	}
	for topic, l := range ledgers {
		feeds[topic].finish(t)
		ended := endOffsets(t, b.addr, topic)
		await(t, topic+" is consumed and committed to its end", func() bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return maps.Equal(l.next, ended) && maps.Equal(l.committed, ended)
		})
		awaitShares(t, members[topic], 2, 2)
		for _, m := range members[topic] {
			m.leave()
		}
		l.matches(b.addr, topic)
	}
	b.alive()
}

// TestGroupsOfOthersSurviveKill kills the bridge under groups of Sarama and of
// kafka-go: they go on, nothing is left out, and in the end all is committed.
func TestGroupsOfOthersSurviveKill(t *testing.T) {
	t.Parallel()
	b := startGroups(t)
	topic := topicName(t)
	createTopic(t, b.addr, topic, 2, nil)
	f := startFeed(t, b.addr, topic, 2)
	ledgers := map[string]*ledger{topic + ".sarama": newLedger(t), topic + ".kafka-go": newLedger(t)}
	one := joinSarama(t, b.addr, topic+".sarama", topic, "sarama", ledgers[topic+".sarama"], nil)
	other := joinKafkaGo(t, b.addr, topic+".kafka-go", []string{topic}, ledgers[topic+".kafka-go"], kafka.RangeGroupBalancer{})
	one.patient.Store(true)
	other.patient.Store(true)
	getOn := func() {
		for group, l := range ledgers {
			before, _ := l.counts()
			await(t, group+" gets on", func() bool { n, _ := l.counts(); return n >= before+100 })
		}
	}
	getOn()
	b.kill()
	b.run()
	getOn()
	f.finish(t)
	ended := endOffsets(t, b.addr, topic)
	for group := range ledgers {
		await(t, group+" has committed all", func() bool {
			got := map[place]int64{}
			fetchCommits(t, b.addr, group).Each(func(o kadm.OffsetResponse) { got[place{o.Topic, o.Partition}] = o.At })
			return maps.Equal(got, ended)
		})
	}
	b.alive()
}

// endOffsets are the ends of all partitions of a topic.
func endOffsets(t *testing.T, addr, topic string) map[place]int64 {
	t.Helper()
	listed, err := kadm.NewClient(franz(t, addr)).ListEndOffsets(within(t, stepTime), topic)
	if err != nil {
		t.Fatal(err)
	}
	out := map[place]int64{}
	listed.Each(func(o kadm.ListedOffset) {
		if o.Err != nil {
			t.Fatalf("end of %s-%d: %v", o.Topic, o.Partition, o.Err)
		}
		out[place{o.Topic, o.Partition}] = o.Offset
	})
	return out
}

// TestGroupMembersSurviveStop ends the bridge under quiet members: the group is
// as it was, and a static member comes back to its partitions.
func TestGroupMembersSurviveStop(t *testing.T) {
	t.Parallel()
	b := startGroups(t)
	admin := kadm.NewClient(franz(t, b.addr))
	topic := topicName(t)
	createTopic(t, b.addr, topic, 4, nil)
	l := newLedger(t)
	opts := append([]kgo.Opt{kgo.ConsumeTopics(topic)}, groupProtocols["range"]...)
	static := func(name string) *member {
		return joinGroup(t, b.addr, topic, name, l, append(slices.Clone(opts), kgo.InstanceID(name), kgo.SessionTimeout(stepTime))...)
	}
	second := static("second")
	awaitShares(t, []*member{second}, 4)
	first := static("first")
	awaitShares(t, []*member{first, second}, 2, 2)
	owned := first.places()
	_, generation := second.c.GroupMetadata()
	awaitStable(t, b.addr, topic)

	first.leave()
	b.kill()
	b.run()
	again := static("first")
	awaitShares(t, []*member{again, second}, 2, 2)
	for _, p := range owned {
		if !slices.Contains(again.places(), p) {
			t.Errorf("the member that came back does not own %v", p)
		}
	}
	if _, now := again.c.GroupMetadata(); now != generation {
		t.Errorf("generation %d became %d", generation, now)
	}
	d, err := admin.DescribeGroups(within(t, stepTime), topic)
	if err != nil || d[topic].State != "Stable" || len(d[topic].Members) != 2 {
		t.Errorf("the group is %+v (%v), want it stable with two members", d[topic], err)
	}
	b.alive()
}
