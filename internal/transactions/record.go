package transactions

import (
	"fmt"
	"strings"
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/statemachine"
)

const (
	// recordTransactionLog is the type of record: the first two bytes of a key.
	recordTransactionLog int16 = 0
	// valueVersion is the version in which Kafka 4.4.0 writes values when its
	// transaction.version is 2.
	valueVersion int16 = 1
)

// record is the transaction's state as Kafka writes it.
func (t *transaction) record(at time.Time) records.Record {
	v := generated.DefaultTransactionLogValue()
	v.ProducerId, v.ProducerEpoch = t.producerID, t.epoch
	v.PreviousProducerId, v.NextProducerId = t.previousID, t.nextID
	v.TransactionTimeoutMs = t.timeoutMs
	v.TransactionStatus = int8(t.state)
	v.TransactionLastUpdateTimestampMs, v.TransactionStartTimestampMs = t.updated, t.started
	v.ClientTransactionVersion = t.version
	v.TransactionPartitions = nil
	if t.state != stateEmpty {
		v.TransactionPartitions = t.recordPartitions()
	}
	return statemachine.NewRecord(at, recordTransactionLog, transactionKey(t.id), valueVersion, &v)
}

// recordPartitions are the partitions by topic, none rather than null.
func (t *transaction) recordPartitions() []generated.TransactionLogValuePartitionsSchema {
	topics := []generated.TransactionLogValuePartitionsSchema{}
	for _, p := range t.sorted() {
		if n := len(topics); n == 0 || topics[n-1].Topic != p.Topic {
			topics = append(topics, generated.TransactionLogValuePartitionsSchema{Topic: p.Topic})
		}
		last := &topics[len(topics)-1]
		last.PartitionIds = append(last.PartitionIds, p.Partition)
	}
	return topics
}

func transactionKey(id string) *generated.TransactionLogKey {
	key := generated.DefaultTransactionLogKey()
	key.TransactionalId = id
	return &key
}

// Replay applies a record of the log.
func (m *Machine) Replay(r *records.Record) error {
	keyType, err := statemachine.KeyType(r)
	if err == nil && keyType != recordTransactionLog {
		err = fmt.Errorf("%w: %d", statemachine.ErrUnknownRecord, keyType)
	}
	if err != nil {
		return err
	}
	key, value, err := statemachine.Decode[generated.TransactionLogKey, generated.TransactionLogValue](r)
	switch {
	case err != nil:
		return err
	case value == nil:
		delete(m.transactions, key.TransactionalId)
		return nil
	case value.TransactionStatus < int8(stateEmpty) || value.TransactionStatus > int8(stateCompleteAbort):
		return fmt.Errorf("%w: state %d", statemachine.ErrUnknownRecord, value.TransactionStatus)
	}
	m.restore(key.TransactionalId, value)
	return nil
}

// restore puts a transaction into the state that a record says.
func (m *Machine) restore(id string, v *generated.TransactionLogValue) {
	t := m.find(id)
	if t == nil {
		t = m.add(id)
	}
	t.state = state(v.TransactionStatus)
	t.producerID, t.epoch = v.ProducerId, v.ProducerEpoch
	t.previousID, t.nextID, t.lastEpoch = v.PreviousProducerId, v.NextProducerId, noEpoch
	t.timeoutMs, t.version = v.TransactionTimeoutMs, v.ClientTransactionVersion
	t.started, t.updated = v.TransactionStartTimestampMs, v.TransactionLastUpdateTimestampMs
	t.partitions = nil
	for i := range v.TransactionPartitions {
		topic := strings.Clone(v.TransactionPartitions[i].Topic)
		for _, p := range v.TransactionPartitions[i].PartitionIds {
			t.addPartition(TopicPartition{topic, p})
		}
	}
}

func (t *transaction) addPartition(p TopicPartition) {
	if t.partitions == nil {
		t.partitions = make(map[TopicPartition]struct{})
	}
	t.partitions[p] = struct{}{}
}
