package groups

import (
	"fmt"
	"testing"
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/statemachine"
	"kafka-iggy-bridge/internal/wire"
)

// testTopicID is an id made of a number.
func testTopicID(n int) wire.UUID {
	return wire.UUID{14: byte(n >> 8), 15: byte(n)}
}

// steadyShard has a group of members that own all they will ever own.
func steadyShard(tb testing.TB, members, partitions int) (*Shard, []*generated.ConsumerGroupHeartbeatRequest, time.Time) {
	tb.Helper()
	topics := NewTopicSet([]Topic{{Name: "t", ID: testTopicID(1), Partitions: int32(partitions)}})
	s := NewShard(DefaultConfig(), func() *TopicSet { return topics })
	now := time.UnixMilli(1_000_000)
	s.Loaded(now)
	requests := make([]*generated.ConsumerGroupHeartbeatRequest, members)
	for i := range requests {
		requests[i] = &generated.ConsumerGroupHeartbeatRequest{
			GroupId: "g", MemberId: fmt.Sprintf("member-%d", i), RebalanceTimeoutMs: 60_000,
			SubscribedTopicNames: []string{"t"}, TopicPartitions: []generated.ConsumerGroupHeartbeatRequestTopicPartitions{},
		}
	}
	for range 8 {
		now = now.Add(2 * time.Second)
		for _, r := range requests {
			beat(tb, s, now, r)
		}
	}
	if state := s.groups["g"].state(); state != "Stable" {
		tb.Fatalf("the group is %s after 8 rounds", state)
	}
	for _, r := range requests {
		r.RebalanceTimeoutMs, r.SubscribedTopicNames, r.TopicPartitions = -1, nil, nil
	}
	return s, requests, now
}

// beat sends a heartbeat and makes r the next one: the member has done what the
// answer says.
func beat(tb testing.TB, s *Shard, now time.Time, r *generated.ConsumerGroupHeartbeatRequest) {
	tb.Helper()
	s.Handle(now, statemachine.Call{Token: 1, Key: 68, Version: 1, ClientID: "c", ClientHost: "/h", Body: r})
	for _, a := range s.Take() {
		if a.Answer == nil {
			continue
		}
		answer := a.Answer.(*generated.ConsumerGroupHeartbeatResponse)
		if answer.ErrorCode != 0 {
			tb.Fatalf("heartbeat: error %d %s", answer.ErrorCode, answer.ErrorMessage.S)
		}
		r.MemberEpoch = answer.MemberEpoch
		if answer.Assignment != nil {
			r.TopicPartitions = r.TopicPartitions[:0:0]
			for _, t := range answer.Assignment.TopicPartitions {
				r.TopicPartitions = append(r.TopicPartitions, generated.ConsumerGroupHeartbeatRequestTopicPartitions{
					TopicId: t.TopicId, Partitions: t.Partitions,
				})
			}
			if r.TopicPartitions == nil {
				r.TopicPartitions = []generated.ConsumerGroupHeartbeatRequestTopicPartitions{}
			}
		}
	}
}

func BenchmarkConsumerHeartbeat(b *testing.B) {
	s, requests, now := steadyShard(b, 100, 1000)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		now = now.Add(time.Millisecond)
		s.Handle(now, statemachine.Call{Token: 1, Key: 68, Version: 1, ClientID: "c", ClientHost: "/h", Body: requests[i%len(requests)]})
		if len(s.actions) == 1024 {
			s.actions = s.actions[:0]
		}
	}
}

// BenchmarkConsumerRebalance is a group of 100 members that gains one, until all
// have what they shall have.
func BenchmarkConsumerRebalance(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		s, requests, now := steadyShard(b, 100, 1000)
		requests = append(requests, &generated.ConsumerGroupHeartbeatRequest{
			GroupId: "g", MemberId: "new", RebalanceTimeoutMs: 60_000,
			SubscribedTopicNames: []string{"t"}, TopicPartitions: []generated.ConsumerGroupHeartbeatRequestTopicPartitions{},
		})
		b.StartTimer()
		for range 3 {
			now = now.Add(2 * time.Second)
			for i := len(requests) - 1; i >= 0; i-- {
				beat(b, s, now, requests[i])
			}
		}
		if state := s.groups["g"].state(); state != "Stable" {
			b.Fatalf("the group is %s", state)
		}
	}
}
