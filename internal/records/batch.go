package records

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// Where the fields of a batch header lie, in bytes from the batch's start. The
// CRC covers everything behind it, so base offset and leader epoch may change
// without it.
const (
	posBaseOffset      = 0
	posLength          = 8
	posLeaderEpoch     = 12
	posMagic           = 16
	posCRC             = 17
	posAttributes      = 21
	posLastOffsetDelta = 23
	posBaseTimestamp   = 27
	posMaxTimestamp    = 35
	posProducerID      = 43
	posProducerEpoch   = 51
	posBaseSequence    = 53
	posCount           = 57

	// logOverhead is what the length field does not count: base offset and length.
	logOverhead = 12
	// minLegacyLength is the length field of the smallest message of any magic;
	// anything below cannot be a batch of whatever version.
	minLegacyLength = 14
)

// HeaderSize is the size in bytes of a batch without records.
const HeaderSize = 61

// Magic2 is the format version this package reads and writes.
const Magic2 = 2

// The bits of a batch's attributes. Bit 6, the delete horizon of KIP-534, and
// the bits above it belong to the broker's log cleaner or are unused.
const (
	attrCodecMask     = 0x07
	attrLogAppendTime = 0x08
	attrTransactional = 0x10
	attrControl       = 0x20
	attrDeleteHorizon = 0x40
)

// What a batch header holds when it has no producer, sequence or leader epoch.
const (
	NoProducerID    int64 = -1
	NoProducerEpoch int16 = -1
	NoSequence      int32 = -1
	NoLeaderEpoch   int32 = -1
	NoTimestamp     int64 = -1
)

// Errors of Parse and of the methods that read a batch.
var (
	// ErrTruncated says that bytes end within a batch.
	ErrTruncated = errors.New("record batch is truncated")
	// ErrBatchLength says that a batch's own length is smaller than its header.
	ErrBatchLength = errors.New("record batch has an impossible length")
	// ErrMagic says that a batch has a format version other than 2.
	ErrMagic = errors.New("record batch has an unsupported magic")
	// ErrCRC says that a batch's checksum does not match its bytes.
	ErrCRC = errors.New("record batch has a wrong checksum")
	// ErrInvalidRecord says that a batch's records are not what its header
	// announces or do not have a record's form.
	ErrInvalidRecord = errors.New("record batch holds an invalid record")
	// ErrCompressed says that records were asked for before Decompress.
	ErrCompressed = errors.New("record batch is not decompressed")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Batch is a record batch of magic 2: its header, decoded, and its bytes. A
// Batch is a view of Raw and is not safe for concurrent changes.
type Batch struct {
	// BaseOffset is the offset of the first record, 0 from a producer.
	BaseOffset int64
	// Length counts the bytes behind the length field: len(Raw) - 12.
	Length int32
	// LeaderEpoch is the leader epoch that appended the batch, or -1.
	LeaderEpoch int32
	// Magic is always 2.
	Magic int8
	// CRC is the CRC-32C over Raw[21:], as the header has it.
	CRC uint32
	// Attributes are the bits that Codec, IsTransactional and so on read.
	Attributes int16
	// LastOffsetDelta is the last record's offset less BaseOffset.
	LastOffsetDelta int32
	// BaseTimestamp is what records' timestamp deltas count from, in ms.
	BaseTimestamp int64
	// MaxTimestamp is the greatest timestamp in ms as the header has it, or the
	// append time when LogAppendTime says so.
	MaxTimestamp int64
	// ProducerID, ProducerEpoch and BaseSequence are -1 without idempotence.
	ProducerID    int64
	ProducerEpoch int16
	BaseSequence  int32
	// Count is the number of records that the header announces.
	Count int32
	// Raw is the whole batch.
	Raw []byte

	records []byte  // uncompressed records, nil before Decompress
	buffer  *buffer // what records lies in, when it came from a pool
	pooled  bool    // the Batch itself came from batchPool
}

// Parse decodes the header of the first batch in b and returns what follows
// it. It checks that the batch is whole and of magic 2, but neither its CRC
// nor its records. Errors are ErrTruncated, ErrBatchLength and ErrMagic.
func Parse(b []byte) (batch Batch, rest []byte, err error) {
	if len(b) <= posMagic {
		return Batch{}, nil, fmt.Errorf("%w: %d bytes", ErrTruncated, len(b))
	}
	// The magic comes first: the lengths below hold for magic 2 only.
	if magic := int8(b[posMagic]); magic != Magic2 {
		return Batch{}, nil, fmt.Errorf("%w: %d", ErrMagic, magic)
	}
	length := int32(binary.BigEndian.Uint32(b[posLength:]))
	if length < HeaderSize-logOverhead {
		return Batch{}, nil, fmt.Errorf("%w: %d", ErrBatchLength, length)
	}
	if int64(length) > int64(len(b)-logOverhead) {
		return Batch{}, nil, fmt.Errorf("%w: length %d, %d bytes left", ErrTruncated, length, len(b)-logOverhead)
	}
	size := logOverhead + int(length)
	batch.decode(b[:size:size])
	return batch, b[size:], nil
}

// decode fills b from raw, which has at least a header's bytes.
func (b *Batch) decode(raw []byte) {
	be := binary.BigEndian
	b.BaseOffset = int64(be.Uint64(raw[posBaseOffset:]))
	b.Length = int32(be.Uint32(raw[posLength:]))
	b.LeaderEpoch = int32(be.Uint32(raw[posLeaderEpoch:]))
	b.Magic = int8(raw[posMagic])
	b.CRC = be.Uint32(raw[posCRC:])
	b.Attributes = int16(be.Uint16(raw[posAttributes:]))
	b.LastOffsetDelta = int32(be.Uint32(raw[posLastOffsetDelta:]))
	b.BaseTimestamp = int64(be.Uint64(raw[posBaseTimestamp:]))
	b.MaxTimestamp = int64(be.Uint64(raw[posMaxTimestamp:]))
	b.ProducerID = int64(be.Uint64(raw[posProducerID:]))
	b.ProducerEpoch = int16(be.Uint16(raw[posProducerEpoch:]))
	b.BaseSequence = int32(be.Uint32(raw[posBaseSequence:]))
	b.Count = int32(be.Uint32(raw[posCount:]))
	b.Raw = raw
}

// Codec is the compression of the batch's records. It may be one that this
// package does not know: see Codec.Known.
func (b *Batch) Codec() Codec { return Codec(b.Attributes & attrCodecMask) }

// IsTransactional reports whether the batch belongs to a transaction.
func (b *Batch) IsTransactional() bool { return b.Attributes&attrTransactional != 0 }

// IsControl reports whether the batch holds control records, such as the
// markers that end transactions, which consumers do not see.
func (b *Batch) IsControl() bool { return b.Attributes&attrControl != 0 }

// LogAppendTime reports whether every record's timestamp is MaxTimestamp, the
// time at which a broker appended the batch (KIP-32).
func (b *Batch) LogAppendTime() bool { return b.Attributes&attrLogAppendTime != 0 }

// HasProducer reports whether an idempotent producer wrote the batch.
func (b *Batch) HasProducer() bool { return b.ProducerID > NoProducerID }

// LastOffset is the offset of the last record.
func (b *Batch) LastOffset() int64 { return b.BaseOffset + int64(b.LastOffsetDelta) }

// Payload is the records as the batch carries them, compressed or not.
func (b *Batch) Payload() []byte { return b.Raw[HeaderSize:] }

// VerifyCRC returns ErrCRC when the batch's bytes do not match its checksum.
func (b *Batch) VerifyCRC() error {
	if got := checksum(b.Raw); got != b.CRC {
		return fmt.Errorf("%w: stored %d, computed %d", ErrCRC, b.CRC, got)
	}
	return nil
}

func checksum(raw []byte) uint32 { return crc32.Checksum(raw[posAttributes:], castagnoli) }

// Rebase writes base offset and leader epoch into the batch in raw, in place.
// The CRC covers neither. It panics when raw is shorter than a batch header.
func Rebase(raw []byte, baseOffset int64, leaderEpoch int32) {
	_ = raw[HeaderSize-1]
	binary.BigEndian.PutUint64(raw[posBaseOffset:], uint64(baseOffset))
	binary.BigEndian.PutUint32(raw[posLeaderEpoch:], uint32(leaderEpoch))
}

// SetLogAppendTime makes ts, in ms, the timestamp of every record of the batch
// in raw, in place: the attribute's bit, the greatest timestamp and the CRC
// change, the records do not (KIP-32). raw is one whole batch; it panics when
// raw is shorter than a batch header.
func SetLogAppendTime(raw []byte, ts int64) {
	_ = raw[HeaderSize-1]
	raw[posAttributes+1] |= attrLogAppendTime
	setMaxTimestamp(raw, ts)
}

// Rebase is the function of that name for the batch's bytes and fields.
// Records read afterwards have their new offsets.
func (b *Batch) Rebase(baseOffset int64, leaderEpoch int32) {
	Rebase(b.Raw, baseOffset, leaderEpoch)
	b.BaseOffset, b.LeaderEpoch = baseOffset, leaderEpoch
}

// SetLogAppendTime is the function of that name for the batch's bytes and
// fields. Records read afterwards have the timestamp ts, in ms.
func (b *Batch) SetLogAppendTime(ts int64) {
	SetLogAppendTime(b.Raw, ts)
	b.decode(b.Raw)
}

// SetMaxTimestamp says, in the batch's bytes and fields, that records keep the
// times at which they were created, the greatest of which is ts, in ms.
func (b *Batch) SetMaxTimestamp(ts int64) {
	b.Raw[posAttributes+1] &^= attrLogAppendTime
	setMaxTimestamp(b.Raw, ts)
	b.decode(b.Raw)
}

func setMaxTimestamp(raw []byte, ts int64) {
	binary.BigEndian.PutUint64(raw[posMaxTimestamp:], uint64(ts))
	binary.BigEndian.PutUint32(raw[posCRC:], checksum(raw))
}

// Decompress makes the batch's records readable: for an uncompressed batch
// that is nothing, otherwise they are decompressed, once, into a pooled buffer
// that Release gives back. limit bounds the decompressed size in bytes; beyond
// it the error is ErrTooLarge, and memory stays within it as AppendDecompressed
// says. Other errors are ErrUnknownCodec and ErrCorruptPayload.
func (b *Batch) Decompress(limit int) error {
	if b.records != nil || b.Codec() == CodecNone {
		return nil
	}
	buf, err := decompress(b.Codec(), b.Payload(), limit)
	if err != nil {
		return err
	}
	b.buffer, b.records = buf, buf.b
	return nil
}

// Records are the batch's records, uncompressed and still encoded. The error
// is ErrCompressed when the batch needs Decompress first.
func (b *Batch) Records() ([]byte, error) {
	switch {
	case b.records != nil:
		return b.records, nil
	case b.Codec() == CodecNone:
		return b.Payload(), nil
	}
	return nil, ErrCompressed
}

// Release gives the batch's pooled memory back. Neither the batch nor any view
// of a compressed batch's records may be used afterwards. To leave it out
// costs an allocation later and nothing else.
func (b *Batch) Release() {
	buf, pooled := b.buffer, b.pooled
	*b = Batch{}
	buf.release()
	if pooled {
		batchPool.Put(b)
	}
}
