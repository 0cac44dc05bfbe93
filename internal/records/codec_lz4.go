package records

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
	"sync"

	"github.com/pierrec/lz4/v4"
)

// Kafka carries one LZ4 frame: magic, descriptor, blocks behind their length,
// a length of zero, optionally a content checksum; all little-endian. The frame
// is read and written here, with a library for single blocks, because then they
// go straight between the records and the batch, without a stream's buffers.
const (
	lz4Magic = 0x184D2204

	lz4FlagVersion         = 0x40 // version 1 in the top two bits
	lz4FlagVersionMask     = 0xC0
	lz4FlagIndependent     = 0x20
	lz4FlagBlockChecksum   = 0x10
	lz4FlagContentSize     = 0x08
	lz4FlagContentChecksum = 0x04

	// lz4FlagsAccepted are the flags that Kafka's readers understand. Blocks
	// that depend on each other are not among them.
	lz4FlagsAccepted = lz4FlagVersion | lz4FlagIndependent | lz4FlagBlockChecksum |
		lz4FlagContentSize | lz4FlagContentChecksum

	// lz4Stored marks, in a block's length, a block that is not compressed.
	lz4Stored = 1 << 31
	// lz4WriteBlock is the block size written: 64 KiB, code 4, as Java writes.
	lz4WriteBlock     = 64 << 10
	lz4WriteBlockCode = 4
)

var (
	errLZ4Header = errors.New("bad LZ4 frame header")
	errLZ4Block  = errors.New("an LZ4 block is cut off or has a wrong checksum or length")
	errLZ4Data   = errors.New("an LZ4 block does not decompress")
)

// lz4Compressors hold 136 KiB each.
var lz4Compressors = sync.Pool{New: func() any { return new(lz4.Compressor) }}

// lz4Header is the header of every frame written, with its checksum.
var lz4Header = func() []byte {
	h := binary.LittleEndian.AppendUint32(nil, lz4Magic)
	h = append(h, lz4FlagVersion|lz4FlagIndependent, lz4WriteBlockCode<<4)
	return append(h, lz4HeaderChecksum(h[4:]))
}()

func lz4HeaderChecksum(descriptor []byte) byte { return byte(xxh32(descriptor) >> 8) }

func appendLZ4(dst, src []byte) ([]byte, error) {
	c := lz4Compressors.Get().(*lz4.Compressor)
	defer lz4Compressors.Put(c)
	dst = append(dst, lz4Header...)
	for len(src) > 0 {
		block := src[:min(len(src), lz4WriteBlock)]
		src = src[len(block):]
		dst = slices.Grow(dst, 4+len(block))
		start := len(dst) + 4
		// A block that would not shrink is stored: the compressor's error and
		// its zero both say that this much room is too small.
		n, err := c.CompressBlock(block, dst[start:start+len(block)])
		if err != nil || n == 0 || n >= len(block) {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(len(block))|lz4Stored)
			dst = append(dst, block...)
			continue
		}
		dst = binary.LittleEndian.AppendUint32(dst, uint32(n))[:start+n]
	}
	return binary.LittleEndian.AppendUint32(dst, 0), nil
}

// lz4Frame reads a frame's blocks.
type lz4Frame struct {
	rest     []byte
	blockMax int
	flags    byte
}

// openLZ4 reads a frame's header.
func openLZ4(src []byte) (f lz4Frame, err error) {
	if len(src) < 7 || binary.LittleEndian.Uint32(src) != lz4Magic {
		return f, errLZ4Header
	}
	f.flags = src[4]
	code := src[5] >> 4
	if f.flags&lz4FlagVersionMask != lz4FlagVersion || f.flags&lz4FlagIndependent == 0 ||
		f.flags&^lz4FlagsAccepted != 0 || code < 4 || code > 7 || src[5]&0x8F != 0 {
		return f, errLZ4Header
	}
	f.blockMax = 1 << (8 + 2*int(code))
	end := 6
	if f.flags&lz4FlagContentSize != 0 {
		if end += 8; len(src) <= end {
			return f, errLZ4Header
		}
	}
	if src[end] != lz4HeaderChecksum(src[4:end]) {
		return f, errLZ4Header
	}
	f.rest = src[end+1:]
	return f, nil
}

// next cuts off the next block; a nil block without error is the end. As in
// Java a content checksum must be there but is not compared, since the batch's
// CRC covers the content, and what follows the frame is ignored.
func (f *lz4Frame) next() (block []byte, stored bool, err error) {
	if len(f.rest) < 4 {
		return nil, false, errLZ4Block
	}
	word := binary.LittleEndian.Uint32(f.rest)
	if word == 0 {
		if f.flags&lz4FlagContentChecksum != 0 && len(f.rest) < 8 {
			return nil, false, errLZ4Block
		}
		return nil, false, nil
	}
	stored = word&lz4Stored != 0
	size := int(word &^ lz4Stored)
	if size > f.blockMax || size > len(f.rest)-4 {
		return nil, false, errLZ4Block
	}
	block = f.rest[4 : 4+size]
	f.rest = f.rest[4+size:]
	if f.flags&lz4FlagBlockChecksum != 0 {
		if len(f.rest) < 4 || binary.LittleEndian.Uint32(f.rest) != xxh32(block) {
			return nil, false, errLZ4Block
		}
		f.rest = f.rest[4:]
	}
	return block, stored, nil
}

type lz4Decoder struct{}

// estimate counts blocks: all but the last are full as a rule.
func (lz4Decoder) estimate(src []byte) (least, likely int) {
	f, err := openLZ4(src)
	if err != nil {
		return 0, 0
	}
	f.flags &^= lz4FlagBlockChecksum // decode verifies them
	skip := 0
	if src[4]&lz4FlagBlockChecksum != 0 {
		skip = 4
	}
	for {
		block, stored, err := f.next()
		if block == nil || err != nil || len(f.rest) < skip {
			return least, likely
		}
		f.rest = f.rest[skip:]
		if stored {
			least += len(block)
			likely += len(block)
		} else {
			likely += min(f.blockMax, 255*len(block))
		}
	}
}

func (lz4Decoder) decode(dst, src []byte) ([]byte, error) {
	f, err := openLZ4(src)
	if err != nil {
		return nil, corrupt(CodecLZ4, err)
	}
	for {
		block, stored, err := f.next()
		if err != nil {
			return nil, corrupt(CodecLZ4, err)
		}
		if block == nil {
			return dst, nil
		}
		room := min(cap(dst)-len(dst), f.blockMax)
		if stored {
			if len(block) > room {
				return nil, errFull
			}
			dst = append(dst, block...)
			continue
		}
		n, err := lz4.UncompressBlock(block, dst[len(dst):len(dst)+room])
		switch {
		case err == nil:
			dst = dst[:len(dst)+n]
		case room < f.blockMax:
			// The library does not tell a short destination from bad data.
			return nil, errFull
		default:
			return nil, corrupt(CodecLZ4, errLZ4Data)
		}
	}
}

// xxh32 is the 32-bit xxHash of b with seed 0, the checksum of LZ4 frames.
func xxh32(b []byte) uint32 {
	const (
		p1 uint32 = 2654435761
		p2 uint32 = 2246822519
		p3 uint32 = 3266489917
		p4 uint32 = 668265263
		p5 uint32 = 374761393
	)
	le := binary.LittleEndian
	h := p5
	n := uint32(len(b))
	if len(b) >= 16 {
		sum := p1 // p1 + p2 overflows a constant
		lanes := [4]uint32{sum + p2, p2, 0, 0 - sum}
		for ; len(b) >= 16; b = b[16:] {
			for l := range lanes {
				lanes[l] = bits.RotateLeft32(lanes[l]+le.Uint32(b[4*l:])*p2, 13) * p1
			}
		}
		h = bits.RotateLeft32(lanes[0], 1) + bits.RotateLeft32(lanes[1], 7) +
			bits.RotateLeft32(lanes[2], 12) + bits.RotateLeft32(lanes[3], 18)
	}
	h += n
	for ; len(b) >= 4; b = b[4:] {
		h = bits.RotateLeft32(h+le.Uint32(b)*p3, 17) * p4
	}
	for _, c := range b {
		h = bits.RotateLeft32(h+uint32(c)*p5, 11) * p1
	}
	h = (h ^ h>>15) * p2
	h = (h ^ h>>13) * p3
	return h ^ h>>16
}
