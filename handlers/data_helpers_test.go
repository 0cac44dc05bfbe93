package handlers

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/engine"
	"kafka-iggy-bridge/internal/engine/storage"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/wire"
)

// dataFixture is a set of handlers over a bridge on an embedded engine whose
// clock can be put forward.
type dataFixture struct {
	*adminFixture
	ahead atomic.Int64 // how far the engine's clock is, in ns
}

func newData(t testing.TB, change func(*Config, *bridge.Config)) *dataFixture {
	t.Helper()
	return newDataOn(t, nil, change)
}

// newDataOn is newData over an engine whose segment files are opened by open.
func newDataOn(t testing.TB, open storage.OpenFunc, change func(*Config, *bridge.Config)) *dataFixture {
	t.Helper()
	f := &dataFixture{}
	e, err := engine.Open(engine.Options{
		DataDir:  t.TempDir(),
		Logger:   adminLog(),
		Clock:    func() time.Time { return time.Now().Add(time.Duration(f.ahead.Load())) },
		OpenFile: open,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeWithin(t, "engine", e.Close) })
	user, password := e.Credentials()
	f.adminFixture = newAdminAt(t, bridge.Config{Address: e.Addr().String(), Username: user, Password: password}, change)
	f.engine = e
	f.await(func() bool { return f.b.Health() == nil })
	return f
}

// topic creates a topic; configs are names and values in turn.
func (f *dataFixture) topic(name string, partitions int32, configs ...string) *bridge.Topic {
	f.t.Helper()
	spec := bridge.TopicSpec{Partitions: partitions, Configs: map[string]string{}}
	for i := 0; i < len(configs); i += 2 {
		spec.Configs[configs[i]] = configs[i+1]
	}
	topic, err := f.b.CreateTopic(context.Background(), name, spec)
	if err != nil {
		f.t.Fatalf("creating %s: %v", name, err)
	}
	return topic
}

// expire makes the engine delete everything in topics with a retention.ms of at
// most an hour.
func (f *dataFixture) expire() {
	f.ahead.Add(int64(2 * time.Hour))
	f.engine.Retain()
}

// call sends a request through the codec in both directions and the handler. The
// answer is nil where there is none. Like the server it lets the frame turn into
// rubbish once the answer is written.
func (f *dataFixture) call(ctx context.Context, key, version int16, body generated.Message) (generated.Message, *Request) {
	f.t.Helper()
	api, _ := generated.LookupAPI(key)
	frame, err := body.Append(nil, version)
	if err != nil {
		f.t.Errorf("%s v%d: encoding the request: %v", api.Name, version, err)
		return nil, nil
	}
	endpoint, ok := f.h.Lookup(key)
	if !ok || version < endpoint.Min || version > endpoint.Max {
		f.t.Errorf("%s v%d is not served", api.Name, version)
		return nil, nil
	}
	req := &Request{Key: key, Version: version, Header: generated.DefaultRequestHeader(), ClientID: "test", Body: api.NewRequest()}
	if _, err := req.Body.Decode(version, frame); err != nil {
		f.t.Errorf("%s v%d: decoding the request: %v", api.Name, version, err)
		return nil, nil
	}
	answer, err := endpoint.Handle(ctx, req)
	if err != nil {
		f.t.Errorf("%s v%d: %v", api.Name, version, err)
		return nil, req
	}
	if answer == nil {
		clear(frame)
		return nil, req
	}
	out, err := answer.Append(nil, version)
	clear(frame)
	if err != nil {
		f.t.Errorf("%s v%d: encoding the answer: %v", api.Name, version, err)
		return nil, req
	}
	decoded := api.NewResponse()
	if rest, err := decoded.Decode(version, out); err != nil || len(rest) > 0 {
		f.t.Errorf("%s v%d: decoding the answer: %v, %d bytes left", api.Name, version, err, len(rest))
	}
	return decoded, req
}

// record is a record to produce. A nil key or value is null.
type record struct {
	key, value []byte
	timestamp  int64
}

// batch makes a batch as a producer sends it.
func batch(spec records.BatchSpec, list ...record) []byte {
	spec.LeaderEpoch = records.NoLeaderEpoch
	var b records.Builder
	b.Reset(nil, spec)
	for _, r := range list {
		if err := b.Append(r.timestamp, r.key, r.value, nil); err != nil {
			panic(err)
		}
	}
	raw, err := b.Finish()
	if err != nil {
		panic(err)
	}
	return raw
}

// values makes a plain batch of records with the key "k".
func values(list ...string) []byte {
	now := time.Now().UnixMilli()
	all := make([]record, len(list))
	for i, v := range list {
		all[i] = record{key: []byte("k"), value: []byte(v), timestamp: now}
	}
	return batch(records.BatchSpec{}, all...)
}

// part is a partition in a request.
type part struct {
	topic     string
	id        wire.UUID
	partition int32
	records   []byte // Produce
	offset    int64  // Fetch
	max       int32  // Fetch, 1 MiB when 0
	epoch     int32  // current leader epoch + 1, so that 0 is none
	lastEpoch int32  // last fetched epoch + 1
}

// produceRequest puts each part into a topic of its own, with acks=all.
func produceRequest(parts ...part) *generated.ProduceRequest {
	req := generated.DefaultProduceRequest()
	req.Acks, req.TimeoutMs = -1, 10_000
	for _, p := range parts {
		t := generated.DefaultProduceRequestTopicProduceData()
		t.Name, t.TopicId = p.topic, p.id
		data := generated.DefaultProduceRequestPartitionProduceData()
		data.Index, data.Records = p.partition, p.records
		t.PartitionData = append(t.PartitionData, data)
		req.TopicData = append(req.TopicData, t)
	}
	return &req
}

// produceRows asks and returns the answer's rows in order.
func (f *dataFixture) produceRows(version int16, req *generated.ProduceRequest) []generated.ProduceResponsePartitionProduceResponse {
	f.t.Helper()
	answer, _ := f.call(context.Background(), generated.KeyProduce, version, req)
	resp, ok := answer.(*generated.ProduceResponse)
	if !ok {
		f.t.Fatalf("no answer to Produce v%d", version)
	}
	var rows []generated.ProduceResponsePartitionProduceResponse
	for _, t := range resp.Responses {
		rows = append(rows, t.PartitionResponses...)
	}
	return rows
}

// mustProduce writes a batch and returns its base offset.
func (f *dataFixture) mustProduce(topic string, partition int32, raw []byte) int64 {
	f.t.Helper()
	rows := f.produceRows(9, produceRequest(part{topic: topic, partition: partition, records: raw}))
	if len(rows) != 1 || rows[0].ErrorCode != errorcode.None {
		f.t.Fatalf("producing to %s-%d: %+v", topic, partition, rows)
	}
	return rows[0].BaseOffset
}

// fetchRequest puts each part into a topic of its own and waits for nothing.
func fetchRequest(parts ...part) *generated.FetchRequest {
	req := generated.DefaultFetchRequest()
	req.MaxBytes, req.MinBytes = 50<<20, 1
	for _, p := range parts {
		t := generated.DefaultFetchRequestFetchTopic()
		t.Topic, t.TopicId = p.topic, p.id
		q := generated.DefaultFetchRequestFetchPartition()
		q.Partition, q.FetchOffset, q.PartitionMaxBytes = p.partition, p.offset, 1<<20
		if p.max != 0 {
			q.PartitionMaxBytes = p.max
		}
		q.CurrentLeaderEpoch, q.LastFetchedEpoch = p.epoch-1, p.lastEpoch-1
		t.Partitions = append(t.Partitions, q)
		req.Topics = append(req.Topics, t)
	}
	return &req
}

// fetchRows asks and returns the answer's rows in order.
func (f *dataFixture) fetchRows(ctx context.Context, version int16, req *generated.FetchRequest) []generated.FetchResponsePartitionData {
	f.t.Helper()
	answer, _ := f.call(ctx, generated.KeyFetch, version, req)
	resp, ok := answer.(*generated.FetchResponse)
	if !ok {
		f.t.Errorf("no answer to Fetch v%d", version)
		return nil
	}
	var rows []generated.FetchResponsePartitionData
	for _, t := range resp.Responses {
		rows = append(rows, t.Partitions...)
	}
	return rows
}

// fetched is a record as a consumer sees it.
type fetched struct {
	offset, timestamp int64
	key, value        string
	nullKey           bool
}

// unpack reads the batches of a row from an offset on and checks their form.
func unpack(t testing.TB, raw []byte, from int64) []fetched {
	t.Helper()
	var list []fetched
	for len(raw) > 0 {
		b, rest, err := records.Parse(raw)
		if err != nil {
			t.Fatalf("fetched records: %v", err)
		}
		if err := b.VerifyCRC(); err != nil {
			t.Errorf("batch at %d: %v", b.BaseOffset, err)
		}
		if b.LeaderEpoch != leaderEpoch {
			t.Errorf("batch at %d has the leader epoch %d", b.BaseOffset, b.LeaderEpoch)
		}
		if err := b.Decompress(records.DefaultMaxDecompressed); err != nil {
			t.Fatalf("batch at %d: %v", b.BaseOffset, err)
		}
		it := b.Iterator()
		for r := (records.Record{}); it.Next(&r); {
			if r.Offset >= from {
				list = append(list, fetched{offset: r.Offset, timestamp: r.Timestamp, key: string(r.Key), value: string(r.Value), nullKey: r.Key == nil})
			}
		}
		if err := it.Err(); err != nil {
			t.Fatalf("batch at %d: %v", b.BaseOffset, err)
		}
		b.Release()
		raw = rest
	}
	return list
}

// contents are the values in a partition from an offset on.
func (f *dataFixture) contents(topic string, partition int32, from int64) []string {
	f.t.Helper()
	rows := f.fetchRows(context.Background(), 12, fetchRequest(part{topic: topic, partition: partition, offset: from}))
	if len(rows) != 1 || rows[0].ErrorCode != errorcode.None {
		f.t.Fatalf("fetching %s-%d: %+v", topic, partition, rows)
	}
	var list []string
	for _, r := range unpack(f.t, rows[0].Records, from) {
		list = append(list, r.value)
	}
	return list
}
