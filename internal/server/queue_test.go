package server

import "testing"

func TestAQueueKeepsTheOrderAndGivesItsMemoryBack(t *testing.T) {
	t.Parallel()
	var q queue[int]
	in, out := 0, 0
	pop := func() {
		t.Helper()
		if v, ok := q.pop(); !ok || v != out {
			t.Fatalf("got %d, %t, want %d", v, ok, out)
		}
		out++
	}
	for round := range 200 { // grows to 200, with takes in between
		for range 3 {
			q.push(in)
			in++
		}
		pop()
		if round%2 == 0 {
			pop()
		}
	}
	if most := 4 * (in - out); cap(q.items) > most {
		t.Errorf("room for %d with %d in it", cap(q.items), in-out)
	}
	for !q.empty() {
		pop()
	}
	if _, ok := q.pop(); ok || in != out {
		t.Errorf("%d in, %d out", in, out)
	}
	if cap(q.items) > keptQueue {
		t.Errorf("an empty queue keeps room for %d", cap(q.items))
	}
}
