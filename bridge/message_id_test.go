package bridge

import (
	"crypto/rand"
	"math"
	"testing"
)

func TestMessageIDs(t *testing.T) {
	t.Parallel()
	for _, s := range []producerStamp{
		{},
		{ID: 4711, Epoch: 3, Sequence: 17},
		{ID: maxProducerID, Epoch: math.MaxInt16, Sequence: math.MaxInt32, Flags: idKnownFlags},
		{ID: 1, Sequence: -1, Flags: idControl},
	} {
		if got, ok := parseMessageID(producerMessageID(s)); !ok || got != s {
			t.Errorf("%+v became %+v, %v", s, got, ok)
		}
	}
	ids, err := newIDSource()
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[messageID]bool)
	for range 10_000 {
		id := ids.id(ids.reserve(1))
		if _, ok := parseMessageID(id); ok || seen[id] {
			t.Fatalf("id %x is a producer's or was there before", id)
		}
		seen[id] = true
	}
}

func TestRandomMessageIDsAreNobodys(t *testing.T) {
	t.Parallel()
	var id messageID
	for range 200_000 {
		if _, err := rand.Read(id[:]); err != nil {
			t.Fatal(err)
		}
		if s, ok := parseMessageID(id); ok {
			t.Fatalf("a random id %x was taken for %+v", id, s)
		}
	}
}

func TestSequencesWrapToZero(t *testing.T) {
	t.Parallel()
	if got := nextSequence(math.MaxInt32, 1); got != 0 {
		t.Fatal(got)
	}
	if got := nextSequence(math.MaxInt32-1, 3); got != 1 {
		t.Fatal(got)
	}
}

func BenchmarkMessageID(b *testing.B) {
	b.ReportAllocs()
	for i := range b.N {
		id := producerMessageID(producerStamp{ID: 4711, Sequence: int32(i)})
		if _, ok := parseMessageID(id); !ok {
			b.Fatal("not parsed")
		}
	}
}
