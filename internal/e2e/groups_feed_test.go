package e2e

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// feed writes to all partitions of a topic, in turn and without pause, until it
// is stopped.
type feed struct {
	stop  context.CancelFunc
	ended chan struct{}
	mu    sync.Mutex
	acked map[int32]int
	errs  []error
}

// startFeed starts a producer that writes a record to each partition every few
// milliseconds.
func startFeed(t *testing.T, addr, topic string, partitions int32) *feed {
	t.Helper()
	c := franz(t, addr, kgo.ProducerLinger(0), kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }))
	ctx, stop := context.WithCancel(t.Context())
	f := &feed{stop: stop, ended: make(chan struct{}), acked: map[int32]int{}}
	go func() {
		defer close(f.ended)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			for p := range partitions {
				c.Produce(context.WithoutCancel(ctx), &kgo.Record{Topic: topic, Partition: p, Value: fmt.Append(nil, i)}, f.done)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				if err := c.Flush(context.WithoutCancel(ctx)); err != nil {
					f.fail(err)
				}
				return
			}
		}
	}()
	t.Cleanup(stop)
	return f
}

func (f *feed) done(r *kgo.Record, err error) {
	if err != nil {
		f.fail(err)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.acked[r.Partition]++
}

func (f *feed) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errs = append(f.errs, err)
}

// finish ends the feed and returns how many records were acknowledged.
func (f *feed) finish(t *testing.T) int {
	t.Helper()
	f.stop()
	select {
	case <-f.ended:
	case <-time.After(stepTime):
		t.Fatalf("the producer did not end within %s", stepTime)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := errors.Join(f.errs...); err != nil {
		t.Fatalf("produce: %v", err)
	}
	total := 0
	for _, n := range f.acked {
		total += n
	}
	return total
}
