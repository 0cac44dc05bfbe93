package storage

import (
	"bufio"
	"errors"
	"hash/crc32"
	"io"

	"kafka-iggy-bridge/internal/engine/buffers"
)

type batchState int

const (
	batchIntact  batchState = iota
	batchDamaged            // header intact, body not
	batchMissing            // unreadable bytes, but a batch follows at the new position
	batchTorn               // nothing readable follows
)

// batchReader walks the batches of a file.
type batchReader struct {
	file     File
	limit    int64
	position int64
	salt     uint32

	in   *bufio.Reader
	body *buffers.Buffer
}

func (r *batchReader) reset() {
	section := io.NewSectionReader(readerAt{r.file}, r.position, r.limit-r.position)
	if r.in == nil {
		// Most logs are short, and there may be thousands to open.
		r.in = bufio.NewReaderSize(section, int(max(BatchHeaderSize, min(256<<10, r.limit-r.position))))
	} else {
		r.in.Reset(section)
	}
}

func (r *batchReader) release() { r.body.Release() }

// next reads the batch at the position and moves behind it.
func (r *batchReader) next(expected uint64) (batchHeader, batchState, error) {
	head, err := r.in.Peek(BatchHeaderSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return batchHeader{}, 0, err
	}
	h, ok := parseBatchHeader(head, r.salt)
	if !ok || h.base < expected || r.position+h.size() > r.limit {
		return r.resync(expected)
	}
	if _, err := r.in.Discard(BatchHeaderSize); err != nil {
		return h, 0, err
	}
	if r.body == nil {
		r.body = buffers.Get(int(h.bodyLen))
	}
	r.body = r.body.Grow(0, int(h.bodyLen))
	body := r.body.B[:h.bodyLen]
	if _, err := io.ReadFull(r.in, body); err != nil {
		return h, 0, err
	}
	r.position += h.size()
	if crc32.Checksum(body, castagnoli) != h.bodyCRC {
		return h, batchDamaged, nil
	}
	return h, batchIntact, nil
}

// resync moves to the next intact header behind the position whose batch fits the
// file.
func (r *batchReader) resync(expected uint64) (batchHeader, batchState, error) {
	const window = 1 << 20
	buf := buffers.Get(int(min(window, r.limit-r.position)))
	defer buf.Release()
	for at := r.position + 1; at+BatchHeaderSize <= r.limit; at += window - BatchHeaderSize + 1 {
		b := buf.B[:min(window, r.limit-at)]
		if _, err := r.file.ReadAt(b, at); err != nil && !errors.Is(err, io.EOF) {
			return batchHeader{}, 0, err
		}
		for from := 0; ; {
			i, ok := resync(b[from:], expected, r.salt)
			if !ok {
				break
			}
			h, _ := parseBatchHeader(b[from+i:], r.salt)
			if found := at + int64(from+i); found+h.size() <= r.limit {
				r.position = found
				r.reset()
				return h, batchMissing, nil
			}
			from += i + 1
		}
	}
	return batchHeader{}, batchTorn, nil
}

// readerAt hides a File's other methods from io.
type readerAt struct{ File }
