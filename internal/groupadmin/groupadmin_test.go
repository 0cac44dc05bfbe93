package groupadmin

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAGroupWithLagAndMembers(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.groups["g"] = Group{Name: "g", Type: typeClassic, State: "Stable", Members: []Member{{ID: "m", Assigned: []TopicPartition{tp("a", 0), tp("a", 1)}}}}
	c.commits["g"][tp("gone", 0)] = Commit{Offset: 7}
	c.commits["g"][tp("b", 0)] = Commit{Offset: 9, Metadata: "m"}
	got, err := Describe(testContext(t), c, "g")
	if err != nil {
		t.Fatal(err)
	}
	want := []Offset{
		{TopicPartition: tp("a", 0), Committed: 15, Start: 10, End: 20, Lag: 5, Member: "m"},
		{TopicPartition: tp("a", 1), Committed: Unknown, Start: 0, End: 5, Lag: Unknown, Member: "m"},
		{TopicPartition: tp("b", 0), Committed: 9, Start: 0, End: 3, Lag: 0, Metadata: "m"},
		{TopicPartition: tp("gone", 0), Committed: 7, Start: Unknown, End: Unknown, Lag: Unknown},
	}
	if diff := cmp.Diff(want, got[0].Offsets); diff != "" {
		t.Error(diff)
	}
	if lag, complete := got[0].Lag(); lag != 5 || complete {
		t.Errorf("lag %d, complete %v", lag, complete)
	}
}

func TestGroupsAreListedByName(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.groups["a"] = Group{Name: "a", State: stateEmpty}
	got, err := List(testContext(t), c)
	if err != nil || len(got) != 2 || got[0].Name != "a" || got[1].Name != "g" || len(got[1].Offsets) != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := Describe(testContext(t), c, "g", "nobody"); !errors.Is(err, ErrNoGroup) {
		t.Errorf("a group that is not: %v", err)
	}
	for _, method := range []string{"List", "Describe", "Commits", "Bounds"} {
		c.fail = map[string]error{method: errTest}
		if _, err := List(testContext(t), c); !errors.Is(err, errTest) {
			t.Errorf("%s fails: %v", method, err)
		}
	}
	if got, err := List(testContext(t), &fakeCluster{}); err != nil || len(got) != 0 {
		t.Errorf("no groups: %v, %v", got, err)
	}
}

func TestSelections(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		want Selection // nil for an error
	}{
		"nothing":                       {nil, Selection{}},
		"a topic":                       {[]string{"a"}, Selection{"a": nil}},
		"partitions":                    {[]string{"a:0,2", "b"}, Selection{"a": {0, 2}, "b": nil}},
		"more partitions":               {[]string{"a:0", "a:1"}, Selection{"a": {0, 1}}},
		"no topic":                      {[]string{":0"}, nil},
		"an empty argument":             {[]string{""}, nil},
		"no partition":                  {[]string{"a:"}, nil},
		"no number":                     {[]string{"a:x"}, nil},
		"a negative partition":          {[]string{"a:-1"}, nil},
		"a partition beyond 32 bits":    {[]string{"a:2147483648"}, nil},
		"the same partition twice":      {[]string{"a:1,1"}, nil},
		"all of it and a part":          {[]string{"a", "a:1"}, nil},
		"a part and all of it":          {[]string{"a:1", "a"}, nil},
		"the same topic twice":          {[]string{"a", "a"}, nil},
		"several topics by one comma":   {[]string{"a:0,b"}, nil},
		"the same partition, two flags": {[]string{"a:1", "a:1"}, nil},
	} {
		got, err := ParseSelection(tc.args)
		if (err != nil) != (tc.want == nil) || err == nil && !cmp.Equal(got, tc.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
