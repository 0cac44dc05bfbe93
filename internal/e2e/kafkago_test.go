package e2e

import (
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
)

// manual sends each message to the partition that its writer is for.
type manual int

func (m manual) Balance(kafka.Message, ...int) int { return int(m) }

func toKafkaGo(r record) kafka.Message {
	m := kafka.Message{Key: r.key, Value: r.value, Time: time.UnixMilli(r.timestamp)}
	for _, h := range r.headers {
		m.Headers = append(m.Headers, kafka.Header{Key: h.key, Value: h.value})
	}
	return m
}

func fromKafkaGo(m kafka.Message) record {
	r := record{partition: int32(m.Partition), offset: m.Offset, timestamp: m.Time.UnixMilli(), key: m.Key, value: m.Value}
	for _, h := range m.Headers {
		r.headers = append(r.headers, header{h.Key, h.Value})
	}
	return r
}

func kafkaGoProduce(t *testing.T, addr, topic string, rs []record, codec kafka.Compression, acks kafka.RequiredAcks) {
	t.Helper()
	// A transport of its own: the default one remembers for seconds that a topic
	// does not exist.
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	w := &kafka.Writer{Transport: transport, Addr: kafka.TCP(addr), Topic: topic, Balancer: manual(rs[0].partition), RequiredAcks: acks,
		Compression: codec, BatchTimeout: 5 * time.Millisecond, BatchBytes: 1 << 20, AllowAutoTopicCreation: false}
	var out []kafka.Message
	for _, r := range rs {
		out = append(out, toKafkaGo(r))
	}
	if err := w.WriteMessages(within(t, stepTime), out...); err != nil {
		t.Fatalf("produce to %s: %v", topic, err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

func kafkaGoConsume(t *testing.T, addr, topic string, partition int, from int64, n int) []record {
	t.Helper()
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{addr}, Topic: topic, Partition: partition, MaxBytes: 8 << 20, MaxWait: 500 * time.Millisecond})
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := r.SetOffset(from); err != nil {
		t.Fatal(err)
	}
	ctx := within(t, stepTime)
	var got []record
	for len(got) < n {
		m, err := r.ReadMessage(ctx)
		if err != nil {
			t.Fatalf("%d of %d records: %v", len(got), n, err)
		}
		got = append(got, fromKafkaGo(m))
	}
	return got
}

// asKafkaGo is a record as kafka-go hands it out: it does not tell an empty key,
// value or header value from null.
func asKafkaGo(rs []record) []record {
	out := make([]record, len(rs))
	for i, r := range rs {
		r.key, r.value = nilIfEmpty(r.key), nilIfEmpty(r.value)
		var hs []header
		for _, h := range r.headers {
			hs = append(hs, header{h.key, nilIfEmpty(h.value)})
		}
		r.headers = hs
		out[i] = r
	}
	return out
}

func nilIfEmpty(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

func TestKafkaGoRoundTrips(t *testing.T) {
	t.Parallel()
	b := start(t)
	codecs := map[string]kafka.Compression{"none": 0, "gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd}
	acks := map[string]kafka.RequiredAcks{"all": kafka.RequireAll, "one": kafka.RequireOne, "none": kafka.RequireNone}
	for codecName, codec := range codecs {
		for acksName, ack := range acks {
			t.Run(codecName+"/"+acksName, func(t *testing.T) {
				topic := topicName(t)
				createTopic(t, b.addr, topic, 2, nil)
				want := stamped(1, 0, append(edgeCases(), large()))
				kafkaGoProduce(t, b.addr, topic, want, codec, ack)
				got := kafkaGoConsume(t, b.addr, topic, 1, kafka.FirstOffset, len(want))
				same(t, "from the start", asKafkaGo(got), asKafkaGo(want))
				got = kafkaGoConsume(t, b.addr, topic, 1, 7, len(want)-7)
				same(t, "from an offset", asKafkaGo(got), asKafkaGo(want[7:]))
			})
		}
	}
	b.alive()
}

func TestKafkaGoOffsets(t *testing.T) {
	t.Parallel()
	b := start(t)
	topic := topicName(t)
	createTopic(t, b.addr, topic, 1, nil)
	all := stamped(0, 0, edgeCases())
	franzProduce(t, b.addr, topic, all)
	conn, err := kafka.DialLeader(within(t, stepTime), "tcp", b.addr, topic, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if first, last, err := conn.ReadOffsets(); err != nil || first != 0 || last != int64(len(all)) {
		t.Errorf("from %d to %d (%v), want 0 to %d", first, last, err, len(all))
	}
	if got, err := conn.ReadOffset(time.UnixMilli(all[6].timestamp)); err != nil || got != 6 {
		t.Errorf("by time: %d (%v), want 6", got, err)
	}
	b.alive()
}
