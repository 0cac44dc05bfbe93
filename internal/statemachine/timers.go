package statemachine

import (
	"container/heap"
	"time"
)

// Timers are the pending timers of a machine, at most one for each key. The
// zero value is ready for use. Setting a timer again, as heartbeats do all the
// time, moves it within the heap and allocates nothing.
type Timers[K comparable] struct {
	byKey map[K]*timer[K]
	heap  timerHeap[K]
}

type timer[K comparable] struct {
	key   K
	at    time.Time
	index int
	fire  func(now time.Time)
}

// Set makes fire run at a time, instead of what was set for the key before.
func (t *Timers[K]) Set(key K, at time.Time, fire func(now time.Time)) {
	if old, ok := t.byKey[key]; ok {
		old.at, old.fire = at, fire
		heap.Fix(&t.heap, old.index)
		return
	}
	if t.byKey == nil {
		t.byKey = make(map[K]*timer[K])
	}
	n := &timer[K]{key: key, at: at, fire: fire}
	t.byKey[key] = n
	heap.Push(&t.heap, n)
}

// Move changes when a timer fires, and reports whether there is one.
func (t *Timers[K]) Move(key K, at time.Time) bool {
	old, ok := t.byKey[key]
	if ok {
		old.at = at
		heap.Fix(&t.heap, old.index)
	}
	return ok
}

// Cancel removes a key's timer, if there is one.
func (t *Timers[K]) Cancel(key K) {
	if old, ok := t.byKey[key]; ok {
		heap.Remove(&t.heap, old.index)
		delete(t.byKey, key)
	}
}

// Has reports whether a key has a timer.
func (t *Timers[K]) Has(key K) bool {
	_, ok := t.byKey[key]
	return ok
}

// Len is the number of timers.
func (t *Timers[K]) Len() int { return len(t.heap) }

// Next is when the first timer fires, zero without any.
func (t *Timers[K]) Next() time.Time {
	if len(t.heap) == 0 {
		return time.Time{}
	}
	return t.heap[0].at
}

// Tick fires what is due, in the order of time. A timer is removed before it
// fires, so it may set itself again; one set for a time that has passed fires in
// the same Tick.
func (t *Timers[K]) Tick(now time.Time) {
	for len(t.heap) > 0 && !t.heap[0].at.After(now) {
		due := heap.Pop(&t.heap).(*timer[K])
		delete(t.byKey, due.key)
		due.fire(now)
	}
}

// timerHeap orders timers by time.
type timerHeap[K comparable] []*timer[K]

func (h timerHeap[K]) Len() int           { return len(h) }
func (h timerHeap[K]) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h timerHeap[K]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push is for package heap.
func (h *timerHeap[K]) Push(x any) {
	t := x.(*timer[K])
	t.index = len(*h)
	*h = append(*h, t)
}

// Pop is for package heap.
func (h *timerHeap[K]) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return t
}
