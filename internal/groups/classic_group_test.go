package groups

import (
	"encoding/binary"
	"testing"
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/records"
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
		key := newRecord(time.Time{}, recordGroupMetadata, &generated.GroupMetadataKey{Group: "g"}, groupMetadataVersion, &value).Key
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
