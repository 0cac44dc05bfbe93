package handlers

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/coordinator"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/server/parking"
	"kafka-iggy-bridge/internal/wire"
)

func TestFindCoordinatorIsThisBridge(t *testing.T) {
	t.Parallel()
	f := newAdmin(t, nil)
	if f.has(offsetsTopic) {
		t.Fatal("the topic is there before a group is")
	}
	for version := int16(0); version <= 6; version++ {
		for _, keyType := range []int8{keyTypeGroup, keyTypeTransaction} {
			if version == 0 && keyType != keyTypeGroup {
				continue
			}
			for _, row := range f.findCoordinators(version, keyType, "a", "", "b") {
				if row.ErrorCode != errorcode.None || row.NodeId != 1 || row.Host != "kafka.example" || row.Port != 19093 {
					t.Errorf("v%d, type %d: %+v", version, keyType, row)
				}
				if want := map[bool]string{true: "NONE"}[version > 0 && version < findKeysSince]; row.ErrorMessage.S != want {
					t.Errorf("v%d: message %q, want %q", version, row.ErrorMessage.S, want)
				}
			}
		}
	}
	if !f.has(offsetsTopic) {
		t.Error("no topic for groups")
	}
}

func TestFindCoordinatorOfWhatIsNotServed(t *testing.T) {
	t.Parallel()
	f := newAdmin(t, nil)
	const share = "g:AAAAAAAAAAAAAAAAAAAAAQ:0"
	for _, c := range []struct {
		why     string
		version int16
		keyType int8
		key     string
		code    int16
		message bool
	}{
		{"a share group", 6, keyTypeShare, share, errorcode.CoordinatorNotAvailable, false},
		{"a share group in a version without them", 5, keyTypeShare, share, errorcode.InvalidRequest, false},
		{"the same, with a message", 3, keyTypeShare, share, errorcode.InvalidRequest, true},
		{"a share group without partition", 6, keyTypeShare, "g:AAAAAAAAAAAAAAAAAAAAAQ", errorcode.InvalidRequest, false},
		{"a share group without topic id", 6, keyTypeShare, "g:x:0", errorcode.InvalidRequest, false},
		{"a share group without group", 6, keyTypeShare, " :AAAAAAAAAAAAAAAAAAAAAQ:0", errorcode.InvalidRequest, false},
		{"a partition that is no number", 6, keyTypeShare, "g:AAAAAAAAAAAAAAAAAAAAAQ:x", errorcode.InvalidRequest, false},
		{"an unknown type", 6, 7, "g", errorcode.InvalidRequest, true},
		{"an unknown type in an old version", 2, 7, "g", errorcode.InvalidRequest, true},
		{"a negative type", 4, -1, "g", errorcode.InvalidRequest, true},
	} {
		row := f.findCoordinators(c.version, c.keyType, c.key)[0]
		if row.ErrorCode != c.code || row.NodeId != notKnown || row.Host != "" || row.Port != notKnown || (row.ErrorMessage.S != "") != c.message {
			t.Errorf("%s: %+v, want %d", c.why, row, c.code)
		}
	}
	if f.has(offsetsTopic) {
		t.Error("a topic was made")
	}
}

// Iggy is away: everything is answered with what clients retry on, and nothing
// looks like an empty group.
func TestGroupsWithoutIggy(t *testing.T) {
	t.Parallel()
	f := &dataFixture{adminFixture: newAdminAt(t, bridge.Config{Address: nowhere(t), Username: "iggy", Password: "iggy"}, nil)}
	var finding sync.WaitGroup
	for version := int16(0); version <= 6; version++ {
		finding.Go(func() { // each waits for a while
			row := f.findCoordinators(version, keyTypeGroup, "g")[0]
			if row.ErrorCode != errorcode.CoordinatorNotAvailable || row.NodeId != notKnown {
				t.Errorf("FindCoordinator v%d: %+v", version, row)
			}
		})
	}
	finding.Wait()
	for key, request := range map[int16]func(int16) generated.Message{
		generated.KeyOffsetFetch:            func(v int16) generated.Message { return offsetFetchRequest(v, "g", "t", wire.UUID{}, 0) },
		generated.KeyJoinGroup:              func(int16) generated.Message { return joinRequest("g", "", "c") },
		generated.KeySyncGroup:              func(int16) generated.Message { return syncRequest("g", "m", 1) },
		generated.KeyLeaveGroup:             func(v int16) generated.Message { return leaveRequest(v, "g", "m") },
		generated.KeyListGroups:             func(int16) generated.Message { return &generated.ListGroupsRequest{} },
		generated.KeyDescribeGroups:         func(int16) generated.Message { return &generated.DescribeGroupsRequest{Groups: []string{"g"}} },
		generated.KeyDeleteGroups:           func(int16) generated.Message { return &generated.DeleteGroupsRequest{GroupsNames: []string{"g"}} },
		generated.KeyConsumerGroupHeartbeat: func(int16) generated.Message { return consumerHeartbeat("g", "m", 0) },
		generated.KeyConsumerGroupDescribe:  func(int16) generated.Message { return &generated.ConsumerGroupDescribeRequest{GroupIds: []string{"g"}} },
		generated.KeyOffsetDelete:           func(int16) generated.Message { return &generated.OffsetDeleteRequest{GroupId: "g"} },
	} {
		for version := routes[key].min; version <= routes[key].max; version++ {
			answer, _ := f.call(t.Context(), key, version, request(version))
			want := errorcode.CoordinatorLoadInProgress
			if key == generated.KeySyncGroup {
				want = errorcode.RebalanceInProgress
			}
			if code := firstCode(answer); code != want {
				t.Errorf("key %d v%d: %+v, want %d", key, version, answer, want)
			}
		}
	}
	byID, _ := f.call(t.Context(), generated.KeyOffsetFetch, 10, offsetFetchRequest(10, "g", "", wire.UUID{9}, 0))
	if row := byID.(*generated.OffsetFetchResponse).Groups[0]; row.ErrorCode != errorcode.NotCoordinator && row.ErrorCode != errorcode.CoordinatorLoadInProgress || len(row.Topics) != 0 {
		t.Errorf("fetch by id: %+v, want 16 or 14 and no rows", row)
	}
	beat, _ := f.call(t.Context(), generated.KeyHeartbeat, 4, &generated.HeartbeatRequest{GroupId: "g", MemberId: "m"})
	if code := firstCode(beat); code != errorcode.None {
		t.Errorf("heartbeat: %d, want none", code)
	}
	commit, _ := f.call(t.Context(), generated.KeyOffsetCommit, 9, commitRequest("g", "t", wire.UUID{}, map[int32]int64{0: 1}))
	if code := firstCode(commit); code != errorcode.CoordinatorNotAvailable && code != errorcode.CoordinatorLoadInProgress {
		t.Errorf("commit: %d, want 15 or 14", code)
	}
}

func TestACoordinatorThatCannotAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why  string
		err  error
		code int16
	}{
		{"loading", coordinator.ErrLoading, errorcode.CoordinatorLoadInProgress},
		{"cannot be loaded", coordinator.ErrUnavailable, errorcode.CoordinatorNotAvailable},
		{"no topic", coordinator.ErrNotOpen, errorcode.NotCoordinator},
		{"closing", coordinator.ErrClosed, errorcode.CoordinatorNotAvailable},
		{"not written", coordinator.ErrNotWritten, errorcode.CoordinatorNotAvailable},
		{"not known whether it is written", fmt.Errorf("%w: %w", coordinator.ErrNotWritten, bridge.ErrOutcomeUnknown), errorcode.CoordinatorNotAvailable},
		{"too large", fmt.Errorf("%w: %w", coordinator.ErrNotWritten, bridge.ErrRecordTooLarge), errorcode.UnknownServerError},
		{"a fault of ours", coordinator.ErrPanicked, errorcode.UnknownServerError},
		{"the bridge ends while it waits", parking.ErrShutdown, errorcode.CoordinatorNotAvailable},
		{"the client has gone", parking.ErrClientGone, errorcode.CoordinatorNotAvailable},
	} {
		if got := coordinatorCode(c.err); got != c.code {
			t.Errorf("%s: %d, want %d", c.why, got, c.code)
		}
	}
	if got := fetchCode(errorcode.CoordinatorNotAvailable); got != errorcode.NotCoordinator {
		t.Errorf("a fetch gets %d", got)
	}
	if got := fetchCode(errorcode.CoordinatorLoadInProgress); got != errorcode.CoordinatorLoadInProgress {
		t.Errorf("a fetch while loading gets %d", got)
	}
}

func TestClientsHostsAreShownAsByKafka(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why  string
		peer net.Addr
		want string
	}{
		{"IPv4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 5}, "/127.0.0.1"},
		{"IPv6 is not shortened", &net.TCPAddr{IP: net.ParseIP("fe80::1:2a")}, "/fe80:0:0:0:0:0:1:2a"},
		{"with a zone", &net.TCPAddr{IP: net.ParseIP("fe80::1"), Zone: "eth0"}, "/fe80:0:0:0:0:0:0:1%eth0"},
		{"no address", &net.TCPAddr{}, "/"},
		{"no TCP", &net.UnixAddr{Name: "x"}, "/"},
		{"nobody", nil, "/"},
	} {
		if got := clientHost(c.peer); got != c.want {
			t.Errorf("%s: %s, want %s", c.why, got, c.want)
		}
	}
}

func TestAnEmptyGroupID(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.openGroups()
	for key, request := range map[int16]func(int16) generated.Message{
		generated.KeyJoinGroup:             func(int16) generated.Message { return joinRequest("", "m", "c") },
		generated.KeySyncGroup:             func(int16) generated.Message { return syncRequest("", "m", 1) },
		generated.KeyHeartbeat:             func(int16) generated.Message { return &generated.HeartbeatRequest{MemberId: "m"} },
		generated.KeyLeaveGroup:            func(v int16) generated.Message { return leaveRequest(v, "", "m") },
		generated.KeyConsumerGroupDescribe: func(int16) generated.Message { return &generated.ConsumerGroupDescribeRequest{GroupIds: []string{""}} },
		generated.KeyOffsetDelete:          func(int16) generated.Message { return &generated.OffsetDeleteRequest{} },
	} {
		for version := routes[key].min; version <= routes[key].max; version++ {
			answer, _ := f.call(t.Context(), key, version, request(version))
			if code := firstCode(answer); code != errorcode.InvalidGroupID {
				t.Errorf("key %d v%d: %+v, want 24", key, version, answer)
			}
		}
	}
}

func TestSyncGroupNeedsAProtocol(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.openGroups()
	request := syncRequest("g", "m", 1)
	request.ProtocolName = wire.NullString{}
	answer, _ := f.call(t.Context(), generated.KeySyncGroup, 5, request)
	if code := firstCode(answer); code != errorcode.InconsistentGroupProtocol {
		t.Errorf("without protocol: %d, want 23", code)
	}
}

// A classic group's whole life in every version of JoinGroup.
func TestClassicGroupLivesInEveryVersion(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.openGroups()
	for version := int16(0); version <= 9; version++ {
		group := fmt.Sprintf("classic-%d", version)
		joined := f.join(t.Context(), version, joinRequest(group, "", "consumer"))
		if version >= 4 {
			if joined.ErrorCode != errorcode.MemberIDRequired {
				t.Fatalf("v%d: %+v, want 79", version, joined)
			}
			joined = f.join(t.Context(), version, joinRequest(group, joined.MemberId, "consumer"))
		}
		if joined.ErrorCode != errorcode.None || joined.Leader != joined.MemberId || joined.ProtocolName.S != "range" || len(joined.Members) != 1 {
			t.Fatalf("v%d: %+v", version, joined)
		}
		sync := syncRequest(group, joined.MemberId, joined.GenerationId)
		answer, _ := f.call(t.Context(), generated.KeySyncGroup, min(version, 5), sync)
		if got := answer.(*generated.SyncGroupResponse); got.ErrorCode != errorcode.None || string(got.Assignment) != "assigned" {
			t.Errorf("v%d: sync: %+v", version, got)
		}
		beat := &generated.HeartbeatRequest{GroupId: group, MemberId: joined.MemberId, GenerationId: joined.GenerationId}
		if answer, _ := f.call(t.Context(), generated.KeyHeartbeat, min(version, 4), beat); firstCode(answer) != errorcode.None {
			t.Errorf("v%d: heartbeat: %+v", version, answer)
		}
		if answer, _ := f.call(t.Context(), generated.KeyLeaveGroup, min(version, 5), leaveRequest(min(version, 5), group, joined.MemberId)); firstCode(answer) != errorcode.None {
			t.Errorf("v%d: leave: %+v", version, answer)
		}
	}
	if n := f.h.metrics.(*counted).rebalances.Load(); n != 10 {
		t.Errorf("%d rebalances counted, want 10", n)
	}
	for kind, n := range f.h.GroupCounts(t.Context()) {
		if kind != (GroupKind{"classic", "Empty"}) || n != 10 {
			t.Errorf("%d groups of %+v", n, kind)
		}
	}
}

// Who waits for other members is parked, is answered when the client or the
// bridge goes, and stays a member.
func TestAJoinThatWaitsIsParked(t *testing.T) {
	t.Parallel()
	for why, cause := range map[string]error{"the client goes": parking.ErrClientGone, "the bridge ends": parking.ErrShutdown} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			f := newData(t, nil)
			f.openGroups()
			leader := f.join(t.Context(), 3, joinRequest("g", "", "consumer"))
			answer, _ := f.call(t.Context(), generated.KeySyncGroup, 3, syncRequest("g", leader.MemberId, leader.GenerationId))
			if firstCode(answer) != errorcode.None {
				t.Fatalf("sync: %+v", answer)
			}
			parked := make(chan struct{}, 1)
			lot := parking.NewLot(func(delta int) {
				if delta > 0 {
					parked <- struct{}{}
				}
			})
			second := make(chan *generated.JoinGroupResponse, 1)
			go func() { second <- f.join(parking.NewContext(t.Context(), lot), 3, joinRequest("g", "", "consumer")) }()
			<-parked
			lot.Evict(cause)
			if got := <-second; got.ErrorCode != errorcode.CoordinatorNotAvailable {
				t.Errorf("the answer: %+v, want 15", got)
			}
			described, _ := f.call(t.Context(), generated.KeyDescribeGroups, 5, &generated.DescribeGroupsRequest{Groups: []string{"g"}})
			row := described.(*generated.DescribeGroupsResponse).Groups[0]
			if row.GroupState != "PreparingRebalance" || len(row.Members) != 2 {
				t.Errorf("the group: %+v", row)
			}
		})
	}
}

func TestSeveralGroupsInOneRequest(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.openGroups()
	f.topic("t", 1)
	var names []string
	for i := range 40 {
		name := fmt.Sprintf("g%02d", i)
		names = append(names, name)
		f.mustCommit(name, "t", map[int32]int64{0: int64(i)})
	}
	described, _ := f.call(t.Context(), generated.KeyDescribeGroups, 6, &generated.DescribeGroupsRequest{Groups: append(slices.Clone(names), "nosuch"), IncludeAuthorizedOperations: true})
	for i, row := range described.(*generated.DescribeGroupsResponse).Groups {
		switch {
		case i == len(names):
			if row.ErrorCode != errorcode.GroupIDNotFound || row.AuthorizedOperations != -1<<31 {
				t.Errorf("no such group: %+v", row)
			}
		case row.GroupId != names[i] || row.ErrorCode != errorcode.None || row.AuthorizedOperations != 3400:
			t.Errorf("group %d: %+v", i, row)
		}
	}
	consumers, _ := f.call(t.Context(), generated.KeyConsumerGroupDescribe, 1, &generated.ConsumerGroupDescribeRequest{GroupIds: []string{"g00", "", "nosuch"}})
	for i, code := range []int16{errorcode.GroupIDNotFound, errorcode.InvalidGroupID, errorcode.GroupIDNotFound} {
		if row := consumers.(*generated.ConsumerGroupDescribeResponse).Groups[i]; row.ErrorCode != code {
			t.Errorf("consumer group %d: %+v, want %d", i, row, code)
		}
	}
	if listed := f.listed(); !slices.Equal(listed, names) {
		t.Errorf("listed: %v", listed)
	}
	deleted, _ := f.call(t.Context(), generated.KeyDeleteGroups, 2, &generated.DeleteGroupsRequest{GroupsNames: []string{"g00", "nosuch", "g00", "g01"}})
	var rows []string
	for _, row := range deleted.(*generated.DeleteGroupsResponse).Results {
		rows = append(rows, fmt.Sprint(row.GroupId, " ", row.ErrorCode))
	}
	if got := strings.Join(rows, ", "); got != "g00 0, nosuch 69, g01 0" {
		t.Errorf("deleted: %s", got)
	}
	if listed := f.listed(); !slices.Equal(listed, names[2:]) {
		t.Errorf("listed afterwards: %v", listed)
	}
}

func TestAConsumerGroupIsServed(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.openGroups()
	f.topic("t", 3)
	for version := int16(0); version <= 1; version++ {
		group := fmt.Sprintf("modern-%d", version)
		join := consumerHeartbeat(group, map[bool]string{true: "m"}[version > 0], 0)
		join.SubscribedTopicNames = []string{"t"}
		answer, _ := f.call(t.Context(), generated.KeyConsumerGroupHeartbeat, version, join)
		got := answer.(*generated.ConsumerGroupHeartbeatResponse)
		if got.ErrorCode != errorcode.None || got.MemberEpoch <= 0 {
			t.Fatalf("v%d: %+v", version, got)
		}
		described, _ := f.call(t.Context(), generated.KeyConsumerGroupDescribe, version, &generated.ConsumerGroupDescribeRequest{GroupIds: []string{group}, IncludeAuthorizedOperations: true})
		row := described.(*generated.ConsumerGroupDescribeResponse).Groups[0]
		if row.ErrorCode != errorcode.None || len(row.Members) != 1 || row.AuthorizedOperations != 3400 {
			t.Errorf("v%d: %+v", version, row)
		}
		leave := consumerHeartbeat(group, got.MemberId.S, -1)
		answer, _ = f.call(t.Context(), generated.KeyConsumerGroupHeartbeat, version, leave)
		if code := firstCode(answer); code != errorcode.None {
			t.Errorf("v%d: leaving: %d", version, code)
		}
	}
}

// Another coordinator over the same Iggy has all that the first one acknowledged.
func TestGroupsSurviveTheBridge(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.openGroups()
	f.topic("t", 1)
	f.mustCommit("g", "t", map[int32]int64{0: 42})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := f.h.groups.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if answer, _ := f.call(ctx, generated.KeyOffsetFetch, 7, offsetFetchRequest(7, "g", "t", wire.UUID{}, 0)); firstCode(answer) != errorcode.NotCoordinator {
		t.Errorf("closed: %+v, want 16", answer)
	}
	user, password := f.engine.Credentials()
	other := &dataFixture{adminFixture: newAdminAt(t, bridge.Config{Address: f.engine.Addr().String(), Username: user, Password: password}, nil)}
	other.await(func() bool {
		answer, _ := other.call(ctx, generated.KeyListGroups, 5, &generated.ListGroupsRequest{})
		return firstCode(answer) == errorcode.None
	})
	answer, _ := other.call(ctx, generated.KeyOffsetFetch, 7, offsetFetchRequest(7, "g", "t", wire.UUID{}, 0))
	if rows := answer.(*generated.OffsetFetchResponse).Topics; len(rows) != 1 || rows[0].Partitions[0].CommittedOffset != 42 {
		t.Errorf("fetched: %+v", answer)
	}
}
