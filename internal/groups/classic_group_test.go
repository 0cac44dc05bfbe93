package groups

import (
	"encoding/binary"
	"strconv"
	"strings"
	"testing"
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/statemachine"
	"kafka-iggy-bridge/internal/wire"
)

// classicIn brings group g into a phase, with a dynamic member m1-1 and a static
// one, one-2. Its generation is 1, or 2 when it is empty again.
func classicIn(t *testing.T, phase classicState) (*world, *classicGroup) {
	t.Helper()
	w := newWorld(t)
	steps := []string{"join m1 version=3", "join s1 instance=one", "tick 6s"}
	switch phase {
	case classicStable:
		steps = append(steps, "sync m1", "sync s1")
	case classicPreparing:
		steps = append(steps, "sync m1", "sync s1", "join m3 version=3")
	case classicEmpty:
		steps = append(steps, "leave m1", "leave s1", "tick 1m")
	}
	for _, step := range steps {
		w.run(step)
	}
	g := w.shard.groups["g"].(*classicGroup)
	if g.phase != phase {
		t.Fatalf("the group is %s, not %s", g.phase, phase)
	}
	return w, g
}

func TestClassicCommitIsChecked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		phase  classicState
		commit commitCheck
		want   int16
	}{
		"a member of the generation":                       {classicStable, commitCheck{memberID: "m1-1", epoch: 1}, errorcode.None},
		"a static member of the generation":                {classicStable, commitCheck{memberID: "one-2", instanceID: "one", hasInstance: true, epoch: 1}, errorcode.None},
		"while members join again, for what they had":      {classicPreparing, commitCheck{memberID: "m1-1", epoch: 1}, errorcode.None},
		"before the assignment":                            {classicCompleting, commitCheck{memberID: "m1-1", epoch: 1}, errorcode.RebalanceInProgress},
		"before the assignment, in a transaction":          {classicCompleting, commitCheck{memberID: "m1-1", epoch: 1, txn: true}, errorcode.None},
		"an old generation":                                {classicStable, commitCheck{memberID: "m1-1", epoch: 0}, errorcode.IllegalGeneration},
		"a generation to come":                             {classicStable, commitCheck{memberID: "m1-1", epoch: 2}, errorcode.IllegalGeneration},
		"a member without generation":                      {classicStable, commitCheck{memberID: "m1-1", epoch: -1}, errorcode.IllegalGeneration},
		"somebody else":                                    {classicStable, commitCheck{memberID: "m9-9", epoch: 1}, errorcode.UnknownMemberID},
		"a generation without member":                      {classicStable, commitCheck{epoch: 1}, errorcode.UnknownMemberID},
		"an older incarnation":                             {classicStable, commitCheck{memberID: "one-0", instanceID: "one", hasInstance: true, epoch: 1}, errorcode.FencedInstanceID},
		"an unknown instance":                              {classicStable, commitCheck{memberID: "m1-1", instanceID: "two", hasInstance: true, epoch: 1}, errorcode.UnknownMemberID},
		"from outside, into a group with members":          {classicStable, commitCheck{epoch: -1}, errorcode.UnknownMemberID},
		"from outside, by an old transactional producer":   {classicStable, commitCheck{epoch: -1, txn: true}, errorcode.None},
		"from outside, into an empty group":                {classicEmpty, commitCheck{epoch: -1}, errorcode.None},
		"from outside with a member id, into an empty one": {classicEmpty, commitCheck{memberID: "x", epoch: -1}, errorcode.None},
		"a member that is gone":                            {classicEmpty, commitCheck{memberID: "m1-1", epoch: 1}, errorcode.UnknownMemberID},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, g := classicIn(t, c.phase)
			if got := g.checkCommit(&c.commit); got != c.want {
				t.Errorf("%s, want %s", errorcode.Name(got), errorcode.Name(c.want))
			}
		})
	}
}

func TestClassicCommitIsAHeartbeat(t *testing.T) {
	t.Parallel()
	w, g := classicIn(t, classicStable)
	w.run("tick 9s")
	w.shard.now = w.now
	if code := g.checkCommit(&commitCheck{memberID: "m1-1", epoch: 1}); code != errorcode.None {
		t.Fatal(errorcode.Name(code))
	}
	w.run("tick 9s")
	if len(g.members) != 1 || g.members[0].id != "m1-1" {
		t.Errorf("the member that committed is not the one that stays: %v", g.byID)
	}
}

func TestClassicOffsetsExpire(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		group classicGroup
		since time.Time
		ok    bool
	}{
		"nobody ever joined: by their commits": {classicGroup{phase: classicEmpty, stateSince: 5}, time.Time{}, true},
		"empty: since the last member left":    {classicGroup{phase: classicEmpty, protoType: "consumer", stateSince: 5}, time.UnixMilli(5), true},
		"empty in an old record, which does not say since when": {
			classicGroup{phase: classicEmpty, protoType: "consumer", stateSince: -1}, time.Time{}, true},
		"stable, the subscriptions known": {
			classicGroup{phase: classicStable, protoType: "consumer", subscribed: map[string]struct{}{}}, time.Time{}, true},
		"stable, the subscriptions not known": {classicGroup{phase: classicStable, protoType: "consumer"}, time.Time{}, false},
		"stable, no consumers":                {classicGroup{phase: classicStable, protoType: "connect"}, time.Time{}, false},
		"members join": {
			classicGroup{phase: classicPreparing, protoType: "consumer", subscribed: map[string]struct{}{}}, time.Time{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if since, ok := c.group.expiresFrom(); !since.Equal(c.since) || ok != c.ok {
				t.Errorf("%v, %v; want %v, %v", since, ok, c.since, c.ok)
			}
		})
	}
}

func TestClassicSubscriptions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		join  string
		topic string
		want  bool
	}{
		"a topic of a member":                   {"topics=a,b", "b", true},
		"a topic of nobody":                     {"topics=a,b", "c", false},
		"any topic where nothing can be read":   {"metadata=?", "c", true},
		"any topic where the rest is cut off":   {"metadata=\x00\x00\x00\x00\x00\x09", "c", true},
		"no topic where members do not consume": {"type=connect", "t", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.run("join m1 version=3 " + c.join)
			w.run("tick 3s")
			if got := w.shard.groups["g"].subscribedTo(c.topic); got != c.want {
				t.Errorf("subscribed to %s: %v", c.topic, got)
			}
		})
	}
	_, empty := classicIn(t, classicEmpty)
	if empty.subscribedTo("t") {
		t.Error("a group without members consumes a topic")
	}
}

func TestClassicDeletion(t *testing.T) {
	t.Parallel()
	for _, phase := range []classicState{classicPreparing, classicCompleting, classicStable} {
		if _, g := classicIn(t, phase); g.checkDelete() != errorcode.NonEmptyGroup {
			t.Errorf("a group that is %s may be deleted", phase)
		}
	}
	if _, g := classicIn(t, classicEmpty); g.checkDelete() != errorcode.None {
		t.Error("an empty group may not be deleted")
	}
}

// TestClassicDrop checks that a group that is replaced leaves neither timers nor
// requests behind.
func TestClassicDrop(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string][]string{
		"members wait for others to join": {"join m1 version=3", "join p1"},
		"members wait for the leader":     {"join m1 version=3", "join m2 version=3", "tick 6s", "sync m2", "join p1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			others := w.shard.timers.Len()
			for _, step := range steps {
				w.run(step)
			}
			waiting := len(w.open)
			g := w.shard.groups["g"]
			g.drop()
			w.shard.write("g", g.tombstones()...)
			delete(w.shard.groups, "g")
			w.settle()
			if waiting == 0 || len(w.open) != 0 || w.shard.timers.Len() != others {
				t.Errorf("%d requests waited, %d still do, with %d timers", waiting, len(w.open), w.shard.timers.Len()-others)
			}
		})
	}
}

func TestClassicReplayOfOldRecords(t *testing.T) {
	t.Parallel()
	value := generated.DefaultGroupMetadataValue()
	value.ProtocolType, value.Generation, value.Protocol = "consumer", 7, wire.String("range")
	value.Leader = wire.String("gone")
	member := generated.DefaultGroupMetadataValueMemberMetadata()
	member.MemberId, member.SessionTimeout = "m1", 12_000
	value.Members = append(value.Members, member)
	for version := range int16(5) {
		encoded, err := value.Append(binary.BigEndian.AppendUint16(nil, uint16(version)), version)
		if err != nil {
			t.Fatal(err)
		}
		key := statemachine.NewRecord(time.Time{}, recordGroupMetadata, &generated.GroupMetadataKey{Group: "g"}, groupMetadataVersion, &value).Key
		w := newWorld(t)
		w.log = []records.Record{{Key: key, Value: encoded}}
		w.lax = true
		w.load()
		g := w.shard.groups["g"].(*classicGroup)
		switch {
		case g.phase != classicStable || g.generation != 7 || g.stateSince != -1:
			t.Errorf("version %d: %s generation %d since %d", version, g.phase, g.generation, g.stateSince)
		case g.members[0].rebalanceTimeout != 12_000:
			t.Errorf("version %d: the rebalance timeout is %d ms instead of the session's", version, g.members[0].rebalanceTimeout)
		case g.leader != "m1":
			t.Errorf("version %d: %q leads, who is no member", version, g.leader)
		}
	}
}

func TestClassicVote(t *testing.T) {
	t.Parallel()
	names := func(s string) []string { return strings.Split(s, ",") }
	for name, c := range map[string]struct {
		members [][]string
		want    string
	}{
		"the most votes":                           {[][]string{names("a,b"), names("b,a"), names("b,a")}, "b"},
		"only what all know":                       {[][]string{names("a,b"), names("b,c"), names("c,b")}, "b"},
		"a protocol that is named twice":           {[][]string{names("a,a,b"), names("b,a")}, "a"},
		"a tie, as Kafka's hash map has it":        {[][]string{names("zzz,yy"), names("yy,zzz")}, "yy"},
		"a tie in the other order":                 {[][]string{names("yy,zzz"), names("zzz,yy")}, "yy"},
		"more protocols than the map begins with":  {rotations(16), "a"},
		"a tie of names that are in one bucket":    {[][]string{names("Aa,BB"), names("BB,Aa")}, "Aa"},
		"a tie with characters beyond sixteen bit": {[][]string{names("\U0001F600,z"), names("z,\U0001F600")}, "\U0001F600"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newClassicGroup(newWorld(t).shard, "g")
			for i, protocols := range c.members {
				m := &classicMember{id: strconv.Itoa(i)}
				for _, p := range protocols {
					m.protocols = append(m.protocols, classicProtocol{name: p})
				}
				g.add(m, parked{})
			}
			if got := g.vote(); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// rotations makes n members that prefer another one of n protocols each.
func rotations(n int) (members [][]string) {
	for i := range n {
		var protocols []string
		for j := range n {
			protocols = append(protocols, string(rune('a'+(i+j)%n)))
		}
		members = append(members, protocols)
	}
	return members
}

// TestClassicTakesOverEmptyConsumerGroup checks that a consumer group without
// members becomes a classic one when a classic client joins it, and only then.
func TestClassicTakesOverEmptyConsumerGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.topics = NewTopicSet([]Topic{{Name: "t", ID: topicID("t"), Partitions: 1}})
	others := w.shard.timers.Len()
	for _, epoch := range []int32{0, -1} {
		r := generated.DefaultConsumerGroupHeartbeatRequest()
		r.GroupId, r.MemberId, r.MemberEpoch = "g", "0123456789012345678901", epoch
		if epoch == 0 {
			r.RebalanceTimeoutMs, r.SubscribedTopicNames = 60_000, []string{"t"}
			r.TopicPartitions = []generated.ConsumerGroupHeartbeatRequestTopicPartitions{}
		}
		w.send(w.client("new"), 68, 1, &r)
	}
	if g, ok := w.shard.groups["g"].(*consumerGroup); !ok || g.checkDelete() != errorcode.None {
		t.Fatalf("no empty consumer group: %v", w.shard.groups)
	}
	w.run("join m1 id=m1-9")
	if _, ok := w.shard.groups["g"].(*consumerGroup); !ok {
		t.Error("a client with a member id that nobody knows took the group over")
	}
	w.run("sync m1 gen=1 version=4")
	w.run("join m1 id= version=3")
	w.run("tick 3s")
	g, ok := w.shard.groups["g"].(*classicGroup)
	if !ok || g.phase != classicCompleting {
		t.Fatalf("the group was not taken over: %v", w.shard.groups["g"])
	}
	if live := snapshotOf(t, w.shard); len(live) != 1 {
		t.Errorf("records of the consumer group are left: %q", live)
	}
	g.drop()
	if n := w.shard.timers.Len(); n != others {
		t.Errorf("%d timers are left", n-others)
	}
}

// TestClassicFromMembers checks how a group of another protocol becomes a
// classic one: stable, with sessions, and what its members were assigned.
func TestClassicFromMembers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	g := newClassicGroup(w.shard, "g")
	g.generation = 5
	for _, id := range []string{"a", "b"} {
		g.add(&classicMember{
			id: id, sessionTimeout: 10_000, rebalanceTimeout: 60_000, protocolType: consumerProtocolType, assignment: []byte("for " + id),
			protocols: []classicProtocol{{"range", subscription(w, []string{"t"})}},
		}, parked{})
	}
	g.stabilize()
	w.shard.groups["g"] = g
	g.store()
	g.startSessions()
	w.settle()
	w.client("m").memberID = "b"
	for _, c := range []struct{ step, want string }{
		{"heartbeat m gen=5", "m <- HeartbeatResponse{}\n"},
		{"sync m gen=5 version=3", "m <- SyncGroupResponse{Assignment:\"for b\"}\n"},
		{"state", "generation 5 leader \"a\" Stable\n  a \"for a\"\n  b \"for b\"\n"},
	} {
		if got := w.run(c.step); got != c.want {
			t.Errorf("%s: %s, want %s", c.step, got, c.want)
		}
	}
	if g.kind() != "classic" || g.protocolType() != "consumer" || !g.subscribedTo("t") || g.subscribedTo("u") {
		t.Errorf("%s group for %q", g.kind(), g.protocolType())
	}
	g.prepareRebalance()
	if got := w.run("heartbeat m gen=5"); got != "m <- HeartbeatResponse{REBALANCE_IN_PROGRESS}\n" {
		t.Error(got)
	}
	w.run("tick 1h")
	if g.phase != classicEmpty {
		t.Errorf("members that never came are still there: %s", g.phase)
	}
}
