package records

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// sliceWriter is an io.Writer that appends.
type sliceWriter struct{ b []byte }

func (w *sliceWriter) Write(p []byte) (int, error) {
	w.b = append(w.b, p...)
	return len(p), nil
}

// gzipWriter is a pooled compressor with its destination.
type gzipWriter struct {
	dst sliceWriter
	gz  *gzip.Writer
}

var gzipWriters = sync.Pool{New: func() any {
	w := new(gzipWriter)
	w.gz = gzip.NewWriter(&w.dst)
	return w
}}

func appendGzip(dst, src []byte) ([]byte, error) {
	w := gzipWriters.Get().(*gzipWriter)
	w.dst.b = dst
	w.gz.Reset(&w.dst)
	_, err := w.gz.Write(src)
	if err == nil {
		err = w.gz.Close()
	}
	out := w.dst.b
	w.dst.b = nil
	gzipWriters.Put(w)
	return out, err
}

// gzipReader is a pooled decompressor with its source.
type gzipReader struct {
	src bytes.Reader
	gz  gzip.Reader
}

var gzipReaders = sync.Pool{New: func() any { return new(gzipReader) }}

type gzipDecoder struct{}

// estimate reads the size modulo 4 GiB that ends a gzip member.
func (gzipDecoder) estimate(src []byte) (least, likely int) {
	if len(src) < 4 {
		return 0, 0
	}
	return 0, int(binary.LittleEndian.Uint32(src[len(src)-4:]))
}

func (gzipDecoder) decode(dst, src []byte) ([]byte, error) {
	r := gzipReaders.Get().(*gzipReader)
	defer func() {
		r.src.Reset(nil)
		gzipReaders.Put(r)
	}()
	r.src.Reset(src)
	// Members may be concatenated; what follows the last one and is none is
	// ignored, as Java's GZIPInputStream does.
	for first := true; ; first = false {
		if err := r.gz.Reset(&r.src); err != nil {
			if first {
				return nil, corrupt(CodecGzip, err)
			}
			return dst, nil
		}
		r.gz.Multistream(false)
		var err error
		if dst, err = readInto(dst, &r.gz); err != nil {
			if errors.Is(err, errFull) {
				return nil, err
			}
			return nil, corrupt(CodecGzip, err)
		}
	}
}

// readInto appends all of r to dst, or returns errFull when more follows than
// dst's capacity holds.
func readInto(dst []byte, r io.Reader) ([]byte, error) {
	for {
		if len(dst) == cap(dst) {
			// Full, and still the end may follow: only a further byte tells.
			var one [1]byte
			switch n, err := io.ReadFull(r, one[:]); {
			case n == 1:
				return dst, errFull
			case errors.Is(err, io.EOF):
				return dst, nil
			default:
				return dst, err
			}
		}
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if errors.Is(err, io.EOF) {
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
	}
}
