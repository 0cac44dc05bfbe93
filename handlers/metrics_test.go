package handlers

import (
	"sync/atomic"
	"testing"
)

// counted is what handlers counted.
type counted struct {
	producedRecords, producedBytes, fetchedRecords, fetchedBytes, rebalances atomic.Int64
}

func (c *counted) Produced(records, bytes int) {
	c.producedRecords.Add(int64(records))
	c.producedBytes.Add(int64(bytes))
}

func (c *counted) Fetched(records, bytes int) {
	c.fetchedRecords.Add(int64(records))
	c.fetchedBytes.Add(int64(bytes))
}

func (c *counted) Rebalanced() { c.rebalances.Add(1) }

func TestRecordsAreCounted(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("orders", 1)
	first, second := values("a", "b"), values("c")
	f.mustProduce("orders", 0, first)
	f.mustProduce("orders", 0, second)
	f.produceRows(9, produceRequest(part{topic: "orders", records: []byte("no batch")}))
	f.fetchRows(t.Context(), 12, fetchRequest(part{topic: "orders"}, part{topic: "orders", offset: 3}))
	c := f.h.metrics.(*counted)
	if got, want := c.producedRecords.Load(), int64(3); got != want {
		t.Errorf("%d records produced, want %d", got, want)
	}
	if got, want := c.producedBytes.Load(), int64(len(first)+len(second)); got != want {
		t.Errorf("%d bytes produced, want %d", got, want)
	}
	if got := c.fetchedRecords.Load(); got != 3 || c.fetchedBytes.Load() == 0 {
		t.Errorf("%d records of %d bytes fetched, want 3 of some", got, c.fetchedBytes.Load())
	}
}
