package handlers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"

	"github.com/sirupsen/logrus"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/coordinator"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/groups"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/statemachine"
	"kafka-iggy-bridge/internal/wire"
)

// offsetsTopic is the topic that keeps groups and their offsets.
const offsetsTopic = "__consumer_offsets"

// GroupOptions say how groups are coordinated.
type GroupOptions struct {
	// Config is the groups' own configuration. Member ids are random when it makes
	// none.
	Config groups.Config
	// Partitions is how many partitions __consumer_offsets gets when it is made.
	Partitions int32
	// Written, unless nil, is told of records when they are in the log. It must not
	// wait, and must not keep them.
	Written func([]records.Record)
	// Metrics and Logger receive what happens.
	Metrics coordinator.Metrics
	Logger  logrus.FieldLogger
}

// NewGroupCoordinator makes the coordinator of the groups that a bridge keeps.
// It is to be started after the bridge and closed before it.
func NewGroupCoordinator(b *bridge.Bridge, options GroupOptions) *coordinator.Coordinator {
	if options.Config.NewMemberID == nil {
		options.Config.NewMemberID = func() string { return textUUID(randomUUID()) }
	}
	if options.Config.NewMemberUUID == nil {
		options.Config.NewMemberUUID = func() string { return randomUUID().String() }
	}
	topics := &topicSets{bridge: b}
	return coordinator.New(coordinator.Options{
		Name: "groups",
		Find: func(ctx context.Context) (int32, error) {
			return findInternalTopic(ctx, b, offsetsTopic, options.Partitions)
		},
		Open: func(ctx context.Context) (int32, error) {
			return b.OpenInternalTopic(ctx, offsetsTopic, options.Partitions)
		},
		Log:     func(partition int32) coordinator.Log { return b.CompactedLog(offsetsTopic, partition) },
		Machine: func() statemachine.Machine { return groups.NewShard(options.Config, topics.get) },
		Written: options.Written,
		Metrics: options.Metrics,
		Logger:  options.Logger,
	})
}

// randomUUID makes a UUID of version 4. As Kafka does, it avoids those whose
// base64 begins with a dash, which command lines take for options.
func randomUUID() wire.UUID {
	for {
		var b wire.UUID
		_, _ = rand.Read(b[:]) // never fails
		b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
		if b.String()[0] != '-' {
			return b
		}
	}
}

// textUUID is a UUID in its usual form.
func textUUID(b wire.UUID) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// findInternalTopic opens a topic when it exists.
func findInternalTopic(ctx context.Context, b *bridge.Bridge, name string, partitions int32) (int32, error) {
	if err := b.Health(); err != nil {
		return 0, err
	}
	if _, err := b.Topic(ctx, name); errors.Is(err, bridge.ErrTopicNotFound) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	return b.OpenInternalTopic(ctx, name, partitions)
}

// topicSets keeps the snapshot of the topics that the machines see.
type topicSets struct {
	bridge *bridge.Bridge

	mu      sync.Mutex
	set     *groups.TopicSet
	version uint64
}

// get returns the newest snapshot: the same one until the topics have changed.
func (s *topicSets) get() *groups.TopicSet {
	s.mu.Lock()
	defer s.mu.Unlock()
	version := s.bridge.TopicsVersion()
	if s.set != nil && s.version == version {
		return s.set
	}
	// The topics that are known will do: a machine must not wait for Iggy. The
	// bridge looks for changes by itself, and each raises the version.
	list := s.bridge.KnownTopics()
	topics := make([]groups.Topic, len(list))
	for i, t := range list {
		topics[i] = groups.Topic{Name: t.Name, ID: t.ID, Partitions: t.Partitions}
	}
	s.set, s.version = groups.NewTopicSet(topics), version
	return s.set
}

// GroupCounts counts the groups by type and state, as ListGroups gives them; nil
// while that is not known.
func (h *Handlers) GroupCounts(ctx context.Context) map[GroupKind]int {
	req := &Request{Key: generated.KeyListGroups, Version: routes[generated.KeyListGroups].max}
	body := generated.DefaultListGroupsRequest()
	answer, err := h.listGroups(ctx, req, &body)
	if err != nil {
		return nil
	}
	list := answer.(*generated.ListGroupsResponse)
	if list.ErrorCode != errorcode.None {
		return nil
	}
	counts := make(map[GroupKind]int)
	for i := range list.Groups {
		counts[GroupKind{list.Groups[i].GroupType, list.Groups[i].GroupState}]++
	}
	return counts
}

// GroupKind is a type of groups, such as "classic", and a state of theirs.
type GroupKind struct{ Type, State string }
