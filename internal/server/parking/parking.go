// Package parking lets a handler wait on behalf of a client without outliving
// it. A request that waits (a Fetch below min_bytes, a JoinGroup during a
// rebalance) parks; the server evicts what a connection has parked when its
// client goes away or when the bridge shuts down. A request that is not parked
// is never disturbed by either: a Produce in flight is finished.
//
// The package stands between internal/server, which owns the lots, and
// handlers, which park in them, so that neither has to know the other.
package parking

import (
	"context"
	"errors"
	"sync"
)

var (
	// ErrShutdown is the cause of a parked context's end when the bridge stops:
	// the handler answers at once with what it has, and the answer is sent.
	ErrShutdown = errors.New("the bridge is shutting down")

	// ErrClientGone is the cause when the client has closed its side of the
	// connection. The answer still goes out, for clients that only closed their
	// sending half, so the handler answers with what it has here, too.
	ErrClientGone = errors.New("the client closed its connection")
)

// Lot holds the parked requests of one connection. Its methods may be called
// from any goroutine.
type Lot struct {
	onChange func(delta int)
	evicted  context.Context
	evict    context.CancelCauseFunc
}

// NewLot makes an empty lot. onChange, which may be nil, is told +1 for each
// request that parks and -1 when it leaves.
func NewLot(onChange func(delta int)) *Lot {
	if onChange == nil {
		onChange = func(int) {}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	return &Lot{onChange: onChange, evicted: ctx, evict: cancel}
}

// Evict ends the contexts of all that is parked, with the given cause, and of
// all that parks from now on. The first cause stays.
func (l *Lot) Evict(cause error) { l.evict(cause) }

// Evicted returns the cause given to Evict, or nil before that.
func (l *Lot) Evicted() error { return context.Cause(l.evicted) }

type lotKey struct{}

// NewContext returns a context whose Park calls use the lot.
func NewContext(ctx context.Context, l *Lot) context.Context {
	return context.WithValue(ctx, lotKey{}, l)
}

// Park marks the request that ctx belongs to as waiting. The context it returns
// ends with ctx and, earlier, when the lot is evicted: context.Cause then says
// ErrClientGone or ErrShutdown. Leave must be called when the wait is over; it
// may be called more than once. Without a lot in ctx only ctx ends the wait.
func Park(ctx context.Context) (parked context.Context, leave func()) {
	parked, cancel := context.WithCancelCause(ctx)
	lot, ok := ctx.Value(lotKey{}).(*Lot)
	if !ok {
		return parked, func() { cancel(context.Canceled) }
	}
	lot.onChange(1)
	stop := func() bool { return true }
	if cause := lot.Evicted(); cause != nil {
		cancel(cause) // here and now: AfterFunc would do it a moment later
	} else {
		stop = context.AfterFunc(lot.evicted, func() { cancel(context.Cause(lot.evicted)) })
	}
	var once sync.Once
	return parked, func() {
		once.Do(func() {
			stop()
			cancel(context.Canceled)
			lot.onChange(-1)
		})
	}
}
