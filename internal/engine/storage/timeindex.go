package storage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
)

// OffsetForTime returns the offset of the first message whose append time is at or
// above timestamp (µs). ok is false when there is none.
func (l *Log) OffsetForTime(timestamp uint64) (offset uint64, ok bool, err error) {
	for _, v := range l.viewsSince(timestamp) {
		offset, ok, err = l.searchTime(v, timestamp)
		if errors.Is(err, os.ErrNotExist) && l.moved(v.seg) {
			continue // retention took the segment meanwhile
		}
		if ok || err != nil {
			return offset, ok, err
		}
	}
	return 0, false, nil
}

// viewsSince returns the segments that may hold a message at or above timestamp.
func (l *Log) viewsSince(timestamp uint64) []view {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var views []view
	for i, seg := range l.segments {
		if seg.maxTime >= timestamp && seg.end > seg.start {
			views = append(views, l.viewOf(i))
		}
	}
	return views
}

// searchTime walks the batch headers from the last index entry that has only older
// batches in front of it.
func (l *Log) searchTime(v view, timestamp uint64) (uint64, bool, error) {
	file, err := l.store.files.acquire(&v.seg.slot)
	if err != nil {
		return 0, false, err
	}
	defer l.store.files.release(&v.seg.slot)
	if v.sealed {
		if v.entries, err = l.loadIndex(v.seg, file); err != nil {
			return 0, false, err
		}
	}
	var head [BatchHeaderSize]byte
	for position := floorTime(v.entries, timestamp); position < v.size; {
		if _, err := file.ReadAt(head[:], position); err != nil && !errors.Is(err, io.EOF) {
			return 0, false, fmt.Errorf("storage: read %s: %w", v.seg.slot.path, err)
		}
		h, ok := parseBatchHeader(head[:], l.store.opts.Salt)
		if !ok {
			// The index knows where readable batches go on.
			i := sort.Search(len(v.entries), func(i int) bool { return v.entries[i].position > position })
			if i == len(v.entries) {
				return 0, false, nil
			}
			position = v.entries[i].position
			continue
		}
		if h.base >= v.end {
			break
		}
		if h.timestamp >= timestamp {
			return h.base, true, nil
		}
		position += h.size()
	}
	return 0, false, nil
}
