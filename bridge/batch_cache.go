package bridge

import (
	"slices"
	"sync"
)

// batchCache keeps recent batches, as consumers get them, for those who read
// near the end, and what a read fetched beyond what its caller could take. It
// holds at most its budget of bytes over all partitions and forgets the batch
// that was not used for the longest time.
type batchCache struct {
	mu          sync.Mutex
	budget      int64
	used        int64
	byPartition map[*partition][]*cachedBatch // sorted by base, without overlaps
	newest      *cachedBatch                  // of the list in the order of use
	oldest      *cachedBatch
	metrics     Metrics
}

// cachedBatch is a batch with the records from base to end-1.
type cachedBatch struct {
	partition    *partition
	base, end    int64
	raw          []byte
	newer, older *cachedBatch
}

// batchOverhead is about what a cached batch takes besides its bytes.
const batchOverhead = 128

func newBatchCache(budget int64, metrics Metrics) *batchCache {
	return &batchCache{budget: budget, byPartition: make(map[*partition][]*cachedBatch), metrics: metrics}
}

func (c *batchCache) enabled() bool { return c.budget > 0 }

func (b *cachedBatch) cost() int64 { return int64(len(b.raw)) + batchOverhead }

// get finds the batch that holds an offset.
func (c *batchCache) get(p *partition, offset int64) (raw []byte, end int64, ok bool) {
	if !c.enabled() {
		return nil, 0, false
	}
	c.mu.Lock()
	batches := c.byPartition[p]
	if i := lastBelow(batches, offset); i >= 0 && batches[i].end > offset {
		c.touch(batches[i])
		raw, end, ok = batches[i].raw, batches[i].end, true
	}
	c.mu.Unlock()
	c.metrics.CacheLookup(ok)
	return raw, end, ok
}

// has reports whether a batch that holds an offset is there.
func (c *batchCache) has(p *partition, offset int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	batches := c.byPartition[p]
	i := lastBelow(batches, offset)
	return i >= 0 && batches[i].end > offset
}

// lastBelow is the index of the last batch that begins at or below an offset.
func lastBelow(batches []*cachedBatch, offset int64) int {
	i, found := slices.BinarySearchFunc(batches, offset, func(b *cachedBatch, o int64) int {
		switch {
		case b.base < o:
			return -1
		case b.base > o:
			return 1
		}
		return 0
	})
	if found {
		return i
	}
	return i - 1
}

// put adds a batch, which nobody may change any more. What overlaps one that is
// there already is left out.
func (c *batchCache) put(p *partition, base, end int64, raw []byte) {
	b := &cachedBatch{partition: p, base: base, end: end, raw: raw}
	if b.cost() > c.budget/4 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.topic.gone.Load() {
		return
	}
	batches := c.byPartition[p]
	i := lastBelow(batches, base)
	if i >= 0 && batches[i].end > base || i+1 < len(batches) && batches[i+1].base < end {
		return
	}
	c.byPartition[p] = slices.Insert(batches, i+1, b)
	c.used += b.cost()
	c.pushNewest(b)
	for c.used > c.budget {
		c.remove(c.oldest)
	}
}

// dropFrom forgets the batches that reach beyond an offset.
func (c *batchCache) dropFrom(p *partition, offset int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	batches := c.byPartition[p]
	for i := len(batches) - 1; i >= 0 && batches[i].end > offset; i-- {
		c.remove(batches[i])
	}
}

// dropTopic forgets a topic's batches.
func (c *batchCache) dropTopic(t *topicState) {
	for _, p := range t.all() {
		c.dropFrom(p, 0)
	}
}

// remove takes a batch out of everything.
func (c *batchCache) remove(b *cachedBatch) {
	c.unlink(b)
	c.used -= b.cost()
	batches := c.byPartition[b.partition]
	if i := lastBelow(batches, b.base); i >= 0 && batches[i] == b {
		batches = slices.Delete(batches, i, i+1)
	}
	if len(batches) == 0 {
		delete(c.byPartition, b.partition)
		return
	}
	c.byPartition[b.partition] = batches
}

func (c *batchCache) touch(b *cachedBatch) {
	if c.newest == b {
		return
	}
	c.unlink(b)
	c.pushNewest(b)
}

func (c *batchCache) pushNewest(b *cachedBatch) {
	b.older = c.newest
	if c.newest != nil {
		c.newest.newer = b
	}
	c.newest = b
	if c.oldest == nil {
		c.oldest = b
	}
}

func (c *batchCache) unlink(b *cachedBatch) {
	if b.newer != nil {
		b.newer.older = b.older
	} else {
		c.newest = b.older
	}
	if b.older != nil {
		b.older.newer = b.newer
	} else {
		c.oldest = b.newer
	}
	b.newer, b.older = nil, nil
}
