package wire

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// String reads a string behind an int16 length.
func (r *Reader) String(dst *string) bool {
	n, ok := r.length16()
	return ok && r.setString(dst, n)
}

// CompactString reads a string behind a varint length.
func (r *Reader) CompactString(dst *string) bool {
	if s, ok := r.shortText(); ok {
		*dst = s
		return true
	}
	n, ok := r.compactLength()
	return ok && r.setString(dst, n)
}

// shortText is the fast path for the strings of most frames: a length of one
// byte, and all of it there. Where it does not apply, nothing is read.
func (r *Reader) shortText() (string, bool) {
	if r.off >= len(r.buf) {
		return "", false
	}
	n := int(r.buf[r.off])
	if n == 0 || n >= 0x80 || n > len(r.buf)-r.off {
		return "", false
	}
	s := unsafe.String((*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(r.buf)), r.off+1)), n-1)
	r.off += n
	return s, true
}

func (r *Reader) setString(dst *string, n int) bool {
	if n < 0 {
		return r.fail(r.off, notNullable{})
	}
	s, ok := r.text(n)
	*dst = s
	return ok
}

// NullString reads a nullable string behind an int16 length.
func (r *Reader) NullString(dst *NullString) bool {
	n, ok := r.length16()
	return ok && r.setNullString(dst, n)
}

// CompactNullString reads a nullable string behind a varint length.
func (r *Reader) CompactNullString(dst *NullString) bool {
	if s, ok := r.shortText(); ok {
		dst.S, dst.Valid = s, true
		return true
	}
	n, ok := r.compactLength()
	return ok && r.setNullString(dst, n)
}

func (r *Reader) setNullString(dst *NullString, n int) bool {
	if n < 0 {
		*dst = NullString{}
		return true
	}
	s, ok := r.text(n)
	dst.S, dst.Valid = s, true
	return ok
}

// Bytes reads bytes behind an int32 length; null is an error unless nullable.
func (r *Reader) Bytes(dst *[]byte, nullable bool) bool {
	n, ok := r.length32()
	return ok && r.setBytes(dst, n, nullable)
}

// CompactBytes reads bytes behind a varint length; null is an error unless
// nullable.
func (r *Reader) CompactBytes(dst *[]byte, nullable bool) bool {
	n, ok := r.compactLength()
	if ok && uint(n) <= uint(len(r.buf)-r.off) {
		*dst = r.buf[r.off : r.off+n : r.off+n]
		r.off += n
		return true
	}
	return ok && r.setBytes(dst, n, nullable)
}

func (r *Reader) setBytes(dst *[]byte, n int, nullable bool) bool {
	if n < 0 {
		*dst = nil
		return nullable || r.fail(r.off, notNullable{})
	}
	b, ok := r.view(n)
	*dst = b
	return ok
}

// Count reads the int32 length of an array whose elements take at least
// elemSize bytes each. It is -1 for null, which is an error unless nullable.
func (r *Reader) Count(elemSize int, nullable bool) (int, bool) {
	n, ok := r.length32()
	if !ok {
		return 0, false
	}
	return r.checkCount(n, elemSize, nullable)
}

// CompactCount is Count for a varint length.
func (r *Reader) CompactCount(elemSize int, nullable bool) (int, bool) {
	if r.off < len(r.buf) {
		n := int(r.buf[r.off]) - 1
		if uint(n) < 0x7f && n*elemSize < len(r.buf)-r.off && n <= r.elements {
			r.off++
			r.elements -= n
			return n, true
		}
	}
	n, ok := r.compactLength()
	if !ok {
		return 0, false
	}
	return r.checkCount(n, elemSize, nullable)
}

// checkCount refuses a count before anything is allocated for it.
func (r *Reader) checkCount(n, elemSize int, nullable bool) (int, bool) {
	switch {
	case n < 0 && !nullable:
		return 0, r.fail(r.off, notNullable{})
	case n <= 0:
		return n, true
	case uint64(n)*uint64(elemSize) > uint64(r.Left()):
		return 0, r.fail(r.off, shortage{need: uint64(n) * uint64(elemSize), left: r.Left(), count: n})
	case n > MaxArray:
		return 0, r.fail(r.off, tooLong{what: "array", n: n, limit: MaxArray, unit: "elements"})
	case n > r.elements:
		return 0, r.fail(r.off, tooLong{what: "frame", n: MaxElements - r.elements + n, limit: MaxElements, unit: "elements"})
	}
	r.elements -= n
	return n, true
}

// Float64 reads the eight bytes of a number, NaN bits kept.
func Float64(b []byte) float64 { return math.Float64frombits(binary.BigEndian.Uint64(b)) }
