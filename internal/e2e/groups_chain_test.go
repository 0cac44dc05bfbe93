package e2e

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// link is a group between two topics: its members copy what they receive. The
// last link has no topic to copy to.
type link struct {
	from, to string
	l        *ledger
	out      *kgo.Client
	opts     []kgo.Opt

	mu   sync.Mutex
	seen map[string]int // records by key
}

// copy counts records and writes them to the next topic.
func (k *link) copy(records []*kgo.Record) error {
	k.mu.Lock()
	for _, r := range records {
		k.seen[string(r.Key)]++
	}
	k.mu.Unlock()
	if k.to == "" {
		return nil
	}
	var out []*kgo.Record
	for _, r := range records {
		out = append(out, &kgo.Record{Topic: k.to, Partition: r.Partition, Key: r.Key, Value: r.Value})
	}
	return k.out.ProduceSync(k.out.Context(), out...).FirstErr()
}

// join adds a member that stays, or, with polls above 0, one that goes by itself.
func (k *link) join(t *testing.T, addr, name string, polls int) *member {
	t.Helper()
	return joinGroupFor(t, addr, k.from+".group", name, k.l, task{polls: polls, handle: k.copy}, append(k.opts, kgo.ConsumeTopics(k.from))...)
}

// TestGroupChain has records pass three groups, each of which copies them to the
// next one's topic, while members join and leave: each record comes through each
// group once, in order.
func TestGroupChain(t *testing.T) {
	t.Parallel()
	b := startGroups(t)
	together(t, maps.Keys(groupProtocols), func(t *testing.T, name string) {
		chain(t, b.addr, groupProtocols[name])
	})
	b.alive()
}

func chain(t *testing.T, addr string, protocol []kgo.Opt) {
	const partitions, stage = 4, 600
	topic := topicName(t)
	var links []*link
	for i := range 3 {
		k := &link{from: fmt.Sprintf("%s.%d", topic, i), l: newLedger(t), opts: slices.Clip(protocol), seen: map[string]int{},
			out: franz(t, addr, kgo.ProducerLinger(0))}
		if i < 2 {
			k.to = fmt.Sprintf("%s.%d", topic, i+1)
		}
		createTopic(t, addr, k.from, partitions, nil)
		links = append(links, k)
	}
	var members []*member
	join := func(name string, polls int) (joined []*member) {
		for i, k := range links {
			joined = append(joined, k.join(t, addr, fmt.Sprintf("%s of link %d", name, i), polls))
		}
		members = append(members, joined...)
		return joined
	}
	through := func(n int) {
		for i, k := range links {
			await(t, fmt.Sprintf("%d records through link %d", n, i), func() bool { got, _ := k.l.counts(); return got >= n })
		}
	}

	first := join("first", 0)
	join("second", 0)
	done := produceNumbered(t, addr, links[0].from, partitions, 0, stage)
	join("brief", 2)
	<-done
	through(stage)
	done = produceNumbered(t, addr, links[0].from, partitions, stage, 2*stage)
	join("third", 0)
	join("briefer", 1)
	for _, m := range first {
		m.leave()
	}
	<-done
	through(2 * stage)
	done = produceNumbered(t, addr, links[0].from, partitions, 2*stage, 3*stage)
	fourth := join("fourth", 0)
	<-done
	for _, m := range fourth {
		m.leave()
	}
	through(3 * stage)

	for _, m := range members {
		m.leave()
	}
	healthy(t, members...)
	for i, k := range links {
		if got, again := k.l.counts(); got != 3*stage || again != 0 {
			t.Errorf("link %d: %d records and %d of them again, want %d and none", i, got, again, 3*stage)
		}
		if len(k.seen) != 3*stage || slices.Max(slices.Collect(maps.Values(k.seen))) != 1 {
			t.Errorf("link %d: %d different records, want %d, each once", i, len(k.seen), 3*stage)
		}
		k.l.matches(addr, k.from+".group")
	}
}

// produceNumbered writes records with the numbers from..to as keys, a few every
// few milliseconds, and closes what it returns when all are acknowledged.
func produceNumbered(t *testing.T, addr, topic string, partitions int32, from, to int) <-chan struct{} {
	t.Helper()
	c := franz(t, addr, kgo.ProducerLinger(0))
	ctx := within(t, stepTime)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for i := from; i < to; i++ {
			c.Produce(ctx, &kgo.Record{Topic: topic, Partition: int32(i) % partitions, Key: fmt.Append(nil, i)}, func(_ *kgo.Record, err error) {
				if err != nil {
					t.Errorf("produce %d: %v", i, err)
				}
			})
			if i%8 == 0 {
				<-tick.C
			}
		}
		if err := c.Flush(ctx); err != nil {
			t.Errorf("flush: %v", err)
		}
	}()
	return done
}
