package e2e

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func TestRestartKeepsEverything(t *testing.T) {
	t.Parallel()
	b := start(t)
	topic := topicName(t)
	compact := "compact"
	createTopic(t, b.addr, topic, 2, map[string]*string{"cleanup.policy": &compact})
	id := topicID(t, b.addr, topic)
	keyed := stamped(1, 0, []record{{key: []byte("a"), value: []byte("1")}, {key: []byte("b")}, {key: []byte("a"), value: []byte("2")}})
	franzProduce(t, b.addr, topic, keyed)

	b.restart()
	same(t, "after a restart", franzConsume(t, b.addr, topic, 1, kgo.NewOffset().AtStart(), len(keyed)), keyed)
	more := stamped(1, int64(len(keyed)), []record{{key: []byte("c"), value: []byte("3")}})
	franzProduce(t, b.addr, topic, more)

	b.kill()
	b.run()
	all := append(keyed, more...)
	same(t, "after a kill", franzConsume(t, b.addr, topic, 1, kgo.NewOffset().AtStart(), len(all)), all)
	same(t, "by time after a kill", franzConsume(t, b.addr, topic, 1, kgo.NewOffset().AfterMilli(all[2].timestamp), 2), all[2:])
	if s, e := ends(t, b.addr, topic, 0); s != 0 || e != 0 {
		t.Errorf("the empty partition reaches from %d to %d, want 0 to 0", s, e)
	}
	if got := topicID(t, b.addr, topic); got != id {
		t.Errorf("the topic's id changed from %x to %x", id, got)
	}
	// The topic's configuration is there, too: it refuses records without a key.
	c := franz(t, b.addr)
	err := c.ProduceSync(within(t, stepTime), &kgo.Record{Topic: topic, Partition: 1, Value: []byte("no key")}).FirstErr()
	if err == nil {
		t.Error("a compacted topic took a record without a key after a restart")
	}
	b.alive()
}

// TestKillsLoseNothing kills the bridge, and the engine inside it, again and again
// while producers write. What was acknowledged must be there once, at the offset
// that was told, and in order.
func TestKillsLoseNothing(t *testing.T) {
	t.Parallel()
	const partitions, rounds = 3, 5
	b := start(t)
	topic := topicName(t)
	createTopic(t, b.addr, topic, partitions, nil)

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var acked atomic.Int64
	results := make(chan map[int64]string, partitions)
	for p := range int32(partitions) {
		go func() { results <- produceUntil(ctx, b.addr, topic, p, &acked) }()
	}
	for range rounds {
		awaitCount(t, &acked, acked.Load()+150)
		b.kill()
		b.run()
	}
	awaitCount(t, &acked, acked.Load()+150)
	stop()
	byPartition := map[int32]map[int64]string{}
	for range partitions {
		r := <-results
		byPartition[int32(r[-1][0]-'0')] = r
	}
	for p, told := range byPartition {
		delete(told, -1)
		_, end := ends(t, b.addr, topic, p)
		got := franzConsume(t, b.addr, topic, p, kgo.NewOffset().AtStart(), int(end))
		for offset, value := range told {
			if offset >= int64(len(got)) || string(got[offset].value) != value || got[offset].offset != offset {
				t.Errorf("partition %d: %q was acknowledged at %d of %d, and is not there", p, value, offset, len(got))
			}
		}
		inOrder(t, p, got)
	}
	b.alive()
}

// produceUntil writes numbered records to a partition, one after the other, until
// ctx ends, and returns those that were acknowledged by offset. The partition's
// number stands under -1.
func produceUntil(ctx context.Context, addr, topic string, p int32, acked *atomic.Int64) map[int64]string {
	told := map[int64]string{-1: strconv.Itoa(int(p))}
	c, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableIdempotentWrite(),
		kgo.MaxProduceRequestsInflightPerBroker(1), kgo.RecordRetries(0), kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }))
	if err != nil {
		return told
	}
	defer c.Close()
	for i := 0; ctx.Err() == nil; i++ {
		value := fmt.Sprintf("%d", i)
		r, err := c.ProduceSync(ctx, &kgo.Record{Topic: topic, Partition: p, Value: []byte(value)}).First()
		if err == nil {
			told[r.Offset] = value
			acked.Add(1)
		}
	}
	return told
}

// inOrder checks that the numbers of a partition rise: each was sent once.
func inOrder(t *testing.T, p int32, got []record) {
	t.Helper()
	last := -1
	for i, r := range got {
		n, err := strconv.Atoi(string(r.value))
		if err != nil {
			t.Fatalf("partition %d, offset %d: %q was never sent", p, i, r.value)
		}
		if n <= last {
			t.Fatalf("partition %d, offset %d: %d comes behind %d", p, i, n, last)
		}
		last = n
	}
}

// awaitCount waits until a counter has reached n.
func awaitCount(t *testing.T, counter *atomic.Int64, n int64) {
	t.Helper()
	deadline := time.After(stepTime)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for counter.Load() < n {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%d of %d records were acknowledged after %s", counter.Load(), n, stepTime)
		}
	}
}

func TestEndWithParkedConsumers(t *testing.T) {
	t.Parallel()
	b := start(t)
	topic := topicName(t)
	createTopic(t, b.addr, topic, 1, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 20 {
		c := franz(t, b.addr, kgo.FetchMaxWait(time.Minute), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))
		go func() {
			for ctx.Err() == nil {
				if f := c.PollFetches(ctx); errors.Is(f.Err(), kgo.ErrClientClosed) {
					return
				}
			}
		}()
	}
	franzProduce(t, b.addr, topic, stamped(0, 0, []record{{value: []byte("x")}}))
	began := time.Now()
	b.stop()
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("an orderly end with 20 parked consumers took %s", took)
	}
}
