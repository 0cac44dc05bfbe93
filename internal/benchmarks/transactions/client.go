package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// inFlight is how many requests a producer may have on their way: as many as an
// idempotent one is allowed.
const inFlight = 5

// client is a client that says where its records go; acks are those of all
// replicas, as is franz-go's default.
func client(address string, opts ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(address),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.NoCompression()),
		// Enough for what is on its way, and no more: a commit waits for all of it.
		kgo.MaxBufferedRecords(10_000),
	}, opts...)...)
}

// withTopic calls work with the name of a new topic, which is deleted behind it:
// the disk is to hold one measurement at a time.
func withTopic(ctx context.Context, address, name string, partitions int, work func() error) error {
	c, err := client(address)
	if err != nil {
		return err
	}
	defer c.Close()
	admin := kadm.NewClient(c)
	if _, err := admin.CreateTopic(ctx, int32(partitions), 1, nil, name); err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	_, err = admin.DeleteTopic(ctx, name)
	return err
}

// value is a record's value of a size in bytes.
func value(size int) []byte {
	v := make([]byte, size)
	for i := range v {
		v[i] = byte(i)
	}
	return v
}

// writer produces records to a topic's partitions in turn, and keeps the first
// error.
type writer struct {
	client     *kgo.Client
	topic      string
	partitions int
	value      []byte
	failed     atomic.Pointer[error]
}

func (w *writer) write(ctx context.Context, i int) {
	r := &kgo.Record{Topic: w.topic, Partition: int32(i % w.partitions), Value: w.value}
	w.client.Produce(ctx, r, func(_ *kgo.Record, err error) {
		if err != nil {
			w.failed.CompareAndSwap(nil, &err)
		}
	})
}

// flush waits for what was written.
func (w *writer) flush(ctx context.Context) error {
	if err := w.client.Flush(ctx); err != nil {
		return err
	}
	if err := w.failed.Load(); err != nil {
		return fmt.Errorf("produce to %s: %w", w.topic, *err)
	}
	return nil
}

// end commits the writer's transaction.
func (w *writer) end(ctx context.Context) error {
	if err := w.flush(ctx); err != nil {
		return err
	}
	return w.client.EndTransaction(ctx, kgo.TryCommit)
}

// writeAll writes n records; with an interval, which is for clients with
// transactions, it commits each time that is over.
func (w *writer) writeAll(ctx context.Context, n int, interval time.Duration) (commits int, err error) {
	if interval == 0 {
		for i := range n {
			w.write(ctx, i)
		}
		return 0, w.flush(ctx)
	}
	if err := w.client.BeginTransaction(); err != nil {
		return 0, err
	}
	began := time.Now()
	for i := range n {
		w.write(ctx, i)
		if time.Since(began) < interval {
			continue
		}
		if err := w.end(ctx); err != nil {
			return commits, err
		}
		commits++
		if err := w.client.BeginTransaction(); err != nil {
			return commits, err
		}
		began = time.Now()
	}
	return commits + 1, w.end(ctx)
}
