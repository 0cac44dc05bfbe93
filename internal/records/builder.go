package records

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Errors of Builder.
var (
	// ErrNoRecords says that a batch without records was to be finished.
	ErrNoRecords = errors.New("record batch has no records")
	// ErrBatchOverflow says that a record does not fit: the batch would exceed
	// what its int32 fields can say.
	ErrBatchOverflow = errors.New("record does not fit into the record batch")
	// ErrOffsetOrder says that a record's offset is not above the one before.
	ErrOffsetOrder = errors.New("record offsets must ascend within a batch")
)

// BatchSpec is what a batch's header says besides its records. Its zero value
// is an uncompressed batch at offset 0 and leader epoch 0, with create times
// and without a producer.
type BatchSpec struct {
	// BaseOffset is the offset of the first record.
	BaseOffset int64
	// LeaderEpoch is the partition's leader epoch; producers send -1.
	LeaderEpoch int32
	// Codec compresses the records.
	Codec Codec
	// LogAppendTime makes AppendTime, in ms, every record's timestamp.
	LogAppendTime bool
	AppendTime    int64
	// Transactional and Control set the attributes of the same names.
	Transactional, Control bool
	// HasProducer says that the next three count; without it they are -1.
	HasProducer   bool
	ProducerID    int64
	ProducerEpoch int16
	BaseSequence  int32
}

func (s *BatchSpec) attributes() uint16 {
	a := uint16(s.Codec) & attrCodecMask
	if s.LogAppendTime {
		a |= attrLogAppendTime
	}
	if s.Transactional {
		a |= attrTransactional
	}
	if s.Control {
		a |= attrControl
	}
	return a
}

// Builder writes record batches, one after the other, each appended to a
// buffer of the caller's. The zero value is ready for Reset. A Builder reused
// on a buffer that is large enough allocates nothing; it is not safe for
// concurrent use.
type Builder struct {
	spec  BatchSpec
	buf   []byte
	start int // of the batch in buf

	count         int32
	nextOffset    int64
	baseTimestamp int64
	maxTimestamp  int64
}

// Reset begins a batch that is appended to dst, and forgets the one before.
func (b *Builder) Reset(dst []byte, spec BatchSpec) {
	*b = Builder{spec: spec, start: len(dst), nextOffset: spec.BaseOffset}
	b.buf = slices.Grow(dst, HeaderSize)[:len(dst)+HeaderSize]
}

// Count is the number of records appended since Reset.
func (b *Builder) Count() int { return int(b.count) }

// Size is the batch's size in bytes so far, header included, uncompressed.
func (b *Builder) Size() int { return len(b.buf) - b.start }

// NextOffset is the offset that Append gives to the next record.
func (b *Builder) NextOffset() int64 { return b.nextOffset }

// SizeWith is what Size would be after the same call of Append, so that a
// caller can cut a batch before it exceeds a limit.
func (b *Builder) SizeWith(timestamp int64, key, value []byte, headers []Header) int {
	body := b.bodySize(timestamp, b.nextOffset, key, value, headers)
	return b.Size() + varintLen(int64(body)) + body
}

// Append adds a record at the next offset. Null and empty are kept apart: a
// nil key, value or header value is null. Headers keep order and repeats. The
// arguments are copied. The error is ErrBatchOverflow; the batch is then
// unchanged.
func (b *Builder) Append(timestamp int64, key, value []byte, headers []Header) error {
	return b.AppendAt(b.nextOffset, timestamp, key, value, headers)
}

// AppendAt is Append with an offset, which may leave a gap but must not lie
// before NextOffset, else the error is ErrOffsetOrder.
func (b *Builder) AppendAt(offset, timestamp int64, key, value []byte, headers []Header) error {
	if offset < b.nextOffset {
		return fmt.Errorf("%w: %d, expected at least %d", ErrOffsetOrder, offset, b.nextOffset)
	}
	// A difference that overflows is negative as an unsigned number is huge.
	if uint64(offset)-uint64(b.spec.BaseOffset) > math.MaxInt32 {
		return fmt.Errorf("%w: offset %d is too far from %d", ErrBatchOverflow, offset, b.spec.BaseOffset)
	}
	body := b.bodySize(timestamp, offset, key, value, headers)
	if size := b.Size() + varintLen(int64(body)) + body; size-logOverhead > math.MaxInt32 {
		return fmt.Errorf("%w: %d bytes", ErrBatchOverflow, size)
	}
	if b.count == 0 {
		b.baseTimestamp, b.maxTimestamp = timestamp, timestamp
	}
	b.maxTimestamp = max(b.maxTimestamp, timestamp)

	buf := slices.Grow(b.buf, maxVarintLen+body)
	buf = appendVarint(buf, int64(body))
	buf = append(buf, 0) // attributes: none are defined
	buf = appendVarint(buf, timestamp-b.baseTimestamp)
	buf = appendVarint(buf, offset-b.spec.BaseOffset)
	buf = appendField(buf, key)
	buf = appendField(buf, value)
	buf = appendVarint(buf, int64(len(headers)))
	for i := range headers {
		buf = appendVarint(buf, int64(len(headers[i].Key)))
		buf = append(buf, headers[i].Key...)
		buf = appendField(buf, headers[i].Value)
	}
	b.buf = buf
	b.count++
	b.nextOffset = offset + 1
	return nil
}

// bodySize is a record's size behind its own length.
func (b *Builder) bodySize(timestamp, offset int64, key, value []byte, headers []Header) int {
	delta := timestamp - b.baseTimestamp
	if b.count == 0 {
		delta = 0
	}
	n := 1 + varintLen(delta) + varintLen(offset-b.spec.BaseOffset) +
		fieldSize(key) + fieldSize(value) + varintLen(int64(len(headers)))
	for i := range headers {
		name := len(headers[i].Key)
		n += varintLen(int64(name)) + name + fieldSize(headers[i].Value)
	}
	return n
}

func fieldSize(b []byte) int {
	if b == nil {
		return 1
	}
	return varintLen(int64(len(b))) + len(b)
}

func appendField(dst, b []byte) []byte {
	if b == nil {
		return append(dst, 1) // -1 in zigzag
	}
	return append(appendVarint(dst, int64(len(b))), b...)
}

// Finish compresses the records, writes the header and returns the buffer
// given to Reset with the batch appended. The Builder keeps no hold of it and
// needs Reset before it is used again. Errors are ErrNoRecords,
// ErrUnknownCodec and those of the codec.
func (b *Builder) Finish() ([]byte, error) {
	buf := b.buf
	b.buf = nil
	if b.count == 0 {
		return nil, ErrNoRecords
	}
	if b.spec.Codec != CodecNone {
		var err error
		if buf, err = compressTail(buf, b.start+HeaderSize, b.spec.Codec); err != nil {
			return nil, err
		}
	}
	raw := buf[b.start:]
	if len(raw)-logOverhead > math.MaxInt32 {
		return nil, fmt.Errorf("%w: %d bytes compressed", ErrBatchOverflow, len(raw))
	}
	b.header(raw)
	return buf, nil
}

// compressTail replaces buf[from:] by its compressed form.
func compressTail(buf []byte, from int, c Codec) ([]byte, error) {
	plain := buf[from:]
	scratch := getBuffer(len(plain) + len(plain)/8 + 256)
	defer scratch.release()
	out, err := AppendCompressed(scratch.b, c, plain)
	if err != nil {
		return nil, err
	}
	scratch.b = out
	return append(buf[:from], out...), nil
}

func (b *Builder) header(raw []byte) {
	be, s := binary.BigEndian, &b.spec
	maxTimestamp := b.maxTimestamp
	if s.LogAppendTime {
		maxTimestamp = s.AppendTime
	}
	id, epoch, sequence := NoProducerID, NoProducerEpoch, NoSequence
	if s.HasProducer {
		id, epoch, sequence = s.ProducerID, s.ProducerEpoch, s.BaseSequence
	}
	be.PutUint64(raw[posBaseOffset:], uint64(s.BaseOffset))
	be.PutUint32(raw[posLength:], uint32(len(raw)-logOverhead))
	be.PutUint32(raw[posLeaderEpoch:], uint32(s.LeaderEpoch))
	raw[posMagic] = Magic2
	be.PutUint16(raw[posAttributes:], s.attributes())
	be.PutUint32(raw[posLastOffsetDelta:], uint32(b.nextOffset-1-s.BaseOffset))
	be.PutUint64(raw[posBaseTimestamp:], uint64(b.baseTimestamp))
	be.PutUint64(raw[posMaxTimestamp:], uint64(maxTimestamp))
	be.PutUint64(raw[posProducerID:], uint64(id))
	be.PutUint16(raw[posProducerEpoch:], uint16(epoch))
	be.PutUint32(raw[posBaseSequence:], uint32(sequence))
	be.PutUint32(raw[posCount:], uint32(b.count))
	be.PutUint32(raw[posCRC:], checksum(raw))
}
