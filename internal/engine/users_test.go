package engine

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"kafka-iggy-bridge/internal/engine/access"
	"kafka-iggy-bridge/internal/engine/protocol"
	"kafka-iggy-bridge/internal/engine/rawclient"
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

func TestGrantsEndWithTheirStream(t *testing.T) {
	t.Parallel()
	e := startEngine(t, Options{})
	cli := rootClient(t, e)
	root := dialRawRoot(t, e)
	grants := &access.Permissions{Streams: map[uint32]access.Stream{0: {Grants: access.StreamRead}}}
	if status, _ := root.Do(33, newUser("reader", "secret", grants)); status != 0 {
		t.Fatal(status)
	}
	c := dialRaw(t, e)
	if status, _ := c.Do(38, rawclient.Login("reader", "secret")); status != 0 {
		t.Fatal(status)
	}
	makeTopic(t, cli, 1)
	if status, _ := c.Do(200, []byte("\x02\x01s")); status != 0 {
		t.Errorf("the granted stream: status %d", status)
	}
	if err := cli.DeleteStream(named("s")); err != nil {
		t.Fatal(err)
	}
	makeTopic(t, cli, 1) // takes number 0 again
	if status, _ := c.Do(200, []byte("\x02\x01s")); status != uint32(protocol.ErrUnauthorized) {
		t.Errorf("a new stream in the old one's place: status %d", status)
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	clock, dir := newTestClock(), t.TempDir()
	e := startEngine(t, Options{Clock: clock.now, DataDir: dir})
	root := dialRawRoot(t, e)
	create := func(name string, expiry uint64) (uint32, []byte) {
		return root.Do(42, protocol.AppendU64(append([]byte{byte(len(name))}, name...), expiry))
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
	if status, body := root.Do(41, nil); status != 0 || binary.LittleEndian.Uint64(body[8:]) != 0 {
		t.Errorf("list: %d, %x", status, body[:16])
	}
	stopEngine(t, e)

	e = startEngine(t, Options{Clock: clock.now, DataDir: dir})
	c := dialRaw(t, e)
	for name, token := range map[string][]byte{"forever": forever, "soon": soon} {
		if status, _ := c.Do(44, token); status != 0 {
			t.Errorf("%s after a restart: %d", name, status)
		}
	}
	clock.advance(time.Minute)
	if status, _ := c.Do(44, soon); status != uint32(protocol.ErrTokenExpired) {
		t.Errorf("an expired token: %d", status)
	}
	if status, _ := c.Do(43, []byte("\x07forever")); status != 0 {
		t.Errorf("delete: %d", status)
	}
	if status, _ := c.Do(44, forever); status != uint32(protocol.ErrResourceNotFound) {
		t.Errorf("a deleted token: %d", status)
	}
}
