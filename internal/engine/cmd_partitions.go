package engine

import (
	"slices"

	"kafka-iggy-bridge/internal/engine/access"
	"kafka-iggy-bridge/internal/engine/protocol"
)

func (c *conn) createPartitions(r *protocol.Reader) error {
	streamID, topicID, n := r.ID(), r.ID(), r.U32()
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	if n == 0 || n > protocol.MaxPartitionsPerOp {
		return protocol.ErrTooManyPartitions
	}
	return c.e.change(func() (func() error, error) {
		t, err := c.topicFor(u, access.ChangeTopic, streamID, topicID)
		if err != nil {
			return nil, err
		}
		if len(t.partitions)+int(n) > maxPartitions {
			return nil, protocol.ErrTooManyPartitions
		}
		added, err := c.e.newPartitions(uint32(len(t.partitions)), n, c.e.now())
		if err != nil {
			return nil, err
		}
		wait, err := c.e.setPartitions(t, append(slices.Clone(t.partitions), added...))
		if err != nil {
			return nil, err
		}
		t.resizeGroups()
		return wait, nil
	})
}

func (c *conn) deletePartitions(r *protocol.Reader) error {
	streamID, topicID, n := r.ID(), r.ID(), r.U32()
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	if n == 0 || n > protocol.MaxPartitionsPerOp {
		return protocol.ErrTooManyPartitions
	}
	return c.e.change(func() (func() error, error) {
		t, err := c.topicFor(u, access.ChangeTopic, streamID, topicID)
		if err != nil {
			return nil, err
		}
		if int(n) > len(t.partitions) {
			return nil, protocol.ErrPartitionsCount
		}
		kept := len(t.partitions) - int(n)
		gone := t.partitions[kept:]
		wait, err := c.e.setPartitions(t, slices.Clone(t.partitions[:kept]))
		if err != nil {
			return nil, err
		}
		c.e.removeData(gone)
		t.resizeGroups()
		return wait, nil
	})
}

// setPartitions records and takes over a topic's new partitions.
func (e *Engine) setPartitions(t *topic, partitions []*partition) (func() error, error) {
	tx := e.begin()
	tx.putUID()
	tx.Put(t.key(), topicValue(t.createdAt, t.name, t.settings, partitions))
	wait, err := tx.write()
	if err != nil {
		return nil, err
	}
	t.partitions = partitions
	return wait, nil
}

// newPartitions makes n partitions with ids from first on.
func (e *Engine) newPartitions(first, n uint32, createdAt uint64) ([]*partition, error) {
	created := make([]*partition, 0, n)
	for id := first; id < first+n; id++ {
		p := &partition{id: id, uid: e.catalog.takeUID(), createdAt: createdAt}
		var err error
		if p.log, err = e.store.Open(p.folder()); err != nil {
			return nil, err
		}
		created = append(created, p)
	}
	return created, nil
}

// resizeGroups tells the topic's groups how many partitions there are.
func (t *topic) resizeGroups() {
	for g := range t.groups.all() {
		g.resize(true)
	}
}

// purge empties topics: their partitions begin anew at offset 0. Every partition gets
// a new identity in one record, so a crash leaves either all of the old or none.
func (e *Engine) purge(topics []*topic) (func() error, error) {
	tx := e.begin()
	fresh := make([][]*partition, len(topics))
	for i, t := range topics {
		for _, p := range t.partitions {
			next := &partition{id: p.id, uid: e.catalog.takeUID(), createdAt: p.createdAt}
			var err error
			if next.log, err = e.store.Open(next.folder()); err != nil {
				return nil, err
			}
			fresh[i] = append(fresh[i], next)
		}
		tx.Put(t.key(), topicValue(t.createdAt, t.name, t.settings, fresh[i]))
	}
	tx.putUID()
	wait, err := tx.write()
	if err != nil {
		return nil, err
	}
	for i, t := range topics {
		old := t.partitions
		t.partitions = fresh[i]
		e.removeData(old)
		t.resizeGroups()
	}
	return wait, nil
}

// drop lets go of a deleted topic's groups and data.
func (e *Engine) drop(t *topic) {
	for g := range t.groups.all() {
		g.deleted.Store(true)
	}
	e.removeData(t.partitions)
}

// removeData closes partitions that are no longer in the catalog and deletes their
// messages and stored offsets. What a crash leaves behind is removed at the next
// start, since no identity is used twice.
func (e *Engine) removeData(partitions []*partition) {
	ids := make([]uint64, len(partitions))
	for i, p := range partitions {
		ids[i] = p.uid
		if err := p.log.Close(); err != nil {
			e.log.WithError(err).WithField("partition", p.uid).Warn("deleted partition not closed in order")
		}
	}
	e.removal.Add(1)
	go func() {
		defer e.removal.Done()
		if err := e.offsets.removeWhere(ids, func(offsetKey) bool { return true }); err != nil {
			e.log.WithError(err).Warn("offsets of deleted partitions not removed")
		}
		for _, p := range partitions {
			if err := p.log.Delete(); err != nil {
				e.log.WithError(err).WithField("partition", p.uid).Warn("messages of a deleted partition not removed")
			}
		}
	}()
}

// deleteSegments removes up to a number of the oldest sealed segments of a partition,
// as far as no stored offset needs them.
func (c *conn) deleteSegments(r *protocol.Reader) error {
	streamID, topicID, id, n := r.ID(), r.ID(), r.U32(), r.U32()
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	p, err := func() (*partition, error) {
		c.e.mu.RLock()
		defer c.e.mu.RUnlock()
		t, err := c.topicFor(u, access.ChangeTopic, streamID, topicID)
		if err != nil {
			return nil, err
		}
		if p := t.partition(id); p != nil {
			return p, nil
		}
		return nil, protocol.ErrPartitionNotFound
	}()
	if err != nil {
		return err
	}
	for ; n > 0; n-- {
		oldest, ok := c.e.deletable(p)
		if !ok {
			return nil
		}
		if _, err := p.log.DeleteOldest(oldest.End); err != nil {
			return err
		}
	}
	return nil
}
