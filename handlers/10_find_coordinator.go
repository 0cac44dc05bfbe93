package handlers

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/coordinator"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/server/parking"
	"kafka-iggy-bridge/internal/wire"
)

// FindCoordinator, key 10, versions 0 to 6: which broker coordinates a group or a
// transactional id.
//
//   - It is this bridge, for every key, an empty one as well.
//   - The first question for a group makes __consumer_offsets, the first one for a
//     transactional id __transaction_state.
//   - The answer waits until the coordinator of the key is loaded, for a while: what
//     clients ask next would be refused until then. After that it is 15, on which
//     clients ask again; some of them give up on 14, which Kafka never answers here.
//   - Share groups are not served: 15 for their keys, 42 for one that is none and
//     in versions that do not know share groups.
//   - An unknown type of key gets 42.
//   - Up to version 3 the answer has a message, "NONE" where all is well; from 4 on
//     only for unknown types. The texts are Kafka's.
//
// Version history:
//
//	1  type of key, throttle time, error message
//	2  throttled clients wait on their side
//	3  flexible
//	4  several keys (KIP-699)
//	5  90 may be answered for transactions (KIP-890)
//	6  share groups (KIP-932)
var _ = register(generated.KeyFindCoordinator, 0, 6, (*Handlers).findCoordinator)

// The types of keys.
const (
	keyTypeGroup       int8 = 0
	keyTypeTransaction int8 = 1
	keyTypeShare       int8 = 2
)

const (
	// findKeysSince is the first version with several keys, findShareSince that
	// with share groups.
	findKeysSince  = 4
	findShareSince = 6

	// openTime bounds what a client waits for a coordinator.
	openTime = 2 * time.Second
)

func (h *Handlers) findCoordinator(ctx context.Context, req *Request, body *generated.FindCoordinatorRequest) (generated.Message, error) {
	parked, leave := parking.Park(ctx)
	defer leave()
	ctx, cancel := context.WithTimeout(parked, openTime)
	defer cancel()
	resp := generated.DefaultFindCoordinatorResponse()
	if req.Version < findKeysSince {
		resp.ErrorCode = h.coordinatorFor(ctx, req.Version, body.KeyType, body.Key)
		resp.ErrorMessage = wire.String(findMessages[resp.ErrorCode])
		resp.NodeId, resp.Host, resp.Port = h.coordinatorAddress(resp.ErrorCode)
		return &resp, nil
	}
	resp.Coordinators = make([]generated.FindCoordinatorResponseCoordinator, len(body.CoordinatorKeys))
	for i, key := range body.CoordinatorKeys {
		row := &resp.Coordinators[i]
		*row = generated.DefaultFindCoordinatorResponseCoordinator()
		row.Key = key
		row.ErrorCode = h.coordinatorFor(ctx, req.Version, body.KeyType, key)
		row.NodeId, row.Host, row.Port = h.coordinatorAddress(row.ErrorCode)
		if body.KeyType < keyTypeGroup || body.KeyType > keyTypeShare {
			row.ErrorMessage = wire.String(findMessages[row.ErrorCode])
		}
	}
	return &resp, nil
}

// coordinatorFor tells what keeps this bridge from being a key's coordinator.
func (h *Handlers) coordinatorFor(ctx context.Context, version int16, keyType int8, key string) int16 {
	switch {
	case keyType == keyTypeGroup:
		return awaitCoordinator(ctx, h.groups, key)
	case keyType == keyTypeTransaction:
		return awaitCoordinator(ctx, h.transactions.Coordinator, key)
	case keyType == keyTypeShare && version >= findShareSince && isShareKey(key):
		return errorcode.CoordinatorNotAvailable
	default:
		return errorcode.InvalidRequest
	}
}

// awaitCoordinator waits until a key's coordinator is loaded and returns 15 if it
// is not in time.
func awaitCoordinator(ctx context.Context, c *coordinator.Coordinator, key string) int16 {
	if c.Await(ctx, key) != nil {
		return errorcode.CoordinatorNotAvailable
	}
	return errorcode.None
}

// openGroups is the code for whether groups can be coordinated.
func (h *Handlers) openGroups(ctx context.Context) int16 {
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	err := h.groups.Open(ctx)
	if errors.Is(err, coordinator.ErrClosed) {
		return errorcode.CoordinatorNotAvailable
	}
	return bridge.ErrorCodeIn(bridge.ScopeCoordinator, err)
}

// isShareKey reports whether a key names a partition of a share group: the
// group's id, the topic's and the partition, with colons between.
func isShareKey(key string) bool {
	parts := strings.Split(key, ":")
	if len(parts) != 3 || strings.TrimSpace(parts[0]) == "" {
		return false
	}
	_, idErr := wire.ParseUUID(parts[1])
	_, partitionErr := strconv.ParseInt(parts[2], 10, 32)
	return idErr == nil && partitionErr == nil
}

// findMessages are Kafka's texts for the codes that an answer may have.
var findMessages = map[int16]string{
	errorcode.None:                      "NONE",
	errorcode.RequestTimedOut:           "The request timed out.",
	errorcode.CoordinatorLoadInProgress: "The coordinator is loading and hence can't process requests.",
	errorcode.CoordinatorNotAvailable:   "The coordinator is not available.",
	errorcode.InvalidRequest: "This most likely occurs because of a request being malformed by the client library or the message was sent to an incompatible broker. " +
		"See the broker logs for more details.",
}

// coordinatorAddress is this bridge, or no node where there is an error.
func (h *Handlers) coordinatorAddress(code int16) (id int32, host string, port int32) {
	if code != errorcode.None {
		return notKnown, "", notKnown
	}
	return h.config.NodeID, h.config.Host, h.config.Port
}
