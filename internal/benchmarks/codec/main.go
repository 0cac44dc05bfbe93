// Command codec measures the generated codec beside franz-go's kmsg in one run
// and prints a table in Markdown:
//
//	go run ./internal/benchmarks/codec
//
// Each pair is measured in turn several times; the table gives the medians, so
// that a machine whose speed drifts treats both alike. Sarama is not in it: its
// codec is not exported.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"

	"kafka-iggy-bridge/generated"
)

func main() {
	testing.Init()
	rounds := flag.Int("rounds", 5, "measurements of each pair")
	duration := flag.String("time", "200ms", "length of one measurement")
	flag.Parse()
	if err := flag.Set("test.benchtime", *duration); err != nil {
		fmt.Fprintln(os.Stderr, "codec:", err)
		os.Exit(2)
	}
	fmt.Printf("Kafka %s messages; median of %d runs of %s each.\n\n", generated.KafkaVersion, *rounds, *duration)
	fmt.Println("| message | bytes | decode ns | kmsg ns | ratio | allocs | kmsg allocs | encode ns | kmsg ns | ratio | allocs | kmsg allocs |")
	fmt.Println("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
	for _, c := range cases() {
		decode := pair(*rounds, c.decode, c.kmsgDecode)
		encode := pair(*rounds, c.encode, c.kmsgEncode)
		fmt.Printf("| %s | %d | %s | %s |\n", c.name, c.size, decode, encode)
	}
}

// result holds the medians of one pair.
type result struct{ ours, theirs measurement }

type measurement struct {
	ns     float64
	allocs int64
}

func (r result) String() string {
	return fmt.Sprintf("%.0f | %.0f | %.2f | %d | %d", r.ours.ns, r.theirs.ns, r.ours.ns/r.theirs.ns, r.ours.allocs, r.theirs.allocs)
}

// pair measures two functions in turn and returns the medians.
func pair(rounds int, ours, theirs func()) result {
	var a, b []measurement
	for range rounds {
		a = append(a, measure(ours))
		b = append(b, measure(theirs))
	}
	return result{median(a), median(b)}
}

func measure(f func()) measurement {
	r := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f()
		}
	})
	return measurement{float64(r.T.Nanoseconds()) / float64(r.N), r.AllocsPerOp()}
}

func median(m []measurement) measurement {
	slices.SortFunc(m, func(a, b measurement) int {
		if a.ns < b.ns {
			return -1
		}
		return 1
	})
	return m[len(m)/2]
}
