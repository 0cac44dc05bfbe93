package storage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
)

const (
	logSuffix   = ".log"
	indexSuffix = ".idx"
)

// segment is one log file and its index. The counters are guarded by the log's
// mutex; those of a sealed segment no longer change.
type segment struct {
	start uint64 // offset of its first message
	path  string // the log file, without suffix
	slot  fileSlot

	end     uint64 // offset after its last message
	size    int64  // bytes in the log file
	maxTime uint64 // greatest append time, 0 when empty
	batches uint32
	sealed  bool

	// entries is the index of an unsealed segment; flushed of them are on disk.
	entries []indexEntry
	flushed int

	// loaded is the index of a sealed segment while its file is open.
	loaded atomic.Pointer[[]indexEntry]

	// tail is set when bytes beyond size could not be cut off after a failed write.
	tail bool
}

func newSegment(dir string, start uint64) *segment {
	path := filepath.Join(dir, fmt.Sprintf("%020d", start))
	s := &segment{start: start, end: start, path: path}
	s.slot.path = path + logSuffix
	s.slot.closed = func() { s.loaded.Store(nil) }
	return s
}

// bodyBytes is what the segment's messages take, batch headers left out.
func (s *segment) bodyBytes() uint64 {
	return uint64(max(0, s.size-int64(s.batches)*BatchHeaderSize))
}

// add accounts for a batch written at the segment's end.
func (s *segment) add(h *batchHeader) {
	if n := len(s.entries); n == 0 || s.size-s.entries[n-1].position >= indexInterval {
		s.entries = append(s.entries, indexEntry{offset: h.base, position: s.size, maxBefore: s.maxTime, batches: s.batches})
	}
	s.size += h.size()
	s.end = h.end()
	s.maxTime = max(s.maxTime, h.timestamp)
	s.batches++
}

// endEntry is the index entry that stands for the segment's end.
func (s *segment) endEntry() indexEntry {
	return indexEntry{offset: s.end, position: s.size, maxBefore: s.maxTime, batches: s.batches}
}

// flushIndex writes the entries that are not on disk yet, and the final one when
// the segment is being sealed.
func (s *segment) flushIndex(seal, sync bool) error {
	b := make([]byte, 0, (len(s.entries)-s.flushed+1)*indexEntrySize)
	for _, e := range s.entries[s.flushed:] {
		b = e.append(b, s.start, false)
	}
	if seal {
		b = s.endEntry().append(b, s.start, true)
	}
	if len(b) == 0 {
		return nil
	}
	if err := appendIndexFile(s.path+indexSuffix, int64(s.flushed)*indexEntrySize, b, sync); err != nil {
		return err
	}
	s.flushed = len(s.entries)
	return nil
}

// removeFiles deletes the segment's files, the log first: an index without a log
// means nothing.
func (s *segment) removeFiles() error {
	for _, suffix := range []string{logSuffix, indexSuffix} {
		if err := os.Remove(s.path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("storage: remove segment: %w", err)
		}
	}
	return nil
}

// segmentStart parses a log file's name.
func segmentStart(name string) (uint64, bool) {
	digits, ok := strings.CutSuffix(name, logSuffix)
	if !ok || len(digits) != 20 {
		return 0, false
	}
	start, err := strconv.ParseUint(digits, 10, 64)
	return start, err == nil
}
