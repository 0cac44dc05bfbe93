package engine

import (
	"fmt"
	"strconv"
	"time"

	"kafka-iggy-bridge/internal/engine/groups"
	"kafka-iggy-bridge/internal/engine/protocol"
	"kafka-iggy-bridge/internal/engine/storage"
)

// handoverInterval is how often groups look for handovers that timed out.
const handoverInterval = 5 * time.Second

// folder is the name of the partition's data folder.
func (p *partition) folder() string { return fmt.Sprintf("%020d", p.uid) }

// openLogs opens the log of every partition, removes data of partitions that no
// longer exist, and makes the groups.
func (e *Engine) openLogs() error {
	alive, groupsAlive := make(map[uint64]bool), make(map[uint64]bool)
	for t := range e.catalog.allTopics() {
		for _, p := range t.partitions {
			alive[p.uid] = true
			var err error
			if p.log, err = e.store.Open(p.folder()); err != nil {
				return fmt.Errorf("engine: partition %d of topic %q: %w", p.id, t.name, err)
			}
		}
		for g := range t.groups.all() {
			groupsAlive[g.uid] = true
			e.start(g)
		}
	}
	names, err := e.store.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if uid, err := strconv.ParseUint(name, 10, 64); err == nil && alive[uid] {
			continue
		}
		e.log.WithField("folder", name).Info("removing data of a deleted partition")
		if err := e.store.Remove(name); err != nil {
			return err
		}
	}
	if err := e.offsets.retain(alive, groupsAlive); err != nil {
		return err
	}
	return e.clampOffsets()
}

// clampOffsets lowers stored offsets that lie beyond their partition's end, which can
// be when the machine went down and took unsynced messages with it.
func (e *Engine) clampOffsets() error {
	for p := range e.catalog.allPartitions() {
		_, end := p.log.Bounds()
		for k, offset := range e.offsets.tables[p.uid] {
			if offset < end {
				continue
			}
			var err error
			if end == 0 {
				_, err = e.offsets.remove(k)
			} else {
				err = e.offsets.set(k, end-1)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// start gives a group its state, without members. Engine.mu must be held.
func (e *Engine) start(g *group) {
	g.state = groups.New(uint32(len(g.topic.partitions)), func(id uint32) (uint64, bool) {
		if uint64(id) >= uint64(len(g.uids)) {
			return 0, false
		}
		return e.offsets.get(offsetKey{partition: g.uids[id], group: true, consumer: g.uid})
	})
	g.resize(false)
}

// resize takes over the partitions of the group's topic. Engine.mu must be held.
func (g *group) resize(deal bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.uids = g.uids[:0]
	for _, p := range g.topic.partitions {
		g.uids = append(g.uids, p.uid)
	}
	if deal {
		g.state.Resize(uint32(len(g.uids)))
	}
}

// startTasks starts the background work.
func (e *Engine) startTasks() {
	if e.opts.Fsync == FsyncInterval {
		e.every(e.opts.FsyncInterval, e.syncAll)
	}
	e.every(e.opts.RetentionInterval, e.Retain)
	e.every(handoverInterval, e.tickGroups)
	if e.opts.Heartbeat > 0 {
		e.every(e.opts.Heartbeat, e.checkHeartbeats)
	}
}

// every runs f regularly until the engine stops.
func (e *Engine) every(interval time.Duration, f func()) {
	e.tasks.Add(1)
	go func() {
		defer e.tasks.Done()
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				f()
			case <-e.stop:
				return
			}
		}
	}()
}

func (e *Engine) syncAll() {
	if err := e.store.SyncDirty(); err != nil {
		e.log.WithError(err).Error("messages not synced")
	}
	if err := e.syncMeta(); err != nil {
		e.log.WithError(err).Error("catalog not synced")
	}
	if err := e.offsets.sync(); err != nil {
		e.log.WithError(err).Error("offsets not synced")
	}
}

func (e *Engine) syncMeta() error { return e.meta.Sync() }

func (e *Engine) tickGroups() {
	now := e.opts.Clock()
	e.mu.RLock()
	var all []*group
	for t := range e.catalog.allTopics() {
		for g := range t.groups.all() {
			all = append(all, g)
		}
	}
	e.mu.RUnlock()
	for _, g := range all {
		g.mu.Lock()
		g.state.Tick(now)
		g.mu.Unlock()
	}
}

// checkHeartbeats takes the memberships of clients that have not pinged for too long.
func (e *Engine) checkHeartbeats() {
	limit := e.opts.Clock().Add(-e.opts.Heartbeat * 12 / 10).UnixMicro()
	for _, s := range e.sessions.list() {
		if s.lastPing.Load() < limit && !s.stale.Swap(true) {
			e.log.WithField("peer", s.address).Warn("client has not pinged, its memberships end")
			s.leaveAll()
		}
	}
}

// Retain deletes the segments that topics' expiry and maximum size call for. It runs
// every Options.RetentionInterval by itself.
func (e *Engine) Retain() {
	type kept struct {
		settings   topicSettings
		partitions []*partition
	}
	var topics []kept
	e.mu.RLock()
	for t := range e.catalog.allTopics() {
		if t.settings.expiry != protocol.Never || t.settings.maxSize != protocol.Never {
			topics = append(topics, kept{t.settings, t.partitions})
		}
	}
	e.mu.RUnlock()
	for _, t := range topics {
		if t.settings.expiry != protocol.Never {
			for _, p := range t.partitions {
				e.expire(p, t.settings.expiry)
			}
		}
		if t.settings.maxSize != protocol.Never {
			e.shrink(t.partitions, t.settings.maxSize)
		}
	}
}

// expire removes the segments whose newest message is older than expiry. An active
// segment that is all expired is sealed first: the log goes on in an empty one.
func (e *Engine) expire(p *partition, expiry uint64) {
	now := e.now()
	if now < expiry {
		return
	}
	limit := now - expiry
	if a := p.log.Active(); a.End > a.Start && a.MaxTime < limit {
		if err := p.log.Roll(); err != nil {
			e.log.WithError(err).WithField("partition", p.uid).Error("expired segment not sealed")
			return
		}
	}
	for {
		oldest, ok := e.deletable(p)
		if !ok || oldest.MaxTime >= limit || !e.deleteOldest(p, oldest) {
			return
		}
	}
}

// shrink removes sealed segments, oldest first over all partitions, while the topic
// takes nine tenths of its maximum size or more.
func (e *Engine) shrink(partitions []*partition, maxSize uint64) {
	var size uint64
	for _, p := range partitions {
		size += p.log.Stats().Bytes
	}
	limit := maxSize / 10 * 9
	for size >= limit {
		var victim *partition
		var oldest storage.SegmentInfo
		for _, p := range partitions {
			if s, ok := e.deletable(p); ok && (victim == nil || s.MaxTime < oldest.MaxTime) {
				victim, oldest = p, s
			}
		}
		if victim == nil || !e.deleteOldest(victim, oldest) {
			return
		}
		size -= min(size, oldest.Bytes)
	}
}

func (e *Engine) deleteOldest(p *partition, s storage.SegmentInfo) bool {
	ok, err := p.log.DeleteOldest(s.End)
	if err != nil {
		e.log.WithError(err).WithField("partition", p.uid).Error("segment not removed")
		return false
	}
	return ok
}

// deletable returns a partition's oldest sealed segment when no stored offset of a
// consumer or group is below its end: as in Iggy, what somebody who keeps an offset
// has not consumed yet stays.
func (e *Engine) deletable(p *partition) (storage.SegmentInfo, bool) {
	s, ok := p.log.OldestSealed()
	if !ok {
		return s, false
	}
	if lowest, stored := e.offsets.lowest(p.uid); stored && lowest+1 < s.End {
		return s, false
	}
	return s, true
}
