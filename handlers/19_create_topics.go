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

// CreateTopics, key 19, versions 2 to 7.
//
//   - One row for each name, in the order of the request. What is wrong with one
//     topic does not hinder the others, save for too many partitions in all.
//   - Checks come in about the order of Kafka's controller: duplicates and names
//     that Kafka keeps for itself (42), name (17), existence (36), difference from
//     another topic's name in nothing but '.' against '_' (17), configurations
//     (40), then the layout (37, 38, 39, 42).
//   - -1 partitions are topics.default_partitions, a replication factor of -1 is
//     1. There is one bridge in the list of brokers, so nothing can have more
//     replicas than that, and a manual assignment names this one everywhere.
//   - All topic configurations of Kafka 4.4.0 are taken, kept and reported, also
//     those that have no effect here; names that Kafka does not know, values that
//     it does not allow and null are refused.
//   - validate_only checks all of this and makes nothing. Kafka then makes up a
//     topic id; here it is the zero id.
//   - timeout_ms bounds the whole request. What could not be done in time answers
//     7, as does everything when it is not above 0, unless all names are
//     duplicates.
//   - Names that Kafka keeps for itself are refused with 42: consumer groups and
//     transactions have their state elsewhere (docs/MAPPING.md).
//   - topic_config_error_code stays 0: configurations are never withheld.
//
// Version history:
//
//	2  throttle time
//	4  -1 for partitions and replication factor (KIP-464); older ones may, too
//	5  flexible; the answer says partitions, replication factor and
//	   configurations (KIP-525)
//	6  may be throttled (KIP-599), which never happens here
//	7  the answer says topic ids (KIP-516)
var _ = register(generated.KeyCreateTopics, 2, 7, (*Handlers).createTopics)

const (
	// brokerDefault asks for the broker's own number of partitions or replicas.
	brokerDefault = -1

	// maxPartitionsPerRequest is how many partitions Kafka's controller creates
	// with one request.
	maxPartitionsPerRequest = 10_000

	// bridges is how many brokers there are.
	bridges = 1
)

// topicFault is why a topic is not made, for the client.
type topicFault struct {
	code    int16
	message wire.NullString
}

func faultf(code int16, format string, args ...any) *topicFault {
	return &topicFault{code: code, message: wire.String(fmt.Sprintf(format, args...))}
}

func (h *Handlers) createTopics(ctx context.Context, _ *Request, body *generated.CreateTopicsRequest) (generated.Message, error) {
	resp := generated.DefaultCreateTopicsResponse()
	resp.Topics = make([]generated.CreateTopicsResponseCreatableTopicResult, 0, len(body.Topics))
	times := make(map[string]int, len(body.Topics))
	for i := range body.Topics {
		times[body.Topics[i].Name]++
	}
	if body.TimeoutMs <= 0 && slices.ContainsFunc(body.Topics, func(t generated.CreateTopicsRequestCreatableTopic) bool { return times[t.Name] == 1 }) {
		for i := range body.Topics {
			resp.Topics = append(resp.Topics, refused(body.Topics[i].Name, &topicFault{code: errorcode.RequestTimedOut}))
		}
		return &resp, nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(body.TimeoutMs)*time.Millisecond)
	defer cancel()

	tooMany := h.partitionsAsked(body.Topics) > maxPartitionsPerRequest
	for i := range body.Topics {
		t := &body.Topics[i]
		switch n := times[t.Name]; {
		case n == 0: // answered
		case n > 1:
			resp.Topics = append(resp.Topics, refused(t.Name, faultf(errorcode.InvalidRequest, "Duplicate topic name.")))
		case tooMany:
			resp.Topics = append(resp.Topics, refused(t.Name, faultf(errorcode.PolicyViolation, "Excessively large number of partitions per request.")))
		default:
			resp.Topics = append(resp.Topics, h.createTopic(ctx, t, body.ValidateOnly))
		}
		times[t.Name] = 0
	}
	return &resp, nil
}

// partitionsAsked counts the partitions of all topics of a request.
func (h *Handlers) partitionsAsked(topics []generated.CreateTopicsRequestCreatableTopic) int64 {
	var n int64
	for i := range topics {
		switch t := &topics[i]; {
		case len(t.Assignments) > 0:
			n += int64(len(t.Assignments))
		case t.NumPartitions == brokerDefault:
			n += int64(h.config.DefaultPartitions)
		case t.NumPartitions > 0:
			n += int64(t.NumPartitions)
		}
	}
	return n
}

// createTopic makes a topic, or checks whether it could be made.
func (h *Handlers) createTopic(ctx context.Context, t *generated.CreateTopicsRequestCreatableTopic, validateOnly bool) generated.CreateTopicsResponseCreatableTopicResult {
	spec, fault := h.checkTopic(ctx, t)
	if fault != nil {
		return refused(t.Name, fault)
	}
	row := generated.DefaultCreateTopicsResponseCreatableTopicResult()
	row.Name = t.Name
	row.ErrorMessage = wire.NullString{}
	row.NumPartitions = spec.Partitions
	row.ReplicationFactor = bridges
	if validateOnly {
		if err := h.bridge.CheckCreateTopic(ctx, t.Name, spec); err != nil {
			return refused(t.Name, createFault(t.Name, err))
		}
		row.Configs = reportedConfigs(h.bridge.TopicConfig(spec.Configs))
		return row
	}
	// What the bridge keeps must not be a view of the frame.
	made, err := h.bridge.CreateTopic(ctx, strings.Clone(t.Name), spec)
	if err != nil {
		return refused(t.Name, createFault(t.Name, err))
	}
	row.TopicId = made.ID
	row.Configs = reportedConfigs(made.Config)
	return row
}

// refused is the row of a topic that was not made.
func refused(name string, fault *topicFault) generated.CreateTopicsResponseCreatableTopicResult {
	row := generated.DefaultCreateTopicsResponseCreatableTopicResult()
	row.Name = name
	row.ErrorCode = fault.code
	row.ErrorMessage = fault.message
	return row
}

// checkTopic checks all that can be checked before, in Kafka's order, and says
// what to make.
func (h *Handlers) checkTopic(ctx context.Context, t *generated.CreateTopicsRequestCreatableTopic) (bridge.TopicSpec, *topicFault) {
	var spec bridge.TopicSpec
	if bridge.IsReservedTopic(t.Name) {
		return spec, internalFault(t.Name)
	}
	if err := bridge.CheckTopicName(t.Name); err != nil {
		return spec, faultf(errorcode.InvalidTopic, "Topic name is invalid: %s", reason(err, bridge.ErrInvalidTopicName))
	}
	switch _, err := h.bridge.Topic(ctx, t.Name); {
	case err == nil:
		return spec, createFault(t.Name, bridge.ErrTopicExists)
	case !errors.Is(err, bridge.ErrTopicNotFound):
		return spec, createFault(t.Name, err)
	}
	switch other, err := h.collision(ctx, t.Name); {
	case err != nil:
		return spec, createFault(t.Name, err)
	case other != "":
		return spec, faultf(errorcode.InvalidTopic, "Topic '%s' collides with existing topic: %s", t.Name, other)
	}
	configs, fault := topicConfigs(t.Configs)
	if fault != nil {
		return spec, fault
	}
	partitions, fault := h.checkLayout(t)
	if fault != nil {
		return spec, fault
	}
	return bridge.TopicSpec{Partitions: partitions, Configs: configs}, nil
}

// topicConfigs are the configurations of a request, checked. Of several with
// the same name the last one holds.
func topicConfigs(list []generated.CreateTopicsRequestCreatableTopicConfig) (map[string]string, *topicFault) {
	configs := make(map[string]string, len(list))
	var null []string
	for _, c := range list {
		if !c.Value.Valid {
			null = append(null, c.Name)
			continue
		}
		configs[strings.Clone(c.Name)] = strings.Clone(c.Value.S)
	}
	if null != nil {
		return nil, faultf(errorcode.InvalidConfig, "Null value not supported for topic configs: %s", strings.Join(null, ","))
	}
	if err := bridge.CheckTopicConfigs(configs); err != nil {
		return nil, faultf(errorcode.InvalidConfig, "%s", reason(err, bridge.ErrInvalidConfig))
	}
	return configs, nil
}

// checkLayout checks partitions, replicas and assignments, and returns how many
// partitions to make.
func (h *Handlers) checkLayout(t *generated.CreateTopicsRequestCreatableTopic) (int32, *topicFault) {
	if len(t.Assignments) > 0 {
		switch {
		case t.ReplicationFactor != brokerDefault:
			return 0, faultf(errorcode.InvalidRequest, "A manual partition assignment was specified, but replication factor was not set to -1.")
		case t.NumPartitions != brokerDefault:
			return 0, faultf(errorcode.InvalidRequest, "A manual partition assignment was specified, but numPartitions was not set to -1.")
		}
		return int32(len(t.Assignments)), h.checkAssignments(t.Assignments)
	}
	partitions := t.NumPartitions
	switch {
	case t.ReplicationFactor == 0 || t.ReplicationFactor < brokerDefault:
		return 0, faultf(errorcode.InvalidReplicationFactor, "Replication factor must be larger than 0, or -1 to use the default value.")
	case partitions == 0 || partitions < brokerDefault:
		return 0, faultf(errorcode.InvalidPartitions, "Number of partitions was set to an invalid non-positive value.")
	case t.ReplicationFactor > bridges:
		return 0, faultf(errorcode.InvalidReplicationFactor, "Unable to replicate the partition %d time(s): The target replication factor of %d cannot be reached because only %d broker(s) are registered.",
			t.ReplicationFactor, t.ReplicationFactor, bridges)
	case partitions == brokerDefault:
		partitions = h.config.DefaultPartitions
	}
	return partitions, nil
}

// checkAssignments reports what is wrong with a manual assignment: each
// partition from 0 on has to be on this bridge and nowhere else.
func (h *Handlers) checkAssignments(list []generated.CreateTopicsRequestCreatableReplicaAssignment) *topicFault {
	seen := make(map[int32]bool, len(list))
	for i := range list {
		a := &list[i]
		if seen[a.PartitionIndex] {
			return faultf(errorcode.InvalidReplicaAssignment, "Found multiple manual partition assignments for partition %d", a.PartitionIndex)
		}
		seen[a.PartitionIndex] = true
		if len(a.BrokerIds) == 0 {
			return faultf(errorcode.InvalidReplicaAssignment, "The manual partition assignment includes an empty replica list.")
		}
		brokers := slices.Sorted(slices.Values(a.BrokerIds))
		for j, id := range brokers {
			if id != h.config.NodeID {
				return faultf(errorcode.InvalidReplicaAssignment, "The manual partition assignment includes broker %d, but no such broker is registered.", id)
			}
			if j > 0 {
				return faultf(errorcode.InvalidReplicaAssignment, "The manual partition assignment includes the broker %d more than once.", id)
			}
		}
	}
	for i := range int32(len(list)) {
		if !seen[i] {
			return faultf(errorcode.InvalidReplicaAssignment, "partitions should be a consecutive 0-based integer sequence")
		}
	}
	return nil
}

// createFault is why the bridge did not make a topic.
func createFault(name string, err error) *topicFault {
	switch {
	case errors.Is(err, bridge.ErrTopicExists):
		return faultf(errorcode.TopicAlreadyExists, "Topic '%s' already exists.", name)
	case errors.Is(err, bridge.ErrInvalidTopicName): // though it is one: where it would lie is taken
		return internalFault(name)
	}
	return faultf(bridge.ErrorCodeIn(bridge.ScopeAdmin, err), "%s", err.Error())
}

// internalFault refuses a name that Kafka or the bridge keeps for itself.
func internalFault(name string) *topicFault {
	return faultf(errorcode.InvalidRequest, "Creation of internal topic %s is prohibited.", name)
}

// reason is the text of an error without that of the sentinel in front of it.
func reason(err, sentinel error) string {
	return strings.TrimPrefix(err.Error(), sentinel.Error()+": ")
}

// collision finds a topic whose name differs from name only in having '.' where
// that has '_', "" when there is none. Kafka refuses such pairs, as the names of
// its metrics would be the same.
func (h *Handlers) collision(ctx context.Context, name string) (string, error) {
	if !strings.ContainsAny(name, "._") {
		return "", nil
	}
	topics, err := h.bridge.Topics(ctx)
	if err != nil {
		return "", err
	}
	for _, t := range topics {
		if len(t.Name) == len(name) && t.Name != name && underscored(t.Name) == underscored(name) {
			return t.Name, nil
		}
	}
	return "", nil
}

func underscored(name string) string { return strings.ReplaceAll(name, ".", "_") }

// Where the value of a configuration comes from, numbered as DescribeConfigs
// numbers it.
const (
	sourceTopic        int8 = 1
	sourceStaticBroker int8 = 4
	sourceDefault      int8 = 5
)

// reportedConfigs are all configurations of a topic with their values.
func reportedConfigs(config bridge.TopicConfig) []generated.CreateTopicsResponseCreatableTopicConfigs {
	entries := config.Entries()
	rows := make([]generated.CreateTopicsResponseCreatableTopicConfigs, 0, len(entries))
	for i := range entries {
		e := &entries[i]
		row := generated.CreateTopicsResponseCreatableTopicConfigs{
			Name:         e.Name,
			Value:        wire.String(e.Value),
			ConfigSource: sourceDefault,
		}
		switch {
		case e.Override:
			row.ConfigSource = sourceTopic
		case e.BrokerDefault:
			row.ConfigSource = sourceStaticBroker
		}
		rows = append(rows, row)
	}
	return rows
}
