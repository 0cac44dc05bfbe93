package engine

import (
	"kafka-iggy-bridge/internal/engine/access"
	"kafka-iggy-bridge/internal/engine/protocol"
)

// topicRecord sums up a topic. Engine.mu must be held.
func topicRecord(t *topic) protocol.Topic {
	rec := protocol.Topic{
		ID:          t.id,
		CreatedAt:   t.createdAt,
		Partitions:  uint32(len(t.partitions)),
		Expiry:      t.settings.expiry,
		Compression: t.settings.compression,
		MaxSize:     t.settings.maxSize,
		Replication: t.settings.replication,
		Name:        t.name,
	}
	for _, p := range t.partitions {
		st := p.log.Stats()
		rec.Bytes += st.Bytes
		rec.Messages += messages(st)
	}
	return rec
}

func (c *conn) appendTopic(t *topic) {
	rec := topicRecord(t)
	c.out = rec.Append(c.out)
}

func (c *conn) appendPartitions(t *topic) {
	for _, p := range t.partitions {
		st := p.log.Stats()
		rec := protocol.Partition{
			ID:            p.id,
			CreatedAt:     p.createdAt,
			Segments:      uint32(st.Segments),
			CurrentOffset: currentOffset(st.End),
			Bytes:         st.Bytes,
			Messages:      messages(st),
		}
		c.out = rec.Append(c.out)
	}
}

func (c *conn) getTopic(r *protocol.Reader) error {
	streamID, topicID := r.ID(), r.ID()
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	c.e.mu.RLock()
	defer c.e.mu.RUnlock()
	t, err := c.e.catalog.topic(streamID, topicID)
	if err != nil {
		return nil // missing things are an empty answer
	}
	if err := u.allowTopic(access.SeeTopic, t); err != nil {
		return err
	}
	c.appendTopic(t)
	c.appendPartitions(t)
	return nil
}

func (c *conn) getTopics(r *protocol.Reader) error {
	streamID := r.ID()
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	c.e.mu.RLock()
	defer c.e.mu.RUnlock()
	s := c.e.catalog.stream(streamID)
	if s == nil {
		return nil
	}
	if err := u.allowStream(access.ListTopics, s); err != nil {
		return err
	}
	for t := range s.topics.all() {
		c.appendTopic(t)
	}
	return nil
}

func readSettings(r *protocol.Reader) topicSettings {
	set := topicSettings{compression: r.U8(), expiry: r.U64(), maxSize: r.U64(), replication: r.U8()}
	if r.Err() == nil && (set.compression < 1 || set.compression > 2) {
		r.Fail(protocol.ErrInvalidCommand)
	}
	set.replication = max(set.replication, 1)
	return set
}

// resolve puts the server's defaults, which are no limits, where a setting asks for
// them.
func (set topicSettings) resolve() topicSettings {
	if set.expiry == 0 {
		set.expiry = protocol.Never
	}
	if set.maxSize == 0 {
		set.maxSize = protocol.Never
	}
	return set
}

func (c *conn) createTopic(r *protocol.Reader) error {
	streamID, n := r.ID(), r.U32()
	set, name := readSettings(r), r.Name()
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	if n > protocol.MaxPartitionsPerOp {
		return protocol.ErrTooManyPartitions
	}
	set = set.resolve()
	var t *topic
	err = c.e.change(func() (func() error, error) {
		s, err := c.streamFor(u, access.AddTopic, streamID)
		if err != nil {
			return nil, err
		}
		switch {
		case set.maxSize < uint64(c.e.store.SegmentBytes()):
			return nil, protocol.ErrInvalidTopicSize
		case s.topicNames[name] != nil:
			return nil, protocol.ErrTopicExists
		case s.topics.used >= maxTopicsPerStream:
			return nil, protocol.ErrCannotCreateTopic
		}
		t = &topic{id: s.topics.free(), stream: s, createdAt: c.e.now(), name: name, settings: set, groupNames: make(map[string]*group)}
		if t.partitions, err = c.e.newPartitions(0, n, t.createdAt); err != nil {
			return nil, err
		}
		tx := c.e.begin()
		tx.putUID()
		tx.Put(t.key(), t.value())
		wait, err := tx.write()
		if err != nil {
			return nil, err
		}
		s.topics.set(t.id, t)
		s.topicNames[name] = t
		return wait, nil
	})
	if err != nil {
		return err
	}
	c.appendNewTopic(t, set, n)
	return nil
}

// appendNewTopic appends the answer to a creation, whose counters are all zero.
func (c *conn) appendNewTopic(t *topic, set topicSettings, n uint32) {
	rec := protocol.Topic{
		ID: t.id, CreatedAt: t.createdAt, Partitions: n, Expiry: set.expiry, Compression: set.compression,
		MaxSize: set.maxSize, Replication: set.replication, Name: t.name,
	}
	c.out = rec.Append(c.out)
	for id := range n {
		p := protocol.Partition{ID: id, CreatedAt: t.createdAt}
		c.out = p.Append(c.out)
	}
}

func (c *conn) updateTopic(r *protocol.Reader) error {
	streamID, topicID := r.ID(), r.ID()
	set, name := readSettings(r), r.Name()
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	// Iggy 0.8 stores a zero as it is here, and its cleaner then deletes everything.
	// Zero means the default in an update as it does in a creation.
	set = set.resolve()
	return c.e.change(func() (func() error, error) {
		t, err := c.topicFor(u, access.ChangeTopic, streamID, topicID)
		if err != nil {
			return nil, err
		}
		if other := t.stream.topicNames[name]; other != nil && other != t {
			return nil, protocol.ErrTopicExists
		}
		tx := c.e.begin()
		tx.Put(t.key(), topicValue(t.createdAt, name, set, t.partitions))
		wait, err := tx.write()
		if err != nil {
			return nil, err
		}
		delete(t.stream.topicNames, t.name)
		t.name, t.settings = name, set
		t.stream.topicNames[name] = t
		return wait, nil
	})
}

// deleteTopic records a topic's deletion with all that belongs to it.
func (t *metaTx) deleteTopic(which *topic) {
	for g := range which.groups.all() {
		t.Delete(g.key())
	}
	t.Delete(which.key())
}

func (c *conn) deleteTopic(r *protocol.Reader) error {
	streamID, topicID := r.ID(), r.ID()
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	return c.e.change(func() (func() error, error) {
		t, err := c.topicFor(u, access.ChangeTopic, streamID, topicID)
		if err != nil {
			return nil, err
		}
		tx := c.e.begin()
		tx.deleteTopic(t)
		revoked := tx.revoke(func(p *access.Permissions) (*access.Permissions, bool) { return p.WithoutTopic(t.stream.id, t.id) })
		wait, err := tx.write()
		if err != nil {
			return nil, err
		}
		apply(revoked)
		t.stream.topics.remove(t.id)
		delete(t.stream.topicNames, t.name)
		c.e.drop(t)
		return wait, nil
	})
}

func (c *conn) purgeTopic(r *protocol.Reader) error {
	streamID, topicID := r.ID(), r.ID()
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	return c.e.change(func() (func() error, error) {
		t, err := c.topicFor(u, access.ChangeTopic, streamID, topicID)
		if err != nil {
			return nil, err
		}
		return c.e.purge([]*topic{t})
	})
}
