package statemachine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/records"
)

// ErrUnknownRecord is what Replay says of records that this release does not
// know.
var ErrUnknownRecord = errors.New("unknown type of record")

// NewRecord encodes a record of an internal topic as Kafka's coordinators do: the
// key in version 0 behind its type, the value behind its version. Both have to be
// messages that can be encoded: what would not fit into one (a string beyond
// 32,767 bytes) came out of a request, where it fit.
func NewRecord(at time.Time, keyType int16, key generated.Message, valueVersion int16, value generated.Message) records.Record {
	r := Tombstone(at, keyType, key)
	r.Value = Encode(valueVersion, value, valueVersion)
	return r
}

// Tombstone encodes the record that deletes a key.
func Tombstone(at time.Time, keyType int16, key generated.Message) records.Record {
	return records.Record{Timestamp: at.UnixMilli(), Key: Encode(keyType, key, 0)}
}

// Encode encodes a message behind a number: its version, or the type of a key. See
// NewRecord for what it may be.
func Encode(prefix int16, m generated.Message, version int16) []byte {
	b, err := m.Append(binary.BigEndian.AppendUint16(nil, uint16(prefix)), version)
	if err != nil {
		panic(fmt.Sprintf("a coordinator's record cannot be encoded: %v", err))
	}
	return b
}

// KeyType is the type of a record: the first two bytes of its key. The error is
// ErrUnknownRecord.
func KeyType(r *records.Record) (int16, error) {
	if len(r.Key) < 2 {
		return 0, fmt.Errorf("%w: a key of %d bytes", ErrUnknownRecord, len(r.Key))
	}
	return int16(binary.BigEndian.Uint16(r.Key)), nil
}

// Decodable is a pointer to a generated message.
type Decodable[T any] interface {
	*T
	Decode(version int16, frame []byte) ([]byte, error)
}

// Decode decodes a record whose type is known; the value is nil for a tombstone.
// Strings and bytes of both are views of the record.
func Decode[K, V any, PK Decodable[K], PV Decodable[V]](r *records.Record) (*K, *V, error) {
	key := new(K)
	if _, err := PK(key).Decode(0, r.Key[2:]); err != nil {
		return nil, nil, fmt.Errorf("key: %w", err)
	}
	if r.Value == nil {
		return key, nil, nil
	}
	if len(r.Value) < 2 {
		return nil, nil, fmt.Errorf("%w: a value of %d bytes", ErrUnknownRecord, len(r.Value))
	}
	value := new(V)
	if _, err := PV(value).Decode(int16(binary.BigEndian.Uint16(r.Value)), r.Value[2:]); err != nil {
		return nil, nil, fmt.Errorf("value: %w", err)
	}
	return key, value, nil
}
