// Command engine measures the embedded engine, in a process of its own, through
// Iggy's Go SDK, and prints tables in Markdown:
//
//	make build && go run ./internal/benchmarks/engine -binary bin/kafka-iggy-bridge
//
// With IGGY_ADDRESS, IGGY_USERNAME and IGGY_PASSWORD set, a real server is measured
// beside it, in turns. Everything runs on loopback and without fsync; client and
// server share the machine.
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
	binary   string
	rounds   int
	megabyte int
	singles  int
	topics   int
	idle     time.Duration
	logMB    int
}

func main() {
	var o options
	flag.StringVar(&o.binary, "binary", "bin/kafka-iggy-bridge", "the program whose engine command is run")
	flag.IntVar(&o.rounds, "rounds", 5, "measurements of each cell")
	flag.IntVar(&o.megabyte, "megabytes", 256, "what one throughput measurement moves")
	flag.IntVar(&o.singles, "singles", 20_000, "requests of one measurement with single messages")
	flag.IntVar(&o.topics, "topics", 1_000, "topics of the idle engine, three partitions each; 0 leaves that out")
	flag.DurationVar(&o.idle, "idle", 20*time.Second, "how long the idle engine is watched")
	flag.IntVar(&o.logMB, "log", 4_096, "megabytes of the log whose opening is timed; 0 leaves that out")
	flag.Parse()
	log.SetOutput(io.Discard) // the SDK logs each login
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "engine benchmark:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if err := throughput(ctx, o); err != nil {
		return err
	}
	if o.topics > 0 {
		if err := idleCost(ctx, o); err != nil {
			return fmt.Errorf("idle engine: %w", err)
		}
	}
	if o.logMB > 0 {
		if err := startup(ctx, o); err != nil {
			return fmt.Errorf("start-up: %w", err)
		}
	}
	return nil
}

// target is a server under measurement.
type target struct {
	name, address, user, password string
}

// targets are the engine, which is started, and the real server if there is one.
func targets(ctx context.Context, o options) ([]target, *process, error) {
	p, err := startEngine(ctx, o.binary, "")
	if err != nil {
		return nil, nil, err
	}
	all := []target{{"engine", p.address, user, password}}
	if address := os.Getenv("IGGY_ADDRESS"); address != "" {
		all = append(all, target{"Iggy", address, os.Getenv("IGGY_USERNAME"), os.Getenv("IGGY_PASSWORD")})
	}
	return all, p, nil
}

// throughput prints a row for each kind of request, batch and number of connections.
func throughput(ctx context.Context, o options) error {
	all, p, err := targets(ctx, o)
	if err != nil {
		return err
	}
	defer p.stop()
	fmt.Printf("Messages of 1 KB through the Go SDK, fsync never; medians of %d.\n\n", o.rounds)
	fmt.Print("| what | batch | connections |")
	for _, t := range all {
		fmt.Printf(" %s, MB/s | %s, requests/s |", t.name, t.name)
	}
	fmt.Println(" processor of the engine, ns per message |")
	fmt.Println("| --- | ---: | ---: |" + repeat(" ---: | ---: |", len(all)) + " ---: |")
	for _, kind := range []kind{sends, polls} {
		for _, batch := range []int{1, 100, 1000} {
			for _, conns := range []int{1, 4} {
				if err := cell(o, all, p, &work{kind: kind, batch: batch, conns: conns}); err != nil {
					return fmt.Errorf("%s of %d: %w", kind, batch, err)
				}
			}
		}
	}
	return nil
}

// cell measures one row: each target in turn, several times.
func cell(o options, all []target, p *process, w *work) error {
	w.requests = max(o.megabyte*1_000_000/messageSize/w.batch/w.conns, 1)
	if w.batch == 1 {
		w.requests = o.singles / w.conns
	}
	rates := make([][]float64, len(all))
	var processor []float64
	for range o.rounds {
		for i, t := range all {
			took, err := w.measure(t, p)
			if err != nil {
				return err
			}
			rates[i] = append(rates[i], float64(w.requests*w.conns)/took.passed.Seconds())
			if i == 0 {
				processor = append(processor, float64(took.processor.Nanoseconds())/float64(w.requests*w.conns*w.batch))
			}
		}
	}
	fmt.Printf("| %s | %d | %d |", w.kind, w.batch, w.conns)
	for _, r := range rates {
		perSecond := median(r)
		fmt.Printf(" %.0f | %.0f |", perSecond*float64(w.batch)*messageSize/1e6, perSecond)
	}
	fmt.Printf(" %.0f |\n", median(processor))
	return nil
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

func repeat(s string, n int) string {
	out := ""
	for range n {
		out += s
	}
	return out
}
