package protocol

import (
	"encoding/binary"
	"unicode/utf8"
)

// Reader takes a request's fields apart. The first failure sticks: it is what Err
// returns, and every later read gives zero values.
type Reader struct {
	b   []byte
	err error
}

// NewReader reads the payload b; what it returns are views of b.
func NewReader(b []byte) Reader { return Reader{b: b} }

// Err returns the status of the first failure, nil when there was none.
func (r *Reader) Err() error { return r.err }

// Rest returns what has not been read.
func (r *Reader) Rest() []byte { return r.b }

// Fail records a failure found by the caller.
func (r *Reader) Fail(s Status) {
	if r.err == nil {
		r.err = s
		r.b = nil
	}
}

// Bytes reads n bytes.
func (r *Reader) Bytes(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.Fail(ErrInvalidCommand)
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

// U8 reads one byte.
func (r *Reader) U8() uint8 {
	if b := r.Bytes(1); b != nil {
		return b[0]
	}
	return 0
}

// U32 reads a 32-bit integer.
func (r *Reader) U32() uint32 {
	if b := r.Bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// U64 reads a 64-bit integer.
func (r *Reader) U64() uint64 {
	if b := r.Bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// Name reads a name: a length byte and 1 to 255 bytes of UTF-8.
func (r *Reader) Name() string {
	b := r.Bytes(int(r.U8()))
	if r.err != nil {
		return ""
	}
	if len(b) == 0 {
		r.Fail(ErrInvalidFormat)
		return ""
	}
	return r.text(b)
}

// ShortText reads a length byte and that many bytes of UTF-8, possibly none.
func (r *Reader) ShortText() string { return r.text(r.Bytes(int(r.U8()))) }

// LongText reads a 32-bit length and that many bytes of UTF-8, possibly none.
func (r *Reader) LongText() string {
	n := r.U32()
	if uint64(n) > uint64(len(r.b)) {
		r.Fail(ErrInvalidCommand)
		return ""
	}
	return r.text(r.Bytes(int(n)))
}

func (r *Reader) text(b []byte) string {
	if !utf8.Valid(b) {
		r.Fail(ErrInvalidCommand)
		return ""
	}
	return string(b)
}

// ID names a stream, topic, group or user, by number or by name.
type ID struct {
	Name   []byte // set when the identifier is a name; a view of the request
	Number uint32
}

// Named reports whether the identifier is a name.
func (id ID) Named() bool { return id.Name != nil }

// ID reads an identifier.
func (r *Reader) ID() ID {
	kind := r.U8()
	value := r.Bytes(int(r.U8()))
	switch {
	case r.err != nil:
		return ID{}
	case kind == 1:
		if len(value) != 4 {
			r.Fail(ErrInvalidFormat)
			return ID{}
		}
		return ID{Number: binary.LittleEndian.Uint32(value)}
	case kind == 2:
		if len(value) == 0 {
			r.Fail(ErrInvalidFormat)
			return ID{}
		}
		if !utf8.Valid(value) {
			r.Fail(ErrInvalidCommand)
			return ID{}
		}
		return ID{Name: value}
	}
	r.Fail(ErrInvalidCommand)
	return ID{}
}

// Consumer says who reads: a single consumer or a group.
type Consumer struct {
	Group bool
	ID    ID
}

// SingleID is the number that a single consumer's offsets are kept under: a name is
// hashed into the same 32 bits.
func (c Consumer) SingleID() uint32 {
	if c.ID.Named() {
		return XXH32(c.ID.Name)
	}
	return c.ID.Number
}

// Consumer reads a consumer.
func (r *Reader) Consumer() Consumer {
	kind := r.U8()
	if r.err == nil && kind != 1 && kind != 2 {
		r.Fail(ErrInvalidCommand)
	}
	return Consumer{Group: kind == 2, ID: r.ID()}
}

// PartitionOption reads a partition id that may be left out.
func (r *Reader) PartitionOption() (id uint32, present bool) {
	flag := r.U8()
	id = r.U32()
	return id, flag == 1
}

// StrategyKind is how a poll finds its first message.
type StrategyKind uint8

// The strategies.
const (
	ByOffset    StrategyKind = 1
	ByTimestamp StrategyKind = 2
	First       StrategyKind = 3
	Last        StrategyKind = 4
	Next        StrategyKind = 5
)

// Strategy reads a polling strategy and its value.
func (r *Reader) Strategy() (StrategyKind, uint64) {
	kind := r.U8()
	value := r.U64()
	if r.err == nil && (kind < uint8(ByOffset) || kind > uint8(Next)) {
		r.Fail(ErrInvalidCommand)
	}
	return StrategyKind(kind), value
}

// PartitioningKind is how a send chooses its partition.
type PartitioningKind uint8

// The kinds of partitioning.
const (
	Balanced     PartitioningKind = 1
	ByPartition  PartitioningKind = 2
	ByMessageKey PartitioningKind = 3
)

// Partitioning is a send's choice of a partition.
type Partitioning struct {
	Kind      PartitioningKind
	Partition uint32
	Key       []byte // a view of the request
}

// Partitioning reads a send's choice of a partition.
func (r *Reader) Partitioning() Partitioning {
	p := Partitioning{Kind: PartitioningKind(r.U8())}
	value := r.Bytes(int(r.U8()))
	switch {
	case r.err != nil:
	case p.Kind == Balanced && len(value) == 0:
	case p.Kind == ByPartition && len(value) == 4:
		p.Partition = binary.LittleEndian.Uint32(value)
	case p.Kind == ByMessageKey:
		p.Key = value
	default:
		r.Fail(ErrInvalidCommand)
	}
	return p
}
