package groupadmin

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// Reset is a plan to set offsets of a group without members.
type Reset struct {
	Group string  `json:"group"`
	Rows  []Moved `json:"partitions"`
	// Executed says that it was carried out.
	Executed bool `json:"executed"`
}

// Moved is where a partition's committed offset goes.
type Moved struct {
	TopicPartition
	// Current is what is committed, Unknown for nothing.
	Current int64 `json:"current"`
	// New is what will be, or is now.
	New int64 `json:"new"`
	// End is the partition's end.
	End int64 `json:"log_end"`
	// Note says what is special about it.
	Note string `json:"note,omitempty"`
}

// PlanReset works out what a reset would do. An empty selection stands for all
// topics that the group has committed offsets for; it does not count for
// FromFile. It fails with ErrActive while the group has members, and with
// ErrRefused for what does not exist.
func PlanReset(ctx context.Context, c Cluster, group string, selection Selection, target Target) (*Reset, error) {
	if err := requireEmpty(ctx, c, group); err != nil {
		return nil, err
	}
	all, err := c.Commits(ctx, group)
	if err != nil {
		return nil, err
	}
	commits := all[group]
	if target.Kind == FromFile {
		selection = make(Selection)
		for tp := range target.Offsets {
			selection[tp.Topic] = append(selection[tp.Topic], tp.Partition)
		}
	}
	partitions, bounds, err := reach(ctx, c, group, selection, commits)
	if err != nil {
		return nil, err
	}
	var at map[TopicPartition]int64
	if target.Kind == AtTime {
		if at, err = c.At(ctx, target.Time.UnixMilli(), topicsOf(partitions)...); err != nil {
			return nil, err
		}
	}
	r := &Reset{Group: group}
	for _, tp := range partitions {
		m := Moved{TopicPartition: tp, Current: Unknown, End: bounds[tp].End}
		if c, ok := commits[tp]; ok {
			m.Current = c.Offset
		}
		if err := m.move(&target, bounds[tp], at); err != nil {
			return nil, err
		}
		r.Rows = append(r.Rows, m)
	}
	return r, nil
}

// reach finds the partitions that a selection means.
func reach(ctx context.Context, c Cluster, group string, selection Selection, commits map[TopicPartition]Commit) ([]TopicPartition, map[TopicPartition]Bounds, error) {
	topics := selection.topics()
	if len(topics) == 0 {
		if len(commits) == 0 {
			return nil, nil, fmt.Errorf("%w: group %q has no committed offsets; name topics with --topic", ErrRefused, group)
		}
		partitions := make([]TopicPartition, 0, len(commits))
		for tp := range commits {
			partitions = append(partitions, tp)
		}
		topics = topicsOf(partitions)
	}
	bounds, err := c.Bounds(ctx, topics...)
	if err != nil {
		return nil, nil, err
	}
	partitions, err := selection.partitions(bounds)
	if err == nil && len(partitions) == 0 {
		err = fmt.Errorf("%w: the topics of group %q are gone", ErrRefused, group)
	}
	return partitions, bounds, err
}

// move works out the new offset.
func (m *Moved) move(target *Target, b Bounds, at map[TopicPartition]int64) error {
	switch target.Kind {
	case Earliest:
		m.New = b.Start
	case Latest:
		m.New = b.End
	case ToOffset:
		m.New = target.Offset
	case AtTime:
		offset, ok := at[m.TopicPartition]
		if !ok {
			return fmt.Errorf("%w: the offset of %v at that time is not known; its topic may be gone", ErrRefused, m.TopicPartition)
		}
		m.New = offset
	case ShiftBy:
		if m.Current < 0 {
			return fmt.Errorf("%w: nothing is committed for %v, so there is nothing to shift; leave it out with --topic", ErrRefused, m.TopicPartition)
		}
		m.New = shifted(m.Current, target.Offset)
	case FromFile:
		m.New = target.Offsets[m.TopicPartition]
	}
	switch wanted := m.New; {
	case wanted < b.Start:
		m.New, m.Note = b.Start, fmt.Sprintf("%d is below the first offset", wanted)
	case wanted > b.End:
		m.New, m.Note = b.End, fmt.Sprintf("%d is above the end", wanted)
	}
	return nil
}

// shifted is offset + by, kept within what offsets can be.
func shifted(offset, by int64) int64 {
	if by > 0 && offset > math.MaxInt64-by {
		return math.MaxInt64
	}
	return offset + by
}

// Changes counts the rows that change something.
func (r *Reset) Changes() int {
	n := 0
	for i := range r.Rows {
		if r.Rows[i].New != r.Rows[i].Current {
			n++
		}
	}
	return n
}

// Execute commits the new offsets.
func (r *Reset) Execute(ctx context.Context, c Cluster) error {
	offsets := make(map[TopicPartition]int64, len(r.Rows))
	for i := range r.Rows {
		offsets[r.Rows[i].TopicPartition] = r.Rows[i].New
	}
	if err := c.Commit(ctx, r.Group, offsets); err != nil {
		return fmt.Errorf("%w; some offsets may be set: look with describe, and run the reset again", err)
	}
	r.Executed = true
	return nil
}

// topicsOf are the topics of partitions, sorted.
func topicsOf(partitions []TopicPartition) []string {
	set := make(map[string]bool)
	for _, tp := range partitions {
		set[tp.Topic] = true
	}
	return slices.Clip(sortedKeys(set))
}
