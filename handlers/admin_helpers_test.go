package handlers

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/engine"
	"kafka-iggy-bridge/internal/transactions"
	"kafka-iggy-bridge/internal/wire"
)

// adminFixture is a set of handlers over a bridge on an embedded engine.
type adminFixture struct {
	t      testing.TB
	h      *Handlers
	b      *bridge.Bridge
	engine *engine.Engine
}

func adminLog() *logrus.Logger {
	l := logrus.New()
	l.SetOutput(io.Discard)
	return l
}

func adminConfig() Config {
	return Config{NodeID: 1, Host: "kafka.example", Port: 19093, AutoCreate: true, DefaultPartitions: 1, MaxMessageBytes: 1048588}
}

// newAdmin starts everything and waits until it is usable.
func newAdmin(t testing.TB, change func(*Config, *bridge.Config)) *adminFixture {
	t.Helper()
	e, err := engine.Open(engine.Options{DataDir: t.TempDir(), Fsync: "never", Logger: adminLog()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeWithin(t, "engine", e.Close) })
	user, password := e.Credentials()
	f := newAdminAt(t, bridge.Config{Address: e.Addr().String(), Username: user, Password: password}, change)
	f.engine = e
	f.await(func() bool { return f.b.Health() == nil })
	return f
}

// newAdminAt starts handlers over a bridge whose Iggy may not be there.
func newAdminAt(t testing.TB, bc bridge.Config, change func(*Config, *bridge.Config)) *adminFixture {
	t.Helper()
	c := adminConfig()
	bc.Logger = adminLog()
	if change != nil {
		change(&c, &bc)
	}
	b, err := bridge.New(bc)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeWithin(t, "bridge", b.Close) })
	return &adminFixture{t: t, h: newHandlers(t, c, b, groupOptionsOf(t)), b: b}
}

// newHandlers makes handlers with coordinators, which end with the test.
func newHandlers(t testing.TB, c Config, b *bridge.Bridge, options GroupOptions) *Handlers {
	t.Helper()
	return newHandlersOf(t, c, b, options, TransactionOptions{
		Config: transactions.DefaultConfig(), Partitions: options.Partitions, Metrics: options.Metrics, Logger: options.Logger,
	})
}

// newHandlersOf is newHandlers with options for both coordinators.
func newHandlersOf(t testing.TB, c Config, b *bridge.Bridge, forGroups GroupOptions, forTransactions TransactionOptions) *Handlers {
	t.Helper()
	coordinator := NewGroupCoordinator(b, forGroups)
	coordinator.Start()
	t.Cleanup(func() { closeWithin(t, "coordinator of the groups", coordinator.Close) })
	txn := NewTransactionCoordinator(b, coordinator, forTransactions)
	txn.Start()
	t.Cleanup(func() { closeWithin(t, "coordinator of the transactions", txn.Close) })
	return New(c, b, coordinator, txn, &counted{}, adminLog())
}

func closeWithin(t testing.TB, what string, end func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := end(ctx); err != nil {
		t.Errorf("closing the %s: %v", what, err)
	}
}

// await polls a state that no event tells of.
func (f *adminFixture) await(reached func() bool) {
	f.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !reached(); {
		if time.Now().After(deadline) {
			f.t.Fatal("not within 30 s")
		}
		<-time.After(2 * time.Millisecond)
	}
}

// ask sends a request through the codec in both directions, as the server does,
// so that what a version lacks is lost on the way.
func (f *adminFixture) ask(key, version int16, body generated.Message) (generated.Message, error) {
	f.t.Helper()
	api, ok := generated.LookupAPI(key)
	if !ok {
		f.t.Fatalf("no key %d", key)
	}
	frame, err := body.Append(nil, version)
	if err != nil {
		f.t.Fatalf("encoding the request: %v", err)
	}
	endpoint, ok := f.h.Lookup(key)
	if !ok {
		f.t.Fatalf("key %d is not served", key)
	}
	if version < endpoint.Min || version > endpoint.Max {
		f.t.Fatalf("key %d is not served in version %d", key, version)
	}
	req := &Request{Key: key, Version: version, Header: generated.DefaultRequestHeader(), Body: api.NewRequest()}
	if _, err := req.Body.Decode(version, frame); err != nil {
		f.t.Fatalf("decoding the request: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	answer, err := endpoint.Handle(ctx, req)
	if err != nil {
		return nil, err
	}
	out, err := answer.Append(nil, version)
	if err != nil {
		f.t.Fatalf("encoding the answer: %v", err)
	}
	clear(frame) // the answer has been written: its views are rubbish from now on
	decoded := api.NewResponse()
	if rest, err := decoded.Decode(version, out); err != nil || len(rest) > 0 {
		f.t.Fatalf("decoding the answer: %v, %d bytes left", err, len(rest))
	}
	return decoded, nil
}

func (f *adminFixture) metadata(version int16, change func(*generated.MetadataRequest), names ...string) *generated.MetadataResponse {
	f.t.Helper()
	req := generated.DefaultMetadataRequest()
	for _, name := range names {
		t := generated.DefaultMetadataRequestTopic()
		t.Name = wire.String(name)
		req.Topics = append(req.Topics, t)
	}
	if change != nil {
		change(&req)
	}
	answer, err := f.ask(generated.KeyMetadata, version, &req)
	if err != nil {
		f.t.Fatalf("Metadata v%d: %v", version, err)
	}
	return answer.(*generated.MetadataResponse)
}

// creatable is a topic to create.
func creatable(name string, partitions int32, replication int16, configs ...string) generated.CreateTopicsRequestCreatableTopic {
	t := generated.DefaultCreateTopicsRequestCreatableTopic()
	t.Name, t.NumPartitions, t.ReplicationFactor = name, partitions, replication
	for i := 0; i < len(configs); i += 2 {
		t.Configs = append(t.Configs, generated.CreateTopicsRequestCreatableTopicConfig{Name: configs[i], Value: wire.String(configs[i+1])})
	}
	return t
}

func (f *adminFixture) create(version int16, validateOnly bool, topics ...generated.CreateTopicsRequestCreatableTopic) []generated.CreateTopicsResponseCreatableTopicResult {
	f.t.Helper()
	req := generated.DefaultCreateTopicsRequest()
	req.Topics, req.ValidateOnly = topics, validateOnly
	answer, err := f.ask(generated.KeyCreateTopics, version, &req)
	if err != nil {
		f.t.Fatalf("CreateTopics v%d: %v", version, err)
	}
	return answer.(*generated.CreateTopicsResponse).Topics
}

// mustCreate creates a topic that must not fail.
func (f *adminFixture) mustCreate(name string, partitions int32) wire.UUID {
	f.t.Helper()
	rows := f.create(7, false, creatable(name, partitions, -1))
	if len(rows) != 1 || rows[0].ErrorCode != 0 {
		f.t.Fatalf("creating %s: %+v", name, rows)
	}
	return rows[0].TopicId
}

// drop deletes a topic that must be there.
func (f *adminFixture) drop(name string) {
	f.t.Helper()
	if err := f.b.DeleteTopic(context.Background(), name); err != nil {
		f.t.Fatalf("deleting %s: %v", name, err)
	}
}

// has reports whether a topic exists.
func (f *adminFixture) has(name string) bool {
	f.t.Helper()
	topics, err := f.b.Topics(context.Background())
	if err != nil {
		f.t.Fatal(err)
	}
	for _, t := range topics {
		if t.Name == name {
			return true
		}
	}
	return false
}
