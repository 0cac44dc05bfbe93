package transactions

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/records"
)

const (
	// recordTransactionLog is the type of record: the first two bytes of a key.
	recordTransactionLog int16 = 0
	// valueVersion is the version in which Kafka 4.4.0 writes values when its
	// transaction.version is 2.
	valueVersion int16 = 1
)

// errUnknownRecord is what Replay says of records that this release does not
// know.
var errUnknownRecord = errors.New("unknown record")

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
	r := tombstone(at, t.id)
	r.Value = mustAppend(binary.BigEndian.AppendUint16(nil, uint16(valueVersion)), &v, valueVersion)
	return r
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

// tombstone is the record that makes an id unknown.
func tombstone(at time.Time, id string) records.Record {
	key := generated.DefaultTransactionLogKey()
	key.TransactionalId = id
	return records.Record{
		Timestamp: at.UnixMilli(),
		Key:       mustAppend(binary.BigEndian.AppendUint16(nil, uint16(recordTransactionLog)), &key, 0),
	}
}

// mustAppend encodes a message of ours. It cannot fail: what would not fit came
// out of a request, where it fit.
func mustAppend(dst []byte, m generated.Message, version int16) []byte {
	b, err := m.Append(dst, version)
	if err != nil {
		panic(fmt.Sprintf("transactions: a record cannot be encoded: %v", err))
	}
	return b
}

// Replay applies a record of the log.
func (m *Machine) Replay(r *records.Record) error {
	if len(r.Key) < 2 || int16(binary.BigEndian.Uint16(r.Key)) != recordTransactionLog {
		return fmt.Errorf("%w: key %.8x", errUnknownRecord, r.Key)
	}
	var key generated.TransactionLogKey
	if _, err := key.Decode(0, r.Key[2:]); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	if r.Value == nil {
		delete(m.transactions, key.TransactionalId)
		return nil
	}
	if len(r.Value) < 2 {
		return fmt.Errorf("%w: a value of %d bytes", errUnknownRecord, len(r.Value))
	}
	var value generated.TransactionLogValue
	if _, err := value.Decode(int16(binary.BigEndian.Uint16(r.Value)), r.Value[2:]); err != nil {
		return fmt.Errorf("value: %w", err)
	}
	if value.TransactionStatus < int8(stateEmpty) || value.TransactionStatus > int8(stateCompleteAbort) {
		return fmt.Errorf("%w: state %d", errUnknownRecord, value.TransactionStatus)
	}
	m.restore(key.TransactionalId, &value)
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
