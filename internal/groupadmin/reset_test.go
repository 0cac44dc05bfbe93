package groupadmin

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWhereAResetGoes(t *testing.T) {
	t.Parallel()
	type offsets = map[TopicPartition]int64
	all := Selection{}
	for name, tc := range map[string]struct {
		selection Selection
		target    Target
		want      offsets // nil for ErrRefused
	}{
		"the beginning of what was committed":        {all, Target{Kind: Earliest}, offsets{tp("a", 0): 10, tp("a", 1): 0, tp("b", 0): 0}},
		"the end of one topic":                       {Selection{"a": nil}, Target{Kind: Latest}, offsets{tp("a", 0): 20, tp("a", 1): 5}},
		"an offset":                                  {Selection{"a": {0}}, Target{Kind: ToOffset, Offset: 17}, offsets{tp("a", 0): 17}},
		"an offset that is gone moves up":            {Selection{"a": {0}}, Target{Kind: ToOffset, Offset: 4}, offsets{tp("a", 0): 10}},
		"an offset that is not there yet moves down": {Selection{"a": {0}}, Target{Kind: ToOffset, Offset: 400}, offsets{tp("a", 0): 20}},
		"a point in time, the end where none is":     {Selection{"a": nil}, Target{Kind: AtTime, Time: time.UnixMilli(5)}, offsets{tp("a", 0): 12, tp("a", 1): 5}},
		"forward":                                    {Selection{"a": {0}}, Target{Kind: ShiftBy, Offset: 2}, offsets{tp("a", 0): 17}},
		"back":                                       {Selection{"a": {0}}, Target{Kind: ShiftBy, Offset: -3}, offsets{tp("a", 0): 12}},
		"back below the first":                       {Selection{"a": {0}}, Target{Kind: ShiftBy, Offset: math.MinInt64}, offsets{tp("a", 0): 10}},
		"forward beyond what can be":                 {Selection{"a": {0}}, Target{Kind: ShiftBy, Offset: math.MaxInt64}, offsets{tp("a", 0): 20}},
		"what is not committed cannot shift":         {Selection{"a": {1}}, Target{Kind: ShiftBy, Offset: 1}, nil},
		"a file":                                     {all, Target{Kind: FromFile, Offsets: offsets{tp("a", 1): 2}}, offsets{tp("a", 1): 2}},
		"a file with a partition that is not":        {all, Target{Kind: FromFile, Offsets: offsets{tp("a", 7): 2}}, nil},
		"a topic that is not":                        {Selection{"nowhere": nil}, Target{Kind: Earliest}, nil},
		"a partition that is not":                    {Selection{"a": {2}}, Target{Kind: Earliest}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster()
			r, err := PlanReset(testContext(t), c, "g", tc.selection, tc.target)
			if tc.want == nil {
				if !errors.Is(err, ErrRefused) {
					t.Errorf("got %+v, %v", r, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := make(offsets)
			for _, m := range r.Rows {
				got[m.TopicPartition] = m.New
				if b := c.bounds[m.TopicPartition]; m.End != b.End {
					t.Errorf("%v: end %d", m.TopicPartition, m.End)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAResetIsADryRunUntilItIsExecuted(t *testing.T) {
	t.Parallel()
	c := newCluster()
	r, err := PlanReset(testContext(t), c, "g", nil, Target{Kind: ToOffset, Offset: 3})
	if err != nil {
		t.Fatal(err)
	}
	if r.Changes() != 2 || r.Executed || c.commits["g"][tp("a", 0)].Offset != 15 {
		t.Errorf("planned %+v with %d changes", r, r.Changes())
	}
	if err := r.Execute(testContext(t), c); err != nil || !r.Executed {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[TopicPartition]int64{tp("a", 0): 10, tp("a", 1): 3, tp("b", 0): 3}, c.committed("g")); diff != "" {
		t.Error(diff)
	}
	c.fail["Commit"] = errTest
	if err := r.Execute(testContext(t), c); !errors.Is(err, errTest) || !strings.Contains(err.Error(), "again") {
		t.Errorf("a commit that fails: %v", err)
	}
}

func TestResetsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		group  string
		change func(*fakeCluster)
		want   error
	}{
		"members": {"g", func(c *fakeCluster) {
			c.groups["g"] = Group{Name: "g", State: "Stable", Members: []Member{{ID: "m"}}}
		}, ErrActive},
		"a rebalance without members": {"g", func(c *fakeCluster) { c.groups["g"] = Group{Name: "g", State: "PreparingRebalance"} }, ErrActive},
		"a state that is not known":   {"g", func(c *fakeCluster) { c.groups["g"] = Group{Name: "g", Failure: "why"} }, ErrRefused},
		"all topics of a new group":   {"new", func(*fakeCluster) {}, ErrRefused},
		"only topics that are gone":   {"g", func(c *fakeCluster) { c.bounds = nil }, ErrRefused},
		"a failing list":              {"g", func(c *fakeCluster) { c.fail["List"] = errTest }, errTest},
		"a failing description":       {"g", func(c *fakeCluster) { c.fail["Describe"] = errTest }, errTest},
		"a failing fetch":             {"g", func(c *fakeCluster) { c.fail["Commits"] = errTest }, errTest},
		"failing bounds":              {"g", func(c *fakeCluster) { c.fail["Bounds"] = errTest }, errTest},
		"failing times":               {"g", func(c *fakeCluster) { c.fail["At"] = errTest }, errTest},
		"a topic that goes meanwhile": {"g", func(c *fakeCluster) { c.at = nil }, ErrRefused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster()
			tc.change(c)
			if r, err := PlanReset(testContext(t), c, tc.group, nil, Target{Kind: AtTime}); !errors.Is(err, tc.want) {
				t.Errorf("got %+v, %v; want %v", r, err, tc.want)
			}
		})
	}
	r, err := PlanReset(testContext(t), newCluster(), "new", Selection{"b": nil}, Target{Kind: Latest})
	if err != nil || len(r.Rows) != 1 || r.Rows[0].Current != Unknown || r.Rows[0].New != 3 {
		t.Errorf("a group that is not there yet: %+v, %v", r, err)
	}
}
