package assignor

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kafka-iggy-bridge/internal/wire"
)

var (
	topicA, topicB, topicC = topicID(1), topicID(2), topicID(3)
	both                   = []wire.UUID{topicA, topicB}
)

// checkComplete checks what every assignor owes: every partition of a topic with
// subscribers is assigned exactly once, to one of them, and lists are ascending.
func checkComplete(t *testing.T, spec *Spec, result map[string]Assignment) {
	t.Helper()
	if len(result) != len(spec.Members) {
		t.Errorf("%d members in, %d out", len(spec.Members), len(result))
	}
	type partition struct {
		topic wire.UUID
		index int32
	}
	owners := make(map[partition]string)
	subscribed := make(map[wire.UUID]bool)
	for _, m := range spec.Members {
		for _, id := range m.Topics {
			subscribed[id] = true
		}
		for id, partitions := range result[m.ID] {
			if !slices.Contains(m.Topics, id) {
				t.Errorf("%s gets topic %v, to which it does not subscribe", m.ID, id)
			}
			if len(partitions) == 0 || !slices.IsSorted(partitions) {
				t.Errorf("%s gets %v of topic %v: empty or not ascending", m.ID, partitions, id)
			}
			for _, p := range partitions {
				if p < 0 || p >= spec.Partitions[id] {
					t.Errorf("%s gets partition %d of %d", m.ID, p, spec.Partitions[id])
				}
				if other, ok := owners[partition{id, p}]; ok {
					t.Errorf("partition %d goes to %s and to %s", p, other, m.ID)
				}
				owners[partition{id, p}] = m.ID
			}
		}
	}
	want := 0
	for id := range subscribed {
		want += int(spec.Partitions[id])
	}
	if len(owners) != want {
		t.Errorf("%d partitions of %d are assigned", len(owners), want)
	}
}

func TestRange(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		spec Spec
		want map[string]Assignment
	}{
		{
			name: "topics with as many partitions go together",
			spec: Spec{
				Partitions: map[wire.UUID]int32{topicA: 3, topicB: 3},
				Members:    []Member{{ID: "m2", Topics: both}, {ID: "m1", Topics: both}},
			},
			want: map[string]Assignment{
				"m1": {topicA: {0, 1}, topicB: {0, 1}},
				"m2": {topicA: {2}, topicB: {2}},
			},
		},
		{
			name: "static members come first, by instance id",
			spec: Spec{
				Partitions: map[wire.UUID]int32{topicA: 4},
				Members: []Member{
					{ID: "a", Topics: both[:1]},
					{ID: "x", InstanceID: "i2", Topics: both[:1]},
					{ID: "y", InstanceID: "i1", Topics: both[:1]},
				},
			},
			want: map[string]Assignment{"y": {topicA: {0, 1}}, "x": {topicA: {2}}, "a": {topicA: {3}}},
		},
		{
			name: "a static member with a new member id gets the same",
			spec: Spec{
				Partitions: map[wire.UUID]int32{topicA: 2},
				Members: []Member{
					{ID: "zzz", InstanceID: "i1", Topics: both[:1]},
					{ID: "x", InstanceID: "i2", Topics: both[:1]},
				},
			},
			want: map[string]Assignment{"zzz": {topicA: {0}}, "x": {topicA: {1}}},
		},
		{
			name: "only subscribers count, and more members than partitions leave some without",
			spec: Spec{
				Partitions: map[wire.UUID]int32{topicA: 1, topicB: 2},
				Members: []Member{
					{ID: "m1", Topics: both[:1]}, {ID: "m2", Topics: both}, {ID: "m3"},
				},
			},
			want: map[string]Assignment{"m1": {topicA: {0}}, "m2": {topicB: {0, 1}}, "m3": nil},
		},
		{
			name: "a topic without partitions gives nothing",
			spec: Spec{
				Partitions: map[wire.UUID]int32{topicA: 0},
				Members:    []Member{{ID: "m1", Topics: both[:1]}},
			},
			want: map[string]Assignment{"m1": nil},
		},
		{name: "nobody there", want: map[string]Assignment{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Range(&tt.spec)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestUniform(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		spec Spec
		want map[string]Assignment
	}{
		{
			name: "topics are handed out one after the other",
			spec: Spec{
				Partitions: map[wire.UUID]int32{topicA: 3, topicB: 2},
				Members:    []Member{{ID: "m2", Topics: both}, {ID: "m1", Topics: both}},
			},
			want: map[string]Assignment{"m1": {topicA: {0, 1, 2}}, "m2": {topicB: {0, 1}}},
		},
		{
			name: "the remainder stays with who has it, though others come first",
			spec: Spec{
				Partitions: map[wire.UUID]int32{topicA: 3},
				Members: []Member{
					{ID: "m1", Topics: both[:1], Current: Assignment{topicA: {0}}},
					{ID: "m2", Topics: both[:1], Current: Assignment{topicA: {1, 2}}},
				},
			},
			want: map[string]Assignment{"m1": {topicA: {0}}, "m2": {topicA: {1, 2}}},
		},
		{
			name: "a newcomer takes the last of who has too many",
			spec: Spec{
				Partitions: map[wire.UUID]int32{topicA: 4},
				Members: []Member{
					{ID: "m1", Topics: both[:1], Current: Assignment{topicA: {0, 1, 2, 3}}},
					{ID: "m0", Topics: both[:1]},
				},
			},
			want: map[string]Assignment{"m1": {topicA: {0, 1}}, "m0": {topicA: {2, 3}}},
		},
		{
			name: "topics that are gone or not subscribed to any more are given up",
			spec: Spec{
				Partitions: map[wire.UUID]int32{topicA: 2, topicC: 5},
				Members: []Member{
					{ID: "m1", Topics: both[:1], Current: Assignment{topicA: {0}, topicB: {0}, topicC: {0, 1}}},
					{ID: "m2", Topics: both[:1], Current: Assignment{topicA: {1}}},
				},
			},
			want: map[string]Assignment{"m1": {topicA: {0}}, "m2": {topicA: {1}}},
		},
		{
			name: "a partition beyond the topic, or of two members, is given up",
			spec: Spec{
				Partitions: map[wire.UUID]int32{topicA: 2},
				Members: []Member{
					{ID: "m2", Topics: both[:1], Current: Assignment{topicA: {0, 1}}},
					{ID: "m1", Topics: both[:1], Current: Assignment{topicA: {0, 7, -1}}},
				},
			},
			want: map[string]Assignment{"m1": {topicA: {0}}, "m2": {topicA: {1}}},
		},
		{
			name: "different subscriptions: who has no choice is served first",
			spec: Spec{
				Partitions: map[wire.UUID]int32{topicA: 2, topicB: 2},
				Members:    []Member{{ID: "m1", Topics: both}, {ID: "m2", Topics: both[:1]}},
			},
			want: map[string]Assignment{"m1": {topicB: {0, 1}}, "m2": {topicA: {0, 1}}},
		},
		{
			name: "different subscriptions: a partition moves where that improves the balance",
			spec: Spec{
				Partitions: map[wire.UUID]int32{topicA: 3, topicB: 1},
				Members: []Member{
					{ID: "m1", Topics: both, Current: Assignment{topicA: {0, 1, 2}, topicB: {0}}},
					{ID: "m2", Topics: both[:1]},
				},
			},
			want: map[string]Assignment{"m1": {topicA: {0}, topicB: {0}}, "m2": {topicA: {1, 2}}},
		},
		{
			name: "members who subscribe to nothing that exists give everything up",
			spec: Spec{Members: []Member{{ID: "m1", Current: Assignment{topicA: {0}}}}},
			want: map[string]Assignment{"m1": nil},
		},
		{name: "nobody there", want: map[string]Assignment{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Uniform(&tt.spec)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnknownTopic(t *testing.T) {
	t.Parallel()
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assign, _ := ByName(name)
			_, err := assign(&Spec{Members: []Member{{ID: "m1", Topics: both}}})
			if !errors.Is(err, ErrUnknownTopic) {
				t.Errorf("error %v, want %v", err, ErrUnknownTopic)
			}
		})
	}
	if _, ok := ByName("sticky"); ok {
		t.Error("there is an assignor of another name")
	}
}

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
				for seed := range uint64(150) {
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
