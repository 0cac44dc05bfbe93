package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/apache/iggy/foreign/go/client/tcp"
	iggcon "github.com/apache/iggy/foreign/go/contracts"
)

// iggyBatch is how many messages the SDK sends at once.
const iggyBatch = 1000

// fillByIggy writes the first record as a producer, with which the bridge stores
// the partition's first snapshot, and the others as the bridge would, but behind
// its back: so it stores no other one.
func fillByIggy(ctx context.Context, o *options, b *bridge, topic string, size int) error {
	if err := fillByKafka(ctx, &options{rebuilt: 1}, b, topic, size); err != nil {
		return err
	}
	c, err := tcp.NewIggyTcpClient(tcp.WithServerAddress(b.iggy))
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.LoginUser(iggyUser, iggyPassword); err != nil {
		return err
	}
	id, err := iggcon.NewIdentifier(topic) // of the stream, and of the topic in it
	if err != nil {
		return err
	}
	first, err := firstMessageID(c, id)
	if err != nil {
		return err
	}
	payload := value(size)
	for next := 1; next < o.rebuilt; {
		batch := make([]iggcon.IggyMessage, 0, iggyBatch)
		for ; next < o.rebuilt && len(batch) < iggyBatch; next++ {
			m, err := iggcon.NewIggyMessage(payload, iggcon.WithID(messageID(first, int32(next))))
			if err != nil {
				return err
			}
			batch = append(batch, m)
		}
		if err := c.SendMessages(id, id, iggcon.PartitionId(uint32(fullPartition)), batch); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// firstMessageID is the id of the first message in the full partition.
func firstMessageID(c *tcp.IggyTcpClient, id iggcon.Identifier) (first [16]byte, err error) {
	consumer, err := iggcon.NewIdentifier(uint32(1))
	if err != nil {
		return first, err
	}
	partition := uint32(fullPartition)
	polled, err := c.PollMessages(id, id, iggcon.NewSingleConsumer(consumer), iggcon.OffsetPollingStrategy(0), 1, false, &partition)
	switch {
	case err != nil:
		return first, err
	case len(polled.Messages) != 1:
		return first, errors.New("the first record is not to be found")
	}
	first = polled.Messages[0].Header.Id
	if messageID(first, 0) != first {
		return first, fmt.Errorf("message id %x is not that of a producer's first record", first)
	}
	return first, nil
}

// messageID is the message id of another record of the same producer, as
// docs/MAPPING.md says.
func messageID(first [16]byte, sequence int32) [16]byte {
	id := first
	binary.BigEndian.PutUint32(id[10:], uint32(sequence))
	h := uint32(2166136261)
	for _, b := range append(id[:14:14], 0) { // no flags
		h = (h ^ uint32(b)) * 16777619
	}
	binary.BigEndian.PutUint16(id[14:], uint16((h^h>>12^h>>24)&0x0fff))
	return id
}
