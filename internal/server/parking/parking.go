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

	mu      sync.Mutex
	cause   error         // of the eviction, nil before that
	evicted chan struct{} // closed by the eviction; made for the first who waits
	parked  map[*context.CancelCauseFunc]struct{}
}

// NewLot makes an empty lot. onChange, which may be nil, is told +1 for each
// request that parks and -1 when it leaves.
func NewLot(onChange func(delta int)) *Lot {
	if onChange == nil {
		onChange = func(int) {}
	}
	return &Lot{onChange: onChange}
}

// Evict ends the waits of all that is parked, with the given cause, and of all
// that parks from now on. The first cause stays.
func (l *Lot) Evict(cause error) {
	l.mu.Lock()
	if l.cause != nil {
		l.mu.Unlock()
		return
	}
	l.cause = cause
	if l.evicted != nil {
		close(l.evicted)
	}
	parked := l.parked
	l.parked = nil
	l.mu.Unlock()
	for cancel := range parked {
		(*cancel)(cause)
	}
}

// Evicted returns the cause given to Evict, or nil before that.
func (l *Lot) Evicted() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause
}

// eviction is closed by Evict.
func (l *Lot) eviction() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.evicted == nil {
		l.evicted = make(chan struct{})
		if l.cause != nil {
			close(l.evicted)
		}
	}
	return l.evicted
}

// add has cancel called by Evict, at once when that was before.
func (l *Lot) add(cancel *context.CancelCauseFunc) {
	l.mu.Lock()
	cause := l.cause
	if cause == nil {
		if l.parked == nil {
			l.parked = make(map[*context.CancelCauseFunc]struct{}, 1)
		}
		l.parked[cancel] = struct{}{}
	}
	l.mu.Unlock()
	if cause != nil {
		(*cancel)(cause)
	}
}

// remove takes back what add did.
func (l *Lot) remove(cancel *context.CancelCauseFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if delete(l.parked, cancel); len(l.parked) == 0 {
		l.parked = nil // few park in this way, and rarely
	}
}

type lotKey struct{}

// NewContext returns a context whose Park and Enter calls use the lot.
func NewContext(ctx context.Context, l *Lot) context.Context {
	return context.WithValue(ctx, lotKey{}, l)
}

// Park marks the request that ctx belongs to as waiting. The context it returns
// ends with ctx and, earlier, when the lot is evicted: context.Cause then says
// ErrClientGone or ErrShutdown. Leave must be called when the wait is over; it
// may be called more than once. Without a lot in ctx only ctx ends the wait.
func Park(ctx context.Context) (parked context.Context, leave func()) {
	parked, cancel := context.WithCancelCause(ctx)
	spot := Enter(ctx)
	if spot.lot != nil {
		spot.lot.add(&cancel)
	}
	var once sync.Once
	return parked, func() {
		once.Do(func() {
			if spot.lot != nil {
				spot.lot.remove(&cancel)
			}
			cancel(context.Canceled)
			spot.Leave()
		})
	}
}

// Spot is the place of a parked request that waits for channels itself: it has to
// watch Evicted as well as the end of its context, and costs less than Park.
type Spot struct{ lot *Lot }

// Enter marks the request that ctx belongs to as waiting, until Leave.
func Enter(ctx context.Context) Spot {
	lot, ok := ctx.Value(lotKey{}).(*Lot)
	if !ok {
		return Spot{}
	}
	lot.onChange(1)
	return Spot{lot: lot}
}

// Evicted is closed when the lot is evicted. Without a lot it is nil, which
// nothing ever comes out of.
func (s Spot) Evicted() <-chan struct{} {
	if s.lot == nil {
		return nil
	}
	return s.lot.eviction()
}

// Leave says that the wait is over. It must be called once.
func (s Spot) Leave() {
	if s.lot != nil {
		s.lot.onChange(-1)
	}
}
