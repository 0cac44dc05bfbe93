package handlers

import (
	"slices"
	"sync"
	"testing"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/wire"
)

func named(name string) generated.DeleteTopicsRequestDeleteTopicState {
	return generated.DeleteTopicsRequestDeleteTopicState{Name: wire.String(name)}
}

// remove deletes topics; before version 6 by the names of the list.
func (f *adminFixture) remove(version int16, topics ...generated.DeleteTopicsRequestDeleteTopicState) []generated.DeleteTopicsResponseDeletableTopicResult {
	f.t.Helper()
	req := generated.DefaultDeleteTopicsRequest()
	req.TimeoutMs = 30_000
	if version >= 6 {
		req.Topics = topics
	} else {
		for _, t := range topics {
			req.TopicNames = append(req.TopicNames, t.Name.S)
		}
	}
	answer, err := f.ask(generated.KeyDeleteTopics, version, &req)
	if err != nil {
		f.t.Fatalf("DeleteTopics v%d: %v", version, err)
	}
	return answer.(*generated.DeleteTopicsResponse).Responses
}

func TestDeleteTopicsInEachVersion(t *testing.T) {
	t.Parallel()
	f := newAdmin(t, nil)
	for version := int16(1); version <= 6; version++ {
		id := f.mustCreate("doomed", 2)
		rows := f.remove(version, named("missing"), named("doomed"))
		if len(rows) != 2 || rows[0].ErrorCode != errorcode.UnknownTopicOrPartition || rows[1].ErrorCode != 0 || rows[1].ErrorMessage.Valid {
			t.Errorf("v%d: %+v", version, rows)
		}
		if version >= 5 && rows[0].ErrorMessage.S != messageUnknownName {
			t.Errorf("v%d: message %+v", version, rows[0].ErrorMessage)
		}
		if version >= 6 && rows[1].TopicId != id {
			t.Errorf("v%d: id %v, want %v", version, rows[1].TopicId, id)
		}
		if f.has("doomed") {
			t.Errorf("v%d: it is still there", version)
		}
	}
}

func TestDeleteTopicsById(t *testing.T) {
	t.Parallel()
	f := newAdmin(t, nil)
	old := f.mustCreate("reborn", 1)
	byID := generated.DeleteTopicsRequestDeleteTopicState{TopicId: old}
	if rows := f.remove(6, byID); rows[0].ErrorCode != 0 || rows[0].Name != wire.String("reborn") || rows[0].TopicId != old {
		t.Errorf("a known id: %+v", rows)
	}
	f.mustCreate("reborn", 1)
	if rows := f.remove(6, byID); rows[0].ErrorCode != errorcode.UnknownTopicID || rows[0].Name.Valid || rows[0].TopicId != old {
		t.Errorf("the id of the topic before: %+v", rows)
	}
	if !f.has("reborn") {
		t.Error("an old id deleted the new topic")
	}
}

func TestDeleteTopicsRefusals(t *testing.T) {
	t.Parallel()
	f := newAdmin(t, nil)
	id := f.mustCreate("kept", 1)
	byID := generated.DeleteTopicsRequestDeleteTopicState{TopicId: id}
	both := named("kept")
	both.TopicId = id
	cases := []struct {
		reason string
		topics []generated.DeleteTopicsRequestDeleteTopicState
		codes  []int16
	}{
		{"one name twice is one row", []generated.DeleteTopicsRequestDeleteTopicState{named("kept"), named("kept")}, []int16{42}},
		{"one id twice is one row", []generated.DeleteTopicsRequestDeleteTopicState{byID, byID, byID}, []int16{42}},
		{"a topic by its name and by its id is one row", []generated.DeleteTopicsRequestDeleteTopicState{named("kept"), byID}, []int16{42}},
		{"name and id in one entry", []generated.DeleteTopicsRequestDeleteTopicState{both}, []int16{42}},
		{"neither, each for itself", []generated.DeleteTopicsRequestDeleteTopicState{{}, {}}, []int16{42, 42}},
		{"an impossible name is an unknown one", []generated.DeleteTopicsRequestDeleteTopicState{named("a b"), named("")}, []int16{3, 3}},
		{"Kafka's own topics are not there", []generated.DeleteTopicsRequestDeleteTopicState{named("__consumer_offsets"), named("__cluster_metadata")}, []int16{3, 3}},
		{"nothing", nil, nil},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			rows := f.remove(6, c.topics...)
			var codes []int16
			for _, row := range rows {
				codes = append(codes, row.ErrorCode)
				if !row.ErrorMessage.Valid {
					t.Errorf("no reason in %+v", row)
				}
			}
			if len(codes) != len(c.codes) {
				t.Fatalf("codes %v, want %v", codes, c.codes)
			}
			for i := range codes {
				if codes[i] != c.codes[i] {
					t.Errorf("codes %v, want %v", codes, c.codes)
				}
			}
			if !f.has("kept") {
				t.Error("the topic is gone")
			}
		})
	}
}

func TestDeleteTopicsInTime(t *testing.T) {
	t.Parallel()
	f := newAdmin(t, nil)
	f.mustCreate("kept", 1)
	for _, timeout := range []int32{0, -1} {
		req := generated.DefaultDeleteTopicsRequest()
		req.Topics = []generated.DeleteTopicsRequestDeleteTopicState{named("kept")}
		req.TimeoutMs = timeout
		answer, err := f.ask(generated.KeyDeleteTopics, 6, &req)
		if err != nil {
			t.Fatal(err)
		}
		if row := answer.(*generated.DeleteTopicsResponse).Responses[0]; row.ErrorCode != errorcode.RequestTimedOut || !f.has("kept") {
			t.Errorf("timeout %d: %+v, kept %v", timeout, row, f.has("kept"))
		}
	}
}

// TestCreateAndDeleteOneTopicAtOnce: what makes and what deletes the topic of a
// name takes turns, also when requests, whose names are views of their frames,
// end while others wait for their turn.
func TestCreateAndDeleteOneTopicAtOnce(t *testing.T) {
	t.Parallel()
	f := newAdmin(t, nil)
	var clients sync.WaitGroup
	for i := range 40 {
		clients.Go(func() {
			for range 25 {
				code, allowed := int16(0), []int16{errorcode.None, errorcode.TopicAlreadyExists}
				if i%2 == 0 {
					code = f.create(7, false, creatable("contended", 1, -1))[0].ErrorCode
				} else {
					code, allowed = f.remove(int16(1+i%6), named("contended"))[0].ErrorCode, []int16{errorcode.None, errorcode.UnknownTopicOrPartition}
				}
				if !slices.Contains(allowed, code) {
					t.Errorf("client %d: code %d, want one of %v", i, code, allowed)
				}
			}
		})
	}
	clients.Wait()
}

func TestDeleteTopicsWithoutTime(t *testing.T) {
	t.Parallel()
	f := newAdmin(t, nil)
	f.mustCreate("kept", 1)
	for name, c := range map[string]struct {
		topics []generated.DeleteTopicsRequestDeleteTopicState
		want   []int16
	}{
		"what would have to be done is not":         {[]generated.DeleteTopicsRequestDeleteTopicState{named("kept")}, []int16{errorcode.RequestTimedOut}},
		"faults stand behind it, each row alone":    {[]generated.DeleteTopicsRequestDeleteTopicState{named("a"), named("kept"), named("a")}, []int16{errorcode.RequestTimedOut, errorcode.RequestTimedOut, errorcode.RequestTimedOut}},
		"where there are only faults nothing waits": {[]generated.DeleteTopicsRequestDeleteTopicState{named("a"), named("a")}, []int16{errorcode.InvalidRequest}},
	} {
		req := generated.DefaultDeleteTopicsRequest()
		req.Topics = c.topics
		req.TimeoutMs = 0
		answer, err := f.ask(generated.KeyDeleteTopics, 6, &req)
		if err != nil {
			t.Fatal(err)
		}
		var got []int16
		for _, row := range answer.(*generated.DeleteTopicsResponse).Responses {
			got = append(got, row.ErrorCode)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: codes %v, want %v", name, got, c.want)
		}
	}
	if !f.has("kept") {
		t.Error("a topic was deleted")
	}
}
