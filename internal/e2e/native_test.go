package e2e

import (
	"bytes"
	"testing"

	"github.com/apache/iggy/foreign/go/client/tcp"
	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// native returns a logged-in client of Iggy's SDK.
func native(t *testing.T, b *broker) *tcp.IggyTcpClient {
	t.Helper()
	c, err := tcp.NewIggyTcpClient(tcp.WithServerAddress(b.iggy))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := c.LoginUser(iggyUser, iggyPassword); err != nil {
		t.Fatal(err)
	}
	return c
}

func identifier(t *testing.T, name string) iggcon.Identifier {
	t.Helper()
	id, err := iggcon.NewIdentifier(name)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func nativePoll(t *testing.T, c *tcp.IggyTcpClient, topic string, partition uint32, n uint32) []iggcon.IggyMessage {
	t.Helper()
	id := identifier(t, topic)
	consumer, err := iggcon.NewIdentifier(uint32(77))
	if err != nil {
		t.Fatal(err)
	}
	polled, err := c.PollMessages(id, id, iggcon.NewSingleConsumer(consumer), iggcon.OffsetPollingStrategy(0), n, false, &partition)
	if err != nil {
		t.Fatal(err)
	}
	return polled.Messages
}

func topicID(t *testing.T, addr, topic string) kadm.TopicID {
	t.Helper()
	details, err := kadm.NewClient(franz(t, addr)).ListTopics(within(t, stepTime), topic)
	if err != nil || details.Error() != nil {
		t.Fatalf("topic %s: %v, %v", topic, err, details.Error())
	}
	return details[topic].ID
}

func TestNativeClientReadsWhatKafkaWrote(t *testing.T) {
	t.Parallel()
	b := start(t)
	topic := topicName(t)
	createTopic(t, b.addr, topic, 2, nil)
	sent := stamped(1, 0, []record{
		{value: []byte("plain")},
		{key: []byte("k"), value: []byte("keyed")},
		{key: []byte("k"), value: []byte("headers"), headers: []header{{"a", []byte("1")}, {"b", []byte("2")}}},
	})
	franzProduce(t, b.addr, topic, sent)
	got := nativePoll(t, native(t, b), topic, 1, 10)
	if len(got) != len(sent) {
		t.Fatalf("%d messages, want %d", len(got), len(sent))
	}
	for i, m := range got {
		if int64(m.Header.Offset) != sent[i].offset || !bytes.Equal(m.Payload, sent[i].value) || m.Header.OriginTimestamp != uint64(sent[i].timestamp*1000) {
			t.Errorf("message %d: offset %d, payload %q, origin %d; want %d, %q, %d µs", i, m.Header.Offset, m.Payload, m.Header.OriginTimestamp, sent[i].offset, sent[i].value, sent[i].timestamp*1000)
		}
	}
	if len(got[0].UserHeaders) != 0 {
		t.Errorf("a plain record has user headers: %x", got[0].UserHeaders)
	}
	headers, err := iggcon.DeserializeHeaders(got[2].UserHeaders)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, h := range headers {
		found[string(h.Key.Value)] = string(h.Value.Value)
	}
	for name, want := range map[string]string{"kafka.v": "\x01", "kafka.key": "k", "kafka.h.a": "1", "kafka.h.b": "2"} {
		if found[name] != want {
			t.Errorf("user header %s is %q, want %q", name, found[name], want)
		}
	}
}

func TestKafkaClientReadsWhatNativeWrote(t *testing.T) {
	t.Parallel()
	b := start(t)
	topic := topicName(t)
	createTopic(t, b.addr, topic, 1, nil)
	c := native(t, b)
	id := identifier(t, topic)
	send := func(texts ...string) {
		var out []iggcon.IggyMessage
		for _, text := range texts {
			m, err := iggcon.NewIggyMessage([]byte(text), iggcon.WithID(uuid.New()))
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, m)
		}
		if err := c.SendMessages(id, id, iggcon.PartitionId(0), out); err != nil {
			t.Fatal(err)
		}
	}
	send("one", "two")
	// Writers of both worlds take turns; the bridge finds its offsets all the same.
	franzProduce(t, b.addr, topic, stamped(0, 2, []record{{key: []byte("k"), value: []byte("three")}}))
	send("four")
	franzProduce(t, b.addr, topic, stamped(0, 4, []record{{value: []byte("five")}}))
	got := franzConsume(t, b.addr, topic, 0, kgo.NewOffset().AtStart(), 5)
	for i, want := range []string{"one", "two", "three", "four", "five"} {
		if got[i].offset != int64(i) || string(got[i].value) != want {
			t.Errorf("offset %d: %q at %d, want %q", i, got[i].value, got[i].offset, want)
		}
	}
	// A consumer that waits sees a native message without being asked again.
	waiting := franz(t, b.addr, kgo.FetchMaxWait(30*stepTime/60), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(5)}}))
	send("six")
	if r := franzPoll(t, waiting, 1); string(r[0].value) != "six" {
		t.Errorf("the waiting consumer got %q", r[0].value)
	}
	b.alive()
}

func TestNativeTopicsAppear(t *testing.T) {
	t.Parallel()
	b := start(t, "BRIDGE_IGGY_REFRESH_INTERVAL=50ms")
	c := native(t, b)
	name := topicName(t)
	if _, err := c.CreateStream(name); err != nil {
		t.Fatal(err)
	}
	id := identifier(t, name)
	if _, err := c.CreateTopic(id, name, 3, iggcon.CompressionAlgorithmNone, iggcon.IggyExpiryNeverExpire, 0, nil); err != nil {
		t.Fatal(err)
	}
	want := stamped(2, 0, []record{{value: []byte("x")}})
	franzProduce(t, b.addr, name, want)
	same(t, "a topic made by Iggy's client", franzConsume(t, b.addr, name, 2, kgo.NewOffset().AtStart(), 1), want)
}
