package records

import (
	"fmt"
	"unsafe"
)

// MaxHeaders is how many headers a record may have: as many as fit into the
// default max.message.bytes. Kafka sets no bound; here an empty header of two
// bytes becomes a Header of forty, so without one a compressed batch of empty
// headers could cost gigabytes.
const MaxHeaders = 1 << 19

// Header is a record's header. Names may repeat and keep their order.
type Header struct {
	// Key is the header's name, possibly empty.
	Key string
	// Value is nil for null and empty but not nil for no bytes.
	Value []byte
}

// Record is one record. Keys, values and headers read from a batch are views
// of it, and Headers is overwritten by the next record read into the same
// Record.
type Record struct {
	// Offset is the record's offset: the batch's base offset plus its delta.
	Offset int64
	// Timestamp is in ms; for a batch with LogAppendTime it is the batch's.
	Timestamp int64
	// Key and Value are nil for null and empty but not nil for no bytes.
	Key, Value []byte
	// Headers are in the order in which the producer wrote them.
	Headers []Header
}

// Iterator walks over a batch's records.
//
//	it := batch.Iterator()
//	for it.Next(&record) {
//		…
//	}
//	err := it.Err()
type Iterator struct {
	data          []byte
	pos           int
	read, count   int32
	baseOffset    int64
	baseTimestamp int64
	appendTime    int64
	logAppendTime bool
	offsetDelta   int32
	skipHeaders   bool // check headers, but leave Record.Headers empty
	err           error
}

// Iterator walks over the batch's records as often as wanted. A compressed
// batch needs Decompress first, else Err is ErrCompressed.
func (b *Batch) Iterator() Iterator {
	data, err := b.Records()
	it := Iterator{
		data:          data,
		count:         b.Count,
		baseOffset:    b.BaseOffset,
		baseTimestamp: b.BaseTimestamp,
		appendTime:    b.MaxTimestamp,
		logAppendTime: b.LogAppendTime(),
		err:           err,
	}
	if err == nil && b.Count < 0 {
		it.err = fmt.Errorf("%w: the batch announces %d records", ErrInvalidRecord, b.Count)
	}
	return it
}

// Err is nil when the iteration ended with the last record, and otherwise what
// is wrong: ErrInvalidRecord with the place, or ErrCompressed.
func (it *Iterator) Err() error { return it.err }

// Next reads the next record into r and reports whether there was one. It
// reuses the capacity of r.Headers. At the end, or when the bytes are not a
// record, it returns false and Err tells which.
func (it *Iterator) Next(r *Record) bool {
	if it.err != nil {
		return false
	}
	if it.read == it.count {
		if left := len(it.data) - it.pos; left != 0 {
			it.err = fmt.Errorf("%w: %d bytes follow the last of %d records", ErrInvalidRecord, left, it.count)
		}
		return false
	}
	size, start := varint(it.data, it.pos)
	if start < 0 {
		return it.fail("its size is cut off or malformed, of %d records announced", it.count)
	}
	if size < 0 || int(size) > len(it.data)-start {
		return it.fail("its size is %d, %d bytes are left", size, len(it.data)-start)
	}
	end := start + int(size)
	if !it.body(r, it.data[start:end:end]) {
		return false
	}
	it.pos = end
	it.read++
	return true
}

// body decodes a record whose bytes are exactly b.
func (it *Iterator) body(r *Record, b []byte) bool {
	// The first byte is the record's own attributes, which have no use yet.
	timestampDelta, i := varlong(b, min(1, len(b)))
	offsetDelta, i := varint(b, i)
	if i < 0 {
		return it.fail("its timestamp or offset is cut off or malformed")
	}
	it.offsetDelta = offsetDelta
	r.Offset = it.baseOffset + int64(offsetDelta)
	if r.Timestamp = it.baseTimestamp + timestampDelta; it.logAppendTime {
		r.Timestamp = it.appendTime
	}
	if r.Key, i = field(b, i); i < 0 {
		return it.fail("its key exceeds it")
	}
	if r.Value, i = field(b, i); i < 0 {
		return it.fail("its value exceeds it")
	}
	headers, i := varint(b, i)
	r.Headers = r.Headers[:0]
	if i < 0 || headers < 0 || int(headers) > len(b)-i {
		return it.fail("its header count is %d", headers)
	}
	if headers > MaxHeaders {
		return it.fail("it has %d headers, more than %d", headers, MaxHeaders)
	}
	if headers > 0 {
		if i = it.headers(r, b, i, int(headers)); i < 0 {
			return false
		}
	}
	if i != len(b) {
		return it.fail("%d bytes follow its headers", len(b)-i)
	}
	return true
}

// headers decodes n headers at b[i:] and returns the index behind them.
func (it *Iterator) headers(r *Record, b []byte, i, n int) int {
	for h := range n {
		size, start := varint(b, i)
		if start < 0 || size < 0 || int(size) > len(b)-start {
			it.fail("header %d has a null, malformed or too long name", h)
			return -1
		}
		end := start + int(size)
		value, next := field(b, end)
		if next < 0 {
			it.fail("header %d has a value that exceeds the record", h)
			return -1
		}
		if !it.skipHeaders {
			r.Headers = append(r.Headers, Header{Key: view(b[start:end]), Value: value})
		}
		i = next
	}
	return i
}

func (it *Iterator) fail(format string, args ...any) bool {
	it.err = fmt.Errorf("%w: record %d: %s", ErrInvalidRecord, it.read, fmt.Sprintf(format, args...))
	return false
}

// field reads bytes behind their varint length at b[i]; any negative length is
// null, as Kafka reads it. The index behind them is -1 when they exceed b.
func field(b []byte, i int) (value []byte, next int) {
	size, start := varint(b, i)
	if start < 0 {
		return nil, -1
	}
	if size < 0 {
		return nil, start
	}
	if int(size) > len(b)-start {
		return nil, -1
	}
	end := start + int(size)
	return b[start:end:end], end
}

// view is b as a string without a copy; b must not change while it is in use.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
