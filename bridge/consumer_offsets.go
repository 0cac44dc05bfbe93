package bridge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf8"
)

// ConsumerOffsets are the offsets that Iggy itself keeps, of single consumers
// and of consumer groups, for the topics that Kafka sees.
//
// Iggy keeps the last offset that was consumed, Kafka the next one. Offsets here
// are Kafka's: n stands for Iggy's n-1, and 0 for none stored at all. In Iggy a
// stored offset keeps retention from what lies above it, and one cannot be
// stored above a partition's last message.
type ConsumerOffsets struct {
	config    *Config
	transport transport
}

// OpenConsumerOffsets connects to Iggy for that purpose alone, without a Bridge.
// It returns at once; calls fail with ErrUnavailable or ErrUnauthorized while
// there is no connection.
func OpenConsumerOffsets(config Config) (*ConsumerOffsets, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	config.PoolSize = 1
	o := &ConsumerOffsets{config: &config, transport: config.transport}
	if o.transport == nil {
		o.transport = newSDKPool(config)
	}
	o.transport.start()
	return o, nil
}

// Close ends the connections that OpenConsumerOffsets has made.
func (o *ConsumerOffsets) Close() error { return o.transport.close() }

// ConsumerOffsets are those of the bridge's Iggy, over its connections: Close is
// not to be called on them.
func (b *Bridge) ConsumerOffsets() *ConsumerOffsets {
	return &ConsumerOffsets{config: &b.config, transport: b.transport}
}

// CheckConsumerName reports whether Iggy can have a consumer or group of a name:
// 1 to 255 bytes of UTF-8. The error wraps ErrInvalidConsumer.
func CheckConsumerName(name string) error {
	switch {
	case name == "" || len(name) > maxIggyName:
		return fmt.Errorf("%w: %d bytes, not 1 to %d: %q", ErrInvalidConsumer, len(name), maxIggyName, name)
	case !utf8.ValidString(name):
		return fmt.Errorf("%w: it is not UTF-8: %q", ErrInvalidConsumer, name)
	}
	return nil
}

// place checks what every call is given.
func (o *ConsumerOffsets) place(name, topic string, partition int32) (Location, error) {
	if err := CheckConsumerName(name); err != nil {
		return Location{}, err
	}
	if partition < 0 {
		return Location{}, fmt.Errorf("%w: %s-%d", ErrPartitionNotFound, topic, partition)
	}
	return o.config.locate(topic), nil
}

// get is an owner's offset as Kafka counts.
func (o *ConsumerOffsets) get(ctx context.Context, of offsetOwner, topic string, partition int32) (next int64, ok bool, err error) {
	at, err := o.place(of.name, topic, partition)
	if err != nil {
		return 0, false, err
	}
	stored, ok, err := o.transport.storedOffset(ctx, of, at, uint32(partition))
	if err != nil || !ok {
		return 0, false, err
	}
	return int64(stored) + 1, true, nil
}

// set stores an owner's offset as Kafka counts; 0 removes it.
func (o *ConsumerOffsets) set(ctx context.Context, of offsetOwner, topic string, partition int32, next int64) error {
	at, err := o.place(of.name, topic, partition)
	switch {
	case err != nil:
		return err
	case next < 0:
		return fmt.Errorf("%w: %d", ErrOffsetOutOfRange, next)
	case next == 0:
		err = o.transport.deleteOffset(ctx, of, at, uint32(partition))
	default:
		err = o.transport.storeOffset(ctx, of, at, uint32(partition), uint64(next-1))
	}
	if err != nil {
		return fmt.Errorf("offset %d of %s for %v/%d: %w", next, of, at, partition, err)
	}
	return nil
}

func (o offsetOwner) String() string {
	if o.group {
		return "iggy's consumer group " + o.name
	}
	return "iggy's consumer " + o.name
}

// Consumer is the offset of a single consumer; ok is false when none is stored.
func (o *ConsumerOffsets) Consumer(ctx context.Context, consumer, topic string, partition int32) (next int64, ok bool, err error) {
	return o.get(ctx, offsetOwner{name: consumer}, topic, partition)
}

// SetConsumer stores the offset of a single consumer; 0 removes it. It fails
// with ErrOffsetOutOfRange above the partition's end, with ErrTopicNotFound or
// ErrPartitionNotFound, and with ErrInvalidConsumer.
func (o *ConsumerOffsets) SetConsumer(ctx context.Context, consumer, topic string, partition int32, next int64) error {
	return o.set(ctx, offsetOwner{name: consumer}, topic, partition, next)
}

// Group is the offset of a consumer group of Iggy's; ok is false when none is
// stored or there is no such group.
func (o *ConsumerOffsets) Group(ctx context.Context, group, topic string, partition int32) (next int64, ok bool, err error) {
	return o.get(ctx, offsetOwner{group: true, name: group}, topic, partition)
}

// GroupMembers counts the members of a topic's consumer group of Iggy's. It
// fails with ErrGroupNotFound when the topic has none of that name.
func (o *ConsumerOffsets) GroupMembers(ctx context.Context, group, topic string) (int, error) {
	at, err := o.place(group, topic, 0)
	if err != nil {
		return 0, err
	}
	return o.transport.groupMembers(ctx, at, group)
}

// leaveTime bounds leaving a group behind an error or a context that has ended.
const leaveTime = 5 * time.Second

// SetGroup stores offsets of a topic's consumer group of Iggy's, by partition; 0
// removes one. The group is made when there is none. As Iggy takes a group's
// offsets from its members only, it joins the group for as long as that takes,
// and fails with ErrGroupActive when it is not the only member, before or
// behind: in the latter case the offsets are stored, but others may have read
// from earlier ones. Offsets that come before a failing one are stored.
func (o *ConsumerOffsets) SetGroup(ctx context.Context, group, topic string, next map[int32]int64) (err error) {
	at, err := o.place(group, topic, 0)
	if err != nil {
		return err
	}
	members, err := o.transport.groupMembers(ctx, at, group)
	switch {
	case errors.Is(err, ErrGroupNotFound):
		if err := o.transport.createGroup(ctx, at, group); err != nil {
			return fmt.Errorf("make iggy's consumer group %s of %v: %w", group, at, err)
		}
	case err != nil:
		return err
	case members > 0:
		return fmt.Errorf("%w: %s of %v has %d", ErrGroupActive, group, at, members)
	}
	if err := o.transport.joinGroup(ctx, at, group); err != nil {
		return fmt.Errorf("join iggy's consumer group %s of %v: %w", group, at, err)
	}
	defer func() {
		leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
		defer cancel()
		// A membership that was lost needs no leaving.
		if leaveErr := o.transport.leaveGroup(leaving, at, group); err == nil && !errors.Is(leaveErr, errMembershipLost) {
			err = leaveErr
		}
	}()
	if err := o.alone(ctx, at, group); err != nil {
		return err
	}
	for _, partition := range slices.Sorted(maps.Keys(next)) {
		if err := o.set(ctx, offsetOwner{group: true, name: group}, topic, partition, next[partition]); err != nil {
			return err
		}
	}
	return o.alone(ctx, at, group)
}

// alone fails when a group that was joined has other members.
func (o *ConsumerOffsets) alone(ctx context.Context, at Location, group string) error {
	members, err := o.transport.groupMembers(ctx, at, group)
	if err == nil && members > 1 {
		err = fmt.Errorf("%w: %s of %v got others meanwhile, %d", ErrGroupActive, group, at, members-1)
	}
	return err
}
