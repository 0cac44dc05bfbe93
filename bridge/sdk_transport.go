package bridge

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/iggy/foreign/go/client/tcp"
	iggcon "github.com/apache/iggy/foreign/go/contracts"
	ierror "github.com/apache/iggy/foreign/go/errors"
)

// iggyErrors says what Iggy's error codes mean to the bridge. Codes that are
// not listed are ErrStorage.
var iggyErrors = map[ierror.Code]error{
	ierror.UnauthorizedCode:           ErrUnauthorized,
	ierror.InvalidCredentialsCode:     ErrUnauthorized,
	ierror.InvalidUsernameCode:        ErrUnauthorized,
	ierror.InvalidPasswordCode:        ErrUnauthorized,
	ierror.UserInactiveCode:           ErrUnauthorized,
	ierror.StreamIdNotFoundCode:       ErrTopicNotFound,
	ierror.StreamNameNotFoundCode:     ErrTopicNotFound,
	ierror.TopicIdNotFoundCode:        ErrTopicNotFound,
	ierror.TopicNameNotFoundCode:      ErrTopicNotFound,
	ierror.PartitionNotFoundCode:      ErrPartitionNotFound,
	ierror.TopicNameAlreadyExistsCode: ErrTopicExists,
	ierror.TooManyPartitionsCode:      ErrInvalidPartitions,
	ierror.TooBigMessagePayloadCode:   ErrRecordTooLarge,
	ierror.TooBigUserHeadersCode:      ErrRecordTooLarge,
}

// notAppended are the codes that Iggy gives before it writes anything. After
// any other the messages may be in the log: 0.8.0 has codes for faults of its
// shards, which the SDK all turns into the same one.
var notAppended = map[ierror.Code]bool{
	ierror.UnauthorizedCode:                true,
	ierror.UnauthenticatedCode:             true,
	ierror.StaleClientCode:                 true,
	ierror.InvalidCommandCode:              true,
	ierror.InvalidFormatCode:               true,
	ierror.InvalidIdentifierCode:           true,
	ierror.StreamIdNotFoundCode:            true,
	ierror.StreamNameNotFoundCode:          true,
	ierror.TopicIdNotFoundCode:             true,
	ierror.TopicNameNotFoundCode:           true,
	ierror.PartitionNotFoundCode:           true,
	ierror.InvalidMessagesCountCode:        true,
	ierror.TooBigMessagePayloadCode:        true,
	ierror.TooBigUserHeadersCode:           true,
	ierror.InvalidMessagesSizeCode:         true,
	ierror.InvalidIndexesByteSizeCode:      true,
	ierror.InvalidSizeBytesCode:            true,
	ierror.InvalidMessageChecksumCode:      true,
	ierror.InvalidMessagePayloadLengthCode: true,
}

func refusesUser(code ierror.Code) bool { return iggyErrors[code] == ErrUnauthorized }

// translate turns an error of a call into one of the bridge's.
func translate(err error) error {
	var answer ierror.IggyError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errNotSent):
		return err
	case errors.Is(err, errConnectionLost):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	case errors.As(err, &answer) && !errors.Is(err, ErrTimeout) && !errors.Is(err, ErrStorage):
		meaning, ok := iggyErrors[answer.Code()]
		if !ok {
			meaning = ErrStorage
		}
		return fmt.Errorf("%w: %w (iggy's code %d)", meaning, err, answer.Code())
	}
	return err
}

func (p *sdkPool) streams(ctx context.Context) ([]streamInfo, error) {
	var streams []iggcon.Stream
	err := p.admin.call(ctx, "streams", func(c *tcp.IggyTcpClient) (err error) {
		streams, err = c.GetStreams()
		return err
	})
	if err != nil {
		return nil, translate(err)
	}
	out := make([]streamInfo, len(streams))
	for i, s := range streams {
		out[i] = streamInfo{name: s.Name, id: s.Id, createdAt: s.CreatedAt, topics: s.TopicsCount, messages: s.MessagesCount, bytes: s.SizeBytes}
	}
	return out, nil
}

func (p *sdkPool) createStream(ctx context.Context, name string) error {
	err := p.admin.call(ctx, "create stream", func(c *tcp.IggyTcpClient) error {
		_, err := c.CreateStream(name)
		return err
	})
	if errors.Is(err, ierror.ErrStreamNameAlreadyExists) {
		return errStreamExists
	}
	return translate(err)
}

func (p *sdkPool) deleteStream(ctx context.Context, name string) error {
	err := p.admin.call(ctx, "delete stream", func(c *tcp.IggyTcpClient) error {
		return c.DeleteStream(nameIdentifier(name))
	})
	return streamOrOther(translate(err))
}

// streamOrOther tells a missing stream from a missing topic where only the
// former can be.
func streamOrOther(err error) error {
	if errors.Is(err, ErrTopicNotFound) {
		return fmt.Errorf("%w: %w", errStreamMissing, err)
	}
	return err
}

func (p *sdkPool) topics(ctx context.Context, stream string) ([]topicInfo, error) {
	var topics []iggcon.Topic
	err := p.admin.call(ctx, "topics", func(c *tcp.IggyTcpClient) (err error) {
		topics, err = c.GetTopics(nameIdentifier(stream))
		return err
	})
	if err != nil {
		return nil, translate(err)
	}
	out := make([]topicInfo, len(topics))
	for i := range topics {
		out[i] = describe(stream, &topics[i])
	}
	return out, nil
}

func describe(stream string, t *iggcon.Topic) topicInfo {
	return topicInfo{
		location:         Location{Stream: stream, Topic: t.Name},
		streamID:         unknownStream,
		id:               t.Id,
		createdAt:        t.CreatedAt,
		partitionCount:   t.PartitionsCount,
		expiry:           uint64(t.MessageExpiry),
		maxSize:          t.MaxTopicSize,
		messages:         t.MessagesCount,
		bytes:            t.Size,
		compressionLabel: t.CompressionAlgorithm,
		replication:      t.ReplicationFactor,
	}
}

// topic goes over a reader's lane: it is asked for ends of logs all the time.
func (p *sdkPool) topic(ctx context.Context, at Location) (topicInfo, error) {
	var details *iggcon.TopicDetails
	err := p.onReader(ctx, "topic", func(c *tcp.IggyTcpClient) (err error) {
		details, err = c.GetTopic(nameIdentifier(at.Stream), nameIdentifier(at.Topic))
		return err
	})
	if err != nil {
		return topicInfo{}, translate(err)
	}
	info := describe(at.Stream, &details.Topic)
	info.partitions = make([]bounds, info.partitionCount)
	for _, part := range details.Partitions {
		if part.Id >= info.partitionCount {
			return topicInfo{}, fmt.Errorf("%w: %v has %d partitions and one with id %d", ErrStorage, at, info.partitionCount, part.Id)
		}
		info.partitions[part.Id] = bounds{end: logEnd(part), messages: part.MessagesCount, bytes: part.SizeBytes}
	}
	return info, nil
}

// logEnd is the offset that the next message gets. Iggy reports offset 0 both
// for an empty partition and for one with a single message.
func logEnd(p iggcon.PartitionContract) int64 {
	if p.CurrentOffset == 0 && p.MessagesCount == 0 {
		return 0
	}
	return int64(p.CurrentOffset) + 1
}

func (p *sdkPool) createTopic(ctx context.Context, at Location, partitions int, expiry, maxSize uint64) error {
	err := p.admin.call(ctx, "create topic", func(c *tcp.IggyTcpClient) error {
		one := uint8(1)
		_, err := c.CreateTopic(nameIdentifier(at.Stream), at.Topic, uint32(partitions),
			iggcon.CompressionAlgorithm(1), iggcon.Duration(expiry), maxSize, &one)
		return err
	})
	switch {
	case errors.Is(err, ierror.ErrInvalidTopicSize):
		return errTopicSize
	case errors.Is(err, ierror.ErrStreamIdNotFound), errors.Is(err, ierror.ErrStreamNameNotFound):
		return errStreamMissing
	}
	return translate(err)
}

func (p *sdkPool) updateTopic(ctx context.Context, info topicInfo, expiry, maxSize uint64) error {
	err := p.admin.call(ctx, "update topic", func(c *tcp.IggyTcpClient) error {
		replication := max(info.replication, 1)
		return c.UpdateTopic(nameIdentifier(info.location.Stream), nameIdentifier(info.location.Topic), info.location.Topic,
			iggcon.CompressionAlgorithm(max(info.compressionLabel, 1)), iggcon.Duration(expiry), maxSize, &replication)
	})
	return translate(err)
}

func (p *sdkPool) createPartitions(ctx context.Context, at Location, n int) error {
	err := p.admin.call(ctx, "create partitions", func(c *tcp.IggyTcpClient) error {
		return c.CreatePartitions(nameIdentifier(at.Stream), nameIdentifier(at.Topic), uint32(n))
	})
	return translate(err)
}

func (p *sdkPool) deleteTopic(ctx context.Context, at Location) error {
	err := p.admin.call(ctx, "delete topic", func(c *tcp.IggyTcpClient) error {
		return c.DeleteTopic(nameIdentifier(at.Stream), nameIdentifier(at.Topic))
	})
	return translate(err)
}

func (p *sdkPool) append(ctx context.Context, at *partitionRef, messages []message) error {
	var partition [4]byte
	partition[0], partition[1], partition[2], partition[3] = byte(at.partition), byte(at.partition>>8), byte(at.partition>>16), byte(at.partition>>24)
	partitioning := iggcon.Partitioning{Kind: iggcon.PartitionIdKind, Length: len(partition), Value: partition[:]}
	err := p.writer(at).call(ctx, "append", func(c *tcp.IggyTcpClient) error {
		return c.SendMessages(at.stream, at.topic, partitioning, messages)
	})
	if err == nil || errors.Is(err, errNotSent) {
		return translate(err)
	}
	var answer ierror.IggyError
	if errors.As(err, &answer) && notAppended[answer.Code()] {
		return translate(err)
	}
	return fmt.Errorf("%w: %w", errMaybeAppended, translate(err))
}

// writer is the lane that a partition's appends take.
func (p *sdkPool) writer(at *partitionRef) *lane {
	return p.writers[at.lane%uint32(len(p.writers))]
}

// anyConsumer is the consumer that reads are done as. It never stores offsets,
// so who it is does not matter.
var anyConsumer = iggcon.DefaultConsumer()

func (p *sdkPool) read(ctx context.Context, at *partitionRef, r readRequest) (readResult, error) {
	res, missing, err := p.poll(ctx, at, r)
	if err != nil || missing == 0 {
		return res, err
	}
	// The SDK drops a last message that has neither payload nor headers. With
	// another one behind it, it comes; without, it is made up.
	if len(res.messages) > 0 {
		return res, nil
	}
	r.count++
	if res, missing, err = p.poll(ctx, at, r); err != nil || len(res.messages) > 0 || missing == 0 {
		return res, err
	}
	return readResult{current: res.current, messages: []message{emptyMessage(res.current)}}, nil
}

// emptyMessage stands for a message without payload and headers at the very end
// of a partition, of which the SDK shows nothing: it is known to be there.
func emptyMessage(offset int64) message {
	return message{Header: iggcon.MessageHeader{Offset: uint64(offset)}, Payload: []byte{}}
}

// poll reads messages. missing is how many the SDK left out, 0 or 1.
func (p *sdkPool) poll(ctx context.Context, at *partitionRef, r readRequest) (res readResult, missing int, err error) {
	strategy := iggcon.OffsetPollingStrategy(uint64(r.offset))
	if r.first {
		strategy = iggcon.FirstPollingStrategy()
	}
	var polled *iggcon.PolledMessage
	do := func(c *tcp.IggyTcpClient) (err error) {
		partition := at.partition
		polled, err = c.PollMessages(at.stream, at.topic, anyConsumer, strategy, uint32(r.count), false, &partition)
		return err
	}
	if r.behindAppend {
		err = p.writer(at).call(ctx, "read", do)
	} else {
		err = p.onReader(ctx, "read", do)
	}
	if err != nil {
		return readResult{}, 0, translate(err)
	}
	missing = int(polled.MessageCount) - len(polled.Messages)
	if missing < 0 || missing > 1 {
		return readResult{}, 0, fmt.Errorf("%w: an answer of %d messages has %d", ErrStorage, polled.MessageCount, len(polled.Messages))
	}
	return readResult{messages: polled.Messages, current: int64(polled.CurrentOffset)}, missing, nil
}
