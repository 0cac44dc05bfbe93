package bridge

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/iggy/foreign/go/client/tcp"
	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/google/go-cmp/cmp"

	"kafka-iggy-bridge/internal/engine"
	"kafka-iggy-bridge/internal/errorcode"
)

func TestTheSDKsConnectionCanBeReached(t *testing.T) {
	t.Parallel()
	config := iggyConfig(t)
	client, err := tcp.NewIggyTcpClient(tcp.WithServerAddress(config.Address))
	if err != nil {
		t.Fatal(err)
	}
	s, err := socketOf(client)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.check(); err != nil {
		t.Fatalf("a sound connection: %v", err)
	}
	if err := s.limit(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := client.Ping(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("a deadline does not reach the SDK's calls: %v", err)
	}
	s.abort()
}

func TestTheBridgeStartsBeforeIggy(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	b := openBridge(t, Config{Address: address, Username: "iggy", Password: "secret-password"})
	if _, err := b.Topic(testContext(t), "orders"); ErrorCode(err) != errorcode.NotLeaderOrFollower {
		t.Fatalf("got %v", err)
	}
	eventually(t, 10*time.Second, func() error {
		if err := b.Health(); err == nil || !strings.Contains(err.Error(), "connection refused") {
			return fmt.Errorf("health does not tell why: %v", err)
		}
		return nil
	})
	e, err := engine.Open(engine.Options{DataDir: t.TempDir(), Listen: address, RootUser: "iggy", RootPassword: "secret-password", Fsync: "never", Logger: discardLogger()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeEngine(t, e) })
	waitHealthy(t, b)
	produce(t, b, makeTopic(t, b, "orders", 1), 0, plainBatch(t, "a"))
}

func TestAWrongPasswordIsTold(t *testing.T) {
	t.Parallel()
	config := iggyConfig(t)
	config.Password = "not-the-password"
	b := openBridge(t, config)
	eventually(t, 10*time.Second, func() error {
		if err := b.Health(); !errors.Is(err, ErrUnauthorized) {
			return err
		}
		return nil
	})
}

func TestIggyRestarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e, err := engine.Open(engine.Options{DataDir: dir, Fsync: "never", Logger: discardLogger()})
	if err != nil {
		t.Fatal(err)
	}
	config := engineConfig(t, e)
	r := newRelay(t, config.Address)
	config.Address = r.address()
	b := startBridge(t, config)
	topic := makeTopic(t, b, "orders", 1)
	want := []string{"before"}
	produce(t, b, topic, 0, plainBatch(t, "before"))
	for i := range 3 {
		closeEngine(t, e)
		if e, err = engine.Open(engine.Options{DataDir: dir, Fsync: "never", Logger: discardLogger()}); err != nil {
			t.Fatal(err)
		}
		r.mu.Lock()
		r.target = e.Addr().String()
		r.mu.Unlock()
		eventually(t, 20*time.Second, func() error {
			_, err := b.Produce(testContext(t), topic, 0, plainBatch(t, fmt.Sprint("after ", i)))
			if err != nil && ErrorCode(err) != errorcode.NotLeaderOrFollower {
				t.Fatalf("not an error to retry on: %v", err)
			}
			return err
		})
		want = append(want, fmt.Sprint("after ", i))
	}
	if diff := cmp.Diff(want, values(readAll(t, b, topic, 0, 0))); diff != "" {
		t.Fatal(diff)
	}
	closeBridge(t, b)
	closeEngine(t, e)
}

func TestConnectionsThatAreCutLoseAndRepeatNothing(t *testing.T) {
	t.Parallel()
	config := iggyConfig(t)
	r := newRelay(t, config.Address)
	config.Address = r.address()
	b := startBridge(t, config)
	topic := makeTopic(t, b, "it-cut", 1)
	stop := make(chan struct{})
	var cuts atomic.Int32
	var cutter sync.WaitGroup
	cutter.Go(func() {
		// Long enough to log in, short enough to meet appends on their way.
		ticker := time.NewTicker(300 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-stop:
				return
			case <-ticker.C:
				r.cut()
				cuts.Add(1)
			}
		}
	})
	var want []string
	unknown := make(map[string]bool)
	for i := 0; cuts.Load() < 8; i++ {
		v := fmt.Sprint("v", i)
		_, err := b.Produce(testContext(t), topic, 0, plainBatch(t, v))
		switch {
		case err == nil:
			want = append(want, v)
		case errors.Is(err, ErrOutcomeUnknown):
			unknown[v] = true
		}
	}
	close(stop)
	cutter.Wait()
	waitHealthy(t, b)
	if len(want) == 0 {
		t.Fatal("nothing was ever appended")
	}
	var got []string
	eventually(t, 10*time.Second, func() error {
		_, err := b.Fetch(testContext(t), topic, 0, FetchSpec{MaxBytes: 1})
		return err
	})
	for _, v := range values(readAll(t, b, topic, 0, 0)) {
		// What was reported as unknown may be there, once.
		if unknown[v] {
			delete(unknown, v)
			continue
		}
		got = append(got, v)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	if err := b.DeleteTopic(testContext(t), "it-cut"); err != nil {
		t.Fatal(err)
	}
}

func TestAnIggyThatStallsIsCutOff(t *testing.T) {
	t.Parallel()
	config := iggyConfig(t)
	r := newRelay(t, config.Address)
	config.Address = r.address()
	config.RequestTimeout, config.DialTimeout, config.OperationTimeout = 500*time.Millisecond, time.Second, 2*time.Second
	b := startBridge(t, config)
	topic := makeTopic(t, b, "it-stall", 1)
	produce(t, b, topic, 0, plainBatch(t, "a"))
	r.stall()
	begun := time.Now()
	_, err := b.Produce(testContext(t), topic, 0, plainBatch(t, "b"))
	if err == nil || time.Since(begun) > 10*time.Second {
		t.Fatalf("after %v: %v", time.Since(begun), err)
	}
	if code := ErrorCode(err); code != errorcode.RequestTimedOut && code != errorcode.NotLeaderOrFollower {
		t.Fatalf("code %d for %v", code, err)
	}
	if _, err := b.HighWatermark(testContext(t), topic, 0); err == nil {
		t.Fatal("a question was answered by nobody")
	}
	r.cut()
	r.resume()
	waitHealthy(t, b)
	eventually(t, 10*time.Second, func() error {
		_, err := b.HighWatermark(testContext(t), topic, 0)
		return err
	})
	if err := b.DeleteTopic(testContext(t), "it-stall"); err != nil {
		t.Fatal(err)
	}
}

func TestPanicsOfTheSDKAreContained(t *testing.T) {
	t.Parallel()
	address := oddIggy(t, func(uint32) []byte { return []byte{1, 2, 3} })
	pool := newSDKPool(mustDefaults(t, Config{Address: address, Username: "u", Password: "p"}))
	defer func() { _ = pool.close() }()
	ctx := testContext(t)
	if _, err := pool.streams(ctx); !errors.Is(err, ErrStorage) || !errors.Is(err, errSDKPanic) {
		t.Fatalf("streams: %v", err)
	}
	ref := newPartitionRef(ordersAt, 0)
	if _, err := pool.read(ctx, &ref, readRequest{count: 1}); !errors.Is(err, ErrStorage) {
		t.Fatalf("read: %v", err)
	}
	if _, err := pool.topic(ctx, ordersAt); !errors.Is(err, ErrStorage) {
		t.Fatalf("topic: %v", err)
	}
}

func mustDefaults(t *testing.T, c Config) Config {
	t.Helper()
	c, err := c.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAServerThatIsNotIggyIsTold(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	c := mustDefaults(t, Config{Address: l.Addr().String(), Username: "u", Password: "p", DialTimeout: 100 * time.Millisecond})
	if err := c.probe(context.Background()); err == nil || !strings.Contains(err.Error(), "no answer to a ping") {
		t.Fatalf("a server that says nothing: %v", err)
	}
}

// TestEmptyMessagesOfIggyClients covers the SDK's loss of a last message
// without payload and headers.
func TestEmptyMessagesOfIggyClients(t *testing.T) {
	t.Parallel()
	config := iggyConfig(t)
	b := startBridge(t, config)
	topic := makeTopic(t, b, "it-empty", 1)
	client, err := tcp.NewIggyTcpClient(tcp.WithServerAddress(config.Address))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	if _, err := client.LoginUser(config.Username, config.Password); err != nil {
		t.Fatal(err)
	}
	send := func(payloads ...string) {
		t.Helper()
		var messages []iggcon.IggyMessage
		for _, p := range payloads {
			messages = append(messages, iggcon.IggyMessage{
				Header:  iggcon.NewMessageHeader(iggcon.MessageID{1}, uint32(len(p)), 0),
				Payload: []byte(p),
			})
		}
		id := nameIdentifier("it-empty")
		if err := client.SendMessages(id, id, iggcon.PartitionId(0), messages); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want ...string) {
		t.Helper()
		if hw, err := b.HighWatermark(testContext(t), topic, 0); err != nil || hw != int64(len(want)) {
			t.Fatalf("high watermark %d, %v", hw, err)
		}
		if diff := cmp.Diff(want, values(readAll(t, b, topic, 0, 0))); diff != "" {
			t.Fatal(diff)
		}
	}
	send("a", "")
	check("a", "")
	send("")
	check("a", "", "")
	send("b")
	check("a", "", "", "b")
	if err := b.DeleteTopic(testContext(t), "it-empty"); err != nil {
		t.Fatal(err)
	}
}

func TestEveryRecordComesBackThroughIggy(t *testing.T) {
	t.Parallel()
	b := startBridge(t, iggyConfig(t))
	topic := makeTopic(t, b, "it-records", 1, ConfigMaxMessageBytes, "100000000")
	var want []rec
	for _, c := range mappingCases() {
		produce(t, b, topic, 0, batchOf(t, c.spec, c.recs...))
		want = append(want, c.recs...)
	}
	big := rec{Timestamp: testTime, Key: []byte("big"), Value: make([]byte, 12_000_000)}
	produce(t, b, topic, 0, batchOf(t, mappingCases()[0].spec, big))
	want = append(want, big)
	got := readAll(t, b, topic, 0, 0)
	if len(got) != len(want) {
		t.Fatalf("%d records, want %d", len(got), len(want))
	}
	for i := range want {
		want[i].Offset = int64(i)
		if !sameRecord(want[i], got[i]) {
			t.Fatalf("record %d: %s", i, cmp.Diff(want[i].Headers, got[i].Headers))
		}
	}
	if err := b.DeleteTopic(testContext(t), "it-records"); err != nil {
		t.Fatal(err)
	}
}

func TestTLSConfig(t *testing.T) {
	t.Parallel()
	bad := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(bad, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		config TLSConfig
		server string
		fails  bool
	}{
		{"the address's host", TLSConfig{}, "iggy.example", false},
		{"a name given", TLSConfig{Domain: "other.example"}, "other.example", false},
		{"an authority that is none", TLSConfig{CAFile: bad}, "", true},
		{"a file that is not there", TLSConfig{CAFile: bad + ".missing"}, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.config.config("iggy.example:8090")
			if (err != nil) != c.fails || err == nil && got.ServerName != c.server {
				t.Fatalf("%+v, %v", got, err)
			}
		})
	}
}
