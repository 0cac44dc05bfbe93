package groups

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"
	"unique"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/statemachine"
	"kafka-iggy-bridge/internal/wire"
)

// noExpiry is the expire timestamp of an offset that lives as long as the
// configuration says.
const noExpiry = -1

// The versions of the values of offset commits that are written: 1 is the only
// one with an expire timestamp, and has neither leader epoch nor topic id.
const (
	offsetValueVersion       int16 = 4
	offsetExpireValueVersion int16 = 1
)

// committedOffset is the offset of one partition. There may be millions: a
// struct without pointers of its own but for the metadata, which is mostly "".
type committedOffset struct {
	offset int64
	// commitMs is when it was committed, expireMs when it ends or noExpiry.
	commitMs, expireMs int64
	metadata           string
	// topicID is zero when it was not known at the commit.
	topicID     wire.UUID
	leaderEpoch int32 // -1 when unknown
	partition   int32
}

// topicOffsets are a topic's offsets, by rising partition. Names are shared by
// all groups that have offsets of the topic.
type topicOffsets struct {
	topic      unique.Handle[string]
	partitions []committedOffset
}

// offsetTable is what is committed for a group. Slices in order take a fraction
// of what maps of maps would, and most groups have few topics.
type offsetTable struct {
	topics []topicOffsets // by name
	count  int
}

// topic finds a topic's place in the table, or where it belongs.
func (t *offsetTable) topic(name string) (int, bool) {
	return slices.BinarySearchFunc(t.topics, name, func(o topicOffsets, name string) int {
		return strings.Compare(o.topic.Value(), name)
	})
}

// find is the place of a partition's offset, or where it belongs.
func (o *topicOffsets) find(partition int32) (int, bool) {
	// Partitions are mostly loaded and committed in order.
	if n := len(o.partitions); n == 0 || o.partitions[n-1].partition < partition {
		return n, false
	}
	return slices.BinarySearchFunc(o.partitions, partition, func(c committedOffset, partition int32) int {
		return cmp.Compare(c.partition, partition)
	})
}

// get returns a partition's offset, nil when there is none. It is valid until
// the table changes. A nil table has no offsets.
func (t *offsetTable) get(topic string, partition int32) *committedOffset {
	if t == nil {
		return nil
	}
	at, ok := t.topic(topic)
	if !ok {
		return nil
	}
	i, ok := t.topics[at].find(partition)
	if !ok {
		return nil
	}
	return &t.topics[at].partitions[i]
}

// set stores a partition's offset. The topic's name and the metadata may be views.
func (t *offsetTable) set(topic string, c committedOffset) {
	at, ok := t.topic(topic)
	if !ok {
		t.topics = slices.Insert(t.topics, at, topicOffsets{topic: unique.Make(topic)})
	}
	o := &t.topics[at]
	i, ok := o.find(c.partition)
	if !ok {
		c.metadata = strings.Clone(c.metadata)
		o.partitions = slices.Insert(o.partitions, i, c)
		t.count++
		return
	}
	// Most consumers write the same metadata time after time.
	if old := o.partitions[i].metadata; old == c.metadata {
		c.metadata = old
	} else {
		c.metadata = strings.Clone(c.metadata)
	}
	o.partitions[i] = c
}

// remove forgets a partition's offset.
func (t *offsetTable) remove(topic string, partition int32) {
	at, ok := t.topic(topic)
	if !ok {
		return
	}
	o := &t.topics[at]
	i, ok := o.find(partition)
	if !ok {
		return
	}
	o.partitions = slices.Delete(o.partitions, i, i+1)
	t.count--
	if len(o.partitions) == 0 {
		t.topics = slices.Delete(t.topics, at, at+1)
	}
}

// removeFunc forgets the offsets that drop names, and returns the tombstones.
func (t *offsetTable) removeFunc(at time.Time, groupID string, drop func(topic string, c committedOffset) bool) []records.Record {
	var gone []records.Record
	for i := range t.topics {
		o := &t.topics[i]
		name := o.topic.Value()
		o.partitions = slices.DeleteFunc(o.partitions, func(c committedOffset) bool {
			if !drop(name, c) {
				return false
			}
			gone = append(gone, offsetTombstone(at, groupID, name, c.partition))
			return true
		})
	}
	if len(gone) > 0 {
		t.count -= len(gone)
		t.topics = slices.DeleteFunc(t.topics, func(o topicOffsets) bool { return len(o.partitions) == 0 })
	}
	return gone
}

// all yields the topics, by name, and their offsets, by partition.
func (t *offsetTable) all() iter.Seq2[string, []committedOffset] {
	return func(yield func(string, []committedOffset) bool) {
		if t == nil {
			return
		}
		for i := range t.topics {
			if !yield(t.topics[i].topic.Value(), t.topics[i].partitions) {
				return
			}
		}
	}
}

// len is the number of offsets.
func (t *offsetTable) len() int { return t.count }

// snapshot yields the records of all offsets, and returns false when yield did.
func (t *offsetTable) snapshot(groupID string, yield func(records.Record) bool) bool {
	for topic, partitions := range t.all() {
		for i := range partitions {
			c := &partitions[i]
			if !yield(offsetRecord(time.UnixMilli(c.commitMs), groupID, topic, c)) {
				return false
			}
		}
	}
	return true
}

// offsetRecord is the record of an offset.
func offsetRecord(at time.Time, groupID, topic string, c *committedOffset) records.Record {
	version := offsetValueVersion
	if c.expireMs != noExpiry {
		version = offsetExpireValueVersion
	}
	return statemachine.NewRecord(at, recordOffsetCommit,
		&generated.OffsetCommitKey{Group: groupID, Topic: topic, Partition: c.partition},
		version,
		&generated.OffsetCommitValue{
			Offset:          c.offset,
			LeaderEpoch:     c.leaderEpoch,
			Metadata:        c.metadata,
			CommitTimestamp: c.commitMs,
			ExpireTimestamp: c.expireMs,
			TopicId:         c.topicID,
		})
}

// offsetTombstone is the record that removes an offset.
func offsetTombstone(at time.Time, groupID, topic string, partition int32) records.Record {
	return statemachine.Tombstone(at, recordOffsetCommit, &generated.OffsetCommitKey{Group: groupID, Topic: topic, Partition: partition})
}

// offsetTable returns the group's table, a new one if there is none.
func (s *Shard) offsetTable(groupID string) *offsetTable {
	table := s.offsets[groupID]
	if table == nil {
		table = &offsetTable{}
		s.offsets[strings.Clone(groupID)] = table
	}
	return table
}

// replayOffsetCommit applies a record of an offset, of any version of its value.
func (s *Shard) replayOffsetCommit(key *generated.OffsetCommitKey, value *generated.OffsetCommitValue) {
	if value == nil {
		if table := s.offsets[key.Group]; table != nil {
			table.remove(key.Topic, key.Partition)
			s.forgetEmptyTable(key.Group)
		}
		return
	}
	s.offsetTable(key.Group).set(key.Topic, committedOffset{
		partition:   key.Partition,
		offset:      value.Offset,
		leaderEpoch: value.LeaderEpoch,
		metadata:    value.Metadata,
		commitMs:    value.CommitTimestamp,
		expireMs:    value.ExpireTimestamp,
		topicID:     value.TopicId,
	})
}
