// Package handlers answers Kafka's requests: one file per API key, named by its
// number, each registering itself with the versions it serves. What is advertised
// in ApiVersions is built from the same registry, so the two cannot drift apart.
//
// Handlers turn typed requests into calls of package bridge and its results and
// errors into typed responses. They know nothing of sockets; package server
// calls them.
package handlers

import (
	"context"
	"fmt"
	"net"

	"github.com/sirupsen/logrus"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/coordinator"
)

// Config is what handlers need to know of the configuration.
type Config struct {
	// NodeID is the id under which this bridge appears among the brokers.
	NodeID int32
	// Host and Port are where clients are told to connect.
	Host string
	Port int32
	// AutoCreate lets Metadata requests create topics that do not exist.
	AutoCreate bool
	// DefaultPartitions is how many partitions a topic gets where nobody says.
	DefaultPartitions int32
	// MaxMessageBytes is the broker's message.max.bytes: the greatest size of a
	// record batch in a topic without max.message.bytes of its own.
	MaxMessageBytes int32
}

// Request is a decoded request. Strings, bytes and records in it are views of
// its frame, which is released when the answer has been written: what is kept
// longer is cloned.
type Request struct {
	// Key and Version are those of the header.
	Key, Version int16
	// Header is the request's header, ClientID its client id, "" where null.
	Header   generated.RequestHeader
	ClientID string
	// Body is the request message of Key, such as *generated.FetchRequest.
	Body generated.Message
	// Peer is the client's address.
	Peer net.Addr
	// CloseAfterwards may be set by the handler: the connection ends once the
	// answer is written.
	CloseAfterwards bool
}

// Endpoint serves one API key in a range of versions.
type Endpoint struct {
	// Min and Max are the versions served.
	Min, Max int16
	// Handle answers a request. The message it returns is encoded in the
	// request's version; nil means no answer. An error ends the connection. What
	// waits in it parks (package parking).
	Handle func(ctx context.Context, req *Request) (generated.Message, error)
}

// Metrics receives what handlers count.
type Metrics interface {
	// Produced counts records written and the bytes of their batches.
	Produced(records, bytes int)
	// Fetched counts records sent and the bytes of their batches.
	Fetched(records, bytes int)
	// Rebalanced counts a classic group whose members have joined a generation.
	Rebalanced()
}

// Handlers holds what the handlers share. It is safe for concurrent use.
type Handlers struct {
	config       Config
	bridge       *bridge.Bridge
	groups       *coordinator.Coordinator
	transactions *TransactionCoordinator
	metrics      Metrics
	log          logrus.FieldLogger
}

// New returns the handlers over a bridge and the coordinators of its groups and
// transactions (see NewGroupCoordinator and NewTransactionCoordinator).
func New(config Config, b *bridge.Bridge, groups *coordinator.Coordinator, transactions *TransactionCoordinator, metrics Metrics, log logrus.FieldLogger) *Handlers {
	return &Handlers{config: config, bridge: b, groups: groups, transactions: transactions, metrics: metrics, log: log}
}

// Lookup returns the endpoint of an API key, or false when it is not served.
func (h *Handlers) Lookup(key int16) (Endpoint, bool) {
	r, ok := routes[key]
	if !ok {
		return Endpoint{}, false
	}
	return Endpoint{Min: r.min, Max: r.max, Handle: func(ctx context.Context, req *Request) (generated.Message, error) {
		return r.handle(h, ctx, req)
	}}, true
}

type route struct {
	key, min, max int16
	handle        func(*Handlers, context.Context, *Request) (generated.Message, error)
}

// routes holds what every file of this package registers while the package is
// initialised; it is not changed later.
var routes = map[int16]route{}

// register makes a handler serve an API key in a range of versions. Q is the
// type of the key's request message, such as *generated.FetchRequest.
func register[Q generated.Message](key, min, max int16, handle func(*Handlers, context.Context, *Request, Q) (generated.Message, error)) route {
	api, ok := generated.LookupAPI(key)
	if !ok || !api.Has(min) || !api.Has(max) || max > api.MaxStable || min > max {
		panic(fmt.Sprintf("handlers: key %d has no stable versions %d to %d", key, min, max))
	}
	if _, ok := api.NewRequest().(Q); !ok {
		panic(fmt.Sprintf("handlers: %s does not take %T", api.Name, *new(Q)))
	}
	if _, ok := routes[key]; ok {
		panic("handlers: " + api.Name + " is registered twice")
	}
	r := route{key: key, min: min, max: max, handle: func(h *Handlers, ctx context.Context, req *Request) (generated.Message, error) {
		return handle(h, ctx, req, req.Body.(Q))
	}}
	routes[key] = r
	return r
}
