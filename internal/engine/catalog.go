package engine

import (
	"iter"
	"sync"
	"sync/atomic"

	"kafka-iggy-bridge/internal/engine/access"
	"kafka-iggy-bridge/internal/engine/groups"
	"kafka-iggy-bridge/internal/engine/protocol"
	"kafka-iggy-bridge/internal/engine/storage"
)

// Limits of the catalog. Iggy 0.8 packs ids into 12 bits each, so a client cannot
// tell more apart.
const (
	maxStreams         = 4096
	maxTopicsPerStream = 4096

	// maxNumber bounds all numbers: tables are as long as the highest in use.
	maxNumber     = 1 << 20
	maxPartitions = 1 << 20
)

// catalog is what exists, apart from messages and offsets. Ids are slots: the lowest
// free one is given out next.
type catalog struct {
	streams     slots[stream]
	streamNames map[string]*stream
	users       slots[user]
	userNames   map[string]*user
	tokens      map[tokenHash]*token // by hash

	// nextUID is the next identity for data on disk. Unlike ids these are never used
	// twice, so nothing left behind can be taken for something newer.
	nextUID uint64
}

type stream struct {
	id         uint32
	createdAt  uint64
	name       string
	topics     slots[topic]
	topicNames map[string]*topic
}

type topic struct {
	id         uint32
	stream     *stream
	createdAt  uint64
	name       string
	settings   topicSettings
	partitions []*partition
	groups     slots[group]
	groupNames map[string]*group

	balance atomic.Uint32 // round-robin counter of balanced sends
}

// topicSettings are what an update may change.
type topicSettings struct {
	compression uint8
	expiry      uint64 // µs, protocol.Never for none
	maxSize     uint64 // bytes, protocol.Never for none
	replication uint8
}

type partition struct {
	id        uint32
	uid       uint64
	createdAt uint64
	log       *storage.Log
}

type group struct {
	id      uint32
	uid     uint64
	name    string
	topic   *topic
	deleted atomic.Bool

	mu    sync.Mutex
	state *groups.Group
	uids  []uint64 // of the topic's partitions
}

type user struct {
	id        uint32
	createdAt uint64
	name      string
	status    uint8
	hash      string // of the password, PHC string form
	perms     atomic.Pointer[access.Permissions]
	deleted   atomic.Bool
	tokens    map[string]*token
}

type token struct {
	user      *user
	name      string
	hash      tokenHash
	expiresAt uint64 // µs since the epoch, 0 for never
}

type tokenHash [32]byte

// slots holds values by small ids, free ones being nil.
type slots[T any] struct {
	list []*T
	used int
}

func (s *slots[T]) get(id uint32) *T {
	if uint64(id) >= uint64(len(s.list)) {
		return nil
	}
	return s.list[id]
}

// free returns the lowest free id.
func (s *slots[T]) free() uint32 {
	for i, v := range s.list {
		if v == nil {
			return uint32(i)
		}
	}
	return uint32(len(s.list))
}

func (s *slots[T]) set(id uint32, v *T) {
	for uint64(id) >= uint64(len(s.list)) {
		s.list = append(s.list, nil)
	}
	if s.list[id] == nil {
		s.used++
	}
	s.list[id] = v
}

func (s *slots[T]) remove(id uint32) {
	if s.get(id) != nil {
		s.list[id] = nil
		s.used--
	}
}

// all yields the values in the order of their ids.
func (s *slots[T]) all() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, v := range s.list {
			if v != nil && !yield(v) {
				return
			}
		}
	}
}

func (c *catalog) init() {
	c.streamNames = make(map[string]*stream)
	c.userNames = make(map[string]*user)
	c.tokens = make(map[tokenHash]*token)
}

func (c *catalog) stream(id protocol.ID) *stream {
	if id.Named() {
		return c.streamNames[string(id.Name)]
	}
	return c.streams.get(id.Number)
}

func (s *stream) topic(id protocol.ID) *topic {
	if id.Named() {
		return s.topicNames[string(id.Name)]
	}
	return s.topics.get(id.Number)
}

// topic finds a topic; the error says which of stream and topic is missing.
func (c *catalog) topic(streamID, topicID protocol.ID) (*topic, error) {
	s := c.stream(streamID)
	if s == nil {
		return nil, protocol.ErrStreamNotFound
	}
	t := s.topic(topicID)
	if t == nil {
		return nil, protocol.ErrTopicNotFound
	}
	return t, nil
}

func (t *topic) partition(id uint32) *partition {
	if uint64(id) >= uint64(len(t.partitions)) {
		return nil
	}
	return t.partitions[id]
}

func (t *topic) group(id protocol.ID) *group {
	if id.Named() {
		return t.groupNames[string(id.Name)]
	}
	return t.groups.get(id.Number)
}

func (c *catalog) user(id protocol.ID) *user {
	if id.Named() {
		return c.userNames[string(id.Name)]
	}
	return c.users.get(id.Number)
}

func (c *catalog) allTopics() iter.Seq[*topic] {
	return func(yield func(*topic) bool) {
		for s := range c.streams.all() {
			for t := range s.topics.all() {
				if !yield(t) {
					return
				}
			}
		}
	}
}

func (c *catalog) allPartitions() iter.Seq[*partition] {
	return func(yield func(*partition) bool) {
		for t := range c.allTopics() {
			for _, p := range t.partitions {
				if !yield(p) {
					return
				}
			}
		}
	}
}

func (c *catalog) takeUID() uint64 {
	c.nextUID++
	return c.nextUID
}
