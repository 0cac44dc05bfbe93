package groups

import (
	"strings"
	"testing"

	"kafka-iggy-bridge/generated"
)

// consumerWorld has a group g with a member m of the consumer protocol, in epoch
// 2, that consumes orders.
func consumerWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.run("config offsets-retention=1h retention-check=10m")
	w.run("topics orders:2 payments:1")
	w.beat("m", 0, "orders")
	return w
}

// beat sends a heartbeat of a member that has nothing to give up.
func (w *world) beat(member string, epoch int32, topics ...string) {
	w.t.Helper()
	r := generated.DefaultConsumerGroupHeartbeatRequest()
	r.GroupId, r.MemberId, r.MemberEpoch = "g", member, epoch
	if epoch == 0 {
		r.RebalanceTimeoutMs = 300_000
		r.SubscribedTopicNames = topics
		r.TopicPartitions = []generated.ConsumerGroupHeartbeatRequestTopicPartitions{}
	}
	w.send(w.client(member+" beats"), 68, 1, &r)
}

// TestOffsetsOfConsumerGroups checks what groups of the consumer protocol decide
// on offsets.
func TestOffsetsOfConsumerGroups(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, command, want string
	}{
		{"a member commits in its epoch", "commit m orders:0@5 gen=2 id=m", "[{}]"},
		{"an epoch that is yet to come", "commit m orders:0@5 gen=3 id=m", "STALE_MEMBER_EPOCH"},
		{"an epoch before the partition was assigned", "commit m orders:0@5 gen=0 id=m", "STALE_MEMBER_EPOCH"},
		{"somebody else", "commit m orders:0@5 gen=1 id=other", "UNKNOWN_MEMBER_ID"},
		{"an administrator while there are members", "commit admin orders:0@5", "UNKNOWN_MEMBER_ID"},
		{"a version without member epochs", "commit m orders:0@5 gen=2 id=m version=8", "UNSUPPORTED_VERSION"},
		{"too much metadata does not ask for the partition", "commit m orders:0@5 gen=0 id=m meta=x*4097", "OFFSET_METADATA_TOO_LARGE"},
		{"a fetch for nobody", "fetch x orders:0", "CommittedOffset:-1"},
		{"a fetch of the member", "fetch m orders:0 id=m epoch=2", "CommittedOffset:-1"},
		{"a fetch with another epoch", "fetch m orders:0 id=m epoch=3", "STALE_MEMBER_EPOCH"},
		{"a fetch of all by somebody else", "fetch m id=other epoch=1", "UNKNOWN_MEMBER_ID"},
		{"a fetch with an empty member id", "fetch m id=- epoch=-1", "UNKNOWN_MEMBER_ID"},
		{"offsets of what it consumes are not deleted", "delete-offsets x orders:0", "GROUP_SUBSCRIBED_TO_TOPIC"},
		{"others are", "delete-offsets x payments:0", "[{}]"},
		{"the group is not deleted", "delete-group x", "NON_EMPTY_GROUP"},
		{"it is listed by its type", "list x types=Consumer", "GroupId:g ProtocolType:consumer GroupState:Stable GroupType:consumer"},
		{"and not by another", "list x types=classic", "ListGroupsResponse{}"},
		{"no classic group in old versions", "describe x version=5", "GroupState:Dead AuthorizedOperations"},
		{"no classic group in new ones", "describe x version=6", `GROUP_ID_NOT_FOUND ErrorMessage:"Group g is not a classic group."`},
		{"described", "consumer-describe x", "GroupState:Stable GroupEpoch:2 AssignmentEpoch:2 AssignorName:uniform Members:[{MemberId:m"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := consumerWorld(t).run(tt.command); !strings.Contains(got, tt.want) {
				t.Errorf("%s\n%swant %s", tt.command, got, tt.want)
			}
		})
	}
}

// TestConsumerGroupOffsetsExpire lets offsets of a consumer group grow old: what
// it consumes stays, the rest goes by its commit, and the group follows its last
// offset.
func TestConsumerGroupOffsetsExpire(t *testing.T) {
	t.Parallel()
	w := consumerWorld(t)
	w.run("commit m orders:0@5 payments:0@7 gen=2 id=m")
	for range 110 {
		w.run("tick 40s")
		w.beat("m", 2)
	}
	if got := w.run("fetch x"); !strings.Contains(got, "Name:orders") || strings.Contains(got, "payments") {
		t.Errorf("after an hour with a member: %s", got)
	}
	w.run("commit m orders:1@5 gen=2 id=m")
	w.beat("m", -1)
	if got := w.run("tick 10m"); !strings.Contains(got, "Topic:orders} tombstone") {
		t.Errorf("the member has left, and the old offset stays: %s", got)
	}
	if got := w.run("fetch x"); !strings.Contains(got, "PartitionIndex:1") {
		t.Errorf("the new offset has not grown old since: %s", got)
	}
	if got := w.run("tick 1h"); !strings.Contains(got, "ConsumerGroupMetadataKey{GroupId:g} tombstone") {
		t.Errorf("the group does not follow its last offset: %s", got)
	}
	if got := w.run("list x"); got != "x <- ListGroupsResponse{}\n" {
		t.Errorf("there are groups left: %s", got)
	}
}

// TestDeleteEmptyConsumerGroup deletes a consumer group after its last member has
// left: with its offsets, in one append, for good.
func TestDeleteEmptyConsumerGroup(t *testing.T) {
	t.Parallel()
	w := consumerWorld(t)
	w.run("commit m orders:0@5 gen=2 id=m")
	w.beat("m", -1)
	if got := w.run("commit admin orders:0@6"); !strings.Contains(got, "[{}]") {
		t.Errorf("an administrator cannot commit for an empty group: %s", got)
	}
	if got := w.run("delete-group x"); !strings.Contains(got, "{GroupId:g}") {
		t.Errorf("the empty group is not deleted: %s", got)
	}
	w.run("restart")
	for r := range w.shard.Snapshot() {
		t.Errorf("a record is left: %s", showRecord(t, r))
	}
}
