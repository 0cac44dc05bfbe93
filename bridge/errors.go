package bridge

import (
	"context"
	"errors"

	"kafka-iggy-bridge/internal/errorcode"
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
	{ErrOutcomeUnknown, errorcode.RequestTimedOut, errorcode.RequestTimedOut, errorcode.RequestTimedOut, errorcode.RequestTimedOut},
	{ErrLogChanged, errorcode.NotLeaderOrFollower, errorcode.LeaderNotAvailable, errorcode.NotController, errorcode.NotCoordinator},
	{ErrClosed, errorcode.NotLeaderOrFollower, errorcode.LeaderNotAvailable, errorcode.NotController, errorcode.CoordinatorNotAvailable},
	{ErrUnavailable, errorcode.NotLeaderOrFollower, errorcode.LeaderNotAvailable, errorcode.NotController, errorcode.CoordinatorNotAvailable},
	{ErrNotReady, errorcode.NotLeaderOrFollower, errorcode.LeaderNotAvailable, errorcode.NotController, errorcode.CoordinatorLoadInProgress},
	{ErrTimeout, errorcode.NotLeaderOrFollower, errorcode.LeaderNotAvailable, errorcode.RequestTimedOut, errorcode.CoordinatorNotAvailable},
	{context.DeadlineExceeded, errorcode.NotLeaderOrFollower, errorcode.LeaderNotAvailable, errorcode.RequestTimedOut, errorcode.CoordinatorNotAvailable},
	{context.Canceled, errorcode.NotLeaderOrFollower, errorcode.LeaderNotAvailable, errorcode.RequestTimedOut, errorcode.CoordinatorNotAvailable},
	{ErrStorage, errorcode.KafkaStorageError, errorcode.LeaderNotAvailable, errorcode.KafkaStorageError, errorcode.CoordinatorNotAvailable},
	// Answers that stay.
	{ErrTopicIDNotFound, errorcode.UnknownTopicID, errorcode.UnknownTopicID, errorcode.UnknownTopicID, errorcode.UnknownTopicID},
	{ErrTopicNotFound, errorcode.UnknownTopicOrPartition, errorcode.UnknownTopicOrPartition, errorcode.UnknownTopicOrPartition, errorcode.UnknownTopicOrPartition},
	{ErrPartitionNotFound, errorcode.UnknownTopicOrPartition, errorcode.UnknownTopicOrPartition, errorcode.UnknownTopicOrPartition, errorcode.UnknownTopicOrPartition},
	{ErrOffsetOutOfRange, errorcode.OffsetOutOfRange, errorcode.OffsetOutOfRange, errorcode.OffsetOutOfRange, errorcode.OffsetOutOfRange},
	{ErrRecordTooLarge, errorcode.MessageTooLarge, errorcode.MessageTooLarge, errorcode.MessageTooLarge, errorcode.MessageTooLarge},
	{ErrCorruptBatch, errorcode.CorruptMessage, errorcode.CorruptMessage, errorcode.CorruptMessage, errorcode.CorruptMessage},
	{producers.ErrSequence, errorcode.OutOfOrderSequenceNumber, errorcode.OutOfOrderSequenceNumber, errorcode.OutOfOrderSequenceNumber, errorcode.OutOfOrderSequenceNumber},
	{producers.ErrEpoch, errorcode.InvalidProducerEpoch, errorcode.InvalidProducerEpoch, errorcode.InvalidProducerEpoch, errorcode.InvalidProducerEpoch},
	{producers.ErrTransactionState, errorcode.InvalidTxnState, errorcode.InvalidTxnState, errorcode.InvalidTxnState, errorcode.InvalidTxnState},
	{producers.ErrCoordinatorEpoch, errorcode.TransactionCoordinatorFenced, errorcode.TransactionCoordinatorFenced, errorcode.TransactionCoordinatorFenced, errorcode.TransactionCoordinatorFenced},
	{ErrUnauthorized, errorcode.TopicAuthorizationFailed, errorcode.TopicAuthorizationFailed, errorcode.TopicAuthorizationFailed, errorcode.TopicAuthorizationFailed},
	{ErrTopicExists, errorcode.TopicAlreadyExists, errorcode.TopicAlreadyExists, errorcode.TopicAlreadyExists, errorcode.TopicAlreadyExists},
	{ErrInvalidTopicName, errorcode.InvalidTopic, errorcode.InvalidTopic, errorcode.InvalidTopic, errorcode.InvalidTopic},
	{ErrInvalidPartitions, errorcode.InvalidPartitions, errorcode.InvalidPartitions, errorcode.InvalidPartitions, errorcode.InvalidPartitions},
	{ErrInvalidConfig, errorcode.InvalidConfig, errorcode.InvalidConfig, errorcode.InvalidConfig, errorcode.InvalidConfig},
	{ErrTooManyTopics, errorcode.PolicyViolation, errorcode.PolicyViolation, errorcode.PolicyViolation, errorcode.PolicyViolation},
}

// ErrorCode is Kafka's code for an error of this package in a partition's row;
// 0 for nil, UNKNOWN_SERVER_ERROR for errors of elsewhere.
func ErrorCode(err error) int16 { return ErrorCodeIn(ScopePartition, err) }

// ErrorCodeIn is Kafka's code for an error of this package in an answer of
// that scope; 0 for nil, UNKNOWN_SERVER_ERROR for errors of elsewhere.
func ErrorCodeIn(scope Scope, err error) int16 {
	if err == nil {
		return errorcode.None
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
	return errorcode.UnknownServerError
}
