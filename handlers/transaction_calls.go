package handlers

import (
	"context"
	"time"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/transactions"
)

// askTransaction gives a request about one transactional id to its coordinator
// and returns the answer; where there is none, the code that says why.
func askTransaction[R generated.Message](ctx context.Context, h *Handlers, req *Request, id string, body any) (answer R, code int16) {
	m, err := h.transactions.Call(ctx, id, coordinatorCall(req, body))
	if err != nil {
		return answer, coordinatorCode(err)
	}
	return m.(R), errorcode.None
}

// joining is a producer that works on its transaction.
type joining struct {
	id       string
	producer int64
	epoch    int16
}

const (
	// joinWait is how long joining a transaction waits for the end of the producer's
	// last one. Kafka waits 100 ms (add.partitions.to.txn.retry.backoff.max.ms).
	joinWait = time.Second
	// minJoinPause and maxJoinPause bound the time between two looks.
	minJoinPause = 500 * time.Microsecond
	maxJoinPause = 20 * time.Millisecond
)

// join makes partitions part of a producer's open transaction, which it begins if
// there is none (KIP-890); or, with verify, only makes sure that they are part of
// one. It returns a code for each partition.
//
// Clients that begin a transaction by writing do so as soon as they are told of
// the end of the one before, whose markers are mostly still on their way. Told 51
// some of them pause for seconds, so the markers are waited for.
func (h *Handlers) join(ctx context.Context, req *Request, j joining, verify bool, partitions []transactions.TopicPartition) map[transactions.TopicPartition]int16 {
	for pause, over := minJoinPause, time.Now().Add(joinWait); ; pause = min(2*pause, maxJoinPause) {
		codes := h.joinOnce(ctx, req, j, verify, partitions)
		if verify || codes[partitions[0]] != errorcode.ConcurrentTransactions || time.Now().After(over) {
			return codes
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return codes
		}
	}
}

// joinOnce asks the coordinator once.
func (h *Handlers) joinOnce(ctx context.Context, req *Request, j joining, verify bool, partitions []transactions.TopicPartition) map[transactions.TopicPartition]int16 {
	codes := make(map[transactions.TopicPartition]int16, len(partitions))
	answer, code := askTransaction[*generated.AddPartitionsToTxnResponse](ctx, h, req, j.id, &transactions.AddPartitions{
		TransactionalID: j.id, ProducerID: j.producer, ProducerEpoch: j.epoch, VerifyOnly: verify, Partitions: partitions,
	})
	if code != errorcode.None {
		for _, p := range partitions {
			codes[p] = code
		}
		return codes
	}
	for _, topic := range answer.ResultsByTransaction[0].TopicResults {
		for _, row := range topic.ResultsByPartition {
			codes[transactions.TopicPartition{Topic: topic.Name, Partition: row.PartitionIndex}] = row.PartitionErrorCode
		}
	}
	return codes
}

// missingPartitions are the partitions of a request that do not exist, or, unless
// internal topics are allowed, are of one, with the code for each.
func (h *Handlers) missingPartitions(ctx context.Context, internal bool, topics []generated.AddPartitionsToTxnRequestAddPartitionsToTxnTopic) map[transactions.TopicPartition]int16 {
	var missing map[transactions.TopicPartition]int16
	for i := range topics {
		t, err := h.lookUpTopic(ctx, topics[i].Name, [16]byte{}, false)
		for _, p := range topics[i].Partitions {
			code := bridge.ErrorCodeIn(bridge.ScopeCoordinator, err)
			switch {
			case err != nil:
			case t.Internal && !internal:
				code = errorcode.TopicAuthorizationFailed
			case !hasPartition(t, p):
				code = errorcode.UnknownTopicOrPartition
			}
			if code == errorcode.None {
				continue
			}
			if missing == nil {
				missing = make(map[transactions.TopicPartition]int16)
			}
			missing[transactions.TopicPartition{Topic: topics[i].Name, Partition: p}] = code
		}
	}
	return missing
}
