package bridge

import (
	"fmt"
	"sync/atomic"
	"testing"

	"kafka-iggy-bridge/internal/producers"
)

func TestALongLogIsReplayedInParts(t *testing.T) {
	t.Parallel()
	f, b, topic := fakeBridge(t, nil)
	const batches = 40 * firstReadCount
	for i := range int32(batches) {
		expectProduce(t, b, topic, "batch", idempotent(t, 0, i, 1), int64(i), nil)
	}
	b, topic = again(t, f, topic.Name)
	p, err := topic.state.partition(0)
	if err != nil {
		t.Fatal(err)
	}
	large := func() { // as if the messages were
		p.mu.Lock()
		p.averageBytes, p.largestBytes = ledgerReadBytes/100, 0
		p.mu.Unlock()
	}
	large()
	var reads atomic.Int32
	f.hooks(func(c fakeCall) error {
		if c.op != "read" || c.at != topic.location || !c.read.behindAppend || c.read.count == 1 {
			return nil
		}
		if reads.Add(1) == 3 {
			return fmt.Errorf("%w: once", ErrUnavailable)
		}
		large()
		return nil
	}, nil)
	expectProduce(t, b, topic, "a read fails", idempotent(t, 0, batches, 1), 0, ErrUnavailable)
	expectProduce(t, b, topic, "the last one again", idempotent(t, 0, batches-1, 1), batches-1, nil)
	expectProduce(t, b, topic, "a gap", idempotent(t, 0, batches+1, 1), 0, producers.ErrSequence)
	expectProduce(t, b, topic, "the next", idempotent(t, 0, batches, 1), batches, nil)
	if n := reads.Load(); n < 20 {
		t.Errorf("the log was read with %d requests", n)
	}
	f.hooks(nil, nil)
}
