package bridge

import (
	"fmt"
	"strings"

	"kafka-iggy-bridge/internal/producers"
)

// Topic is a snapshot of a topic: it never changes, and stays usable when the
// topic does. Get it anew for each request; that costs nothing.
type Topic struct {
	// Name is the Kafka name.
	Name string
	// ID is the topic's id (KIP-516): the same over restarts and on all bridges,
	// and another one when the topic is deleted and made anew.
	ID [16]byte
	// Partitions counts the partitions, numbered from 0. It is never 0.
	Partitions int32
	// Internal marks topics that Kafka itself keeps.
	Internal bool
	// Config is the topic's configuration.
	Config TopicConfig

	location Location
	state    *topicState
}

// TopicSpec says how a topic is to be made.
type TopicSpec struct {
	// Partitions is their number, at least 1.
	Partitions int32
	// Configs are the configurations given explicitly, by Kafka's names.
	Configs map[string]string
}

// TopicPartition is a partition to watch.
type TopicPartition struct {
	Topic     *Topic
	Partition int32
	// Offset is the high watermark that the caller has seen: a watcher signals
	// as soon as the partition's is higher, at once when it already is.
	Offset int64
}

// Appended is where a batch was written.
type Appended struct {
	// BaseOffset is the offset of the batch's first record.
	BaseOffset int64
	// LogAppendTime is when Iggy appended it, in ms, for topics with
	// message.timestamp.type=LogAppendTime, otherwise -1.
	LogAppendTime int64
	// LogStartOffset is the partition's first offset.
	LogStartOffset int64
}

// FetchSpec says what to read.
type FetchSpec struct {
	// Offset is the first offset wanted.
	Offset int64
	// MaxBytes bounds the batches returned.
	MaxBytes int
	// AtLeastOne returns the first batch even if it exceeds MaxBytes (KIP-74).
	AtLeastOne bool
	// Committed reads up to the last stable offset only, and says which
	// transactions were aborted: read_committed.
	Committed bool
}

// Fetched is what was read.
type Fetched struct {
	// Records are whole v2 batches, ready to send one behind the other. They are
	// shared: nobody may change their bytes. As in Kafka the first may begin
	// below the offset asked for.
	Records [][]byte
	// HighWatermark is the offset behind the last record.
	HighWatermark int64
	// LogStartOffset is the first offset that is still there.
	LogStartOffset int64
	// LastStableOffset is the offset of the first record that belongs to an open
	// transaction, else the high watermark.
	LastStableOffset int64
	// Aborted are the aborted transactions with records among those returned, for
	// reads of committed records. A consumer leaves their records out.
	Aborted []producers.Aborted
}

// Size is the length of all batches together, in bytes.
func (f *Fetched) Size() int {
	n := 0
	for _, r := range f.Records {
		n += len(r)
	}
	return n
}

// maxTopicName is the length of the longest name Kafka allows.
const maxTopicName = 249

// CheckTopicName reports whether Kafka allows name for a topic: 1 to 249 of
// the characters a-z, A-Z, 0-9, '.', '_' and '-', but neither "." nor "..". The
// error wraps ErrInvalidTopicName and says what is wrong in Kafka's terms.
func CheckTopicName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: the empty string is not allowed", ErrInvalidTopicName)
	case name == "." || name == "..":
		return fmt.Errorf("%w: '%s' is not allowed", ErrInvalidTopicName, name)
	case len(name) > maxTopicName:
		return fmt.Errorf("%w: the length of '%s' is longer than the max allowed length %d", ErrInvalidTopicName, name, maxTopicName)
	}
	bad := strings.IndexFunc(name, func(r rune) bool {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return false
		}
		return true
	})
	if bad >= 0 {
		return fmt.Errorf("%w: '%s' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'", ErrInvalidTopicName, name)
	}
	return nil
}

// IsReservedTopic reports whether a name is one of those that Kafka keeps for
// itself: no client can make a topic of that name here.
func IsReservedTopic(name string) bool { return internalTopics[name] }

// internalTopics are the names of the topics that Kafka keeps for itself.
var internalTopics = map[string]bool{
	"__consumer_offsets":    true,
	"__transaction_state":   true,
	"__share_group_state":   true,
	"__cluster_metadata":    true,
	"__remote_log_metadata": true,
}
