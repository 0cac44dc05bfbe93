package storage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// recentBatches is how many of the newest batches a log can find without its index:
// whoever reads right behind a writer gets exactly the bytes it asked for.
const recentBatches = 64

// Log is one partition's messages. Its methods may be called concurrently; appends
// are ordered by the lock.
type Log struct {
	store *Store
	name  string
	dir   string

	commits committer

	mu       sync.RWMutex
	segments []*segment // ascending; the last one is active
	// end is the offset the next message gets. Messages below visible can be read;
	// the two differ only while an append waits for its sync. visibleSize is the
	// readable part of the active segment.
	end         uint64
	visible     uint64
	visibleSize int64
	epoch       int  // failed syncs so far, see committer
	dirty       bool // written since the last sync
	created     bool // the folder exists
	closed      bool

	recent      [recentBatches]recentBatch
	recentCount uint64 // batches ever noted
}

type recentBatch struct {
	offset   uint64
	position int64
}

func (l *Log) active() *segment { return l.segments[len(l.segments)-1] }

// Bounds returns the offset of the first message kept and the offset that the next
// message will get, as readers may see it.
func (l *Log) Bounds() (start, end uint64) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.segments[0].start, l.visible
}

// Stats are a log's figures.
type Stats struct {
	Start, End uint64 // first kept offset; offset of the next message
	Bytes      uint64 // bytes of all messages, as sent on the wire
	Segments   int
}

// Stats returns the log's figures.
func (l *Log) Stats() Stats {
	l.mu.RLock()
	defer l.mu.RUnlock()
	s := Stats{Start: l.segments[0].start, End: l.visible, Segments: len(l.segments)}
	for _, seg := range l.segments {
		s.Bytes += seg.bodyBytes()
	}
	return s
}

// Append writes count messages. b begins with BatchHeaderSize bytes of room for the
// header, followed by the messages exactly; it is changed in place: the messages get
// offsets, the append time, checksums, and ids where they have none. It returns the
// first message's offset once the batch is written, and under SyncAlways forced to
// disk. After an error nothing of the batch is kept.
func (l *Log) Append(b []byte, count uint32) (uint64, error) {
	if len(b) > MaxBatchBytes {
		return 0, ErrBatchTooLarge
	}
	l.mu.Lock()
	base, err := l.appendLocked(b, count)
	epoch := l.epoch
	l.mu.Unlock()
	if err != nil {
		return 0, err
	}
	if l.store.opts.Sync == SyncAlways {
		if err := l.commit(base+uint64(count), epoch); err != nil {
			return 0, err
		}
	}
	return base, nil
}

func (l *Log) appendLocked(b []byte, count uint32) (uint64, error) {
	if l.closed {
		return 0, ErrClosed
	}
	if err := l.makeRoom(int64(len(b))); err != nil {
		return 0, err
	}
	seg := l.active()
	file, err := l.store.files.acquire(&seg.slot)
	if err != nil {
		return 0, err
	}
	defer l.store.files.release(&seg.slot)
	if err := seg.cutTail(file); err != nil {
		return 0, err
	}
	h := stamp(b[BatchHeaderSize:], count, l.end, l.store.opts.Now())
	h.put(b, l.store.opts.Salt)
	if n, err := file.WriteAt(b, seg.size); err != nil || n < len(b) {
		seg.tail = true
		if err == nil {
			err = errors.New("short write")
		}
		return 0, errors.Join(fmt.Errorf("storage: append: %w", err), seg.cutTail(file))
	}
	l.note(h.base, seg.size)
	seg.add(&h)
	l.end = seg.end
	if l.store.opts.Sync != SyncAlways {
		l.visible, l.visibleSize = l.end, seg.size
	}
	if len(seg.entries)-seg.flushed >= indexFlushEntries {
		l.flushIndex(seg)
	}
	if !l.dirty {
		l.dirty = true
		if l.store.opts.Sync == SyncInterval {
			l.store.markDirty(l)
		}
	}
	return h.base, nil
}

// flushIndex writes index entries ahead of need. A failure costs time at the next
// start, not data, so it is only logged.
func (l *Log) flushIndex(seg *segment) {
	if err := seg.flushIndex(false, false); err != nil {
		l.store.log.WithError(err).WithField("log", l.name).Warn("index not written")
	}
}

// cutTail removes what a failed write may have left behind the segment's end.
func (s *segment) cutTail(file File) error {
	if !s.tail {
		return nil
	}
	if err := file.Truncate(s.size); err != nil {
		return fmt.Errorf("storage: cut failed write: %w", err)
	}
	s.tail = false
	return nil
}

func (l *Log) note(offset uint64, position int64) {
	l.recent[l.recentCount%recentBatches] = recentBatch{offset: offset, position: position}
	l.recentCount++
}

// makeRoom prepares the active segment for n more bytes, sealing it when they would
// take it past its size.
func (l *Log) makeRoom(n int64) error {
	if !l.created {
		if err := os.MkdirAll(l.dir, 0o700); err != nil {
			return fmt.Errorf("storage: create log: %w", err)
		}
		l.created = true
		if l.store.opts.Sync != SyncNever {
			// The file appears in the folder only when it is opened; the folder
			// itself is synced with the first commit or roll.
			if err := syncDir(l.store.dir); err != nil {
				return err
			}
		}
	}
	seg := l.active()
	if seg.size > 0 && seg.size+n > l.store.opts.SegmentBytes {
		return l.roll()
	}
	return nil
}

// roll seals the active segment and starts the next one at the log's end.
func (l *Log) roll() error {
	seg := l.active()
	if err := l.cutActive(); err != nil {
		return err // what a failed write left must not be sealed in
	}
	if l.store.opts.Sync != SyncNever {
		if err := l.syncSegment(seg); err != nil {
			if l.store.opts.Sync == SyncAlways {
				err = errors.Join(err, l.undo())
			}
			return err
		}
	}
	l.visible, l.visibleSize = l.end, seg.size
	next := newSegment(l.dir, l.end)
	file, err := l.store.files.acquire(&next.slot)
	if err != nil {
		return err
	}
	defer l.store.files.release(&next.slot)
	// A file of that name can be left only by a roll that failed: it holds nothing.
	err = file.Truncate(0)
	if err == nil && l.store.opts.Sync != SyncNever {
		err = syncDir(l.dir)
	}
	if err != nil {
		l.store.files.forget(&next.slot)
		return errors.Join(fmt.Errorf("storage: start segment: %w", err), next.removeFiles())
	}
	if err := seg.flushIndex(true, l.store.opts.Sync != SyncNever); err != nil {
		l.store.log.WithError(err).WithField("log", l.name).Warn("index of a sealed segment not written")
	}
	entries := seg.entries
	seg.loaded.Store(&entries)
	seg.entries, seg.sealed = nil, true
	l.segments = append(l.segments[:len(l.segments):len(l.segments)], next)
	l.visible, l.visibleSize = l.end, 0
	l.recentCount = 0
	return nil
}

// cutActive removes what a failed write may have left at the end of the active segment.
func (l *Log) cutActive() error {
	seg := l.active()
	if !seg.tail {
		return nil
	}
	file, err := l.store.files.acquire(&seg.slot)
	if err != nil {
		return err
	}
	defer l.store.files.release(&seg.slot)
	return seg.cutTail(file)
}

// syncSegment forces a segment's file to disk.
func (l *Log) syncSegment(seg *segment) error {
	file, err := l.store.files.acquire(&seg.slot)
	if err != nil {
		return err
	}
	defer l.store.files.release(&seg.slot)
	if err := file.Sync(); err != nil {
		return fmt.Errorf("storage: sync: %w", err)
	}
	return nil
}

// Roll seals the active segment when it holds anything, so that retention may delete
// it as a whole.
func (l *Log) Roll() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.active().size == 0 {
		return nil
	}
	return l.roll()
}

// Close writes the index and closes the files. It does not force data to disk; call
// Sync before where that is wanted.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	l.store.forget(l)
	var err error
	if l.created {
		err = errors.Join(l.cutActive(), l.active().flushIndex(false, false))
	}
	for _, seg := range l.segments {
		l.store.files.forget(&seg.slot)
	}
	return err
}

// Delete closes the log and removes its files.
func (l *Log) Delete() error {
	return errors.Join(l.Close(), l.store.Remove(l.name))
}

func (s *Store) newLog(name string) *Log {
	l := &Log{store: s, name: name, dir: filepath.Join(s.dir, name)}
	l.commits.cond.L = &l.commits.mu
	return l
}
