package e2e

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestGroupMembersComeAndGo has members share six partitions, join, and leave
// while records flow: each record is received once, by one of them.
func TestGroupMembersComeAndGo(t *testing.T) {
	t.Parallel()
	b := startGroups(t)
	together(t, maps.Keys(groupProtocols), func(t *testing.T, name string) {
		topic := topicName(t)
		createTopic(t, b.addr, topic, 6, nil)
		l := newLedger(t)
		opts := append([]kgo.Opt{kgo.ConsumeTopics(topic)}, groupProtocols[name]...)
		f := startFeed(t, b.addr, topic, 6)

		first := joinGroup(t, b.addr, topic, "first", l, opts...)
		awaitShares(t, []*member{first}, 6)
		second := joinGroup(t, b.addr, topic, "second", l, opts...)
		awaitShares(t, []*member{first, second}, 3, 3)
		third := joinGroup(t, b.addr, topic, "third", l, opts...)
		awaitShares(t, []*member{first, second, third}, 2, 2, 2)
		first.leave()
		awaitShares(t, []*member{second, third}, 3, 3)
		second.leave()
		awaitShares(t, []*member{third}, 6)

		total := f.finish(t)
		await(t, "all records are received", func() bool { n, _ := l.counts(); return n >= total })
		third.leave()
		if n, again := l.counts(); n != total || again != 0 {
			t.Errorf("%d records and %d of them again, want %d and none", n, again, total)
		}
		l.matches(b.addr, topic)
		healthy(t, first, second, third)
	})
	b.alive()
}

// TestGroupMemberVanishes cuts a member off: once its session is over, another
// takes its partitions from the commits on.
func TestGroupMemberVanishes(t *testing.T) {
	t.Parallel()
	b := startGroups(t, "BRIDGE_GROUPS_CONSUMER_SESSION_TIMEOUT=6s")
	together(t, slices.Values([]string{"range", "cooperative-sticky", "consumer-uniform"}), func(t *testing.T, name string) {
		topic := topicName(t)
		createTopic(t, b.addr, topic, 4, nil)
		l := newLedger(t)
		opts := append([]kgo.Opt{kgo.ConsumeTopics(topic)}, groupProtocols[name]...)
		f := startFeed(t, b.addr, topic, 4)
		first := joinGroup(t, b.addr, topic, "first", l, opts...)
		second := joinGroup(t, b.addr, topic, "second", l, opts...)
		awaitShares(t, []*member{first, second}, 2, 2)
		first.vanish()
		awaitShares(t, []*member{second}, 4)
		total := f.finish(t)
		await(t, "all records are received", func() bool { n, _ := l.counts(); return n >= total })
		second.leave()
		l.matches(b.addr, topic)
		healthy(t, second)
	})
	b.alive()
}

// TestGroupStaticMembers restarts a member with an instance id (KIP-345): nobody
// else notices, and it has the same partitions again.
func TestGroupStaticMembers(t *testing.T) {
	t.Parallel()
	b := startGroups(t)
	together(t, slices.Values([]string{"range", "cooperative-sticky", "consumer-uniform"}), func(t *testing.T, name string) {
		topic := topicName(t)
		createTopic(t, b.addr, topic, 4, nil)
		l := newLedger(t)
		opts := append([]kgo.Opt{kgo.ConsumeTopics(topic)}, groupProtocols[name]...)
		static := func(name string) *member {
			return joinGroup(t, b.addr, topic, name, l, append(slices.Clone(opts), kgo.InstanceID(name))...)
		}
		// The first member leads. A leader that comes back has the others rejoin.
		stays := static("stays")
		awaitShares(t, []*member{stays}, 4)
		restarts := static("restarts")
		awaitShares(t, []*member{stays, restarts}, 2, 2)
		awaitStable(t, b.addr, topic)
		before := restarts.places()
		moves := stays.moves()
		id, generation := stays.c.GroupMetadata()

		restarts.leave()
		if name == "consumer-uniform" {
			leaveInstance(t, b.addr, topic, "restarts", restarts)
		}
		restarted := static("restarts")
		awaitShares(t, []*member{stays, restarted}, 2, 2)
		for _, p := range before {
			if !slices.Contains(restarted.places(), p) {
				t.Errorf("the restarted member does not own %v", p)
			}
		}
		f := startFeed(t, b.addr, topic, 4)
		total := f.finish(t)
		await(t, "all records are received", func() bool { n, _ := l.counts(); return n >= total })
		if got, now := stays.c.GroupMetadata(); got != id || now != generation || stays.moves() != moves {
			t.Errorf("the member that stays was %s in generation %d and is %s in %d, %d of its partitions moved", id, generation, got, now, stays.moves()-moves)
		}
		healthy(t, stays, restarted)
	})
	b.alive()
}

// leaveInstance takes leave for a static member of a consumer group that comes
// back. The client does so itself, but without the instance id, which Kafka
// refuses.
func leaveInstance(t *testing.T, addr, group, instance string, m *member) {
	t.Helper()
	id, _ := m.c.GroupMetadata()
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.MemberID, req.MemberEpoch, req.InstanceID = group, id, -2, &instance
	resp, err := req.RequestWith(within(t, stepTime), franz(t, addr))
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	if err != nil {
		t.Fatalf("leave as instance %s: %v", instance, err)
	}
}

// TestGroupFencesInstances starts a second member of the same instance: the first
// is told so and stops. Then an admin removes the instance.
func TestGroupFencesInstances(t *testing.T) {
	t.Parallel()
	b := startGroups(t)
	topic := topicName(t)
	createTopic(t, b.addr, topic, 2, nil)
	l := newLedger(t)
	opts := []kgo.Opt{kgo.ConsumeTopics(topic), kgo.InstanceID("one"), kgo.Balancers(kgo.RangeBalancer())}
	first := joinGroup(t, b.addr, topic, "first", l, opts...)
	awaitShares(t, []*member{first}, 2)
	second := joinGroup(t, b.addr, topic, "second", l, opts...)
	await(t, "the first member is fenced", func() bool { return errors.Is(first.failure(), kerr.FencedInstanceID) })
	awaitShares(t, []*member{second}, 2)
	healthy(t, second)
	second.leave()

	admin := kadm.NewClient(franz(t, b.addr))
	left, err := admin.LeaveGroup(within(t, stepTime), kadm.LeaveGroup(topic).InstanceIDs("one", "nobody").Reason("test"))
	if err != nil {
		t.Fatal(err)
	}
	if err := left["one"].Err; err != nil {
		t.Errorf("the instance could not be removed: %v", err)
	}
	if err := left["nobody"].Err; !errors.Is(err, kerr.UnknownMemberID) {
		t.Errorf("an instance that is not there: %v, want %v", err, kerr.UnknownMemberID)
	}
	described, err := admin.DescribeGroups(within(t, stepTime), topic)
	if err != nil || described[topic].State != "Empty" {
		t.Errorf("the group is %+v (%v), want it empty", described[topic], err)
	}
	b.alive()
}

// TestGroupCooperativeKeepsPartitions joins a second member to a cooperative
// group: the first keeps what it is not asked to give, and goes on meanwhile.
func TestGroupCooperativeKeepsPartitions(t *testing.T) {
	t.Parallel()
	b := startGroups(t)
	together(t, slices.Values([]string{"cooperative-sticky", "consumer-uniform"}), func(t *testing.T, name string) {
		topic := topicName(t)
		createTopic(t, b.addr, topic, 6, nil)
		l := newLedger(t)
		opts := append([]kgo.Opt{kgo.ConsumeTopics(topic)}, groupProtocols[name]...)
		first := joinGroup(t, b.addr, topic, "first", l, opts...)
		awaitShares(t, []*member{first}, 6)
		second := joinGroup(t, b.addr, topic, "second", l, opts...)
		awaitShares(t, []*member{first, second}, 3, 3)
		if n := first.moves(); n != 9 {
			t.Errorf("%d partitions came to the first member and left it, want 6 and 3", n)
		}
		if n := second.moves(); n != 3 {
			t.Errorf("%d partitions came to the second member and left it, want 3 and none", n)
		}
		healthy(t, first, second)
	})
	b.alive()
}
