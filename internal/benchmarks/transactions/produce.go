package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// kind is one of the ways to produce that are compared.
type kind struct {
	name     string
	opts     []kgo.Opt
	interval time.Duration
	// of is the kind that this one is compared with.
	of *kind

	speeds []float64 // records/s
	costs  []float64 // processor time of the bridge, µs per record
	spans  []float64 // time between commits, ms
}

// produce compares producing with and without idempotence and transactions.
func produce(ctx context.Context, o *options, b *bridge) error {
	linger := kgo.ProducerLinger(5 * time.Millisecond)
	plain := &kind{name: "without idempotence", opts: []kgo.Opt{linger, kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(inFlight)}}
	idempotent := &kind{name: "idempotent", of: plain, opts: []kgo.Opt{linger}}
	transactional := &kind{
		name: fmt.Sprintf("transactional, a commit every %v", o.interval), of: idempotent, interval: o.interval,
		opts: []kgo.Opt{linger, kgo.TransactionalID("bench-produce")},
	}
	kinds := []*kind{plain, idempotent, transactional}
	// A round that does not count: what starts has costs of its own.
	for round := range o.rounds + 1 {
		for i := range kinds {
			k := kinds[(i+round)%len(kinds)] // nobody is always the first
			if err := k.measure(ctx, o, b, round); err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
		}
	}
	rows := make([][]string, len(kinds))
	for i, k := range kinds {
		rows[i] = k.row(o)
	}
	table([]string{
		fmt.Sprintf("produce, %d records of %d bytes, %d partitions, medians of %d", o.records, o.recordSize, o.partitions, o.rounds),
		"records/s", "MB/s", "of the row above, %", "time from commit to commit, ms", "processor of the bridge, µs per record",
	}, rows...)
	return nil
}

// measure produces once.
func (k *kind) measure(ctx context.Context, o *options, b *bridge, round int) error {
	topic := fmt.Sprintf("produce-%d", round)
	return withTopic(ctx, b.kafka, topic, o.partitions, func() error {
		c, err := client(b.kafka, k.opts...)
		if err != nil {
			return err
		}
		defer c.Close()
		w := &writer{client: c, topic: topic, partitions: o.partitions, value: value(o.recordSize)}
		// Connections, metadata and the producer's id come before.
		if _, err := w.writeAll(ctx, o.partitions, k.interval); err != nil {
			return err
		}
		before, err := b.cpu()
		if err != nil {
			return err
		}
		began := time.Now()
		commits, err := w.writeAll(ctx, o.records, k.interval)
		if err != nil {
			return err
		}
		took := time.Since(began)
		after, err := b.cpu()
		if err != nil || round == 0 {
			return err
		}
		k.speeds = append(k.speeds, float64(o.records)/took.Seconds())
		k.costs = append(k.costs, float64((after-before).Microseconds())/float64(o.records))
		if commits > 0 {
			k.spans = append(k.spans, took.Seconds()*1e3/float64(commits))
		}
		return nil
	})
}

func (k *kind) row(o *options) []string {
	speed, of, span := quantile(k.speeds, 0.5), "", ""
	if k.of != nil {
		// Each round by itself: what slows the machine slows both.
		ratios := make([]float64, len(k.speeds))
		for i := range ratios {
			ratios[i] = 100 * k.speeds[i] / k.of.speeds[i]
		}
		of = fmt.Sprintf("%.1f", quantile(ratios, 0.5))
	}
	if len(k.spans) > 0 {
		span = fmt.Sprintf("%.1f", quantile(k.spans, 0.5))
	}
	return []string{
		k.name, fmt.Sprintf("%.0f", speed), fmt.Sprintf("%.0f", speed*float64(o.recordSize)/1e6), of, span,
		fmt.Sprintf("%.2f", quantile(k.costs, 0.5)),
	}
}
