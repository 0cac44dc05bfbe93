package groups

import (
	"fmt"
	"testing"
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/statemachine"
)

// TestConsumerRandomSchedules runs random schedules of both protocols and checks
// that no partition ever has two owners, that the log replays to the live state,
// that epochs that are over change nothing, and that all groups settle, with all
// partitions consumed, when nothing happens any more.
func TestConsumerRandomSchedules(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		classic     int
		cooperative bool
	}{
		{"consumer protocol only", 0, false},
		{"some eager classic members", 3, false},
		{"mostly eager classic members", 8, false},
		{"some cooperative classic members", 3, true},
		{"mostly cooperative classic members", 8, true},
	}
	for i, tt := range tests {
		for seed := range uint64(2) {
			t.Run(fmt.Sprintf("%s, seed %d", tt.name, seed), func(t *testing.T) {
				t.Parallel()
				s := newConsumerSim(newWorld(t), uint64(i)*100+seed)
				s.classic, s.cooperative = tt.classic, tt.cooperative
				s.run(2000)
			})
		}
	}
}

func (s *consumerSim) run(steps int) {
	for i := range steps {
		s.step()
		if i%25 == 0 {
			s.sendStale()
		}
		if i%400 == 0 {
			s.w.checkLog()
		}
		if i == steps/2 {
			s.restart()
		}
	}
	s.quiet = true
	for _, m := range s.live {
		m.rebal = 20 * time.Second
	}
	for end := s.w.now.Add(5 * time.Minute); s.w.now.Before(end); {
		s.step()
	}
	s.w.checkLog()
	s.checkSettled()
}

// restart loads the shard from its log. The runtime answers what waited.
func (s *consumerSim) restart() {
	waiting := s.w.open
	s.w.open = make(map[statemachine.Token]*request)
	s.w.load()
	for _, r := range waiting {
		if m := r.client.state.(*simConsumer); !m.dead {
			m.later(time.Second, m.driver.start)
		}
	}
}

// sendStale sends a heartbeat of an epoch that is over, or of nobody: it must be
// refused and change nothing.
func (s *consumerSim) sendStale() {
	s.w.t.Helper()
	for _, m := range s.live {
		g, ok := s.w.shard.groups[m.c.group].(*consumerGroup)
		if !ok || g.members[m.c.memberID] == nil || s.rnd.IntN(10) > 0 {
			continue
		}
		was := g.members[m.c.memberID]
		r := generated.DefaultConsumerGroupHeartbeatRequest()
		r.GroupId, r.MemberId = m.c.group, m.c.memberID
		r.InstanceId.S, r.InstanceId.Valid = m.c.instance, m.c.instance != ""
		r.SubscribedTopicNames = []string{}
		switch s.rnd.IntN(3) {
		case 0:
			r.MemberEpoch = max(was.epoch, 0) + 1
		case 1:
			r.MemberEpoch = min(was.epoch, was.previousEpoch) - 1
		case 2:
			r.MemberEpoch, r.MemberId = max(was.epoch, 1), "nobody"
		}
		if r.MemberEpoch <= 0 {
			continue
		}
		s.w.shard.Handle(s.w.now, statemachine.Call{Token: 1 << 40, Key: 68, Version: 1, Body: &r})
		for _, a := range s.w.shard.Take() {
			answer, ok := a.Answer.(*generated.ConsumerGroupHeartbeatResponse)
			if !ok || answer.ErrorCode == errorcode.None || len(a.Records) > 0 {
				s.w.t.Fatalf("%s does %s, %d records", show(&r), show(a.Answer), len(a.Records))
			}
		}
		if g.members[m.c.memberID] != was {
			s.w.t.Fatalf("%s changed the member", show(&r))
		}
		return
	}
}
