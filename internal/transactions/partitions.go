package transactions

import (
	"strings"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/statemachine"
)

// addPartitionsListFrom is the first version of AddPartitionsToTxn that has a list
// of transactions.
const addPartitionsListFrom = 4

// addPartitionsToTxn adds partitions to a transaction, and begins it with the
// first ones.
func (m *Machine) addPartitionsToTxn(c *statemachine.Call, req *generated.AddPartitionsToTxnRequest) {
	resp := generated.DefaultAddPartitionsToTxnResponse()
	if c.Version < addPartitionsListFrom {
		id := req.V3AndBelowTransactionalId
		results, t := m.addTopics(id, req.V3AndBelowProducerId, req.V3AndBelowProducerEpoch, false, req.V3AndBelowTopics, c.Version)
		resp.ResultsByTopicV3AndBelow = results
		m.answer(scopeOf(t, id), c.Token, &resp)
		return
	}
	asked := &req.Transactions[0]
	results, t := m.addTopics(asked.TransactionalId, asked.ProducerId, asked.ProducerEpoch, asked.VerifyOnly, asked.Topics, c.Version)
	resp.ResultsByTransaction = []generated.AddPartitionsToTxnResponseAddPartitionsToTxnResult{
		{TransactionalId: strings.Clone(asked.TransactionalId), TopicResults: results},
	}
	m.answer(scopeOf(t, asked.TransactionalId), c.Token, &resp)
}

// addTopics adds the partitions of a request, and makes the rows of its answer.
func (m *Machine) addTopics(id string, producerID int64, epoch int16, verify bool, topics []generated.AddPartitionsToTxnRequestAddPartitionsToTxnTopic, version int16) ([]generated.AddPartitionsToTxnResponseAddPartitionsToTxnTopicResult, *transaction) {
	var partitions []TopicPartition
	for i := range topics {
		for _, p := range topics[i].Partitions {
			partitions = append(partitions, TopicPartition{topics[i].Name, p})
		}
	}
	codes, t := m.join(id, producerID, epoch, verify, partitions, version)
	results := make([]generated.AddPartitionsToTxnResponseAddPartitionsToTxnTopicResult, len(topics))
	n := 0
	for i := range topics {
		results[i].Name = strings.Clone(topics[i].Name)
		results[i].ResultsByPartition = make([]generated.AddPartitionsToTxnResponseAddPartitionsToTxnPartitionResult, len(topics[i].Partitions))
		for j, p := range topics[i].Partitions {
			row := &results[i].ResultsByPartition[j]
			row.PartitionIndex, row.PartitionErrorCode = p, fencedCode(codes[n], version, addPartitionsFenced)
			n++
		}
	}
	return results, t
}

// addPartitionsFromWithin adds or verifies partitions for the bridge itself.
func (m *Machine) addPartitionsFromWithin(c *statemachine.Call, req *AddPartitions) {
	codes, t := m.join(req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.VerifyOnly, req.Partitions, fromWithin)
	result := generated.AddPartitionsToTxnResponseAddPartitionsToTxnResult{TransactionalId: strings.Clone(req.TransactionalID)}
	for i, p := range req.Partitions {
		row := generated.AddPartitionsToTxnResponseAddPartitionsToTxnPartitionResult{PartitionIndex: p.Partition, PartitionErrorCode: codes[i]}
		if n := len(result.TopicResults); n == 0 || result.TopicResults[n-1].Name != p.Topic {
			result.TopicResults = append(result.TopicResults, generated.AddPartitionsToTxnResponseAddPartitionsToTxnTopicResult{Name: strings.Clone(p.Topic)})
		}
		topic := &result.TopicResults[len(result.TopicResults)-1]
		topic.ResultsByPartition = append(topic.ResultsByPartition, row)
	}
	resp := generated.DefaultAddPartitionsToTxnResponse()
	resp.ResultsByTransaction = []generated.AddPartitionsToTxnResponseAddPartitionsToTxnResult{result}
	m.answer(scopeOf(t, req.TransactionalID), c.Token, &resp)
}

const (
	// fromWithin is the version of AddPartitionsToTxn that brokers use among
	// themselves when the client knows transaction version 2.
	fromWithin = 5
	// ofOldClients stands for its versions before the list of transactions, whose
	// clients do not know transaction version 2.
	ofOldClients = 0
)

// join lets partitions take part in a transaction, or verifies that they do, and
// returns a code for each.
func (m *Machine) join(id string, producerID int64, epoch int16, verify bool, partitions []TopicPartition, version int16) (codes []int16, t *transaction) {
	codes = make([]int16, len(partitions))
	t = m.find(id)
	code := m.checkJoin(t, id, producerID, epoch)
	switch {
	case code != errorcode.None:
		for i := range codes {
			codes[i] = code
		}
	case verify:
		for i, p := range partitions {
			if _, ok := t.partitions[p]; !ok {
				codes[i] = errorcode.TransactionAbortable
			}
		}
	default:
		m.begin(t, partitions, version)
	}
	return codes, t
}

// checkJoin is what keeps a producer from working on its transaction.
func (m *Machine) checkJoin(t *transaction, id string, producerID int64, epoch int16) int16 {
	switch {
	case id == "":
		return errorcode.InvalidRequest
	case t == nil || t.producerID != producerID:
		return errorcode.InvalidProducerIDMapping
	case t.epoch != epoch:
		return errorcode.ProducerFenced
	case t.isEnding():
		return errorcode.ConcurrentTransactions
	}
	return errorcode.None
}

// begin adds partitions, whose names are views, to a transaction, which it begins
// if there is none.
func (m *Machine) begin(t *transaction, partitions []TopicPartition, version int16) {
	started := t.state == stateOngoing
	changed := !started
	for _, p := range partitions {
		if _, ok := t.partitions[p]; !ok {
			t.addPartition(TopicPartition{strings.Clone(p.Topic), p.Partition})
			changed = true
		}
	}
	if !changed {
		return
	}
	t.state, t.updated, t.previousID = stateOngoing, m.now.UnixMilli(), t.producerID
	t.version = 0
	if version >= addPartitionsListFrom {
		t.version = transactionVersion2
	}
	if !started {
		t.started = t.updated
		m.watchTimeout(t)
	}
	m.write(t)
}

// addOffsetsToTxn adds the partition that has a group's offsets.
func (m *Machine) addOffsetsToTxn(c *statemachine.Call, req *generated.AddOffsetsToTxnRequest) {
	resp := generated.DefaultAddOffsetsToTxnResponse()
	partition := TopicPartition{OffsetsTopic, m.config.OffsetsPartition(req.GroupId)}
	codes, t := m.join(req.TransactionalId, req.ProducerId, req.ProducerEpoch, false, []TopicPartition{partition}, ofOldClients)
	resp.ErrorCode = fencedCode(codes[0], c.Version, addOffsetsFenced)
	m.answer(scopeOf(t, req.TransactionalId), c.Token, &resp)
}
