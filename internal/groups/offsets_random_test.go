package groups

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/wire"
)

// heapInUse is what the heap holds after a collection.
func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// offsetKey names an offset in the model of the random test.
type offsetKey struct {
	group, topic string
	partition    int32
}

// ackedCommit is what was acknowledged for it.
type ackedCommit struct {
	offset   int64
	metadata string
	at       time.Time
	// seenGone is set when a fetch did not find it any more.
	seenGone bool
}

// offsetModel is what clients may rely on.
type offsetModel struct {
	w        *world
	r        *rand.Rand
	acked    map[offsetKey]*ackedCommit
	answered generated.Message
	restart  time.Time // of the shard
}

func init() {
	onAnswer = append(onAnswer, func(c *client, answer generated.Message) {
		if m, ok := c.state.(*offsetModel); ok {
			m.answered = answer
		}
	})
}

// TestRandomOffsets commits, deletes, lets time pass and restarts, and reads back
// all the while: what was acknowledged is there until it is too old or deleted,
// and what is gone never comes back.
func TestRandomOffsets(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.config.OffsetsRetention, w.config.OffsetsRetentionCheck = time.Hour, 10*time.Minute
			w.topics = NewTopicSet([]Topic{{"a", topicID("a"), 8}, {"b", topicID("b"), 8}, {"c", topicID("c"), 8}})
			w.load()
			m := &offsetModel{w: w, r: rand.New(rand.NewPCG(seed, 5)), acked: make(map[offsetKey]*ackedCommit), restart: w.now}
			for range 600 {
				m.step()
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
}

// call sends a request as somebody, and returns its answer, which does not wait
// for anything.
func (m *offsetModel) call(key, version int16, body generated.Message) generated.Message {
	m.w.t.Helper()
	m.answered = nil
	m.w.send(&client{name: "x", state: m}, key, version, body)
	if m.answered == nil {
		m.w.t.Fatalf("%T is not answered", body)
	}
	return m.answered
}

func (m *offsetModel) step() {
	switch m.r.IntN(20) {
	case 0:
		m.w.load()
		m.restart = m.w.now
	case 1:
		m.delete()
	case 2:
		m.deleteGroup()
	case 3, 4:
		m.w.advance(time.Duration(m.r.IntN(int(25 * time.Minute))))
	case 5, 6, 7, 8:
		m.fetch()
	default:
		m.commit()
	}
}

func (m *offsetModel) group() string { return fmt.Sprintf("g%d", m.r.IntN(4)) }

func (m *offsetModel) commit() {
	group := m.group()
	req := generated.DefaultOffsetCommitRequest()
	req.GroupId = group
	next := make(map[offsetKey]*ackedCommit)
	for _, topic := range []string{"a", "b", "c"}[:1+m.r.IntN(3)] {
		t := generated.OffsetCommitRequestTopic{Name: topic}
		for _, partition := range m.r.Perm(8)[:1+m.r.IntN(4)] {
			p := generated.DefaultOffsetCommitRequestPartition()
			p.PartitionIndex = int32(partition)
			p.CommittedOffset = m.r.Int64N(1000)
			p.CommittedMetadata = wire.String([]string{"", "m", "longer"}[m.r.IntN(3)])
			t.Partitions = append(t.Partitions, p)
			next[offsetKey{group, topic, p.PartitionIndex}] = &ackedCommit{
				offset: p.CommittedOffset, metadata: p.CommittedMetadata.S, at: m.w.now,
			}
		}
		req.Topics = append(req.Topics, t)
	}
	answer := m.call(8, 9, &req).(*generated.OffsetCommitResponse)
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode != errorcode.None {
				m.w.t.Fatalf("a commit is answered %s", errorcode.Name(p.ErrorCode))
			}
			key := offsetKey{group, t.Name, p.PartitionIndex}
			m.acked[key] = next[key]
		}
	}
}

func (m *offsetModel) delete() {
	group, topic := m.group(), []string{"a", "b", "c"}[m.r.IntN(3)]
	req := generated.DefaultOffsetDeleteRequest()
	req.GroupId = group
	t := generated.OffsetDeleteRequestTopic{Name: topic}
	for _, partition := range m.r.Perm(8)[:3] {
		t.Partitions = append(t.Partitions, generated.OffsetDeleteRequestPartition{PartitionIndex: int32(partition)})
	}
	req.Topics = []generated.OffsetDeleteRequestTopic{t}
	answer := m.call(47, 0, &req).(*generated.OffsetDeleteResponse)
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			delete(m.acked, offsetKey{group, t.Name, p.PartitionIndex})
		}
	}
}

func (m *offsetModel) deleteGroup() {
	group := m.group()
	req := generated.DefaultDeleteGroupsRequest()
	req.GroupsNames = []string{group}
	answer := m.call(42, 2, &req).(*generated.DeleteGroupsResponse)
	if answer.Results[0].ErrorCode != errorcode.None {
		return
	}
	for key := range m.acked {
		if key.group == group {
			delete(m.acked, key)
		}
	}
}

// fetch reads all offsets of a group, and some by name, and compares.
func (m *offsetModel) fetch() {
	group := generated.DefaultOffsetFetchRequestGroup()
	group.GroupId = m.group()
	group.Topics = nil
	if m.r.IntN(2) == 0 {
		for _, topic := range []string{"a", "b", "c"} {
			group.Topics = append(group.Topics, generated.OffsetFetchRequestTopics{
				Name: topic, PartitionIndexes: []int32{0, 1, 2, 3, 4, 5, 6, 7},
			})
		}
	}
	req := generated.DefaultOffsetFetchRequest()
	req.Groups = []generated.OffsetFetchRequestGroup{group}
	answer := m.call(9, 9, &req).(*generated.OffsetFetchResponse)
	found := make(map[offsetKey]generated.OffsetFetchResponsePartitions)
	for _, t := range answer.Groups[0].Topics {
		for _, p := range t.Partitions {
			if p.CommittedOffset != invalidOffset {
				found[offsetKey{group.GroupId, t.Name, p.PartitionIndex}] = p
			}
		}
	}
	m.compare(group.GroupId, found)
}

func (m *offsetModel) compare(group string, found map[offsetKey]generated.OffsetFetchResponsePartitions) {
	m.w.t.Helper()
	for key := range found {
		if m.acked[key] == nil {
			m.w.t.Errorf("%v is there again", key)
		}
	}
	for key, want := range m.acked {
		if key.group != group {
			continue
		}
		got, ok := found[key]
		age := m.w.now.Sub(want.at)
		// The next look is at most one interval after the offset is too old, or after
		// the last restart.
		due := want.at.Add(m.w.config.OffsetsRetention)
		if m.restart.After(due) {
			due = m.restart
		}
		overdue := !m.w.now.Before(due.Add(m.w.config.OffsetsRetentionCheck))
		switch {
		case ok && want.seenGone:
			m.w.t.Errorf("%v has come back", key)
		case ok && overdue:
			m.w.t.Errorf("%v is %v old and still there", key, age)
		case !ok && age < m.w.config.OffsetsRetention:
			m.w.t.Errorf("%v is lost after %v", key, age)
		case !ok:
			want.seenGone = true
		case got.CommittedOffset != want.offset || got.Metadata.S != want.metadata:
			m.w.t.Errorf("%v is %d %q, %d %q was acknowledged", key, got.CommittedOffset, got.Metadata.S, want.offset, want.metadata)
		}
	}
}
