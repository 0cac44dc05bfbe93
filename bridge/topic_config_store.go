package bridge

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
)

// storedConfig is what the internal state knows of a topic.
type storedConfig struct {
	// ID is the topic's id in hexadecimal, "" while the topic is being made.
	ID string `json:"id,omitempty"`
	// Configs are the configurations set on the topic.
	Configs map[string]string `json:"configs"`
	// Expiry and MaxSize are what Iggy was told because of them. Where Iggy says
	// otherwise later, somebody else changed it, and that holds.
	Expiry  uint64 `json:"expiry"`
	MaxSize uint64 `json:"max_size"`
}

const topicConfigPrefix = "topic/"

// topicConfig is a topic's configuration, from the internal state and from what
// Iggy says.
func (s *stateStore) topicConfig(name string, id [16]byte, info topicInfo) TopicConfig {
	config := TopicConfig{defaults: s.bridge.config.TopicDefaults}
	native := nativeOverrides(info.expiry, info.maxSize, int32(info.partitionCount))
	stored, ok := s.storedConfig(name)
	if !ok || stored.ID != "" && stored.ID != hex.EncodeToString(id[:]) {
		config.overrides = native
		return config
	}
	config.overrides = maps.Clone(stored.Configs)
	if config.overrides == nil {
		config.overrides = make(map[string]string)
	}
	if stored.Expiry != info.expiry {
		config.overrides[ConfigRetentionMs] = native[ConfigRetentionMs]
	}
	if stored.MaxSize != info.maxSize {
		config.overrides[ConfigRetentionBytes] = native[ConfigRetentionBytes]
	}
	return config
}

func (s *stateStore) storedConfig(name string) (storedConfig, bool) {
	var stored storedConfig
	raw, ok := s.get(topicConfigPrefix + name)
	if !ok {
		return stored, false
	}
	if err := json.Unmarshal(raw, &stored); err != nil {
		s.bridge.log.WithError(err).WithField("topic", name).Warn("the stored configuration of a topic cannot be read")
		return stored, false
	}
	return stored, true
}

// equal reports whether two configurations are the same.
func (c TopicConfig) equal(o TopicConfig) bool { return maps.Equal(c.overrides, o.overrides) }

// prepareTopicConfig stores the configuration of a topic that is to be made.
func (b *Bridge) prepareTopicConfig(ctx context.Context, name string, configs map[string]string, expiry, size uint64) error {
	return b.state.put(ctx, topicConfigPrefix+name, storedConfig{Configs: configs, Expiry: expiry, MaxSize: size})
}

// bindTopicConfig says which topic a stored configuration is for, now that it
// is made.
func (b *Bridge) bindTopicConfig(ctx context.Context, t *Topic) error {
	stored, ok := b.state.storedConfig(t.Name)
	if !ok {
		return fmt.Errorf("%w: the configuration of %s is not in the internal state", ErrStorage, t.Name)
	}
	stored.ID = hex.EncodeToString(t.ID[:])
	return b.state.put(ctx, topicConfigPrefix+t.Name, stored)
}

// SetTopicConfigs replaces the configurations set on a topic; those left out go
// back to their defaults. Errors are ErrTopicNotFound, ErrInvalidConfig, or a
// fault.
func (b *Bridge) SetTopicConfigs(ctx context.Context, name string, configs map[string]string) (*Topic, error) {
	if err := CheckTopicConfigs(configs); err != nil {
		return nil, err
	}
	unlock, err := b.catalog.naming.lock(ctx, name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	before, err := b.existing(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := refuseInternal(before); err != nil {
		return nil, err
	}
	info, err := b.transport.topic(ctx, before.location)
	if err != nil {
		return nil, err
	}
	expiry, size := TopicConfig{overrides: configs, defaults: b.config.TopicDefaults}.iggyRetention(before.Partitions)
	stored := storedConfig{ID: hex.EncodeToString(before.ID[:]), Configs: configs, Expiry: expiry, MaxSize: size}
	if err := b.state.put(ctx, topicConfigPrefix+name, stored); err != nil {
		return nil, err
	}
	if expiry != info.expiry || size != info.maxSize {
		// An update validates nothing, and 0 means something else than on creation:
		// the values are always explicit.
		if err := b.transport.updateTopic(ctx, info, expiry, size); err != nil {
			return nil, fmt.Errorf("changing topic %s in iggy: %w", name, err)
		}
	}
	after, err := b.catalog.lookFresh(ctx, name)
	if err != nil {
		return nil, err
	}
	if before.Config.LogAppendTime() != after.Config.LogAppendTime() {
		// Records now show another time than the one indexed and cached.
		b.cache.dropTopic(after.state)
		for _, p := range after.state.all() {
			p.index.truncate(0)
		}
	}
	return after, nil
}
