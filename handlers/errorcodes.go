package handlers

// Kafka's error codes that handlers decide on themselves. Codes for faults of
// Iggy come from the one table in package bridge.
const (
	errNone                               int16 = 0
	errUnknownServerError                 int16 = -1
	errOffsetOutOfRange                   int16 = 1
	errCorruptMessage                     int16 = 2
	errUnknownTopicOrPartition            int16 = 3
	errLeaderNotAvailable                 int16 = 5
	errNotLeaderOrFollower                int16 = 6
	errRequestTimedOut                    int16 = 7
	errMessageTooLarge                    int16 = 10
	errInvalidTopic                       int16 = 17
	errInvalidRequiredAcks                int16 = 21
	errUnsupportedVersion                 int16 = 35
	errTopicAlreadyExists                 int16 = 36
	errInvalidPartitions                  int16 = 37
	errInvalidReplication                 int16 = 38
	errInvalidReplicaAssign               int16 = 39
	errInvalidConfig                      int16 = 40
	errInvalidRequest                     int16 = 42
	errPolicyViolation                    int16 = 44
	errOutOfOrderSequence                 int16 = 45
	errInvalidProducerEpoch               int16 = 47
	errInvalidTxnState                    int16 = 48
	errInvalidProducerIDMapping           int16 = 49
	errTransactionalIDAuthorizationFailed int16 = 53
	errFetchSessionNotFound               int16 = 70
	errInvalidSessionEpoch                int16 = 71
	errFencedLeaderEpoch                  int16 = 74
	errUnknownLeaderEpoch                 int16 = 75
	errUnsupportedCompression             int16 = 76
	errInvalidRecord                      int16 = 87
	errUnknownTopicID                     int16 = 100
	errRebootstrapRequired                int16 = 129
)
