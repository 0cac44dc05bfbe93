package groups

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/records"
)

// The types of records in __consumer_offsets: the first two bytes of a key. They
// are the apiKey of the coordinator-key schemas; 0 is an offset commit of old
// times, with the same key as 1.
const (
	recordLegacyOffsetCommit       int16 = 0
	recordOffsetCommit             int16 = 1
	recordGroupMetadata            int16 = 2
	recordConsumerGroup            int16 = 3
	recordConsumerPartitions       int16 = 4 // not written since 4.1: the group's metadata hash says it
	recordConsumerMember           int16 = 5
	recordConsumerTarget           int16 = 6
	recordConsumerTargetMember     int16 = 7
	recordConsumerMemberAssignment int16 = 8
	recordConsumerRegex            int16 = 16
)

// errUnknownRecord is what Replay says of records of types that this release
// does not know.
var errUnknownRecord = errors.New("unknown type of record")

// newRecord encodes a record: the key in version 0 behind its type, the value
// behind its version.
func newRecord(at time.Time, keyType int16, key generated.Message, valueVersion int16, value generated.Message) records.Record {
	r := tombstone(at, keyType, key)
	r.Value = mustAppend(binary.BigEndian.AppendUint16(nil, uint16(valueVersion)), value, valueVersion)
	return r
}

// tombstone encodes the record that deletes a key.
func tombstone(at time.Time, keyType int16, key generated.Message) records.Record {
	return records.Record{
		Timestamp: at.UnixMilli(),
		Key:       mustAppend(binary.BigEndian.AppendUint16(nil, uint16(keyType)), key, 0),
	}
}

// mustAppend encodes a message of ours. It cannot fail: what would not fit into
// a message (a string beyond 32,767 bytes) came out of a request, where it fit.
func mustAppend(dst []byte, m generated.Message, version int16) []byte {
	b, err := m.Append(dst, version)
	if err != nil {
		panic(fmt.Sprintf("groups: a record cannot be encoded: %v", err))
	}
	return b
}

// Replay applies a record of the log.
func (s *Shard) Replay(r *records.Record) error {
	if len(r.Key) < 2 {
		return fmt.Errorf("%w: a key of %d bytes", errUnknownRecord, len(r.Key))
	}
	switch keyType := int16(binary.BigEndian.Uint16(r.Key)); keyType {
	case recordLegacyOffsetCommit, recordOffsetCommit:
		return replay(r, s.replayOffsetCommit)
	case recordGroupMetadata:
		return replay(r, s.replayGroupMetadata)
	case recordConsumerGroup:
		return replay(r, s.replayConsumerGroup)
	case recordConsumerPartitions:
		return nil
	case recordConsumerMember:
		return replay(r, s.replayConsumerMember)
	case recordConsumerTarget:
		return replay(r, s.replayConsumerTarget)
	case recordConsumerTargetMember:
		return replay(r, s.replayConsumerTargetMember)
	case recordConsumerMemberAssignment:
		return replay(r, s.replayConsumerMemberAssignment)
	case recordConsumerRegex:
		return replay(r, s.replayConsumerRegex)
	case recordPendingOffset:
		return s.replayPendingOffset(r)
	default:
		return fmt.Errorf("%w: %d", errUnknownRecord, keyType)
	}
}

// message is a pointer to a generated message.
type message[T any] interface {
	*T
	Decode(version int16, frame []byte) ([]byte, error)
}

// replay decodes a record and applies it; the value is nil for a tombstone.
// Strings and bytes of both are views of the record.
func replay[K, V any, PK message[K], PV message[V]](r *records.Record, apply func(*K, *V)) error {
	var key K
	if _, err := PK(&key).Decode(0, r.Key[2:]); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	if r.Value == nil {
		apply(&key, nil)
		return nil
	}
	if len(r.Value) < 2 {
		return fmt.Errorf("%w: a value of %d bytes", errUnknownRecord, len(r.Value))
	}
	var value V
	if _, err := PV(&value).Decode(int16(binary.BigEndian.Uint16(r.Value)), r.Value[2:]); err != nil {
		return fmt.Errorf("value: %w", err)
	}
	apply(&key, &value)
	return nil
}
