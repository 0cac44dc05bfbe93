package conformance

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	ierror "github.com/apache/iggy/foreign/go/errors"

	"kafka-iggy-bridge/internal/engine/access"
	"kafka-iggy-bridge/internal/engine/protocol"
	"kafka-iggy-bridge/internal/engine/rawclient"
)

const password = "secret"

// newUser is a CreateUser payload of an active user.
func newUser(name string, p *access.Permissions) []byte {
	b := append(append(rawclient.Name(name), rawclient.Name(password)...), 1)
	if p == nil {
		return append(b, 0)
	}
	return access.AppendOptional(b, p)
}

// addUser creates a user, who is deleted when the test ends.
func (s *server) addUser(t *testing.T, name string, p *access.Permissions) {
	t.Helper()
	if status, _ := s.rawRoot(t).Do(uint32(protocol.CreateUser), newUser(name, p)); status != 0 {
		t.Fatalf("create user %s: status %d", name, status)
	}
	s.removeUserLater(t, name)
}

func (s *server) removeUserLater(t *testing.T, name string) {
	t.Helper()
	t.Cleanup(func() { s.rawRoot(t).Do(uint32(protocol.DeleteUser), rawclient.NameID(name)) }) // it may be gone
}

// guarded is a command and a grant that is enough for it.
type guarded struct {
	name    string
	code    protocol.Code
	payload []byte
	grant   uint16
}

// guardedCommands are all commands that need a grant, in an order in which each finds
// what it needs; the last ones end what the others use.
func guardedCommands(p *place, other, made string) []guarded {
	with := func(b []byte, more ...[]byte) []byte { return slices.Concat(append([][]byte{b}, more...)...) }
	topic, made2 := p.rawTopic, rawclient.NameID(made)
	group := with(topic, rawclient.NameID("g"))
	single := with([]byte{1}, rawclient.NumberID(9), topic, []byte{1, 0, 0, 0, 0})
	settings := topicSettings(1, protocol.Never, protocol.Never)
	return []guarded{
		{"stats", protocol.GetStats, nil, access.ReadServers},
		{"client", protocol.GetClient, []byte{1, 0, 0, 0}, access.ManageServers},
		{"clients", protocol.GetClients, nil, access.ReadServers},
		{"other user", protocol.GetUser, rawclient.NumberID(0), access.ReadUsers},
		{"users", protocol.GetUsers, nil, access.ManageUsers},
		{"create user", protocol.CreateUser, newUser(made, nil), access.ManageUsers},
		{"update user", protocol.UpdateUser, with(made2, []byte{0, 1, 2}), access.ManageUsers},
		{"update permissions", protocol.UpdatePermissions, with(made2, []byte{0}), access.ManageUsers},
		{"other's password", protocol.ChangePassword, with(made2, rawclient.Name(password), rawclient.Name("secret2")), access.ManageUsers},
		{"delete user", protocol.DeleteUser, made2, access.ManageUsers},
		{"stream", protocol.GetStream, p.rawS, access.ReadStreams},
		{"streams", protocol.GetStreams, nil, access.ManageStreams},
		{"create stream", protocol.CreateStream, rawclient.Name(other), access.ManageStreams},
		{"update stream", protocol.UpdateStream, with(p.rawS, rawclient.Name(p.name)), access.ManageStreams},
		{"purge stream", protocol.PurgeStream, p.rawS, access.ManageStreams},
		{"topic", protocol.GetTopic, topic, access.ReadTopics},
		{"topics", protocol.GetTopics, p.rawS, access.ReadStreams},
		{"create topic", protocol.CreateTopic, topicRequest(p.rawS, "other", 1, 1, 0, 0), access.ManageTopics},
		{"update topic", protocol.UpdateTopic, with(topic, settings, rawclient.Name("t")), access.ManageTopics},
		{"purge topic", protocol.PurgeTopic, topic, access.ManageStreams},
		{"create partitions", protocol.CreatePartitions, with(topic, []byte{1, 0, 0, 0}), access.ManageTopics},
		{"delete partitions", protocol.DeletePartitions, with(topic, []byte{1, 0, 0, 0}), access.ManageTopics},
		{"delete segments", protocol.DeleteSegments, with(topic, []byte{0, 0, 0, 0, 1, 0, 0, 0}), access.ManageTopics},
		{"create group", protocol.CreateConsumerGroup, with(topic, rawclient.Name("g")), access.ReadTopics},
		{"group", protocol.GetConsumerGroup, group, access.ReadTopics},
		{"groups", protocol.GetConsumerGroups, topic, access.ReadStreams},
		{"join", protocol.JoinConsumerGroup, group, access.ReadTopics},
		{"leave", protocol.LeaveConsumerGroup, group, access.ReadTopics},
		{"delete group", protocol.DeleteConsumerGroup, group, access.ReadTopics},
		{"send", protocol.SendMessages, rawclient.Send(topic, rawclient.ToPartition(0), "x"), access.SendMessages},
		{"flush", protocol.FlushUnsavedBuffer, with(topic, []byte{0, 0, 0, 0, 1}), access.SendMessages},
		{"poll", protocol.PollMessages, rawclient.Poll(topic, 0, 0, 1), access.PollMessages},
		{"store offset", protocol.StoreConsumerOffset, with(single, make([]byte, 8)), access.PollMessages},
		{"get offset", protocol.GetConsumerOffset, single, access.PollMessages},
		{"delete offset", protocol.DeleteConsumerOffset, single, access.PollMessages},
		{"delete topic", protocol.DeleteTopic, topic, access.ManageTopics},
		{"delete stream", protocol.DeleteStream, p.rawS, access.ManageStreams},
	}
}

// TestPermissionsAreEnforced sends each command as a user with exactly one grant that
// is enough for it, and as one without any. Which grants are enough is the table test
// of package access.
func TestPermissionsAreEnforced(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		p := s.newPlace(t, s.sdkRoot(t), 1)
		other, made, nobodyName := newName("other"), newName("made"), newName("nobody")
		t.Cleanup(func() { s.rawRoot(t).Do(uint32(protocol.DeleteStream), rawclient.NameID(other)) })
		s.removeUserLater(t, made)
		s.addUser(t, nobodyName, nil)
		nobody := s.rawAs(t, nobodyName, password)
		granted := make(map[uint16]*rawclient.Conn)
		for _, tt := range guardedCommands(p, other, made) {
			if status, _ := nobody.Do(uint32(tt.code), tt.payload); status != uint32(protocol.ErrUnauthorized) {
				t.Errorf("%s without a grant: status %d", tt.name, status)
			}
			c := granted[tt.grant]
			if c == nil {
				name := newName(fmt.Sprint("user-", tt.grant))
				s.addUser(t, name, &access.Permissions{Global: tt.grant})
				c = s.rawAs(t, name, password)
				granted[tt.grant] = c
			}
			if status, _ := c.Do(uint32(tt.code), tt.payload); status != 0 {
				t.Errorf("%s with its grant: status %d", tt.name, status)
			}
		}
		me := rawclient.NameID(nobodyName)
		for name, do := range map[string][]byte{"cluster metadata": rawclient.Frame(12, nil), "me": rawclient.Frame(20, nil), "own tokens": rawclient.Frame(41, nil),
			"oneself": rawclient.Frame(31, me), "own password": rawclient.Frame(37, slices.Concat(me, rawclient.Name(password), rawclient.Name(password)))} {
			nobody.Write(do)
			if status, _ := nobody.Read(); status != 0 {
				t.Errorf("%s as anybody: status %d", name, status)
			}
		}
	})
}

// TestExistenceIsCheckedBeforePermission tells somebody without rights what is not
// there from what is.
func TestExistenceIsCheckedBeforePermission(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		p := s.newPlace(t, s.sdkRoot(t), 1)
		name := newName("nobody")
		s.addUser(t, name, nil)
		c := s.rawAs(t, name, password)
		missing := append(slices.Clone(p.rawS), rawclient.NameID("no")...)
		if status, body := c.Do(uint32(protocol.GetStream), rawclient.NameID("there is none")); status != 0 || len(body) != 0 {
			t.Errorf("missing stream: status %d, %d bytes", status, len(body))
		}
		if status, _ := c.Do(uint32(protocol.GetStream), p.rawS); status != uint32(protocol.ErrUnauthorized) {
			t.Errorf("stream: status %d", status)
		}
		if status, body := c.Do(uint32(protocol.GetTopic), missing); status != 0 || len(body) != 0 {
			t.Errorf("missing topic: status %d, %d bytes", status, len(body))
		}
		if status, _ := c.Do(uint32(protocol.GetTopic), p.rawTopic); status != uint32(protocol.ErrUnauthorized) {
			t.Errorf("topic: status %d", status)
		}
	})
}

func TestDeletedUserIsOut(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		name := newName("victim")
		s.addUser(t, name, access.All())
		c := s.rawAs(t, name, password)
		if status, _ := s.rawRoot(t).Do(uint32(protocol.DeleteUser), rawclient.NameID(name)); status != 0 {
			t.Fatal(status)
		}
		if !s.differs(t, deletedUser) {
			if status, _ := c.Do(uint32(protocol.GetStreams), nil); status != uint32(protocol.ErrUnauthenticated) {
				t.Errorf("a deleted user's request: status %d", status)
			}
		}
		if status, _ := c.Do(uint32(protocol.GetMe), nil); status != uint32(protocol.ErrClientNotFound) {
			t.Errorf("a deleted user's GetMe: status %d", status)
		}
		if !c.Closed() {
			t.Error("the connection is open after status 100")
		}
	})
}

func TestGrantsEndWithWhatTheyAreFor(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		cli := s.sdkRoot(t)
		p := s.newPlace(t, cli, 1)
		name := newName("reader")
		s.addUser(t, name, &access.Permissions{Streams: map[uint32]access.Stream{p.streamNumber: {Topics: map[uint32]uint16{0: access.TopicRead}}}})
		c := s.rawAs(t, name, password)
		if status, _ := c.Do(uint32(protocol.GetTopic), p.rawTopic); status != 0 {
			t.Errorf("the granted topic: status %d", status)
		}
		if err := cli.DeleteTopic(p.stream, p.topic); err != nil {
			t.Fatal(err)
		}
		if created, err := cli.CreateTopic(p.stream, "t", 1, iggcon.CompressionAlgorithmNone, 0, 0, nil); err != nil || created.Id != 0 {
			t.Fatalf("a new topic: %+v, %v", created, err)
		}
		want := uint32(protocol.ErrUnauthorized)
		if s.differs(t, inheritedGrants) {
			want = 0
		}
		if status, _ := c.Do(uint32(protocol.GetTopic), p.rawTopic); status != want {
			t.Errorf("a new topic in the old one's place: status %d, want %d", status, want)
		}
	})
}

func TestTokensLogIn(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		name := newName("owner")
		s.addUser(t, name, nil)
		c := s.rawAs(t, name, password)
		create := func(token string, expiry uint64) (uint32, []byte) {
			return c.Do(uint32(protocol.CreateToken), binary.LittleEndian.AppendUint64(rawclient.Name(token), expiry))
		}
		status, token := create("forever", 0)
		if status != 0 || len(token) != 69 || token[0] != 68 {
			t.Fatalf("create: status %d, %d bytes", status, len(token))
		}
		for _, tt := range []struct {
			name, token string
			want        protocol.Status
		}{
			{"a taken name", "forever", protocol.ErrTokenExists},
			{"a name too short", "no", protocol.ErrInvalidTokenName},
			{"a name too long", "0123456789012345678901234567890", protocol.ErrInvalidTokenName},
		} {
			if status, _ := create(tt.token, 0); status != uint32(tt.want) {
				t.Errorf("%s: status %d, want %d", tt.name, status, tt.want)
			}
		}
		if status, list := c.Do(uint32(protocol.GetTokens), nil); status != 0 || !slices.Equal(list, append(rawclient.Name("forever"), make([]byte, 8)...)) {
			t.Errorf("list: %d, %x", status, list)
		}
		other := s.raw(t)
		if status, _ := other.Do(uint32(protocol.LoginWithToken), token); status != 0 {
			t.Errorf("login: status %d", status)
		}
		if status, _ := other.Do(uint32(protocol.DeleteToken), rawclient.Name("forever")); status != 0 {
			t.Errorf("delete: status %d", status)
		}
		if status, _ := s.raw(t).Do(uint32(protocol.LoginWithToken), token); status != uint32(protocol.ErrResourceNotFound) {
			t.Errorf("login with a deleted token: status %d", status)
		}
	})
}

func TestLoginRules(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		cli := s.sdkRoot(t)
		alice := newName("alice")
		if _, err := cli.CreateUser(alice, password, iggcon.Active, nil); err != nil {
			t.Fatal(err)
		}
		s.removeUserLater(t, alice)
		other := s.sdk(t)
		if _, err := other.LoginUser(alice, "wrong"); !errors.Is(err, ierror.ErrInvalidCredentials) {
			t.Errorf("wrong password: %v", err)
		}
		if id, err := other.LoginUser(alice, password); err != nil || id.UserId == 0 {
			t.Errorf("right password: %+v, %v", id, err)
		}
		if err := cli.ChangePassword(named(t, alice), password, "changed"); err != nil {
			t.Fatal(err)
		}
		if _, err := other.LoginUser(alice, password); !errors.Is(err, ierror.ErrInvalidCredentials) {
			t.Errorf("old password: %v", err)
		}
		inactive := iggcon.Inactive
		if err := cli.UpdateUser(named(t, alice), nil, &inactive); err != nil {
			t.Fatal(err)
		}
		if _, err := other.LoginUser(alice, "changed"); !errors.Is(err, ierror.ErrUserInactive) {
			t.Errorf("inactive: %v", err)
		}
		root := s.rawRoot(t)
		if status, _ := root.Do(uint32(protocol.DeleteUser), rawclient.NumberID(0)); status != uint32(protocol.ErrCannotDeleteUser) {
			t.Errorf("deletion of root: status %d", status)
		}
		if status, _ := root.Do(uint32(protocol.UpdatePermissions), append(rawclient.NumberID(0), 0)); status != uint32(protocol.ErrCannotChangePerms) {
			t.Errorf("root's permissions: status %d", status)
		}
		for name, want := range map[string]protocol.Status{"ab": protocol.ErrInvalidUsername, alice: protocol.ErrUserExists} {
			if status, _ := root.Do(uint32(protocol.CreateUser), newUser(name, nil)); status != uint32(want) {
				t.Errorf("user %q: status %d, want %d", name, status, want)
			}
		}
	})
}
