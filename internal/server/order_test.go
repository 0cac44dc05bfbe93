package server

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"kafka-iggy-bridge/internal/server/parking"
)

func TestAnswersComeInTheOrderOfTheRequests(t *testing.T) {
	t.Parallel()
	f := newFake()
	h := start(t, Options{}, f)
	c := h.dial()
	var all []byte
	all = append(all, fakeFrame(verbHold, 0, nil)...)
	for i := uint32(1); i < 200; i++ {
		verb := byte(verbEcho)
		if i%5 == 0 {
			verb = verbNone
		}
		all = append(all, fakeFrame(verb, i, bytes.Repeat([]byte{byte(i)}, int(i)*37))...)
	}
	go c.Write(all) // more than the budget takes: it blocks until answers are read

	other := h.dial()
	other.request(verbEcho, 1000, "not held up")
	other.expect(1000, "not held up")

	<-f.held
	close(f.release)
	c.expect(0, "held")
	for i := uint32(1); i < 200; i++ {
		if i%5 != 0 {
			c.expect(i, string(bytes.Repeat([]byte{byte(i)}, int(i)*37)))
		}
	}
	own := slices.DeleteFunc(f.appliedNumbers(), func(n uint32) bool { return n == 1000 })
	if !slices.IsSorted(own) {
		t.Errorf("requests were applied out of order: %v", own)
	}
	eventually(t, "all answers released", func() bool { return f.released.Load() == 162 })
}

func TestFramesOfEverySizeArriveWhole(t *testing.T) {
	t.Parallel()
	f := newFake()
	h := start(t, Options{MaxInFlightBytes: 1 << 20}, f)
	c := h.dial()
	for i, size := range []int{0, 1, 4090, 4096, 16<<10 - 5, 16 << 10, 65531, 1 << 20, 3 << 20, 5<<20 + 3} {
		want := make([]byte, size)
		for j := range want {
			want[j] = byte(j * (i + 3) >> 3)
		}
		go c.Write(fakeFrame(verbEcho, uint32(i), want))
		n, got := c.answer()
		if n != uint32(i) || !bytes.Equal(got, want) {
			t.Fatalf("size %d: answer %d with %d bytes differs", size, n, len(got))
		}
	}
}

func TestAParkedRequestHoldsUpItsOwnConnectionOnly(t *testing.T) {
	t.Parallel()
	f := newFake()
	h := start(t, Options{}, f)
	parkedConn, free := h.dial(), h.dial()
	parkedConn.request(verbPark, 1, "")
	<-f.parked
	parkedConn.request(verbEcho, 2, "behind")
	for i := range uint32(50) {
		free.request(verbEcho, i, "free")
		free.expect(i, "free")
	}
	if got := fmt.Sprint(f.appliedNumbers()[:1]); got != "[1]" {
		t.Fatalf("applied first: %s", got)
	}
	if err := parkedConn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	parkedConn.expect(1, parking.ErrClientGone.Error())
	parkedConn.expect(2, "behind")
	parkedConn.expectClosed()
}

func TestRequestsReadBeforeTheClientClosedAreApplied(t *testing.T) {
	t.Parallel()
	f := newFake()
	h := start(t, Options{}, f)
	c := h.dial()
	var all []byte
	all = append(all, fakeFrame(verbHold, 0, nil)...)
	for i := uint32(1); i <= 40; i++ {
		all = append(all, fakeFrame(verbNone, i, []byte("acks=0"))...)
	}
	c.send(all...)
	<-f.held
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	close(f.release)
	eventually(t, "all requests applied", func() bool { return len(f.appliedNumbers()) == 41 })
	eventually(t, "connection ended", func() bool { return h.gauge("connections") == 0 })
}
