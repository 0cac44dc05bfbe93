package access

import (
	"slices"
	"testing"

	"kafka-iggy-bridge/internal/engine/protocol"
)

// TestRules checks every operation against every single grant. The table is the one
// of server 0.8.0, written by the grants' names.
func TestRules(t *testing.T) {
	t.Parallel()
	globals := []string{"manage_servers", "read_servers", "manage_users", "read_users", "manage_streams", "read_streams",
		"manage_topics", "read_topics", "poll_messages", "send_messages"}
	streams := []string{"manage_stream", "read_stream", "manage_topics", "read_topics", "poll_messages", "send_messages"}
	topics := []string{"manage_topic", "read_topic", "poll_messages", "send_messages"}
	readAll := []string{"manage_streams", "read_streams", "manage_topics", "read_topics"}
	readStream := []string{"manage_stream", "read_stream", "manage_topics", "read_topics"}
	tests := []struct {
		name                  string
		op                    Operation
		global, stream, topic []string
	}{
		{"stats and clients", ReadServer, []string{"manage_servers", "read_servers"}, nil, nil},
		{"users", SeeUsers, []string{"manage_users", "read_users"}, nil, nil},
		{"changing users", ChangeUsers, []string{"manage_users"}, nil, nil},
		{"a stream", SeeStream, []string{"manage_streams", "read_streams"}, []string{"manage_stream", "read_stream"}, nil},
		{"all streams", ListStreams, []string{"manage_streams", "read_streams"}, nil, nil},
		{"creating a stream", AddStream, []string{"manage_streams"}, nil, nil},
		{"changing a stream", ChangeStream, []string{"manage_streams"}, []string{"manage_stream"}, nil},
		{"a topic and its groups", SeeTopic, readAll, readStream, []string{"manage_topic", "read_topic"}},
		{"all topics", ListTopics, readAll, readStream, nil},
		{"creating a topic", AddTopic, []string{"manage_streams", "manage_topics"}, []string{"manage_stream", "manage_topics"}, nil},
		{"changing a topic", ChangeTopic, []string{"manage_streams", "manage_topics"}, []string{"manage_stream", "manage_topics"}, []string{"manage_topic"}},
		{"reading messages", ReadMessages, append([]string{"poll_messages"}, readAll...), append([]string{"poll_messages"}, readStream...), []string{"poll_messages", "read_topic", "manage_topic"}},
		{"writing messages", WriteMessages, []string{"send_messages", "manage_streams", "manage_topics"}, []string{"send_messages", "manage_stream", "manage_topics"}, []string{"send_messages", "manage_topic"}},
	}
	if len(tests) != int(operationsNumber) {
		t.Fatalf("%d operations are tested, there are %d", len(tests), operationsNumber)
	}
	for _, tt := range tests {
		for i, grant := range globals {
			p := &Permissions{Global: 1 << i}
			if got, want := p.AllowsTopic(tt.op, 3, 4), slices.Contains(tt.global, grant); got != want {
				t.Errorf("%s with %s: %v", tt.name, grant, got)
			}
			if p.Allows(tt.op) != p.AllowsTopic(tt.op, 3, 4) || p.AllowsStream(tt.op, 3) != p.Allows(tt.op) {
				t.Errorf("%s with %s: a global grant holds everywhere", tt.name, grant)
			}
		}
		for i, grant := range streams {
			p := &Permissions{Streams: map[uint32]Stream{3: {Grants: 1 << i}}}
			want := slices.Contains(tt.stream, grant)
			if p.AllowsTopic(tt.op, 3, 4) != want || p.AllowsStream(tt.op, 3) != want {
				t.Errorf("%s with %s on the stream: not %v", tt.name, grant, want)
			}
			if p.AllowsTopic(tt.op, 2, 4) || p.AllowsStream(tt.op, 2) || p.Allows(tt.op) {
				t.Errorf("%s with %s on another stream", tt.name, grant)
			}
		}
		for i, grant := range topics {
			p := &Permissions{Streams: map[uint32]Stream{3: {Topics: map[uint32]uint16{4: 1 << i}}}}
			if got, want := p.AllowsTopic(tt.op, 3, 4), slices.Contains(tt.topic, grant); got != want {
				t.Errorf("%s with %s on the topic: %v", tt.name, grant, got)
			}
			if p.AllowsTopic(tt.op, 3, 5) || p.AllowsTopic(tt.op, 4, 4) || p.AllowsStream(tt.op, 3) {
				t.Errorf("%s with %s on another topic", tt.name, grant)
			}
		}
		var none *Permissions
		if none.Allows(tt.op) || none.AllowsStream(tt.op, 0) || none.AllowsTopic(tt.op, 0, 0) {
			t.Errorf("%s without permissions", tt.name)
		}
		if !All().AllowsTopic(tt.op, 1, 1) {
			t.Errorf("%s as root", tt.name)
		}
	}
}

func TestWireForm(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		p    *Permissions
	}{
		{"none", nil},
		{"global only", &Permissions{Global: PollMessages | ReadServers}},
		{"one stream", &Permissions{Streams: map[uint32]Stream{7: {Grants: StreamRead}}}},
		{"streams and topics", &Permissions{Global: 1, Streams: map[uint32]Stream{
			1: {Grants: StreamSend, Topics: map[uint32]uint16{0: TopicPoll, 9: TopicManage | TopicSend}},
			5: {Topics: map[uint32]uint16{2: 0}},
		}}},
	}
	for _, tt := range tests {
		b := AppendOptional(nil, tt.p)
		r := protocol.NewReader(b)
		got := ReadOptional(&r)
		if r.Err() != nil {
			t.Errorf("%s: %v", tt.name, r.Err())
			continue
		}
		if again := AppendOptional(nil, got); string(again) != string(b) {
			t.Errorf("%s: %x came back as %x", tt.name, b, again)
		}
		for n := 1; n < len(b) && tt.p != nil; n++ {
			r := protocol.NewReader(b[:n])
			if ReadOptional(&r); r.Err() == nil {
				t.Errorf("%s: the first %d of %d bytes were accepted", tt.name, n, len(b))
			}
		}
	}
}

func TestRevokedWithWhatIsDeleted(t *testing.T) {
	t.Parallel()
	p := &Permissions{Global: 1, Streams: map[uint32]Stream{1: {Grants: 1, Topics: map[uint32]uint16{2: 1, 3: 1}}}}
	if next, changed := p.WithoutTopic(1, 2); !changed || next.AllowsTopic(ChangeTopic, 1, 2) != (p.Streams[1].Grants != 0) || len(next.Streams[1].Topics) != 1 {
		t.Errorf("without a topic: %+v, %v", next, changed)
	}
	if next, changed := p.WithoutStream(1); !changed || len(next.Streams) != 0 || next.Global != 1 {
		t.Errorf("without the stream: %+v, %v", next, changed)
	}
	if _, changed := p.WithoutTopic(1, 9); changed {
		t.Error("a topic without grants changed something")
	}
	if _, changed := p.WithoutStream(9); changed {
		t.Error("a stream without grants changed something")
	}
	if len(p.Streams[1].Topics) != 2 {
		t.Error("the original was changed")
	}
}

func FuzzPermissions(f *testing.F) {
	f.Add(AppendOptional(nil, All()))
	f.Add([]byte{1, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := protocol.NewReader(b)
		p := ReadOptional(&r)
		if r.Err() != nil {
			return
		}
		again := protocol.NewReader(AppendOptional(nil, p))
		if ReadOptional(&again); again.Err() != nil {
			t.Fatalf("what was read does not read back: %v", again.Err())
		}
	})
}
