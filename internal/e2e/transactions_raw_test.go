package e2e

import (
	"maps"
	"net"
	"sync"
	"testing"
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/records"
	pairs "kafka-iggy-bridge/internal/tool"
	"kafka-iggy-bridge/internal/tool/frame"
	"kafka-iggy-bridge/internal/wire"
)

// wireClient sends single requests over a connection of its own, as no client
// library would.
type wireClient struct {
	t    *testing.T
	conn net.Conn
	next int32
}

func dialWire(t *testing.T, addr string) *wireClient {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, stepTime)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &wireClient{t: t, conn: conn}
}

// ask sends a request and returns the answer, or nil when the connection breaks.
func (w *wireClient) ask(key, version int16, body generated.Message) generated.Message {
	w.t.Helper()
	api, ok := generated.LookupAPI(key)
	if !ok {
		w.t.Fatalf("there is no API %d", key)
	}
	pair := pairs.Pair{API: api, Version: version}
	w.next++
	framed, err := frame.AppendRequest(nil, pair, w.next, "raw", body)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.conn.SetDeadline(time.Now().Add(stepTime)); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.conn.Write(framed); err != nil {
		return nil
	}
	payload, err := frame.Read(w.conn)
	if err != nil {
		return nil
	}
	h, answer, err := frame.DecodeResponse(pair, payload)
	if err != nil || h.CorrelationId != w.next {
		w.t.Fatalf("%s: answer %+v: %v", pair, h, err)
	}
	return answer
}

// sent is an idempotent producer's batch.
type sent struct {
	topic    string
	producer int64
	epoch    int16
	sequence int32
	values   []string
}

func (s sent) batch(t *testing.T) []byte {
	t.Helper()
	var b records.Builder
	b.Reset(nil, records.BatchSpec{LeaderEpoch: -1, HasProducer: true, ProducerID: s.producer, ProducerEpoch: s.epoch, BaseSequence: s.sequence})
	for _, v := range s.values {
		if err := b.Append(baseTime, nil, []byte(v), nil); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// told is what a producer is told about its batch.
type told struct {
	code         int16
	base, append int64
}

// produce writes a batch to partition 0, again while the bridge says that it
// cannot yet.
func (w *wireClient) produce(s sent) told {
	w.t.Helper()
	req := generated.DefaultProduceRequest()
	req.Acks, req.TimeoutMs = -1, 30_000
	req.TopicData = []generated.ProduceRequestTopicProduceData{{Name: s.topic, PartitionData: []generated.ProduceRequestPartitionProduceData{{Records: s.batch(w.t)}}}}
	var out told
	await(w.t, "a batch is answered", func() bool {
		answer := w.ask(generated.KeyProduce, 9, &req)
		if answer == nil {
			w.t.Fatal("produce: the connection broke")
		}
		row := answer.(*generated.ProduceResponse).Responses[0].PartitionResponses[0]
		out = told{row.ErrorCode, row.BaseOffset, row.LogAppendTimeMs}
		return out.code != errorcode.LeaderNotAvailable && out.code != errorcode.NotLeaderOrFollower && out.code != errorcode.UnknownTopicOrPartition
	})
	return out
}

// producerID gets an id for an idempotent producer.
func (w *wireClient) producerID() int64 {
	w.t.Helper()
	req := generated.DefaultInitProducerIdRequest()
	req.TransactionalId, req.TransactionTimeoutMs = wire.NullString{}, 60_000
	answer, ok := w.ask(generated.KeyInitProducerId, 4, &req).(*generated.InitProducerIdResponse)
	if !ok || answer.ErrorCode != errorcode.None || answer.ProducerEpoch != 0 {
		w.t.Fatalf("an id for a producer: %+v", answer)
	}
	return answer.ProducerId
}

// TestDuplicatesOverConnectionsAndRestarts sends a producer's last five batches
// again: over the same connection, over another one, and after the bridge was
// restarted and killed. They are told where they are and not written again; what
// does not follow, or is of an epoch that is over, is refused.
func TestDuplicatesOverConnectionsAndRestarts(t *testing.T) {
	t.Parallel()
	b := start(t)
	topic, appendTime := topicName(t), "LogAppendTime"
	createTopic(t, b.addr, topic, 1, map[string]*string{"message.timestamp.type": &appendTime})
	first := dialWire(t, b.addr)
	producer := first.producerID()
	var all []sent
	answers := map[int32]told{}
	add := func(w *wireClient, epoch int16, sequence int32, values ...string) {
		t.Helper()
		s := sent{topic, producer, epoch, sequence, values}
		got := w.produce(s)
		if got.code != errorcode.None {
			t.Fatalf("batch with sequence %d: %s", sequence, errorcode.Name(got.code))
		}
		all = append(all, s)
		answers[sequence] = got
	}
	for i := range int32(7) {
		add(first, 0, 2*i, "a", "b")
	}
	again := func(why string, w *wireClient) {
		t.Helper()
		for i, s := range all {
			want := answers[s.sequence]
			if i < len(all)-5 {
				want = told{errorcode.OutOfOrderSequenceNumber, -1, -1}
			}
			if got := w.produce(s); got != want {
				t.Errorf("%s: sequence %d again: %+v, want %+v", why, s.sequence, got, want)
			}
		}
		last := all[len(all)-1]
		gap := sent{topic, producer, last.epoch, last.sequence + 3, []string{"gap"}}
		if got := w.produce(gap); got.code != errorcode.OutOfOrderSequenceNumber {
			t.Errorf("%s: behind a gap: %s", why, errorcode.Name(got.code))
		}
		overlapping := sent{topic, producer, last.epoch, last.sequence + 1, []string{"b", "c"}}
		if got := w.produce(overlapping); got.code != errorcode.OutOfOrderSequenceNumber {
			t.Errorf("%s: half of a batch again: %s", why, errorcode.Name(got.code))
		}
	}
	again("at once", first)
	again("over another connection", dialWire(t, b.addr))
	b.restart()
	again("after a restart", dialWire(t, b.addr))
	add(dialWire(t, b.addr), 0, 14, "a", "b")
	b.kill()
	b.run()
	w := dialWire(t, b.addr)
	again("after a kill", w)
	add(w, 0, 16, "a", "b")

	// The next epoch begins at 0, and ends the one before.
	next := sent{topic, producer, 1, 0, []string{"next"}}
	if got := w.produce(sent{topic, producer, 1, 1, []string{"not the first"}}); got.code != errorcode.OutOfOrderSequenceNumber {
		t.Errorf("a new epoch that does not begin at 0: %s", errorcode.Name(got.code))
	}
	if got := w.produce(next); got.code != errorcode.None || got.base != 18 {
		t.Errorf("a new epoch: %+v", got)
	}
	b.kill()
	b.run()
	w = dialWire(t, b.addr)
	if got := w.produce(sent{topic, producer, 0, 18, []string{"old"}}); got.code != errorcode.InvalidProducerEpoch {
		t.Errorf("an epoch that is over: %s", errorcode.Name(got.code))
	}
	if got := w.produce(next); got.code != errorcode.None || got.base != 18 {
		t.Errorf("a new epoch's batch again: %+v", got)
	}
	if _, end := ends(t, b.addr, topic, 0); end != 19 {
		t.Errorf("the log ends at %d, want 19", end)
	}
	b.alive()
}

// TestTwins sends each batch over several connections at once.
func TestTwins(t *testing.T) {
	t.Parallel()
	const twins, batches = 4, 60
	b := start(t)
	topic := topicName(t)
	createTopic(t, b.addr, topic, 1, nil)
	var conns []*wireClient
	for range twins {
		conns = append(conns, dialWire(t, b.addr))
	}
	producer := conns[0].producerID()
	for i := range int32(batches) {
		answers := make([]told, twins)
		var wg sync.WaitGroup
		for k, w := range conns {
			wg.Go(func() { answers[k] = w.produce(sent{topic, producer, 0, i, []string{"twin"}}) })
		}
		wg.Wait()
		// As in Kafka, one that was there is told its time even where the topic does
		// not set times.
		first, again := told{errorcode.None, int64(i), -1}, told{errorcode.None, int64(i), baseTime}
		counts := map[told]int{}
		for _, got := range answers {
			counts[got]++
		}
		if want := map[told]int{first: 1, again: twins - 1}; !maps.Equal(counts, want) {
			t.Fatalf("batch %d: %+v, want %+v", i, counts, want)
		}
	}
	if _, end := ends(t, b.addr, topic, 0); end != batches {
		t.Errorf("the log ends at %d, want %d", end, batches)
	}
	b.alive()
}
