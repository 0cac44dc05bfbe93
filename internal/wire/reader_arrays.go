package wire

import "encoding/binary"

// slabElements is how many numbers a slab holds at least, unless the rest of
// the frame cannot hold as many.
const slabElements = 1024

// cut takes n elements from the front of a slab and refills it when it is too
// small. The rest of the frame bounds the refill: more numbers cannot come.
func cut[T any](slab *[]T, n, left, size int) []T {
	if n == 0 {
		return []T{} // not null, even where the slab is
	}
	if n > len(*slab) {
		*slab = make([]T, max(n, min(slabElements, left/size)))
	}
	out := (*slab)[:n:n]
	*slab = (*slab)[n:]
	return out
}

// Int8s reads an array of n numbers, nil for -1. Like its siblings it relies
// on the check that Count has made.
func (r *Reader) Int8s(n int) []int8 {
	if n < 0 {
		return nil
	}
	out := make([]int8, n)
	for i, b := range r.Take(n)[:n] {
		out[i] = int8(b)
	}
	return out
}

// CompactInt32s reads an array behind a varint count: the hot one of Kafka's
// arrays, since the partition lists are made of it.
func (r *Reader) CompactInt32s(dst *[]int32, nullable bool) bool {
	n := 0
	if r.off < len(r.buf) && uint(r.buf[r.off]-1) < 0x7f {
		n = int(r.buf[r.off]) - 1
		if 4*n >= len(r.buf)-r.off {
			r.off++
			return r.fail(r.off, shortage{count: n, need: uint64(4 * n), left: r.Left()})
		}
		r.off++
	} else {
		var ok bool
		if n, ok = r.CompactCount(4, nullable); !ok {
			return false
		}
	}
	*dst = r.Int32s(n)
	return true
}

// Int16s reads an array of n numbers, nil for -1.
func (r *Reader) Int16s(n int) []int16 {
	if n < 0 {
		return nil
	}
	out := cut(&r.int16s, n, r.Left(), 2)
	b := r.Take(2 * n)[:2*n]
	for i := range out {
		out[i] = int16(binary.BigEndian.Uint16(b))
		b = b[2:]
	}
	return out
}

// Int32s reads an array of n numbers, nil for -1.
func (r *Reader) Int32s(n int) []int32 {
	if n < 0 {
		return nil
	}
	out := cut(&r.int32s, n, r.Left(), 4)
	b := r.Take(4 * n)[:4*n]
	for i := range out {
		out[i] = int32(binary.BigEndian.Uint32(b))
		b = b[4:]
	}
	return out
}

// Int64s reads an array of n numbers, nil for -1.
func (r *Reader) Int64s(n int) []int64 {
	if n < 0 {
		return nil
	}
	out := cut(&r.int64s, n, r.Left(), 8)
	b := r.Take(8 * n)[:8*n]
	for i := range out {
		out[i] = int64(binary.BigEndian.Uint64(b))
		b = b[8:]
	}
	return out
}

// UUIDs reads an array of n ids, nil for -1.
func (r *Reader) UUIDs(n int) []UUID {
	if n < 0 {
		return nil
	}
	out := make([]UUID, n)
	b := r.Take(16 * n)
	for i := range out {
		out[i] = UUID(b[16*i : 16*i+16])
	}
	return out
}

// Strings reads an array of n strings behind int16 lengths, nil for -1.
func (r *Reader) Strings(dst *[]string, n int) bool {
	return r.strings(dst, n, (*Reader).String)
}

// CompactStrings reads an array of n strings behind varint lengths, nil for -1.
func (r *Reader) CompactStrings(dst *[]string, n int) bool {
	return r.strings(dst, n, (*Reader).CompactString)
}

func (r *Reader) strings(dst *[]string, n int, read func(*Reader, *string) bool) bool {
	if n < 0 {
		*dst = nil
		return true
	}
	out := make([]string, n)
	for i := range out {
		if !read(r, &out[i]) {
			return r.at(i)
		}
	}
	*dst = out
	return true
}
