package engine

import (
	"kafka-iggy-bridge/internal/engine/access"
	"kafka-iggy-bridge/internal/engine/protocol"
	"kafka-iggy-bridge/internal/engine/storage"
)

// streamRecord sums up a stream. Engine.mu must be held.
func streamRecord(s *stream) protocol.Stream {
	rec := protocol.Stream{ID: s.id, CreatedAt: s.createdAt, Topics: uint32(s.topics.used), Name: s.name}
	for t := range s.topics.all() {
		for _, p := range t.partitions {
			st := p.log.Stats()
			rec.Bytes += st.Bytes
			rec.Messages += messages(st)
		}
	}
	return rec
}

// messages is how many messages a log holds.
func messages(st storage.Stats) uint64 { return st.End - st.Start }

func (c *conn) getStream(r *protocol.Reader) error {
	id := r.ID()
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	c.e.mu.RLock()
	defer c.e.mu.RUnlock()
	s := c.e.catalog.stream(id)
	if s == nil {
		return nil // missing things are an empty answer
	}
	if err := u.allowStream(access.SeeStream, s); err != nil {
		return err
	}
	rec := streamRecord(s)
	c.out = rec.Append(c.out)
	for t := range s.topics.all() {
		c.appendTopic(t)
	}
	return nil
}

func (c *conn) getStreams(r *protocol.Reader) error {
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	if err := u.allow(access.ListStreams); err != nil {
		return err
	}
	c.e.mu.RLock()
	defer c.e.mu.RUnlock()
	for s := range c.e.catalog.streams.all() {
		rec := streamRecord(s)
		c.out = rec.Append(c.out)
	}
	return nil
}

func (c *conn) createStream(r *protocol.Reader) error {
	name := r.Name()
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	if err := u.allow(access.AddStream); err != nil {
		return err
	}
	var s *stream
	err = c.e.change(func() (func() error, error) {
		cat := &c.e.catalog
		if cat.streamNames[name] != nil {
			return nil, protocol.ErrStreamExists
		}
		if cat.streams.used >= maxStreams {
			return nil, protocol.ErrCannotCreateStream
		}
		s = &stream{id: cat.streams.free(), createdAt: c.e.now(), name: name, topicNames: make(map[string]*topic)}
		tx := c.e.begin()
		tx.Put(s.key(), s.value())
		wait, err := tx.write()
		if err != nil {
			return nil, err
		}
		cat.streams.set(s.id, s)
		cat.streamNames[name] = s
		return wait, nil
	})
	if err != nil {
		return err
	}
	rec := protocol.Stream{ID: s.id, CreatedAt: s.createdAt, Name: name}
	c.out = rec.Append(c.out)
	return nil
}

func (c *conn) updateStream(r *protocol.Reader) error {
	id, name := r.ID(), r.Name()
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	return c.e.change(func() (func() error, error) {
		s, err := c.streamFor(u, access.ChangeStream, id)
		if err != nil {
			return nil, err
		}
		if other := c.e.catalog.streamNames[name]; other != nil && other != s {
			return nil, protocol.ErrStreamExists
		}
		renamed := stream{id: s.id, createdAt: s.createdAt, name: name}
		tx := c.e.begin()
		tx.Put(renamed.key(), renamed.value())
		wait, err := tx.write()
		if err != nil {
			return nil, err
		}
		delete(c.e.catalog.streamNames, s.name)
		s.name = name
		c.e.catalog.streamNames[name] = s
		return wait, nil
	})
}

func (c *conn) deleteStream(r *protocol.Reader) error {
	id := r.ID()
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	return c.e.change(func() (func() error, error) {
		s, err := c.streamFor(u, access.ChangeStream, id)
		if err != nil {
			return nil, err
		}
		tx := c.e.begin()
		for t := range s.topics.all() {
			tx.deleteTopic(t)
		}
		tx.Delete(s.key())
		revoked := tx.revoke(func(p *access.Permissions) (*access.Permissions, bool) { return p.WithoutStream(s.id) })
		wait, err := tx.write()
		if err != nil {
			return nil, err
		}
		apply(revoked)
		c.e.catalog.streams.remove(s.id)
		delete(c.e.catalog.streamNames, s.name)
		for t := range s.topics.all() {
			c.e.drop(t)
		}
		return wait, nil
	})
}

// revocation is a user's permissions after something was deleted.
type revocation struct {
	user  *user
	perms *access.Permissions
}

// revoke records new permissions for every user whose permissions change takes away.
func (t *metaTx) revoke(change func(*access.Permissions) (*access.Permissions, bool)) []revocation {
	var all []revocation
	for u := range t.e.catalog.users.all() {
		perms, changed := change(u.perms.Load())
		if !changed {
			continue
		}
		t.Put(u.key(), userValue(u.createdAt, u.name, u.status, u.hash, perms))
		all = append(all, revocation{u, perms})
	}
	return all
}

func apply(all []revocation) {
	for _, r := range all {
		r.user.perms.Store(r.perms)
	}
}

func (c *conn) purgeStream(r *protocol.Reader) error {
	id := r.ID()
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	return c.e.change(func() (func() error, error) {
		s, err := c.streamFor(u, access.ChangeStream, id)
		if err != nil {
			return nil, err
		}
		var topics []*topic
		for t := range s.topics.all() {
			topics = append(topics, t)
		}
		return c.e.purge(topics)
	})
}
