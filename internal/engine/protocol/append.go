package protocol

import (
	"encoding/binary"
	"math"
)

// AppendU32 appends a 32-bit integer.
func AppendU32(dst []byte, v uint32) []byte { return binary.LittleEndian.AppendUint32(dst, v) }

// AppendU64 appends a 64-bit integer.
func AppendU64(dst []byte, v uint64) []byte { return binary.LittleEndian.AppendUint64(dst, v) }

// AppendF32 appends a 32-bit floating-point number.
func AppendF32(dst []byte, v float32) []byte {
	return binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
}

// AppendName appends a name of at most 255 bytes behind its length byte.
func AppendName(dst []byte, name string) []byte {
	dst = append(dst, uint8(len(name)))
	return append(dst, name...)
}

// AppendText appends a text behind its 32-bit length.
func AppendText(dst []byte, text string) []byte {
	dst = AppendU32(dst, uint32(len(text)))
	return append(dst, text...)
}

// Stream is a stream's record.
type Stream struct {
	ID        uint32
	CreatedAt uint64 // µs
	Topics    uint32
	Bytes     uint64
	Messages  uint64
	Name      string
}

// Append appends the record.
func (s *Stream) Append(dst []byte) []byte {
	dst = AppendU32(dst, s.ID)
	dst = AppendU64(dst, s.CreatedAt)
	dst = AppendU32(dst, s.Topics)
	dst = AppendU64(dst, s.Bytes)
	dst = AppendU64(dst, s.Messages)
	return AppendName(dst, s.Name)
}

// Topic is a topic's record.
type Topic struct {
	ID          uint32
	CreatedAt   uint64 // µs
	Partitions  uint32
	Expiry      uint64 // µs, Never for none
	Compression uint8
	MaxSize     uint64 // bytes, Never for none
	Replication uint8
	Bytes       uint64
	Messages    uint64
	Name        string
}

// Append appends the record.
func (t *Topic) Append(dst []byte) []byte {
	dst = AppendU32(dst, t.ID)
	dst = AppendU64(dst, t.CreatedAt)
	dst = AppendU32(dst, t.Partitions)
	dst = AppendU64(dst, t.Expiry)
	dst = append(dst, t.Compression)
	dst = AppendU64(dst, t.MaxSize)
	dst = append(dst, t.Replication)
	dst = AppendU64(dst, t.Bytes)
	dst = AppendU64(dst, t.Messages)
	return AppendName(dst, t.Name)
}

// Partition is a partition's record.
type Partition struct {
	ID            uint32
	CreatedAt     uint64 // µs
	Segments      uint32
	CurrentOffset uint64
	Bytes         uint64
	Messages      uint64
}

// Append appends the record.
func (p *Partition) Append(dst []byte) []byte {
	dst = AppendU32(dst, p.ID)
	dst = AppendU64(dst, p.CreatedAt)
	dst = AppendU32(dst, p.Segments)
	dst = AppendU64(dst, p.CurrentOffset)
	dst = AppendU64(dst, p.Bytes)
	return AppendU64(dst, p.Messages)
}

// Group is a consumer group's record.
type Group struct {
	ID         uint32
	Partitions uint32
	Members    uint32
	Name       string
}

// Append appends the record.
func (g *Group) Append(dst []byte) []byte {
	dst = AppendU32(dst, g.ID)
	dst = AppendU32(dst, g.Partitions)
	dst = AppendU32(dst, g.Members)
	return AppendName(dst, g.Name)
}
