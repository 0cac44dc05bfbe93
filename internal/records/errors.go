package records

import (
	"errors"
	"fmt"
)

// Kind says why a produced batch is refused. Each kind is one of Kafka's error
// codes.
type Kind int8

// The kinds, with the names of Kafka's codes.
const (
	// KindCorruptMessage is CORRUPT_MESSAGE: length, magic or checksum is not
	// what a batch can have. Producers send again.
	KindCorruptMessage Kind = iota
	// KindMessageTooLarge is MESSAGE_TOO_LARGE. Java's producer splits the
	// batch and sends again.
	KindMessageTooLarge
	// KindInvalidTimestamp is INVALID_TIMESTAMP: a record's is out of bounds.
	KindInvalidTimestamp
	// KindUnsupportedCompression is UNSUPPORTED_COMPRESSION_TYPE.
	KindUnsupportedCompression
	// KindInvalidRecord is INVALID_RECORD: what the batch holds is not allowed.
	KindInvalidRecord
)

// Code is Kafka's error code.
func (k Kind) Code() int16 {
	switch k {
	case KindCorruptMessage:
		return 2
	case KindMessageTooLarge:
		return 10
	case KindInvalidTimestamp:
		return 32
	case KindUnsupportedCompression:
		return 76
	default:
		return 87
	}
}

// String is the name of Kafka's code.
func (k Kind) String() string {
	switch k {
	case KindCorruptMessage:
		return "CORRUPT_MESSAGE"
	case KindMessageTooLarge:
		return "MESSAGE_TOO_LARGE"
	case KindInvalidTimestamp:
		return "INVALID_TIMESTAMP"
	case KindUnsupportedCompression:
		return "UNSUPPORTED_COMPRESSION_TYPE"
	default:
		return "INVALID_RECORD"
	}
}

// RecordError says what is wrong with one record of a batch (KIP-467).
type RecordError struct {
	// BatchIndex is the record's position in its batch, from 0.
	BatchIndex int32
	// Message is for the producer's user.
	Message string
}

// MaxRecordErrors is how many RecordErrors a ValidationError names at most, so
// that a small batch of many bad records gets no huge answer. Kafka names all.
const MaxRecordErrors = 1000

// ValidationError says why a produced batch is refused. Nothing of the batch
// is to be stored.
type ValidationError struct {
	// Kind gives the partition's error code.
	Kind Kind
	// Message is for the producer's user. Kafka sends one with RecordErrors
	// and for a wrong length or magic; to send it always harms nobody.
	Message string
	// RecordErrors are the records to blame, in order, the first
	// MaxRecordErrors of them. They exist for missing keys and timestamps.
	RecordErrors []RecordError
	// LogStartOffset tells whether Kafka names the partition's log start
	// offset in the answer (else -1): it does once the log looked at records.
	LogStartOffset bool

	cause error
}

// Error is the kind and the message.
func (e *ValidationError) Error() string { return e.Kind.String() + ": " + e.Message }

// Unwrap is the sentinel error behind a failed reading, or nil.
func (e *ValidationError) Unwrap() error { return e.cause }

// refuse is an error found before the log looks at the batch.
func refuse(k Kind, format string, args ...any) *ValidationError {
	return &ValidationError{Kind: k, Message: fmt.Sprintf(format, args...)}
}

// refuseRecords is an error found in the log's checks.
func refuseRecords(k Kind, format string, args ...any) *ValidationError {
	e := refuse(k, format, args...)
	e.LogStartOffset = true
	return e
}

// refuseCause wraps an error of reading or decompressing records.
func refuseCause(err error) *ValidationError {
	k := KindInvalidRecord
	switch {
	case errors.Is(err, ErrTooLarge):
		k = KindMessageTooLarge
	case errors.Is(err, ErrUnknownCodec):
		k = KindUnsupportedCompression
	}
	e := refuseRecords(k, "%s", err.Error())
	e.cause = err
	return e
}
