package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// Options are the server's limits. Zero values are replaced by the defaults
// that each field names.
type Options struct {
	// MaxRequestBytes is the largest frame taken, without its size field;
	// default 100 MiB (Kafka's socket.request.max.bytes).
	MaxRequestBytes int
	// MaxConnections is the number of connections served at the same time, over
	// all listeners; default 10,000. Those above are closed.
	MaxConnections int
	// MaxInFlightRequests is how many requests of one connection are read ahead
	// of the one at work; default 64.
	MaxInFlightRequests int
	// MaxInFlightBytes is the same in bytes; default 8 MiB. A larger request is
	// read when it is the only one.
	MaxInFlightBytes int
	// MaxResponseBacklog is how many bytes of answers may wait for a slow reader
	// before the next request of its connection is begun; default 8 MiB.
	MaxResponseBacklog int
	// IdleTimeout ends a connection on which nothing is sent, received or at
	// work; default 10 minutes (Kafka's connections.max.idle.ms).
	IdleTimeout time.Duration
	// ReadTimeout is the time in which the next 64 KiB of a request, or what is
	// left of it, must arrive once it has begun; default 30 seconds.
	ReadTimeout time.Duration
	// WriteTimeout is the time in which a client must take the next 256 KiB of
	// its answers, or what is left of them; default 2 minutes.
	WriteTimeout time.Duration
}

func (o Options) withDefaults() Options {
	setInt := func(p *int, v int) {
		if *p <= 0 {
			*p = v
		}
	}
	setDuration := func(p *time.Duration, v time.Duration) {
		if *p <= 0 {
			*p = v
		}
	}
	setInt(&o.MaxRequestBytes, 100<<20)
	setInt(&o.MaxConnections, 10_000)
	setInt(&o.MaxInFlightRequests, 64)
	setInt(&o.MaxInFlightBytes, 8<<20)
	setInt(&o.MaxResponseBacklog, 8<<20)
	setDuration(&o.IdleTimeout, 10*time.Minute)
	setDuration(&o.ReadTimeout, 30*time.Second)
	setDuration(&o.WriteTimeout, 2*time.Minute)
	return o
}

// Peer is the other side of a connection.
type Peer struct {
	// ID numbers the connections of this process, from 1.
	ID uint64
	// Addr is the client's address, Local the one it connected to.
	Addr, Local net.Addr
}

// Response is the answer to one request.
type Response struct {
	// Segments are the bytes to send, the frame's size field included. None
	// means no answer, as for Produce with acks=0.
	Segments net.Buffers
	// Release, if set, is called once when the segments have been written or
	// will never be.
	Release func()
	// Close ends the connection once this answer is written, as Kafka does
	// after a failed authentication.
	Close bool
}

func (r *Response) size() int {
	n := 0
	for _, s := range r.Segments {
		n += len(s)
	}
	return n
}

func (r *Response) release() {
	if r.Release != nil {
		r.Release()
	}
}

// Dispatcher turns requests into answers. The frame, without its size field, is
// the dispatcher's until the response is released. Calls for one connection
// come one at a time, in order. ctx ends (ErrForced) only when the time for an
// orderly shutdown is over; it carries the parking.Lot of the connection, with
// which a request that waits learns that its client has gone. An error ends the connection; a
// *RequestError says what for the log.
type Dispatcher interface {
	Dispatch(ctx context.Context, peer *Peer, frame []byte) (Response, error)
}

var (
	// ErrMalformed is a request that cannot be decoded.
	ErrMalformed = errors.New("malformed request")
	// ErrUnsupported is an API key or version that is not served.
	ErrUnsupported = errors.New("unsupported API or version")
	// ErrServerClosed is what Serve returns after Shutdown or Close.
	ErrServerClosed = errors.New("the server is closed")
	// ErrForced is the cause of a request context's end when the grace time of a shutdown is over.
	ErrForced = errors.New("the time for an orderly shutdown is over")
)

// RequestError is a request that ends its connection without an answer.
type RequestError struct {
	// API is the request's name, or its number when it has none; Version is the
	// version asked for. Both are as far as the header could be read.
	API     string
	Version int16
	// Err is why; it wraps ErrMalformed or ErrUnsupported where one applies.
	Err error
}

// Error names the API, the version and the reason.
func (e *RequestError) Error() string {
	return fmt.Sprintf("%s v%d: %v", e.API, e.Version, e.Err)
}

// Unwrap returns the reason.
func (e *RequestError) Unwrap() error { return e.Err }
