package server

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"github.com/sirupsen/logrus"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/handlers"
	"kafka-iggy-bridge/internal/telemetry"
)

const (
	// minHeaderBytes is key, version and correlation id, which every version of
	// the request header begins with.
	minHeaderBytes = 8

	// errorUnsupportedVersion is Kafka's code 35.
	errorUnsupportedVersion = 35

	// unknownAPI is the name under which keys that Kafka does not have are counted.
	unknownAPI = "unknown"
)

// codec is the Dispatcher that speaks Kafka: it decodes requests by the
// generated tables, calls the registry's endpoints and encodes what they return.
type codec struct {
	endpoints []handlers.Endpoint // by key; Handle is nil where none is served
	log       *logrus.Logger
	metrics   *telemetry.Metrics
}

// NewDispatcher returns the Dispatcher for the endpoints that a registry has now.
func NewDispatcher(registry Registry, log *logrus.Logger, metrics *telemetry.Metrics) Dispatcher {
	apis := generated.APIs()
	d := &codec{endpoints: make([]handlers.Endpoint, len(apis)), log: log, metrics: metrics}
	for i := range apis {
		if e, ok := registry.Lookup(apis[i].Key); ok {
			d.endpoints[apis[i].Key] = e
		}
	}
	return d
}

// call is one request on its way through the codec.
type call struct {
	peer     *Peer
	api      *generated.API // nil for a key that Kafka does not have
	endpoint handlers.Endpoint
	req      handlers.Request
}

// Dispatch serves one request.
func (d *codec) Dispatch(ctx context.Context, peer *Peer, frame []byte) (Response, error) {
	began := time.Now()
	c := call{peer: peer, req: handlers.Request{Key: -1, Version: -1, Peer: peer.Addr}}
	outcome := telemetry.OutcomePanic // unless something below says otherwise
	defer func() {
		if outcome != "" {
			name, version := c.label()
			d.metrics.RequestWithoutAnswer(name, version, outcome)
		}
	}()

	answer, err := d.serve(ctx, &c, frame, &outcome)
	if err != nil {
		return Response{}, &RequestError{API: c.name(), Version: c.req.Version, Err: err}
	}
	if answer.message == nil {
		d.count(&c, 0, began)
		outcome = ""
		return Response{Close: c.req.CloseAfterwards}, nil
	}
	resp, err := encode(&c, &answer)
	if err != nil {
		outcome = telemetry.OutcomeFailed
		return Response{}, &RequestError{API: c.name(), Version: c.req.Version, Err: err}
	}
	d.count(&c, firstErrorCode(answer.message), began)
	outcome = ""
	return resp, nil
}

// reply is a message with the version it is to be encoded in; none is no answer.
type reply struct {
	message generated.Message
	version int16
}

// serve decodes the request and calls its endpoint. On failure, outcome says
// what it is counted as.
func (d *codec) serve(ctx context.Context, c *call, frame []byte, outcome *string) (answer reply, err error) {
	*outcome = telemetry.OutcomeMalformed
	if len(frame) < minHeaderBytes {
		return reply{}, fmt.Errorf("%w: %d bytes are too short for a request header", ErrMalformed, len(frame))
	}
	c.req.Key = int16(binary.BigEndian.Uint16(frame))
	c.req.Version = int16(binary.BigEndian.Uint16(frame[2:]))
	served, versionKnown := d.find(c)
	if !served || !versionKnown && c.req.Key != generated.KeyApiVersions {
		*outcome = telemetry.OutcomeUnsupported
		return reply{}, ErrUnsupported
	}
	body, err := c.req.Header.Decode(c.api.RequestHeaderVersion(c.req.Version), frame)
	if err != nil {
		return reply{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	c.req.ClientID = c.req.Header.ClientId.OrEmpty()
	if !versionKnown {
		return unknownApiVersions(c.endpoint), nil
	}
	c.req.Body = c.api.NewRequest()
	// What is left behind the body is ignored, as Kafka does.
	if _, err := c.req.Body.Decode(c.req.Version, body); err != nil {
		return reply{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	*outcome = telemetry.OutcomePanic
	message, err := c.endpoint.Handle(ctx, &c.req)
	*outcome = telemetry.OutcomeFailed
	return reply{message: message, version: c.req.Version}, err
}

// find looks the request's endpoint up.
func (d *codec) find(c *call) (served, versionKnown bool) {
	api, ok := generated.LookupAPI(c.req.Key)
	if !ok {
		return false, false
	}
	c.api = api
	c.endpoint = d.endpoints[c.req.Key]
	ok, v := c.endpoint.Handle != nil, c.req.Version
	return ok, ok && api.Has(v) && v >= c.endpoint.Min && v <= c.endpoint.Max
}

// unknownApiVersions answers an ApiVersions request of an unknown version, in
// the layout of version 0 and with the one row that tells the client which
// versions it may ask in (KIP-511).
func unknownApiVersions(e handlers.Endpoint) reply {
	m := generated.DefaultApiVersionsResponse()
	row := generated.DefaultApiVersionsResponseApiVersion()
	row.ApiKey, row.MinVersion, row.MaxVersion = generated.KeyApiVersions, e.Min, e.Max
	m.ErrorCode = errorUnsupportedVersion
	m.ApiKeys = append(m.ApiKeys, row)
	return reply{message: &m}
}

// count records an answered request.
func (d *codec) count(c *call, code int16, began time.Time) {
	took := time.Since(began)
	name, version := c.label()
	d.metrics.Request(name, version, code, took)
	if d.log.IsLevelEnabled(logrus.DebugLevel) {
		d.log.WithFields(logrus.Fields{
			"api": name, "version": c.req.Version, "peer": c.peer.Addr.String(), "conn": c.peer.ID,
			"client": c.req.ClientID, "correlation": c.req.Header.CorrelationId, "error": code, "took": took,
		}).Debug("request")
	}
}

// name is the request's API for the log: unknown keys by number.
func (c *call) name() string {
	switch {
	case c.api != nil:
		return c.api.Name
	case c.req.Key >= 0:
		return strconv.Itoa(int(c.req.Key))
	}
	return unknownAPI
}

// label is the request's API and version for metrics: those that Kafka does not
// have are counted together.
func (c *call) label() (string, int16) {
	if c.api == nil {
		return unknownAPI, -1
	}
	if !c.api.Has(c.req.Version) {
		return c.api.Name, -1
	}
	return c.api.Name, c.req.Version
}
