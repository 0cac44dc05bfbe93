package transactions

import (
	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/statemachine"
)

// endTxnBumps is the first version of EndTxn after which the producer's epoch
// grows with each transaction (KIP-890).
const endTxnBumps = 5

// endTxn commits or aborts a transaction. The answer comes when that decision is
// written; the markers follow.
func (m *Machine) endTxn(c *statemachine.Call, req *generated.EndTxnRequest) {
	resp := generated.DefaultEndTxnResponse()
	t := m.find(req.TransactionalId)
	var code int16
	switch {
	case req.TransactionalId == "":
		code = errorcode.InvalidRequest
	case t == nil:
		code = errorcode.InvalidProducerIDMapping
	case c.Version < endTxnBumps:
		code = m.end(t, req)
	default:
		code = m.endAndBump(t, req)
	}
	if code == errorcode.None && c.Version >= endTxnBumps {
		resp.ProducerId, resp.ProducerEpoch = t.afterEnd()
	}
	resp.ErrorCode = fencedCode(code, c.Version, endTxnFenced)
	m.answer(scopeOf(t, req.TransactionalId), c.Token, &resp)
}

// end ends a transaction of a client that knows nothing of transaction version 2.
func (m *Machine) end(t *transaction, req *generated.EndTxnRequest) int16 {
	switch {
	case t.producerID != req.ProducerId:
		return errorcode.InvalidProducerIDMapping
	case t.epoch != req.ProducerEpoch:
		return errorcode.ProducerFenced
	case t.state == stateOngoing:
		m.prepare(t, prepared(req.Committed), 0, noProducerID)
		return errorcode.None
	}
	return t.ended(req.Committed)
}

// prepared is the state in which the decision is written.
func prepared(commit bool) state {
	if commit {
		return statePrepareCommit
	}
	return statePrepareAbort
}

// ended is the answer to a client that ends what it has ended.
func (t *transaction) ended(commit bool) int16 {
	switch {
	case t.isEnding():
		return errorcode.ConcurrentTransactions
	case t.state == stateCompleteCommit && commit, t.state == stateCompleteAbort && !commit:
		return errorcode.None
	}
	return errorcode.InvalidTxnState
}

// endAndBump ends a transaction and begins the producer's next epoch, so that
// nothing of the transaction can come behind its end. A client that asks again
// still has the epoch before, or the last epoch of the producer id before. While
// a transaction is being ended nobody is told more than to ask again: the producer
// may be one that goes on at once, with the next epoch.
func (m *Machine) endAndBump(t *transaction, req *generated.EndTxnRequest) int16 {
	bumped := t.epoch == req.ProducerEpoch+1
	rotated := t.previousID == req.ProducerId && req.ProducerEpoch == lastUsableEpoch && t.epoch == 0
	valid := t.epoch == req.ProducerEpoch
	if t.state == stateCompleteCommit || t.state == stateCompleteAbort {
		valid = valid || bumped || rotated
	}
	switch {
	case t.isEnding():
		return errorcode.ConcurrentTransactions
	case t.producerID != req.ProducerId && !rotated:
		return errorcode.InvalidProducerIDMapping
	case !valid:
		return errorcode.ProducerFenced
	case (bumped || rotated) && !t.isOpen():
		return t.ended(req.Committed)
	case t.state != stateOngoing && req.Committed:
		return errorcode.InvalidTxnState
	}
	next := noProducerID
	if t.isExhausted() {
		var ok bool
		if next, ok = m.config.NewProducerID(); !ok {
			return errorcode.CoordinatorNotAvailable
		}
	}
	m.prepare(t, prepared(req.Committed), transactionVersion2, next)
	return errorcode.None
}
