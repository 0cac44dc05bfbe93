package bridge

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// internalTopicPrefix begins the keys under which the internal state keeps the
// internal topics.
const internalTopicPrefix = "internal-topic/"

// maxInternalPartitions bounds an internal topic's partitions: each has one or
// two topics in the state's stream, which holds 4096.
const maxInternalPartitions = 1000

// storedInternalTopic is what the internal state knows of an internal topic.
type storedInternalTopic struct {
	Partitions int32 `json:"partitions"`
	// ID is the topic's id in hexadecimal.
	ID string `json:"id"`
}

// internalConfigs are the configurations with which Kafka makes its internal
// topics.
var internalConfigs = map[string]map[string]string{
	"__consumer_offsets":  {ConfigCleanupPolicy: "compact", ConfigCompressionType: "producer", "segment.bytes": "104857600"},
	"__transaction_state": {ConfigCleanupPolicy: "compact", ConfigCompressionType: "uncompressed", "segment.bytes": "104857600"},
	"__share_group_state": {ConfigCleanupPolicy: "delete", ConfigCompressionType: "producer", ConfigRetentionMs: "-1", "segment.bytes": "104857600"},
}

// internalTopic is one of Kafka's own topics, whose partitions are chains of
// generations. Its location is virtual: internalTransport translates it.
type internalTopic struct {
	bridge *Bridge
	at     Location

	looks flights

	mu     sync.Mutex
	count  int32 // partitions, 0 while unknown
	chains map[int32]*chain
	logs   map[int32]*CompactedLog
}

// internals are the internal topics.
type internals struct {
	bridge *Bridge

	mu     sync.Mutex
	byName map[string]*internalTopic
	doomed map[Location]doomedGeneration
}

func newInternals(b *Bridge) *internals {
	return &internals{bridge: b, byName: make(map[string]*internalTopic), doomed: make(map[Location]doomedGeneration)}
}

// get is the internal topic of a name, which need not have been opened.
func (n *internals) get(name string) *internalTopic {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.byName[name]
	if t == nil {
		name = strings.Clone(name) // it is kept
		t = &internalTopic{
			bridge: n.bridge,
			at:     Location{Stream: n.bridge.config.StateStream, Topic: name},
			chains: make(map[int32]*chain),
			logs:   make(map[int32]*CompactedLog),
		}
		n.byName[name] = t
	}
	return t
}

// OpenInternalTopic makes one of Kafka's internal topics, or finds it, and
// returns how many partitions it has: as many as it was made with first, by
// whatever bridge on this Iggy, which need not be the number given. From then on
// the catalog has the topic. It costs nothing until it is written to. Errors:
// ErrInvalidTopicName for a name that is none of Kafka's internal topics,
// ErrInvalidPartitions for a number that is not within 1 to 1000,
// ErrNotReady while the internal state is not loaded, or a fault.
func (b *Bridge) OpenInternalTopic(ctx context.Context, name string, partitions int32) (int32, error) {
	if err := b.usable(); err != nil {
		return 0, err
	}
	if _, ok := internalConfigs[name]; !ok {
		return 0, fmt.Errorf("%w: %q is not an internal topic", ErrInvalidTopicName, name)
	}
	if err := b.state.ready(); err != nil {
		return 0, err
	}
	stored, ok, err := b.state.internalTopic(name)
	if err == nil && !ok {
		stored, err = b.makeInternalTopic(ctx, name, partitions)
	}
	if err != nil {
		return 0, fmt.Errorf("opening internal topic %s: %w", name, err)
	}
	if err := b.catalog.foundInternal(name, stored); err != nil {
		return 0, err
	}
	return stored.Partitions, nil
}

func (b *Bridge) makeInternalTopic(ctx context.Context, name string, partitions int32) (storedInternalTopic, error) {
	if partitions < 1 || partitions > maxInternalPartitions {
		return storedInternalTopic{}, fmt.Errorf("%w: %d is not within 1 to %d", ErrInvalidPartitions, partitions, maxInternalPartitions)
	}
	id, err := randomTopicID()
	if err != nil {
		return storedInternalTopic{}, err
	}
	wanted := storedInternalTopic{Partitions: partitions, ID: hex.EncodeToString(id[:])}
	if err := b.state.putIfAbsent(ctx, internalTopicPrefix+name, wanted); err != nil {
		return storedInternalTopic{}, err
	}
	stored, ok, err := b.state.internalTopic(name)
	if err == nil && !ok {
		err = fmt.Errorf("%w: the internal state does not keep it", ErrStorage)
	}
	return stored, err
}

// randomTopicID is a random id in the form of a UUID of version 4 whose text
// does not begin with '-'.
func randomTopicID() (id [16]byte, err error) {
	if _, err := rand.Read(id[:]); err != nil {
		return id, fmt.Errorf("reading random bytes: %w", err)
	}
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	if id[0]>>2 == 62 {
		id[0] &= 0x7f
	}
	return id, nil
}

// internalTopic is what the state knows of an internal topic.
func (s *stateStore) internalTopic(name string) (stored storedInternalTopic, ok bool, err error) {
	raw, ok := s.get(internalTopicPrefix + name)
	if !ok {
		return stored, false, nil
	}
	if err := json.Unmarshal(raw, &stored); err != nil {
		return stored, false, fmt.Errorf("%w: internal topic %s in the internal state: %w", ErrStorage, name, err)
	}
	if stored.Partitions < 1 || stored.Partitions > maxInternalPartitions {
		return stored, false, fmt.Errorf("%w: internal topic %s in the internal state has %d partitions", ErrStorage, name, stored.Partitions)
	}
	return stored, true, nil
}

// loadInternals takes the internal topics that the state knows into the
// catalog.
func (c *catalog) loadInternals() error {
	for _, key := range c.bridge.state.keys(internalTopicPrefix) {
		if _, err := c.lookInternal(strings.TrimPrefix(key, internalTopicPrefix)); err != nil {
			return err
		}
	}
	return nil
}

// lookInternal finds an internal topic in the state. The error is
// ErrTopicNotFound when it was never opened.
func (c *catalog) lookInternal(name string) (*Topic, error) {
	stored, ok, err := c.bridge.state.internalTopic(name)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrTopicNotFound, name)
	}
	if err := c.foundInternal(name, stored); err != nil {
		return nil, err
	}
	t, _ := c.get(name)
	return t, nil
}

// foundInternal takes an internal topic into the catalog.
func (c *catalog) foundInternal(name string, stored storedInternalTopic) error {
	var id [16]byte
	if n, err := hex.Decode(id[:], []byte(stored.ID)); err != nil || n != len(id) {
		return fmt.Errorf("%w: internal topic %s has the id %q in the internal state", ErrStorage, name, stored.ID)
	}
	t := c.bridge.internals.get(name)
	t.mu.Lock()
	t.count = stored.Partitions
	t.mu.Unlock()
	c.place(strings.Clone(name), id, t.info(), c.bridge.TopicConfig(internalConfigs[name]))
	return nil
}

// refuseInternal is the error for a change that clients may not make to an
// internal topic.
func refuseInternal(t *Topic) error {
	if !t.Internal {
		return nil
	}
	return fmt.Errorf("%w: '%s' is an internal topic, which the bridge keeps itself", ErrInvalidTopicName, t.Name)
}

// partition is the owner of a partition of an internal topic, as the catalog has
// it.
func (t *internalTopic) partition(p int32) (*Topic, *partition, error) {
	topic, ok := t.bridge.catalog.get(t.at.Topic)
	if !ok {
		return nil, nil, fmt.Errorf("%w: internal topic %s was not opened", ErrTopicNotFound, t.at.Topic)
	}
	owner, err := topic.state.partition(p)
	return topic, owner, err
}
