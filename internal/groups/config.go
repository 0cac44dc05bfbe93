package groups

import "time"

// Config is how the coordinator behaves. Names in brackets are Kafka's
// configurations of a broker.
type Config struct {
	// MinSessionTimeout and MaxSessionTimeout bound what classic members may ask
	// for (group.min.session.timeout.ms, group.max.session.timeout.ms).
	MinSessionTimeout, MaxSessionTimeout time.Duration
	// InitialRebalanceDelay is how long a new classic group waits for more members
	// (group.initial.rebalance.delay.ms).
	InitialRebalanceDelay time.Duration
	// MaxSize is how many members a classic group may have (group.max.size).
	MaxSize int
	// OffsetMetadataMaxBytes bounds the metadata of a commit, in bytes
	// (offset.metadata.max.bytes).
	OffsetMetadataMaxBytes int
	// OffsetsRetention is how long offsets live in a group without members
	// (offsets.retention.minutes), OffsetsRetentionCheck how often that is looked
	// at (offsets.retention.check.interval.ms).
	OffsetsRetention, OffsetsRetentionCheck time.Duration

	// ConsumerSessionTimeout and ConsumerHeartbeatInterval are what members of
	// consumer groups are given (group.consumer.session.timeout.ms,
	// group.consumer.heartbeat.interval.ms).
	ConsumerSessionTimeout, ConsumerHeartbeatInterval time.Duration
	// ConsumerMaxSize is how many members a consumer group may have
	// (group.consumer.max.size).
	ConsumerMaxSize int
	// ConsumerAssignmentInterval is how long a consumer group keeps an assignment at
	// least before a new one is computed (group.consumer.assignment.interval.ms).
	ConsumerAssignmentInterval time.Duration
	// RegexRefreshInterval is how often regular expressions are matched anew
	// against the topics that there are (group.consumer.regex.refresh.interval.ms).
	RegexRefreshInterval time.Duration

	// NewMemberID makes a random UUID, unique for ever, in its usual form, and
	// NewMemberUUID one in Kafka's own form: the base64 of its bytes. They are part
	// of the configuration so that tests know what comes.
	NewMemberID, NewMemberUUID func() string
}

// DefaultConfig has the defaults of Kafka 4.4.0, without the functions.
func DefaultConfig() Config {
	return Config{
		MinSessionTimeout:          6 * time.Second,
		MaxSessionTimeout:          30 * time.Minute,
		InitialRebalanceDelay:      3 * time.Second,
		MaxSize:                    1<<31 - 1,
		OffsetMetadataMaxBytes:     4096,
		OffsetsRetention:           7 * 24 * time.Hour,
		OffsetsRetentionCheck:      10 * time.Minute,
		ConsumerSessionTimeout:     45 * time.Second,
		ConsumerHeartbeatInterval:  5 * time.Second,
		ConsumerMaxSize:            1<<31 - 1,
		ConsumerAssignmentInterval: time.Second,
		RegexRefreshInterval:       10 * time.Minute,
	}
}
