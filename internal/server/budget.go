package server

import "sync"

// budget bounds what a connection holds: requests read but not answered, answers
// made but not written. One goroutine takes, any may give back.
type budget struct {
	maxItems int
	maxBytes int

	mu    sync.Mutex
	items int
	bytes int
	freed chan struct{} // wakes the taker, capacity 1; made when it first waits
}

func newBudget(maxItems, maxBytes int) budget {
	return budget{maxItems: maxItems, maxBytes: maxBytes}
}

// tryTake takes room for one item of n bytes. An item larger than the whole
// budget is let in when nothing else is there, or it would wait for ever.
func (b *budget) tryTake(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.items > 0 && (b.items >= b.maxItems || b.bytes+n > b.maxBytes) {
		return false
	}
	b.items++
	b.bytes += n
	return true
}

// hasRoom tells whether an item of unknown size may be made: the budget is not
// used up.
func (b *budget) hasRoom() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.items == 0 || b.items < b.maxItems && b.bytes < b.maxBytes
}

// wakes is what receives when something has been given back since it was called
// first. The taker asks for it before it looks whether there is room.
func (b *budget) wakes() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.freed == nil {
		b.freed = make(chan struct{}, 1)
	}
	return b.freed
}

// take takes room for one item of n bytes, which may exceed what is left.
func (b *budget) take(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.items++
	b.bytes += n
}

// give returns the room of one item of n bytes.
func (b *budget) give(n int) {
	b.mu.Lock()
	b.items--
	b.bytes -= n
	freed := b.freed
	b.mu.Unlock()
	if freed == nil {
		return // nobody has ever waited
	}
	select {
	case freed <- struct{}{}:
	default: // the taker has not seen the last wake yet; one is enough
	}
}

// idle tells whether nothing is held.
func (b *budget) idle() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.items == 0
}
