package groupadmin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Kafka is a Kafka cluster, reached over the Kafka protocol.
type Kafka struct {
	client    *kadm.Client
	bootstrap string
}

// Types of groups, as ListGroups names them.
const (
	typeClassic  = "classic"
	typeConsumer = "consumer"
)

const (
	dialTimeout = 5 * time.Second
	// retryTime is how long a request is tried again, while a coordinator loads.
	retryTime = 15 * time.Second
)

// ConnectKafka makes a client for the brokers at bootstrap: host:port, several
// separated by commas. It does not connect yet. Close ends it.
func ConnectKafka(bootstrap string) (*Kafka, error) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(bootstrap, ",")...),
		kgo.ClientID("kafka-iggy-bridge-groups"),
		kgo.DialTimeout(dialTimeout),
		kgo.RetryTimeout(retryTime),
	)
	if err != nil {
		return nil, fmt.Errorf("bootstrap %s: %w", bootstrap, err)
	}
	return &Kafka{client: kadm.NewClient(client), bootstrap: bootstrap}, nil
}

// Close ends the connections.
func (k *Kafka) Close() { k.client.Close() }

// failed says what was done, and where.
func (k *Kafka) failed(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s, at Kafka %s: %w", what, k.bootstrap, err)
}

// List implements Cluster.
func (k *Kafka) List(ctx context.Context) (map[string]Group, error) {
	listed, err := k.client.ListGroups(ctx)
	if err != nil {
		return nil, k.failed("list the groups", err)
	}
	groups := make(map[string]Group, len(listed))
	for name, l := range listed {
		g := Group{Name: name, Type: strings.ToLower(l.GroupType), State: l.State, ProtocolType: l.ProtocolType, Members: []Member{}, Offsets: []Offset{}}
		if g.Type == "" {
			g.Type = typeClassic // a broker of before KIP-848 has no others
		}
		groups[name] = g
	}
	return groups, nil
}

// Describe implements Cluster.
func (k *Kafka) Describe(ctx context.Context, groups []*Group) error {
	byType := make(map[string]map[string]*Group)
	for _, g := range groups {
		if byType[g.Type] == nil {
			byType[g.Type] = make(map[string]*Group)
		}
		byType[g.Type][g.Name] = g
	}
	for kind, some := range byType {
		var err error
		switch kind {
		case typeClassic:
			err = k.describeClassic(ctx, some)
		case typeConsumer:
			err = k.describeConsumer(ctx, some)
		default:
			for _, g := range some {
				g.Failure = fmt.Sprintf("groups of type %s are not described", kind)
			}
		}
		if err != nil {
			return k.failed("describe groups", err)
		}
	}
	return nil
}

func (k *Kafka) describeClassic(ctx context.Context, groups map[string]*Group) error {
	described, err := k.client.DescribeGroups(ctx, slices.Sorted(maps.Keys(groups))...)
	if err != nil {
		return err
	}
	for name, g := range groups {
		d, ok := described[name]
		if !ok || d.Err != nil {
			g.Failure = missing(d.Err)
			continue
		}
		g.State, g.ProtocolType, g.Protocol = d.State, d.ProtocolType, d.Protocol
		for i := range d.Members {
			dm := &d.Members[i]
			m := Member{ID: dm.MemberID, ClientID: dm.ClientID, Host: dm.ClientHost, Assigned: []TopicPartition{}}
			if dm.InstanceID != nil {
				m.InstanceID = *dm.InstanceID
			}
			if a, ok := dm.Assigned.AsConsumer(); ok {
				for _, t := range a.Topics {
					for _, p := range t.Partitions {
						m.Assigned = append(m.Assigned, TopicPartition{t.Topic, p})
					}
				}
			}
			g.add(m)
		}
	}
	return nil
}

func (k *Kafka) describeConsumer(ctx context.Context, groups map[string]*Group) error {
	described, err := k.client.DescribeConsumerGroups(ctx, slices.Sorted(maps.Keys(groups))...)
	if err != nil {
		return err
	}
	for name, g := range groups {
		d, ok := described[name]
		if !ok || d.Err != nil {
			g.Failure = missing(d.Err)
			continue
		}
		g.State, g.Protocol = d.State, d.AssignorName
		for i := range d.Members {
			dm := &d.Members[i]
			m := Member{ID: dm.MemberID, ClientID: dm.ClientID, Host: dm.ClientHost, Assigned: []TopicPartition{}}
			if dm.InstanceID != nil {
				m.InstanceID = *dm.InstanceID
			}
			for topic, partitions := range dm.Assignment {
				for p := range partitions {
					m.Assigned = append(m.Assigned, TopicPartition{topic, p})
				}
			}
			g.add(m)
		}
	}
	return nil
}

// missing says why a group is not in an answer.
func missing(err error) string {
	if err == nil {
		return "the coordinator did not answer for it"
	}
	return err.Error()
}

func (g *Group) add(m Member) {
	slices.SortFunc(m.Assigned, compare)
	at, _ := slices.BinarySearchFunc(g.Members, m.ID, func(m Member, id string) int { return strings.Compare(m.ID, id) })
	g.Members = slices.Insert(g.Members, at, m)
}

// Commits implements Cluster.
func (k *Kafka) Commits(ctx context.Context, groups ...string) (map[string]map[TopicPartition]Commit, error) {
	out := make(map[string]map[TopicPartition]Commit, len(groups))
	for name, r := range k.client.FetchManyOffsets(ctx, groups...) {
		if r.Err != nil {
			return nil, k.failed("fetch the offsets of group "+name, r.Err)
		}
		commits := make(map[TopicPartition]Commit)
		for _, o := range r.Fetched.Sorted() {
			if o.Err != nil {
				return nil, k.failed(fmt.Sprintf("fetch the offset of group %s for %s-%d", name, o.Topic, o.Partition), o.Err)
			}
			if o.At >= 0 {
				commits[TopicPartition{o.Topic, o.Partition}] = Commit{Offset: o.At, Metadata: o.Metadata}
			}
		}
		out[name] = commits
	}
	return out, nil
}

// Bounds implements Cluster.
func (k *Kafka) Bounds(ctx context.Context, topics ...string) (map[TopicPartition]Bounds, error) {
	starts, err := k.listed(k.client.ListStartOffsets(ctx, topics...))
	if err != nil {
		return nil, err
	}
	ends, err := k.listed(k.client.ListEndOffsets(ctx, topics...))
	if err != nil {
		return nil, err
	}
	bounds := make(map[TopicPartition]Bounds, len(ends))
	for tp, end := range ends {
		if start, ok := starts[tp]; ok {
			bounds[tp] = Bounds{Start: start, End: end}
		}
	}
	return bounds, nil
}

// At implements Cluster.
func (k *Kafka) At(ctx context.Context, ms int64, topics ...string) (map[TopicPartition]int64, error) {
	return k.listed(k.client.ListOffsetsAfterMilli(ctx, ms, topics...))
}

// listed takes what ListOffsets answered. Topics that do not exist are left out.
func (k *Kafka) listed(all kadm.ListedOffsets, err error) (map[TopicPartition]int64, error) {
	if err != nil {
		return nil, k.failed("list offsets", err)
	}
	out := make(map[TopicPartition]int64)
	for topic, partitions := range all {
		for p, o := range partitions {
			switch {
			case o.Err == nil:
				out[TopicPartition{topic, p}] = o.Offset
			case !errors.Is(o.Err, kerr.UnknownTopicOrPartition):
				return nil, k.failed(fmt.Sprintf("list the offsets of %s-%d", topic, p), o.Err)
			}
		}
	}
	return out, nil
}

// Commit implements Cluster.
func (k *Kafka) Commit(ctx context.Context, group string, offsets map[TopicPartition]int64) error {
	var all kadm.Offsets
	for tp, offset := range offsets {
		all.AddOffset(tp.Topic, tp.Partition, offset, -1)
	}
	answered, err := k.client.CommitOffsets(ctx, group, all)
	if err != nil {
		return k.failed("commit offsets of group "+group, err)
	}
	for _, o := range answered.Sorted() {
		switch {
		case errors.Is(o.Err, kerr.UnknownMemberID), errors.Is(o.Err, kerr.StaleMemberEpoch), errors.Is(o.Err, kerr.RebalanceInProgress):
			return k.failed("commit offsets of group "+group, fmt.Errorf("%w: somebody joined meanwhile (%w)", ErrActive, o.Err))
		case o.Err != nil:
			return k.failed(fmt.Sprintf("commit offset %d of group %s for %s-%d", o.At, group, o.Topic, o.Partition), o.Err)
		}
	}
	return nil
}

// Delete implements Cluster.
func (k *Kafka) Delete(ctx context.Context, group string, partitions []TopicPartition) error {
	set := make(kadm.TopicsSet)
	for _, tp := range partitions {
		set.Add(tp.Topic, tp.Partition)
	}
	answered, err := k.client.DeleteOffsets(ctx, group, set)
	if err == nil {
		err = answered.Error()
	}
	return k.failed("delete offsets of group "+group, err)
}
