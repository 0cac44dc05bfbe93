package engine

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"io"
	"log"
	"os"
	"testing"
	"time"

	"github.com/apache/iggy/foreign/go/client/tcp"
	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		runChild(dir)
		return
	}
	log.SetOutput(io.Discard) // the SDK logs every login to the standard logger
	goleak.VerifyTestMain(m)  // a closed engine leaves no goroutine behind
}

// startEngine runs an engine until the test ends. An empty DataDir is replaced by a
// temporary one.
func startEngine(tb testing.TB, opts Options) *Engine {
	tb.Helper()
	if opts.DataDir == "" {
		opts.DataDir = tb.TempDir()
	}
	e, err := Open(opts)
	if err != nil {
		tb.Fatalf("Open: %v", err)
	}
	tb.Cleanup(func() { stopEngine(tb, e) })
	return e
}

func stopEngine(tb testing.TB, e *Engine) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := e.Close(ctx); err != nil {
		tb.Errorf("Close: %v", err)
	}
}

// dial connects an SDK client without logging in.
func dial(tb testing.TB, e *Engine) *tcp.IggyTcpClient {
	tb.Helper()
	// The SDK's own constructor starts a ping loop that cannot be stopped.
	cli, err := newSDKClient(e.Addr().String())
	if err != nil {
		tb.Fatalf("connect: %v", err)
	}
	tb.Cleanup(func() { _ = cli.Close() })
	return cli
}

// rootClient connects an SDK client as the root user.
func rootClient(tb testing.TB, e *Engine) *tcp.IggyTcpClient {
	tb.Helper()
	cli := dial(tb, e)
	user, password := e.Credentials()
	if _, err := cli.LoginUser(user, password); err != nil {
		tb.Fatalf("login: %v", err)
	}
	return cli
}

func newSDKClient(address string) (*tcp.IggyTcpClient, error) {
	return tcp.NewIggyTcpClient(tcp.WithServerAddress(address))
}

func named(name string) iggcon.Identifier {
	id, err := iggcon.NewIdentifier(name)
	if err != nil {
		panic(err)
	}
	return id
}

func numbered(n uint32) iggcon.Identifier {
	id, err := iggcon.NewIdentifier(n)
	if err != nil {
		panic(err)
	}
	return id
}

// makeTopic creates stream "s" with topic "t".
func makeTopic(tb testing.TB, cli iggcon.Client, partitions uint32) {
	tb.Helper()
	if _, err := cli.CreateStream("s"); err != nil {
		tb.Fatalf("create stream: %v", err)
	}
	if _, err := cli.CreateTopic(named("s"), "t", partitions, 1, 0, 0, nil); err != nil {
		tb.Fatalf("create topic: %v", err)
	}
}

func message(payload string) iggcon.IggyMessage {
	return iggcon.IggyMessage{
		Header:  iggcon.NewMessageHeader(iggcon.MessageID{}, uint32(len(payload)), 0),
		Payload: []byte(payload),
	}
}

func send(tb testing.TB, cli iggcon.Client, partition uint32, payloads ...string) {
	tb.Helper()
	messages := make([]iggcon.IggyMessage, len(payloads))
	for i, p := range payloads {
		messages[i] = message(p)
	}
	if err := cli.SendMessages(named("s"), named("t"), iggcon.PartitionId(partition), messages); err != nil {
		tb.Fatalf("send: %v", err)
	}
}

func poll(tb testing.TB, cli iggcon.Client, partition uint32, strategy iggcon.PollingStrategy, count uint32) *iggcon.PolledMessage {
	tb.Helper()
	polled, err := cli.PollMessages(named("s"), named("t"), iggcon.NewSingleConsumer(numbered(1)), strategy, count, false, &partition)
	if err != nil {
		tb.Fatalf("poll: %v", err)
	}
	if int(polled.MessageCount) != len(polled.Messages) {
		tb.Fatalf("poll: count says %d, %d messages came", polled.MessageCount, len(polled.Messages))
	}
	return polled
}

func payloads(polled *iggcon.PolledMessage) []string {
	all := make([]string, len(polled.Messages))
	for i, m := range polled.Messages {
		all[i] = string(m.Payload)
	}
	return all
}

// newerHeader is the head of a metadata file of format 2.
func newerHeader() []byte {
	b := append([]byte("IGGYMETA"), 2, 0, 0, 0)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

// awaitConnections waits until no more than n clients are connected.
func awaitConnections(t *testing.T, e *Engine, n int) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); e.sessions.count() > n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d clients are connected, want %d", e.sessions.count(), n)
		}
	}
}
