package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Partitions of the topics of rebuild.
const (
	fullPartition int32 = iota
	emptyPartition
	// readyPartition takes a record before the clock runs.
	readyPartition
	rebuildPartitions
)

// rebuild measures how long the first write to a partition waits, after a kill
// -9, for the state of the producers that wrote to it.
func rebuild(ctx context.Context, o *options, b *bridge) error {
	var rows [][]string
	for _, size := range o.rebuiltSizes {
		for _, c := range []struct {
			name string
			fill func(ctx context.Context, o *options, b *bridge, topic string, size int) error
		}{
			{"as the bridge kept it", fillByKafka},
			{"none but the first", fillByIggy},
		} {
			topic := fmt.Sprintf("rebuild-%d", len(rows))
			var w firstWrites
			err := withTopic(ctx, b.kafka, topic, int(rebuildPartitions), func() error {
				err := c.fill(ctx, o, b, topic, size)
				if err == nil {
					err = w.measure(ctx, o, b, topic)
				}
				return err
			})
			if err != nil {
				return fmt.Errorf("%s: %w", topic, err)
			}
			rows = append(rows, []string{
				fmt.Sprintf("%d × %d bytes", o.rebuilt, size), c.name, ms(w.full), ms(w.empty), fmt.Sprintf("%.2f", (w.full - w.empty).Seconds()),
				fmt.Sprintf("%.2f", w.cpu.Seconds()),
			})
		}
	}
	table([]string{"idempotent records", "snapshot", "first write after kill -9, ms", "the same into an empty partition, ms", "rebuild, s", "processor time of it, s"}, rows...)
	return nil
}

// fillByKafka writes the records as a producer does. The bridge stores snapshots
// meanwhile as it sees fit.
func fillByKafka(ctx context.Context, o *options, b *bridge, topic string, size int) error {
	c, err := client(b.kafka, kgo.ProducerLinger(5*time.Millisecond))
	if err != nil {
		return err
	}
	defer c.Close()
	w := &writer{client: c, topic: topic, partitions: 1, value: value(size)}
	_, err = w.writeAll(ctx, o.rebuilt, 0)
	return err
}

// firstWrites is how long the first idempotent writes after a kill -9 took, and
// the processor time of the bridge for that into the full partition.
type firstWrites struct{ full, empty, cpu time.Duration }

// measure kills the bridge, starts it, and writes.
func (w *firstWrites) measure(ctx context.Context, o *options, b *bridge, topic string) error {
	if err := b.killAndStart(ctx); err != nil {
		return err
	}
	c, err := client(b.kafka, kgo.ProducerLinger(0))
	if err != nil {
		return err
	}
	defer c.Close()
	write := func(partition int32) (time.Duration, error) {
		began := time.Now()
		err := c.ProduceSync(ctx, &kgo.Record{Topic: topic, Partition: partition, Value: []byte("first")}).FirstErr()
		return time.Since(began), err
	}
	// Connections, metadata and a producer id of its own.
	if _, err := write(readyPartition); err != nil {
		return err
	}
	before, err := b.cpu()
	if err != nil {
		return err
	}
	if w.full, err = write(fullPartition); err != nil {
		return err
	}
	after, err := b.cpu()
	if err != nil {
		return err
	}
	w.cpu = after - before
	if w.empty, err = write(emptyPartition); err != nil {
		return err
	}
	return checkProducers(ctx, c, topic, int32(o.rebuilt-1))
}

// checkProducers makes sure that the partition knows the producer's last
// sequence number again.
func checkProducers(ctx context.Context, c *kgo.Client, topic string, last int32) error {
	topics := kadm.TopicsSet{}
	topics.Add(topic, fullPartition)
	described, err := kadm.NewClient(c).DescribeProducers(ctx, topics)
	if err != nil {
		return err
	}
	found := int32(math.MinInt32)
	described.EachProducer(func(p kadm.DescribedProducer) { found = max(found, p.LastSequence) })
	if found != last {
		return fmt.Errorf("the partition knows sequence %d as the last one, not %d", found, last)
	}
	return nil
}
