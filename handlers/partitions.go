package handlers

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/wire"
)

const (
	// notKnown stands in answers for an offset, timestamp, epoch or id that there
	// is none of.
	notKnown = -1

	// leaderEpoch is every partition's leader epoch: its leader never changes.
	leaderEpoch = 0

	// rowsAtOnce is how many partitions of one request are looked up at the same
	// time. Those of one topic share what Iggy answers.
	rowsAtOnce = 16

	// readUncommitted and readCommitted are the isolation levels (KIP-98).
	readUncommitted = 0
	readCommitted   = 1
)

// findTopic returns the topic of that name or, with byID, of that id; else Kafka's
// code when there is none or when that cannot be told because Iggy is away.
func (h *Handlers) findTopic(ctx context.Context, name string, id wire.UUID, byID bool) (t *bridge.Topic, code int16) {
	t, err := h.lookUpTopic(ctx, name, id, byID)
	return t, partitionCode(err, byID)
}

// lookUpTopic is findTopic with the bridge's error.
func (h *Handlers) lookUpTopic(ctx context.Context, name string, id wire.UUID, byID bool) (*bridge.Topic, error) {
	switch {
	case !byID:
		// The bridge may remember names, and this one is a view of the frame.
		return h.bridge.Topic(ctx, strings.Clone(name))
	case id.IsZero():
		return nil, bridge.ErrTopicIDNotFound
	default:
		return h.bridge.TopicByID(ctx, id)
	}
}

// partitionCode is Kafka's code for an error in a partition's row. A topic that
// was asked for by id and is gone is an unknown id: the client must not go on
// with what it knows of the name.
func partitionCode(err error, byID bool) int16 {
	if byID && errors.Is(err, bridge.ErrTopicNotFound) {
		return errorcode.UnknownTopicID
	}
	return bridge.ErrorCode(err)
}

// hasPartition reports whether a topic has a partition of that number.
func hasPartition(t *bridge.Topic, partition int32) bool {
	return partition >= 0 && partition < t.Partitions
}

// checkLeaderEpoch is the code for the leader epoch that a client believes to be
// the current one, -1 when it does not say (KIP-320).
func checkLeaderEpoch(epoch int32) int16 {
	switch {
	case epoch == notKnown || epoch == leaderEpoch:
		return errorcode.None
	case epoch < leaderEpoch:
		return errorcode.FencedLeaderEpoch
	default:
		return errorcode.UnknownLeaderEpoch
	}
}

// isIsolationLevel reports whether Kafka has that isolation level.
func isIsolationLevel(level int8) bool { return level == readUncommitted || level == readCommitted }

// inParallel calls f with 0 to n-1, several at a time, and returns when all
// calls have. A panic of f reaches the caller, who knows whose request it was.
func inParallel(n int, f func(i int)) {
	if n == 1 {
		f(0)
		return
	}
	var (
		next     atomic.Int64
		wg       sync.WaitGroup
		panicked atomic.Pointer[any]
	)
	for range min(n, rowsAtOnce) {
		wg.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					panicked.CompareAndSwap(nil, &v)
				}
			}()
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				f(int(i))
			}
		})
	}
	wg.Wait()
	if v := panicked.Load(); v != nil {
		panic(*v)
	}
}
