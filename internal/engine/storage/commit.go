package storage

import (
	"errors"
	"fmt"
	"sync"
)

// errLost is what an append gets whose data a failed sync took with it.
var errLost = errors.New("storage: sync failed, the append was undone")

// committer lets concurrent appends share one sync: the first to arrive syncs for
// all that have written by then, the others wait for its outcome.
//
// Lock order: Log.mu before committer.mu.
type committer struct {
	mu      sync.Mutex
	cond    sync.Cond
	running bool
	synced  uint64 // messages below it are on disk

	// floors has one entry per failed sync, the visible end it left behind. An
	// append made after n failures belongs to epoch n; when failure n follows, what
	// the append wrote above floors[n] is gone.
	floors []uint64
}

// commit waits until everything below target, written in the given epoch, is on disk.
func (l *Log) commit(target uint64, epoch int) error {
	c := &l.commits
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch {
		case epoch < len(c.floors) && target > c.floors[epoch]:
			return errLost
		case epoch < len(c.floors), c.synced >= target:
			return nil
		case c.running:
			c.cond.Wait()
			continue
		}
		c.running = true
		c.mu.Unlock()
		visible, err := l.syncActive()
		c.mu.Lock()
		c.running = false
		c.synced = visible
		c.cond.Broadcast()
		if err != nil {
			l.store.log.WithError(err).WithField("log", l.name).Error("sync failed")
		}
	}
}

// syncActive forces the active segment to disk and makes what it holds visible. When
// that fails the segment is cut back to what was visible, since nothing is known of
// the rest. It returns the visible end.
func (l *Log) syncActive() (visible uint64, err error) {
	l.mu.RLock()
	seg, end, size, fresh, epoch := l.active(), l.end, l.active().size, l.visibleSize == 0, l.epoch
	l.mu.RUnlock()

	err = l.syncSegment(seg)
	if err == nil && fresh {
		err = syncDir(l.dir)
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.epoch != epoch: // a roll's sync failed meanwhile
	case err != nil && l.active() == seg:
		err = errors.Join(err, l.undo())
	case err == nil && l.active() == seg && size > l.visibleSize:
		l.visible, l.visibleSize = end, size
	}
	return l.visible, err
}

// undo drops everything that is not visible. A roll makes all before it visible, so
// only the active segment is concerned.
func (l *Log) undo() error {
	l.epoch++
	l.commits.mu.Lock()
	l.commits.floors = append(l.commits.floors, l.visible)
	l.commits.synced = l.visible
	l.commits.mu.Unlock()

	seg := l.active()
	file, err := l.store.files.acquire(&seg.slot)
	if err != nil {
		return err
	}
	defer l.store.files.release(&seg.slot)
	kept := 0
	for kept < len(seg.entries) && seg.entries[kept].position < l.visibleSize {
		kept++
	}
	// A reader may still hold the old slice: later appends must not write into it.
	entries := append([]indexEntry(nil), seg.entries[:kept]...)
	batches, err := l.countBatches(file, entries)
	if err != nil {
		return fmt.Errorf("storage: undo: %w", err)
	}
	seg.entries, seg.flushed = entries, min(seg.flushed, kept)
	seg.size, seg.end, seg.batches = l.visibleSize, l.visible, batches
	l.end, l.recentCount = l.visible, 0
	seg.tail = true
	return seg.cutTail(file)
}

// countBatches counts the batches in front of the visible end, from the last of the
// kept entries on.
func (l *Log) countBatches(file File, entries []indexEntry) (uint32, error) {
	if len(entries) == 0 {
		return 0, nil
	}
	last := entries[len(entries)-1]
	batches, position := last.batches, last.position
	var head [BatchHeaderSize]byte
	for position < l.visibleSize {
		if _, err := file.ReadAt(head[:], position); err != nil {
			return 0, err
		}
		h, ok := parseBatchHeader(head[:], l.store.opts.Salt)
		if !ok {
			return batches, nil
		}
		position += h.size()
		batches++
	}
	return batches, nil
}

// Sync forces everything written so far to disk.
func (l *Log) Sync() error {
	if l.store.opts.Sync == SyncAlways {
		return nil // nothing acknowledged is unsynced
	}
	l.mu.Lock()
	seg, dirty := l.active(), l.dirty && !l.closed && l.active().size > 0
	l.dirty = false
	l.mu.Unlock()
	if !dirty {
		return nil
	}
	err := l.syncSegment(seg)
	if err == nil {
		err = syncDir(l.dir)
	}
	if err != nil {
		l.mu.Lock()
		l.dirty = true
		l.mu.Unlock()
	}
	return err
}
