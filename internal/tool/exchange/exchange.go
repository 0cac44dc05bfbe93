// Package exchange sends requests to a Kafka server, each on a connection of its
// own, and judges what comes back.
package exchange

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/tool"
	"kafka-iggy-bridge/internal/tool/corpus"
	"kafka-iggy-bridge/internal/tool/frame"
)

// Status is what became of a request.
type Status string

// The statuses.
const (
	// OK is an answer that decodes, or none where none is due.
	OK Status = "ok"
	// Closed is a connection ended without an answer: what a server does with
	// APIs and versions that it does not serve.
	Closed Status = "closed"
	// Malformed is an answer that is not one to the request.
	Malformed Status = "malformed"
	// Timeout is no whole answer in time.
	Timeout Status = "timeout"
	// Unreachable is that no connection came about, or broke for other reasons
	// than the server's.
	Unreachable Status = "unreachable"
)

// Statuses lists all statuses, in the order in which they are reported.
var Statuses = []Status{OK, Closed, Malformed, Timeout, Unreachable}

// Failed reports whether the status speaks of a fault.
func (s Status) Failed() bool { return s != OK && s != Closed }

// Outcome is what became of one request.
type Outcome struct {
	tool.Pair
	Status Status
	// Detail says more: size and error codes of an answer, or what is wrong.
	Detail string
}

// Server is a Kafka server that requests are sent to.
type Server struct {
	// Address is host:port.
	Address string
	// Timeout bounds each request, from connecting to the whole answer.
	Timeout time.Duration
}

// CheckAddress makes sure that an address is of the form host:port. The error
// is tool.ErrInput.
func CheckAddress(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return tool.Inputf("%q is not of the form HOST:PORT", address)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return tool.Inputf("%q: the port must be a number from 1 to 65535", address)
	}
	return nil
}

// Reachable returns an error where no connection comes about.
func (s Server) Reachable(ctx context.Context) error {
	conn, err := s.dial(ctx)
	if err != nil {
		return err
	}
	return conn.Close()
}

func (s Server) dial(ctx context.Context) (net.Conn, error) {
	d := net.Dialer{Timeout: s.Timeout}
	return d.DialContext(ctx, "tcp", s.Address)
}

// Send sends one request and judges the answer.
func (s Server) Send(ctx context.Context, x *corpus.Exchange) Outcome {
	out := Outcome{Pair: x.Pair}
	request, silent := x.Request, noAnswerDue(x)
	if silent {
		// Whether a server that owes no answer gives none shows in what it
		// answers first when it is asked something else behind.
		probe, err := probeRequest()
		if err != nil {
			out.Status, out.Detail = Unreachable, err.Error()
			return out
		}
		request = append(request[:len(request):len(request)], probe...)
	}
	payload, err := s.ask(ctx, request)
	switch {
	case err != nil:
		out.Status, out.Detail = classify(err)
	case silent:
		out.Status, out.Detail = judgeSilence(x, payload)
	default:
		out.Status, out.Detail = judge(x, payload)
	}
	return out
}

// ask sends bytes and returns the first frame that comes back.
func (s Server) ask(ctx context.Context, request []byte) (payload []byte, err error) {
	conn, err := s.dial(ctx)
	if err != nil {
		return nil, &dialError{err}
	}
	defer func() {
		if e := conn.Close(); err == nil {
			err = e
		}
	}()
	if err := conn.SetDeadline(time.Now().Add(s.Timeout)); err != nil {
		return nil, err
	}
	// A cancelled context ends the exchange at once.
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := conn.Write(request); err != nil {
		return nil, err
	}
	return frame.Read(conn)
}

// dialError is an error of connecting, which is no answer of a server, even
// where the same code in a connection would be.
type dialError struct{ error }

func (e *dialError) Unwrap() error { return e.error }

// classify turns the error of an exchange into a status.
func classify(err error) (Status, string) {
	var dial *dialError
	switch {
	case errors.As(err, &dial):
		return Unreachable, err.Error()
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return Closed, "no answer"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return Timeout, "no whole answer in time"
	case errors.Is(err, frame.ErrTruncated), errors.Is(err, frame.ErrSize):
		return Malformed, err.Error()
	default:
		return Unreachable, err.Error()
	}
}

// noAnswerDue reports whether a request asks for no answer: Produce with acks
// of 0.
func noAnswerDue(x *corpus.Exchange) bool {
	if x.API.Key != generated.KeyProduce {
		return false
	}
	payload, err := frame.Payload(x.Request)
	if err != nil {
		return false
	}
	_, m, err := frame.DecodeRequest(payload)
	if err != nil {
		return false
	}
	p, ok := m.(*generated.ProduceRequest)
	return ok && p.Acks == 0
}

// probeCorrelation marks the probe's answer. A corpus has no such id.
const probeCorrelation = 1<<31 - 1

// probeRequest is a request that every server answers at once.
func probeRequest() ([]byte, error) {
	a, _ := generated.LookupAPI(generated.KeyApiVersions)
	return frame.AppendRequest(nil, tool.Pair{API: a, Version: a.Min}, probeCorrelation, corpus.ClientID, a.NewRequest())
}

func describe(size int, m generated.Message) string {
	codes := errorCodes(m)
	if len(codes) == 0 {
		return fmt.Sprintf("%d bytes", size)
	}
	return fmt.Sprintf("%d bytes, error codes %s", size, join(codes))
}
