package assignor

import (
	"errors"
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
