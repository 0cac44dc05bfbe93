package wire

import (
	"encoding/binary"
	"math"
	"math/bits"
	"net"
)

// SegmentSize is the number of bytes from which a writer that keeps segments
// refers to records instead of copying them.
const SegmentSize = 1 << 10

// Writer appends encoded messages to one buffer. Where KeepSegments was called,
// large records are not copied: Buffers returns them in their places, as a list
// for one vectored write. The zero value is ready to use.
//
// Its methods report success; the first failure is kept.
type Writer struct {
	buf []byte // its length is its capacity
	off int    // bytes in use

	keep     bool
	segments []segment
	// outside is the number of bytes in segments.
	outside int

	failure
}

// segment is a piece of data that stands before the byte at position at.
type segment struct {
	at   int
	data []byte
}

// NewWriter returns a writer that appends to dst.
func NewWriter(dst []byte) Writer {
	return Writer{buf: dst[:cap(dst)], off: len(dst)}
}

// KeepSegments makes the writer refer to large records instead of copying
// them. They must not change until the buffers are written.
func (w *Writer) KeepSegments() { w.keep = true }

// Reset empties the writer and keeps its buffer.
func (w *Writer) Reset() {
	w.off = 0
	if len(w.segments) > 0 {
		clear(w.segments)
		w.outside, w.segments = 0, w.segments[:0]
	}
	if w.reason != nil {
		w.failure = failure{}
	}
}

// Len is the number of bytes written, those in segments included.
func (w *Writer) Len() int { return w.off + w.outside }

// Cap is the size of the writer's buffer in bytes.
func (w *Writer) Cap() int { return len(w.buf) }

// Bytes returns what was written to the buffer. It is the whole message only
// where no segments are kept.
func (w *Writer) Bytes() []byte { return w.buf[:w.off] }

// Buffers appends everything written, in order, to dst. The parts are views of
// the writer's buffer and of the records.
func (w *Writer) Buffers(dst net.Buffers) net.Buffers {
	from := 0
	for _, s := range w.segments {
		if s.at > from {
			dst = append(dst, w.buf[from:s.at])
		}
		dst = append(dst, s.data)
		from = s.at
	}
	if w.off > from {
		dst = append(dst, w.buf[from:w.off])
	}
	return dst
}

// BeginFrame leaves room for a frame's length and returns where the frame
// begins.
func (w *Writer) BeginFrame() int {
	at := w.Len()
	w.Extend(4)
	return at
}

// EndFrame writes the length of the frame that began at at, in a writer
// without segments before that point.
func (w *Writer) EndFrame(at int) {
	binary.BigEndian.PutUint32(w.buf[at:], uint32(w.Len()-at-4))
}

// Extend appends n bytes to be filled by the caller and returns a slice that
// begins with them.
func (w *Writer) Extend(n int) []byte {
	if len(w.buf)-w.off < n {
		w.grow(n)
	}
	b := w.buf[w.off:]
	w.off += n
	return b
}

// Room returns an empty slice with capacity for n bytes, to be appended to and
// given to Wrote.
func (w *Writer) Room(n int) []byte {
	if len(w.buf)-w.off < n {
		w.grow(n)
	}
	return w.buf[w.off:w.off]
}

// Wrote takes over what was appended to a slice that Room returned.
func (w *Writer) Wrote(b []byte) { w.off += len(b) }

// AppendUvarint appends an unsigned varint to b.
func AppendUvarint(b []byte, v uint32) []byte {
	if v < 0x80 {
		return append(b, byte(v))
	}
	return appendLongUvarint(b, v)
}

func appendLongUvarint(b []byte, v uint32) []byte {
	for ; v >= 0x80; v >>= 7 {
		b = append(b, byte(v)|0x80)
	}
	return append(b, byte(v))
}

func (w *Writer) grow(n int) {
	size := max(2*len(w.buf), w.off+n, 512)
	buf := make([]byte, size)
	copy(buf, w.buf[:w.off])
	w.buf = buf
}

// Uvarint appends an unsigned varint.
func (w *Writer) Uvarint(v uint32) {
	if v < 0x80 && w.off < len(w.buf) {
		w.buf[w.off] = byte(v)
		w.off++
		return
	}
	w.uvarintSlow(v)
}

func (w *Writer) uvarintSlow(v uint32) {
	w.Wrote(appendLongUvarint(w.Room(5), v))
}

func uvarintSize(v uint32) int { return (bits.Len32(v|1) + 6) / 7 }

// Int32 appends four bytes.
func (w *Writer) Int32(v int32) { binary.BigEndian.PutUint32(w.Extend(4), uint32(v)) }

// Byte appends one byte.
func (w *Writer) Byte(v byte) { w.Extend(1)[0] = v }

// PutBool puts a bool's byte.
func PutBool(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// PutFloat64 puts the eight bytes of a number, NaN bits kept.
func PutFloat64(b []byte, v float64) { binary.BigEndian.PutUint64(b, math.Float64bits(v)) }
