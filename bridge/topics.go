package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// missAge is how long a name that was sought in Iggy in vain is known to be
	// missing.
	missAge = 500 * time.Millisecond
	// listAge is how old the catalog may be when all topics are listed.
	listAge = time.Second
	// maxMisses bounds the names remembered as missing.
	maxMisses = 10_000
	// maxPartitions bounds a topic's partitions: Iggy packs their ids into 20 bits.
	maxPartitions = 1 << 20
)

// Topics are all topics, sorted by name. While Iggy is away they are those last
// known.
func (b *Bridge) Topics(ctx context.Context) ([]*Topic, error) {
	if err := b.usable(); err != nil {
		return nil, err
	}
	if b.catalog.age(b.config.Now()) > listAge {
		if err := b.catalog.load(ctx); err != nil && !b.catalog.isLoaded() {
			return nil, err
		}
	}
	return b.catalog.list(), nil
}

// KnownTopics are the topics that are known now, sorted by name. Unlike Topics it
// never asks Iggy.
func (b *Bridge) KnownTopics() []*Topic { return b.catalog.list() }

// TopicsVersion is a number that grows whenever a topic or a partition comes or
// goes, as far as this bridge knows: who has seen a number need not look at the
// topics again before it has changed. It costs next to nothing.
func (b *Bridge) TopicsVersion() uint64 { return b.catalog.version.Load() }

// Topic finds a topic by name. One that the catalog does not have is looked for
// in Iggy. The error is ErrTopicNotFound when there is none.
func (b *Bridge) Topic(ctx context.Context, name string) (*Topic, error) {
	if err := b.usable(); err != nil {
		return nil, err
	}
	if t, ok := b.catalog.get(name); ok {
		return t, nil
	}
	if CheckTopicName(name) != nil {
		return nil, fmt.Errorf("%w: %q", ErrTopicNotFound, name)
	}
	if b.catalog.missed(name) {
		return nil, fmt.Errorf("%w: %s", ErrTopicNotFound, name)
	}
	return b.catalog.lookFresh(ctx, name)
}

// TopicByID finds a topic by its id. The error is ErrTopicIDNotFound when there
// is none.
func (b *Bridge) TopicByID(ctx context.Context, id [16]byte) (*Topic, error) {
	if err := b.usable(); err != nil {
		return nil, err
	}
	if t, ok := b.catalog.byTopicID(id); ok {
		return t, nil
	}
	if b.catalog.age(b.config.Now()) > missAge {
		// Another bridge may have made it a moment ago.
		if err := b.catalog.load(ctx); err != nil && !b.catalog.isLoaded() {
			return nil, err
		}
		if t, ok := b.catalog.byTopicID(id); ok {
			return t, nil
		}
	}
	return nil, ErrTopicIDNotFound
}

// CheckCreateTopic reports whether CreateTopic could make a topic, and makes
// none: ErrInvalidTopicName, ErrInvalidPartitions, ErrInvalidConfig,
// ErrTopicExists, or a fault.
func (b *Bridge) CheckCreateTopic(ctx context.Context, name string, spec TopicSpec) error {
	if err := b.checkSpec(name, spec); err != nil {
		return err
	}
	_, err := b.Topic(ctx, name)
	switch {
	case err == nil:
		return fmt.Errorf("%w: %s", ErrTopicExists, name)
	case errors.Is(err, ErrTopicNotFound):
		return nil
	}
	return err
}

func (b *Bridge) checkSpec(name string, spec TopicSpec) error {
	if err := b.usable(); err != nil {
		return err
	}
	if err := CheckTopicName(name); err != nil {
		return err
	}
	if internalTopics[name] || b.config.locate(name).Stream == b.config.StateStream {
		return fmt.Errorf("%w: '%s' is reserved", ErrInvalidTopicName, name)
	}
	if spec.Partitions < 1 || spec.Partitions > maxPartitions {
		return fmt.Errorf("%w: %d is not within 1 to %d", ErrInvalidPartitions, spec.Partitions, maxPartitions)
	}
	return CheckTopicConfigs(spec.Configs)
}

// EnsureStreamAndTopic returns the topic of a name and makes it, with its
// stream, if there is none. However many callers come at once, here and on
// other bridges, one topic is made.
func (b *Bridge) EnsureStreamAndTopic(ctx context.Context, name string, spec TopicSpec) (*Topic, error) {
	if err := b.usable(); err != nil {
		return nil, err
	}
	if t, ok := b.catalog.get(name); ok {
		return t, nil
	}
	t, err := b.CreateTopic(ctx, name, spec)
	if errors.Is(err, ErrTopicExists) {
		return b.catalog.lookFresh(ctx, name)
	}
	return t, err
}

// CreateTopic makes a topic, with its stream where that is needed. Errors are
// those of CheckCreateTopic, and ErrTooManyTopics.
func (b *Bridge) CreateTopic(ctx context.Context, name string, spec TopicSpec) (*Topic, error) {
	if err := b.checkSpec(name, spec); err != nil {
		return nil, err
	}
	if err := b.state.ready(); err != nil {
		return nil, err
	}
	unlock, err := b.catalog.naming.lock(ctx, name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if _, err := b.catalog.lookFresh(ctx, name); err == nil {
		return nil, fmt.Errorf("%w: %s", ErrTopicExists, name)
	} else if !errors.Is(err, ErrTopicNotFound) {
		return nil, err
	}
	if err := b.makeTopic(ctx, name, spec); err != nil {
		return nil, fmt.Errorf("creating topic %s: %w", name, err)
	}
	t, err := b.catalog.lookFresh(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("looking at the new topic %s: %w", name, err)
	}
	if err := b.bindTopicConfig(ctx, t); err != nil {
		return nil, err
	}
	return t, nil
}

// makeTopic creates a topic in Iggy. Its configuration goes into the internal
// state first, so that a bridge that stops in between leaves no topic with
// another configuration than the one asked for.
func (b *Bridge) makeTopic(ctx context.Context, name string, spec TopicSpec) error {
	at := b.config.locate(name)
	if err := b.makeStream(ctx, at.Stream); err != nil {
		return err
	}
	config := TopicConfig{overrides: spec.Configs, defaults: b.config.TopicDefaults}
	expiry, size := config.iggyRetention(spec.Partitions)
	first := int(min(spec.Partitions, maxPartitionsPerCall))
	for {
		if err := b.prepareTopicConfig(ctx, name, spec.Configs, expiry, size); err != nil {
			return err
		}
		err := b.transport.createTopic(ctx, at, first, expiry, size)
		if errors.Is(err, errTopicSize) && size != iggyUnlimited {
			// Iggy allows no limit below the size of one segment. A higher limit keeps
			// more than asked for, which hurts nobody.
			size = nextTopicSize(size)
			continue
		}
		if errors.Is(err, errStreamMissing) {
			return fmt.Errorf("%w: stream %s vanished", ErrUnavailable, at.Stream)
		}
		if errors.Is(err, ErrTopicExists) {
			// Without partitions it is none to Kafka: give it some.
			return b.growEmpty(ctx, at, int(spec.Partitions))
		}
		if err != nil {
			return err
		}
		return b.addPartitions(ctx, at, int(spec.Partitions)-first)
	}
}

// nextTopicSize is the size limit to try after one that Iggy refused.
func nextTopicSize(size uint64) uint64 {
	for _, try := range []uint64{64 << 20, 256 << 20, 1 << 30, 4 << 30, 16 << 30} {
		if size < try {
			return try
		}
	}
	return iggyUnlimited
}

// growEmpty gives partitions to a topic that has none.
func (b *Bridge) growEmpty(ctx context.Context, at Location, n int) error {
	info, err := b.transport.topic(ctx, at)
	if err != nil {
		return err
	}
	if info.partitionCount > 0 {
		return ErrTopicExists
	}
	return b.addPartitions(ctx, at, n)
}

func (b *Bridge) addPartitions(ctx context.Context, at Location, n int) error {
	for n > 0 {
		step := min(n, maxPartitionsPerCall)
		if err := b.transport.createPartitions(ctx, at, step); err != nil {
			return fmt.Errorf("adding partitions to %v: %w", at, err)
		}
		n -= step
	}
	return nil
}

// makeStream makes sure that there is a stream with room for another topic.
func (b *Bridge) makeStream(ctx context.Context, name string) error {
	streams, err := b.transport.streams(ctx)
	if err != nil {
		return err
	}
	for _, s := range streams {
		if s.name != name {
			continue
		}
		if s.topics >= maxStreams {
			return fmt.Errorf("%w: stream %s has %d topics", ErrTooManyTopics, name, s.topics)
		}
		return nil
	}
	if len(streams) >= maxStreams {
		return fmt.Errorf("%w: there are %d streams", ErrTooManyTopics, len(streams))
	}
	if err := b.transport.createStream(ctx, name); err != nil && !errors.Is(err, errStreamExists) {
		return fmt.Errorf("creating stream %s: %w", name, err)
	}
	return nil
}

// CreatePartitions brings a topic to total partitions. ErrInvalidPartitions
// when it has as many or more.
func (b *Bridge) CreatePartitions(ctx context.Context, name string, total int32) (*Topic, error) {
	unlock, err := b.catalog.naming.lock(ctx, name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	t, err := b.existing(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := refuseInternal(t); err != nil {
		return nil, err
	}
	if total <= t.Partitions || total > maxPartitions {
		return nil, fmt.Errorf("%w: topic %s has %d partitions and cannot have %d", ErrInvalidPartitions, name, t.Partitions, total)
	}
	if err := b.addPartitions(ctx, t.location, int(total-t.Partitions)); err != nil {
		return nil, err
	}
	return b.catalog.lookFresh(ctx, name)
}

// existing finds a topic as Iggy has it now.
func (b *Bridge) existing(ctx context.Context, name string) (*Topic, error) {
	if err := b.usable(); err != nil {
		return nil, err
	}
	return b.catalog.lookFresh(ctx, name)
}

// DeleteTopic deletes the topic of a name, and its stream when that was the
// topic's own and holds nothing else. The error is ErrTopicNotFound when there
// is none.
func (b *Bridge) DeleteTopic(ctx context.Context, name string) error {
	return b.deleteTopic(ctx, name, nil)
}

// DeleteTopicByID is DeleteTopic for the topic with an id, and for no other that
// was made under its name since. The error is ErrTopicIDNotFound when there is
// none.
func (b *Bridge) DeleteTopicByID(ctx context.Context, id [16]byte) error {
	t, err := b.TopicByID(ctx, id)
	if err != nil {
		return err
	}
	err = b.deleteTopic(ctx, t.Name, &id)
	if errors.Is(err, ErrTopicNotFound) {
		return fmt.Errorf("%w: %w", ErrTopicIDNotFound, err)
	}
	return err
}

// deleteTopic deletes the topic of a name, with id set only the one with it.
func (b *Bridge) deleteTopic(ctx context.Context, name string, id *[16]byte) error {
	unlock, err := b.catalog.naming.lock(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	t, err := b.existing(ctx, name)
	if err != nil {
		return err
	}
	if err := refuseInternal(t); err != nil {
		return err
	}
	if id != nil && t.ID != *id {
		return fmt.Errorf("%w: topic %s was made anew", ErrTopicNotFound, name)
	}
	if err := b.transport.deleteTopic(ctx, t.location); err != nil && !errors.Is(err, ErrTopicNotFound) {
		return fmt.Errorf("deleting topic %s: %w", name, err)
	}
	b.catalog.lost(name)
	if b.config.Stream == "" && !overridden(&b.config, name) {
		b.dropEmptyStream(ctx, t.location.Stream)
	}
	return nil
}

// dropEmptyStream deletes a topic's own stream when nothing is left in it.
// Failure leaves an empty stream, which the next topic of that name uses.
func (b *Bridge) dropEmptyStream(ctx context.Context, stream string) {
	left, err := b.transport.topics(ctx, stream)
	if err == nil && len(left) == 0 {
		err = b.transport.deleteStream(ctx, stream)
	}
	if err != nil && !errors.Is(err, errStreamMissing) {
		b.log.WithError(err).WithField("stream", stream).Warn("an empty stream could not be deleted")
	}
}
