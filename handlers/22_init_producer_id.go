package handlers

import (
	"context"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/generated"
)

// InitProducerId, key 22, versions 0 to 5.
//
//   - A producer without a transactional id gets a producer id that nobody had or
//     will get, and epoch 0. Ids come from Iggy in blocks, so that restarts and
//     other bridges do not repeat them.
//   - Kafka gives such a producer a new id also when it names the one it has
//     (KIP-360), and looks at its epoch no more than this does.
//   - A transactional id gets 42. Transactions are not served yet, nor are the
//     calls before and after this one advertised, so clients fail at once rather
//     than wait for a coordinator. An empty transactional id gets 42 from Kafka,
//     too.
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
	if body.TransactionalId.Valid || (body.ProducerId == notKnown) != (body.ProducerEpoch == notKnown) {
		resp.ErrorCode = errInvalidRequest
		return &resp, nil
	}
	id, err := h.bridge.NextProducerID(ctx)
	if err != nil {
		resp.ErrorCode = bridge.ErrorCodeIn(bridge.ScopeCoordinator, err)
		return &resp, nil
	}
	resp.ProducerId, resp.ProducerEpoch = id, 0
	return &resp, nil
}
