package bridge

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
)

// producerIDs hands out producer ids, in blocks. A block is claimed by
// appending a message to a topic of the state's stream: the message's offset is
// the block's number. Offsets are never given twice, so neither are ids, over
// restarts and between bridges; the rest of a block is lost when a bridge stops.
type producerIDs struct {
	bridge *Bridge
	mu     chan struct{} // holds a token while locked: a claim takes time

	next, end int64
	partition *partition
}

const (
	// producerIDBlock is how many ids a claim gives, as in Kafka.
	producerIDBlock = 1000
	producerTopic   = "producer_ids"
)

func newProducerIDs(b *Bridge) *producerIDs {
	return &producerIDs{bridge: b, mu: make(chan struct{}, 1)}
}

// NextProducerID is a producer id that was never handed out and never will be
// again (KIP-98), by whatever bridge on this Iggy.
func (b *Bridge) NextProducerID(ctx context.Context) (int64, error) {
	if err := b.usable(); err != nil {
		return -1, err
	}
	if err := b.state.ready(); err != nil {
		return -1, err
	}
	ids := b.producers
	release, err := hold(ctx, ids.mu)
	if err != nil {
		return -1, err
	}
	defer release()
	if ids.next == ids.end {
		if err := ids.claim(ctx); err != nil {
			return -1, fmt.Errorf("claiming producer ids: %w", err)
		}
	}
	id := ids.next
	ids.next++
	return id, nil
}

// claim takes the next block.
func (ids *producerIDs) claim(ctx context.Context) error {
	b := ids.bridge
	if err := ids.open(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, b.config.OperationTimeout)
	defer cancel()
	payload := []byte("{\"block_of\":" + strconv.Itoa(producerIDBlock) + "}")
	m := message{Payload: payload, Header: iggcon.MessageHeader{
		Id:              b.ids.id(b.ids.reserve(1)),
		OriginTimestamp: uint64(b.config.Now().UnixMicro()),
		PayloadLength:   uint32(len(payload)),
	}}
	expected, err := ids.partition.freshWatermark(ctx, 0)
	if err != nil {
		ids.partition = nil
		return err
	}
	block, _, err := ids.partition.write(ctx, []message{m}, expected)
	if err != nil {
		return err
	}
	ids.next = block * producerIDBlock
	ids.end = ids.next + producerIDBlock
	return nil
}

// open finds or makes the topic of the claims.
func (ids *producerIDs) open(ctx context.Context) error {
	if ids.partition != nil {
		return nil
	}
	b := ids.bridge
	at := Location{Stream: b.config.StateStream, Topic: producerTopic}
	info, err := b.transport.topic(ctx, at)
	if errors.Is(err, ErrTopicNotFound) {
		err = b.transport.createTopic(ctx, at, 1, iggyNever, iggyUnlimited)
		if err == nil || errors.Is(err, ErrTopicExists) {
			info, err = b.transport.topic(ctx, at)
		}
	}
	if err != nil {
		return err
	}
	info.streamID = unknownStream
	p, err := newTopicState(b, at.String(), [16]byte{}, info).partition(0)
	if err != nil {
		return err
	}
	ids.partition = p
	return nil
}
