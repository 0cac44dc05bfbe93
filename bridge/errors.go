package bridge

import (
	"context"
	"errors"

	"kafka-iggy-bridge/internal/producers"
)

// Errors on which callers decide. Most come wrapped, with what happened.
var (
	// ErrClosed says that the bridge is closed or was not started.
	ErrClosed = errors.New("the bridge is closed")
	// ErrUnavailable says that Iggy cannot be reached; nothing was written.
	ErrUnavailable = errors.New("iggy is not reachable")
	// ErrNotReady says that the internal state is not loaded yet.
	ErrNotReady = errors.New("the internal state is not loaded")
	// ErrOutcomeUnknown says that an append may or may not have happened, and
	// that it could not be found out in time.
	ErrOutcomeUnknown = errors.New("the outcome of the append is unknown")
	// ErrTimeout says that Iggy did not answer in time.
	ErrTimeout = errors.New("iggy did not answer in time")
	// ErrStorage says that Iggy answered, but not as a sound log would: holes,
	// messages that vanished, an error of its own.
	ErrStorage = errors.New("iggy failed")
	// ErrUnauthorized says that Iggy refused the bridge's user.
	ErrUnauthorized = errors.New("iggy refused the user")
	// ErrTopicNotFound says that there is no topic of that name.
	ErrTopicNotFound = errors.New("topic not found")
	// ErrTopicIDNotFound says that there is no topic of that id.
	ErrTopicIDNotFound = errors.New("topic id not found")
	// ErrPartitionNotFound says that the topic has no such partition.
	ErrPartitionNotFound = errors.New("partition not found")
	// ErrTopicExists says that a topic of that name exists already.
	ErrTopicExists = errors.New("topic exists already")
	// ErrInvalidTopicName says that Kafka or this bridge does not allow the name.
	ErrInvalidTopicName = errors.New("invalid topic name")
	// ErrInvalidPartitions says that the number of partitions is impossible.
	ErrInvalidPartitions = errors.New("invalid number of partitions")
	// ErrInvalidConfig says that a topic configuration is unknown or has an
	// impossible value; the text around it says which and why.
	ErrInvalidConfig = errors.New("invalid topic configuration")
	// ErrTooManyTopics says that Iggy cannot hold another stream or topic.
	ErrTooManyTopics = errors.New("iggy cannot hold more streams or topics")
	// ErrGroupNotFound says that Iggy has no consumer group of that name.
	ErrGroupNotFound = errors.New("iggy has no such consumer group")
	// ErrGroupActive says that a consumer group of Iggy's has members.
	ErrGroupActive = errors.New("the iggy consumer group has members")
	// ErrInvalidConsumer says that Iggy cannot have a consumer or group of that
	// name.
	ErrInvalidConsumer = errors.New("iggy allows no consumer of that name")
	// ErrOffsetOutOfRange says that an offset is below the log's start or above
	// its end.
	ErrOffsetOutOfRange = errors.New("offset out of range")
	// ErrRecordTooLarge says that a record exceeds what an Iggy message holds.
	ErrRecordTooLarge = errors.New("record is too large for an iggy message")
	// ErrLogChanged says that a CompactedLog is not as it was loaded: it was not
	// loaded at all, another bridge has written to it, or an earlier call failed.
	// It must be loaded anew.
	ErrLogChanged = errors.New("the log must be loaded anew")
	// ErrCorruptBatch says that a produced batch cannot be read.
	ErrCorruptBatch = errors.New("record batch cannot be read")
)

// Kafka's error codes that the bridge's errors become.
const (
	codeUnknownServerError      int16 = -1
	codeNone                    int16 = 0
	codeOffsetOutOfRange        int16 = 1
	codeCorruptMessage          int16 = 2
	codeUnknownTopicOrPartition int16 = 3
	codeLeaderNotAvailable      int16 = 5
	codeNotLeaderOrFollower     int16 = 6
	codeRequestTimedOut         int16 = 7
	codeMessageTooLarge         int16 = 10
	codeCoordinatorLoading      int16 = 14
	codeCoordinatorNotAvailable int16 = 15
	codeNotCoordinator          int16 = 16
	codeInvalidTopic            int16 = 17
	codeTopicAuthorization      int16 = 29
	codeTopicAlreadyExists      int16 = 36
	codeInvalidPartitions       int16 = 37
	codeInvalidConfig           int16 = 40
	codeNotController           int16 = 41
	codePolicyViolation         int16 = 44
	codeOutOfOrderSequence      int16 = 45
	codeInvalidProducerEpoch    int16 = 47
	codeInvalidTxnState         int16 = 48
	codeCoordinatorFenced       int16 = 52
	codeKafkaStorageError       int16 = 56
	codeUnknownTopicID          int16 = 100
)

// Scope says what kind of answer an error code goes into: the same fault makes
// clients retry by different codes in different places.
type Scope int

const (
	// ScopePartition is a partition's row in Produce, Fetch and ListOffsets.
	ScopePartition Scope = iota
	// ScopeMetadata is a topic's row in Metadata.
	ScopeMetadata
	// ScopeAdmin is a row of CreateTopics, DeleteTopics and the like.
	ScopeAdmin
	// ScopeCoordinator is an answer of the group or transaction coordinator,
	// InitProducerId among them.
	ScopeCoordinator
)

// errorCodes is the one table of errors and Kafka codes, read from the top:
// the first row that matches (errors.Is) holds. Every fault of Iggy's own
// becomes a code on which clients retry, after they have asked for metadata
// where that helps.
var errorCodes = []struct {
	err                                     error
	partition, metadata, admin, coordinator int16
}{
	// Faults that pass. NOT_LEADER_OR_FOLLOWER makes producers and consumers of
	// all clients refresh their metadata and retry; REQUEST_TIMED_OUT tells
	// producers that the append may have happened, and must not reach consumers:
	// Java's gives up on codes that Fetch does not have. Admin clients retry on
	// NOT_CONTROLLER until their own timeout, but give up on REQUEST_TIMED_OUT.
	{ErrOutcomeUnknown, codeRequestTimedOut, codeRequestTimedOut, codeRequestTimedOut, codeRequestTimedOut},
	{ErrLogChanged, codeNotLeaderOrFollower, codeLeaderNotAvailable, codeNotController, codeNotCoordinator},
	{ErrClosed, codeNotLeaderOrFollower, codeLeaderNotAvailable, codeNotController, codeCoordinatorNotAvailable},
	{ErrUnavailable, codeNotLeaderOrFollower, codeLeaderNotAvailable, codeNotController, codeCoordinatorNotAvailable},
	{ErrNotReady, codeNotLeaderOrFollower, codeLeaderNotAvailable, codeNotController, codeCoordinatorLoading},
	{ErrTimeout, codeNotLeaderOrFollower, codeLeaderNotAvailable, codeRequestTimedOut, codeCoordinatorNotAvailable},
	{context.DeadlineExceeded, codeNotLeaderOrFollower, codeLeaderNotAvailable, codeRequestTimedOut, codeCoordinatorNotAvailable},
	{context.Canceled, codeNotLeaderOrFollower, codeLeaderNotAvailable, codeRequestTimedOut, codeCoordinatorNotAvailable},
	{ErrStorage, codeKafkaStorageError, codeLeaderNotAvailable, codeKafkaStorageError, codeCoordinatorNotAvailable},
	// Answers that stay.
	{ErrTopicIDNotFound, codeUnknownTopicID, codeUnknownTopicID, codeUnknownTopicID, codeUnknownTopicID},
	{ErrTopicNotFound, codeUnknownTopicOrPartition, codeUnknownTopicOrPartition, codeUnknownTopicOrPartition, codeUnknownTopicOrPartition},
	{ErrPartitionNotFound, codeUnknownTopicOrPartition, codeUnknownTopicOrPartition, codeUnknownTopicOrPartition, codeUnknownTopicOrPartition},
	{ErrOffsetOutOfRange, codeOffsetOutOfRange, codeOffsetOutOfRange, codeOffsetOutOfRange, codeOffsetOutOfRange},
	{ErrRecordTooLarge, codeMessageTooLarge, codeMessageTooLarge, codeMessageTooLarge, codeMessageTooLarge},
	{ErrCorruptBatch, codeCorruptMessage, codeCorruptMessage, codeCorruptMessage, codeCorruptMessage},
	{producers.ErrSequence, codeOutOfOrderSequence, codeOutOfOrderSequence, codeOutOfOrderSequence, codeOutOfOrderSequence},
	{producers.ErrEpoch, codeInvalidProducerEpoch, codeInvalidProducerEpoch, codeInvalidProducerEpoch, codeInvalidProducerEpoch},
	{producers.ErrTransactionState, codeInvalidTxnState, codeInvalidTxnState, codeInvalidTxnState, codeInvalidTxnState},
	{producers.ErrCoordinatorEpoch, codeCoordinatorFenced, codeCoordinatorFenced, codeCoordinatorFenced, codeCoordinatorFenced},
	{ErrUnauthorized, codeTopicAuthorization, codeTopicAuthorization, codeTopicAuthorization, codeTopicAuthorization},
	{ErrTopicExists, codeTopicAlreadyExists, codeTopicAlreadyExists, codeTopicAlreadyExists, codeTopicAlreadyExists},
	{ErrInvalidTopicName, codeInvalidTopic, codeInvalidTopic, codeInvalidTopic, codeInvalidTopic},
	{ErrInvalidPartitions, codeInvalidPartitions, codeInvalidPartitions, codeInvalidPartitions, codeInvalidPartitions},
	{ErrInvalidConfig, codeInvalidConfig, codeInvalidConfig, codeInvalidConfig, codeInvalidConfig},
	{ErrTooManyTopics, codePolicyViolation, codePolicyViolation, codePolicyViolation, codePolicyViolation},
}

// ErrorCode is Kafka's code for an error of this package in a partition's row;
// 0 for nil, UNKNOWN_SERVER_ERROR for errors of elsewhere.
func ErrorCode(err error) int16 { return ErrorCodeIn(ScopePartition, err) }

// ErrorCodeIn is Kafka's code for an error of this package in an answer of
// that scope; 0 for nil, UNKNOWN_SERVER_ERROR for errors of elsewhere.
func ErrorCodeIn(scope Scope, err error) int16 {
	if err == nil {
		return codeNone
	}
	for i := range errorCodes {
		row := &errorCodes[i]
		if !errors.Is(err, row.err) {
			continue
		}
		switch scope {
		case ScopeMetadata:
			return row.metadata
		case ScopeAdmin:
			return row.admin
		case ScopeCoordinator:
			return row.coordinator
		default:
			return row.partition
		}
	}
	return codeUnknownServerError
}
