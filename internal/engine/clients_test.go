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
	"net"
	"slices"
	"testing"
	"time"

	"github.com/apache/iggy/foreign/go/client/tcp"
	iggcon "github.com/apache/iggy/foreign/go/contracts"

	"kafka-iggy-bridge/internal/engine/protocol"
	"kafka-iggy-bridge/internal/engine/rawclient"
)

func TestHeartbeat(t *testing.T) {
	t.Parallel()
	clock := newTestClock()
	e := startEngine(t, Options{Clock: clock.now, Heartbeat: time.Hour})
	makeTopic(t, rootClient(t, e), 1)
	topic := []byte{1, 4, 0, 0, 0, 0, 1, 4, 0, 0, 0, 0}
	join := append(slices.Clone(topic), "\x02\x01g"...)
	quiet, lively := dialRawRoot(t, e), dialRawRoot(t, e)
	if status, _ := quiet.Do(602, append(slices.Clone(topic), "\x01g"...)); status != 0 {
		t.Fatal(status)
	}
	for _, c := range []*rawclient.Conn{quiet, lively} {
		if status, _ := c.Do(604, join); status != 0 {
			t.Fatal(status)
		}
	}
	clock.advance(73 * time.Minute)
	if status, _ := lively.Do(1, nil); status != 0 {
		t.Fatal(status)
	}
	e.checkHeartbeats()
	if status, group := lively.Do(600, join); status != 0 || binary.LittleEndian.Uint32(group[8:]) != 1 {
		t.Errorf("group: %d, %x", status, group)
	}
	if status, _ := quiet.Do(200, topic[:6]); status != 0 {
		t.Errorf("a quiet client's other requests: %d", status)
	}
	if status, _ := quiet.Do(604, join); status != uint32(protocol.ErrStaleClient) {
		t.Errorf("a quiet client's join: %d", status)
	}
	if !quiet.Closed() {
		t.Error("the connection is open after status 30")
	}
	if status, _ := lively.Do(604, join); status != 0 {
		t.Errorf("a lively client's join: %d", status)
	}
}

func TestCatalogLimits(t *testing.T) {
	t.Parallel()
	e := startEngine(t, Options{})
	c := dialRawRoot(t, e)
	create := func(name string) uint32 {
		status, _ := c.Do(202, append([]byte{byte(len(name))}, name...))
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
	if status, _ := c.Do(203, []byte{1, 4, 7, 0, 0, 0}); status != 0 {
		t.Fatal(status)
	}
	status, body := c.Do(202, []byte("\x05again"))
	if status != 0 || binary.LittleEndian.Uint32(body) != 7 {
		t.Errorf("a stream in the freed place: %d, %x", status, body)
	}
	status, body = c.Do(201, nil)
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
	c := dialRawRoot(t, e)
	var many []string
	for range 500 {
		many = append(many, string(make([]byte, 1000)))
	}
	tests := []struct {
		name    string
		request []byte
		answer  int
	}{
		{"one message", rawclient.Frame(101, sendPayload(rawclient.ToPartition(0), "abc")), 8},
		{"500 messages", rawclient.Frame(101, sendPayload(rawclient.ToPartition(0), many...)), 8},
		{"poll of one message", rawclient.Frame(100, pollPayload(0, 1)), 8 + 16 + 64 + 3},
		{"poll of 500 messages", rawclient.Frame(100, pollPayload(1000, 500)), 8 + 16 + 500*1064},
		{"ping", rawclient.Frame(1, nil), 8},
	}
	answer := make([]byte, 1<<20)
	for _, tt := range tests {
		one := func() {
			if _, err := c.Net.Write(tt.request); err != nil {
				t.Fatal(err)
			}
			for n := 0; n < tt.answer; {
				m, err := c.Net.Read(answer[n:tt.answer])
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

// TestClientNumbersDoNotCollide registers two peers of one address, whose hashes are
// the same for certain.
func TestClientNumbersDoNotCollide(t *testing.T) {
	t.Parallel()
	var all sessions
	one, two := net.Pipe()
	defer func() { _, _ = one.Close(), two.Close() }()
	first, _ := all.add(one, time.Now())
	second, _ := all.add(two, time.Now())
	if first.address != second.address || first.id == second.id || second.id == 0 {
		t.Errorf("%q is %d, %q is %d", first.address, first.id, second.address, second.id)
	}
	if all.get(first.id) != first || all.get(second.id) != second {
		t.Error("a client is not found by its number")
	}
}
