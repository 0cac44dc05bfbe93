package storage

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sort"

	"kafka-iggy-bridge/internal/engine/buffers"
)

// ChunkHeadroom is the number of bytes in front of a chunk's messages that its
// holder may overwrite.
const ChunkHeadroom = BatchHeaderSize

// Chunk is a run of messages as they go over the wire.
type Chunk struct {
	buf        *buffers.Buffer
	start, end int

	// Count is the number of messages, Last the offset of the last one.
	Count uint32
	Last  uint64
}

// Bytes returns the messages.
func (c *Chunk) Bytes() []byte {
	if c.buf == nil {
		return nil
	}
	return c.buf.B[c.start:c.end]
}

// WithHeadroom returns the messages with n writable bytes in front of them; n is at
// most ChunkHeadroom. The chunk must not be empty.
func (c *Chunk) WithHeadroom(n int) []byte { return c.buf.B[c.start-n : c.end] }

// Release gives the chunk's memory back.
func (c *Chunk) Release() {
	c.buf.Release()
	c.buf = nil
}

// view is what a reader needs of a segment, taken under the log's lock.
type view struct {
	seg     *segment
	entries []indexEntry
	size    int64  // readable bytes
	end     uint64 // readable messages end here
	sealed  bool
	next    uint64 // first offset of the segment behind, when there is one

	// from and until narrow the read further where the log's memory of recent
	// batches allows; until 0 means it does not.
	from, until int64
}

// Read returns up to count messages beginning at offset, or at the first one kept
// when that is higher. It stops early at maxBytes (but always returns a message when
// there is one), and in front of a corrupt batch; a corrupt batch at the very
// beginning is an error matching ErrCorrupt. The chunk is empty, and needs no
// release, at the end of the log.
func (l *Log) Read(offset uint64, count uint32, maxBytes int) (Chunk, error) {
	var c Chunk
	for c.Count < count {
		v, ok := l.view(offset, count-c.Count)
		if !ok {
			return c, nil
		}
		offset = max(offset, v.seg.start)
		next, err := l.readSegment(&c, v, offset, count, maxBytes)
		if err != nil {
			if c.Count > 0 {
				return c, nil
			}
			if errors.Is(err, os.ErrNotExist) && l.moved(v.seg) {
				continue // retention took the segment meanwhile
			}
			c.Release()
			return Chunk{}, err
		}
		if next <= offset || c.end-c.start >= maxBytes {
			return c, nil
		}
		offset = next
	}
	return c, nil
}

// view finds the segment that holds offset. ok is false at the end of the log.
func (l *Log) view(offset uint64, count uint32) (view, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if offset >= l.visible || l.closed {
		return view{}, false
	}
	i := sort.Search(len(l.segments), func(i int) bool { return l.segments[i].start > offset }) - 1
	i = max(i, 0)
	v := l.viewOf(i)
	if !v.sealed {
		v.from, v.until = l.recall(offset, count)
	}
	return v, true
}

// moved reports whether a segment is no longer part of the log, or the log is closed.
func (l *Log) moved(seg *segment) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.closed || l.segments[0].start > seg.start
}

func (l *Log) viewOf(i int) view {
	seg := l.segments[i]
	v := view{seg: seg, sealed: seg.sealed, entries: seg.entries, size: seg.size, end: seg.end}
	if !seg.sealed {
		v.size, v.end = l.visibleSize, l.visible
	} else {
		v.next = l.segments[i+1].start
	}
	return v
}

// recall looks for offset among the newest batches.
func (l *Log) recall(offset uint64, count uint32) (from, until int64) {
	n := min(l.recentCount, recentBatches)
	for i := l.recentCount; i > l.recentCount-n; i-- {
		b := &l.recent[(i-1)%recentBatches]
		if b.offset >= offset+uint64(count) {
			until = b.position
		}
		if b.offset <= offset {
			return b.position, until
		}
	}
	return 0, 0
}

// bounds returns the part of the segment's file to read for count messages from
// offset.
func (v *view) bounds(offset uint64, count uint32) (from, until int64) {
	if v.from > 0 || v.until > 0 {
		// The newest batches may still be waiting for their sync, out of sight.
		if v.until > 0 {
			return v.from, min(v.until, v.size)
		}
		return v.from, v.size
	}
	return floor(v.entries, offset), ceiling(v.entries, offset+uint64(count), v.size)
}

// readSegment adds messages of one segment to the chunk and returns the offset to go
// on at, which is the given one when there is nothing more to be had.
func (l *Log) readSegment(c *Chunk, v view, offset uint64, count uint32, maxBytes int) (uint64, error) {
	if v.sealed {
		// A sealed segment may have lost its last messages to a crash; what follows
		// goes on at the next segment.
		if offset >= v.end {
			return v.next, nil
		}
	}
	file, err := l.store.files.acquire(&v.seg.slot)
	if err != nil {
		return 0, err
	}
	defer l.store.files.release(&v.seg.slot)
	if v.sealed {
		if v.entries, err = l.loadIndex(v.seg, file); err != nil {
			return 0, err
		}
	}
	from, until := v.bounds(offset, count-c.Count)
	room := int64(max(maxBytes-(c.end-c.start), 1))
	if until-from > room {
		// The piece ends at a batch's beginning, and holds one entry's batches at least.
		until = pieceEnd(v.entries, from, from+room, until)
	}
	data, err := c.fill(file, from, until)
	if err != nil {
		return 0, fmt.Errorf("storage: read %s: %w", v.seg.slot.path, err)
	}
	s := scanner{log: l, seg: v.seg, chunk: c, position: from}
	next, err := s.take(data, offset, count)
	switch {
	case err != nil:
		return 0, err
	case next < v.end && until < v.size:
		return next, nil // more of this segment is wanted
	case v.sealed && next >= v.end:
		return v.next, nil
	}
	return next, nil
}

// pieceEnd returns the position of the last entry in (from, limit], or of the first
// one behind limit, at most until.
func pieceEnd(entries []indexEntry, from, limit, until int64) int64 {
	i := sort.Search(len(entries), func(i int) bool { return entries[i].position > limit })
	if i > 0 && entries[i-1].position > from {
		return entries[i-1].position
	}
	if i < len(entries) {
		return min(entries[i].position, until)
	}
	return until
}

// fill reads a piece of a file behind what the chunk already holds.
func (c *Chunk) fill(file File, from, until int64) ([]byte, error) {
	need := c.end + int(until-from)
	if c.buf == nil {
		c.buf = buffers.Get(need)
	} else {
		c.buf = c.buf.Grow(c.end, need)
	}
	data := c.buf.B[c.end:need]
	n, err := file.ReadAt(data, from)
	if err != nil && !(errors.Is(err, io.EOF) && n == len(data)) {
		return nil, err
	}
	return data, nil
}

// scanner picks messages out of batches, moving them together in the chunk.
type scanner struct {
	log      *Log
	seg      *segment
	chunk    *Chunk
	position int64 // of the data in the file
}

// take adds messages from data, a run of batches that lies in the chunk's buffer
// behind what it holds, until the chunk has count messages. It returns the offset
// after the last batch it looked at.
func (s *scanner) take(data []byte, offset uint64, count uint32) (uint64, error) {
	c := s.chunk
	at := c.end // where data begins in the buffer
	next := offset
	for r := 0; r < len(data) && c.Count < count; {
		h, ok := parseBatchHeader(data[r:], s.log.store.opts.Salt)
		if !ok {
			skip, found := resync(data[r+1:], next, s.log.store.opts.Salt)
			if !found {
				return next, s.corrupt(r, "no readable batch header")
			}
			r += 1 + skip
			if h, _ = parseBatchHeader(data[r:], s.log.store.opts.Salt); h.base > offset {
				return next, s.corrupt(r, "batches in front of it are unreadable")
			}
		}
		end := r + int(h.size())
		if end > len(data) {
			return next, s.corrupt(r, "batch goes beyond the segment")
		}
		if h.end() > offset {
			if c.Count > 0 && h.base != c.Last+1 {
				return next, nil // a gap: what lies behind it is another read's
			}
			body := data[r+BatchHeaderSize : end]
			if crc32.Checksum(body, castagnoli) != h.bodyCRC {
				return next, s.corrupt(r, "checksum of the messages does not match")
			}
			from, until, taken := selectMessages(body, &h, offset, count-c.Count)
			s.keep(at+r+BatchHeaderSize+from, at+r+BatchHeaderSize+until, taken)
			c.Last = max(h.base, offset) + uint64(taken) - 1
			offset = c.Last + 1
			next = offset
		}
		r = end
	}
	return next, nil
}

// keep moves buffer bytes [from, until) to the chunk's end. The first run stays where
// it is: the batch header in front of it is the chunk's headroom.
func (s *scanner) keep(from, until int, count uint32) {
	c := s.chunk
	if c.Count == 0 {
		c.start, c.end = from, until
	} else {
		c.end += copy(c.buf.B[c.end:], c.buf.B[from:until])
	}
	c.Count += count
}

func (s *scanner) corrupt(at int, reason string) error {
	err := &CorruptError{Path: s.seg.slot.path, Position: s.position + int64(at), Reason: reason}
	s.log.store.log.WithError(err).Error("corrupt batch met while reading")
	return err
}

// selectMessages returns the byte range of the messages of a batch that have offset
// or a higher one, at most count, and how many they are.
func selectMessages(body []byte, h *batchHeader, offset uint64, count uint32) (from, until int, taken uint32) {
	skip := uint32(0)
	if offset > h.base {
		skip = uint32(offset - h.base)
	}
	if skip == 0 && count >= h.count {
		return 0, len(body), h.count
	}
	for range skip {
		from += messageSize(body[from:])
	}
	taken = min(count, h.count-skip)
	if taken == h.count-skip {
		return from, len(body), taken
	}
	until = from
	for range taken {
		until += messageSize(body[until:])
	}
	return from, until, taken
}

// resync looks for the next intact batch header whose first offset is expected or
// higher.
func resync(b []byte, expected uint64, salt uint32) (int, bool) {
	for i := 0; i+BatchHeaderSize <= len(b); i++ {
		if b[i] != batchMagic&0xff {
			continue
		}
		if h, ok := parseBatchHeader(b[i:], salt); ok && h.base >= expected {
			return i, true
		}
	}
	return 0, false
}
