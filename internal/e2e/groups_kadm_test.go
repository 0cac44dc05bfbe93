package e2e

import (
	"errors"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestKadmGroups lists, describes and measures groups of each kind, and deletes
// them and their offsets.
func TestKadmGroups(t *testing.T) {
	t.Parallel()
	b := startGroups(t)
	topic := topicName(t)
	createTopic(t, b.addr, topic, 2, nil)
	franzProduce(t, b.addr, topic, stamped(0, 0, edgeCases()))
	classic, consumer, simple := topic+".classic", topic+".consumer", topic+".simple"
	l, other := newLedger(t), newLedger(t)
	one := joinGroup(t, b.addr, classic, "one", l, append(groupProtocols["range"], kgo.ConsumeTopics(topic), kgo.InstanceID("one"))...)
	two := joinGroup(t, b.addr, consumer, "two", other, append(groupProtocols["consumer-uniform"], kgo.ConsumeTopics(topic))...)
	awaitShares(t, []*member{one}, 2)
	awaitShares(t, []*member{two}, 2)
	awaitStable(t, b.addr, classic)
	awaitStable(t, b.addr, consumer)
	for _, l := range []*ledger{l, other} {
		await(t, "all is committed", func() bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.committed[place{topic, 0}] == int64(len(edgeCases()))
		})
	}
	admin := kadm.NewClient(franz(t, b.addr))
	var o kadm.Offsets
	o.AddOffset(topic, 0, 4, -1)
	o.AddOffset(topic, 1, 0, -1)
	if err := admin.CommitAllOffsets(within(t, stepTime), simple, o); err != nil {
		t.Fatal(err)
	}

	t.Run("list", func(t *testing.T) { kadmLists(t, admin, classic, consumer, simple) })
	t.Run("describe", func(t *testing.T) { kadmDescribes(t, admin, topic, classic, consumer, simple) })
	t.Run("lag", func(t *testing.T) { kadmLag(t, admin, topic, classic, simple) })
	t.Run("refused deletions", func(t *testing.T) { kadmDeletesNothing(t, admin, topic, classic, consumer) })
	one.leave()
	two.leave()
	if _, err := admin.LeaveGroup(within(t, stepTime), kadm.LeaveGroup(classic).InstanceIDs("one")); err != nil {
		t.Fatal(err)
	}
	t.Run("deletions", func(t *testing.T) { kadmDeletes(t, b, topic, classic, consumer, simple) })
	b.alive()
}

func kadmLists(t *testing.T, admin *kadm.Client, classic, consumer, simple string) {
	for _, c := range []struct {
		why           string
		types, states []string
		want          []string
	}{
		{"all", nil, nil, []string{classic, consumer, simple}},
		{"by state", nil, []string{"stable"}, []string{classic, consumer}},
		{"by another state", nil, []string{"Empty"}, []string{simple}},
		{"by states", nil, []string{"Stable", "Empty"}, []string{classic, consumer, simple}},
		{"by type", []string{"consumer"}, nil, []string{consumer}},
		{"by type and state", []string{"Classic"}, []string{"Stable"}, []string{classic}},
		{"by a state that none is in", []string{"classic"}, []string{"PreparingRebalance"}, nil},
	} {
		listed, err := admin.ListGroupsByType(within(t, stepTime), c.types, c.states...)
		if err != nil {
			t.Fatalf("%s: %v", c.why, err)
		}
		var got []string
		for _, g := range listed.Groups() {
			if slices.Contains([]string{classic, consumer, simple}, g) {
				got = append(got, g)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.why, got, c.want)
		}
		for _, want := range []kadm.ListedGroup{
			{Group: classic, GroupType: "classic", ProtocolType: "consumer", State: "Stable"},
			{Group: consumer, GroupType: "consumer", ProtocolType: "consumer", State: "Stable"},
			{Group: simple, GroupType: "classic", ProtocolType: "", State: "Empty"},
		} {
			got, ok := listed[want.Group]
			if want.Coordinator = got.Coordinator; ok && got != want {
				t.Errorf("%s: %+v, want %+v", c.why, got, want)
			}
		}
	}
}

func kadmDescribes(t *testing.T, admin *kadm.Client, topic, classic, consumer, simple string) {
	described, err := admin.DescribeGroups(within(t, stepTime), classic, simple, "no-such-group")
	if err != nil {
		t.Fatal(err)
	}
	if g := described[classic]; g.State != "Stable" || g.ProtocolType != "consumer" || g.Protocol != "range" || len(g.Members) != 1 {
		t.Errorf("classic group: %+v", g)
	} else if m := g.Members[0]; m.ClientID != "one" || m.InstanceID == nil || *m.InstanceID != "one" || m.ClientHost == "" ||
		!slices.Equal(g.JoinTopics(), []string{topic}) || len(g.AssignedPartitions()[topic]) != 2 {
		t.Errorf("its member: %+v, topics %v, assigned %v", m, g.JoinTopics(), g.AssignedPartitions())
	}
	if g := described[simple]; g.Err != nil || g.State != "Empty" || len(g.Members) != 0 {
		t.Errorf("simple group: %+v", g)
	}
	if g := described["no-such-group"]; !errors.Is(g.Err, kerr.GroupIDNotFound) || g.State != "Dead" {
		t.Errorf("group that is not there: %+v", g)
	}

	modern, err := admin.DescribeConsumerGroups(within(t, stepTime), consumer, classic)
	if err != nil {
		t.Fatal(err)
	}
	if g := modern[consumer]; g.State != "Stable" || g.AssignorName != "uniform" || g.Epoch < 1 || g.AssignmentEpoch != g.Epoch || len(g.Members) != 1 {
		t.Errorf("consumer group: %+v", g)
	} else if m := g.Members[0]; m.ClientID != "two" || m.MemberEpoch != g.Epoch || m.MemberType != 1 || !slices.Equal(m.SubscribedTopics, []string{topic}) ||
		len(m.Assignment[topic]) != 2 || len(m.TargetAssignment[topic]) != 2 {
		t.Errorf("its member: %+v", m)
	}
	if g := modern[classic]; !errors.Is(g.Err, kerr.GroupIDNotFound) {
		t.Errorf("a classic group as a consumer group: %+v", g)
	}
}

func kadmLag(t *testing.T, admin *kadm.Client, topic, classic, simple string) {
	lags, err := admin.Lag(within(t, stepTime), classic, simple)
	if err != nil {
		t.Fatal(err)
	}
	for group, want := range map[string]int64{classic: 0, simple: int64(len(edgeCases()) - 4)} {
		lag := lags[group]
		if err := lag.Error(); err != nil {
			t.Errorf("%s: %v", group, err)
		}
		if got, ok := lag.Lag.Lookup(topic, 0); !ok || got.Lag != want || got.IsEmpty() != (group == simple) {
			t.Errorf("%s: %+v, want a lag of %d", group, got, want)
		}
	}
	many := admin.FetchManyOffsets(within(t, stepTime), classic, simple, "no-such-group")
	if err := many.Error(); err != nil {
		t.Fatal(err)
	}
	if got, _ := many[simple].Fetched.Lookup(topic, 0); got.At != 4 {
		t.Errorf("%s is committed at %+v, want 4", simple, got)
	}
	if got, _ := many[classic].Fetched.Lookup(topic, 0); got.At != int64(len(edgeCases())) {
		t.Errorf("%s is committed at %+v, want %d", classic, got, len(edgeCases()))
	}
	if got := many["no-such-group"].Fetched; len(got) != 0 {
		t.Errorf("a group that is not there has offsets: %v", got)
	}
}

func kadmDeletesNothing(t *testing.T, admin *kadm.Client, topic, classic, consumer string) {
	for _, group := range []string{classic, consumer} {
		if d, _ := admin.DeleteGroup(within(t, stepTime), group); !errors.Is(d.Err, kerr.NonEmptyGroup) {
			t.Errorf("delete %s with members: %v, want %v", group, d.Err, kerr.NonEmptyGroup)
		}
		var s kadm.TopicsSet
		s.Add(topic, 0)
		deleted, err := admin.DeleteOffsets(within(t, stepTime), group, s)
		if got, _ := deleted.Lookup(topic, 0); err != nil || !errors.Is(got, kerr.GroupSubscribedToTopic) {
			t.Errorf("delete offsets of %s with members: %v, %v, want %v", group, got, err, kerr.GroupSubscribedToTopic)
		}
	}
	if d, _ := admin.DeleteGroup(within(t, stepTime), "no-such-group"); !errors.Is(d.Err, kerr.GroupIDNotFound) {
		t.Errorf("delete a group that is not there: %v, want %v", d.Err, kerr.GroupIDNotFound)
	}
}

func kadmDeletes(t *testing.T, b *broker, topic, classic, consumer, simple string) {
	admin := kadm.NewClient(franz(t, b.addr))
	var s kadm.TopicsSet
	s.Add(topic, 0)
	for _, group := range []string{consumer, simple} {
		deleted, err := admin.DeleteOffsets(within(t, stepTime), group, s)
		if err == nil {
			err = deleted.Error()
		}
		if err != nil {
			t.Errorf("delete an offset of %s: %v", group, err)
		}
		if got, ok := fetchCommits(t, b.addr, group).Lookup(topic, 0); ok {
			t.Errorf("%s still has %+v", group, got)
		}
	}
	if _, ok := fetchCommits(t, b.addr, simple).Lookup(topic, 1); !ok {
		t.Error("the offset beside the deleted one is gone")
	}
	gone, err := admin.DeleteGroups(within(t, stepTime), classic, consumer, simple)
	if err == nil {
		err = gone.Error()
	}
	if err != nil {
		t.Fatalf("delete groups: %v", err)
	}
	for _, again := range []func(){func() {}, b.restart} {
		again()
		listed, err := admin.ListGroups(within(t, stepTime))
		if err != nil {
			t.Fatal(err)
		}
		for _, group := range []string{classic, consumer, simple} {
			if g, ok := listed[group]; ok {
				t.Errorf("a deleted group is listed: %+v", g)
			}
			if got := fetchCommits(t, b.addr, group); len(got) != 0 {
				t.Errorf("deleted group %s has offsets %v", group, got)
			}
		}
	}
}
