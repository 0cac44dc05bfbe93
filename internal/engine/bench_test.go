package engine

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
)

// The benchmarks drive the engine through the SDK, which shares the machine: what they
// measure is both sides together.

func benchMessages(n int) []iggcon.IggyMessage {
	payload := make([]byte, 1000)
	messages := make([]iggcon.IggyMessage, n)
	for i := range messages {
		messages[i] = iggcon.IggyMessage{Header: iggcon.NewMessageHeader(iggcon.MessageID{byte(i), byte(i >> 8), 1}, 1000, 0), Payload: payload}
	}
	return messages
}

func BenchmarkSend(b *testing.B) {
	for _, batch := range []int{1, 100, 1000} {
		for _, conns := range []int{1, 4} {
			b.Run(fmt.Sprintf("batch=%d/conns=%d", batch, conns), func(b *testing.B) {
				e := startEngine(b, Options{})
				makeTopic(b, rootClient(b, e), 4)
				messages := benchMessages(batch)
				b.SetBytes(int64(batch) * 1000)
				var partition atomic.Uint32
				run(b, conns, func() func() error {
					cli, p := rootClient(b, e), partition.Add(1)-1
					mine := append([]iggcon.IggyMessage(nil), messages...)
					return func() error {
						return cli.SendMessages(numbered(0), numbered(0), iggcon.PartitionId(p), mine)
					}
				})
			})
		}
	}
}

func BenchmarkPoll(b *testing.B) {
	for _, batch := range []int{1, 100, 1000} {
		for _, conns := range []int{1, 4} {
			b.Run(fmt.Sprintf("batch=%d/conns=%d", batch, conns), func(b *testing.B) {
				e := startEngine(b, Options{})
				cli := rootClient(b, e)
				makeTopic(b, cli, 1)
				const total = 100_000
				for range total / batch {
					if err := cli.SendMessages(numbered(0), numbered(0), iggcon.PartitionId(0), benchMessages(batch)); err != nil {
						b.Fatal(err)
					}
				}
				b.SetBytes(1000 * 1000)
				run(b, conns, func() func() error {
					cli := rootClient(b, e)
					var at uint64
					partition := uint32(0)
					return func() error {
						polled, err := cli.PollMessages(numbered(0), numbered(0), iggcon.NewSingleConsumer(numbered(1)),
							iggcon.OffsetPollingStrategy(at), 1000, false, &partition)
						if err == nil && len(polled.Messages) != 1000 {
							return fmt.Errorf("%d messages came at offset %d", len(polled.Messages), at)
						}
						at = (at + 1000) % total
						return err
					}
				})
			})
		}
	}
}

// run lets conns goroutines share b.N calls of what prepare gives each.
func run(b *testing.B, conns int, prepare func() func() error) {
	b.Helper()
	calls := make([]func() error, conns)
	for i := range calls {
		calls[i] = prepare()
	}
	var left atomic.Int64
	left.Store(int64(b.N))
	failed := make(chan error, conns)
	b.ReportAllocs()
	before := processorTime(b)
	b.ResetTimer()
	for _, call := range calls {
		go func() {
			for left.Add(-1) >= 0 {
				if err := call(); err != nil {
					failed <- err
					return
				}
			}
			failed <- nil
		}()
	}
	for range calls {
		if err := <-failed; err != nil {
			b.Fatal(err)
		}
	}
	// On a machine that others use too, this says more than the time that passed.
	b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
}

// processorTime is what the process has used of the processors.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
