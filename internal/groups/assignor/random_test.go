package assignor

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kafka-iggy-bridge/internal/wire"
)

// randomSpec makes a group; alike gives all members the same subscription.
func randomSpec(r *rand.Rand, alike bool) *Spec {
	spec := &Spec{Partitions: make(map[wire.UUID]int32)}
	var topics []wire.UUID
	for n := range 1 + r.IntN(6) {
		id := topicID(uint64(n + 1))
		topics = append(topics, id)
		spec.Partitions[id] = r.Int32N(20)
	}
	for n := range 1 + r.IntN(12) {
		spec.Members = append(spec.Members, randomMember(r, fmt.Sprintf("m%02d", n), topics, alike))
	}
	return spec
}

func randomMember(r *rand.Rand, id string, topics []wire.UUID, alike bool) Member {
	m := Member{ID: id, Topics: topics}
	if !alike {
		m.Topics = nil
		for _, topic := range topics {
			if r.IntN(3) > 0 {
				m.Topics = append(m.Topics, topic)
			}
		}
	}
	if r.IntN(3) == 0 {
		m.InstanceID = "i-" + id
	}
	return m
}

// evolve makes the next question: the members have what they were given, and one
// thing changes.
func evolve(r *rand.Rand, spec *Spec, result map[string]Assignment, alike bool, step int) *Spec {
	next := &Spec{Partitions: maps.Clone(spec.Partitions), Members: slices.Clone(spec.Members)}
	for i := range next.Members {
		next.Members[i].Current = result[next.Members[i].ID]
	}
	topics := slices.SortedFunc(maps.Keys(next.Partitions), compareUUID)
	switch r.IntN(4) {
	case 0:
		if len(next.Members) > 1 {
			at := r.IntN(len(next.Members))
			next.Members = slices.Delete(next.Members, at, at+1)
		}
	case 1:
		next.Members = append(next.Members, randomMember(r, fmt.Sprintf("n%02d", step), topics, alike))
	case 2:
		next.Partitions[topics[r.IntN(len(topics))]] += 1 + r.Int32N(5)
	default:
		if !alike {
			m := &next.Members[r.IntN(len(next.Members))]
			m.Topics = randomMember(r, "", topics, false).Topics
		}
	}
	r.Shuffle(len(next.Members), func(i, j int) {
		next.Members[i], next.Members[j] = next.Members[j], next.Members[i]
	})
	return next
}

// TestRandomGroups lets groups live and checks after each step that the
// assignment is complete, does not depend on the order of members, stays when
// asked again, and is balanced; and that a uniform one moves as little as it can.
func TestRandomGroups(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		for _, alike := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s alike %v", name, alike), func(t *testing.T) {
				t.Parallel()
				assign, _ := ByName(name)
				for seed := range uint64(60) {
					r := rand.New(rand.NewPCG(seed, 7))
					spec := randomSpec(r, alike)
					for step := range 12 {
						result := checkSpec(t, assign, spec, name, alike)
						if t.Failed() {
							t.Fatalf("seed %d, step %d: %+v", seed, step, spec)
						}
						spec = evolve(r, spec, result, alike, step)
					}
				}
			})
		}
	}
}

func checkSpec(t *testing.T, assign func(*Spec) (map[string]Assignment, error), spec *Spec, name string, alike bool) map[string]Assignment {
	t.Helper()
	result, err := assign(spec)
	if err != nil {
		t.Fatal(err)
	}
	checkComplete(t, spec, result)
	again := &Spec{Partitions: spec.Partitions, Members: slices.Clone(spec.Members)}
	slices.Reverse(again.Members)
	if other, _ := assign(again); !cmp.Equal(result, other) {
		t.Errorf("depends on the order of members: %s", cmp.Diff(result, other))
	}
	for i := range again.Members {
		again.Members[i].Current = result[again.Members[i].ID]
	}
	if other, _ := assign(again); !cmp.Equal(result, other) {
		t.Errorf("does not stay: %s", cmp.Diff(result, other))
	}
	if name == RangeName {
		return result
	}
	if !alike {
		checkNoBetterMove(t, spec, result)
		return result
	}
	all := sizes(result)
	if all[len(all)-1]-all[0] > 1 {
		t.Errorf("not balanced: %v", all)
	}
	if got, want := kept(spec, result), mayKeep(spec); got != want {
		t.Errorf("%d partitions stay, %d could", got, want)
	}
	return result
}

// checkNoBetterMove checks that no topic has a subscriber with some of its
// partitions and two more, in all, than another subscriber.
func checkNoBetterMove(t *testing.T, spec *Spec, result map[string]Assignment) {
	t.Helper()
	for id := range spec.Partitions {
		least, most := -1, -1
		for _, m := range spec.Members {
			if !slices.Contains(m.Topics, id) {
				continue
			}
			n := size(result[m.ID])
			if least < 0 || n < least {
				least = n
			}
			if len(result[m.ID][id]) > 0 && n > most {
				most = n
			}
		}
		if most-least > 1 {
			t.Errorf("topic %v: one has %d partitions, another %d", id, most, least)
		}
	}
}

// mayKeep is how many partitions can stay in a balanced assignment of members
// with the same subscriptions.
func mayKeep(spec *Spec) int {
	total := 0
	for _, count := range spec.Partitions {
		total += int(count)
	}
	least, extra := total/len(spec.Members), total%len(spec.Members)
	n := 0
	for _, m := range spec.Members {
		has := size(m.Current)
		n += min(has, least)
		if has > least && extra > 0 {
			n++
			extra--
		}
	}
	return n
}

// TestLeaverMovesNothingElse: when a member leaves, the others keep all they have.
func TestLeaverMovesNothingElse(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 11))
		spec := randomSpec(r, true)
		result, err := Uniform(spec)
		if err != nil {
			t.Fatal(err)
		}
		if len(spec.Members) == 1 {
			continue
		}
		next := &Spec{Partitions: spec.Partitions, Members: slices.Clone(spec.Members[1:])}
		for i := range next.Members {
			next.Members[i].Current = result[next.Members[i].ID]
		}
		after, err := Uniform(next)
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for _, m := range next.Members {
			want += size(m.Current)
		}
		if got := kept(next, after); got != want {
			t.Errorf("seed %d: %d partitions stay of %d", seed, got, want)
		}
	}
}

func BenchmarkUniform(b *testing.B) { benchmarkAssignor(b, Uniform) }
func BenchmarkRange(b *testing.B)   { benchmarkAssignor(b, Range) }

func benchmarkAssignor(b *testing.B, assign func(*Spec) (map[string]Assignment, error)) {
	for _, scale := range []struct {
		members, topics int
		partitions      int32
		alike           bool
	}{
		{100, 10, 100, true},
		{100, 10, 100, false},
		{1000, 100, 100, true},
		{1000, 100, 100, false},
	} {
		b.Run(fmt.Sprintf("%d members x %d partitions alike %v", scale.members, scale.topics*int(scale.partitions), scale.alike), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			spec := &Spec{Partitions: make(map[wire.UUID]int32)}
			var topics []wire.UUID
			for n := range scale.topics {
				topics = append(topics, topicID(uint64(n+1)))
				spec.Partitions[topics[n]] = scale.partitions
			}
			for n := range scale.members {
				spec.Members = append(spec.Members, randomMember(r, fmt.Sprintf("m%04d", n), topics, scale.alike))
			}
			// The last member is new: the others have what they had without it.
			before := &Spec{Partitions: spec.Partitions, Members: spec.Members[1:]}
			result, err := assign(before)
			if err != nil {
				b.Fatal(err)
			}
			for i := range spec.Members {
				spec.Members[i].Current = result[spec.Members[i].ID]
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := assign(spec); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
