package records

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/klauspost/compress/s2"
)

// Snappy comes in two forms: Java, sarama and kafka-go frame blocks as the
// xerial library does, librdkafka writes one raw block. The frame is a magic,
// a version and a least compatible version (int32 each), then blocks behind
// their int32 length, all big-endian. Concatenated frames are one stream.
var xerialMagic = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

const (
	xerialHeaderSize = 16
	xerialVersion    = 1
	// xerialBlock is how much goes into a block: as far as snappy looks back.
	xerialBlock = 64 << 10
)

var (
	errXerialBlock   = errors.New("a framed block is cut off or has a negative length")
	errXerialVersion = errors.New("unsupported version of the framing")
)

func appendSnappy(dst, src []byte) []byte {
	dst = append(dst, xerialMagic...)
	dst = binary.BigEndian.AppendUint32(dst, xerialVersion)
	dst = binary.BigEndian.AppendUint32(dst, xerialVersion)
	for len(src) > 0 {
		n := min(len(src), xerialBlock)
		dst = slices.Grow(dst, 4+s2.MaxEncodedLen(n))
		start := len(dst) + 4
		block := s2.EncodeSnappy(dst[start:cap(dst)], src[:n])
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(block)))[:start+len(block)]
		src = src[n:]
	}
	return dst
}

type snappyDecoder struct{}

// estimate adds up the sizes that begin each block, which is exact.
func (snappyDecoder) estimate(src []byte) (least, likely int) {
	if !bytes.HasPrefix(src, xerialMagic) {
		n, err := s2.DecodedLen(src)
		if err != nil {
			return 0, 0
		}
		return n, n
	}
	total := 0
	for rest := src; len(rest) > 0; {
		block, next, err := xerialNext(rest)
		if err != nil {
			break
		}
		if n, err := s2.DecodedLen(block); err == nil && block != nil {
			total += n
		}
		rest = next
	}
	return total, total
}

func (snappyDecoder) decode(dst, src []byte) ([]byte, error) {
	if !bytes.HasPrefix(src, xerialMagic) {
		return snappyBlock(dst, src)
	}
	for len(src) > 0 {
		block, rest, err := xerialNext(src)
		if err != nil {
			return nil, corrupt(CodecSnappy, err)
		}
		if block != nil {
			if dst, err = snappyBlock(dst, block); err != nil {
				return nil, err
			}
		}
		src = rest
	}
	return dst, nil
}

// xerialNext cuts the next block off src; a header is a nil block.
func xerialNext(src []byte) (block, rest []byte, err error) {
	if bytes.HasPrefix(src, xerialMagic) {
		if len(src) < xerialHeaderSize {
			return nil, nil, errXerialBlock
		}
		if int32(binary.BigEndian.Uint32(src[8:])) < xerialVersion {
			return nil, nil, errXerialVersion
		}
		return nil, src[xerialHeaderSize:], nil
	}
	if len(src) < 4 {
		return nil, nil, errXerialBlock
	}
	size := binary.BigEndian.Uint32(src)
	if uint64(size) > uint64(len(src)-4) {
		return nil, nil, errXerialBlock
	}
	return src[4 : 4+size], src[4+size:], nil
}

// snappyBlock appends one decompressed block to dst within its capacity.
func snappyBlock(dst, block []byte) ([]byte, error) {
	n, err := s2.DecodedLen(block)
	if err != nil {
		return nil, corrupt(CodecSnappy, err)
	}
	if n > cap(dst)-len(dst) {
		return nil, errFull
	}
	end := len(dst) + n
	if _, err := s2.Decode(dst[len(dst):end:end], block); err != nil {
		return nil, corrupt(CodecSnappy, err)
	}
	return dst[:end], nil
}
