package groups

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/wire"
)

// TestOffsetTable compares a table with maps through random changes.
func TestOffsetTable(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 3))
		table, model := &offsetTable{}, make(map[string]map[int32]int64)
		for step := range 400 {
			topic, partition := fmt.Sprintf("t%d", r.IntN(6)), r.Int32N(12)
			switch r.IntN(3) {
			case 0:
				table.remove(topic, partition)
				delete(model[topic], partition)
			default:
				table.set(topic, committedOffset{partition: partition, offset: int64(step)})
				if model[topic] == nil {
					model[topic] = make(map[int32]int64)
				}
				model[topic][partition] = int64(step)
			}
			checkTable(t, table, model)
			if t.Failed() {
				t.Fatalf("seed %d, step %d", seed, step)
			}
		}
	}
}

func checkTable(t *testing.T, table *offsetTable, model map[string]map[int32]int64) {
	t.Helper()
	count := 0
	for topic, partitions := range model {
		for partition, offset := range partitions {
			count++
			if o := table.get(topic, partition); o == nil || o.offset != offset {
				t.Errorf("%s-%d is %v, want offset %d", topic, partition, o, offset)
			}
		}
	}
	if table.len() != count {
		t.Errorf("%d offsets, want %d", table.len(), count)
	}
	last := ""
	for topic, offsets := range table.all() {
		if topic <= last || len(offsets) == 0 || len(offsets) != len(model[topic]) {
			t.Errorf("topic %q behind %q has %d offsets, want %d", topic, last, len(offsets), len(model[topic]))
		}
		if !slices.IsSortedFunc(offsets, func(a, b committedOffset) int { return int(a.partition - b.partition) }) {
			t.Errorf("topic %q is not in order", topic)
		}
		last = topic
	}
	if o := table.get("nosuch", 0); o != nil {
		t.Errorf("an offset of a topic without any: %v", o)
	}
}

// TestOffsetTableKeepsNoViews overwrites the memory of what was put in.
func TestOffsetTableKeepsNoViews(t *testing.T) {
	t.Parallel()
	view := func(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
	topic, metadata := []byte("a topic that nobody else names"), []byte("metadata")
	s := NewShard(DefaultConfig(), func() *TopicSet { return NewTopicSet(nil) })
	group := []byte("group")
	s.replayOffsetCommit(
		&generated.OffsetCommitKey{Group: view(group), Topic: view(topic)},
		&generated.OffsetCommitValue{Offset: 1, Metadata: view(metadata), ExpireTimestamp: noExpiry})
	for _, b := range [][]byte{topic, metadata, group} {
		for i := range b {
			b[i] = '!'
		}
	}
	if o := s.offsets["group"].get("a topic that nobody else names", 0); o == nil || o.metadata != "metadata" {
		t.Errorf("the offset is %+v", o)
	}
}

// commitRecord is a record of an offset in any of the formats there are.
func commitRecord(t *testing.T, keyType, version int16, partition int32, value *generated.OffsetCommitValue) records.Record {
	t.Helper()
	key := generated.OffsetCommitKey{Group: "g", Topic: "orders", Partition: partition}
	k, err := key.Append(binary.BigEndian.AppendUint16(nil, uint16(keyType)), 0)
	if err != nil {
		t.Fatal(err)
	}
	v, err := value.Append(binary.BigEndian.AppendUint16(nil, uint16(version)), version)
	if err != nil {
		t.Fatal(err)
	}
	return records.Record{Key: k, Value: v}
}

// TestReplayOffsetVersions loads offsets as releases of Kafka since 0.8.2 wrote
// them, and reads them back.
func TestReplayOffsetVersions(t *testing.T) {
	t.Parallel()
	full := generated.OffsetCommitValue{
		Offset: 42, LeaderEpoch: 7, Metadata: "m", CommitTimestamp: 1000, ExpireTimestamp: 2000, TopicId: topicID("orders"),
	}
	want := committedOffset{offset: 42, leaderEpoch: -1, metadata: "m", commitMs: 1000, expireMs: noExpiry}
	withExpiry, withEpoch, withID := want, want, want
	withExpiry.expireMs = 2000
	withEpoch.leaderEpoch = 7
	withID.leaderEpoch, withID.topicID = 7, topicID("orders")
	tests := []struct {
		name             string
		keyType, version int16
		want             committedOffset
	}{
		{"key 0 of 0.8.2", recordLegacyOffsetCommit, 0, want},
		{"value 0", recordOffsetCommit, 0, want},
		{"value 1 has an expire timestamp", recordOffsetCommit, 1, withExpiry},
		{"value 2 is value 0 again", recordOffsetCommit, 2, want},
		{"value 3 has a leader epoch", recordOffsetCommit, 3, withEpoch},
		{"value 4 has a topic id", recordOffsetCommit, 4, withID},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := NewShard(DefaultConfig(), func() *TopicSet { return NewTopicSet(nil) })
			r := commitRecord(t, tt.keyType, tt.version, 0, &full)
			if err := s.Replay(&r); err != nil {
				t.Fatal(err)
			}
			got := s.offsets["g"].get("orders", 0)
			if got == nil {
				t.Fatal("no offset")
			}
			if diff := cmp.Diff(tt.want, *got, cmp.AllowUnexported(committedOffset{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			r.Value = nil
			if err := s.Replay(&r); err != nil {
				t.Fatal(err)
			}
			if len(s.offsets) != 0 {
				t.Error("its tombstone leaves something")
			}
			if err := s.Replay(&r); err != nil {
				t.Errorf("a tombstone of nothing: %v", err)
			}
		})
	}
}

func TestReplayRefusesNewerOffsets(t *testing.T) {
	t.Parallel()
	s := NewShard(DefaultConfig(), func() *TopicSet { return NewTopicSet(nil) })
	value := generated.DefaultOffsetCommitValue()
	good := commitRecord(t, recordOffsetCommit, 4, 0, &value)
	tests := []struct {
		name  string
		value []byte
	}{
		{"a version that is not known", append([]byte{0, 5}, good.Value[2:]...)},
		{"cut short", good.Value[:len(good.Value)-9]},
		{"no version", []byte{0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := s.Replay(&records.Record{Key: good.Key, Value: tt.value}); err == nil {
				t.Error("no error")
			}
			if len(s.offsets) != 0 {
				t.Error("something was changed")
			}
		})
	}
}

// TestSnapshotIsWhatWasCommitted checks that a snapshot has each offset once,
// with the time of its commit, and loads into the same.
func TestSnapshotIsWhatWasCommitted(t *testing.T) {
	t.Parallel()
	s := NewShard(DefaultConfig(), func() *TopicSet { return NewTopicSet(nil) })
	for p := range int32(3) {
		s.offsetTable("g").set("orders", committedOffset{
			partition: p, offset: int64(p), commitMs: 1000 + int64(p), expireMs: noExpiry, leaderEpoch: p, topicID: wire.UUID{1},
		})
	}
	s.offsetTable("g").set("old", committedOffset{commitMs: 5, expireMs: 6, leaderEpoch: -1})
	other := NewShard(DefaultConfig(), func() *TopicSet { return NewTopicSet(nil) })
	for r := range s.Snapshot() {
		if err := other.Replay(&r); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(snapshotOf(t, s), snapshotOf(t, other)); diff != "" {
		t.Errorf("(-live +loaded):\n%s", diff)
	}
	if s.Live() != 4 || other.Live() != 4 {
		t.Errorf("%d and %d records live, want 4", s.Live(), other.Live())
	}
	for r := range s.Snapshot() {
		if r.Timestamp < 5 {
			t.Errorf("a record with timestamp %d", r.Timestamp)
		}
		break
	}
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
