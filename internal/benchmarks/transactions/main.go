// Command transactions measures what idempotence and transactions cost in the
// built binary, on its embedded engine, and prints tables in Markdown:
//
//	make build && go run ./internal/benchmarks/transactions -binary bin/kafka-iggy-bridge
//
// The client is franz-go, the engine writes without fsync. What is compared is
// measured in turn, several times, each time into a new topic; the tables give
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
	"strings"
	"time"
)

// options are what one run measures.
type options struct {
	binary string
	only   string

	rounds     int
	records    int
	recordSize int
	partitions int
	interval   time.Duration

	commits, commitPartitions int

	rebuilt      int
	rebuiltSizes sizes
}

// benchmark is one thing to measure.
type benchmark struct {
	name string
	run  func(context.Context, *options, *bridge) error
}

var benchmarks = []benchmark{
	{"produce", produce},
	{"commit", commit},
	{"rebuild", rebuild},
}

func main() {
	o := options{rebuiltSizes: sizes{100, 1000}}
	flag.StringVar(&o.binary, "binary", "bin/kafka-iggy-bridge", "the bridge")
	flag.StringVar(&o.only, "only", "", "what to measure, separated by commas: "+strings.Join(names(), ", "))
	flag.IntVar(&o.rounds, "rounds", 5, "produce: measurements of each kind")
	flag.IntVar(&o.records, "records", 500_000, "produce: records in one measurement")
	flag.IntVar(&o.recordSize, "record-size", 1000, "produce: size of a record's value in bytes")
	flag.IntVar(&o.partitions, "partitions", 1, "produce: partitions of the topic")
	flag.DurationVar(&o.interval, "interval", 100*time.Millisecond, "produce: time from one commit to the next")
	flag.IntVar(&o.commits, "commits", 500, "commit: transactions")
	flag.IntVar(&o.commitPartitions, "commit-partitions", 10, "commit: partitions in each")
	flag.IntVar(&o.rebuilt, "rebuild-records", 1_000_000, "rebuild: records in the partition")
	flag.Var(&o.rebuiltSizes, "rebuild-sizes", "rebuild: sizes of a record's value in bytes, separated by commas")
	flag.Parse()
	log.SetOutput(io.Discard) // the SDK logs each login
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	if err := run(ctx, &o); err != nil {
		fmt.Fprintln(os.Stderr, "transactions benchmark:", err)
		os.Exit(1)
	}
}

func names() []string {
	all := make([]string, len(benchmarks))
	for i, b := range benchmarks {
		all[i] = b.name
	}
	return all
}

// run measures what was asked for, each with a bridge of its own.
func run(ctx context.Context, o *options) error {
	wanted := names()
	if o.only != "" {
		wanted = strings.Split(o.only, ",")
	}
	for _, name := range wanted {
		if !slices.Contains(names(), name) {
			return fmt.Errorf("-only=%s: %q is none of %s", o.only, name, strings.Join(names(), ", "))
		}
	}
	for _, b := range benchmarks {
		if !slices.Contains(wanted, b.name) {
			continue
		}
		if err := measure(ctx, o, b); err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
	}
	return nil
}

func measure(ctx context.Context, o *options, b benchmark) error {
	p, err := startBridge(ctx, o.binary)
	if err != nil {
		return err
	}
	defer p.close()
	return b.run(ctx, o, p)
}
