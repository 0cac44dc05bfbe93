package engine

import (
	"encoding/binary"
	"errors"

	"kafka-iggy-bridge/internal/engine/access"
	"kafka-iggy-bridge/internal/engine/protocol"
	"kafka-iggy-bridge/internal/engine/storage"
)

const (
	sendIndexSize = 16 // per message: offset u32, end position u32, timestamp u64

	// frameRoom is kept free in front of a send's payload. Together with what always
	// precedes the messages (a length, two identifiers, a partitioning, a count and
	// an index entry) it is room for the header that storage puts in front of them.
	frameRoom = 16

	pollHeaderSize = 16 // partition u32, current offset u64, count u32

	// copiedPoll is the largest poll answer that is copied behind earlier answers
	// instead of being sent on its own.
	copiedPoll = 8 << 10
)

// send reads, carries out and answers a SendMessages request.
func (c *conn) send(size int64) error {
	u := c.loggedIn()
	if u == nil {
		c.answer(protocol.ErrUnauthenticated)
		return c.discard(size)
	}
	if size > int64(c.e.opts.MaxSendBytes) {
		c.answer(protocol.ErrInvalidSize)
		return c.discard(size)
	}
	buf, err := c.frame(frameRoom, int(size))
	if err != nil {
		return err
	}
	defer buf.Release()
	if err := c.append(u, buf.B[:frameRoom+int(size)]); err != nil {
		return c.fail(protocol.SendMessages, err)
	}
	c.answer(protocol.OK)
	return nil
}

// append stores the messages of a send's payload, which begins at frameRoom.
func (c *conn) append(u *user, frame []byte) error {
	req, err := parseSend(frame[frameRoom:])
	if err != nil {
		return err
	}
	p, err := c.sendTarget(u, &req)
	if err != nil {
		return err
	}
	from := len(frame) - len(req.messages) - storage.BatchHeaderSize
	_, err = p.log.Append(frame[from:], req.count)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, storage.ErrClosed):
		return protocol.ErrPartitionNotFound // deleted since it was looked up
	case errors.Is(err, storage.ErrBatchTooLarge):
		return protocol.ErrInvalidSize
	}
	c.e.log.WithError(err).WithField("partition", p.id).Error("append failed")
	return protocol.ErrCannotAppend
}

// sendTarget chooses the partition of a send.
func (c *conn) sendTarget(u *user, req *sendRequest) (*partition, error) {
	c.e.mu.RLock()
	defer c.e.mu.RUnlock()
	t, err := c.topicFor(u, access.WriteMessages, req.stream, req.topic)
	if err != nil {
		return nil, err
	}
	n := uint32(len(t.partitions))
	id := req.partitioning.Partition
	switch req.partitioning.Kind {
	case protocol.Balanced:
		if n == 0 {
			return nil, protocol.ErrTopicNotFound
		}
		id = (t.balance.Add(1) - 1) % n
	case protocol.ByMessageKey:
		if n == 0 {
			return nil, protocol.ErrTopicNotFound
		}
		id = protocol.XXH32(req.partitioning.Key) % n
	}
	p := t.partition(id)
	if p == nil {
		return nil, protocol.ErrPartitionNotFound
	}
	return p, nil
}

// sendRequest is a send's payload; its fields are views.
type sendRequest struct {
	stream, topic protocol.ID
	partitioning  protocol.Partitioning
	count         uint32
	messages      []byte
}

// parseSend takes a send's payload apart and checks that its messages are whole and
// within the limits.
func parseSend(payload []byte) (sendRequest, error) {
	var req sendRequest
	r := protocol.NewReader(payload)
	n := r.U32()
	if r.Err() != nil || uint64(n) > uint64(len(r.Rest())) {
		return req, protocol.ErrInvalidCommand
	}
	meta := protocol.NewReader(r.Bytes(int(n)))
	req.stream, req.topic = meta.ID(), meta.ID()
	if meta.Err() != nil {
		return req, protocol.ErrInvalidIdentifier
	}
	req.partitioning = meta.Partitioning()
	req.count = meta.U32()
	if err := meta.Err(); err != nil {
		return req, err
	}
	if uint64(req.count)*sendIndexSize > uint64(len(r.Rest())) {
		return req, protocol.ErrInvalidCommand
	}
	if req.count == 0 {
		return req, protocol.ErrNoMessages
	}
	index := r.Bytes(int(req.count) * sendIndexSize)
	req.messages = r.Rest()
	return req, checkMessages(index, req.messages)
}

// checkMessages walks the messages of a send along their index.
func checkMessages(index, messages []byte) error {
	var position uint64
	var lastOffset uint64
	for rest := messages; len(index) > 0; index = index[sendIndexSize:] {
		switch {
		case binary.LittleEndian.Uint32(index) != 0:
			return protocol.ErrIndexOffset
		case binary.LittleEndian.Uint64(index[8:]) != 0:
			return protocol.ErrIndexTimestamp
		case len(rest) < storage.MessageHeaderSize:
			return protocol.ErrMissingIndex
		}
		headers := binary.LittleEndian.Uint32(rest[48:])
		payload := binary.LittleEndian.Uint32(rest[52:])
		size := storage.MessageHeaderSize + uint64(headers) + uint64(payload)
		switch {
		case size > uint64(len(rest)):
			return protocol.ErrMissingIndex // a message that is not all there is none
		case payload > protocol.MaxPayloadBytes:
			return protocol.ErrPayloadTooLarge
		case headers > protocol.MaxUserHeadersBytes:
			return protocol.ErrHeadersTooLarge
		}
		offset := binary.LittleEndian.Uint64(rest[24:])
		if offset < lastOffset {
			return protocol.ErrInvalidOffset
		}
		lastOffset = offset
		rest = rest[size:]
		position += size
		if len(index) == sendIndexSize {
			if len(rest) > 0 {
				return protocol.ErrMessagesSize
			}
			break // the last position is nobody's boundary
		}
		switch end := uint64(binary.LittleEndian.Uint32(index[4:])); {
		case end > uint64(len(messages)):
			return protocol.ErrMissingIndex
		case end != position:
			return protocol.ErrMessagesSize
		}
	}
	return nil
}

// pollRequest is a poll's payload; its fields are views.
type pollRequest struct {
	consumer      protocol.Consumer
	stream, topic protocol.ID
	partition     uint32
	explicit      bool // a partition was given
	strategy      protocol.StrategyKind
	value         uint64
	count         uint32
	commit        bool
}

func parsePoll(payload []byte) (pollRequest, protocol.Reader) {
	r := protocol.NewReader(payload)
	req := pollRequest{consumer: r.Consumer(), stream: r.ID(), topic: r.ID()}
	req.partition, req.explicit = r.PartitionOption()
	req.strategy, req.value = r.Strategy()
	req.count = r.U32()
	req.commit = r.U8() == 1
	return req, r
}

// poll carries out and answers a PollMessages request.
func (c *conn) poll(payload []byte) error {
	req, r := parsePoll(payload)
	u, err := c.begin(&r)
	if err != nil {
		return c.fail(protocol.PollMessages, err)
	}
	source, err := c.readSource(u, access.ReadMessages, req.consumer, req.stream, req.topic, req.partition, req.explicit, true)
	if err != nil {
		return c.fail(protocol.PollMessages, err)
	}
	if source.partition == nil { // a member without a partition to read
		return c.answerPoll(0, 0, storage.Chunk{})
	}
	chunk, err := c.read(&req, &source)
	if err != nil {
		return c.fail(protocol.PollMessages, err)
	}
	defer chunk.Release()
	if chunk.Count > 0 {
		if err := c.afterPoll(&req, &source, chunk.Last); err != nil {
			return c.fail(protocol.PollMessages, err)
		}
	}
	_, end := source.partition.log.Bounds()
	return c.answerPoll(source.partition.id, currentOffset(end), chunk)
}

// currentOffset is the offset of the last message, 0 when there never was one.
func currentOffset(end uint64) uint64 {
	if end == 0 {
		return 0
	}
	return end - 1
}

// read gets the messages a poll asks for.
func (c *conn) read(req *pollRequest, source *source) (storage.Chunk, error) {
	log := source.partition.log
	offset := req.value
	switch req.strategy {
	case protocol.First:
		offset = 0
	case protocol.Last:
		_, end := log.Bounds()
		offset = end - min(end, uint64(req.count))
	case protocol.Next:
		stored, ok := c.e.offsets.get(source.key())
		offset = 0
		if ok {
			offset = stored + 1
		}
	case protocol.ByTimestamp:
		found, ok, err := log.OffsetForTime(req.value)
		if err != nil {
			return storage.Chunk{}, c.readFailed(source, err)
		}
		if !ok {
			return storage.Chunk{}, nil
		}
		offset = found
	}
	chunk, err := log.Read(offset, req.count, c.e.opts.MaxPollBytes)
	if err != nil {
		return storage.Chunk{}, c.readFailed(source, err)
	}
	return chunk, nil
}

func (c *conn) readFailed(source *source, err error) error {
	if errors.Is(err, storage.ErrCorrupt) {
		return protocol.ErrInvalidChecksum
	}
	c.e.log.WithError(err).WithField("partition", source.partition.id).Error("read failed")
	return protocol.ErrCannotRead
}

// afterPoll notes what was handed out and stores it as consumed if asked to.
func (c *conn) afterPoll(req *pollRequest, source *source, last uint64) error {
	if source.group != nil {
		source.group.mu.Lock()
		source.group.state.Polled(source.partition.id, last)
		source.group.mu.Unlock()
	}
	if !req.commit {
		return nil
	}
	return c.storeOffset(source, last)
}

// answerPoll answers with the chunk's messages.
func (c *conn) answerPoll(partition uint32, current uint64, chunk storage.Chunk) error {
	const head = responseHeaderSize + pollHeaderSize
	size := len(chunk.Bytes())
	if size+head <= copiedPoll {
		start := len(c.out)
		c.out = append(c.out, make([]byte, head)...)
		putPollHead(c.out[start:], partition, current, chunk.Count, size)
		c.out = append(c.out, chunk.Bytes()...)
		return nil
	}
	if err := c.flush(); err != nil {
		return err
	}
	b := chunk.WithHeadroom(head)
	putPollHead(b, partition, current, chunk.Count, size)
	return c.write(b)
}

func putPollHead(b []byte, partition uint32, current uint64, count uint32, size int) {
	binary.LittleEndian.PutUint32(b[0:], uint32(protocol.OK))
	binary.LittleEndian.PutUint32(b[4:], uint32(pollHeaderSize+size))
	binary.LittleEndian.PutUint32(b[8:], partition)
	binary.LittleEndian.PutUint64(b[12:], current)
	binary.LittleEndian.PutUint32(b[20:], count)
}

// flushUnsavedBuffer forces a partition's messages to disk when asked to; there is no
// buffer in front of the operating system that would have to be written.
func (c *conn) flushUnsavedBuffer(r *protocol.Reader) error {
	streamID, topicID, id, sync := r.ID(), r.ID(), r.U32(), r.U8()
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	p, err := func() (*partition, error) {
		c.e.mu.RLock()
		defer c.e.mu.RUnlock()
		t, err := c.topicFor(u, access.WriteMessages, streamID, topicID)
		if err != nil {
			return nil, err
		}
		if p := t.partition(id); p != nil {
			return p, nil
		}
		return nil, protocol.ErrPartitionNotFound
	}()
	if err != nil || sync == 0 {
		return err
	}
	return p.log.Sync()
}
