package handlers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/wire"
)

// Metadata, key 3, versions 0 to 13.
//
//   - The broker is this bridge: leader, only replica and controller alike, under
//     the advertised address, so every id in the answer is in the list of brokers.
//   - A null list of topics means all, an empty one none; in version 0, which
//     knows no null, an empty one means all.
//   - A topic asked for by name is made when the configuration and the request
//     allow it (up to version 3 requests always do), and is in the answer at
//     once. Names that Kafka forbids answer 17; those it reserves, and those that
//     differ from a topic's only in '.' against '_', are not made and answer 3.
//   - A topic asked for by id is never made. An id beats a name beside it, and
//     names that stand alone are passed over in a request that has ids.
//   - While Iggy is away, topics asked for answer a code on which clients retry.
//     Where all were asked for and the list is not known, the connection ends
//     without an answer: that is the only thing on which every client tries
//     again. An answer would be believed: Java's AdminClient, for one, lists what
//     is in it and looks neither at an error code nor for brokers.
//   - Authorized operations, where asked for, are all that there are, as in a
//     Kafka without an authorizer.
//
// Version history:
//
//	1   null for all topics; controller, rack, internal topics
//	2   cluster id
//	3   throttle time
//	4   the request says whether topics may be made
//	5   offline replicas
//	7   leader epochs (KIP-320)
//	8   authorized operations (KIP-430)
//	9   flexible
//	10  topic ids; asking by id is refused with 42 until 12 (KIP-516)
//	11  no authorized operations of the cluster
//	12  topics by id
//	13  an error code for the whole answer, for telling clients to bootstrap
//	    anew (KIP-1102), which the bridge never has to
var _ = register(generated.KeyMetadata, 0, 13, (*Handlers).metadata)

const (
	// metadataTime bounds what a Metadata request waits for Iggy, over all its
	// topics: clients wait 30 s for the answer, and other requests behind it.
	metadataTime = 10 * time.Second

	// topicsByIDSince is the first version in which topics may be asked for by id.
	topicsByIDSince = 12

	// allTopicOperations are READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE,
	// DESCRIBE_CONFIGS and ALTER_CONFIGS, as bits by Kafka's AclOperation codes.
	allTopicOperations int32 = 1<<3 | 1<<4 | 1<<5 | 1<<6 | 1<<7 | 1<<8 | 1<<10 | 1<<11

	// allClusterOperations are CREATE, ALTER, DESCRIBE, CLUSTER_ACTION,
	// DESCRIBE_CONFIGS, ALTER_CONFIGS and IDEMPOTENT_WRITE.
	allClusterOperations int32 = 1<<5 | 1<<7 | 1<<8 | 1<<9 | 1<<10 | 1<<11 | 1<<12
)

func (h *Handlers) metadata(ctx context.Context, req *Request, body *generated.MetadataRequest) (generated.Message, error) {
	ctx, cancel := context.WithTimeout(ctx, metadataTime)
	defer cancel()
	if !answerable(req.Version, body.Topics) {
		return invalidMetadata(body.Topics), nil
	}
	resp := h.clusterMetadata(ctx, req.Version)
	if body.IncludeClusterAuthorizedOperations {
		resp.ClusterAuthorizedOperations = allClusterOperations
	}
	m := metadataRows{h: h, operations: body.IncludeTopicAuthorizedOperations}
	if body.Topics == nil || req.Version == 0 && len(body.Topics) == 0 {
		topics, err := h.bridge.Topics(ctx)
		if err != nil {
			return nil, fmt.Errorf("all topics were asked for, and cannot be listed: %w", err)
		}
		m.all(topics)
	} else {
		m.create = h.config.AutoCreate && (req.Version < 4 || body.AllowAutoTopicCreation)
		m.asked(ctx, body.Topics)
	}
	resp.Topics = m.rows
	return resp, nil
}

// answerable reports whether each topic has what its version needs: a name and
// no id before topics can be asked for by id, then either of them.
func answerable(version int16, topics []generated.MetadataRequestTopic) bool {
	for i := range topics {
		t := &topics[i]
		byID := !t.TopicId.IsZero()
		if version < topicsByIDSince && (byID || !t.Name.Valid) || !byID && !t.Name.Valid {
			return false
		}
	}
	return true
}

// invalidMetadata refuses a request as a whole, in the way of Kafka: every
// topic gets the error, and neither brokers nor cluster are named.
func invalidMetadata(topics []generated.MetadataRequestTopic) *generated.MetadataResponse {
	resp := generated.DefaultMetadataResponse()
	for i := range topics {
		row := generated.DefaultMetadataResponseTopic()
		row.ErrorCode = errorcode.InvalidRequest
		row.Name = wire.String(topics[i].Name.OrEmpty())
		row.TopicId = topics[i].TopicId
		resp.Topics = append(resp.Topics, row)
	}
	return &resp
}

// clusterMetadata is the answer without its topics.
func (h *Handlers) clusterMetadata(ctx context.Context, version int16) *generated.MetadataResponse {
	resp := generated.DefaultMetadataResponse()
	resp.ControllerId = h.config.NodeID
	resp.Brokers = []generated.MetadataResponseBroker{{NodeId: h.config.NodeID, Host: h.config.Host, Port: h.config.Port}}
	if version >= 2 {
		// Null while the id is not known: that is when the bridge could not read its
		// state since it started, and clients take null for "not said".
		if id, err := h.bridge.ClusterID(ctx); err == nil {
			resp.ClusterId = wire.String(id)
		}
	}
	return &resp
}

// metadataRows makes the rows of topics.
type metadataRows struct {
	h          *Handlers
	create     bool // make topics that are asked for and do not exist
	operations bool // say what the client may do
	rows       []generated.MetadataResponseTopic
	partitions []generated.MetadataResponsePartition // of all rows, one behind the other
	replicas   []int32                               // of every partition
}

// all makes the rows of all topics, with one allocation for all partitions:
// there may be thousands.
func (m *metadataRows) all(topics []*bridge.Topic) {
	n := 0
	for _, t := range topics {
		n += int(t.Partitions)
	}
	m.rows = make([]generated.MetadataResponseTopic, 0, len(topics))
	m.partitions = make([]generated.MetadataResponsePartition, 0, n)
	for _, t := range topics {
		m.topic(t)
	}
}

// asked makes the rows of the topics asked for, each once.
func (m *metadataRows) asked(ctx context.Context, topics []generated.MetadataRequestTopic) {
	m.rows = make([]generated.MetadataResponseTopic, 0, len(topics))
	byIDs := slices.ContainsFunc(topics, func(t generated.MetadataRequestTopic) bool { return !t.TopicId.IsZero() })
	seen := make(map[topicKey]struct{}, len(topics))
	for i := range topics {
		key := topicKey{id: topics[i].TopicId}
		if !byIDs {
			key.name = topics[i].Name.S
		} else if key.id.IsZero() {
			continue
		}
		if _, again := seen[key]; again {
			continue
		}
		seen[key] = struct{}{}
		if byIDs {
			m.byID(ctx, key.id)
		} else {
			m.byName(ctx, key.name)
		}
	}
}

// topicKey is a name or an id.
type topicKey struct {
	id   wire.UUID
	name string
}

func (m *metadataRows) byName(ctx context.Context, name string) {
	t, err := m.find(ctx, name)
	if err == nil {
		m.topic(t)
		return
	}
	row := generated.DefaultMetadataResponseTopic()
	row.Name = wire.String(name)
	row.ErrorCode = bridge.ErrorCodeIn(bridge.ScopeMetadata, err)
	if m.operations {
		row.TopicAuthorizedOperations = allTopicOperations
	}
	m.rows = append(m.rows, row)
}

// find looks a topic up, and makes it where that is allowed.
func (m *metadataRows) find(ctx context.Context, name string) (*bridge.Topic, error) {
	if err := bridge.CheckTopicName(name); err != nil {
		return nil, err
	}
	t, err := m.h.bridge.Topic(ctx, name)
	if !m.create || !errors.Is(err, bridge.ErrTopicNotFound) || bridge.IsReservedTopic(name) {
		return t, err
	}
	return m.h.autoCreate(ctx, name)
}

// autoCreate makes a topic with the defaults, or finds the one that another
// client made meanwhile.
func (h *Handlers) autoCreate(ctx context.Context, name string) (*bridge.Topic, error) {
	if other, err := h.collision(ctx, name); err != nil {
		return nil, err
	} else if other != "" {
		return nil, fmt.Errorf("%w: %s would collide with %s", bridge.ErrTopicNotFound, name, other)
	}
	// The name is a view of the frame, which the topic survives.
	t, err := h.bridge.EnsureStreamAndTopic(ctx, strings.Clone(name), bridge.TopicSpec{Partitions: h.config.DefaultPartitions})
	switch {
	case errors.Is(err, bridge.ErrInvalidTopicName): // though it is one: where it would lie is taken
		return nil, fmt.Errorf("%w: %w", bridge.ErrTopicNotFound, err)
	case err != nil:
		h.log.WithError(err).WithField("topic", name).Debug("a topic could not be created automatically")
		return nil, err
	}
	return t, nil
}

func (m *metadataRows) byID(ctx context.Context, id wire.UUID) {
	t, err := m.h.bridge.TopicByID(ctx, id)
	if err == nil {
		m.topic(t)
		return
	}
	row := generated.DefaultMetadataResponseTopic()
	row.Name = wire.NullString{}
	row.TopicId = id
	row.ErrorCode = bridge.ErrorCodeIn(bridge.ScopeMetadata, err)
	m.rows = append(m.rows, row)
}

// topic appends the row of a topic.
func (m *metadataRows) topic(t *bridge.Topic) {
	if m.replicas == nil {
		m.replicas = []int32{m.h.config.NodeID}
	}
	begin := len(m.partitions)
	for i := range t.Partitions {
		m.partitions = append(m.partitions, generated.MetadataResponsePartition{
			PartitionIndex: i,
			LeaderId:       m.h.config.NodeID,
			LeaderEpoch:    leaderEpoch,
			ReplicaNodes:   m.replicas,
			IsrNodes:       m.replicas,
		})
	}
	row := generated.DefaultMetadataResponseTopic()
	row.Name = wire.String(t.Name)
	row.TopicId = t.ID
	row.IsInternal = t.Internal
	row.Partitions = m.partitions[begin:len(m.partitions):len(m.partitions)]
	if m.operations {
		row.TopicAuthorizedOperations = allTopicOperations
	}
	m.rows = append(m.rows, row)
}
