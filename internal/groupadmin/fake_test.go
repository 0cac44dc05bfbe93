package groupadmin

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"kafka-iggy-bridge/bridge"
)

var errTest = errors.New("a fault of the test")

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func tp(topic string, partition int32) TopicPartition { return TopicPartition{topic, partition} }

// fakeCluster is a Kafka cluster in memory.
type fakeCluster struct {
	groups  map[string]Group
	commits map[string]map[TopicPartition]Commit
	bounds  map[TopicPartition]Bounds
	at      map[TopicPartition]int64
	fail    map[string]error // by method
}

// newCluster has topics a (two partitions) and b, and a group g that has
// committed in both.
func newCluster() *fakeCluster {
	return &fakeCluster{
		groups: map[string]Group{"g": {Name: "g", Type: typeClassic, State: stateEmpty}},
		commits: map[string]map[TopicPartition]Commit{
			"g": {tp("a", 0): {Offset: 15}, tp("b", 0): {Offset: 3, Metadata: "m"}},
		},
		bounds: map[TopicPartition]Bounds{
			tp("a", 0): {10, 20},
			tp("a", 1): {0, 5},
			tp("b", 0): {0, 3},
		},
		at:   map[TopicPartition]int64{tp("a", 0): 12, tp("a", 1): 5, tp("b", 0): 1},
		fail: make(map[string]error),
	}
}

func (c *fakeCluster) List(context.Context) (map[string]Group, error) {
	return c.groups, c.fail["List"]
}

func (c *fakeCluster) Describe(_ context.Context, groups []*Group) error {
	for _, g := range groups {
		*g = c.groups[g.Name]
	}
	return c.fail["Describe"]
}

func (c *fakeCluster) Commits(_ context.Context, groups ...string) (map[string]map[TopicPartition]Commit, error) {
	out := make(map[string]map[TopicPartition]Commit)
	for _, g := range groups {
		out[g] = c.commits[g]
	}
	return out, c.fail["Commits"]
}

func (c *fakeCluster) Bounds(_ context.Context, topics ...string) (map[TopicPartition]Bounds, error) {
	out := make(map[TopicPartition]Bounds)
	for tp, b := range c.bounds {
		if len(topics) == 0 {
			out[tp] = b
		}
		for _, t := range topics {
			if t == tp.Topic {
				out[tp] = b
			}
		}
	}
	return out, c.fail["Bounds"]
}

func (c *fakeCluster) At(context.Context, int64, ...string) (map[TopicPartition]int64, error) {
	return c.at, c.fail["At"]
}

func (c *fakeCluster) Commit(_ context.Context, group string, offsets map[TopicPartition]int64) error {
	if err := c.fail["Commit"]; err != nil {
		return err
	}
	if c.commits[group] == nil {
		c.commits[group] = make(map[TopicPartition]Commit)
	}
	for tp, o := range offsets {
		c.commits[group][tp] = Commit{Offset: o}
	}
	return nil
}

func (c *fakeCluster) Delete(_ context.Context, group string, partitions []TopicPartition) error {
	if err := c.fail["Delete"]; err != nil {
		return err
	}
	for _, tp := range partitions {
		delete(c.commits[group], tp)
	}
	return nil
}

// committed are the offsets that a group has committed.
func (c *fakeCluster) committed(group string) map[TopicPartition]int64 {
	out := make(map[TopicPartition]int64)
	for tp, commit := range c.commits[group] {
		out[tp] = commit.Offset
	}
	return out
}

// fakeGroups are consumer groups of an Iggy in memory: by group and topic, the
// next offsets by partition.
type fakeGroups struct {
	groups  map[[2]string]map[int32]int64
	members map[[2]string]int
	bounds  map[TopicPartition]Bounds
	fail    error
}

func newGroups(c *fakeCluster) *fakeGroups {
	return &fakeGroups{groups: make(map[[2]string]map[int32]int64), members: make(map[[2]string]int), bounds: c.bounds}
}

func (f *fakeGroups) Group(_ context.Context, group, topic string, partition int32) (int64, bool, error) {
	next, ok := f.groups[[2]string{group, topic}][partition]
	return next, ok, f.fail
}

func (f *fakeGroups) GroupMembers(_ context.Context, group, topic string) (int, error) {
	if f.fail != nil {
		return 0, f.fail
	}
	if f.groups[[2]string{group, topic}] == nil {
		return 0, bridge.ErrGroupNotFound
	}
	return f.members[[2]string{group, topic}], nil
}

func (f *fakeGroups) SetGroup(_ context.Context, group, topic string, next map[int32]int64) error {
	k := [2]string{group, topic}
	if f.members[k] > 0 {
		return bridge.ErrGroupActive
	}
	if f.groups[k] == nil {
		f.groups[k] = make(map[int32]int64)
	}
	for p, n := range next {
		switch {
		case n == 0:
			delete(f.groups[k], p)
		case n > f.bounds[tp(topic, p)].End:
			return fmt.Errorf("%w: %d", bridge.ErrOffsetOutOfRange, n)
		default:
			f.groups[k][p] = n
		}
	}
	return nil
}
