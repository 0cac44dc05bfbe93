package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	ierror "github.com/apache/iggy/foreign/go/errors"

	"kafka-iggy-bridge/internal/engine/access"
	"kafka-iggy-bridge/internal/engine/protocol"
)

// newUser builds a CreateUser payload.
func newUser(name, password string, p *access.Permissions) []byte {
	b := append([]byte{byte(len(name))}, name...)
	b = append(append(b, byte(len(password))), password...)
	b = append(b, userActive)
	if p == nil {
		return append(b, 0)
	}
	return access.AppendOptional(b, p)
}

// TestPermissionsAreEnforced sends each command as a user with exactly one grant that
// the command needs, and as one without any.
func TestPermissionsAreEnforced(t *testing.T) {
	t.Parallel()
	e := startEngine(t, Options{})
	makeTopic(t, rootClient(t, e), 1)
	root := dialRaw(t, e)
	root.loginRoot(e)
	st := []byte{1, 4, 0, 0, 0, 0}
	topic := append(append([]byte(nil), st...), 1, 4, 0, 0, 0, 0)
	with := func(b []byte, more ...byte) []byte { return append(append([]byte(nil), b...), more...) }
	settings := append([]byte{1}, make([]byte, 17)...)
	tests := []struct {
		name    string
		code    protocol.Code
		payload []byte
		grant   uint16
	}{
		{"stats", protocol.GetStats, nil, access.ReadServers},
		{"client", protocol.GetClient, []byte{1, 0, 0, 0}, access.ManageServers},
		{"clients", protocol.GetClients, nil, access.ReadServers},
		{"other user", protocol.GetUser, []byte{1, 4, 0, 0, 0, 0}, access.ReadUsers},
		{"users", protocol.GetUsers, nil, access.ManageUsers},
		{"create user", protocol.CreateUser, newUser("made-by-grant", "secret", nil), access.ManageUsers},
		{"update user", protocol.UpdateUser, with([]byte{2, 13}, append([]byte("made-by-grant"), 0, 1, 2)...), access.ManageUsers},
		{"update permissions", protocol.UpdatePermissions, with([]byte{2, 13}, append([]byte("made-by-grant"), 0)...), access.ManageUsers},
		{"other's password", protocol.ChangePassword, with([]byte{2, 13}, append([]byte("made-by-grant"), "\x06secret\x07secret2"...)...), access.ManageUsers},
		{"delete user", protocol.DeleteUser, []byte("\x02\x0dmade-by-grant"), access.ManageUsers},
		{"stream", protocol.GetStream, st, access.ReadStreams},
		{"streams", protocol.GetStreams, nil, access.ManageStreams},
		{"create stream", protocol.CreateStream, []byte("\x05other"), access.ManageStreams},
		{"update stream", protocol.UpdateStream, with(st, []byte("\x01s")...), access.ManageStreams},
		{"purge stream", protocol.PurgeStream, st, access.ManageStreams},
		{"topic", protocol.GetTopic, topic, access.ReadTopics},
		{"topics", protocol.GetTopics, st, access.ReadStreams},
		{"create topic", protocol.CreateTopic, with(with(st, append([]byte{1, 0, 0, 0}, settings...)...), []byte("\x05other")...), access.ManageTopics},
		{"update topic", protocol.UpdateTopic, with(with(topic, settings...), []byte("\x01t")...), access.ManageTopics},
		{"purge topic", protocol.PurgeTopic, topic, access.ManageStreams},
		{"create partitions", protocol.CreatePartitions, with(topic, 1, 0, 0, 0), access.ManageTopics},
		{"delete partitions", protocol.DeletePartitions, with(topic, 1, 0, 0, 0), access.ManageTopics},
		{"delete segments", protocol.DeleteSegments, with(topic, 0, 0, 0, 0, 1, 0, 0, 0), access.ManageTopics},
		{"create group", protocol.CreateConsumerGroup, with(topic, []byte("\x01g")...), access.ReadTopics},
		{"group", protocol.GetConsumerGroup, with(topic, []byte("\x02\x01g")...), access.ReadTopics},
		{"groups", protocol.GetConsumerGroups, topic, access.ReadStreams},
		{"join", protocol.JoinConsumerGroup, with(topic, []byte("\x02\x01g")...), access.ReadTopics},
		{"leave", protocol.LeaveConsumerGroup, with(topic, []byte("\x02\x01g")...), access.ReadTopics},
		{"delete group", protocol.DeleteConsumerGroup, with(topic, []byte("\x02\x01g")...), access.ReadTopics},
		{"send", protocol.SendMessages, sendPayload(toPartition(0), "x"), access.SendMessages},
		{"flush", protocol.FlushUnsavedBuffer, with(topic, 0, 0, 0, 0, 1), access.SendMessages},
		{"poll", protocol.PollMessages, pollPayload(0, 1), access.PollMessages},
		{"store offset", protocol.StoreConsumerOffset, append(append([]byte{1, 1, 4, 9, 0, 0, 0}, topic...), 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), access.PollMessages},
		{"get offset", protocol.GetConsumerOffset, append(append([]byte{1, 1, 4, 9, 0, 0, 0}, topic...), 1, 0, 0, 0, 0), access.PollMessages},
		{"delete offset", protocol.DeleteConsumerOffset, append(append([]byte{1, 1, 4, 9, 0, 0, 0}, topic...), 1, 0, 0, 0, 0), access.PollMessages},
		{"delete topic", protocol.DeleteTopic, topic, access.ManageTopics},
		{"delete stream", protocol.DeleteStream, st, access.ManageStreams},
	}
	if status, _ := root.do(33, newUser("nobody", "secret", nil)); status != 0 {
		t.Fatal(status)
	}
	nobody := dialRaw(t, e)
	if status, _ := nobody.do(38, login("nobody", "secret")); status != 0 {
		t.Fatal(status)
	}
	granted := make(map[uint16]*rawConn)
	for _, tt := range tests {
		if status, _ := nobody.do(uint32(tt.code), tt.payload); status != uint32(protocol.ErrUnauthorized) {
			t.Errorf("%s without a grant: status %d", tt.name, status)
		}
		c := granted[tt.grant]
		if c == nil {
			name := fmt.Sprintf("user-%d", tt.grant)
			if status, _ := root.do(33, newUser(name, "secret", &access.Permissions{Global: tt.grant})); status != 0 {
				t.Fatal(status)
			}
			c = dialRaw(t, e)
			if status, _ := c.do(38, login(name, "secret")); status != 0 {
				t.Fatal(status)
			}
			granted[tt.grant] = c
		}
		if status, _ := c.do(uint32(tt.code), tt.payload); status != 0 {
			t.Errorf("%s with its grant: status %d", tt.name, status)
		}
	}
	// What every logged-in user may do.
	for name, do := range map[string][]byte{"cluster metadata": frame(12, nil), "me": frame(20, nil), "own tokens": frame(41, nil),
		"oneself": frame(31, []byte("\x02\x06nobody")), "own password": frame(37, []byte("\x02\x06nobody\x06secret\x06secret"))} {
		nobody.write(do)
		if status, _ := nobody.read(); status != 0 {
			t.Errorf("%s as anybody: status %d", name, status)
		}
	}
}

func TestDeletedUserIsOut(t *testing.T) {
	t.Parallel()
	e := startEngine(t, Options{})
	root := dialRaw(t, e)
	root.loginRoot(e)
	if status, _ := root.do(33, newUser("victim", "secret", access.All())); status != 0 {
		t.Fatal(status)
	}
	c := dialRaw(t, e)
	if status, _ := c.do(38, login("victim", "secret")); status != 0 {
		t.Fatal(status)
	}
	if status, _ := root.do(34, []byte("\x02\x06victim")); status != 0 {
		t.Fatal(status)
	}
	if status, _ := c.do(201, nil); status != uint32(protocol.ErrUnauthenticated) {
		t.Errorf("a deleted user's request: status %d", status)
	}
	if status, _ := c.do(20, nil); status != uint32(protocol.ErrClientNotFound) {
		t.Errorf("a deleted user's GetMe: status %d", status)
	}
	if !c.closed() {
		t.Error("the connection is open after status 100")
	}
}

func TestGrantsEndWithTheirStream(t *testing.T) {
	t.Parallel()
	e := startEngine(t, Options{})
	cli := rootClient(t, e)
	root := dialRaw(t, e)
	root.loginRoot(e)
	grants := &access.Permissions{Streams: map[uint32]access.Stream{0: {Grants: access.StreamRead}}}
	if status, _ := root.do(33, newUser("reader", "secret", grants)); status != 0 {
		t.Fatal(status)
	}
	c := dialRaw(t, e)
	if status, _ := c.do(38, login("reader", "secret")); status != 0 {
		t.Fatal(status)
	}
	makeTopic(t, cli, 1)
	if status, _ := c.do(200, []byte("\x02\x01s")); status != 0 {
		t.Errorf("the granted stream: status %d", status)
	}
	if err := cli.DeleteStream(named("s")); err != nil {
		t.Fatal(err)
	}
	makeTopic(t, cli, 1) // takes number 0 again
	if status, _ := c.do(200, []byte("\x02\x01s")); status != uint32(protocol.ErrUnauthorized) {
		t.Errorf("a new stream in the old one's place: status %d", status)
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	clock, dir := newTestClock(), t.TempDir()
	e := startEngine(t, Options{Clock: clock.now, DataDir: dir})
	root := dialRaw(t, e)
	root.loginRoot(e)
	create := func(name string, expiry uint64) (uint32, []byte) {
		return root.do(42, protocol.AppendU64(append([]byte{byte(len(name))}, name...), expiry))
	}
	status, forever := create("forever", 0)
	if status != 0 {
		t.Fatal(status)
	}
	status, soon := create("soon", uint64(time.Minute.Microseconds()))
	if status != 0 {
		t.Fatal(status)
	}
	if status, _ := create("soon", 0); status != uint32(protocol.ErrTokenExists) {
		t.Errorf("a taken name: %d", status)
	}
	if status, _ := create("no", 0); status != uint32(protocol.ErrInvalidTokenName) {
		t.Errorf("a short name: %d", status)
	}
	for i := range 98 {
		if status, _ := create(fmt.Sprintf("token-%d", i), 0); status != 0 {
			t.Fatal(status)
		}
	}
	if status, _ := create("one-too-many", 0); status != uint32(protocol.ErrTokenLimit) {
		t.Errorf("the 101st token: %d", status)
	}
	if status, body := root.do(41, nil); status != 0 || binary.LittleEndian.Uint64(body[8:]) != 0 {
		t.Errorf("list: %d, %x", status, body[:16])
	}
	stopEngine(t, e)

	e = startEngine(t, Options{Clock: clock.now, DataDir: dir})
	c := dialRaw(t, e)
	for name, token := range map[string][]byte{"forever": forever, "soon": soon} {
		if status, _ := c.do(44, token); status != 0 {
			t.Errorf("%s after a restart: %d", name, status)
		}
	}
	clock.advance(time.Minute)
	if status, _ := c.do(44, soon); status != uint32(protocol.ErrTokenExpired) {
		t.Errorf("an expired token: %d", status)
	}
	if status, _ := c.do(43, []byte("\x07forever")); status != 0 {
		t.Errorf("delete: %d", status)
	}
	if status, _ := c.do(44, forever); status != uint32(protocol.ErrResourceNotFound) {
		t.Errorf("a deleted token: %d", status)
	}
}

func TestLoginRules(t *testing.T) {
	t.Parallel()
	e := startEngine(t, Options{})
	cli := rootClient(t, e)
	if _, err := cli.CreateUser("alice", "secret", iggcon.Active, nil); err != nil {
		t.Fatal(err)
	}
	other := dial(t, e)
	if _, err := other.LoginUser("alice", "wrong"); !errors.Is(err, ierror.ErrInvalidCredentials) {
		t.Errorf("wrong password: %v", err)
	}
	if id, err := other.LoginUser("alice", "secret"); err != nil || id.UserId != 1 {
		t.Errorf("right password: %+v, %v", id, err)
	}
	if err := cli.ChangePassword(named("alice"), "secret", "changed"); err != nil {
		t.Fatal(err)
	}
	if _, err := other.LoginUser("alice", "secret"); !errors.Is(err, ierror.ErrInvalidCredentials) {
		t.Errorf("old password: %v", err)
	}
	inactive := iggcon.Inactive
	if err := cli.UpdateUser(named("alice"), nil, &inactive); err != nil {
		t.Fatal(err)
	}
	if _, err := other.LoginUser("alice", "changed"); !errors.Is(err, ierror.ErrUserInactive) {
		t.Errorf("inactive: %v", err)
	}
	if err := cli.DeleteUser(named("iggy")); err == nil {
		t.Error("root was deleted")
	}
	if err := cli.UpdatePermissions(named("iggy"), nil); err == nil {
		t.Error("root's permissions were changed")
	}
}
