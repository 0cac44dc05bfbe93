package e2e

import (
	"testing"
	"time"

	"github.com/IBM/sarama"
)

func saramaConfig(codec sarama.CompressionCodec, acks sarama.RequiredAcks) *sarama.Config {
	c := sarama.NewConfig()
	c.Version = sarama.MaxVersion
	c.Producer.Compression, c.Producer.RequiredAcks = codec, acks
	c.Producer.Return.Successes, c.Producer.Return.Errors = true, true
	c.Producer.Partitioner = sarama.NewManualPartitioner
	c.Producer.MaxMessageBytes = 1 << 20
	c.Consumer.Return.Errors = true
	return c
}

func toSarama(topic string, r record) *sarama.ProducerMessage {
	m := &sarama.ProducerMessage{Topic: topic, Partition: r.partition, Timestamp: time.UnixMilli(r.timestamp)}
	if r.key != nil {
		m.Key = sarama.ByteEncoder(r.key)
	}
	if r.value != nil {
		m.Value = sarama.ByteEncoder(r.value)
	}
	for _, h := range r.headers {
		m.Headers = append(m.Headers, sarama.RecordHeader{Key: []byte(h.key), Value: h.value})
	}
	return m
}

func fromSarama(m *sarama.ConsumerMessage) record {
	r := record{partition: m.Partition, offset: m.Offset, timestamp: m.Timestamp.UnixMilli(), key: m.Key, value: m.Value}
	for _, h := range m.Headers {
		r.headers = append(r.headers, header{string(h.Key), h.Value})
	}
	return r
}

func saramaProduce(t *testing.T, addr, topic string, rs []record, config *sarama.Config) {
	t.Helper()
	p, err := sarama.NewSyncProducer([]string{addr}, config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	for i, r := range rs {
		partition, offset, err := p.SendMessage(toSarama(topic, r))
		if err != nil {
			t.Fatalf("produce record %d to %s: %v", i, topic, err)
		}
		if partition != r.partition || config.Producer.RequiredAcks != sarama.NoResponse && offset != r.offset {
			t.Errorf("record %d of %s went to %d/%d, want %d/%d", i, topic, partition, offset, r.partition, r.offset)
		}
	}
}

func saramaConsume(t *testing.T, addr, topic string, partition int32, from int64, n int) []record {
	t.Helper()
	c, err := sarama.NewConsumer([]string{addr}, saramaConfig(sarama.CompressionNone, sarama.WaitForAll))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	pc, err := c.ConsumePartition(topic, partition, from)
	if err != nil {
		t.Fatal(err)
	}
	defer pc.AsyncClose()
	deadline := time.After(stepTime)
	var got []record
	for len(got) < n {
		select {
		case m := <-pc.Messages():
			got = append(got, fromSarama(m))
		case err := <-pc.Errors():
			t.Fatal(err)
		case <-deadline:
			t.Fatalf("%d of %d records after %s", len(got), n, stepTime)
		}
	}
	return got
}

// forSarama leaves out what Sarama cannot say: it sends a null header value as an
// empty one, and reads empty keys and values as the other clients do.
func forSarama(rs []record) []record {
	var out []record
	for _, r := range rs {
		fits := true
		for _, h := range r.headers {
			fits = fits && h.value != nil
		}
		if fits {
			out = append(out, r)
		}
	}
	return out
}

func TestSaramaRoundTrips(t *testing.T) {
	t.Parallel()
	b := start(t)
	codecs := map[string]sarama.CompressionCodec{"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy, "lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD}
	acks := map[string]sarama.RequiredAcks{"all": sarama.WaitForAll, "one": sarama.WaitForLocal, "none": sarama.NoResponse}
	for codecName, codec := range codecs {
		for acksName, ack := range acks {
			t.Run(codecName+"/"+acksName, func(t *testing.T) {
				topic := topicName(t)
				createTopic(t, b.addr, topic, 2, nil)
				want := stamped(1, 0, append(forSarama(edgeCases()), large()))
				saramaProduce(t, b.addr, topic, want, saramaConfig(codec, ack))
				same(t, "from the start", saramaConsume(t, b.addr, topic, 1, sarama.OffsetOldest, len(want)), want)
				same(t, "from an offset", saramaConsume(t, b.addr, topic, 1, 5, len(want)-5), want[5:])
			})
		}
	}
	b.alive()
}

func TestSaramaOffsets(t *testing.T) {
	t.Parallel()
	b := start(t)
	topic := topicName(t)
	createTopic(t, b.addr, topic, 1, nil)
	all := stamped(0, 0, forSarama(edgeCases()))
	saramaProduce(t, b.addr, topic, all, saramaConfig(sarama.CompressionNone, sarama.WaitForAll))
	c, err := sarama.NewClient([]string{b.addr}, saramaConfig(sarama.CompressionNone, sarama.WaitForAll))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, q := range []struct {
		why        string
		time, want int64
	}{
		{"oldest", sarama.OffsetOldest, 0},
		{"newest", sarama.OffsetNewest, int64(len(all))},
		{"a record's own time", all[4].timestamp, 4},
		{"between two records", all[4].timestamp + 1, 5},
	} {
		if got, err := c.GetOffset(topic, 0, q.time); err != nil || got != q.want {
			t.Errorf("%s: %d (%v), want %d", q.why, got, err, q.want)
		}
	}
	b.alive()
}
