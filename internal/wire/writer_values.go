package wire

import "encoding/binary"

// String appends a string behind an int16 length; more than MaxString bytes
// are an error.
func (w *Writer) String(s string) bool {
	if len(s) > MaxString {
		return w.stringTooLong(len(s))
	}
	b := w.Extend(2 + len(s))
	binary.BigEndian.PutUint16(b, uint16(len(s)))
	copy(b[2:], s)
	return true
}

// CompactString appends a string behind a varint length.
func (w *Writer) CompactString(s string) bool {
	n := len(s) + 1
	if n >= 0x80 {
		return w.longString(s)
	}
	b := w.Extend(n)
	b[0] = byte(n)
	copy(b[1:], s)
	return true
}

func (w *Writer) longString(s string) bool {
	if len(s) > MaxString {
		return w.stringTooLong(len(s))
	}
	w.uvarintSlow(uint32(len(s) + 1))
	copy(w.Extend(len(s)), s)
	return true
}

func (w *Writer) stringTooLong(n int) bool {
	return w.fail(-1, tooLong{what: "string", n: n, limit: MaxString, unit: "bytes"})
}

// TooLong fails for a string of n bytes, more than MaxString.
func (w *Writer) TooLong(field string, n int) bool {
	w.stringTooLong(n)
	return w.In(field)
}

// bytes32 appends bytes behind an int32 length. Nil is null where nullable,
// and empty elsewhere.
func (w *Writer) bytes32(b []byte, nullable bool) bool {
	if b == nil && nullable {
		w.Int32(-1)
		return true
	}
	w.Int32(int32(len(b)))
	copy(w.Extend(len(b)), b)
	return true
}

// compactBytes appends bytes behind a varint length.
func (w *Writer) compactBytes(b []byte, nullable bool) bool {
	if b == nil && nullable {
		w.Uvarint(0)
		return true
	}
	w.Uvarint(uint32(len(b)) + 1)
	copy(w.Extend(len(b)), b)
	return true
}

// Records appends records behind an int32 length, as a segment where the
// writer keeps them.
func (w *Writer) Records(b []byte, nullable bool) bool {
	if !w.keep || len(b) < SegmentSize {
		return w.bytes32(b, nullable)
	}
	w.Int32(int32(len(b)))
	w.segment(b)
	return true
}

// CompactRecords appends records behind a varint length, as a segment where
// the writer keeps them.
func (w *Writer) CompactRecords(b []byte, nullable bool) bool {
	if !w.keep || len(b) < SegmentSize {
		return w.compactBytes(b, nullable)
	}
	w.Uvarint(uint32(len(b)) + 1)
	w.segment(b)
	return true
}

func (w *Writer) segment(b []byte) {
	w.segments = append(w.segments, segment{at: w.off, data: b})
	w.outside += len(b)
}

// Count appends an array's int32 length, -1 for a null array.
func (w *Writer) Count(n int, null, nullable bool) bool {
	if null {
		n = -1
		if !nullable {
			return w.fail(-1, notNullable{})
		}
	}
	w.Int32(int32(n))
	return true
}

// CompactCount appends an array's varint length, 0 for a null array.
func (w *Writer) CompactCount(n int, null, nullable bool) bool {
	if null {
		n = -1
		if !nullable {
			return w.fail(-1, notNullable{})
		}
	}
	w.Uvarint(uint32(n + 1))
	return true
}

// Int8s appends the elements of an array.
func (w *Writer) Int8s(v []int8) {
	b := w.Extend(len(v))
	for i, x := range v {
		b[i] = byte(x)
	}
}

// Int16s appends the elements of an array.
func (w *Writer) Int16s(v []int16) {
	b := w.Extend(2 * len(v))
	for i, x := range v {
		binary.BigEndian.PutUint16(b[2*i:], uint16(x))
	}
}

// Int32s appends the elements of an array.
func (w *Writer) Int32s(v []int32) {
	b := w.Extend(4 * len(v))
	for i, x := range v {
		binary.BigEndian.PutUint32(b[4*i:], uint32(x))
	}
}

// CompactInt32s appends an array behind a varint count.
func (w *Writer) CompactInt32s(v []int32, null, nullable bool) bool {
	if null || len(v) >= 0x7f {
		if !w.CompactCount(len(v), null, nullable) {
			return false
		}
		w.Int32s(v)
		return true
	}
	b := w.Extend(1 + 4*len(v))
	b[0] = byte(len(v) + 1)
	b = b[1 : 1+4*len(v)]
	for _, x := range v {
		binary.BigEndian.PutUint32(b, uint32(x))
		b = b[4:]
	}
	return true
}

// Int64s appends the elements of an array.
func (w *Writer) Int64s(v []int64) {
	b := w.Extend(8 * len(v))
	for i, x := range v {
		binary.BigEndian.PutUint64(b[8*i:], uint64(x))
	}
}

// UUIDs appends the elements of an array.
func (w *Writer) UUIDs(v []UUID) {
	b := w.Extend(16 * len(v))
	for i := range v {
		copy(b[16*i:], v[i][:])
	}
}

// Strings appends the elements of an array, each behind an int16 length.
func (w *Writer) Strings(v []string) bool {
	for i, s := range v {
		if !w.String(s) {
			return w.at(i)
		}
	}
	return true
}

// CompactStrings appends the elements of an array, each behind a varint length.
func (w *Writer) CompactStrings(v []string) bool {
	for i, s := range v {
		if !w.CompactString(s) {
			return w.at(i)
		}
	}
	return true
}
