package wire

import (
	"encoding/binary"
	"unsafe"
)

// Reader reads one message from a frame. Its methods report success; the
// first failure is kept, and the callers on the way up add where they are.
// The zero value reads an empty frame.
type Reader struct {
	buf []byte
	off int
	// elements is what is left of MaxElements.
	elements int

	int16s []int16
	int32s []int32
	int64s []int64

	failure
}

// NewReader returns a reader over frame.
func NewReader(frame []byte) Reader { return Reader{buf: frame, elements: MaxElements} }

// Left is the number of bytes not read yet.
func (r *Reader) Left() int { return len(r.buf) - r.off }

// Rest returns what is not read yet.
func (r *Reader) Rest() []byte { return r.buf[r.off:] }

// Take returns the next n bytes, nil where fewer are left.
func (r *Reader) Take(n int) []byte {
	if len(r.buf)-r.off < n {
		return nil
	}
	b := r.buf[r.off:]
	r.off += n
	return b
}

// Short records that the fields of a run, each of a fixed size in bytes, do not
// fit into what is left, and names the first that does not.
func (r *Reader) Short(names []string, sizes []int) bool {
	left := r.Left()
	for i, size := range sizes {
		if left < size {
			r.fail(len(r.buf)-left, shortage{need: uint64(size), left: left})
			return r.In(names[i])
		}
		left -= size
	}
	return false
}

// uvarint reads an unsigned varint of at most five bytes into 32 bits, as
// Kafka does: bits above the 32nd are dropped, more bytes than needed are fine.
func (r *Reader) uvarint() (uint32, bool) {
	var v uint32
	b := r.buf[r.off:]
	for i, c := range b {
		v |= uint32(c&0x7f) << (7 * i)
		if c < 0x80 {
			r.off += i + 1
			return v, true
		}
		if i == 4 {
			return 0, r.fail(r.off, longVarint{})
		}
	}
	return 0, r.fail(r.off, truncatedVarint{})
}

// compactLength reads a varint of length + 1; -1 stands for null, as does
// every value that Kafka's 32-bit arithmetic makes negative.
func (r *Reader) compactLength() (int, bool) {
	v, ok := r.uvarint()
	if !ok {
		return 0, false
	}
	return max(-1, int(int32(v-1))), true
}

func (r *Reader) length16() (int, bool) {
	b := r.Take(2)
	if b == nil {
		return 0, r.fail(r.off, shortage{need: 2, left: r.Left()})
	}
	return max(-1, int(int16(binary.BigEndian.Uint16(b)))), true
}

func (r *Reader) length32() (int, bool) {
	b := r.Take(4)
	if b == nil {
		return 0, r.fail(r.off, shortage{need: 4, left: r.Left()})
	}
	return max(-1, int(int32(binary.BigEndian.Uint32(b)))), true
}

// view returns n bytes without copying them. Its capacity is cut, so that an
// append never writes into the frame.
func (r *Reader) view(n int) ([]byte, bool) {
	if n > len(r.buf)-r.off {
		return nil, r.fail(r.off, shortage{need: uint64(n), left: r.Left(), length: true})
	}
	b := r.buf[r.off : r.off+n : r.off+n]
	r.off += n
	return b, true
}

func (r *Reader) text(n int) (string, bool) {
	if n > MaxString {
		return "", r.fail(r.off, tooLong{what: "string", n: n, limit: MaxString, unit: "bytes"})
	}
	if n > len(r.buf)-r.off {
		return "", r.fail(r.off, shortage{need: uint64(n), left: r.Left(), length: true})
	}
	if n == 0 {
		return "", true
	}
	s := unsafe.String(&r.buf[r.off], n)
	r.off += n
	return s, true
}
