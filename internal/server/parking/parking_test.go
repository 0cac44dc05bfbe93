package parking

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

func TestParkEndsWithTheCauseOfTheEviction(t *testing.T) {
	t.Parallel()
	for name, cause := range map[string]error{"client gone": ErrClientGone, "shutdown": ErrShutdown} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var parkedNow atomic.Int64
			lot := NewLot(func(d int) { parkedNow.Add(int64(d)) })
			base := NewContext(t.Context(), lot)
			ctx, leave := Park(base)
			if ctx.Err() != nil || parkedNow.Load() != 1 {
				t.Fatalf("before the eviction: err %v, parked %d", ctx.Err(), parkedNow.Load())
			}
			lot.Evict(cause)
			<-ctx.Done()
			if got := context.Cause(ctx); !errors.Is(got, cause) {
				t.Errorf("cause %v, want %v", got, cause)
			}
			if base.Err() != nil {
				t.Errorf("the request's own context ended: %v", base.Err())
			}
			leave()
			leave()
			if n := parkedNow.Load(); n != 0 {
				t.Errorf("%d still counted as parked", n)
			}
		})
	}
}

func TestParkAfterTheEvictionEndsAtOnce(t *testing.T) {
	t.Parallel()
	lot := NewLot(nil)
	lot.Evict(ErrShutdown)
	lot.Evict(ErrClientGone)
	ctx, leave := Park(NewContext(t.Context(), lot))
	defer leave()
	if got := context.Cause(ctx); !errors.Is(got, ErrShutdown) {
		t.Errorf("cause %v, want the first one given", got)
	}
}

func TestParkEndsWithItsOwnContext(t *testing.T) {
	t.Parallel()
	cause := errors.New("over")
	for name, lot := range map[string]*Lot{"with a lot": NewLot(nil), "without a lot": nil} {
		base, cancel := context.WithCancelCause(t.Context())
		if lot != nil {
			base = NewContext(base, lot)
		}
		ctx, leave := Park(base)
		cancel(cause)
		<-ctx.Done()
		if got := context.Cause(ctx); !errors.Is(got, cause) {
			t.Errorf("%s: cause %v, want %v", name, got, cause)
		}
		leave()
	}
}

func TestASpotEndsWithTheEviction(t *testing.T) {
	t.Parallel()
	for name, evictFirst := range map[string]bool{"entered before": false, "entered after": true} {
		var parkedNow atomic.Int64
		lot := NewLot(func(d int) { parkedNow.Add(int64(d)) })
		ctx := NewContext(t.Context(), lot)
		if evictFirst {
			lot.Evict(ErrClientGone)
		}
		spot := Enter(ctx)
		evicted := spot.Evicted()
		if n := parkedNow.Load(); n != 1 {
			t.Errorf("%s: %d counted as parked", name, n)
		}
		if !evictFirst {
			select {
			case <-evicted:
				t.Errorf("%s: evicted by nobody", name)
			default:
			}
			lot.Evict(ErrClientGone)
		}
		<-evicted
		if got := lot.Evicted(); !errors.Is(got, ErrClientGone) {
			t.Errorf("%s: cause %v", name, got)
		}
		spot.Leave()
		if n := parkedNow.Load(); n != 0 {
			t.Errorf("%s: %d still counted as parked", name, n)
		}
	}
}

func TestASpotWithoutALotIsNeverEvicted(t *testing.T) {
	t.Parallel()
	spot := Enter(t.Context())
	defer spot.Leave()
	if spot.Evicted() != nil {
		t.Error("there is something to wait for")
	}
}
