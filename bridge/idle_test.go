package bridge

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestIdleConsumersCostNextToNothing counts the calls to Iggy that a thousand
// consumers cause who wait for ten seconds of virtual time, and fetch every 500 ms.
func TestIdleConsumersCostNextToNothing(t *testing.T) {
	t.Parallel()
	for _, topics := range []int{1, 10, 500} {
		synctest.Test(t, func(t *testing.T) {
			f := newFakeIggy()
			b, err := New(f.config())
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Start(context.Background()); err != nil {
				t.Fatal(err)
			}
			defer closeBridge(t, b)
			synctest.Wait()
			var all []*Topic
			for i := range topics {
				topic, err := b.EnsureStreamAndTopic(context.Background(), fmt.Sprint("t", i), TopicSpec{Partitions: 1})
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, topic)
			}
			before := f.count("topic", "read")
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			for i := range 1000 {
				go idle(ctx, t, b, all[i%topics])
			}
			<-ctx.Done()
			synctest.Wait()
			calls := f.count("topic", "read") - before
			// One look at each topic in 250 ms, or 4 ms after the one before; first
			// looks at each partition, until that pace is found; and the catalog's own
			// rounds.
			limit := min(topics*41, 2600) + 10*topics + 200
			if calls > limit {
				t.Errorf("%d topics: %d calls in ten seconds, expected %d at most", topics, calls, limit)
			}
			t.Logf("%d topics: %d calls", topics, calls)
		})
	}
}

// idle is a consumer that keeps up with a topic to which nobody writes.
func idle(ctx context.Context, t *testing.T, b *Bridge, topic *Topic) {
	for ctx.Err() == nil {
		got, err := b.Fetch(context.Background(), topic, 0, FetchSpec{MaxBytes: 1 << 20, AtLeastOne: true})
		if err != nil || len(got.Records) != 0 {
			t.Errorf("%d batches, %v", len(got.Records), err)
			return
		}
		w := b.Watch([]TopicPartition{{Topic: topic, Partition: 0, Offset: got.HighWatermark}})
		select {
		case <-w.C:
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
		}
		w.Close()
	}
}

func (f *fakeIggy) count(ops ...string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, op := range ops {
		n += f.calls[op]
	}
	return n
}
