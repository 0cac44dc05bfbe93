package bridge

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"sync"
)

// timeIndex knows, for stretches of a partition's log, the greatest timestamp
// of their records. Stretches are sorted, do not overlap, and need not touch:
// what lies between was not looked at yet. A question is answered by skipping
// the stretches that cannot hold the record and by reading the one that does.
//
// Stretches and not running maxima, so that a record deleted by retention does
// not stay the greatest for ever.
type timeIndex struct {
	mu        sync.Mutex
	stretches []stretch
	// grain is the number of records up to which a stretch grows; it doubles when
	// there are too many of them.
	grain   int64
	changed bool // since the last snapshot
}

// stretch is the records from base to end-1. maxAt is the offset of the first
// of them that has the greatest timestamp, maxTime.
type stretch struct {
	base, end      int64
	maxTime, maxAt int64
}

const (
	firstGrain = 1024
	// maxStretches bounds an index in memory: 32 bytes each.
	maxStretches = 2048
	// maxSnapshotStretches bounds one in the internal state.
	maxSnapshotStretches = 256
)

func newTimeIndex() timeIndex { return timeIndex{grain: firstGrain} }

// add takes note of the records from base to end-1. What the index knows
// already stays as it is.
func (x *timeIndex) add(base, end, maxTime, maxAt int64) {
	if end <= base {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	i := x.after(base)
	if i > 0 && x.stretches[i-1].end > base || i < len(x.stretches) && x.stretches[i].base < end {
		return // overlaps what is known
	}
	x.changed = true
	s := stretch{base: base, end: end, maxTime: maxTime, maxAt: maxAt}
	if i > 0 {
		if prev := &x.stretches[i-1]; prev.end == base && end-prev.base <= x.grain {
			*prev = join(*prev, s)
			return
		}
	}
	x.stretches = slices.Insert(x.stretches, i, s)
	if len(x.stretches) > maxStretches {
		x.grain *= 2
		x.stretches = coarsen(x.stretches, x.grain)
	}
}

// after is the index of the first stretch that begins above an offset.
func (x *timeIndex) after(offset int64) int {
	i, _ := slices.BinarySearchFunc(x.stretches, offset, func(s stretch, o int64) int {
		if s.base <= o {
			return -1
		}
		return 1
	})
	return i
}

// join is two stretches that touch as one.
func join(a, b stretch) stretch {
	s := stretch{base: a.base, end: b.end, maxTime: a.maxTime, maxAt: a.maxAt}
	if b.maxTime > a.maxTime {
		s.maxTime, s.maxAt = b.maxTime, b.maxAt
	}
	return s
}

// coarsen joins neighbours that touch up to grain records; when that is not
// enough, gaps being many, the oldest are forgotten.
func coarsen(stretches []stretch, grain int64) []stretch {
	out := stretches[:0]
	for _, s := range stretches {
		if n := len(out); n > 0 && out[n-1].end == s.base && s.end-out[n-1].base <= grain {
			out[n-1] = join(out[n-1], s)
			continue
		}
		out = append(out, s)
	}
	if extra := len(out) - maxStretches*3/4; extra > 0 && len(out) > maxStretches-1 {
		out = slices.Delete(out, 0, extra)
	}
	return out
}

// trim forgets what retention deleted. A stretch that is only in part deleted
// is forgotten when its greatest timestamp is.
func (x *timeIndex) trim(start int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := 0
	for n < len(x.stretches) && x.stretches[n].end <= start {
		n++
	}
	if n < len(x.stretches) && x.stretches[n].base < start && x.stretches[n].maxAt < start {
		n++
	}
	if n > 0 {
		x.stretches = slices.Delete(x.stretches, 0, n)
		x.changed = true
	}
	if len(x.stretches) > 0 && x.stretches[0].base < start {
		x.stretches[0].base = start
	}
}

// truncate forgets what lies beyond a log's new end.
func (x *timeIndex) truncate(end int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for n := len(x.stretches); n > 0 && x.stretches[n-1].end > end; n-- {
		x.stretches = x.stretches[:n-1]
		x.changed = true
	}
}

// next describes what lies at an offset: the stretch that holds it, known set,
// or the gap from there to the next stretch or to end.
func (x *timeIndex) next(offset, end int64) (s stretch, known bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	i := x.after(offset)
	if i > 0 && x.stretches[i-1].end > offset {
		return x.stretches[i-1], true
	}
	if i < len(x.stretches) {
		end = min(end, x.stretches[i].base)
	}
	return stretch{base: offset, end: end}, false
}

// errIndexSnapshot says that the bytes of a snapshot are not one.
var errIndexSnapshot = errors.New("malformed time index")

// snapshot is the index as bytes for the internal state, nil when it did not
// change since the last one. It is coarser than the index.
func (x *timeIndex) snapshot() []byte {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.changed {
		return nil
	}
	x.changed = false
	stretches, grain := slices.Clone(x.stretches), x.grain
	for len(stretches) > maxSnapshotStretches {
		before := len(stretches)
		grain *= 2
		if stretches = coarsen(stretches, grain); len(stretches) == before && grain > math.MaxInt64/4 {
			stretches = stretches[before-maxSnapshotStretches:]
		}
	}
	b := []byte{1} // version
	b = binary.AppendUvarint(b, uint64(grain))
	b = binary.AppendUvarint(b, uint64(len(stretches)))
	last := stretch{}
	for _, s := range stretches {
		b = binary.AppendUvarint(b, uint64(s.base-last.end))
		b = binary.AppendUvarint(b, uint64(s.end-s.base))
		b = binary.AppendVarint(b, s.maxTime-last.maxTime)
		b = binary.AppendUvarint(b, uint64(s.maxAt-s.base))
		last = s
	}
	return b
}

// keepChanged makes the next snapshot contain everything again.
func (x *timeIndex) keepChanged() {
	x.mu.Lock()
	x.changed = true
	x.mu.Unlock()
}

// restore fills an index from a snapshot: what lies beyond the log's end, or
// overlaps what the index knows, is left out.
func (x *timeIndex) restore(b []byte, end int64) error {
	if len(b) == 0 || b[0] != 1 {
		return errIndexSnapshot
	}
	r := varintReader{b: b[1:]}
	grain, n := r.uvarint(), r.uvarint()
	if r.bad || n > uint64(len(b)) || grain > math.MaxInt64/2 {
		return errIndexSnapshot
	}
	last := stretch{}
	stretches := make([]stretch, 0, n)
	for range n {
		s := stretch{base: last.end + int64(r.uvarint())}
		s.end = s.base + int64(r.uvarint())
		s.maxTime = last.maxTime + r.varint()
		s.maxAt = s.base + int64(r.uvarint())
		if r.bad || s.base < last.end || s.end <= s.base || s.maxAt < s.base || s.maxAt >= s.end {
			return errIndexSnapshot
		}
		stretches = append(stretches, s)
		last = s
	}
	x.mu.Lock()
	x.grain = max(x.grain, int64(grain))
	x.mu.Unlock()
	for _, s := range stretches {
		if s.end <= end {
			x.add(s.base, s.end, s.maxTime, s.maxAt)
		}
	}
	return nil
}

// varintReader reads varints and remembers when one was malformed.
type varintReader struct {
	b   []byte
	bad bool
}

func (r *varintReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *varintReader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}
