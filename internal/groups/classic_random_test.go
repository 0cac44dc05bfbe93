package groups

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/statemachine"
	"kafka-iggy-bridge/internal/wire"
)

// TestClassicRandomSchedules lets many clients join, leave, die and restart for
// some minutes of virtual time, with coordinators that restart too, then lets
// them settle, and then ends them all.
func TestClassicRandomSchedules(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			runSchedule(t, seed)
		})
	}
}

func runSchedule(t *testing.T, seed uint64) {
	s := &sim{w: newWorld(t), rnd: rand.New(rand.NewPCG(seed, 7)), owners: make(map[string]string)}
	s.w.lax = true
	s.otherTimers = s.w.shard.timers.Len()
	s.metadata = subscription(s.w, []string{"t"})
	for i := range 120 {
		s.start(s.instance(i), s.group())
	}
	s.run(4*time.Minute, s.chaos)

	// Clients behave: within the longest of timeouts each is a stable member.
	s.run(7*time.Minute, nil)
	s.checkTimers()
	s.w.checkLog()
	s.checkSettled()

	for _, m := range s.clients {
		if m.phase != simGone && s.rnd.IntN(2) == 0 {
			m.leave()
		}
		m.phase, m.do = simGone, nil
	}
	s.run(7*time.Minute, nil)
	s.w.checkLog()
	for id, g := range s.w.shard.groups {
		if g.state() != string(classicEmpty) {
			t.Errorf("group %s without clients is %s", id, g.state())
		}
	}
	if n := s.w.shard.timers.Len() - s.otherTimers; n != 0 {
		t.Errorf("%d timers are left without members", n)
	}
	for _, r := range s.w.open {
		t.Errorf("%T of %s was never answered", r.body, r.client.name)
	}
}

func (s *sim) group() string { return fmt.Sprintf("group-%d", s.rnd.IntN(5)) }

// instance makes every fourth client static.
func (s *sim) instance(i int) string {
	if i%4 > 0 {
		return ""
	}
	return fmt.Sprintf("instance-%d", i)
}

// chaos does something to somebody, now and then.
func (s *sim) chaos() {
	m := s.clients[s.rnd.IntN(len(s.clients))]
	switch s.rnd.IntN(40) {
	case 0: // a new client
		s.start("", s.group())
	case 1: // an orderly end
		if m.phase != simGone {
			m.leave()
		}
	case 2: // kill -9
		m.phase, m.do = simGone, nil
	case 3: // a restart, perhaps while the old one is still there (a static one is fenced then)
		if s.rnd.IntN(2) == 0 || !m.static() {
			m.phase, m.do = simGone, nil
		}
		s.start(m.c.instance, m.c.group)
	case 4: // the answer is lost: the client asks again, on another connection
		if m.phase == simJoining {
			m.rejoin()
		}
	case 5:
		s.old(m)
	case 6:
		if s.rnd.IntN(10) == 0 {
			s.restart()
		}
		s.checkTimers()
		s.w.checkLog()
	}
}

// old sends what a member of an older generation would, which changes nothing.
func (s *sim) old(m *simClient) {
	g, ok := s.w.shard.groups[m.c.group].(*classicGroup)
	if !ok || m.c.memberID == "" || m.c.generation < 1 {
		return
	}
	before := s.describe(g)
	heartbeat := generated.DefaultHeartbeatRequest()
	heartbeat.GroupId, heartbeat.MemberId, heartbeat.GenerationId = g.id, m.c.memberID, g.generation-1
	sync := generated.DefaultSyncGroupRequest()
	sync.GroupId, sync.MemberId, sync.GenerationId = g.id, m.c.memberID, g.generation-1
	sync.Assignments = []generated.SyncGroupRequestAssignment{{MemberId: m.c.memberID, Assignment: []byte("stolen")}}
	ghost := &client{name: "ghost", group: g.id}
	s.w.send(ghost, 12, 2, &heartbeat)
	s.w.send(ghost, 14, 2, &sync)
	code := g.checkCommit(&commitCheck{memberID: m.c.memberID, epoch: g.generation - 1})
	if code == errorcode.None {
		s.w.t.Fatalf("a commit of generation %d is accepted in generation %d", g.generation-1, g.generation)
	}
	if after := s.describe(g); after != before {
		s.w.t.Fatalf("an old generation changed the group from\n%s\nto\n%s", before, after)
	}
}

func (s *sim) describe(g *classicGroup) string {
	d := generated.DefaultDescribeGroupsResponseDescribedGroup()
	g.describe(&d)
	r := generated.DescribeGroupsResponse{Groups: []generated.DescribeGroupsResponseDescribedGroup{d}}
	return fmt.Sprint(show(&r), g.generation, g.leader, g.awaitingJoin, g.pendingSync)
}

// checkTimers checks that everything that waits has a timer that ends it, that
// there are no other timers, and that the counts are right.
func (s *sim) checkTimers() {
	s.w.t.Helper()
	timers, want := &s.w.shard.timers, s.otherTimers
	need := func(k timerKey, why string) {
		if want++; !timers.Has(k) {
			s.w.t.Fatalf("group %s: no timer for %s", k.group, why)
		}
	}
	for _, other := range s.w.shard.groups {
		g := other.(*classicGroup)
		awaitingJoin, pendingSync, supported := 0, 0, make(map[string]int)
		for _, m := range g.members {
			if !m.waits() {
				need(g.sessionKey(m), "member "+m.id)
			} else if timers.Has(g.sessionKey(m)) {
				want++
			}
			if m.join.token != 0 {
				awaitingJoin++
			}
			if m.pendingSync {
				pendingSync++
			}
			for _, p := range m.protocols {
				supported[p.name]++
			}
			if g.byID[m.id] != m || m.instanceID.Valid && g.static[m.instanceID.S] != m {
				s.w.t.Fatalf("group %s: member %s is not found", g.id, m.id)
			}
		}
		for id := range g.pending {
			need(timerKey{timerClassicSession, g.id, id}, "pending "+id)
		}
		if g.phase == classicPreparing {
			need(g.joinKey(), "the join phase")
		}
		if pendingSync > 0 {
			need(g.syncKey(), "missing syncs")
		}
		if awaitingJoin != g.awaitingJoin || pendingSync != g.pendingSync || !maps.Equal(supported, g.supported) && len(supported) > 0 {
			s.w.t.Fatalf("group %s counts %d joins, %d syncs, protocols %v instead of %d, %d, %v",
				g.id, g.awaitingJoin, g.pendingSync, g.supported, awaitingJoin, pendingSync, supported)
		}
	}
	if timers.Len() != want {
		s.w.t.Fatalf("there are %d timers for %d that wait", timers.Len(), want)
	}
}

// checkSettled checks that the groups' members are the clients that are there,
// and own all partitions.
func (s *sim) checkSettled() {
	s.w.t.Helper()
	want := make(map[string][]string)
	for _, m := range s.clients {
		if m.phase != simGone {
			want[m.c.group] = append(want[m.c.group], m.c.memberID)
		}
	}
	for id, other := range s.w.shard.groups {
		g := other.(*classicGroup)
		var members []string
		var owned []string
		for _, m := range g.members {
			members = append(members, m.id)
			_, partitions, _ := strings.Cut(string(m.assignment), " ")
			owned = append(owned, strings.Fields(partitions)...)
		}
		slices.Sort(members)
		slices.Sort(want[id])
		if g.phase != classicStable || !slices.Equal(members, want[id]) {
			s.w.t.Errorf("group %s is %s with %v, clients are %v", id, g.phase, members, want[id])
		}
		slices.Sort(owned)
		if n := len(slices.Compact(slices.Clone(owned))); n != simPartitions || len(owned) != n {
			s.w.t.Errorf("group %s assigns %d partitions, %d of them different, instead of %d", id, len(owned), n, simPartitions)
		}
	}
}

// TestClassicHeartbeatAllocates checks that a heartbeat makes nothing but its
// answer and the action that carries it.
func TestClassicHeartbeatAllocates(t *testing.T) {
	w := newWorld(t)
	w.run("join m1 version=3")
	w.run("tick 3s")
	w.run("sync m1")
	r := generated.HeartbeatRequest{GroupId: "g", MemberId: "m1-1", GenerationId: 1, GroupInstanceId: wire.NullString{}}
	call := statemachine.Call{Token: 99, Key: 12, Version: 4, Body: &r}
	got := testing.AllocsPerRun(1000, func() {
		w.now = w.now.Add(time.Millisecond)
		w.shard.Handle(w.now, call)
		if len(w.shard.Take()) != 1 {
			t.Fatal("no answer")
		}
	})
	if got > 2 {
		t.Errorf("a heartbeat allocates %v times", got)
	}
}

// BenchmarkClassicHeartbeat is one heartbeat among 5,000 members.
func BenchmarkClassicHeartbeat(b *testing.B) {
	w := newWorld(b)
	w.lax = true
	for g := range 1000 {
		for range 5 {
			w.run(fmt.Sprintf("join m group=g%d id= version=3", g))
		}
	}
	w.run("tick 6s")
	requests := make([]generated.HeartbeatRequest, 0, 5000)
	for id, g := range w.shard.groups {
		for _, m := range g.(*classicGroup).members {
			requests = append(requests, generated.HeartbeatRequest{GroupId: id, MemberId: m.id, GenerationId: 1})
		}
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		w.now = w.now.Add(600 * time.Microsecond)
		w.shard.Handle(w.now, statemachine.Call{Token: 1, Key: 12, Version: 4, Body: &requests[i%len(requests)]})
		w.shard.Take()
	}
}

// BenchmarkClassicRebalance is a rebalance of 100 members over 1,000 partitions,
// from the first JoinGroup to the last SyncGroup, the assignment included.
func BenchmarkClassicRebalance(b *testing.B) {
	w := newWorld(b)
	w.lax = true
	join := func() {
		for i := range 100 {
			w.run(fmt.Sprintf("join m%d version=3 session=30m", i))
		}
	}
	join()
	w.run("tick 6s")
	assignment := strings.Repeat("1234567", 10) // ten partitions each
	for b.Loop() {
		sync := "sync m0 assign="
		for i, id := range w.client("m0").members {
			if i > 0 {
				sync += ","
			}
			sync += id + ":" + assignment
		}
		w.run(sync)
		for i := 1; i < 100; i++ {
			w.run(fmt.Sprintf("sync m%d", i))
		}
		join()
	}
}
