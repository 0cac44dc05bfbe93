// Package errorcode names the error codes of the Kafka protocol, all of Kafka
// 4.4.0 (org.apache.kafka.common.protocol.Errors).
package errorcode

import "strconv"

// The codes, by number. Their names are Kafka's.
const (
	UnknownServerError                     int16 = -1
	None                                   int16 = 0
	OffsetOutOfRange                       int16 = 1
	CorruptMessage                         int16 = 2
	UnknownTopicOrPartition                int16 = 3
	InvalidFetchSize                       int16 = 4
	LeaderNotAvailable                     int16 = 5
	NotLeaderOrFollower                    int16 = 6
	RequestTimedOut                        int16 = 7
	BrokerNotAvailable                     int16 = 8
	ReplicaNotAvailable                    int16 = 9
	MessageTooLarge                        int16 = 10
	StaleControllerEpoch                   int16 = 11
	OffsetMetadataTooLarge                 int16 = 12
	NetworkException                       int16 = 13
	CoordinatorLoadInProgress              int16 = 14
	CoordinatorNotAvailable                int16 = 15
	NotCoordinator                         int16 = 16
	InvalidTopic                           int16 = 17
	RecordListTooLarge                     int16 = 18
	NotEnoughReplicas                      int16 = 19
	NotEnoughReplicasAfterAppend           int16 = 20
	InvalidRequiredAcks                    int16 = 21
	IllegalGeneration                      int16 = 22
	InconsistentGroupProtocol              int16 = 23
	InvalidGroupID                         int16 = 24
	UnknownMemberID                        int16 = 25
	InvalidSessionTimeout                  int16 = 26
	RebalanceInProgress                    int16 = 27
	InvalidCommitOffsetSize                int16 = 28
	TopicAuthorizationFailed               int16 = 29
	GroupAuthorizationFailed               int16 = 30
	ClusterAuthorizationFailed             int16 = 31
	InvalidTimestamp                       int16 = 32
	UnsupportedSASLMechanism               int16 = 33
	IllegalSASLState                       int16 = 34
	UnsupportedVersion                     int16 = 35
	TopicAlreadyExists                     int16 = 36
	InvalidPartitions                      int16 = 37
	InvalidReplicationFactor               int16 = 38
	InvalidReplicaAssignment               int16 = 39
	InvalidConfig                          int16 = 40
	NotController                          int16 = 41
	InvalidRequest                         int16 = 42
	UnsupportedForMessageFormat            int16 = 43
	PolicyViolation                        int16 = 44
	OutOfOrderSequenceNumber               int16 = 45
	DuplicateSequenceNumber                int16 = 46
	InvalidProducerEpoch                   int16 = 47
	InvalidTxnState                        int16 = 48
	InvalidProducerIDMapping               int16 = 49
	InvalidTransactionTimeout              int16 = 50
	ConcurrentTransactions                 int16 = 51
	TransactionCoordinatorFenced           int16 = 52
	TransactionalIDAuthorizationFailed     int16 = 53
	SecurityDisabled                       int16 = 54
	OperationNotAttempted                  int16 = 55
	KafkaStorageError                      int16 = 56
	LogDirNotFound                         int16 = 57
	SASLAuthenticationFailed               int16 = 58
	UnknownProducerID                      int16 = 59
	ReassignmentInProgress                 int16 = 60
	DelegationTokenAuthDisabled            int16 = 61
	DelegationTokenNotFound                int16 = 62
	DelegationTokenOwnerMismatch           int16 = 63
	DelegationTokenRequestNotAllowed       int16 = 64
	DelegationTokenAuthorizationFailed     int16 = 65
	DelegationTokenExpired                 int16 = 66
	InvalidPrincipalType                   int16 = 67
	NonEmptyGroup                          int16 = 68
	GroupIDNotFound                        int16 = 69
	FetchSessionIDNotFound                 int16 = 70
	InvalidFetchSessionEpoch               int16 = 71
	ListenerNotFound                       int16 = 72
	TopicDeletionDisabled                  int16 = 73
	FencedLeaderEpoch                      int16 = 74
	UnknownLeaderEpoch                     int16 = 75
	UnsupportedCompressionType             int16 = 76
	StaleBrokerEpoch                       int16 = 77
	OffsetNotAvailable                     int16 = 78
	MemberIDRequired                       int16 = 79
	PreferredLeaderNotAvailable            int16 = 80
	GroupMaxSizeReached                    int16 = 81
	FencedInstanceID                       int16 = 82
	EligibleLeadersNotAvailable            int16 = 83
	ElectionNotNeeded                      int16 = 84
	NoReassignmentInProgress               int16 = 85
	GroupSubscribedToTopic                 int16 = 86
	InvalidRecord                          int16 = 87
	UnstableOffsetCommit                   int16 = 88
	ThrottlingQuotaExceeded                int16 = 89
	ProducerFenced                         int16 = 90
	ResourceNotFound                       int16 = 91
	DuplicateResource                      int16 = 92
	UnacceptableCredential                 int16 = 93
	InconsistentVoterSet                   int16 = 94
	InvalidUpdateVersion                   int16 = 95
	FeatureUpdateFailed                    int16 = 96
	PrincipalDeserializationFailure        int16 = 97
	SnapshotNotFound                       int16 = 98
	PositionOutOfRange                     int16 = 99
	UnknownTopicID                         int16 = 100
	DuplicateBrokerRegistration            int16 = 101
	BrokerIDNotRegistered                  int16 = 102
	InconsistentTopicID                    int16 = 103
	InconsistentClusterID                  int16 = 104
	TransactionalIDNotFound                int16 = 105
	FetchSessionTopicIDError               int16 = 106
	IneligibleReplica                      int16 = 107
	NewLeaderElected                       int16 = 108
	OffsetMovedToTieredStorage             int16 = 109
	FencedMemberEpoch                      int16 = 110
	UnreleasedInstanceID                   int16 = 111
	UnsupportedAssignor                    int16 = 112
	StaleMemberEpoch                       int16 = 113
	MismatchedEndpointType                 int16 = 114
	UnsupportedEndpointType                int16 = 115
	UnknownControllerID                    int16 = 116
	UnknownSubscriptionID                  int16 = 117
	TelemetryTooLarge                      int16 = 118
	InvalidRegistration                    int16 = 119
	TransactionAbortable                   int16 = 120
	InvalidRecordState                     int16 = 121
	ShareSessionNotFound                   int16 = 122
	InvalidShareSessionEpoch               int16 = 123
	FencedStateEpoch                       int16 = 124
	InvalidVoterKey                        int16 = 125
	DuplicateVoter                         int16 = 126
	VoterNotFound                          int16 = 127
	InvalidRegularExpression               int16 = 128
	RebootstrapRequired                    int16 = 129
	StreamsInvalidTopology                 int16 = 130
	StreamsInvalidTopologyEpoch            int16 = 131
	StreamsTopologyFenced                  int16 = 132
	ShareSessionLimitReached               int16 = 133
	GroupDeletionFailed                    int16 = 134
	StreamsTopologyDescriptionUpdateFailed int16 = 135
	ControllerIDNotRegistered              int16 = 136
)

var names = map[int16]string{
	UnknownServerError:                     "UNKNOWN_SERVER_ERROR",
	None:                                   "NONE",
	OffsetOutOfRange:                       "OFFSET_OUT_OF_RANGE",
	CorruptMessage:                         "CORRUPT_MESSAGE",
	UnknownTopicOrPartition:                "UNKNOWN_TOPIC_OR_PARTITION",
	InvalidFetchSize:                       "INVALID_FETCH_SIZE",
	LeaderNotAvailable:                     "LEADER_NOT_AVAILABLE",
	NotLeaderOrFollower:                    "NOT_LEADER_OR_FOLLOWER",
	RequestTimedOut:                        "REQUEST_TIMED_OUT",
	BrokerNotAvailable:                     "BROKER_NOT_AVAILABLE",
	ReplicaNotAvailable:                    "REPLICA_NOT_AVAILABLE",
	MessageTooLarge:                        "MESSAGE_TOO_LARGE",
	StaleControllerEpoch:                   "STALE_CONTROLLER_EPOCH",
	OffsetMetadataTooLarge:                 "OFFSET_METADATA_TOO_LARGE",
	NetworkException:                       "NETWORK_EXCEPTION",
	CoordinatorLoadInProgress:              "COORDINATOR_LOAD_IN_PROGRESS",
	CoordinatorNotAvailable:                "COORDINATOR_NOT_AVAILABLE",
	NotCoordinator:                         "NOT_COORDINATOR",
	InvalidTopic:                           "INVALID_TOPIC_EXCEPTION",
	RecordListTooLarge:                     "RECORD_LIST_TOO_LARGE",
	NotEnoughReplicas:                      "NOT_ENOUGH_REPLICAS",
	NotEnoughReplicasAfterAppend:           "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
	InvalidRequiredAcks:                    "INVALID_REQUIRED_ACKS",
	IllegalGeneration:                      "ILLEGAL_GENERATION",
	InconsistentGroupProtocol:              "INCONSISTENT_GROUP_PROTOCOL",
	InvalidGroupID:                         "INVALID_GROUP_ID",
	UnknownMemberID:                        "UNKNOWN_MEMBER_ID",
	InvalidSessionTimeout:                  "INVALID_SESSION_TIMEOUT",
	RebalanceInProgress:                    "REBALANCE_IN_PROGRESS",
	InvalidCommitOffsetSize:                "INVALID_COMMIT_OFFSET_SIZE",
	TopicAuthorizationFailed:               "TOPIC_AUTHORIZATION_FAILED",
	GroupAuthorizationFailed:               "GROUP_AUTHORIZATION_FAILED",
	ClusterAuthorizationFailed:             "CLUSTER_AUTHORIZATION_FAILED",
	InvalidTimestamp:                       "INVALID_TIMESTAMP",
	UnsupportedSASLMechanism:               "UNSUPPORTED_SASL_MECHANISM",
	IllegalSASLState:                       "ILLEGAL_SASL_STATE",
	UnsupportedVersion:                     "UNSUPPORTED_VERSION",
	TopicAlreadyExists:                     "TOPIC_ALREADY_EXISTS",
	InvalidPartitions:                      "INVALID_PARTITIONS",
	InvalidReplicationFactor:               "INVALID_REPLICATION_FACTOR",
	InvalidReplicaAssignment:               "INVALID_REPLICA_ASSIGNMENT",
	InvalidConfig:                          "INVALID_CONFIG",
	NotController:                          "NOT_CONTROLLER",
	InvalidRequest:                         "INVALID_REQUEST",
	UnsupportedForMessageFormat:            "UNSUPPORTED_FOR_MESSAGE_FORMAT",
	PolicyViolation:                        "POLICY_VIOLATION",
	OutOfOrderSequenceNumber:               "OUT_OF_ORDER_SEQUENCE_NUMBER",
	DuplicateSequenceNumber:                "DUPLICATE_SEQUENCE_NUMBER",
	InvalidProducerEpoch:                   "INVALID_PRODUCER_EPOCH",
	InvalidTxnState:                        "INVALID_TXN_STATE",
	InvalidProducerIDMapping:               "INVALID_PRODUCER_ID_MAPPING",
	InvalidTransactionTimeout:              "INVALID_TRANSACTION_TIMEOUT",
	ConcurrentTransactions:                 "CONCURRENT_TRANSACTIONS",
	TransactionCoordinatorFenced:           "TRANSACTION_COORDINATOR_FENCED",
	TransactionalIDAuthorizationFailed:     "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
	SecurityDisabled:                       "SECURITY_DISABLED",
	OperationNotAttempted:                  "OPERATION_NOT_ATTEMPTED",
	KafkaStorageError:                      "KAFKA_STORAGE_ERROR",
	LogDirNotFound:                         "LOG_DIR_NOT_FOUND",
	SASLAuthenticationFailed:               "SASL_AUTHENTICATION_FAILED",
	UnknownProducerID:                      "UNKNOWN_PRODUCER_ID",
	ReassignmentInProgress:                 "REASSIGNMENT_IN_PROGRESS",
	DelegationTokenAuthDisabled:            "DELEGATION_TOKEN_AUTH_DISABLED",
	DelegationTokenNotFound:                "DELEGATION_TOKEN_NOT_FOUND",
	DelegationTokenOwnerMismatch:           "DELEGATION_TOKEN_OWNER_MISMATCH",
	DelegationTokenRequestNotAllowed:       "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED",
	DelegationTokenAuthorizationFailed:     "DELEGATION_TOKEN_AUTHORIZATION_FAILED",
	DelegationTokenExpired:                 "DELEGATION_TOKEN_EXPIRED",
	InvalidPrincipalType:                   "INVALID_PRINCIPAL_TYPE",
	NonEmptyGroup:                          "NON_EMPTY_GROUP",
	GroupIDNotFound:                        "GROUP_ID_NOT_FOUND",
	FetchSessionIDNotFound:                 "FETCH_SESSION_ID_NOT_FOUND",
	InvalidFetchSessionEpoch:               "INVALID_FETCH_SESSION_EPOCH",
	ListenerNotFound:                       "LISTENER_NOT_FOUND",
	TopicDeletionDisabled:                  "TOPIC_DELETION_DISABLED",
	FencedLeaderEpoch:                      "FENCED_LEADER_EPOCH",
	UnknownLeaderEpoch:                     "UNKNOWN_LEADER_EPOCH",
	UnsupportedCompressionType:             "UNSUPPORTED_COMPRESSION_TYPE",
	StaleBrokerEpoch:                       "STALE_BROKER_EPOCH",
	OffsetNotAvailable:                     "OFFSET_NOT_AVAILABLE",
	MemberIDRequired:                       "MEMBER_ID_REQUIRED",
	PreferredLeaderNotAvailable:            "PREFERRED_LEADER_NOT_AVAILABLE",
	GroupMaxSizeReached:                    "GROUP_MAX_SIZE_REACHED",
	FencedInstanceID:                       "FENCED_INSTANCE_ID",
	EligibleLeadersNotAvailable:            "ELIGIBLE_LEADERS_NOT_AVAILABLE",
	ElectionNotNeeded:                      "ELECTION_NOT_NEEDED",
	NoReassignmentInProgress:               "NO_REASSIGNMENT_IN_PROGRESS",
	GroupSubscribedToTopic:                 "GROUP_SUBSCRIBED_TO_TOPIC",
	InvalidRecord:                          "INVALID_RECORD",
	UnstableOffsetCommit:                   "UNSTABLE_OFFSET_COMMIT",
	ThrottlingQuotaExceeded:                "THROTTLING_QUOTA_EXCEEDED",
	ProducerFenced:                         "PRODUCER_FENCED",
	ResourceNotFound:                       "RESOURCE_NOT_FOUND",
	DuplicateResource:                      "DUPLICATE_RESOURCE",
	UnacceptableCredential:                 "UNACCEPTABLE_CREDENTIAL",
	InconsistentVoterSet:                   "INCONSISTENT_VOTER_SET",
	InvalidUpdateVersion:                   "INVALID_UPDATE_VERSION",
	FeatureUpdateFailed:                    "FEATURE_UPDATE_FAILED",
	PrincipalDeserializationFailure:        "PRINCIPAL_DESERIALIZATION_FAILURE",
	SnapshotNotFound:                       "SNAPSHOT_NOT_FOUND",
	PositionOutOfRange:                     "POSITION_OUT_OF_RANGE",
	UnknownTopicID:                         "UNKNOWN_TOPIC_ID",
	DuplicateBrokerRegistration:            "DUPLICATE_BROKER_REGISTRATION",
	BrokerIDNotRegistered:                  "BROKER_ID_NOT_REGISTERED",
	InconsistentTopicID:                    "INCONSISTENT_TOPIC_ID",
	InconsistentClusterID:                  "INCONSISTENT_CLUSTER_ID",
	TransactionalIDNotFound:                "TRANSACTIONAL_ID_NOT_FOUND",
	FetchSessionTopicIDError:               "FETCH_SESSION_TOPIC_ID_ERROR",
	IneligibleReplica:                      "INELIGIBLE_REPLICA",
	NewLeaderElected:                       "NEW_LEADER_ELECTED",
	OffsetMovedToTieredStorage:             "OFFSET_MOVED_TO_TIERED_STORAGE",
	FencedMemberEpoch:                      "FENCED_MEMBER_EPOCH",
	UnreleasedInstanceID:                   "UNRELEASED_INSTANCE_ID",
	UnsupportedAssignor:                    "UNSUPPORTED_ASSIGNOR",
	StaleMemberEpoch:                       "STALE_MEMBER_EPOCH",
	MismatchedEndpointType:                 "MISMATCHED_ENDPOINT_TYPE",
	UnsupportedEndpointType:                "UNSUPPORTED_ENDPOINT_TYPE",
	UnknownControllerID:                    "UNKNOWN_CONTROLLER_ID",
	UnknownSubscriptionID:                  "UNKNOWN_SUBSCRIPTION_ID",
	TelemetryTooLarge:                      "TELEMETRY_TOO_LARGE",
	InvalidRegistration:                    "INVALID_REGISTRATION",
	TransactionAbortable:                   "TRANSACTION_ABORTABLE",
	InvalidRecordState:                     "INVALID_RECORD_STATE",
	ShareSessionNotFound:                   "SHARE_SESSION_NOT_FOUND",
	InvalidShareSessionEpoch:               "INVALID_SHARE_SESSION_EPOCH",
	FencedStateEpoch:                       "FENCED_STATE_EPOCH",
	InvalidVoterKey:                        "INVALID_VOTER_KEY",
	DuplicateVoter:                         "DUPLICATE_VOTER",
	VoterNotFound:                          "VOTER_NOT_FOUND",
	InvalidRegularExpression:               "INVALID_REGULAR_EXPRESSION",
	RebootstrapRequired:                    "REBOOTSTRAP_REQUIRED",
	StreamsInvalidTopology:                 "STREAMS_INVALID_TOPOLOGY",
	StreamsInvalidTopologyEpoch:            "STREAMS_INVALID_TOPOLOGY_EPOCH",
	StreamsTopologyFenced:                  "STREAMS_TOPOLOGY_FENCED",
	ShareSessionLimitReached:               "SHARE_SESSION_LIMIT_REACHED",
	GroupDeletionFailed:                    "GROUP_DELETION_FAILED",
	StreamsTopologyDescriptionUpdateFailed: "STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED",
	ControllerIDNotRegistered:              "CONTROLLER_ID_NOT_REGISTERED",
}

// Name is Kafka's name of a code, such as "ILLEGAL_GENERATION", or the number
// for a code that Kafka 4.4.0 does not have.
func Name(code int16) string {
	if n, ok := names[code]; ok {
		return n
	}
	return strconv.Itoa(int(code))
}
