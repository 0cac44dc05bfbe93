package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kafka-iggy-bridge/internal/engine/access"
	"kafka-iggy-bridge/internal/engine/protocol"
	"kafka-iggy-bridge/internal/engine/rawclient"
)

// The grants by name, in the order of their bits: on everything, on one stream (s), and
// on one topic (t).
var (
	globalGrants = strings.Fields("manage_servers read_servers manage_users read_users manage_streams read_streams manage_topics read_topics poll_messages send_messages")
	streamGrants = strings.Fields("s.manage_stream s.read_stream s.manage_topics s.read_topics s.poll_messages s.send_messages")
	topicGrants  = strings.Fields("t.manage_topic t.read_topic t.poll_messages t.send_messages")
)

// Which grants are enough, each alone, as server 0.8.0 has it.
const (
	forServers      = "manage_servers read_servers"
	forUsers        = "manage_users read_users"
	forChangedUsers = "manage_users"
	forStream       = "manage_streams read_streams s.manage_stream s.read_stream"
	forStreams      = "manage_streams read_streams"
	forNewStream    = "manage_streams"
	forThatStream   = "manage_streams s.manage_stream"
	forTopics       = "manage_streams read_streams manage_topics read_topics s.manage_stream s.read_stream s.manage_topics s.read_topics"
	forTopic        = forTopics + " t.manage_topic t.read_topic"
	forNewTopic     = "manage_streams manage_topics s.manage_stream s.manage_topics"
	forThatTopic    = forNewTopic + " t.manage_topic"
	forReading      = forTopic + " poll_messages s.poll_messages t.poll_messages"
	forWriting      = forThatTopic + " send_messages s.send_messages t.send_messages"
)

// enough says which of these a command needs.
var enough = map[protocol.Code]string{
	protocol.GetStats: forServers, protocol.GetClient: forServers, protocol.GetClients: forServers,
	protocol.GetUser: forUsers, protocol.GetUsers: forUsers,
	protocol.CreateUser: forChangedUsers, protocol.UpdateUser: forChangedUsers, protocol.UpdatePermissions: forChangedUsers,
	protocol.ChangePassword: forChangedUsers, protocol.DeleteUser: forChangedUsers,
	protocol.GetStream: forStream, protocol.GetStreams: forStreams, protocol.CreateStream: forNewStream,
	protocol.UpdateStream: forThatStream, protocol.PurgeStream: forThatStream, protocol.DeleteStream: forThatStream,
	protocol.GetTopic: forTopic, protocol.GetTopics: forTopics, protocol.CreateTopic: forNewTopic,
	protocol.UpdateTopic: forThatTopic, protocol.PurgeTopic: forThatTopic, protocol.DeleteTopic: forThatTopic,
	protocol.CreatePartitions: forThatTopic, protocol.DeletePartitions: forThatTopic, protocol.DeleteSegments: forThatTopic,
	protocol.CreateConsumerGroup: forTopic, protocol.GetConsumerGroup: forTopic, protocol.GetConsumerGroups: forTopic,
	protocol.JoinConsumerGroup: forTopic, protocol.LeaveConsumerGroup: forTopic, protocol.DeleteConsumerGroup: forTopic,
	protocol.SendMessages: forWriting, protocol.FlushUnsavedBuffer: forWriting,
	protocol.PollMessages: forReading, protocol.StoreConsumerOffset: forReading,
	protocol.GetConsumerOffset: forReading, protocol.DeleteConsumerOffset: forReading,
}

// TestEveryCommandWithEveryGrant sends each command as twenty users, each of whom has
// exactly one grant, and as one who has none.
func TestEveryCommandWithEveryGrant(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		stage := newStage(t, s)
		holders := stage.holders(t)
		commands := guardedCommands(stage.p, stage.other, stage.made)
		if len(commands) != len(enough) {
			t.Fatalf("%d commands, %d rules", len(commands), len(enough))
		}
		for _, command := range commands {
			rule, ok := enough[command.code]
			if !ok {
				t.Errorf("%s has no rule", command.name)
			}
			for _, h := range holders {
				stage.set(command.code)
				status, _ := h.conn.Do(uint32(command.code), command.payload)
				allowed := slices.Contains(strings.Fields(rule), h.grant)
				if (status == uint32(protocol.ErrUnauthorized)) == allowed {
					t.Errorf("%s with %q: status %d, allowed %v", command.name, h.grant, status, allowed)
				}
				if status == 0 && (command.code == protocol.DeleteTopic || command.code == protocol.DeleteStream) {
					stage.restore(holders)
				}
			}
		}
	})
}

// stage is what the commands act on, put right before each.
type stage struct {
	p           *place
	other, made string // a stream and a user that commands create
	root        *rawclient.Conn
	server      *server
}

func newStage(t *testing.T, s *server) *stage {
	t.Helper()
	st := &stage{p: s.newPlace(t, s.sdkRoot(t), 1), other: newName("other"), made: newName("made"), root: s.rawRoot(t), server: s}
	s.removeUserLater(t, st.made)
	t.Cleanup(func() { s.rawRoot(t).Do(uint32(protocol.DeleteStream), rawclient.NameID(st.other)) })
	return st
}

// set makes sure that a command finds what it needs and not what it would create.
func (st *stage) set(code protocol.Code) {
	do := func(code protocol.Code, payload []byte) { st.root.Do(uint32(code), payload) } // most is right already
	group := append(slices.Clone(st.p.rawTopic), rawclient.NameID("g")...)
	switch code {
	case protocol.CreateUser:
		do(protocol.DeleteUser, rawclient.NameID(st.made))
	case protocol.UpdateUser, protocol.UpdatePermissions, protocol.DeleteUser, protocol.ChangePassword:
		do(protocol.CreateUser, newUser(st.made, nil))
	case protocol.CreateStream:
		do(protocol.DeleteStream, rawclient.NameID(st.other))
	case protocol.CreateTopic:
		do(protocol.DeleteTopic, append(slices.Clone(st.p.rawS), rawclient.NameID("other")...))
	case protocol.CreateConsumerGroup:
		do(protocol.DeleteConsumerGroup, group)
	case protocol.GetConsumerGroup, protocol.JoinConsumerGroup, protocol.LeaveConsumerGroup, protocol.DeleteConsumerGroup:
		do(protocol.CreateConsumerGroup, append(slices.Clone(st.p.rawTopic), rawclient.Name("g")...))
	}
}

// restore creates what was deleted again; it gets its old numbers. The grants on it have
// to be given anew.
func (st *stage) restore(holders []holder) {
	st.root.Do(uint32(protocol.CreateStream), rawclient.Name(st.p.name)) // may be there
	st.root.Do(uint32(protocol.CreateTopic), topicRequest(st.p.rawS, "t", 1, 1, 0, 0))
	for _, h := range holders {
		if h.permissions != nil {
			st.root.Do(uint32(protocol.UpdatePermissions), access.AppendOptional(rawclient.NameID(h.name), h.permissions))
		}
	}
}

// holder is a user with one grant.
type holder struct {
	name, grant string
	permissions *access.Permissions
	conn        *rawclient.Conn
}

// holders are users for all grants, and one for none.
func (st *stage) holders(t *testing.T) []holder {
	t.Helper()
	var all []holder
	add := func(grant string, p *access.Permissions) {
		name := newName(fmt.Sprint("grant-", len(all)))
		st.server.addUser(t, name, p)
		all = append(all, holder{name, grant, p, st.server.rawAs(t, name, password)})
	}
	add("none", nil)
	for i, grant := range globalGrants {
		add(grant, &access.Permissions{Global: 1 << i})
	}
	for i, grant := range streamGrants {
		add(grant, &access.Permissions{Streams: map[uint32]access.Stream{st.p.streamNumber: {Grants: 1 << i}}})
	}
	for i, grant := range topicGrants {
		add(grant, &access.Permissions{Streams: map[uint32]access.Stream{st.p.streamNumber: {Topics: map[uint32]uint16{0: 1 << i}}}})
	}
	return all
}
