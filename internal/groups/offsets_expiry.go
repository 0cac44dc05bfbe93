package groups

import (
	"maps"
	"slices"
	"time"

	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/records"
)

// timerOffsetsExpiry looks for offsets that have expired, again and again.
const timerOffsetsExpiry timerPurpose = 100

// offsetsLoaded starts to look for what has expired.
func (s *Shard) offsetsLoaded() {
	s.offsetTopics = s.topics()
	s.scheduleExpiry()
}

func (s *Shard) scheduleExpiry() {
	s.timers.Set(timerKey{purpose: timerOffsetsExpiry}, s.now.Add(s.config.OffsetsRetentionCheck), func(time.Time) {
		s.expireOffsets()
		s.scheduleExpiry()
	})
}

// expireOffsets removes the offsets that have expired (KIP-211), and the groups
// that have neither members nor offsets any more. Nothing expires for a partition
// with pending offsets, nor does their group.
func (s *Shard) expireOffsets() {
	s.forgetDeletedTopics()
	gone := make(map[string][]records.Record)
	for groupID, table := range s.offsets {
		if rs := s.expireGroupOffsets(groupID, table); len(rs) > 0 {
			gone[groupID] = rs
		}
		s.forgetEmptyTable(groupID)
	}
	for groupID, g := range s.groups {
		if s.offsets[groupID] == nil && g.checkDelete() == errorcode.None {
			gone[groupID] = append(gone[groupID], g.tombstones()...)
			g.drop()
			delete(s.groups, groupID)
		}
	}
	s.writeAll(gone)
	s.pending.forgetProducers(s.now.Add(-s.config.OffsetsRetentionCheck))
}

// expireGroupOffsets removes the expired offsets of one group, and returns their
// tombstones.
func (s *Shard) expireGroupOffsets(groupID string, table *offsetTable) []records.Record {
	g := s.groups[groupID]
	var since time.Time
	if g != nil {
		var ok bool
		if since, ok = g.expiresFrom(); !ok {
			return nil
		}
	}
	nowMs, retentionMs := s.now.UnixMilli(), s.config.OffsetsRetention.Milliseconds()
	return table.removeFunc(s.now, groupID, func(topic string, o committedOffset) bool {
		start := o.commitMs
		if !since.IsZero() {
			start = since.UnixMilli()
		}
		expired := nowMs-start >= retentionMs
		if o.expireMs != noExpiry {
			expired = nowMs >= o.expireMs
		}
		return expired && (g == nil || !g.subscribedTo(topic)) && len(s.pending.at(groupID, topic, o.partition)) == 0
	})
}

// writeAll appends the records of several groups, each group's as one append, in
// an order that does not change from run to run.
func (s *Shard) writeAll(byGroup map[string][]records.Record) {
	for _, groupID := range slices.Sorted(maps.Keys(byGroup)) {
		s.write(groupID, byGroup[groupID]...)
	}
}

// forgetDeletedTopics removes the offsets of topics that were deleted since it
// was last called. A topic is known by its id: another one of the same name
// keeps what was committed for it meanwhile.
//
// A set without any topic is not believed, and waits for one that has some: an
// engine that was not asked successfully must not cost anybody's offsets.
func (s *Shard) forgetDeletedTopics() {
	was, is := s.offsetTopics, s.topics()
	if was == is || was == nil || len(is.Names()) == 0 {
		return
	}
	s.offsetTopics = is
	var deleted []Topic
	for _, name := range was.Names() {
		t, _ := was.ByName(name)
		if _, ok := is.ByID(t.ID); !ok {
			deleted = append(deleted, t)
		}
	}
	if len(deleted) == 0 {
		return
	}
	gone := make(map[string][]records.Record)
	for groupID, table := range s.offsets {
		if rs := s.forgetTopics(groupID, table, deleted); len(rs) > 0 {
			gone[groupID] = rs
		}
	}
	s.writeAll(gone)
}

// forgetTopics removes a group's offsets of topics that are deleted, pending ones
// as well, and returns their tombstones. The group itself stays until it expires.
func (s *Shard) forgetTopics(groupID string, table *offsetTable, deleted []Topic) []records.Record {
	var gone []records.Record
	for _, t := range deleted {
		gone = append(gone, s.pending.removeFunc(s.now, groupID, func(topic string, p *pendingOffset) bool {
			return topic == t.Name && !otherTopic(p.topicID, t.ID)
		})...)
		if _, ok := table.topic(t.Name); !ok {
			continue
		}
		gone = append(gone, table.removeFunc(s.now, groupID, func(topic string, o committedOffset) bool {
			return topic == t.Name && !otherTopic(o.topicID, t.ID)
		})...)
	}
	return gone
}
