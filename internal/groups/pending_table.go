package groups

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
	"unique"

	"kafka-iggy-bridge/internal/records"
)

// pendingOffset is an offset that was committed in a transaction which has not
// ended. It counts from the moment its transaction is committed, and never when
// that is aborted.
type pendingOffset struct {
	committedOffset
	producerID int64
	// order grows with each pending offset of a partition.
	order         int64
	producerEpoch int16
	// outdated says that what is committed for the partition by now was written
	// after this offset, by a plain commit or a transaction that ended earlier. It is
	// forgotten at the end of its transaction, and makes the partition unstable until
	// then.
	outdated bool
}

// place is a partition.
type place struct {
	topic     string
	partition int32
}

func comparePlaces(a, b place) int {
	return cmp.Or(strings.Compare(a.topic, b.topic), cmp.Compare(a.partition, b.partition))
}

// pendingTable has the pending offsets of all groups of a shard, at most one of
// each producer id for a partition of a group.
type pendingTable struct {
	// groups have a partition's pending offsets by rising order.
	groups    map[string]map[place][]pendingOffset
	producers map[int64]*offsetProducer
	count     int
}

// offsetProducer is a producer that commits offsets in transactions.
type offsetProducer struct {
	// epoch is the newest that is known; older ones are fenced.
	epoch int16
	// seen is when the producer committed or ended a transaction last, zero if it has
	// not since the shard was loaded.
	seen time.Time
	// places are those of its pending offsets, by group.
	places map[string]map[place]struct{}
}

func newPendingTable() pendingTable {
	return pendingTable{
		groups:    make(map[string]map[place][]pendingOffset),
		producers: make(map[int64]*offsetProducer),
	}
}

// has tells whether a group has pending offsets.
func (t *pendingTable) has(groupID string) bool { return len(t.groups[groupID]) > 0 }

// at returns a partition's pending offsets, by rising order. They are valid
// until the table changes.
func (t *pendingTable) at(groupID, topic string, partition int32) []pendingOffset {
	return t.groups[groupID][place{topic, partition}]
}

// nextOrder is the order of a new pending offset.
func (t *pendingTable) nextOrder(groupID, topic string, partition int32) int64 {
	if pending := t.at(groupID, topic, partition); len(pending) > 0 {
		return pending[len(pending)-1].order + 1
	}
	return 0
}

// producer finds a producer, or makes it.
func (t *pendingTable) producer(id int64) *offsetProducer {
	p := t.producers[id]
	if p == nil {
		p = &offsetProducer{places: make(map[string]map[place]struct{})}
		t.producers[id] = p
	}
	return p
}

// set stores a pending offset in place of what its producer had for the
// partition. The strings may be views.
func (t *pendingTable) set(groupID, topic string, p pendingOffset) {
	t.remove(groupID, topic, p.partition, p.producerID)
	p.metadata = strings.Clone(p.metadata)
	at := place{unique.Make(topic).Value(), p.partition}

	group := t.groups[groupID]
	if group == nil {
		group = make(map[place][]pendingOffset)
		t.groups[strings.Clone(groupID)] = group
	}
	pending := group[at]
	i, _ := slices.BinarySearchFunc(pending, p.order, func(o pendingOffset, order int64) int { return cmp.Compare(o.order, order) })
	group[at] = slices.Insert(pending, i, p)
	t.count++

	producer := t.producer(p.producerID)
	producer.epoch = max(producer.epoch, p.producerEpoch)
	places := producer.places[groupID]
	if places == nil {
		places = make(map[place]struct{})
		producer.places[strings.Clone(groupID)] = places
	}
	places[at] = struct{}{}
}

// remove forgets a producer's pending offset of a partition, if it has one. The
// producer stays known.
func (t *pendingTable) remove(groupID, topic string, partition int32, producerID int64) {
	at := place{topic, partition}
	producer := t.producers[producerID]
	if producer == nil {
		return
	}
	places := producer.places[groupID]
	if _, ok := places[at]; !ok {
		return
	}
	if delete(places, at); len(places) == 0 {
		delete(producer.places, groupID)
	}
	group := t.groups[groupID]
	rest := slices.DeleteFunc(group[at], func(o pendingOffset) bool { return o.producerID == producerID })
	if len(rest) > 0 {
		group[at] = rest
	} else if delete(group, at); len(group) == 0 {
		delete(t.groups, groupID)
	}
	t.count--
}

// removeFunc forgets those of a group's pending offsets that drop names, and
// returns the tombstones.
func (t *pendingTable) removeFunc(now time.Time, groupID string, drop func(topic string, p *pendingOffset) bool) []records.Record {
	if !t.has(groupID) {
		return nil
	}
	var gone []records.Record
	for _, at := range slices.SortedFunc(maps.Keys(t.groups[groupID]), comparePlaces) {
		gone = append(gone, t.removeAt(now, groupID, at, drop)...)
	}
	return gone
}

// removeAt does so for one partition.
func (t *pendingTable) removeAt(now time.Time, groupID string, at place, drop func(topic string, p *pendingOffset) bool) []records.Record {
	var gone []records.Record
	// remove works on the slice that is gone through.
	for _, p := range slices.Clone(t.groups[groupID][at]) {
		if drop(at.topic, &p) {
			gone = append(gone, pendingOffsetTombstone(now, groupID, at.topic, &p))
			t.remove(groupID, at.topic, at.partition, p.producerID)
		}
	}
	return gone
}

// anyPending names all pending offsets.
func anyPending(string, *pendingOffset) bool { return true }

// outdate notes that a partition has been committed by something newer than its
// pending offsets below an order, and returns the records that say so.
func (t *pendingTable) outdate(now time.Time, groupID, topic string, partition int32, below int64) []records.Record {
	var changed []records.Record
	pending := t.at(groupID, topic, partition)
	for i := range pending {
		if p := &pending[i]; p.order < below && !p.outdated {
			p.outdated = true
			changed = append(changed, pendingOffsetRecord(now, groupID, topic, p))
		}
	}
	return changed
}

// forgetProducers forgets the producers without pending offsets that were not
// seen since a time.
func (t *pendingTable) forgetProducers(since time.Time) {
	maps.DeleteFunc(t.producers, func(_ int64, p *offsetProducer) bool {
		return len(p.places) == 0 && p.seen.Before(since)
	})
}

// snapshot yields the records of all pending offsets.
func (t *pendingTable) snapshot(yield func(records.Record) bool) {
	for groupID, places := range t.groups {
		for at, pending := range places {
			for i := range pending {
				p := &pending[i]
				if !yield(pendingOffsetRecord(time.UnixMilli(p.commitMs), groupID, at.topic, p)) {
					return
				}
			}
		}
	}
}

// replayPendingOffset applies a record of a pending offset.
func (s *Shard) replayPendingOffset(r *records.Record) error {
	groupID, topic, p, live, err := decodePendingOffset(r)
	if err != nil {
		return err
	}
	if live {
		s.offsetTable(groupID) // there is such a group, if only by this
		s.pending.set(groupID, topic, p)
		return nil
	}
	s.pending.remove(groupID, topic, p.partition, p.producerID)
	if producer := s.pending.producers[p.producerID]; producer != nil && len(producer.places) == 0 {
		delete(s.pending.producers, p.producerID)
	}
	s.forgetEmptyTable(groupID)
	return nil
}

// forgetEmptyTable forgets the table of a group that has neither offsets nor
// pending ones.
func (s *Shard) forgetEmptyTable(groupID string) {
	if table := s.offsets[groupID]; table != nil && table.len() == 0 && !s.pending.has(groupID) {
		delete(s.offsets, groupID)
	}
}
