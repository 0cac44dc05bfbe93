package groups

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/statemachine"
	"kafka-iggy-bridge/internal/wire"
)

// heapInUse is what the heap holds after a collection.
func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkLoadOffsets loads a million offsets and says how much memory they take.
func BenchmarkLoadOffsets(b *testing.B) {
	for _, shape := range []struct{ groups, topics, partitions int }{
		{1000, 10, 100},
		{1_000_000, 1, 1},
	} {
		b.Run(fmt.Sprintf("%d groups x %d topics x %d partitions", shape.groups, shape.topics, shape.partitions), func(b *testing.B) {
			at := time.UnixMilli(1_000_000)
			var rs []records.Record
			for g := range shape.groups {
				for t := range shape.topics {
					for p := range shape.partitions {
						o := committedOffset{partition: int32(p), offset: 1 << 40, commitMs: at.UnixMilli(), expireMs: noExpiry, topicID: wire.UUID{byte(t)}}
						rs = append(rs, offsetRecord(at, fmt.Sprintf("group-%d", g), fmt.Sprintf("topic-%d", t), &o))
					}
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				s := NewShard(DefaultConfig(), func() *TopicSet { return NewTopicSet(nil) })
				before := heapInUse()
				for i := range rs {
					if err := s.Replay(&rs[i]); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(heapInUse()-before)/(1<<20), "MiB")
				if s.Live() != len(rs) {
					b.Fatalf("%d records live, want %d", s.Live(), len(rs))
				}
			}
		})
	}
}

// BenchmarkCommit commits partitions of a group again and again.
func BenchmarkCommit(b *testing.B) {
	for _, partitions := range []int32{1, 100} {
		b.Run(fmt.Sprintf("%d partitions", partitions), func(b *testing.B) {
			req := generated.DefaultOffsetCommitRequest()
			req.GroupId = "group"
			topic := generated.OffsetCommitRequestTopic{Name: "topic", TopicId: wire.UUID{1}}
			for i := range partitions {
				p := generated.DefaultOffsetCommitRequestPartition()
				p.PartitionIndex = i
				topic.Partitions = append(topic.Partitions, p)
			}
			req.Topics = []generated.OffsetCommitRequestTopic{topic}
			set := NewTopicSet(nil)
			s := NewShard(DefaultConfig(), func() *TopicSet { return set })
			now := time.UnixMilli(1_000_000)
			s.Loaded(now)
			b.ReportAllocs()
			for b.Loop() {
				s.Handle(now, statemachine.Call{Token: 1, Key: 8, Version: 9, Body: &req})
				if len(s.Take()) != 2 {
					b.Fatal("not an append and an answer")
				}
			}
		})
	}
}
