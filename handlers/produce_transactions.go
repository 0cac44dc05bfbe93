package handlers

import (
	"context"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/transactions"
)

const (
	// produceAbortable is the first version of Produce that knows 120, produceJoins
	// the first that adds partitions to a transaction (KIP-890).
	produceAbortable = 11
	produceJoins     = 12
)

// joinTransaction makes sure, with one question to the coordinator, that the
// partitions with transactional batches are part of their producer's open
// transaction. A partition whose log has records of that transaction is.
func (p *producing) joinTransaction(ctx context.Context, body *generated.ProduceRequest) {
	if !body.TransactionalId.Valid {
		return
	}
	var (
		j          joining
		partitions []transactions.TopicPartition
	)
	for i := range body.TopicData {
		data := &body.TopicData[i]
		t, err := p.h.lookUpTopic(ctx, data.Name, data.TopicId, p.byID)
		if err != nil {
			continue // met again, and told, when it is written
		}
		for k := range data.PartitionData {
			batch, _, err := records.Parse(data.PartitionData[k].Records)
			if err != nil || !batch.IsTransactional() || !hasPartition(t, data.PartitionData[k].Index) {
				continue
			}
			j = joining{id: body.TransactionalId.S, producer: batch.ProducerID, epoch: batch.ProducerEpoch}
			if !p.h.bridge.InTransaction(t, data.PartitionData[k].Index, j.producer, j.epoch) {
				partitions = append(partitions, transactions.TopicPartition{Topic: t.Name, Partition: data.PartitionData[k].Index})
			}
		}
	}
	if len(partitions) == 0 {
		return
	}
	p.joined = p.h.join(ctx, p.req, j, p.req.Version < produceJoins, partitions)
	for at, code := range p.joined {
		p.joined[at] = produceJoinCode(code, p.req.Version)
	}
}

// produceJoinCode is a code of the transaction coordinator as producers of a
// version know it. NOT_ENOUGH_REPLICAS makes them send the batch again.
func produceJoinCode(code, version int16) int16 {
	switch code {
	case errorcode.TransactionAbortable:
		if version < produceAbortable {
			return errorcode.InvalidTxnState
		}
	case errorcode.ProducerFenced:
		return errorcode.InvalidProducerEpoch
	case errorcode.ConcurrentTransactions:
		if version < produceJoins {
			return errorcode.NotEnoughReplicas
		}
	case errorcode.CoordinatorLoadInProgress, errorcode.CoordinatorNotAvailable, errorcode.NotCoordinator:
		return errorcode.NotEnoughReplicas
	}
	return code
}
