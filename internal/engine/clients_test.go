package engine

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/apache/iggy/foreign/go/client/tcp"
	iggcon "github.com/apache/iggy/foreign/go/contracts"

	"kafka-iggy-bridge/internal/engine/protocol"
)

func TestGroupOverConnections(t *testing.T) {
	t.Parallel()
	e := startEngine(t, Options{})
	first := rootClient(t, e)
	makeTopic(t, first, 2)
	if _, err := first.CreateConsumerGroup(named("s"), named("t"), "g"); err != nil {
		t.Fatal(err)
	}
	second := rootClient(t, e)
	for _, cli := range []*tcp.IggyTcpClient{first, second} {
		if err := cli.JoinConsumerGroup(named("s"), named("t"), named("g")); err != nil {
			t.Fatal(err)
		}
	}
	send(t, first, 0, "zero")
	send(t, first, 1, "one")
	group := iggcon.NewGroupConsumer(named("g"))
	read := func(cli *tcp.IggyTcpClient) []string {
		polled, err := cli.PollMessages(named("s"), named("t"), group, iggcon.NextPollingStrategy(), 10, true, nil)
		if err != nil {
			t.Fatal(err)
		}
		return payloads(polled)
	}
	if got := append(read(first), read(second)...); !slices.Equal(got, []string{"zero", "one"}) {
		t.Errorf("both members together got %q", got)
	}
	clients, err := first.GetClients()
	if err != nil || len(clients) != 2 || clients[0].ConsumerGroupsCount != 1 || clients[1].ConsumerGroupsCount != 1 {
		t.Errorf("clients: %+v, %v", clients, err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	awaitConnections(t, e, 1)
	send(t, first, 1, "more")
	if got := append(read(first), read(first)...); !slices.Equal(got, []string{"more"}) {
		t.Errorf("the remaining member got %q: what was committed must not come again", got)
	}
	if err := first.DeleteConsumerGroup(named("s"), named("t"), named("g")); err != nil {
		t.Fatal(err)
	}
	if clients, err := first.GetClients(); err != nil || clients[0].ConsumerGroupsCount != 0 {
		t.Errorf("clients after the group's deletion: %+v, %v", clients, err)
	}
}

func TestGetMeAndGetClient(t *testing.T) {
	t.Parallel()
	e := startEngine(t, Options{})
	makeTopic(t, rootClient(t, e), 1)
	c := dialRaw(t, e)
	c.loginRoot(e)
	topic := []byte{1, 4, 0, 0, 0, 0, 1, 4, 0, 0, 0, 0}
	if status, _ := c.do(602, append(slices.Clone(topic), "\x01g"...)); status != 0 {
		t.Fatal(status)
	}
	if status, _ := c.do(604, append(slices.Clone(topic), "\x02\x01g"...)); status != 0 {
		t.Fatal(status)
	}
	status, me := c.do(20, nil)
	address := c.conn.LocalAddr().String()
	if status != 0 || len(me) != 17+len(address)+12 || string(me[13:13+len(address)]) != address {
		t.Fatalf("me: %d, %x", status, me)
	}
	if id := binary.LittleEndian.Uint32(me); id != protocol.XXH32([]byte(address)) {
		t.Errorf("client id %d is not the address's hash", id)
	}
	if status, same := c.do(21, me[:4]); status != 0 || !slices.Equal(same, me) {
		t.Errorf("client: %d, %x", status, same)
	}
	if status, none := c.do(21, []byte{1, 2, 3, 4}); status != 0 || len(none) != 0 {
		t.Errorf("unknown client: %d, %x", status, none)
	}
	if status, _ := c.do(21, make([]byte, 4)); status != uint32(protocol.ErrInvalidClientID) {
		t.Errorf("client zero: %d", status)
	}
}

func TestHeartbeat(t *testing.T) {
	t.Parallel()
	clock := newTestClock()
	e := startEngine(t, Options{Clock: clock.now, Heartbeat: time.Hour})
	makeTopic(t, rootClient(t, e), 1)
	topic := []byte{1, 4, 0, 0, 0, 0, 1, 4, 0, 0, 0, 0}
	join := append(slices.Clone(topic), "\x02\x01g"...)
	quiet, lively := dialRaw(t, e), dialRaw(t, e)
	quiet.loginRoot(e)
	lively.loginRoot(e)
	if status, _ := quiet.do(602, append(slices.Clone(topic), "\x01g"...)); status != 0 {
		t.Fatal(status)
	}
	for _, c := range []*rawConn{quiet, lively} {
		if status, _ := c.do(604, join); status != 0 {
			t.Fatal(status)
		}
	}
	clock.advance(73 * time.Minute)
	if status, _ := lively.do(1, nil); status != 0 {
		t.Fatal(status)
	}
	e.checkHeartbeats()
	if status, group := lively.do(600, join); status != 0 || binary.LittleEndian.Uint32(group[8:]) != 1 {
		t.Errorf("group: %d, %x", status, group)
	}
	if status, _ := quiet.do(200, topic[:6]); status != 0 {
		t.Errorf("a quiet client's other requests: %d", status)
	}
	if status, _ := quiet.do(604, join); status != uint32(protocol.ErrStaleClient) {
		t.Errorf("a quiet client's join: %d", status)
	}
	if !quiet.closed() {
		t.Error("the connection is open after status 30")
	}
	if status, _ := lively.do(604, join); status != 0 {
		t.Errorf("a lively client's join: %d", status)
	}
}

func TestCatalogLimits(t *testing.T) {
	t.Parallel()
	e := startEngine(t, Options{})
	c := dialRaw(t, e)
	c.loginRoot(e)
	create := func(name string) uint32 {
		status, _ := c.do(202, append([]byte{byte(len(name))}, name...))
		return status
	}
	for i := range maxStreams {
		if status := create(fmt.Sprint("s", i)); status != 0 {
			t.Fatalf("stream %d: %d", i, status)
		}
	}
	if status := create("one too many"); status != uint32(protocol.ErrCannotCreateStream) {
		t.Errorf("stream %d: status %d", maxStreams, status)
	}
	if status, _ := c.do(203, []byte{1, 4, 7, 0, 0, 0}); status != 0 {
		t.Fatal(status)
	}
	status, body := c.do(202, []byte("\x05again"))
	if status != 0 || binary.LittleEndian.Uint32(body) != 7 {
		t.Errorf("a stream in the freed place: %d, %x", status, body)
	}
	status, body = c.do(201, nil)
	if status != 0 || len(body) < maxStreams*33 {
		t.Errorf("all streams: %d, %d bytes", status, len(body))
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	e := startEngine(t, Options{TLS: &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}})
	cli, err := tcp.NewIggyTcpClient(tcp.WithServerAddress(e.Addr().String()), tcp.WithTLS(tcp.WithTLSValidateCertificate(false)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cli.Close() }()
	user, password := e.Credentials()
	if _, err := cli.LoginUser(user, password); err != nil {
		t.Fatal(err)
	}
	makeTopic(t, cli, 1)
	big := string(make([]byte, 300_000))
	send(t, cli, 0, big, "small")
	if got := payloads(poll(t, cli, 0, iggcon.FirstPollingStrategy(), 10)); !slices.Equal(got, []string{big, "small"}) {
		t.Errorf("%d messages came back", len(got))
	}
}

// TestRequestsDoNotAllocate counts what client and engine together allocate per
// request; the client here allocates nothing.
func TestRequestsDoNotAllocate(t *testing.T) {
	e := startEngine(t, Options{})
	makeTopic(t, rootClient(t, e), 1)
	c := dialRaw(t, e)
	c.loginRoot(e)
	var many []string
	for range 500 {
		many = append(many, string(make([]byte, 1000)))
	}
	tests := []struct {
		name    string
		request []byte
		answer  int
	}{
		{"one message", frame(101, sendPayload(toPartition(0), "abc")), 8},
		{"500 messages", frame(101, sendPayload(toPartition(0), many...)), 8},
		{"poll of one message", frame(100, pollPayload(0, 1)), 8 + 16 + 64 + 3},
		{"poll of 500 messages", frame(100, pollPayload(1000, 500)), 8 + 16 + 500*1064},
		{"ping", frame(1, nil), 8},
	}
	answer := make([]byte, 1<<20)
	for _, tt := range tests {
		one := func() {
			if _, err := c.conn.Write(tt.request); err != nil {
				t.Fatal(err)
			}
			for n := 0; n < tt.answer; {
				m, err := c.conn.Read(answer[n:tt.answer])
				if err != nil {
					t.Fatal(err)
				}
				n += m
			}
		}
		for range 20 {
			one() // buffers of every size are made
		}
		if n := testing.AllocsPerRun(50, one); n > 3 {
			t.Errorf("%s: %.1f allocations", tt.name, n)
		}
		if status := binary.LittleEndian.Uint32(answer); status != 0 {
			t.Errorf("%s: status %d", tt.name, status)
		}
	}
}
