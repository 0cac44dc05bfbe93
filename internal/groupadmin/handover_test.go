package groupadmin

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kafka-iggy-bridge/bridge"
)

func TestAPositionMovesToIggy(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.commits["g"][tp("a", 1)] = Commit{Offset: 0}
	c.commits["g"][tp("gone", 0)] = Commit{Offset: 5}
	iggy := newGroups(c)
	iggy.groups[[2]string{"i", "a"}] = map[int32]int64{1: 4}
	h, err := PlanHandover(testContext(t), c, iggy, HandoverSpec{Direction: ToIggy, Group: "g", IggyGroup: "i"})
	if err != nil {
		t.Fatal(err)
	}
	want := []Handed{
		{TopicPartition: tp("a", 0), Kafka: 15, Iggy: Unknown, New: 15},
		{TopicPartition: tp("a", 1), Kafka: 0, Iggy: 4, New: 0, Note: "nothing consumed: no offset is stored"},
		{TopicPartition: tp("b", 0), Kafka: 3, Iggy: Unknown, New: 3},
	}
	if diff := cmp.Diff(want, h.Rows); diff != "" || h.Changes() != 3 || h.Left() != "" {
		t.Errorf("%s%d changes, left %q", diff, h.Changes(), h.Left())
	}
	if len(iggy.groups) != 1 {
		t.Error("a dry run changed something")
	}
	if err := h.Execute(testContext(t), c, iggy, false); err != nil {
		t.Fatal(err)
	}
	stored := map[[2]string]map[int32]int64{{"i", "a"}: {0: 15}, {"i", "b"}: {0: 3}}
	if diff := cmp.Diff(stored, iggy.groups); diff != "" {
		t.Error(diff)
	}
	if left := h.Left(); !strings.Contains(left, "still has 3 committed offsets") {
		t.Errorf("left: %s", left)
	}
	again, err := PlanHandover(testContext(t), c, iggy, HandoverSpec{Direction: ToIggy, Group: "g", IggyGroup: "i"})
	if err != nil || again.Changes() != 0 {
		t.Errorf("again: %+v, %v", again, err)
	}
	if err := again.Execute(testContext(t), c, iggy, true); err != nil || len(c.commits["g"]) != 1 || !strings.Contains(again.Left(), "any more") {
		t.Errorf("%v, %v stay, %s", err, c.commits["g"], again.Left())
	}
}

func TestAPositionMovesFromIggy(t *testing.T) {
	t.Parallel()
	c := newCluster()
	iggy := newGroups(c)
	iggy.groups[[2]string{"g", "a"}] = map[int32]int64{0: 4}
	iggy.groups[[2]string{"g", "b"}] = map[int32]int64{0: 2}
	c.bounds[tp("a", 1)] = Bounds{3, 5}
	h, err := PlanHandover(testContext(t), c, iggy, HandoverSpec{Direction: FromIggy, Group: "g"})
	if err != nil {
		t.Fatal(err)
	}
	want := []Handed{
		{TopicPartition: tp("a", 0), Kafka: 15, Iggy: 4, New: 10, Note: "the messages from 4 on are gone: the first message"},
		{TopicPartition: tp("a", 1), Kafka: Unknown, Iggy: Unknown, New: 3, Note: "nothing consumed: the first message"},
		{TopicPartition: tp("b", 0), Kafka: 3, Iggy: 2, New: 2},
	}
	if diff := cmp.Diff(want, h.Rows); diff != "" || h.Changes() != 3 {
		t.Errorf("%s%d changes", diff, h.Changes())
	}
	if err := h.Execute(testContext(t), c, iggy, false); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[TopicPartition]int64{tp("a", 0): 10, tp("a", 1): 3, tp("b", 0): 2}, c.committed("g")); diff != "" {
		t.Error(diff)
	}
	if left := h.Left(); !strings.Contains(left, "still has 2 stored offsets") {
		t.Errorf("left: %s", left)
	}
	if err := h.Execute(testContext(t), c, iggy, true); err != nil || len(iggy.groups[[2]string{"g", "a"}])+len(iggy.groups[[2]string{"g", "b"}]) != 0 {
		t.Errorf("%v, %v stay", err, iggy.groups)
	}
}

func TestAHandoverOfAPart(t *testing.T) {
	t.Parallel()
	c := newCluster()
	iggy := newGroups(c)
	h, err := PlanHandover(testContext(t), c, iggy, HandoverSpec{Direction: ToIggy, Group: "g", Selection: Selection{"a": {0}}})
	if err != nil || len(h.Rows) != 1 || h.IggyGroup != "g" {
		t.Errorf("to Iggy: %+v, %v", h, err)
	}
	iggy.groups[[2]string{"g", "b"}] = map[int32]int64{}
	h, err = PlanHandover(testContext(t), c, iggy, HandoverSpec{Direction: FromIggy, Group: "fresh", IggyGroup: "g", Selection: Selection{"b": nil}})
	if err != nil || len(h.Rows) != 1 || h.Rows[0].New != 0 {
		t.Fatalf("from Iggy: %+v, %v", h, err)
	}
	if err := h.Execute(testContext(t), c, iggy, false); err != nil || !strings.Contains(h.Left(), "had no offsets") {
		t.Errorf("%v, %s", err, h.Left())
	}
}

func TestHandoversThatAreRefused(t *testing.T) {
	t.Parallel()
	active := func(c *fakeCluster, _ *fakeGroups) {
		c.groups["g"] = Group{Name: "g", State: "Stable", Members: []Member{{ID: "m"}}}
	}
	for name, tc := range map[string]struct {
		spec   HandoverSpec
		change func(*fakeCluster, *fakeGroups)
		want   error
	}{
		"Kafka's group has members":       {HandoverSpec{Direction: ToIggy}, active, ErrActive},
		"Kafka's group to be has members": {HandoverSpec{Direction: FromIggy}, active, ErrActive},
		"Iggy's group has members": {HandoverSpec{Direction: FromIggy}, func(_ *fakeCluster, i *fakeGroups) {
			i.groups[[2]string{"g", "a"}], i.members[[2]string{"g", "a"}] = map[int32]int64{}, 1
		}, ErrActive},
		"Iggy's group to be has members": {HandoverSpec{Direction: ToIggy}, func(_ *fakeCluster, i *fakeGroups) {
			i.groups[[2]string{"g", "b"}], i.members[[2]string{"g", "b"}] = map[int32]int64{}, 2
		}, ErrActive},
		"Iggy allows no such name":    {HandoverSpec{Direction: ToIggy, IggyGroup: strings.Repeat("x", 256)}, nil, ErrRefused},
		"Kafka is beyond the end":     {HandoverSpec{Direction: ToIggy}, func(c *fakeCluster, _ *fakeGroups) { c.commits["g"][tp("b", 0)] = Commit{Offset: 4} }, ErrRefused},
		"Iggy is beyond the end":      {HandoverSpec{Direction: FromIggy}, func(_ *fakeCluster, i *fakeGroups) { i.groups[[2]string{"g", "b"}] = map[int32]int64{0: 4} }, ErrRefused},
		"nothing committed":           {HandoverSpec{Direction: ToIggy}, func(c *fakeCluster, _ *fakeGroups) { c.commits = nil }, ErrRefused},
		"nothing committed there":     {HandoverSpec{Direction: ToIggy, Selection: Selection{"a": {1}}}, nil, ErrRefused},
		"no such group in Iggy":       {HandoverSpec{Direction: FromIggy}, nil, ErrRefused},
		"no such group in that topic": {HandoverSpec{Direction: FromIggy, Selection: Selection{"a": nil}}, nil, ErrRefused},
		"no such topic":               {HandoverSpec{Direction: ToIggy, Selection: Selection{"nowhere": nil}}, nil, ErrRefused},
		"Iggy fails":                  {HandoverSpec{Direction: ToIggy}, func(_ *fakeCluster, i *fakeGroups) { i.fail = bridge.ErrUnauthorized }, bridge.ErrUnauthorized},
		"commits fail":                {HandoverSpec{Direction: ToIggy}, func(c *fakeCluster, _ *fakeGroups) { c.fail["Commits"] = errTest }, errTest},
		"bounds fail":                 {HandoverSpec{Direction: ToIggy}, func(c *fakeCluster, _ *fakeGroups) { c.fail["Bounds"] = errTest }, errTest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster()
			iggy := newGroups(c)
			if tc.change != nil {
				tc.change(c, iggy)
			}
			tc.spec.Group = "g"
			if h, err := PlanHandover(testContext(t), c, iggy, tc.spec); !errors.Is(err, tc.want) {
				t.Errorf("got %+v, %v; want %v", h, err, tc.want)
			}
		})
	}
}

func TestAHandoverThatFailsSaysHowFarItCame(t *testing.T) {
	t.Parallel()
	c := newCluster()
	iggy := newGroups(c)
	h, err := PlanHandover(testContext(t), c, iggy, HandoverSpec{Direction: ToIggy, Group: "g"})
	if err != nil {
		t.Fatal(err)
	}
	iggy.members[[2]string{"g", "b"}] = 1 // joins behind the plan
	if err := h.Execute(testContext(t), c, iggy, true); !errors.Is(err, ErrActive) || !strings.Contains(err.Error(), "in part") || h.Executed {
		t.Errorf("somebody joined: %v", err)
	}
	iggy.members = nil
	c.fail["Delete"] = errTest
	if err := h.Execute(testContext(t), c, iggy, true); !errors.Is(err, errTest) || !strings.Contains(err.Error(), "is moved") || !h.Executed || h.SourceRemoved {
		t.Errorf("the source stays: %v", err)
	}
}
