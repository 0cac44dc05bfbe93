package server

// keptQueue is how many items an empty queue keeps room for: what a client needs
// that waits for each answer. Room for more goes when the queue has run empty.
const keptQueue = 2

// queue is a first-in, first-out queue that has memory for what is in it.
type queue[T any] struct {
	items []T // the ones before head have been taken
	head  int
}

func (q *queue[T]) empty() bool { return q.head == len(q.items) }

func (q *queue[T]) push(v T) {
	if len(q.items) == cap(q.items) && q.head > len(q.items)/2 {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, v)
}

// pop takes the oldest item, false when there is none.
func (q *queue[T]) pop() (v T, ok bool) {
	if q.empty() {
		return v, false
	}
	var none T
	v, q.items[q.head] = q.items[q.head], none
	if q.head++; q.empty() {
		if q.items, q.head = q.items[:0], 0; cap(q.items) > keptQueue {
			q.items = nil
		}
	}
	return v, true
}
