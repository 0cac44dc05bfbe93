package groups

import (
	"fmt"

	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/statemachine"
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

// Replay applies a record of the log.
func (s *Shard) Replay(r *records.Record) error {
	keyType, err := statemachine.KeyType(r)
	if err != nil {
		return err
	}
	switch keyType {
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
		return fmt.Errorf("%w: %d", statemachine.ErrUnknownRecord, keyType)
	}
}

// replay decodes a record and applies it; the value is nil for a tombstone.
// Strings and bytes of both are views of the record.
func replay[K, V any, PK statemachine.Decodable[K], PV statemachine.Decodable[V]](r *records.Record, apply func(*K, *V)) error {
	key, value, err := statemachine.Decode[K, V, PK, PV](r)
	if err == nil {
		apply(key, value)
	}
	return err
}
