// Package groupadmin is what the sub-command "groups" of the bridge does: it
// looks at Kafka groups, resets the offsets of empty ones, and hands a group's
// position over to a consumer group of Iggy's or takes it back. It speaks the
// Kafka protocol to any broker, and to Iggy through bridge.ConsumerOffsets.
package groupadmin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// TopicPartition names a partition.
type TopicPartition struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
}

// String is the partition as topic-partition.
func (tp TopicPartition) String() string { return fmt.Sprintf("%s-%d", tp.Topic, tp.Partition) }

func compare(a, b TopicPartition) int {
	return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
}

// Bounds are a partition's first offset and the one behind its last record.
type Bounds struct{ Start, End int64 }

// Unknown stands for an offset that there is not.
const Unknown = -1

// States of groups that have no members.
const (
	stateEmpty = "Empty"
	stateDead  = "Dead"
)

// Group is a Kafka group.
type Group struct {
	Name string `json:"group"`
	// Type is the protocol that its members speak: classic or consumer (KIP-848).
	Type string `json:"type"`
	// State is Kafka's name of the state: Empty, Stable and so on.
	State string `json:"state"`
	// ProtocolType is what the group is used for, "consumer" by consumers.
	ProtocolType string `json:"protocol_type"`
	// Protocol is the assignor that is in use.
	Protocol string `json:"protocol"`
	// Members are the members, sorted by id.
	Members []Member `json:"members"`
	// Offsets are those of partitions with a commit or a member, sorted.
	Offsets []Offset `json:"offsets"`
	// Failure says what of the above could not be found out.
	Failure string `json:"failure,omitempty"`
}

// Lag is the number of records that wait behind the commits, and whether it is
// known for all partitions.
func (g *Group) Lag() (lag int64, complete bool) {
	complete = true
	for i := range g.Offsets {
		if o := &g.Offsets[i]; o.Lag >= 0 {
			lag += o.Lag
		} else {
			complete = false
		}
	}
	return lag, complete
}

// Member is a member of a group.
type Member struct {
	ID         string           `json:"member_id"`
	InstanceID string           `json:"instance_id,omitempty"`
	ClientID   string           `json:"client_id"`
	Host       string           `json:"host"`
	Assigned   []TopicPartition `json:"assigned"`
}

// Offset is how far a group is in a partition. Unknown stands for what there is
// not.
type Offset struct {
	TopicPartition
	// Committed is the next offset to be consumed.
	Committed int64 `json:"committed"`
	// Start and End are the partition's.
	Start int64 `json:"log_start"`
	End   int64 `json:"log_end"`
	// Lag counts the records from Committed to End; 0 for a commit behind the end.
	Lag      int64  `json:"lag"`
	Metadata string `json:"metadata,omitempty"`
	// Member is the id of who consumes the partition, if anybody does.
	Member string `json:"member_id,omitempty"`
}

// Commit is a committed offset with its metadata.
type Commit struct {
	Offset   int64
	Metadata string
}

// Cluster is what this package needs of a Kafka cluster; Kafka implements it.
type Cluster interface {
	// List are all groups, by name, without members and offsets.
	List(ctx context.Context) (map[string]Group, error)
	// Describe adds what the coordinators know: state, protocol and members. What
	// fails for one group alone becomes its Failure.
	Describe(ctx context.Context, groups []*Group) error
	// Commits are the committed offsets of groups.
	Commits(ctx context.Context, groups ...string) (map[string]map[TopicPartition]Commit, error)
	// Bounds are those of all partitions of topics, of all topics when none are
	// named. Topics that do not exist are left out.
	Bounds(ctx context.Context, topics ...string) (map[TopicPartition]Bounds, error)
	// At are the offsets of the first records at or after a time in ms, and the end
	// where there are none.
	At(ctx context.Context, ms int64, topics ...string) (map[TopicPartition]int64, error)
	// Commit commits offsets from outside the group.
	Commit(ctx context.Context, group string, offsets map[TopicPartition]int64) error
	// Delete deletes committed offsets.
	Delete(ctx context.Context, group string, partitions []TopicPartition) error
}

// Errors on which callers decide.
var (
	// ErrNoGroup says that there is no such Kafka group.
	ErrNoGroup = errors.New("no such group")
	// ErrActive says that a group has members, in Kafka or Iggy.
	ErrActive = errors.New("the group has members")
	// ErrRefused says that a request cannot be carried out as it is; the text
	// around it says why.
	ErrRefused = errors.New("refused")
)

// List are all groups with what Describe shows, sorted by name.
func List(ctx context.Context, c Cluster) ([]Group, error) {
	listed, err := c.List(ctx)
	if err != nil {
		return nil, err
	}
	groups := make([]Group, 0, len(listed))
	for _, g := range listed {
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b Group) int { return strings.Compare(a.Name, b.Name) })
	return groups, fill(ctx, c, groups)
}

// Describe describes groups by name, in that order. It fails with ErrNoGroup for
// one that does not exist.
func Describe(ctx context.Context, c Cluster, names ...string) ([]Group, error) {
	listed, err := c.List(ctx)
	if err != nil {
		return nil, err
	}
	groups := make([]Group, len(names))
	for i, name := range names {
		g, ok := listed[name]
		if !ok {
			return nil, fmt.Errorf("%w: %q", ErrNoGroup, name)
		}
		groups[i] = g
	}
	return groups, fill(ctx, c, groups)
}

// fill adds members and offsets to groups that were listed.
func fill(ctx context.Context, c Cluster, groups []Group) error {
	if len(groups) == 0 {
		return nil
	}
	pointers, names := make([]*Group, len(groups)), make([]string, len(groups))
	for i := range groups {
		pointers[i], names[i] = &groups[i], groups[i].Name
	}
	if err := c.Describe(ctx, pointers); err != nil {
		return err
	}
	commits, err := c.Commits(ctx, names...)
	if err != nil {
		return err
	}
	topics := make(map[string]bool)
	for i := range groups {
		groups[i].Offsets = offsets(&groups[i], commits[groups[i].Name])
		for _, o := range groups[i].Offsets {
			topics[o.Topic] = true
		}
	}
	if len(topics) == 0 {
		return nil
	}
	bounds, err := c.Bounds(ctx, sortedKeys(topics)...)
	if err != nil {
		return err
	}
	for i := range groups {
		for j := range groups[i].Offsets {
			groups[i].Offsets[j].measure(bounds)
		}
	}
	return nil
}

// offsets joins a group's commits with what its members consume.
func offsets(g *Group, commits map[TopicPartition]Commit) []Offset {
	rows := make(map[TopicPartition]*Offset, len(commits))
	row := func(tp TopicPartition) *Offset {
		if rows[tp] == nil {
			rows[tp] = &Offset{TopicPartition: tp, Committed: Unknown, Start: Unknown, End: Unknown, Lag: Unknown}
		}
		return rows[tp]
	}
	for tp, c := range commits {
		o := row(tp)
		o.Committed, o.Metadata = c.Offset, c.Metadata
	}
	for _, m := range g.Members {
		for _, tp := range m.Assigned {
			row(tp).Member = m.ID
		}
	}
	out := make([]Offset, 0, len(rows))
	for _, o := range rows {
		out = append(out, *o)
	}
	slices.SortFunc(out, func(a, b Offset) int { return compare(a.TopicPartition, b.TopicPartition) })
	return out
}

func (o *Offset) measure(bounds map[TopicPartition]Bounds) {
	b, ok := bounds[o.TopicPartition]
	if !ok {
		return // the topic is gone
	}
	o.Start, o.End = b.Start, b.End
	if o.Committed >= 0 {
		o.Lag = max(b.End-o.Committed, 0)
	}
}

// requireEmpty fails with ErrActive when a Kafka group has members. A group that
// does not exist has none.
func requireEmpty(ctx context.Context, c Cluster, name string) error {
	listed, err := c.List(ctx)
	if err != nil {
		return err
	}
	g, ok := listed[name]
	if !ok {
		return nil
	}
	if err := c.Describe(ctx, []*Group{&g}); err != nil {
		return err
	}
	if g.Failure != "" {
		return fmt.Errorf("%w: the state of group %q is not known: %s", ErrRefused, name, g.Failure)
	}
	if len(g.Members) > 0 || g.State != stateEmpty && g.State != stateDead {
		return fmt.Errorf("%w: Kafka group %q is %s with %d members; stop its consumers first", ErrActive, name, g.State, len(g.Members))
	}
	return nil
}

func sortedKeys(set map[string]bool) []string {
	keys := make([]string, 0, len(set))
	for k := range set {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
