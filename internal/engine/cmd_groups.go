package engine

import (
	"kafka-iggy-bridge/internal/engine/access"
	"kafka-iggy-bridge/internal/engine/protocol"
)

// groupRecord describes a group. Engine.mu and the group's lock must be held.
func groupRecord(g *group) protocol.Group {
	return protocol.Group{ID: g.id, Partitions: uint32(len(g.topic.partitions)), Members: uint32(g.state.Size()), Name: g.name}
}

func (c *conn) getConsumerGroup(r *protocol.Reader) error {
	streamID, topicID, groupID := r.ID(), r.ID(), r.ID()
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
	g := t.group(groupID)
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	rec := groupRecord(g)
	c.out = rec.Append(c.out)
	for _, m := range g.state.Members() {
		c.out = protocol.AppendU32(c.out, m.ID)
		c.out = protocol.AppendU32(c.out, uint32(len(m.Partitions)))
		for _, p := range m.Partitions {
			c.out = protocol.AppendU32(c.out, p)
		}
	}
	return nil
}

func (c *conn) getConsumerGroups(r *protocol.Reader) error {
	streamID, topicID := r.ID(), r.ID()
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	c.e.mu.RLock()
	defer c.e.mu.RUnlock()
	t, err := c.e.catalog.topic(streamID, topicID)
	if err != nil {
		return nil
	}
	if err := u.allowTopic(access.SeeTopic, t); err != nil {
		return err
	}
	for g := range t.groups.all() {
		g.mu.Lock()
		rec := groupRecord(g)
		g.mu.Unlock()
		c.out = rec.Append(c.out)
	}
	return nil
}

func (c *conn) createConsumerGroup(r *protocol.Reader) error {
	streamID, topicID, name := r.ID(), r.ID(), r.Name()
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	var rec protocol.Group
	err = c.e.change(func() (func() error, error) {
		t, err := c.topicFor(u, access.SeeTopic, streamID, topicID)
		if err != nil {
			return nil, err
		}
		if t.groupNames[name] != nil {
			return nil, protocol.ErrGroupExists
		}
		if t.groups.used >= maxNumber {
			return nil, protocol.ErrGeneric
		}
		g := &group{id: t.groups.free(), uid: c.e.catalog.takeUID(), name: name, topic: t}
		tx := c.e.begin()
		tx.putUID()
		tx.Put(g.key(), g.value())
		wait, err := tx.write()
		if err != nil {
			return nil, err
		}
		c.e.start(g)
		t.groups.set(g.id, g)
		t.groupNames[name] = g
		rec = groupRecord(g)
		return wait, nil
	})
	if err != nil {
		return err
	}
	c.out = rec.Append(c.out)
	return nil
}

func (c *conn) deleteConsumerGroup(r *protocol.Reader) error {
	streamID, topicID, groupID := r.ID(), r.ID(), r.ID()
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	var g *group
	var partitions []uint64
	err = c.e.change(func() (func() error, error) {
		t, err := c.topicFor(u, access.SeeTopic, streamID, topicID)
		if err != nil {
			return nil, err
		}
		if g = t.group(groupID); g == nil {
			return nil, protocol.ErrGroupNotFound
		}
		tx := c.e.begin()
		tx.Delete(g.key())
		wait, err := tx.write()
		if err != nil {
			return nil, err
		}
		g.deleted.Store(true)
		t.groups.remove(g.id)
		delete(t.groupNames, g.name)
		for _, p := range t.partitions {
			partitions = append(partitions, p.uid)
		}
		return wait, nil
	})
	if err != nil {
		return err
	}
	// Should this not come to pass, the next start removes them: the group's identity
	// is never used again.
	return c.e.offsets.removeWhere(partitions, func(k offsetKey) bool { return k.group && k.consumer == g.uid })
}

// groupFor finds the group of a join or leave.
func (c *conn) groupFor(r *protocol.Reader) (*group, error) {
	streamID, topicID, groupID := r.ID(), r.ID(), r.ID()
	u, err := c.begin(r)
	if err != nil {
		return nil, err
	}
	c.e.mu.RLock()
	defer c.e.mu.RUnlock()
	t, err := c.topicFor(u, access.SeeTopic, streamID, topicID)
	if err != nil {
		return nil, err
	}
	g := t.group(groupID)
	if g == nil {
		return nil, protocol.ErrGroupNotFound
	}
	if c.stale.Load() {
		return nil, protocol.ErrStaleClient
	}
	return g, nil
}

func (c *conn) joinConsumerGroup(r *protocol.Reader) error {
	g, err := c.groupFor(r)
	if err != nil {
		return err
	}
	g.mu.Lock()
	joined := g.state.Join(c.client, c.e.opts.Clock())
	g.mu.Unlock()
	if joined {
		c.joinedGroup(g)
	}
	return nil
}

func (c *conn) leaveConsumerGroup(r *protocol.Reader) error {
	g, err := c.groupFor(r)
	if err != nil {
		return err
	}
	g.mu.Lock()
	left := g.state.Leave(c.client)
	g.mu.Unlock()
	if !left {
		return protocol.ErrNotMember
	}
	c.leftGroup(g)
	return nil
}
