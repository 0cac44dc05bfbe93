package records

import (
	"errors"
	"fmt"
)

// Codec is how a batch's records are compressed: the lowest three bits of its
// attributes.
type Codec int8

// The codecs that Kafka knows.
const (
	CodecNone   Codec = 0
	CodecGzip   Codec = 1
	CodecSnappy Codec = 2
	CodecLZ4    Codec = 3
	CodecZstd   Codec = 4 // KIP-110: Produce v7+, Fetch v10+
)

var codecNames = [...]string{"none", "gzip", "snappy", "lz4", "zstd"}

// Errors of compression.
var (
	// ErrUnknownCodec names a codec that Kafka does not define.
	ErrUnknownCodec = errors.New("unknown compression codec")
	// ErrTooLarge says that data decompress to more than the caller's limit.
	ErrTooLarge = errors.New("decompressed data exceed the limit")
	// ErrCorruptPayload says that data are not of the form of their codec.
	ErrCorruptPayload = errors.New("compressed data are corrupt")

	// errFull says that a codec's output does not fit its destination.
	errFull = errors.New("destination is full")
)

// Known reports whether c is one of Kafka's codecs.
func (c Codec) Known() bool { return c >= CodecNone && c <= CodecZstd }

// String is the codec's name in Kafka's compression.type.
func (c Codec) String() string {
	if !c.Known() {
		return fmt.Sprintf("codec(%d)", int8(c))
	}
	return codecNames[c]
}

// ParseCodec is the codec with a name of compression.type: none, gzip, snappy,
// lz4 or zstd; uncompressed is a synonym of none. Others are ErrUnknownCodec.
func ParseCodec(name string) (Codec, error) {
	for c, n := range codecNames {
		if n == name {
			return Codec(c), nil
		}
	}
	if name == "uncompressed" {
		return CodecNone, nil
	}
	return 0, fmt.Errorf("%w: %q", ErrUnknownCodec, name)
}

// AppendCompressed appends src, compressed with c, to dst. Snappy is framed as
// Java's producer does (xerial blocks), LZ4 frames have independent blocks.
// The error is ErrUnknownCodec for codecs Kafka does not know.
func AppendCompressed(dst []byte, c Codec, src []byte) ([]byte, error) {
	switch c {
	case CodecNone:
		return append(dst, src...), nil
	case CodecGzip:
		return appendGzip(dst, src)
	case CodecSnappy:
		return appendSnappy(dst, src), nil
	case CodecLZ4:
		return appendLZ4(dst, src)
	case CodecZstd:
		return appendZstd(dst, src)
	}
	return dst, fmt.Errorf("%w: %d", ErrUnknownCodec, int8(c))
}

// AppendDecompressed appends src, decompressed with c, to dst. What it appends
// is at most limit bytes, else the error is ErrTooLarge; besides dst it holds at
// most limit bytes at a time, or for a moment twice that where a zstd frame
// mixes kinds of blocks. Other errors are ErrUnknownCodec and ErrCorruptPayload.
func AppendDecompressed(dst []byte, c Codec, src []byte, limit int) ([]byte, error) {
	if c == CodecNone {
		if len(src) > limit {
			return dst, fmt.Errorf("%w of %d bytes", ErrTooLarge, limit)
		}
		return append(dst, src...), nil
	}
	buf, err := decompress(c, src, limit)
	if err != nil {
		return dst, err
	}
	defer buf.release()
	return append(dst, buf.b...), nil
}

// decoder decompresses one codec. Nobody can know the size of hostile data
// beforehand, so decoding goes into a destination of fixed capacity, and again
// into a larger one when that was too small. Never are two of them held, so the
// limit is also the most that is in use; and as estimates are exact or
// bounds for what real producers write, the second attempt is rare.
type decoder interface {
	// estimate is how many bytes src claims to decompress to: at least, or
	// decode fails, and probably, at best exactly or a little more. It costs
	// little and is not to be trusted.
	estimate(src []byte) (least, likely int)
	// decode decompresses src into dst[:0] without ever growing it. The error
	// is errFull when it does not fit, else ErrCorruptPayload.
	decode(dst, src []byte) ([]byte, error)
}

var decoders = [...]decoder{CodecGzip: gzipDecoder{}, CodecSnappy: snappyDecoder{}, CodecLZ4: lz4Decoder{}, CodecZstd: zstdDecoder{}}

const (
	// minGuess is what the first attempt may be without further proof: a
	// block of zstd, whose size one cannot tell beforehand.
	minGuess = 128 << 10
	// maxFirstRatio bounds the first attempt beyond that to a multiple of the
	// compressed size, so that a lying header alone reserves no memory.
	maxFirstRatio = 16
)

// decompress decompresses src into a pooled buffer, which the caller releases.
func decompress(c Codec, src []byte, limit int) (*buffer, error) {
	if c <= CodecNone || int(c) >= len(decoders) {
		return nil, fmt.Errorf("%w: %d", ErrUnknownCodec, int8(c))
	}
	d := decoders[c]
	least, likely := d.estimate(src)
	if least > limit {
		return nil, fmt.Errorf("%w of %d bytes (%s)", ErrTooLarge, limit, c)
	}
	size := min(max(likely, 1), max(minGuess, maxFirstRatio*len(src)))
	for {
		size = min(size, limit)
		buf := getBuffer(size)
		out, err := d.decode(buf.b[:0:min(cap(buf.b), max(limit, 0))], src)
		if err == nil {
			buf.b = out
			return buf, nil
		}
		buf.release()
		if !errors.Is(err, errFull) {
			return nil, err
		}
		if size >= limit {
			return nil, fmt.Errorf("%w of %d bytes (%s)", ErrTooLarge, limit, c)
		}
		size = max(4*size, minGuess, least)
	}
}

func corrupt(c Codec, err error) error {
	return fmt.Errorf("%w (%s): %w", ErrCorruptPayload, c, err)
}
