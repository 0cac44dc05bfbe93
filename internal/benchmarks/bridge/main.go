// Command bridge measures the built binary beside Iggy's SDK alone, both on the
// one engine that the binary embeds, and prints a table in Markdown:
//
//	make build && go run ./internal/benchmarks/bridge -binary bin/kafka-iggy-bridge
//
// Everything runs on loopback. Kafka's side is franz-go, Iggy's the Go SDK over one
// connection; each pair is measured in turn, several times, and the table gives
// medians.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"time"
)

// options are what one run measures.
type options struct {
	binary    string
	rounds    int
	records   int
	singles   int
	consumers int
	idle      time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.binary, "binary", "bin/kafka-iggy-bridge", "the bridge")
	flag.IntVar(&o.rounds, "rounds", 5, "measurements of each pair")
	flag.IntVar(&o.records, "records", 200_000, "1 KB records in one throughput measurement")
	flag.IntVar(&o.singles, "singles", 2_000, "single produces in one latency measurement")
	flag.IntVar(&o.consumers, "consumers", 1_000, "idle consumers")
	flag.DurationVar(&o.idle, "idle", 20*time.Second, "how long the idle consumers are watched")
	flag.Parse()
	log.SetOutput(io.Discard) // the SDK logs each login
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bridge benchmark:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	p, err := startProcess(ctx, o.binary)
	if err != nil {
		return err
	}
	defer p.stop()
	// First, in a fresh process: what idle consumers cost must not be hidden by,
	// nor blamed for, the memory of what comes behind.
	if err := idleConsumers(ctx, o, p); err != nil {
		return err
	}
	fmt.Printf("\nfranz-go through the bridge beside the SDK alone, one engine under both (fsync never), 1 KB records; medians of %d.\n\n", o.rounds)
	fmt.Println("| what | bridge | SDK alone | ratio |")
	fmt.Println("| --- | ---: | ---: | ---: |")
	if err := throughput(ctx, o, p); err != nil {
		return err
	}
	return latency(ctx, o, p)
}

// throughput writes and reads records both ways.
func throughput(ctx context.Context, o options, p *process) error {
	var produce, send, fetch, poll []float64
	for i := range o.rounds {
		kafkaTopic, iggyTopic := fmt.Sprintf("kafka-%d", i), fmt.Sprintf("iggy-%d", i)
		for _, step := range []struct {
			into *[]float64
			do   func() (time.Duration, error)
		}{
			{&produce, func() (time.Duration, error) { return kafkaProduce(ctx, p.kafka, kafkaTopic, o.records) }},
			{&send, func() (time.Duration, error) { return iggySend(p.iggy, iggyTopic, o.records) }},
			{&fetch, func() (time.Duration, error) { return kafkaConsume(ctx, p.kafka, kafkaTopic, o.records) }},
			{&poll, func() (time.Duration, error) { return iggyPoll(p.iggy, iggyTopic, o.records) }},
		} {
			took, err := step.do()
			if err != nil {
				return err
			}
			*step.into = append(*step.into, float64(o.records)*recordSize/1e6/took.Seconds())
		}
	}
	row("produce, MB/s", median(produce), median(send))
	row("fetch, MB/s", median(fetch), median(poll))
	return nil
}

// latency writes single records both ways.
func latency(ctx context.Context, o options, p *process) error {
	var bridge, sdk []float64
	for i := range o.rounds {
		b, err := kafkaSingles(ctx, p.kafka, fmt.Sprintf("single-kafka-%d", i), o.singles)
		if err != nil {
			return err
		}
		s, err := iggySingles(p.iggy, fmt.Sprintf("single-iggy-%d", i), o.singles)
		if err != nil {
			return err
		}
		bridge, sdk = append(bridge, b), append(sdk, s)
	}
	b, s := median(bridge), median(sdk)
	row("single produce acks=all, median µs", b, s)
	fmt.Printf("| added by the bridge, µs | %.0f | | |\n", b-s)
	return nil
}

func row(what string, bridge, sdk float64) {
	fmt.Printf("| %s | %.0f | %.0f | %.2f |\n", what, bridge, sdk, bridge/sdk)
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
