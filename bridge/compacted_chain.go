package bridge

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
)

// chain is what this bridge knows of a partition's generations.
type chain struct {
	topic     *internalTopic
	partition int32

	mu      sync.Mutex
	known   bool
	present generation // the zero value when the partition was never written
	end     int64      // Kafka offset behind the last message, as last told
	counted uint64     // messages in the present generation when end was told
	// moves counts the changes of present that this bridge brought about, so that
	// an older list of generations does not undo them.
	moves    uint64
	verdicts map[Location]verdict
}

// chain is the chain of a partition.
func (t *internalTopic) chain(partition int32) *chain {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.chains[partition]
	if c == nil {
		c = &chain{topic: t, partition: partition, verdicts: make(map[Location]verdict)}
		t.chains[partition] = c
	}
	return c
}

// current is the generation that holds, as far as known.
func (c *chain) current() (g generation, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.present, c.known
}

// generation is the generation that holds; it asks Iggy when that is not known.
func (c *chain) generation(ctx context.Context) (generation, error) {
	if g, known := c.current(); known {
		return g, nil
	}
	if err := c.topic.look(ctx); err != nil {
		return generation{}, err
	}
	g, _ := c.current()
	return g, nil
}

// moveTo makes a generation the one that holds.
func (c *chain) moveTo(g generation, end int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.present, c.known, c.end, c.counted = g, true, end, 0
	c.moves++
	for at, v := range c.verdicts {
		if v.generation.base < g.base {
			delete(c.verdicts, at)
		}
	}
}

// recall is what is known of a generation's markers.
func (c *chain) recall(g generation) verdict {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v, ok := c.verdicts[g.location]; ok && v.generation.same(g) {
		return v
	}
	return newVerdict(g)
}

func (c *chain) remember(v verdict) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.verdicts[v.generation.location] = v
}

// choose finds the generation that holds among those of the partition, oldest
// first: the newest complete one, else the oldest; the zero value when there is
// none. It goes by what it knows already.
func (c *chain) choose(ctx context.Context, generations []generation) (generation, error) {
	present, known := c.current()
	for i := len(generations) - 1; i > 0; i-- {
		g := generations[i]
		if known && present.same(g) {
			return g, nil
		}
		v := c.recall(g)
		if err := c.topic.judge(ctx, &v); err != nil {
			return generation{}, err
		}
		c.remember(v)
		if v.marker == markerComplete {
			return g, nil
		}
	}
	if len(generations) == 0 {
		return generation{}, nil
	}
	return generations[0], nil
}

// look brings all chains of the topic up to date with Iggy: one list for all of
// them, and a closer look at those that have grown. Callers share it.
func (t *internalTopic) look(ctx context.Context) error {
	return t.looks.join(ctx, func(ctx context.Context) error {
		chains := t.allChains()
		moves := make([]uint64, len(chains))
		for i, c := range chains {
			c.mu.Lock()
			moves[i] = c.moves
			c.mu.Unlock()
		}
		listed, err := t.listGenerations(ctx)
		if err != nil {
			return err
		}
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(t.bridge.config.PoolSize)
		for i, c := range chains {
			generations := listed[c.partition]
			if c.isUpToDate(generations) {
				continue
			}
			group.Go(func() error { return c.look(ctx, generations, moves[i]) })
		}
		return group.Wait()
	})
}

// allChains are the chains of all partitions.
func (t *internalTopic) allChains() []*chain {
	t.mu.Lock()
	n := t.count
	t.mu.Unlock()
	chains := make([]*chain, n)
	for i := range chains {
		chains[i] = t.chain(int32(i))
	}
	return chains
}

// isUpToDate reports whether a list shows nothing new.
func (c *chain) isUpToDate(generations []generation) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.known {
		return false
	}
	if len(generations) == 0 {
		return !c.present.exists()
	}
	newest := generations[len(generations)-1]
	return c.present.same(newest) && c.counted == newest.messages && newest.messages > 0
}

// look takes note of what a list says, unless the chain was moved since.
func (c *chain) look(ctx context.Context, generations []generation, moves uint64) error {
	g, err := c.choose(ctx, generations)
	if err != nil {
		return fmt.Errorf("finding the generation of %s-%d: %w", c.topic.at.Topic, c.partition, err)
	}
	end := int64(0)
	if g.exists() {
		info, err := c.topic.bridge.inner.topic(ctx, g.location)
		if err != nil {
			return err
		}
		if len(info.partitions) == 0 {
			return fmt.Errorf("%w: %v has no partition", ErrStorage, g.location)
		}
		end = g.base + info.partitions[0].end
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.moves == moves {
		c.present, c.known, c.end, c.counted = g, true, end, g.messages
	}
	return nil
}
