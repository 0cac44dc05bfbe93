// Command groups measures what Kafka's consumer groups cost in the built binary,
// on its embedded engine, and prints tables in Markdown:
//
//	make build && go run ./internal/benchmarks/groups -binary bin/kafka-iggy-bridge
//
// Its clients are bare connections that speak the protocol, one for each member,
// so that they cost this process little. With -address it measures a broker that
// runs already, for comparison; what needs the broker's process is left out then.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// options are what one run measures.
type options struct {
	binary  string
	address string
	pid     int
	only    string

	groups, members int
	interval, watch time.Duration

	rebalanced, partitions, rounds int

	rate, connections int
	commitTime        time.Duration

	loadGroups int
}

// benchmark is one thing to measure.
type benchmark struct {
	name string
	run  func(context.Context, *options, *broker) error
}

var benchmarks = []benchmark{
	{"heartbeats", heartbeats},
	{"rebalance", rebalance},
	{"commits", commits},
	{"load", load},
}

func main() {
	var o options
	flag.StringVar(&o.binary, "binary", "bin/kafka-iggy-bridge", "the bridge")
	flag.StringVar(&o.address, "address", "", "a broker that runs already, instead of the binary")
	flag.IntVar(&o.pid, "pid", 0, "process of that broker")
	flag.StringVar(&o.only, "only", "", "what to measure, separated by commas: "+strings.Join(names(), ", "))
	flag.IntVar(&o.groups, "groups", 1_000, "heartbeats: groups")
	flag.IntVar(&o.members, "members", 5, "heartbeats: members of each")
	flag.DurationVar(&o.interval, "interval", 3*time.Second, "heartbeats: time between two of a member")
	flag.DurationVar(&o.watch, "watch", time.Minute, "heartbeats: how long they are watched")
	flag.IntVar(&o.rebalanced, "rebalanced", 100, "rebalance: members")
	flag.IntVar(&o.partitions, "partitions", 1_000, "rebalance and load: partitions of the topic")
	flag.IntVar(&o.rounds, "rounds", 9, "rebalance: how many")
	flag.IntVar(&o.rate, "rate", 5_000, "commits: in a second")
	flag.IntVar(&o.connections, "connections", 32, "commits: connections")
	flag.DurationVar(&o.commitTime, "commit-time", 20*time.Second, "commits: how long")
	flag.IntVar(&o.loadGroups, "load-groups", 1_000, "load: groups that have an offset for each partition of the topic")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	if err := run(ctx, &o); err != nil {
		fmt.Fprintln(os.Stderr, "groups benchmark:", err)
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

// run measures what was asked for, each with a broker of its own: none is to be
// blamed for the memory of another.
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
	p, err := startBroker(ctx, o)
	if err != nil {
		return err
	}
	defer p.close()
	return b.run(ctx, o, p)
}

// table prints a table in Markdown; the first column is text.
func table(head []string, rows ...[]string) {
	marks := slices.Repeat([]string{"---:"}, len(head))
	marks[0] = "---"
	fmt.Println()
	for _, row := range append([][]string{head, marks}, rows...) {
		fmt.Println("| " + strings.Join(row, " | ") + " |")
	}
}

// quantile is the value that the part q of the values does not exceed.
func quantile(values []time.Duration, q float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[min(int(q*float64(len(values))), len(values)-1)]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d.Microseconds())/1e3) }
