package engine

import (
	"errors"

	"kafka-iggy-bridge/internal/engine/access"
	"kafka-iggy-bridge/internal/engine/protocol"
)

// source is where a consumer reads: a partition, for a single consumer or a group.
type source struct {
	partition *partition // nil when a group member has none
	group     *group     // nil for a single consumer
	consumer  uint32     // of a single consumer
}

// key is what the consumer's offset is stored under.
func (s *source) key() offsetKey {
	if s.group != nil {
		return offsetKey{partition: s.partition.uid, group: true, consumer: s.group.uid}
	}
	return offsetKey{partition: s.partition.uid, consumer: uint64(s.consumer)}
}

// readSource finds what a consumer's request is about. A group's consumer must be a
// member through this connection; without a partition it gets the one its rotation is
// at, which advance moves on.
func (c *conn) readSource(u *user, op access.Operation, consumer protocol.Consumer, streamID, topicID protocol.ID, partition uint32, explicit, advance bool) (source, error) {
	c.e.mu.RLock()
	defer c.e.mu.RUnlock()
	t, err := c.topicFor(u, op, streamID, topicID)
	if err != nil {
		return source{}, err
	}
	if !consumer.Group {
		s := source{partition: t.partition(partition), consumer: consumer.SingleID()}
		if s.partition == nil {
			return source{}, protocol.ErrPartitionNotFound
		}
		return s, nil
	}
	g := t.group(consumer.ID)
	if g == nil {
		return source{}, protocol.ErrGroupNotFound
	}
	if c.stale.Load() {
		return source{}, protocol.ErrStaleClient
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !g.state.Has(c.client):
		return source{}, protocol.ErrNotMember
	case !explicit:
		id, ok := g.state.Next(c.client, advance)
		if !ok {
			return source{group: g}, nil
		}
		partition = id
	case !g.state.Owns(c.client, partition):
		return source{group: g}, nil
	}
	return source{partition: t.partition(partition), group: g}, nil
}

// storeOffset stores an offset and lets it complete what waits for it.
func (c *conn) storeOffset(s *source, offset uint64) error {
	if err := c.e.offsets.set(s.key(), offset); err != nil {
		c.e.log.WithError(err).Error("offset not stored")
		return protocol.ErrGeneric
	}
	if s.group != nil {
		s.group.mu.Lock()
		s.group.state.Stored(c.e.opts.Clock())
		s.group.mu.Unlock()
	}
	return nil
}

func (c *conn) storeConsumerOffset(r *protocol.Reader) error {
	consumer, streamID, topicID := r.Consumer(), r.ID(), r.ID()
	partition, explicit := r.PartitionOption()
	offset := r.U64()
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	s, err := c.readSource(u, access.ReadMessages, consumer, streamID, topicID, partition, explicit, false)
	if err != nil {
		return err
	}
	if s.partition == nil {
		return protocol.ErrPartitionUnassigned
	}
	if _, end := s.partition.log.Bounds(); offset >= end {
		return protocol.ErrInvalidOffset
	}
	return c.storeOffset(&s, offset)
}

func (c *conn) deleteConsumerOffset(r *protocol.Reader) error {
	consumer, streamID, topicID := r.Consumer(), r.ID(), r.ID()
	partition, explicit := r.PartitionOption()
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	s, err := c.readSource(u, access.ReadMessages, consumer, streamID, topicID, partition, explicit, false)
	if err != nil {
		return err
	}
	if s.partition == nil {
		return protocol.ErrPartitionUnassigned
	}
	found, err := c.e.offsets.remove(s.key())
	if err != nil {
		return err
	}
	if !found {
		return protocol.ErrOffsetNotFound
	}
	return nil
}

// getConsumerOffset answers with nothing for whatever does not exist. Reading a
// group's offset needs no membership.
func (c *conn) getConsumerOffset(r *protocol.Reader) error {
	consumer, streamID, topicID := r.Consumer(), r.ID(), r.ID()
	partition, _ := r.PartitionOption()
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	s, err := c.offsetSource(u, consumer, streamID, topicID, partition)
	if errors.Is(err, protocol.ErrUnauthorized) {
		return err
	}
	if err != nil {
		return nil
	}
	stored, ok := c.e.offsets.get(s.key())
	if !ok {
		return nil
	}
	_, end := s.partition.log.Bounds()
	c.out = protocol.AppendU32(c.out, s.partition.id)
	c.out = protocol.AppendU64(c.out, currentOffset(end))
	c.out = protocol.AppendU64(c.out, stored)
	return nil
}

func (c *conn) offsetSource(u *user, consumer protocol.Consumer, streamID, topicID protocol.ID, partition uint32) (source, error) {
	c.e.mu.RLock()
	defer c.e.mu.RUnlock()
	t, err := c.topicFor(u, access.ReadMessages, streamID, topicID)
	if err != nil {
		return source{}, err
	}
	s := source{partition: t.partition(partition)}
	if s.partition == nil {
		return source{}, protocol.ErrPartitionNotFound
	}
	if !consumer.Group {
		s.consumer = consumer.SingleID()
		return s, nil
	}
	if s.group = t.group(consumer.ID); s.group == nil {
		return source{}, protocol.ErrGroupNotFound
	}
	return s, nil
}
