package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sort"
)

// An index file is a sequence of 32-byte entries, appended as the log grows:
//
//	 0  u64  offset of the batch that begins at the position
//	 8  u64  position in the log; the top bit marks the entry that ends a sealed segment
//	16  u64  greatest append time of all batches before the position
//	24  u32  number of batches before the position
//	28  u32  CRC-32C of the 28 bytes before, seeded with the segment's first offset
//
// Entries up to the first broken one count; the log is scanned from the last of them.
const (
	indexEntrySize = 32

	// indexInterval is the least number of log bytes between two entries: what a
	// reader may have to step over to reach its offset.
	indexInterval = 32 << 10

	// indexFlushEntries is how many entries are gathered before they are written,
	// which bounds the part of a log that has to be scanned after a crash.
	indexFlushEntries = 512

	indexSealed = 1 << 63
)

// indexEntry says that a batch beginning with offset stands at position.
type indexEntry struct {
	offset    uint64
	position  int64
	maxBefore uint64 // greatest append time before position
	batches   uint32 // batches before position
}

func (e indexEntry) append(dst []byte, start uint64, sealed bool) []byte {
	from := len(dst)
	position := uint64(e.position)
	if sealed {
		position |= indexSealed
	}
	dst = binary.LittleEndian.AppendUint64(dst, e.offset)
	dst = binary.LittleEndian.AppendUint64(dst, position)
	dst = binary.LittleEndian.AppendUint64(dst, e.maxBefore)
	dst = binary.LittleEndian.AppendUint32(dst, e.batches)
	return binary.LittleEndian.AppendUint32(dst, indexCRC(dst[from:], start))
}

func indexCRC(b []byte, start uint64) uint32 {
	var seed [8]byte
	binary.LittleEndian.PutUint64(seed[:], start)
	return crc32.Update(crc32.Checksum(seed[:], castagnoli), castagnoli, b)
}

func parseIndexEntry(b []byte, start uint64) (e indexEntry, sealed, ok bool) {
	if len(b) < indexEntrySize || indexCRC(b[:28], start) != binary.LittleEndian.Uint32(b[28:]) {
		return indexEntry{}, false, false
	}
	position := binary.LittleEndian.Uint64(b[8:])
	return indexEntry{
		offset:    binary.LittleEndian.Uint64(b),
		position:  int64(position &^ indexSealed),
		maxBefore: binary.LittleEndian.Uint64(b[16:]),
		batches:   binary.LittleEndian.Uint32(b[24:]),
	}, position&indexSealed != 0, true
}

// parseIndex returns the entries of an index file up to the first that is broken,
// out of order, or beyond the log's size. sealed is true when the last of them ends
// the segment exactly at the log's size.
func parseIndex(b []byte, start uint64, logSize int64) (entries []indexEntry, sealed bool) {
	for len(b) >= indexEntrySize {
		e, end, ok := parseIndexEntry(b, start)
		if !ok || e.position > logSize || e.offset < start {
			return entries, false
		}
		if n := len(entries); n > 0 {
			last := entries[n-1]
			if e.position < last.position || e.offset < last.offset || e.maxBefore < last.maxBefore || e.batches < last.batches {
				return entries, false
			}
		} else if e.position != 0 && !end {
			return entries, false
		}
		entries = append(entries, e)
		b = b[indexEntrySize:]
		if end {
			return entries, e.position == logSize
		}
	}
	return entries, false
}

// readIndexFile loads an index file; an absent one is empty.
func readIndexFile(path string, start uint64, logSize int64) (entries []indexEntry, sealed bool, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("storage: read index: %w", err)
	}
	entries, sealed = parseIndex(b, start, logSize)
	return entries, sealed, nil
}

// readIndexEnd returns a sealed segment's last entry without reading the others.
func readIndexEnd(path string, start uint64, logSize int64) (indexEntry, bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return indexEntry{}, false, nil
	}
	if err != nil {
		return indexEntry{}, false, fmt.Errorf("storage: open index: %w", err)
	}
	e, ok, err := readLastEntry(f, start, logSize)
	if closeErr := f.Close(); err == nil && closeErr != nil {
		err = closeErr
	}
	if err != nil {
		return indexEntry{}, false, fmt.Errorf("storage: read index: %w", err)
	}
	return e, ok, nil
}

func readLastEntry(f *os.File, start uint64, logSize int64) (indexEntry, bool, error) {
	info, err := f.Stat()
	if err != nil {
		return indexEntry{}, false, err
	}
	if info.Size() < indexEntrySize || info.Size()%indexEntrySize != 0 {
		return indexEntry{}, false, nil
	}
	var b [indexEntrySize]byte
	if _, err := f.ReadAt(b[:], info.Size()-indexEntrySize); err != nil && !errors.Is(err, io.EOF) {
		return indexEntry{}, false, err
	}
	e, sealed, ok := parseIndexEntry(b[:], start)
	return e, ok && sealed && e.position == logSize && e.offset >= start, nil
}

// appendIndexFile writes entries at position from of an index file, cutting what
// stood there.
func appendIndexFile(path string, from int64, b []byte, sync bool) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("storage: open index: %w", err)
	}
	err = f.Truncate(from)
	if err == nil && len(b) > 0 {
		_, err = f.WriteAt(b, from)
	}
	if err == nil && sync {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("storage: write index: %w", err)
	}
	return nil
}

// floor returns the position of the last entry at or below offset, 0 when none is.
func floor(entries []indexEntry, offset uint64) int64 {
	i := sort.Search(len(entries), func(i int) bool { return entries[i].offset > offset })
	if i == 0 {
		return 0
	}
	return entries[i-1].position
}

// ceiling returns the position of the first entry at or above offset, or limit when
// there is none before it.
func ceiling(entries []indexEntry, offset uint64, limit int64) int64 {
	i := sort.Search(len(entries), func(i int) bool { return entries[i].offset >= offset })
	if i == len(entries) || entries[i].position > limit {
		return limit
	}
	return entries[i].position
}

// floorTime returns the position of the last entry all of whose predecessors are
// older than timestamp.
func floorTime(entries []indexEntry, timestamp uint64) int64 {
	i := sort.Search(len(entries), func(i int) bool { return entries[i].maxBefore >= timestamp })
	if i == 0 {
		return 0
	}
	return entries[i-1].position
}
