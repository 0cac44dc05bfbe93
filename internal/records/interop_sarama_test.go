package records

import (
	"encoding/binary"
	"io"
	"net"
	"testing"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// interopRecords are edge's but for times that other clients change: sarama
// keeps no time before 1970.
func interopRecords() []Record {
	rs := edge()
	rs[4].Timestamp = testNow + 1
	rs[5].Timestamp = testNow + 2
	return append(rs, Record{Offset: 6, Timestamp: testNow, Key: noise(1000), Value: text(200_000)})
}

// answer serves one request of a client and returns its body, the header left
// out, which for the requests here ends with the client id.
func answer(l net.Listener, clientID string, response []byte) ([]byte, error) {
	conn, err := l.Accept()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	var size [4]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return nil, err
	}
	request := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(conn, request); err != nil {
		return nil, err
	}
	out := binary.BigEndian.AppendUint32(nil, uint32(4+len(response)))
	out = append(append(out, request[4:8]...), response...)
	if _, err := conn.Write(out); err != nil {
		return nil, err
	}
	return request[8+2+len(clientID):], nil
}

// withSarama lets call use a sarama broker whose one request gets response,
// and returns the request's body.
func withSarama(t *testing.T, response []byte, call func(b *sarama.Broker)) []byte {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	config := sarama.NewConfig()
	config.ApiVersionsRequest = false
	config.Version = sarama.V2_1_0_0
	type result struct {
		body []byte
		err  error
	}
	served := make(chan result, 1)
	go func() {
		body, err := answer(l, config.ClientID, response)
		served <- result{body, err}
	}()
	broker := sarama.NewBroker(l.Addr().String())
	if err := broker.Open(config); err != nil {
		t.Fatal(err)
	}
	call(broker)
	got := <-served
	if got.err != nil {
		t.Fatal(got.err)
	}
	if err := broker.Close(); err != nil {
		t.Fatal(err)
	}
	return got.body
}

func TestSaramaReadsWhatWeWrite(t *testing.T) {
	t.Parallel()
	for _, c := range allCodecs {
		response := kmsg.NewFetchResponse()
		response.SetVersion(10)
		topic := kmsg.NewFetchResponseTopic()
		topic.Topic = "t"
		partition := kmsg.NewFetchResponseTopicPartition()
		partition.RecordBatches = build(t, BatchSpec{BaseOffset: 70, LeaderEpoch: 2, Codec: c}, interopRecords()...)
		topic.Partitions = append(topic.Partitions, partition)
		response.Topics = append(response.Topics, topic)
		withSarama(t, response.AppendTo(nil), func(b *sarama.Broker) {
			got, err := b.Fetch(&sarama.FetchRequest{Version: 10})
			if err != nil {
				t.Fatalf("%s: %v", c, err)
			}
			batch := got.GetBlock("t", 0).RecordsSet[0].RecordBatch
			if batch.FirstOffset != 70 || batch.PartitionLeaderEpoch != 2 || batch.PartialTrailingRecord {
				t.Errorf("%s: header %+v", c, batch)
			}
			// sarama holds null and empty values of headers to be equal.
			if diff := diffRecords(interopRecords(), readSarama(batch), sameEmpty); diff != "" {
				t.Errorf("%s: %s", c, diff)
			}
		})
	}
}

func readSarama(b *sarama.RecordBatch) []Record {
	var out []Record
	for _, r := range b.Records {
		rec := Record{Offset: r.OffsetDelta, Timestamp: b.FirstTimestamp.Add(r.TimestampDelta).UnixMilli(), Key: r.Key, Value: r.Value}
		for _, h := range r.Headers {
			rec.Headers = append(rec.Headers, Header{Key: string(h.Key), Value: h.Value})
		}
		out = append(out, rec)
	}
	return out
}

func TestReadsWhatSaramaWrites(t *testing.T) {
	t.Parallel()
	for _, c := range allCodecs {
		response := kmsg.NewProduceResponse()
		response.SetVersion(7)
		topic := kmsg.NewProduceResponseTopic()
		topic.Topic = "t"
		topic.Partitions = append(topic.Partitions, kmsg.NewProduceResponseTopicPartition())
		response.Topics = append(response.Topics, topic)
		request := &sarama.ProduceRequest{Version: 7, RequiredAcks: sarama.WaitForAll, Timeout: 1000}
		request.AddBatch("t", 0, saramaBatch(c, javaRecords(30)))
		body := withSarama(t, response.AppendTo(nil), func(b *sarama.Broker) {
			if _, err := b.Produce(request); err != nil {
				t.Fatalf("%s: %v", c, err)
			}
		})
		decoded := kmsg.NewPtrProduceRequest()
		decoded.SetVersion(7)
		if err := decoded.ReadFrom(body); err != nil {
			t.Fatalf("%s: %v", c, err)
		}
		b, err := ValidateProduce(decoded.Topics[0].Partitions[0].Records, DefaultValidateOptions(7, testNow))
		if err != nil {
			t.Fatalf("%s: sarama's batch is refused: %v", c, err)
		}
		if b.Codec() != c {
			t.Errorf("codec %s, want %s", b.Codec(), c)
		}
		if diff := diffRecords(javaRecords(30), collect(t, b), sameEmpty); diff != "" {
			t.Errorf("%s: %s", c, diff)
		}
		b.Release()
	}
}

func saramaBatch(c Codec, rs []Record) *sarama.RecordBatch {
	b := &sarama.RecordBatch{
		Version: 2, Codec: sarama.CompressionCodec(c), CompressionLevel: sarama.CompressionLevelDefault,
		FirstTimestamp: msTime(rs[0].Timestamp), MaxTimestamp: msTime(rs[0].Timestamp),
		ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, LastOffsetDelta: int32(len(rs) - 1),
	}
	for i, r := range rs {
		rec := &sarama.Record{
			OffsetDelta: int64(i), TimestampDelta: msTime(r.Timestamp).Sub(b.FirstTimestamp), Key: r.Key, Value: r.Value,
		}
		for _, h := range r.Headers {
			rec.Headers = append(rec.Headers, &sarama.RecordHeader{Key: []byte(h.Key), Value: h.Value})
		}
		b.Records = append(b.Records, rec)
	}
	return b
}
