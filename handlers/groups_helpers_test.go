package handlers

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/groups"
	"kafka-iggy-bridge/internal/telemetry"
	"kafka-iggy-bridge/internal/wire"
)

// groupOptionsOf coordinates groups as Kafka does, but does not wait for more
// members of a new group.
func groupOptionsOf(t testing.TB) GroupOptions {
	t.Helper()
	config := groups.DefaultConfig()
	config.InitialRebalanceDelay = 0
	config.MinSessionTimeout = time.Millisecond
	return GroupOptions{Config: config, Partitions: 5, Metrics: telemetry.NewMetrics("test"), Logger: adminLog()}
}

// openGroups makes the topic for groups, and waits until it is loaded.
func (f *dataFixture) openGroups() {
	f.t.Helper()
	f.findCoordinators(6, keyTypeGroup, "g")
	f.await(func() bool {
		answer, _ := f.call(context.Background(), generated.KeyListGroups, 5, &generated.ListGroupsRequest{})
		return firstCode(answer) == errorcode.None
	})
}

// findCoordinators asks for keys, in old versions for one after the other.
func (f *adminFixture) findCoordinators(version int16, keyType int8, keys ...string) []generated.FindCoordinatorResponseCoordinator {
	f.t.Helper()
	if version >= findKeysSince {
		answer, err := f.ask(generated.KeyFindCoordinator, version, &generated.FindCoordinatorRequest{KeyType: keyType, CoordinatorKeys: keys})
		if err != nil {
			f.t.Fatal(err)
		}
		return answer.(*generated.FindCoordinatorResponse).Coordinators
	}
	var rows []generated.FindCoordinatorResponseCoordinator
	for _, key := range keys {
		answer, err := f.ask(generated.KeyFindCoordinator, version, &generated.FindCoordinatorRequest{KeyType: keyType, Key: key})
		if err != nil {
			f.t.Fatal(err)
		}
		r := answer.(*generated.FindCoordinatorResponse)
		rows = append(rows, generated.FindCoordinatorResponseCoordinator{
			Key: key, ErrorCode: r.ErrorCode, ErrorMessage: r.ErrorMessage, NodeId: r.NodeId, Host: r.Host, Port: r.Port,
		})
	}
	return rows
}

// firstCode is the first error code anywhere in an answer.
func firstCode(answer generated.Message) int16 {
	code, _ := findCode(reflect.ValueOf(answer))
	return code
}

func findCode(v reflect.Value) (int16, bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return findCode(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			if code, ok := findCode(v.Index(i)); ok {
				return code, true
			}
		}
	case reflect.Struct:
		if f := v.FieldByName("ErrorCode"); f.IsValid() && f.Int() != 0 {
			return int16(f.Int()), true
		}
		for i := range v.NumField() {
			if code, ok := findCode(v.Field(i)); ok {
				return code, true
			}
		}
	}
	return 0, false
}

// joinRequest joins a group with one protocol.
func joinRequest(group, member, protocolType string) *generated.JoinGroupRequest {
	r := generated.DefaultJoinGroupRequest()
	r.GroupId, r.MemberId, r.ProtocolType = group, member, protocolType
	r.SessionTimeoutMs, r.RebalanceTimeoutMs = 30_000, 60_000
	r.Protocols = []generated.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte("subscribed")}}
	return &r
}

func (f *dataFixture) join(ctx context.Context, version int16, r *generated.JoinGroupRequest) *generated.JoinGroupResponse {
	answer, _ := f.call(ctx, generated.KeyJoinGroup, version, r)
	return answer.(*generated.JoinGroupResponse)
}

// syncRequest is a leader's that assigns to itself.
func syncRequest(group, member string, generation int32) *generated.SyncGroupRequest {
	r := generated.DefaultSyncGroupRequest()
	r.GroupId, r.MemberId, r.GenerationId = group, member, generation
	r.ProtocolType, r.ProtocolName = wire.String("consumer"), wire.String("range")
	r.Assignments = []generated.SyncGroupRequestAssignment{{MemberId: member, Assignment: []byte("assigned")}}
	return &r
}

// leaveRequest names the member where the version has it.
func leaveRequest(version int16, group, member string) *generated.LeaveGroupRequest {
	r := generated.DefaultLeaveGroupRequest()
	r.GroupId = group
	if version < 3 {
		r.MemberId = member
	} else {
		r.Members = []generated.LeaveGroupRequestMemberIdentity{{MemberId: member}}
	}
	return &r
}

func consumerHeartbeat(group, member string, epoch int32) *generated.ConsumerGroupHeartbeatRequest {
	r := generated.DefaultConsumerGroupHeartbeatRequest()
	r.GroupId, r.MemberId, r.MemberEpoch = group, member, epoch
	if epoch == 0 {
		r.RebalanceTimeoutMs = 60_000
		r.SubscribedTopicNames = []string{"t"}
		r.TopicPartitions = []generated.ConsumerGroupHeartbeatRequestTopicPartitions{}
	}
	return &r
}

// commitRequest commits offsets of one topic from outside the group.
func commitRequest(group, topic string, id wire.UUID, offsets map[int32]int64) *generated.OffsetCommitRequest {
	r := generated.DefaultOffsetCommitRequest()
	r.GroupId, r.GenerationIdOrMemberEpoch = group, -1
	t := generated.OffsetCommitRequestTopic{Name: topic, TopicId: id}
	for _, p := range slices.Sorted(maps.Keys(offsets)) {
		row := generated.DefaultOffsetCommitRequestPartition()
		row.PartitionIndex, row.CommittedOffset = p, offsets[p]
		t.Partitions = append(t.Partitions, row)
	}
	r.Topics = append(r.Topics, t)
	return &r
}

func (f *dataFixture) mustCommit(group, topic string, offsets map[int32]int64) {
	f.t.Helper()
	answer, _ := f.call(context.Background(), generated.KeyOffsetCommit, 9, commitRequest(group, topic, wire.UUID{}, offsets))
	if code := firstCode(answer); code != errorcode.None {
		f.t.Fatalf("committing for %s: %+v", group, answer)
	}
}

// offsetFetchRequest asks for one topic where the version has it.
func offsetFetchRequest(version int16, group, topic string, id wire.UUID, partitions ...int32) *generated.OffsetFetchRequest {
	r := generated.DefaultOffsetFetchRequest()
	if version < fetchGroupsSince {
		r.GroupId = group
		r.Topics = []generated.OffsetFetchRequestTopic{{Name: topic, PartitionIndexes: partitions}}
		return &r
	}
	one := generated.DefaultOffsetFetchRequestGroup()
	one.GroupId = group
	one.Topics = []generated.OffsetFetchRequestTopics{{Name: topic, TopicId: id, PartitionIndexes: partitions}}
	r.Groups = append(r.Groups, one)
	return &r
}

// listed are the ids of all groups, sorted.
func (f *dataFixture) listed() []string {
	f.t.Helper()
	answer, _ := f.call(context.Background(), generated.KeyListGroups, 5, &generated.ListGroupsRequest{})
	var names []string
	for _, g := range answer.(*generated.ListGroupsResponse).Groups {
		names = append(names, g.GroupId)
	}
	slices.Sort(names)
	return names
}
