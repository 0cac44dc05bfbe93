package records

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	// zstdMaxWindow is 128 MiB, the largest window that the reference
	// implementation decodes unasked. Output is decoded in place, so a large
	// window costs no memory of its own.
	zstdMaxWindow = 128 << 20
	// zstdBlockMax bounds what one block decompresses to.
	zstdBlockMax = 128 << 10
	// zstdChecksum is the size of a frame's optional checksum.
	zstdChecksum = 4
)

// The kinds of a zstd block.
const (
	zstdRaw = iota
	zstdRepeat
	zstdCompressed
)

var errZstdFrame = errors.New("bad zstd frame")

// One encoder and one decoder serve everybody: each keeps as many states as
// there are processors and makes callers wait beyond that.
var (
	zstdEncoder = sync.OnceValues(func() (*zstd.Encoder, error) {
		return zstd.NewWriter(nil,
			zstd.WithEncoderConcurrency(runtime.GOMAXPROCS(0)),
			// Batches are compressed while a consumer waits, for one read.
			zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithLowerEncoderMem(true),
			// An empty input still has to be a frame.
			zstd.WithZeroFrames(true),
			// The batch's CRC covers the frame.
			zstd.WithEncoderCRC(false))
	})
	zstdReader = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil,
			zstd.WithDecoderConcurrency(0),
			zstd.WithDecodeAllCapLimit(true),
			zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(zstdMaxWindow))
	})
)

func appendZstd(dst, src []byte) ([]byte, error) {
	e, err := zstdEncoder()
	if err != nil {
		return dst, fmt.Errorf("zstd encoder: %w", err)
	}
	return e.EncodeAll(src, dst), nil
}

type zstdDecoder struct{}

func (zstdDecoder) estimate(src []byte) (least, likely int) {
	for len(src) > 0 {
		f, err := scanZstd(src)
		if err != nil {
			break
		}
		least += f.least
		likely += f.likely
		src = src[f.size:]
	}
	return least, likely
}

// decode goes frame by frame, so that the destination's capacity means the
// same to the library in each.
func (zstdDecoder) decode(dst, src []byte) ([]byte, error) {
	d, err := zstdReader()
	if err != nil {
		return nil, fmt.Errorf("zstd decoder: %w", err)
	}
	for len(src) > 0 {
		f, err := scanZstd(src)
		if err != nil {
			return nil, corrupt(CodecZstd, err)
		}
		room := dst[len(dst):len(dst):cap(dst)]
		if f.least > cap(room) {
			return nil, errFull
		}
		out, err := d.DecodeAll(src[:f.size], room)
		switch {
		case len(out) > cap(room), err != nil && cap(room) < f.likely:
			// Several of the library's errors may mean a short destination.
			return nil, errFull
		case err != nil:
			return nil, corrupt(CodecZstd, err)
		}
		if len(out) > 0 && &out[0] != &room[:1][0] {
			copy(room[:len(out)], out)
		}
		dst = dst[:len(dst)+len(out)]
		src = src[f.size:]
	}
	return dst, nil
}

// zstdFrame is what a frame's headers tell without decoding it.
type zstdFrame struct {
	size   int // of the frame, in bytes
	least  int // bytes that it certainly decompresses to
	likely int // bytes that it decompresses to at most, or exactly
}

// scanZstd walks over the blocks of the frame that src begins with.
func scanZstd(src []byte) (f zstdFrame, err error) {
	var h zstd.Header
	if err := h.Decode(src); err != nil {
		return f, err
	}
	if h.Skippable {
		f.size = h.HeaderSize + int(h.SkippableSize)
		if f.size > len(src) {
			return f, errZstdFrame
		}
		return f, nil
	}
	i := h.HeaderSize
	for last := false; !last; {
		if len(src)-i < 3 {
			return f, errZstdFrame
		}
		word := int(src[i]) | int(src[i+1])<<8 | int(src[i+2])<<16
		i += 3
		last = word&1 != 0
		size := word >> 3
		switch word >> 1 & 3 {
		case zstdRaw:
			f.least += size
			f.likely += size
			i += size
		case zstdRepeat:
			f.least += size
			f.likely += size
			i++
		case zstdCompressed:
			f.likely += zstdBlockMax
			i += size
		default:
			return f, errZstdFrame
		}
		if size > zstdBlockMax || i > len(src) {
			return f, errZstdFrame
		}
	}
	if h.HasCheckSum {
		if i += zstdChecksum; i > len(src) {
			return f, errZstdFrame
		}
	}
	f.size = i
	if h.HasFCS {
		size := min(h.FrameContentSize, math.MaxInt32)
		f.least, f.likely = max(f.least, int(size)), int(size)
	}
	return f, nil
}
