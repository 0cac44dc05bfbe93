package transactions

import (
	"regexp"
	"slices"
	"strings"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/statemachine"
)

// describe shows one transactional id (KIP-664).
func (m *Machine) describe(c *statemachine.Call, req *generated.DescribeTransactionsRequest) {
	id := req.TransactionalIds[0]
	row := generated.DefaultDescribeTransactionsResponseTransactionState()
	row.TransactionalId = strings.Clone(id)
	t := m.find(id)
	switch {
	case id == "":
		row.ErrorCode = errorcode.InvalidRequest
	case t == nil:
		row.ErrorCode = errorcode.TransactionalIDNotFound
	default:
		row.ProducerId, row.ProducerEpoch = t.producerID, t.epoch
		row.TransactionState = stateNames[t.state]
		row.TransactionTimeoutMs, row.TransactionStartTimeMs = t.timeoutMs, t.started
		for _, p := range t.sorted() {
			if n := len(row.Topics); n == 0 || row.Topics[n-1].Topic != p.Topic {
				row.Topics = append(row.Topics, generated.DescribeTransactionsResponseTopicData{Topic: p.Topic})
			}
			topic := &row.Topics[len(row.Topics)-1]
			topic.Partitions = append(topic.Partitions, p.Partition)
		}
	}
	resp := generated.DefaultDescribeTransactionsResponse()
	resp.TransactionStates = []generated.DescribeTransactionsResponseTransactionState{row}
	m.answer(scopeOf(t, id), c.Token, &resp)
}

// list shows the transactional ids that a request's filters let through: those in
// one of the states, of one of the producers, with a transaction begun longer ago
// than a time in ms (version 1), with a name that matches wholly (version 2). As
// with Kafka the time lets through what has ended, and ids without a transaction.
func (m *Machine) list(c *statemachine.Call, req *generated.ListTransactionsRequest) {
	resp := generated.DefaultListTransactionsResponse()
	states := make([]string, 0, len(req.StateFilters))
	for _, name := range req.StateFilters {
		if slices.Contains(stateNames, name) {
			states = append(states, name)
		} else {
			resp.UnknownStateFilters = append(resp.UnknownStateFilters, strings.Clone(name))
		}
	}
	var pattern *regexp.Regexp
	if req.TransactionalIdPattern.Valid && req.TransactionalIdPattern.S != "" {
		var err error
		if pattern, err = regexp.Compile(`^(?:` + req.TransactionalIdPattern.S + `)$`); err != nil {
			resp.ErrorCode, resp.UnknownStateFilters = errorcode.InvalidRegularExpression, []string{}
			m.answer("", c.Token, &resp)
			return
		}
	}
	for _, t := range m.transactions {
		switch {
		case len(req.StateFilters) > 0 && !slices.Contains(states, stateNames[t.state]):
		case len(req.ProducerIdFilters) > 0 && !slices.Contains(req.ProducerIdFilters, t.producerID):
		case req.DurationFilter >= 0 && m.now.UnixMilli()-t.started <= req.DurationFilter:
		case pattern != nil && !pattern.MatchString(t.id):
		default:
			resp.TransactionStates = append(resp.TransactionStates, generated.ListTransactionsResponseTransactionState{
				TransactionalId: t.id, ProducerId: t.producerID, TransactionState: stateNames[t.state],
			})
		}
	}
	slices.SortFunc(resp.TransactionStates, func(a, b generated.ListTransactionsResponseTransactionState) int {
		return strings.Compare(a.TransactionalId, b.TransactionalId)
	})
	m.answer("", c.Token, &resp)
}
