package groups

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var start = time.Unix(1_000_000, 0)

// show renders who has which partitions.
func show(g *Group) string {
	s := ""
	for _, m := range g.Members() {
		s += fmt.Sprintf("%d%v", m.ID, m.Partitions)
	}
	return s
}

// store is a group's stored offsets.
type store map[uint32]uint64

func (s store) get(p uint32) (uint64, bool) {
	o, ok := s[p]
	return o, ok
}

func TestJoinAndLeave(t *testing.T) {
	t.Parallel()
	g := New(4, store{}.get)
	steps := []struct {
		name string
		do   func()
		want string
	}{
		{"the only member gets everything", func() { g.Join(1, start) }, "0[0 1 2 3]"},
		{"joining again changes nothing", func() { g.Join(1, start) }, "0[0 1 2 3]"},
		{"a second member is handed one, the last", func() { g.Join(2, start) }, "0[0 1 2]1[3]"},
		{"a third too, from whoever has most", func() { g.Join(3, start) }, "0[0 1]1[3]2[2]"},
		{"leaving deals everything anew", func() { g.Leave(2) }, "0[0 2]2[1 3]"},
		{"leaving twice changes nothing", func() { g.Leave(2) }, "0[0 2]2[1 3]"},
		{"more partitions are dealt anew", func() { g.Resize(5) }, "0[0 2 4]2[1 3]"},
		{"fewer partitions too", func() { g.Resize(1) }, "0[0]2[]"},
		{"nobody is left", func() { g.Leave(1); g.Leave(3) }, ""},
		{"member ids are not used again", func() { g.Join(9, start) }, "3[0]"},
	}
	for _, step := range steps {
		step.do()
		if got := show(g); got != step.want {
			t.Errorf("%s: %s, want %s", step.name, got, step.want)
		}
	}
}

func TestHandoverWaitsForTheCommit(t *testing.T) {
	t.Parallel()
	offsets := store{}
	g := New(2, offsets.get)
	g.Join(1, start)
	g.Polled(1, 7)
	g.Join(2, start)
	if got := show(g); got != "0[0 1]1[]" {
		t.Fatalf("a polled partition was handed over at once: %s", got)
	}
	if !g.Owns(1, 1) || g.Owns(2, 1) {
		t.Error("a partition waiting to be handed over is still its member's")
	}
	for range 3 {
		if p, ok := g.Next(1, true); !ok || p != 0 {
			t.Errorf("rotation gave %d, %v: it must leave out what is promised", p, ok)
		}
	}
	if _, ok := g.Next(2, true); ok {
		t.Error("the waiting member has a partition")
	}
	offsets[1] = 6
	g.Stored(start)
	if got := show(g); got != "0[0 1]1[]" {
		t.Errorf("handed over before everything polled was committed: %s", got)
	}
	offsets[1] = 7
	g.Stored(start)
	if got := show(g); got != "0[0]1[1]" {
		t.Errorf("not handed over after the commit: %s", got)
	}
}

func TestHandoverTimesOut(t *testing.T) {
	t.Parallel()
	g := New(2, store{}.get)
	g.Join(1, start)
	g.Polled(1, 7)
	g.Join(2, start)
	g.Tick(start.Add(HandoverTimeout - time.Second))
	if got := show(g); got != "0[0 1]1[]" {
		t.Errorf("handed over too early: %s", got)
	}
	g.Tick(start.Add(HandoverTimeout))
	if got := show(g); got != "0[0]1[1]" {
		t.Errorf("not handed over in time: %s", got)
	}
}

func TestRotation(t *testing.T) {
	t.Parallel()
	g := New(3, store{}.get)
	g.Join(1, start)
	var seen []uint32
	for range 6 {
		p, ok := g.Next(1, true)
		if !ok {
			t.Fatal("no partition")
		}
		seen = append(seen, p)
	}
	if !slices.Equal(seen, []uint32{0, 1, 2, 0, 1, 2}) {
		t.Errorf("rotation: %v", seen)
	}
	if p, _ := g.Next(1, false); p != 0 {
		t.Errorf("looking without moving on: %d", p)
	}
	if p, _ := g.Next(1, false); p != 0 {
		t.Errorf("looking again: %d", p)
	}
}

// TestRandomSchedules checks after every event that each partition has one member, as
// long as there are any, and that nobody waits for something that nobody promised.
func TestRandomSchedules(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		offsets := store{}
		n := uint32(rng.IntN(7))
		g := New(n, offsets.get)
		now := start
		for step := range 200 {
			client := Client(rng.IntN(6))
			switch rng.IntN(7) {
			case 0, 1:
				g.Join(client, now)
			case 2:
				g.Leave(client)
			case 3:
				if p, ok := g.Next(client, true); ok {
					g.Polled(p, uint64(step))
				}
			case 4:
				if p, ok := g.Next(client, false); ok {
					offsets[p] = uint64(step)
					g.Stored(now)
				}
			case 5:
				now = now.Add(time.Duration(rng.IntN(20)) * time.Second)
				g.Tick(now)
			case 6:
				if rng.IntN(5) == 0 {
					n = uint32(rng.IntN(7))
					g.Resize(n)
				}
			}
			check(t, g, n, fmt.Sprintf("seed %d, step %d", seed, step))
		}
	}
}

func check(t *testing.T, g *Group, n uint32, when string) {
	t.Helper()
	owner := make(map[uint32]uint32)
	for _, m := range g.members {
		for _, p := range m.partitions {
			if other, ok := owner[p]; ok {
				t.Fatalf("%s: partition %d is with %d and %d", when, p, other, m.id)
			}
			owner[p] = m.id
		}
		for _, h := range m.leaving {
			if !slices.Contains(m.partitions, h.partition) || g.byID(h.to) == nil {
				t.Fatalf("%s: member %d promised %d to %d: %s", when, m.id, h.partition, h.to, show(g))
			}
		}
	}
	if len(g.members) > 0 && len(owner) != int(n) {
		t.Fatalf("%s: %d of %d partitions have a member: %s", when, len(owner), n, show(g))
	}
}
