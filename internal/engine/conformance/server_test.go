package conformance

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/iggy/foreign/go/client/tcp"
	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"go.uber.org/goleak"

	"kafka-iggy-bridge/internal/engine"
	"kafka-iggy-bridge/internal/engine/protocol"
	"kafka-iggy-bridge/internal/engine/rawclient"
)

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // the SDK logs every login to the standard logger
	goleak.VerifyTestMain(m)
}

// server is what a test runs against.
type server struct {
	address, user, password string
	iggy                    bool // a real one, not the engine
}

// realServer is held by the test that uses the real server: they share it.
var realServer sync.Mutex

// onEach runs a test against the engine, and against the real server when there is one.
func onEach(t *testing.T, test func(t *testing.T, s *server)) {
	t.Helper()
	t.Parallel()
	onEachInTurn(t, test)
}

// onEachInTurn is onEach for a test that is not parallel. Such tests are over before
// any parallel one begins, so on the real server it comes first.
func onEachInTurn(t *testing.T, test func(t *testing.T, s *server)) {
	t.Helper()
	t.Run("engine", func(t *testing.T) {
		e, err := engine.Open(engine.Options{DataDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			if err := e.Close(ctx); err != nil {
				t.Errorf("close the engine: %v", err)
			}
		})
		s := &server{address: e.Addr().String()}
		s.user, s.password = e.Credentials()
		test(t, s)
	})
	address := os.Getenv("IGGY_ADDRESS")
	if address == "" {
		return
	}
	t.Run("iggy", func(t *testing.T) {
		realServer.Lock()
		t.Cleanup(realServer.Unlock) // registered first, so it comes after all other clean-up
		test(t, &server{address: address, user: os.Getenv("IGGY_USERNAME"), password: os.Getenv("IGGY_PASSWORD"), iggy: true})
	})
}

// raw connects without logging in.
func (s *server) raw(t *testing.T) *rawclient.Conn {
	t.Helper()
	return rawclient.Dial(t, s.address)
}

// rawRoot connects and logs in as the root user.
func (s *server) rawRoot(t *testing.T) *rawclient.Conn {
	t.Helper()
	return s.rawAs(t, s.user, s.password)
}

// rawAs connects and logs in.
func (s *server) rawAs(t *testing.T, user, password string) *rawclient.Conn {
	t.Helper()
	c := s.raw(t)
	if status, _ := c.Do(uint32(protocol.LoginUser), rawclient.Login(user, password)); status != 0 {
		t.Fatalf("login of %s: status %d", user, status)
	}
	return c
}

// sdk connects the SDK without logging in.
func (s *server) sdk(t *testing.T) *tcp.IggyTcpClient {
	t.Helper()
	// The SDK's other constructor starts a ping loop that cannot be stopped.
	cli, err := tcp.NewIggyTcpClient(tcp.WithServerAddress(s.address))
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = cli.Close() }) // a test may have closed it
	return cli
}

// sdkRoot connects the SDK as the root user.
func (s *server) sdkRoot(t *testing.T) *tcp.IggyTcpClient {
	t.Helper()
	cli := s.sdk(t)
	if _, err := cli.LoginUser(s.user, s.password); err != nil {
		t.Fatalf("login: %v", err)
	}
	return cli
}

// place is a stream of a test's own, with a topic.
type place struct {
	name         string            // of the stream
	stream       iggcon.Identifier // for the SDK
	topic        iggcon.Identifier
	rawS, rawT   []byte // identifiers in wire form
	rawTopic     []byte // both, one behind the other
	streamNumber uint32
}

var places atomic.Uint32

// newName is a name that no other test uses.
func newName(what string) string {
	return fmt.Sprintf("%s-%d-%d", what, os.Getpid(), places.Add(1))
}

// newPlace creates a stream with a topic "t"; the stream is deleted when the test ends.
func (s *server) newPlace(t *testing.T, cli iggcon.Client, partitions uint32) *place {
	t.Helper()
	name := newName("conformance")
	p := &place{name: name, stream: named(t, name), topic: named(t, "t"), rawS: rawclient.NameID(name), rawT: rawclient.NameID("t")}
	p.rawTopic = append(append([]byte(nil), p.rawS...), p.rawT...)
	created, err := cli.CreateStream(name)
	if err != nil {
		t.Fatalf("create stream: %v", err)
	}
	p.streamNumber = created.Id
	t.Cleanup(func() {
		// The test may have deleted it, or have closed its connections.
		s.rawRoot(t).Do(uint32(protocol.DeleteStream), p.rawS)
	})
	if _, err := cli.CreateTopic(p.stream, "t", partitions, iggcon.CompressionAlgorithmNone, iggcon.IggyExpiryNeverExpire, protocol.Never, nil); err != nil {
		t.Fatalf("create topic: %v", err)
	}
	return p
}

func named(t *testing.T, name string) iggcon.Identifier {
	t.Helper()
	id, err := iggcon.NewIdentifier(name)
	if err != nil {
		t.Fatalf("identifier %q: %v", name, err)
	}
	return id
}

func numbered(t *testing.T, n uint32) iggcon.Identifier {
	t.Helper()
	id, err := iggcon.NewIdentifier(n)
	if err != nil {
		t.Fatalf("identifier %d: %v", n, err)
	}
	return id
}

// message is one whose id the server makes up.
func message(payload string) iggcon.IggyMessage {
	return iggcon.IggyMessage{
		Header:  iggcon.NewMessageHeader(iggcon.MessageID{}, uint32(len(payload)), 0),
		Payload: []byte(payload),
	}
}

func (p *place) send(t *testing.T, cli iggcon.Client, partition uint32, payloads ...string) {
	t.Helper()
	var all []iggcon.IggyMessage
	for _, text := range payloads {
		all = append(all, message(text))
	}
	if err := cli.SendMessages(p.stream, p.topic, iggcon.PartitionId(partition), all); err != nil {
		t.Fatalf("send: %v", err)
	}
}

// poll polls as single consumer 1 without storing anything.
func (p *place) poll(t *testing.T, cli iggcon.Client, partition uint32, strategy iggcon.PollingStrategy, count uint32) *iggcon.PolledMessage {
	t.Helper()
	return p.pollAs(t, cli, iggcon.NewSingleConsumer(numbered(t, 1)), &partition, strategy, count, false)
}

func (p *place) pollAs(t *testing.T, cli iggcon.Client, consumer iggcon.Consumer, partition *uint32, strategy iggcon.PollingStrategy, count uint32, commit bool) *iggcon.PolledMessage {
	t.Helper()
	polled, err := cli.PollMessages(p.stream, p.topic, consumer, strategy, count, commit, partition)
	if err != nil {
		t.Fatalf("poll: %v", err)
	}
	if int(polled.MessageCount) != len(polled.Messages) {
		t.Fatalf("poll: count says %d, %d messages came", polled.MessageCount, len(polled.Messages))
	}
	return polled
}

// texts are the payloads of a poll, each behind its offset.
func texts(polled *iggcon.PolledMessage) string {
	var all []string
	for _, m := range polled.Messages {
		all = append(all, fmt.Sprintf("%d:%s", m.Header.Offset, m.Payload))
	}
	return strings.Join(all, " ")
}

// eventually waits until a condition that the server brings about holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited for %s in vain", what)
		}
	}
}
