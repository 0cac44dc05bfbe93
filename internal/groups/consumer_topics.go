package groups

import (
	"encoding/binary"
	"maps"
	"slices"
	"unicode/utf16"

	"github.com/zeebo/xxh3"
)

// topicView is what the consumer groups of a shard have seen of the topics.
type topicView struct {
	set *TopicSet
	// version grows with every set and from one start to the next; createdAt is the
	// version that had topics for the first time.
	version, createdAt int64
	// hashes of topics, by name, for this set.
	hashes map[string]uint64
}

// viewTopics is the newest set of topics. It costs a comparison of pointers when
// nothing changed.
func (s *Shard) viewTopics() *TopicSet {
	set := s.topics()
	v := &s.topicView
	if set == v.set {
		return set
	}
	was := v.set
	v.version = max(v.version+1, s.now.UnixMilli())
	if was == nil || set.hasMoreThan(was) {
		v.createdAt = v.version
	}
	v.set, v.hashes = set, make(map[string]uint64)
	return set
}

// hasMoreThan reports whether there are topics that were not in another set.
func (s *TopicSet) hasMoreThan(was *TopicSet) bool {
	for id := range s.byID {
		if _, ok := was.byID[id]; !ok {
			return true
		}
	}
	return false
}

// metadataHash is the hash of the topics that a group subscribes to, of those
// that there are: it changes when one of them comes, goes or grows, and when the
// subscription does. The computation is Kafka's (KIP-1101).
func (s *Shard) metadataHash(subscription map[string]subscribers) int64 {
	topics := s.viewTopics()
	var sum []byte
	for _, name := range slices.Sorted(maps.Keys(subscription)) {
		if t, ok := topics.ByName(name); ok {
			sum = binary.LittleEndian.AppendUint64(sum, s.topicView.hash(t))
		}
	}
	if len(sum) == 0 {
		return 0
	}
	return int64(xxh3.Hash(sum))
}

// hash is the hash of a topic. Kafka puts the racks of each partition behind its
// number; there are none here.
func (v *topicView) hash(t Topic) uint64 {
	if h, ok := v.hashes[t.Name]; ok {
		return h
	}
	sum := []byte{0}
	sum = binary.LittleEndian.AppendUint64(sum, binary.BigEndian.Uint64(t.ID[:8]))
	sum = binary.LittleEndian.AppendUint64(sum, binary.BigEndian.Uint64(t.ID[8:]))
	name := utf16.Encode([]rune(t.Name))
	for _, c := range name {
		sum = binary.LittleEndian.AppendUint16(sum, c)
	}
	sum = binary.LittleEndian.AppendUint32(sum, uint32(len(name)))
	sum = binary.LittleEndian.AppendUint32(sum, uint32(t.Partitions))
	for p := range t.Partitions {
		sum = binary.LittleEndian.AppendUint32(sum, uint32(p))
	}
	h := xxh3.Hash(sum)
	v.hashes[t.Name] = h
	return h
}
