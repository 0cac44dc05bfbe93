package transactions

import (
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/statemachine"
)

// initProducerID gives the producer of a transactional id its id and epoch, and
// fences the one before (KIP-98, KIP-360). A transaction that is open is aborted
// first; the client repeats the request meanwhile.
func (m *Machine) initProducerID(c *statemachine.Call, req *generated.InitProducerIdRequest) {
	resp := generated.DefaultInitProducerIdResponse()
	resp.ProducerId, resp.ProducerEpoch = noProducerID, noEpoch
	t, code := m.initialise(req)
	switch {
	case code != errorcode.None:
		resp.ErrorCode = fencedCode(code, c.Version, initProducerIDFenced)
	default:
		resp.ProducerId, resp.ProducerEpoch = t.producerID, t.epoch
	}
	m.answer(scopeOf(t, req.TransactionalId.S), c.Token, &resp)
}

// The first versions of APIs that say PRODUCER_FENCED to a producer that is
// fenced, and INVALID_PRODUCER_EPOCH before (KIP-588).
const (
	initProducerIDFenced = 4
	addPartitionsFenced  = 2
	addOffsetsFenced     = 2
	endTxnFenced         = 2
)

// fencedCode is a code as clients of a version know it.
func fencedCode(code, version, since int16) int16 {
	if code == errorcode.ProducerFenced && version < since {
		return errorcode.InvalidProducerEpoch
	}
	return code
}

// scopeOf is the scope of answers about a transactional id. What is not known
// has nothing written to wait for.
func scopeOf(t *transaction, id string) string {
	if t == nil {
		return ""
	}
	return t.id
}

func (m *Machine) initialise(req *generated.InitProducerIdRequest) (*transaction, int16) {
	id := req.TransactionalId.S
	timeout := time.Duration(req.TransactionTimeoutMs) * time.Millisecond
	expects := req.ProducerId != noProducerID || req.ProducerEpoch != noEpoch
	switch {
	case id == "":
		return nil, errorcode.InvalidRequest
	case timeout <= 0 || timeout > m.config.MaxTimeout:
		return nil, errorcode.InvalidTransactionTimeout
	case expects && (req.ProducerId < 0 || req.ProducerEpoch < 0):
		return nil, errorcode.InvalidRequest
	}
	t := m.find(id)
	switch {
	case t == nil:
		producerID, ok := m.config.NewProducerID()
		if !ok {
			return nil, errorcode.CoordinatorNotAvailable
		}
		t = m.add(id)
		t.producerID = producerID
	case t.isEnding():
		return t, errorcode.ConcurrentTransactions
	case expects && !t.mayBe(req.ProducerId, req.ProducerEpoch):
		return t, errorcode.ProducerFenced
	case t.state == stateOngoing:
		if !m.fence(t) {
			return t, errorcode.CoordinatorNotAvailable
		}
		return t, errorcode.ConcurrentTransactions
	}
	return t, m.nextEpoch(t, req, expects)
}

// mayBe reports whether a producer that says who it is may be this id's, as far
// as the producer id tells: the id may be new, be the one the client has, or have
// followed the one the client has when the epochs were used up.
func (t *transaction) mayBe(producerID int64, epoch int16) bool {
	return t.epoch == noEpoch || producerID == t.producerID ||
		producerID == t.previousID && epoch >= lastUsableEpoch
}

// nextEpoch begins a new epoch, or repeats the answer to a client that asks again
// for the one it got.
func (m *Machine) nextEpoch(t *transaction, req *generated.InitProducerIdRequest, expects bool) int16 {
	before := t.producerID
	switch {
	case t.isExhausted() && (!expects || req.ProducerEpoch == t.epoch):
		next, ok := m.config.NewProducerID()
		if !ok {
			return errorcode.CoordinatorNotAvailable
		}
		t.lastEpoch = noEpoch
		if expects {
			t.lastEpoch = t.epoch
		}
		t.producerID, t.epoch = next, 0
	case t.isExhausted():
		return errorcode.ProducerFenced
	case !expects:
		t.epoch, t.lastEpoch = t.epoch+1, noEpoch
	case t.epoch == noEpoch || req.ProducerEpoch == t.epoch:
		t.epoch, t.lastEpoch = t.epoch+1, t.epoch
	case req.ProducerEpoch == t.lastEpoch:
		// It asks again: its epoch is the one it was given then.
	default:
		return errorcode.ProducerFenced
	}
	t.previousID = before
	t.state = stateEmpty
	t.timeoutMs = req.TransactionTimeoutMs
	t.partitions = nil
	t.started, t.updated = noTime, m.now.UnixMilli()
	m.write(t)
	return errorcode.None
}
