package main

import (
	"time"

	"github.com/apache/iggy/foreign/go/client/tcp"
	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/google/uuid"
)

// iggyBatch is how many messages the SDK sends or polls at once: about what a
// Kafka client puts into a batch of 1 MB.
const iggyBatch = 1000

// sdk returns a client that is logged in, and the identifier of a new stream and
// topic of one name.
func sdk(addr, topic string, create bool) (*tcp.IggyTcpClient, iggcon.Identifier, error) {
	c, err := tcp.NewIggyTcpClient(tcp.WithServerAddress(addr))
	if err != nil {
		return nil, iggcon.Identifier{}, err
	}
	if _, err := c.LoginUser(iggyUser, iggyPassword); err != nil {
		return nil, iggcon.Identifier{}, err
	}
	id, err := iggcon.NewIdentifier(topic)
	if err != nil || !create {
		return c, id, err
	}
	if _, err := c.CreateStream(topic); err != nil {
		return nil, id, err
	}
	_, err = c.CreateTopic(id, topic, 1, iggcon.CompressionAlgorithmNone, iggcon.IggyExpiryNeverExpire, 0, nil)
	return c, id, err
}

func messages(n int) ([]iggcon.IggyMessage, error) {
	v := value()
	out := make([]iggcon.IggyMessage, n)
	for i := range out {
		m, err := iggcon.NewIggyMessage(v, iggcon.WithID(uuid.New()))
		if err != nil {
			return nil, err
		}
		out[i] = m
	}
	return out, nil
}

func iggySend(addr, topic string, n int) (time.Duration, error) {
	c, id, err := sdk(addr, topic, true)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	batch, err := messages(iggyBatch)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	for sent := 0; sent < n; sent += iggyBatch {
		if err := c.SendMessages(id, id, iggcon.PartitionId(0), batch); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

func iggyPoll(addr, topic string, n int) (time.Duration, error) {
	c, id, err := sdk(addr, topic, false)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	consumer, err := iggcon.NewIdentifier(uint32(1))
	if err != nil {
		return 0, err
	}
	partition := uint32(0)
	began := time.Now()
	for got := 0; got < n; {
		polled, err := c.PollMessages(id, id, iggcon.NewSingleConsumer(consumer), iggcon.OffsetPollingStrategy(uint64(got)), iggyBatch, false, &partition)
		if err != nil {
			return 0, err
		}
		got += len(polled.Messages)
	}
	return time.Since(began), nil
}

// iggySingles sends messages one by one and returns the median time in µs.
func iggySingles(addr, topic string, n int) (float64, error) {
	c, id, err := sdk(addr, topic, true)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	one, err := messages(1)
	if err != nil {
		return 0, err
	}
	var took []float64
	for range n {
		began := time.Now()
		if err := c.SendMessages(id, id, iggcon.PartitionId(0), one); err != nil {
			return 0, err
		}
		took = append(took, float64(time.Since(began).Nanoseconds())/1e3)
	}
	return median(took), nil
}
