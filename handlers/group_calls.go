package handlers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/coordinator"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/server/parking"
	"kafka-iggy-bridge/internal/statemachine"
)

// allGroupOperations are READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS and
// ALTER_CONFIGS, as bits by Kafka's AclOperation codes.
const allGroupOperations int32 = 1<<3 | 1<<6 | 1<<8 | 1<<10 | 1<<11

// askGroup gives a request about one group to the group's coordinator and
// returns the answer; where there is none, the code that says why.
func askGroup[R generated.Message](ctx context.Context, h *Handlers, req *Request, groupID string, body generated.Message) (answer R, code int16) {
	m, err := h.groups.Call(ctx, groupID, coordinatorCall(req, body))
	if err != nil {
		return answer, coordinatorCode(err)
	}
	return m.(R), errorcode.None
}

// awaitGroup is askGroup for requests that wait for other members. The client's
// departure and the bridge's end stop the wait; the member stays one until its
// session is over, as in Kafka.
func awaitGroup[R generated.Message](ctx context.Context, h *Handlers, req *Request, groupID string, body generated.Message) (answer R, code int16) {
	parked, leave := parking.Park(ctx)
	defer leave()
	return askGroup[R](parked, h, req, groupID, body)
}

// coordinatorCall is a request as coordinators take it.
func coordinatorCall(req *Request, body any) statemachine.Call {
	return statemachine.Call{
		Key:        req.Key,
		Version:    req.Version,
		ClientID:   req.ClientID,
		ClientHost: clientHost(req.Peer),
		Body:       body,
	}
}

// coordinatorCode is the code of a request that the coordinator could not
// answer. All clients retry on 14; on 15 and 16 they look for the coordinator
// before. A write whose outcome is not known gets 15 as well, as in Kafka: not
// every client retries a commit on REQUEST_TIMED_OUT, and doing it twice does no
// harm.
func coordinatorCode(err error) int16 {
	switch {
	case errors.Is(err, coordinator.ErrLoading):
		return errorcode.CoordinatorLoadInProgress
	case errors.Is(err, coordinator.ErrNotOpen):
		return errorcode.NotCoordinator
	case errors.Is(err, coordinator.ErrPanicked), errors.Is(err, bridge.ErrRecordTooLarge):
		return errorcode.UnknownServerError
	default:
		return errorcode.CoordinatorNotAvailable
	}
}

// clientHost is a client's address as Kafka shows it: Java's form of an
// InetAddress without a name, which does not shorten IPv6.
func clientHost(peer net.Addr) string {
	tcp, ok := peer.(*net.TCPAddr)
	if !ok {
		return "/"
	}
	ip, ok := netip.AddrFromSlice(tcp.IP)
	if !ok {
		return "/"
	}
	if ip = ip.Unmap(); ip.Is4() {
		return "/" + ip.String()
	}
	host, b := "/", ip.As16()
	for i := 0; i < len(b); i += 2 {
		if i > 0 {
			host += ":"
		}
		host += fmt.Sprintf("%x", uint16(b[i])<<8|uint16(b[i+1]))
	}
	if tcp.Zone != "" {
		host += "%" + tcp.Zone
	}
	return host
}
