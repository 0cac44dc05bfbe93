package groups

import (
	"fmt"
	"strings"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/groups/assignor"
	"kafka-iggy-bridge/internal/wire"
)

// refusal is why a request to a consumer group is refused. The texts are Kafka's:
// clients show them.
type refusal struct {
	code    int16
	message string
}

func refuse(code int16, format string, args ...any) *refusal {
	return &refusal{code: code, message: fmt.Sprintf(format, args...)}
}

// checkConsumerHeartbeat checks what can be said of a request without its group.
func checkConsumerHeartbeat(version int16, r *generated.ConsumerGroupHeartbeatRequest) *refusal {
	invalid := func(text string) *refusal { return &refusal{errorcode.InvalidRequest, text} }
	blank := func(s wire.NullString) bool { return s.Valid && strings.TrimSpace(s.S) == "" }
	// Only version 0 lets the coordinator choose the member id, when joining.
	if (version >= 1 || r.MemberEpoch > 0 || r.MemberEpoch == leaveEpoch) && blank(wire.String(r.MemberId)) {
		return invalid("MemberId can't be empty.")
	}
	switch {
	case blank(wire.String(r.GroupId)):
		return invalid("GroupId can't be empty.")
	case blank(r.InstanceId):
		return invalid("InstanceId can't be empty.")
	case blank(r.RackId):
		return invalid("RackId can't be empty.")
	}
	switch {
	case r.MemberEpoch == joinEpoch && r.RebalanceTimeoutMs == -1:
		return invalid("RebalanceTimeoutMs must be provided in first request.")
	case r.MemberEpoch == joinEpoch && (r.TopicPartitions == nil || len(r.TopicPartitions) > 0):
		return invalid("TopicPartitions must be empty when (re-)joining.")
	case r.MemberEpoch == joinEpoch && r.SubscribedTopicNames == nil && !r.SubscribedTopicRegex.Valid:
		return invalid("Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")
	case r.MemberEpoch == staticLeaveEpoch && !r.InstanceId.Valid:
		return invalid("InstanceId can't be null.")
	case r.MemberEpoch < staticLeaveEpoch:
		return invalid("MemberEpoch is invalid.")
	}
	if r.ServerAssignor.Valid {
		if _, ok := assignor.ByName(r.ServerAssignor.S); !ok {
			return refuse(errorcode.UnsupportedAssignor, "ServerAssignor %s is not supported. Supported assignors: %s.",
				r.ServerAssignor.S, strings.Join(assignor.Names(), ", "))
		}
	}
	return nil
}

// checkRoom refuses a new member of a group that is full.
func (g *consumerGroup) checkRoom(memberID string, instance wire.NullString) *refusal {
	if g.staticMember(instance) != nil {
		return nil
	}
	if _, ok := g.members[memberID]; ok || len(g.members) < g.s.config.ConsumerMaxSize {
		return nil
	}
	return refuse(errorcode.GroupMaxSizeReached,
		"The consumer group has reached its maximum capacity of %d members.", g.s.config.ConsumerMaxSize)
}

// checkEpoch refuses an epoch that is not the member's. The previous epoch will
// do from a member that owns nothing but what it has: the answer that told it of
// the new one may have been lost.
func (m *consumerMember) checkEpoch(r *generated.ConsumerGroupHeartbeatRequest) *refusal {
	const text = "The consumer group member has a %s member epoch (%d) than the one known by the group coordinator (%d). " +
		"The member must abandon all its partitions and rejoin."
	switch {
	case r.MemberEpoch == joinEpoch:
		return nil
	case r.MemberEpoch > m.epoch:
		return refuse(errorcode.FencedMemberEpoch, text, "greater", r.MemberEpoch, m.epoch)
	case r.MemberEpoch < m.epoch && (r.MemberEpoch != m.previousEpoch || r.TopicPartitions == nil || !m.assigned.contains(r.TopicPartitions)):
		return refuse(errorcode.FencedMemberEpoch, text, "smaller", r.MemberEpoch, m.epoch)
	}
	return nil
}

// checkStatic refuses a request of a static member that is not in the group, or
// whose instance id another member has taken over.
func (m *consumerMember) checkStatic(memberID, instanceID string) *refusal {
	switch {
	case m == nil:
		return refuse(errorcode.UnknownMemberID, "Instance id %s is unknown.", instanceID)
	case m.id != memberID:
		return refuse(errorcode.FencedInstanceID, "Static member %s with instance id %s was fenced by member %s.", memberID, instanceID, m.id)
	}
	return nil
}

func unknownMember(memberID, groupID string) *refusal {
	return refuse(errorcode.UnknownMemberID, "Member %s is not a member of group %s.", memberID, groupID)
}
