package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// commit measures transactions with a record in each of several partitions.
func commit(ctx context.Context, o *options, b *bridge) error {
	const topic = "commit"
	return withTopic(ctx, b.kafka, topic, o.commitPartitions, func() error {
		c, err := client(b.kafka, kgo.ProducerLinger(0), kgo.TransactionalID("bench-commit"))
		if err != nil {
			return err
		}
		defer c.Close()
		w := &writer{client: c, topic: topic, partitions: o.commitPartitions, value: value(100)}
		var first, end []time.Duration
		for i := range o.commits + 1 {
			began, ended, err := w.transaction(ctx)
			if err != nil {
				return err
			}
			// The first transaction makes connections, and has none before it.
			if i > 0 {
				first, end = append(first, began), append(end, ended)
			}
		}
		table([]string{fmt.Sprintf("%d transactions over %d partitions", o.commits, o.commitPartitions), "median ms", "99 % below ms"},
			[]string{"EndTransaction", ms(quantile(end, 0.5)), ms(quantile(end, 0.99))},
			[]string{"then, until the next one's first record is written", ms(quantile(first, 0.5)), ms(quantile(first, 0.99))})
		return nil
	})
}

// transaction writes a record to each partition and commits. It returns how long
// the first record took, and the commit.
func (w *writer) transaction(ctx context.Context) (first, end time.Duration, err error) {
	began := time.Now()
	if err := w.client.BeginTransaction(); err != nil {
		return 0, 0, err
	}
	w.write(ctx, 0)
	if err := w.flush(ctx); err != nil {
		return 0, 0, err
	}
	first = time.Since(began)
	for i := 1; i < w.partitions; i++ {
		w.write(ctx, i)
	}
	if err := w.flush(ctx); err != nil {
		return 0, 0, err
	}
	began = time.Now()
	err = w.client.EndTransaction(ctx, kgo.TryCommit)
	return first, time.Since(began), err
}
