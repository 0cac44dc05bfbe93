package groupadmin

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"kafka-iggy-bridge/bridge"
)

// Iggy is what a handover needs of Iggy; bridge.ConsumerOffsets implements it.
// Offsets are Kafka's: the next to be consumed.
type Iggy interface {
	Group(ctx context.Context, group, topic string, partition int32) (next int64, ok bool, err error)
	GroupMembers(ctx context.Context, group, topic string) (int, error)
	SetGroup(ctx context.Context, group, topic string, next map[int32]int64) error
}

// Direction is which way a handover goes.
type Direction string

// The directions.
const (
	ToIggy   Direction = "to-iggy"
	FromIggy Direction = "from-iggy"
)

// Handover is a plan to move a group's position from Kafka to a consumer group
// of Iggy's, or back.
type Handover struct {
	Direction Direction `json:"direction"`
	Group     string    `json:"group"`
	IggyGroup string    `json:"iggy_group"`
	Rows      []Handed  `json:"partitions"`
	Executed  bool      `json:"executed"`
	// SourceRemoved says that the side it left has no offsets any more.
	SourceRemoved bool `json:"source_removed"`
}

// Handed is what a handover does in a partition. Offsets on both sides are
// Kafka's: the next to be consumed; Unknown is for none stored.
type Handed struct {
	TopicPartition
	Kafka int64 `json:"kafka"`
	Iggy  int64 `json:"iggy"`
	// New is what the side that takes over gets. In Iggy 0 is no stored offset: its
	// consumers begin with the first message there is.
	New  int64  `json:"new"`
	Note string `json:"note,omitempty"`
}

// HandoverSpec says what to hand over.
type HandoverSpec struct {
	Direction Direction
	Group     string
	// IggyGroup is the name of the group in Iggy; empty for that of the Kafka group.
	IggyGroup string
	// Selection limits it; empty, it is about all topics in which the side that is
	// left has the group.
	Selection Selection
}

// PlanHandover works out what a handover would do. It fails with ErrActive while
// the group has members on either side, and with ErrRefused where a position
// cannot be moved.
func PlanHandover(ctx context.Context, c Cluster, iggy Iggy, spec HandoverSpec) (*Handover, error) {
	h := &Handover{Direction: spec.Direction, Group: spec.Group, IggyGroup: spec.IggyGroup}
	if h.IggyGroup == "" {
		h.IggyGroup = h.Group
	}
	if err := bridge.CheckConsumerName(h.IggyGroup); err != nil {
		return nil, fmt.Errorf("%w: %w; give another name with --iggy-group", ErrRefused, err)
	}
	if err := requireEmpty(ctx, c, h.Group); err != nil {
		return nil, err
	}
	all, err := c.Commits(ctx, h.Group)
	if err != nil {
		return nil, err
	}
	commits := all[h.Group]
	bounds, err := h.bounds(ctx, c, spec.Selection, commits)
	if err != nil {
		return nil, err
	}
	partitions, err := spec.Selection.partitions(bounds)
	if err != nil {
		return nil, err
	}
	known, err := iggyTopics(ctx, iggy, h.IggyGroup, topicsOf(partitions))
	if err != nil {
		return nil, err
	}
	if err := h.plan(ctx, iggy, partitions, bounds, commits, known); err != nil {
		return nil, err
	}
	if len(h.Rows) == 0 {
		return nil, h.nothing(spec.Selection)
	}
	return h, nil
}

// bounds are those of the topics that it can be about.
func (h *Handover) bounds(ctx context.Context, c Cluster, s Selection, commits map[TopicPartition]Commit) (map[TopicPartition]Bounds, error) {
	topics := s.topics()
	if len(topics) == 0 && h.Direction == ToIggy {
		committed := make([]TopicPartition, 0, len(commits))
		for tp := range commits {
			committed = append(committed, tp)
		}
		if topics = topicsOf(committed); len(topics) == 0 {
			return nil, h.nothing(s)
		}
	}
	return c.Bounds(ctx, topics...)
}

// nothing says that there is no position to move.
func (h *Handover) nothing(s Selection) error {
	where := "any topic"
	if len(s) > 0 {
		where = "the topics named"
	}
	if h.Direction == ToIggy {
		return fmt.Errorf("%w: Kafka group %q has no committed offsets in %s", ErrRefused, h.Group, where)
	}
	return fmt.Errorf("%w: Iggy has no consumer group %q in %s", ErrRefused, h.IggyGroup, where)
}

// iggyTopics tells in which topics Iggy has a group. None may have members.
func iggyTopics(ctx context.Context, iggy Iggy, group string, topics []string) (map[string]bool, error) {
	known := make(map[string]bool)
	for _, topic := range topics {
		members, err := iggy.GroupMembers(ctx, group, topic)
		switch {
		case errors.Is(err, bridge.ErrGroupNotFound):
			continue
		case err != nil:
			return nil, fmt.Errorf("look at Iggy's consumer group %s of topic %s: %w", group, topic, err)
		case members > 0:
			return nil, fmt.Errorf("%w: Iggy's consumer group %q of topic %s has %d; stop its consumers first", ErrActive, group, topic, members)
		}
		known[topic] = true
	}
	return known, nil
}

// plan makes the rows: one for each partition whose position moves.
func (h *Handover) plan(ctx context.Context, iggy Iggy, partitions []TopicPartition, bounds map[TopicPartition]Bounds, commits map[TopicPartition]Commit, known map[string]bool) error {
	for _, tp := range partitions {
		row := Handed{TopicPartition: tp, Kafka: Unknown, Iggy: Unknown}
		if c, ok := commits[tp]; ok {
			row.Kafka = c.Offset
		}
		if known[tp.Topic] {
			next, ok, err := iggy.Group(ctx, h.IggyGroup, tp.Topic, tp.Partition)
			if err != nil {
				return fmt.Errorf("read the offset of Iggy's consumer group %s for %v: %w", h.IggyGroup, tp, err)
			}
			if ok {
				row.Iggy = next
			}
		}
		var moves bool
		var err error
		if h.Direction == ToIggy {
			moves, err = row.toIggy(bounds[tp])
		} else {
			moves, err = row.fromIggy(bounds[tp], known[tp.Topic])
		}
		if err != nil {
			return err
		}
		if moves {
			h.Rows = append(h.Rows, row)
		}
	}
	return nil
}

// toIggy works out what Iggy is to store. What Kafka has no commit for stays as
// it is in Iggy.
func (r *Handed) toIggy(b Bounds) (moves bool, err error) {
	switch {
	case r.Kafka < 0:
		return false, nil
	case r.Kafka > b.End:
		return false, beyond("Kafka", r.TopicPartition, r.Kafka, b.End)
	case r.Kafka == 0:
		r.Note = "nothing consumed: no offset is stored"
	case r.Kafka < b.Start:
		r.Note = fmt.Sprintf("the messages before %d are gone", b.Start)
	}
	r.New = r.Kafka
	return true, nil
}

// fromIggy works out what Kafka is to commit. Without a stored offset, or with
// one of messages that are gone, Iggy's consumers go on with the first message
// there is; Kafka's must be told to.
func (r *Handed) fromIggy(b Bounds, known bool) (moves bool, err error) {
	switch {
	case !known:
		return false, nil
	case r.Iggy > b.End:
		return false, beyond("Iggy", r.TopicPartition, r.Iggy, b.End)
	case r.Iggy < 0:
		r.New, r.Note = b.Start, "nothing consumed: the first message"
	case r.Iggy < b.Start:
		r.New, r.Note = b.Start, fmt.Sprintf("the messages from %d on are gone: the first message", r.Iggy)
	default:
		r.New = r.Iggy
	}
	return true, nil
}

// beyond refuses a position that no message has yet: whoever goes on there would
// miss what is written before it.
func beyond(side string, tp TopicPartition, offset, end int64) error {
	return fmt.Errorf("%w: %s has offset %d for %v, which ends at %d; was the topic made anew? Set the offset first (groups reset), or leave the partition out with --topic",
		ErrRefused, side, offset, tp, end)
}

// Changes counts the rows that change something.
func (h *Handover) Changes() int {
	n := 0
	for i := range h.Rows {
		if r := &h.Rows[i]; r.New != r.target(h.Direction) {
			n++
		}
	}
	return n
}

// target is what the side that takes over has now.
func (r *Handed) target(d Direction) int64 {
	if d == FromIggy {
		return r.Kafka
	}
	return max(r.Iggy, 0) // none stored is 0
}

// Execute moves the position, and with removeSource takes it from the side it
// left: the offsets of the partitions that were moved. It can be repeated.
func (h *Handover) Execute(ctx context.Context, c Cluster, iggy Iggy, removeSource bool) error {
	byTopic := make(map[string]map[int32]int64)
	offsets := make(map[TopicPartition]int64, len(h.Rows))
	partitions := make([]TopicPartition, 0, len(h.Rows))
	for i := range h.Rows {
		r := &h.Rows[i]
		if byTopic[r.Topic] == nil {
			byTopic[r.Topic] = make(map[int32]int64)
		}
		byTopic[r.Topic][r.Partition] = r.New
		offsets[r.TopicPartition] = r.New
		partitions = append(partitions, r.TopicPartition)
	}
	var err error
	if h.Direction == ToIggy {
		err = setIggy(ctx, iggy, h.IggyGroup, byTopic)
	} else {
		err = c.Commit(ctx, h.Group, offsets)
	}
	if err != nil {
		return fmt.Errorf("%w; the position may be moved in part: run the handover again", err)
	}
	h.Executed = true
	if !removeSource {
		return nil
	}
	if h.Direction == ToIggy {
		err = c.Delete(ctx, h.Group, partitions)
	} else {
		for _, offsets := range byTopic {
			for p := range offsets {
				offsets[p] = 0
			}
		}
		err = setIggy(ctx, iggy, h.IggyGroup, byTopic)
	}
	if err != nil {
		return fmt.Errorf("the position is moved, but the side it left still has it: %w", err)
	}
	h.SourceRemoved = true
	return nil
}

func setIggy(ctx context.Context, iggy Iggy, group string, byTopic map[string]map[int32]int64) error {
	topics := make(map[string]bool, len(byTopic))
	for t := range byTopic {
		topics[t] = true
	}
	for _, topic := range sortedKeys(topics) {
		err := iggy.SetGroup(ctx, group, topic, byTopic[topic])
		if errors.Is(err, bridge.ErrGroupActive) {
			err = fmt.Errorf("%w: %w", ErrActive, err)
		}
		if err != nil {
			return fmt.Errorf("store the offsets of Iggy's consumer group %s of topic %s: %w", group, topic, err)
		}
	}
	return nil
}

// Left says in words what is on the side that the position has left, empty
// before Execute.
func (h *Handover) Left() string {
	if !h.Executed {
		return ""
	}
	n := len(h.Rows)
	if h.Direction == FromIggy {
		n = len(slices.DeleteFunc(slices.Clone(h.Rows), func(r Handed) bool { return r.Iggy < 0 }))
	}
	side := fmt.Sprintf("Kafka group %q", h.Group)
	if h.Direction == FromIggy {
		side = fmt.Sprintf("Iggy's consumer group %q", h.IggyGroup)
	}
	switch {
	case h.SourceRemoved:
		return fmt.Sprintf("Left: %s has no offsets of these partitions any more.", side)
	case n == 0:
		return fmt.Sprintf("Left: %s had no offsets stored.", side)
	case h.Direction == FromIggy:
		return fmt.Sprintf("Left: %s still has %d stored offsets. They no longer move, and keep retention from what lies above them until the group is deleted in Iggy "+
			"(--remove-source removes them in the same go).", side, n)
	}
	return fmt.Sprintf("Left: %s still has %d committed offsets. They no longer move, and stay until they expire or the group is deleted "+
		"(--remove-source removes them in the same go).", side, n)
}
