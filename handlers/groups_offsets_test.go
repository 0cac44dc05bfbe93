package handlers

import (
	"fmt"
	"strings"
	"testing"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/wire"
)

// commitText is an answer's rows: topic-partition and code.
func commitText(answer generated.Message, names map[wire.UUID]string) string {
	var rows []string
	for _, t := range answer.(*generated.OffsetCommitResponse).Topics {
		for _, p := range t.Partitions {
			rows = append(rows, fmt.Sprintf("%s%s-%d %d", t.Name, names[t.TopicId], p.PartitionIndex, p.ErrorCode))
		}
	}
	return strings.Join(rows, ", ")
}

func TestOffsetsAreCommittedAndFetchedInEveryVersion(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.openGroups()
	id := wire.UUID(f.topic("t", 2).ID)
	for version := int16(2); version <= 10; version++ {
		group := fmt.Sprintf("g%d", version)
		request := commitRequest(group, "t", wire.UUID{}, map[int32]int64{0: 10, 1: int64(version)})
		if version >= commitIDs {
			request = commitRequest(group, "", id, map[int32]int64{0: 10, 1: int64(version)})
		}
		answer, _ := f.call(t.Context(), generated.KeyOffsetCommit, version, request)
		if got := commitText(answer, map[wire.UUID]string{id: "t"}); got != "t-0 0, t-1 0" {
			t.Errorf("commit v%d: %s", version, got)
		}
		for fetch := int16(1); fetch <= 10; fetch++ {
			if got := f.fetchText(fetch, group, id); got != fmt.Sprintf("t-0 10, t-1 %d, t-7 -1", version) {
				t.Errorf("commit v%d, fetch v%d: %s", version, fetch, got)
			}
		}
	}
}

// fetchText asks for three partitions, of which one does not exist.
func (f *dataFixture) fetchText(version int16, group string, id wire.UUID) string {
	f.t.Helper()
	request := offsetFetchRequest(version, group, "t", wire.UUID{}, 0, 1, 7)
	if version >= fetchOffsetIDs {
		request = offsetFetchRequest(version, group, "", id, 0, 1, 7)
	}
	answer, _ := f.call(f.t.Context(), generated.KeyOffsetFetch, version, request)
	resp := answer.(*generated.OffsetFetchResponse)
	var rows []string
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			rows = append(rows, fmt.Sprintf("%s-%d %d", t.Name, p.PartitionIndex, p.CommittedOffset))
		}
	}
	for _, g := range resp.Groups {
		for _, t := range g.Topics {
			name := t.Name
			if t.TopicId == id && version >= fetchOffsetIDs {
				name = "t"
			}
			for _, p := range t.Partitions {
				rows = append(rows, fmt.Sprintf("%s-%d %d", name, p.PartitionIndex, p.CommittedOffset))
			}
		}
	}
	return strings.Join(rows, ", ")
}

func TestACommitForWhatDoesNotExist(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.openGroups()
	id := wire.UUID(f.topic("t", 1).ID)
	unknown := wire.UUID{1, 2, 3}
	names := map[wire.UUID]string{id: "t", unknown: "unknown", {}: ""}
	byName := commitRequest("g", "t", wire.UUID{}, map[int32]int64{0: 1, 1: 1})
	byName.Topics = append(byName.Topics, commitRequest("g", "nosuch", wire.UUID{}, map[int32]int64{0: 1}).Topics...)
	byID := commitRequest("g", "", id, map[int32]int64{0: 1, 1: 1})
	byID.Topics = append(byID.Topics, commitRequest("g", "", unknown, map[int32]int64{0: 1}).Topics...)
	nothing := commitRequest("g", "t", wire.UUID{}, nil)
	zero := commitRequest("g", "", wire.UUID{}, map[int32]int64{0: 1})
	for _, c := range []struct {
		why     string
		version int16
		request *generated.OffsetCommitRequest
		want    string
	}{
		{"by name: the others are committed, in rows behind", 9, byName, "t-1 3, t-0 0, nosuch-0 3"},
		{"by id", 10, byID, "t-1 3, t-0 0, unknown-0 100"},
		{"no id at all", 10, zero, "-0 100"},
		{"no partition", 9, nothing, ""},
	} {
		answer, _ := f.call(t.Context(), generated.KeyOffsetCommit, c.version, c.request)
		if got := commitText(answer, names); got != c.want {
			t.Errorf("%s: %s, want %s", c.why, got, c.want)
		}
	}
	if listed := f.listed(); len(listed) != 1 {
		t.Errorf("groups: %v", listed)
	}
}

func TestFetchingOffsetsByID(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.openGroups()
	id := wire.UUID(f.topic("t", 1).ID)
	f.topic("gone", 1)
	f.mustCommit("g", "t", map[int32]int64{0: 5})
	f.mustCommit("g", "gone", map[int32]int64{0: 6})
	f.drop("gone")
	request := offsetFetchRequest(10, "g", "", wire.UUID{9}, 0)
	request.Groups[0].Topics = append(request.Groups[0].Topics, offsetFetchRequest(10, "g", "", id, 0).Groups[0].Topics...)
	all := offsetFetchRequest(10, "g", "", id)
	all.Groups[0].Topics = nil
	request.Groups = append(request.Groups, all.Groups[0], offsetFetchRequest(10, "nosuch", "", id, 0).Groups[0])
	answer, _ := f.call(t.Context(), generated.KeyOffsetFetch, 10, request)
	groups := answer.(*generated.OffsetFetchResponse).Groups
	if len(groups) != 3 || groups[0].GroupId != "g" || groups[1].GroupId != "g" || groups[2].GroupId != "nosuch" {
		t.Fatalf("%+v", groups)
	}
	if got := groups[0].Topics; len(got) != 2 || got[0].TopicId != id || got[0].Partitions[0].CommittedOffset != 5 ||
		got[1].TopicId != (wire.UUID{9}) || got[1].Partitions[0].ErrorCode != errorcode.UnknownTopicID || got[1].Partitions[0].CommittedOffset != notKnown {
		t.Errorf("an unknown id comes last: %+v", got)
	}
	if got := groups[1].Topics; len(got) != 1 || got[0].TopicId != id || got[0].Partitions[0].CommittedOffset != 5 {
		t.Errorf("a deleted topic is left out of all: %+v", got)
	}
	if got := groups[2]; got.ErrorCode != errorcode.None || got.Topics[0].Partitions[0].CommittedOffset != notKnown {
		t.Errorf("no such group: %+v", got)
	}
}

func TestOffsetsAreDeleted(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.openGroups()
	f.topic("t", 2)
	f.mustCommit("g", "t", map[int32]int64{0: 5, 1: 6})
	request := &generated.OffsetDeleteRequest{GroupId: "g", Topics: []generated.OffsetDeleteRequestTopic{
		{Name: "t", Partitions: []generated.OffsetDeleteRequestPartition{{PartitionIndex: 0}, {PartitionIndex: 7}}},
		{Name: "nosuch", Partitions: []generated.OffsetDeleteRequestPartition{{PartitionIndex: 0}}},
		{Name: "t", Partitions: []generated.OffsetDeleteRequestPartition{{PartitionIndex: 1}}},
	}}
	answer, _ := f.call(t.Context(), generated.KeyOffsetDelete, 0, request)
	var rows []string
	for _, topic := range answer.(*generated.OffsetDeleteResponse).Topics {
		for _, p := range topic.Partitions {
			rows = append(rows, fmt.Sprintf("%s-%d %d", topic.Name, p.PartitionIndex, p.ErrorCode))
		}
	}
	if got := strings.Join(rows, ", "); got != "t-7 3, t-0 0, t-1 0, nosuch-0 3" {
		t.Errorf("deleted: %s", got)
	}
	if got := f.fetchText(7, "g", wire.UUID{}); got != "t-0 -1, t-1 -1, t-7 -1" {
		t.Errorf("left: %s", got)
	}
	f.mustCommit("g", "t", map[int32]int64{0: 5, 1: 6})
	request.Topics = request.Topics[:1]
	request.Topics[0].Partitions = request.Topics[0].Partitions[:1]
	answer, _ = f.call(t.Context(), generated.KeyOffsetDelete, 0, request)
	if got := answer.(*generated.OffsetDeleteResponse).Topics; len(got) != 1 || len(got[0].Partitions) != 1 || got[0].Partitions[0].ErrorCode != errorcode.None {
		t.Errorf("nothing refused: %+v", got)
	}
	if got := f.fetchText(7, "g", wire.UUID{}); got != "t-0 -1, t-1 6, t-7 -1" {
		t.Errorf("left: %s", got)
	}
	request.GroupId = "nosuch"
	answer, _ = f.call(t.Context(), generated.KeyOffsetDelete, 0, request)
	if got := answer.(*generated.OffsetDeleteResponse); got.ErrorCode != errorcode.GroupIDNotFound || len(got.Topics) != 0 {
		t.Errorf("no such group: %+v", got)
	}
}
