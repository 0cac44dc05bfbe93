package jsonform_test

import (
	"strings"
	"testing"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/jsonform"
	"kafka-iggy-bridge/internal/wire"
)

func TestUnmarshalRefuses(t *testing.T) {
	t.Parallel()
	const topics = `{"topics": [%], "allowAutoTopicCreation": true, "includeTopicAuthorizedOperations": false}`
	for _, c := range []struct {
		why, json, err string
		version        int16
	}{
		{"a version that does not exist", `{}`, "no such version", 99},
		{"no JSON", `{`, "unexpected EOF", 12},
		{"two values", `{} {}`, "more than one JSON value", 12},
		{"no object", `[]`, "got an array, want an object", 12},
		{"an unknown key", strings.Replace(topics, "%", `{"topicId": "AAAAAAAAAAAAAAAAAAAAAA", "name": "a", "nmae": 1}`, 1), `Topics: [0]: unknown key "nmae"`, 12},
		{"a field that is missing", strings.Replace(topics, "%", `{"name": "a"}`, 1), "Topics: [0]: TopicId: missing", 12},
		{"a number for a boolean", `{"topics": null, "allowAutoTopicCreation": 1, "includeTopicAuthorizedOperations": false}`, "AllowAutoTopicCreation: got a number, want true or false", 12},
		{"a string for an array", `{"topics": "a", "allowAutoTopicCreation": true, "includeTopicAuthorizedOperations": false}`, "Topics: got a string, want an array", 12},
		{"null for an element", strings.Replace(topics, "%", "null", 1), "Topics: [0]: null, but not nullable", 12},
		{"null where the version has none", `{"topics": null}`, "Topics: null, but not nullable", 0},
		{"a uuid that is none", strings.Replace(topics, "%", `{"topicId": "AA", "name": "a"}`, 1), "want 22 characters", 12},
		{"a number for a string", strings.Replace(topics, "%", `{"topicId": "AAAAAAAAAAAAAAAAAAAAAA", "name": 1}`, 1), "Name: got a number, want a string", 12},
	} {
		m := generated.DefaultMetadataRequest()
		if err := jsonform.Unmarshal([]byte(c.json), &m, c.version); err == nil || !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: got %v, want an error with %q", c.why, err, c.err)
		}
	}
	for _, c := range []struct{ why, json, err string }{
		{"a number outside its type", `{"producerId": 9223372036854775808, "firstOffset": 0, "lastOffset": 0, "lastStableOffset": 0}`, "ProducerId: 9223372036854775808 is no int64"},
		{"a fraction", `{"producerId": 1.5, "firstOffset": 0, "lastOffset": 0, "lastStableOffset": 0}`, "ProducerId: 1.5 is no int64"},
	} {
		m := generated.DefaultAbortedTxn()
		if err := jsonform.Unmarshal([]byte(c.json), &m, 0); err == nil || !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: got %v, want an error with %q", c.why, err, c.err)
		}
	}
}

func TestNumbersKeepTheirDigits(t *testing.T) {
	t.Parallel()
	m := generated.AbortedTxn{ProducerId: 9007199254740993, FirstOffset: -9223372036854775808}
	text, err := jsonform.Marshal(&m, 0)
	if err != nil || string(text) != `{"producerId":9007199254740993,"firstOffset":-9223372036854775808,"lastOffset":0,"lastStableOffset":0}` {
		t.Errorf("%s (%v)", text, err)
	}
	back := generated.DefaultAbortedTxn()
	if err := jsonform.Unmarshal(text, &back, 0); err != nil || back != m {
		t.Errorf("%+v (%v), want %+v", back, err, m)
	}
}

func TestTagsByPointer(t *testing.T) {
	t.Parallel()
	m := generated.DefaultMetadataRequest()
	m.Topics = []generated.MetadataRequestTopic{{Name: wire.String("a")}}
	want := map[string][]jsonform.Tag{"": {{Tag: 7, Hex: "01"}}, "/topics/0": {{Tag: 8, Hex: ""}, {Tag: 9, Hex: "ff"}}}
	if err := jsonform.SetTags(&m, want); err != nil {
		t.Fatal(err)
	}
	got := jsonform.Tags(&m)
	if len(got) != 2 || len(got[""]) != 1 || len(got["/topics/0"]) != 2 || got["/topics/0"][1].Hex != "ff" {
		t.Errorf("got %v, want %v", got, want)
	}
	for pointer, reason := range map[string]string{"/nothing": "has no struct", "/topics": "is an array", "/topics/1": "has no element"} {
		err := jsonform.SetTags(&m, map[string][]jsonform.Tag{pointer: {{Tag: 1}}})
		if err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: got %v, want an error with %q", pointer, err, reason)
		}
	}
}
