package handlers

import (
	"context"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
)

// InitProducerId, key 22, versions 0 to 5.
//
//   - A producer without a transactional id gets a producer id that nobody had or
//     will get, and epoch 0. Ids come from Iggy in blocks, so that restarts and
//     other bridges do not repeat them.
//   - Kafka gives such a producer a new id also when it names the one it has
//     (KIP-360), and looks at its epoch no more than this does.
//   - A transactional id keeps its producer id; each call gives it the next epoch,
//     which fences the producer before, and aborts the transaction that one has
//     open: 51 until that is done. A producer that names an id and epoch which are
//     not its own any more gets 90, before version 4 47.
//   - An empty transactional id gets 42, a transaction time-out out of range 50.
//   - Producer id and epoch come together: one without the other gets 42.
//   - While Iggy is away the answer is one on which clients ask again: 14 or 15.
//
// Version history:
//
//	1  throttled clients wait on their side
//	2  flexible
//	3  producer id and epoch in the request (KIP-360)
//	4  transactional producers may be told 90 instead of 47 (KIP-588)
//	5  transactional producers may be told 120 (KIP-890)
var _ = register(generated.KeyInitProducerId, 0, 5, (*Handlers).initProducerID)

func (h *Handlers) initProducerID(ctx context.Context, req *Request, body *generated.InitProducerIdRequest) (generated.Message, error) {
	resp := generated.DefaultInitProducerIdResponse()
	resp.ProducerId, resp.ProducerEpoch = notKnown, notKnown
	if (body.ProducerId == notKnown) != (body.ProducerEpoch == notKnown) {
		resp.ErrorCode = errorcode.InvalidRequest
		return &resp, nil
	}
	switch {
	case body.TransactionalId.Valid && body.TransactionalId.S == "":
		resp.ErrorCode = errorcode.InvalidRequest
		return &resp, nil
	case body.TransactionalId.Valid:
		return h.initTransactionalID(ctx, req, body)
	}
	id, err := h.bridge.NextProducerID(ctx)
	if err != nil {
		resp.ErrorCode = bridge.ErrorCodeIn(bridge.ScopeCoordinator, err)
		return &resp, nil
	}
	resp.ProducerId, resp.ProducerEpoch = id, 0
	return &resp, nil
}

// initTransactionalID begins a transactional producer's next epoch.
func (h *Handlers) initTransactionalID(ctx context.Context, req *Request, body *generated.InitProducerIdRequest) (generated.Message, error) {
	resp := generated.DefaultInitProducerIdResponse()
	resp.ProducerId, resp.ProducerEpoch = notKnown, notKnown
	if err := h.transactions.ids.ready(ctx); err != nil {
		resp.ErrorCode = bridge.ErrorCodeIn(bridge.ScopeCoordinator, err)
		return &resp, nil
	}
	answer, code := askTransaction[*generated.InitProducerIdResponse](ctx, h, req, body.TransactionalId.S, body)
	if code != errorcode.None {
		resp.ErrorCode = code
		return &resp, nil
	}
	return answer, nil
}
