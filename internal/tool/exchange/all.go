package exchange

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"kafka-iggy-bridge/internal/tool/corpus"
)

// Counts are how many requests ended in each status.
type Counts map[Status]int

// Failed is the number of requests whose status speaks of a fault.
func (c Counts) Failed() int {
	n := 0
	for s, k := range c {
		if s.Failed() {
			n += k
		}
	}
	return n
}

// String lists all counts.
func (c Counts) String() string {
	total := 0
	parts := make([]string, len(Statuses))
	for i, s := range Statuses {
		total += c[s]
		parts[i] = fmt.Sprintf("%d %s", c[s], s)
	}
	return fmt.Sprintf("%d requests: %s", total, strings.Join(parts, ", "))
}

// SendAll sends requests, at most so many at a time, and reports each outcome in
// the order of the requests. The error is that of the context.
func (s Server) SendAll(ctx context.Context, requests []*corpus.Exchange, concurrency int, report func(Outcome)) (Counts, error) {
	outcomes := make([]chan Outcome, len(requests))
	for i := range outcomes {
		outcomes[i] = make(chan Outcome, 1)
	}
	next := make(chan int)
	var workers sync.WaitGroup
	defer workers.Wait()
	for range min(concurrency, len(requests)) {
		workers.Go(func() {
			for i := range next {
				outcomes[i] <- s.Send(ctx, requests[i])
			}
		})
	}
	workers.Go(func() {
		defer close(next)
		for i := range requests {
			next <- i
		}
	})
	// Every outcome is received, also when the context ends: then each comes at
	// once.
	counts := Counts{}
	for i := range outcomes {
		out := <-outcomes[i]
		if ctx.Err() == nil {
			counts[out.Status]++
			report(out)
		}
	}
	return counts, ctx.Err()
}

// Print writes an outcome as a line.
func (o Outcome) Print(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%-11s %2d %s: %s\n", o.Status, o.API.Key, o.Pair, o.Detail)
	return err
}
