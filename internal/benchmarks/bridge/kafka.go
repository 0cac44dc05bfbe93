package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// recordSize is the size of a value in bytes.
const recordSize = 1000

func value() []byte {
	v := make([]byte, recordSize)
	for i := range v {
		v[i] = byte(i)
	}
	return v
}

func client(addr string, opts ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.NoCompression())}, opts...)...)
}

func createTopic(ctx context.Context, c *kgo.Client, topic string) error {
	_, err := kadm.NewClient(c).CreateTopic(ctx, 1, 1, nil, topic)
	return err
}

func kafkaProduce(ctx context.Context, addr, topic string, n int) (time.Duration, error) {
	c, err := client(addr, kgo.ProducerLinger(5*time.Millisecond), kgo.MaxBufferedRecords(20_000))
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if err := createTopic(ctx, c, topic); err != nil {
		return 0, err
	}
	v := value()
	failed := make(chan error, 1)
	began := time.Now()
	for range n {
		c.Produce(ctx, &kgo.Record{Topic: topic, Value: v}, func(_ *kgo.Record, err error) {
			if err != nil {
				select {
				case failed <- err:
				default:
				}
			}
		})
	}
	if err := c.Flush(ctx); err != nil {
		return 0, err
	}
	took := time.Since(began)
	select {
	case err := <-failed:
		return 0, err
	default:
		return took, nil
	}
}

func kafkaConsume(ctx context.Context, addr, topic string, n int) (time.Duration, error) {
	c, err := client(addr, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))
	if err != nil {
		return 0, err
	}
	defer c.Close()
	began := time.Now()
	for got := 0; got < n; {
		f := c.PollFetches(ctx)
		if err := f.Err(); err != nil {
			return 0, err
		}
		got += f.NumRecords()
	}
	return time.Since(began), nil
}

// kafkaSingles produces records one by one and returns the median time in µs.
func kafkaSingles(ctx context.Context, addr, topic string, n int) (float64, error) {
	c, err := client(addr, kgo.RequiredAcks(kgo.AllISRAcks()), kgo.ProducerLinger(0))
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if err := createTopic(ctx, c, topic); err != nil {
		return 0, err
	}
	v := value()
	var took []float64
	for i := range n {
		began := time.Now()
		if err := c.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: v}).FirstErr(); err != nil {
			return 0, fmt.Errorf("produce %d: %w", i, err)
		}
		took = append(took, float64(time.Since(began).Nanoseconds())/1e3)
	}
	return median(took), nil
}
