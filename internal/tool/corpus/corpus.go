// Package corpus makes a request and a response of every version of every API,
// framed, and keeps them in a folder with a manifest.
package corpus

import (
	"fmt"

	"kafka-iggy-bridge/internal/sample"
	"kafka-iggy-bridge/internal/tool"
	"kafka-iggy-bridge/internal/tool/frame"
)

// ClientID is the client id in the headers of the requests.
const ClientID = "kafka-tool"

// Options say what requests and responses hold.
type Options struct {
	// Seed makes all values: the same ones for the same seed, whatever else is
	// made with them.
	Seed uint64
	// Topic is the topic that requests name where they do it no harm; see
	// sample.Options.
	Topic string
}

// Exchange is a request and its answer in one version of an API.
type Exchange struct {
	tool.Pair
	// CorrelationID is in both headers; no other exchange of a corpus has it.
	CorrelationID int32
	// Request and Response are framed: size, header, body.
	Request, Response []byte
}

// Purposes of random values, beside the pair's ID.
const (
	forRequest = iota << 32
	forResponse
)

// Make returns the exchange of a pair. The request is one that a server can take
// and that changes nothing of value in it; the response holds anything that its
// version can.
func Make(p tool.Pair, opts Options) (*Exchange, error) {
	x := &Exchange{Pair: p, CorrelationID: int32(p.API.Key)*1000 + int32(p.Version) + 1}
	body := p.API.NewRequest()
	rng := sample.NewRand(opts.Seed, forRequest|p.ID())
	if err := sample.Fill(body, p.Version, rng, sample.Options{Sendable: true, Topic: opts.Topic}); err != nil {
		return nil, fmt.Errorf("request of %s: %w", p, err)
	}
	var err error
	if x.Request, err = frame.AppendRequest(nil, p, x.CorrelationID, ClientID, body); err != nil {
		return nil, fmt.Errorf("request of %s: %w", p, err)
	}
	body = p.API.NewResponse()
	rng = sample.NewRand(opts.Seed, forResponse|p.ID())
	if err := sample.Fill(body, p.Version, rng, sample.Options{UnknownTags: true}); err != nil {
		return nil, fmt.Errorf("response of %s: %w", p, err)
	}
	if x.Response, err = frame.AppendResponse(nil, p, x.CorrelationID, body); err != nil {
		return nil, fmt.Errorf("response of %s: %w", p, err)
	}
	return x, nil
}
