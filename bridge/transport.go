package bridge

import (
	"context"
	"errors"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
)

// message is an Iggy message as the SDK has it: header, payload, user headers.
// What a read returns are views of one buffer; whoever keeps a message longer
// copies what it needs.
type message = iggcon.IggyMessage

const (
	// iggyMessageHeader is the size in bytes of a message's header.
	iggyMessageHeader = iggcon.MessageHeaderSize
	// maxIggyName is the length in bytes of the longest stream or topic name.
	maxIggyName = 255
	// maxStreams is how many streams, and topics in a stream, Iggy 0.8.0 tells
	// apart: it packs each id into 12 bits and mixes up data beyond.
	maxStreams = 4096
	// maxPartitionsPerCall is how many partitions one Iggy command can create.
	maxPartitionsPerCall = 1000
)

// partitionRef names a partition in Iggy. It is made once per partition.
type partitionRef struct {
	location  Location
	partition uint32
	stream    iggcon.Identifier
	topic     iggcon.Identifier
	lane      uint32 // chooses the connection for writes
}

// bounds is what Iggy says of a partition.
type bounds struct {
	// end is the offset that the next message gets.
	end int64
	// messages and bytes count what is there.
	messages, bytes uint64
}

// topicInfo is what Iggy says of a topic.
type topicInfo struct {
	location         Location
	streamID         uint32
	id               uint32
	createdAt        uint64 // µs
	partitionCount   uint32
	expiry           uint64 // µs, iggyNever
	maxSize          uint64 // bytes, iggyUnlimited
	messages         uint64
	bytes            uint64
	partitions       []bounds // by partition id; nil in listings
	compressionLabel uint8
	replication      uint8
}

// streamInfo is what Iggy says of a stream.
type streamInfo struct {
	name      string
	id        uint32
	createdAt uint64
	topics    uint32
	messages  uint64
	bytes     uint64
}

// readRequest says what to read from a partition.
type readRequest struct {
	// first reads from the first message there is, else from offset, or from the
	// first message when offset lies before that.
	first  bool
	offset int64
	count  int
	// behindAppend sends the request over the connection that the partition's
	// appends use; others go over the readers'.
	behindAppend bool
}

// readResult is what a read found.
type readResult struct {
	// messages are in the order of their offsets.
	messages []message
	// current is the offset of the partition's last message, 0 when there never
	// was one.
	current int64
}

// errMaybeAppended says that an append failed in a way that does not tell
// whether the messages were written.
var errMaybeAppended = errors.New("the messages may have been appended")

// transport is what the bridge needs of Iggy. Its errors wrap the sentinels of
// this package; ErrUnavailable always means that nothing was done. It is safe
// for concurrent use, and every call is bounded in time whatever Iggy does.
type transport interface {
	// start begins to look after the connections, close ends it.
	start()
	close() error
	// health is nil when Iggy answers, otherwise why not.
	health() error

	streams(ctx context.Context) ([]streamInfo, error)
	createStream(ctx context.Context, name string) error
	deleteStream(ctx context.Context, name string) error
	// topics lists a stream's topics; a stream that does not exist has none.
	topics(ctx context.Context, stream string) ([]topicInfo, error)
	// topic describes one topic with its partitions, or fails with
	// ErrTopicNotFound.
	topic(ctx context.Context, at Location) (topicInfo, error)
	createTopic(ctx context.Context, at Location, partitions int, expiry, maxSize uint64) error
	updateTopic(ctx context.Context, info topicInfo, expiry, maxSize uint64) error
	createPartitions(ctx context.Context, at Location, n int) error
	deleteTopic(ctx context.Context, at Location) error

	// append writes messages behind one another, with nothing in between. It
	// fails with errMaybeAppended when that may have happened all the same.
	append(ctx context.Context, at *partitionRef, messages []message) error
	read(ctx context.Context, at *partitionRef, r readRequest) (readResult, error)

	// storedOffset is the offset of the last message that a consumer or group has
	// consumed; ok is false when none is stored, or no such group or partition
	// exists.
	storedOffset(ctx context.Context, of offsetOwner, at Location, partition uint32) (offset uint64, ok bool, err error)
	// storeOffset fails with ErrOffsetOutOfRange above the partition's last
	// message. For a group the calling connection must be a member, see joinGroup.
	storeOffset(ctx context.Context, of offsetOwner, at Location, partition uint32, offset uint64) error
	// deleteOffset succeeds when nothing was stored.
	deleteOffset(ctx context.Context, of offsetOwner, at Location, partition uint32) error
	// groupMembers counts the members of a group of Iggy's, or fails with
	// ErrGroupNotFound.
	groupMembers(ctx context.Context, at Location, group string) (int, error)
	createGroup(ctx context.Context, at Location, group string) error
	// joinGroup makes the connection that these calls use a member, until
	// leaveGroup or its end.
	joinGroup(ctx context.Context, at Location, group string) error
	leaveGroup(ctx context.Context, at Location, group string) error
}

// offsetOwner is whose offset is stored: a single consumer or a group, by name.
type offsetOwner struct {
	group bool
	name  string
}

// Errors of the transport that do not leave the package.
var (
	errStreamExists  = errors.New("stream exists already")
	errStreamMissing = errors.New("stream not found")
	errTopicSize     = errors.New("maximum topic size is below the segment size")
)
