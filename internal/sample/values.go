package sample

import (
	"math"
	"strings"

	"kafka-iggy-bridge/internal/wire"
)

// integer returns a number of so many bits, signed: often one at a boundary.
func (f *filler) integer(bits int) int64 {
	low := int64(-1) << (bits - 1)
	switch f.IntN(8) {
	case 0:
		return 0
	case 1:
		return -1
	case 2:
		return low
	case 3:
		return -1 - low // the greatest
	case 4, 5:
		return int64(f.IntN(100))
	default:
		return int64(f.Uint64()) >> (64 - bits)
	}
}

// javaNaN are the bits of the NaN that Java writes, the only one that survives
// JSON.
const javaNaN = 0x7ff8000000000000

var floats = []float64{0, math.Copysign(0, -1), 1, -1.5, 0.1, 1e21, math.MaxFloat64, math.SmallestNonzeroFloat64,
	math.Inf(1), math.Inf(-1), math.Float64frombits(javaNaN)}

func (f *filler) float() float64 {
	if f.one(2) {
		return floats[f.IntN(len(floats))]
	}
	return f.NormFloat64() * 1e6
}

func (f *filler) uuid() wire.UUID {
	var u wire.UUID
	if f.one(6) {
		return u
	}
	copy(u[:], f.noise(len(u)))
	return u
}

// pieces are what strings are made of: one to four bytes a character, and what
// JSON has to escape.
var pieces = []string{"a", "Z", "0", " ", "-", "_", ".", "/", "\"", "\\", "<&>", "\x00", "\n", "\t", "\x7f",
	"é", "ß", "ü", "Ж", "漢", "字", "\u2028", "\ufffd", "😀", "🦀", "e\u0301"}

// lengths are sizes in bytes at which a length takes one byte more, or which
// are the greatest that a string may have.
var lengths = []int{126, 127, 128, 129, 255, 256, 16382, 16383, 16384, wire.MaxString}

func (f *filler) text() string {
	switch x := f.IntN(400); {
	case x < 40:
		return ""
	case x < 200:
		return f.name(1 + f.IntN(12))
	case x < 380:
		return f.prose(1 + f.IntN(12))
	case x < 396:
		return f.exactly(lengths[f.IntN(6)])
	default:
		return f.exactly(lengths[f.IntN(len(lengths))])
	}
}

// prose returns n pieces.
func (f *filler) prose(n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(pieces[f.IntN(len(pieces))])
	}
	return b.String()
}

// exactly returns a string of n bytes with characters of several bytes in it.
func (f *filler) exactly(n int) string {
	s := f.prose(n / 8)
	if len(s) > n {
		s = ""
	}
	return s + strings.Repeat("x", n-len(s))
}

const nameLetters = "abcdefghijklmnopqrstuvwxyz0123456789"

// name returns n letters and digits: a legal name for whatever Kafka names.
func (f *filler) name(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = nameLetters[f.IntN(len(nameLetters))]
	}
	return string(b)
}

// bytes returns any bytes; never nil, which would be null.
func (f *filler) bytes() []byte {
	switch x := f.IntN(40); {
	case x < 8:
		return []byte{}
	case x == 39:
		return f.noise(lengths[f.IntN(len(lengths))])
	default:
		return f.noise(1 + f.IntN(32))
	}
}

func (f *filler) noise(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(f.Uint32())
	}
	return b
}

// unknownTags returns tags above all that any version of the struct defines.
func (f *filler) unknownTags(s *wire.Struct) []wire.RawTag {
	next := uint32(0)
	for i := range s.Fields {
		if t := s.Fields[i].Tagged; t.Max >= t.Min {
			next = max(next, uint32(s.Fields[i].Tag)+1)
		}
	}
	var tags []wire.RawTag
	for range 1 + f.IntN(3) {
		next += uint32(f.IntN([]int{2, 200, 20_000, 1 << 29}[f.IntN(4)]))
		tags = append(tags, wire.RawTag{Tag: next, Data: f.bytes()})
		next++
	}
	return tags
}
