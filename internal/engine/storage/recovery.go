package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/zeebo/xxh3"

	"kafka-iggy-bridge/internal/engine/buffers"
)

// Open opens or creates the log of the given folder name. Nothing is written for a
// log that does not exist yet until its first append.
//
// Sealed segments are taken from their indexes. The active one is scanned from its
// last index entry; an unfinished batch at its end is cut off. A batch whose bytes
// changed is kept in place, so that offsets stay what they were, and reported when
// it is read.
func (s *Store) Open(name string) (*Log, error) {
	l := s.newLog(name)
	entries, err := os.ReadDir(l.dir)
	if errors.Is(err, os.ErrNotExist) {
		l.segments = []*segment{newSegment(l.dir, 0)}
		return l, nil
	}
	if err != nil {
		return nil, fmt.Errorf("storage: open log: %w", err)
	}
	l.created = true
	for _, e := range entries {
		if start, ok := segmentStart(e.Name()); ok {
			l.segments = append(l.segments, newSegment(l.dir, start))
		}
	}
	if err := l.removeOrphans(entries); err != nil {
		return nil, err
	}
	if len(l.segments) == 0 {
		l.segments = []*segment{newSegment(l.dir, 0)}
		return l, nil
	}
	sort.Slice(l.segments, func(i, j int) bool { return l.segments[i].start < l.segments[j].start })
	if err := l.recover(); err != nil {
		return nil, err
	}
	return l, nil
}

// removeOrphans deletes indexes whose log a crash did not leave: of a segment whose
// deletion was under way.
func (l *Log) removeOrphans(entries []os.DirEntry) error {
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), indexSuffix)
		if !ok || slices.ContainsFunc(l.segments, func(s *segment) bool { return filepath.Base(s.path) == name }) {
			continue
		}
		if err := os.Remove(filepath.Join(l.dir, e.Name())); err != nil {
			return fmt.Errorf("storage: remove index without a log: %w", err)
		}
	}
	return nil
}

// recover brings the segments found on disk into a state that appends can go on from.
func (l *Log) recover() error {
	for i := 0; i < len(l.segments); i++ {
		seg, last := l.segments[i], i == len(l.segments)-1
		if err := l.recoverSegment(seg, last); err != nil {
			return err
		}
		if i == 0 {
			continue
		}
		prev := l.segments[i-1]
		if prev.end > seg.start && seg.size > 0 { // an index says so; the log itself is asked
			if err := l.rebuild(prev, false, false); err != nil {
				return err
			}
		}
		// A failed roll can leave an empty file that the segment before it outgrew.
		if prev.end > seg.start {
			if seg.size > 0 {
				return &CorruptError{Path: seg.slot.path, Reason: fmt.Sprintf("begins at offset %d, inside the segment before it", seg.start)}
			}
			if err := seg.removeFiles(); err != nil {
				return err
			}
			l.segments = append(l.segments[:i], l.segments[i+1:]...)
			i--
		}
	}
	active := l.active()
	if active.sealed { // the empty successor is missing or was dropped
		l.segments = append(l.segments, newSegment(l.dir, active.end))
		active = l.active()
	}
	l.end, l.visible, l.visibleSize = active.end, active.end, active.size
	l.commits.synced = l.end
	return nil
}

func (l *Log) recoverSegment(seg *segment, last bool) error {
	info, err := os.Stat(seg.slot.path)
	if err != nil {
		return fmt.Errorf("storage: open segment: %w", err)
	}
	seg.size = info.Size()
	if !last {
		end, ok, err := readIndexEnd(seg.path+indexSuffix, seg.start, seg.size)
		if err != nil {
			return err
		}
		if ok {
			seg.end, seg.maxTime, seg.batches, seg.sealed = end.offset, end.maxBefore, end.batches, true
			return nil
		}
	}
	return l.rebuild(seg, last, true)
}

// rebuild scans a segment, from its last index entry on when the index is to be
// trusted, cuts an unfinished batch, and seals the segment unless it is the last.
func (l *Log) rebuild(seg *segment, last, trusted bool) error {
	entries, sealed, err := readIndexFile(seg.path+indexSuffix, seg.start, seg.size)
	if err != nil {
		return err
	}
	if sealed { // sealed, but the next segment never came to be
		entries = entries[:len(entries)-1]
	}
	if l.store.opts.MachineCrashed || !trusted {
		entries = nil
	}
	seg.entries, seg.flushed = entries, len(entries)
	file, err := l.store.files.acquire(&seg.slot)
	if err != nil {
		return err
	}
	defer l.store.files.release(&seg.slot)
	found := seg.size
	if err := l.scan(seg, file); err != nil {
		return err
	}
	if seg.size < found {
		l.store.log.WithField("log", l.name).WithField("segment", seg.start).WithField("position", seg.size).
			WithField("bytes", found-seg.size).Warn("cut an unfinished batch off the log")
		seg.tail = true
		if err := seg.cutTail(file); err != nil {
			return err
		}
	}
	if last {
		return nil
	}
	if err := seg.flushIndex(true, l.store.opts.Sync != SyncNever); err != nil {
		return err
	}
	seg.sealed, seg.entries = true, nil
	return nil
}

// indexTries is how many entries at an index's end may speak of batches that the log
// does not have before all of the index is given up.
const indexTries = 4

// scan reads the segment's batches from its last index entry to the end of the file
// and sets its counters to what it found intact. seg.size is the file's size on
// entry.
func (l *Log) scan(seg *segment, file File) error {
	limit := seg.size
	seg.size, seg.end, seg.maxTime, seg.batches = 0, seg.start, 0, 0
	for tries := 0; len(seg.entries) > 0 && !l.holds(file, seg.entries[len(seg.entries)-1], limit); tries++ {
		seg.entries = seg.entries[:len(seg.entries)-1] // its batch may be torn, or damaged
		if tries == indexTries {
			seg.entries = nil // whatever the index is about, it is not this log
		}
		seg.flushed = len(seg.entries)
	}
	if n := len(seg.entries); n > 0 {
		// The last entry's own batch is scanned again, so the entry is taken back.
		e := seg.entries[n-1]
		seg.size, seg.end, seg.maxTime, seg.batches = e.position, e.offset, e.maxBefore, e.batches
		seg.entries = seg.entries[:n-1]
		seg.flushed = n - 1
	}
	r := batchReader{file: file, limit: limit, position: seg.size, salt: l.store.opts.Salt}
	r.reset()
	defer r.release()
	lastBad := int64(-1)
	before := *seg.counters()
	for r.position < limit {
		h, state, err := r.next(seg.end)
		if err != nil {
			return fmt.Errorf("storage: scan %s: %w", seg.slot.path, err)
		}
		switch state {
		case batchTorn:
			h, ok, err := l.salvage(file, r.position, limit, seg.end)
			if err != nil {
				return fmt.Errorf("storage: scan %s: %w", seg.slot.path, err)
			}
			if ok {
				seg.add(&h)
			}
			return nil
		case batchMissing:
			l.store.log.WithField("log", l.name).WithField("segment", seg.start).WithField("position", seg.size).
				WithField("next", r.position).Error("unreadable bytes inside the log")
			seg.size = r.position
			continue
		case batchDamaged:
			l.store.log.WithField("log", l.name).WithField("segment", seg.start).WithField("position", seg.size).
				WithField("offset", h.base).Error("a batch's checksum does not match")
			if lastBad < 0 {
				lastBad, before = seg.size, *seg.counters()
			}
		}
		seg.add(&h)
		if state == batchIntact {
			lastBad = -1
		}
	}
	if lastBad >= 0 && l.store.opts.MachineCrashed {
		// The header reached the disk, the body did not: it was never acknowledged
		// under a policy that promises anything about the machine's end.
		before.restore(seg)
	}
	return nil
}

// holds reports whether the log has the batch that an index entry speaks of. No index
// may be the reason why anything is cut off a log.
func (l *Log) holds(file File, e indexEntry, limit int64) bool {
	var head [BatchHeaderSize]byte
	if e.position+BatchHeaderSize > limit {
		return e.position == limit // the end, where the next batch would be
	}
	if _, err := file.ReadAt(head[:], e.position); err != nil {
		return false // the scan will meet the error as well
	}
	h, ok := parseBatchHeader(head[:], l.store.opts.Salt)
	return ok && h.base == e.offset && e.position+h.size() <= limit
}

// salvage looks at the unreadable end of a file from position on. A write that did not
// finish leaves the beginning of a batch, its header intact if there is all of it. So a
// whole header that is broken has been damaged later, while the messages behind it
// carry offsets and checksums of their own: when they are intact up to the end of the
// file, the header is made anew. After a crash of the machine the end of a file can be
// anything, and is not worth it.
func (l *Log) salvage(file File, position, limit int64, base uint64) (batchHeader, bool, error) {
	if l.store.opts.MachineCrashed || limit-position < BatchHeaderSize+MessageHeaderSize || limit-position > MaxBatchBytes {
		return batchHeader{}, false, nil
	}
	buf := buffers.Get(int(limit - position))
	defer buf.Release()
	b := buf.B[:limit-position]
	if _, err := file.ReadAt(b, position); err != nil && !errors.Is(err, io.EOF) {
		return batchHeader{}, false, err
	}
	if _, ok := parseBatchHeader(b, l.store.opts.Salt); ok {
		return batchHeader{}, false, nil // an unfinished write
	}
	body := b[BatchHeaderSize:]
	h := batchHeader{bodyLen: uint32(len(body)), base: base, bodyCRC: crc32.Checksum(body, castagnoli)}
	for rest := body; len(rest) > 0; h.count++ {
		size := messageSize(rest)
		if size == 0 || binary.LittleEndian.Uint64(rest[messageOffset:]) != h.end() ||
			binary.LittleEndian.Uint64(rest) != xxh3.Hash(rest[8:size]) {
			return batchHeader{}, false, nil
		}
		h.timestamp = binary.LittleEndian.Uint64(rest[messageTimestamp:])
		rest = rest[size:]
	}
	h.put(b, l.store.opts.Salt)
	if n, err := file.WriteAt(b[:BatchHeaderSize], position); err != nil || n < BatchHeaderSize {
		return batchHeader{}, false, errors.Join(err, errors.New("damaged header not rewritten"))
	}
	l.store.log.WithField("log", l.name).WithField("offset", base).WithField("messages", h.count).
		Error("the last batch's header was damaged and has been made anew from its messages")
	return h, true, nil
}

// counters is a segment's state in front of a batch.
type counters struct {
	end, maxTime uint64
	size         int64
	batches      uint32
	entries      int
}

func (s *segment) counters() *counters {
	return &counters{end: s.end, maxTime: s.maxTime, size: s.size, batches: s.batches, entries: len(s.entries)}
}

func (c *counters) restore(s *segment) {
	s.end, s.maxTime, s.size, s.batches, s.entries = c.end, c.maxTime, c.size, c.batches, s.entries[:c.entries]
	s.flushed = min(s.flushed, c.entries)
}

// loadIndex returns a sealed segment's index, reading it when its file was opened
// anew and rebuilding it from the log when it is broken.
func (l *Log) loadIndex(seg *segment, file File) ([]indexEntry, error) {
	if p := seg.loaded.Load(); p != nil {
		return *p, nil
	}
	entries, sealed, err := readIndexFile(seg.path+indexSuffix, seg.start, seg.size)
	if err != nil {
		return nil, err
	}
	if sealed {
		entries = entries[:len(entries)-1]
	} else {
		copySeg := newSegment(l.dir, seg.start)
		copySeg.size, copySeg.entries = seg.size, entries
		if err := l.scan(copySeg, file); err != nil {
			return nil, err
		}
		entries = copySeg.entries
		copySeg.flushed = 0
		if err := copySeg.flushIndex(true, false); err != nil {
			l.store.log.WithError(err).WithField("log", l.name).Warn("index of a sealed segment not written")
		}
	}
	seg.loaded.Store(&entries)
	return entries, nil
}
