package e2e

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// stepTime bounds one step of a test: a produce, a consume, a restart.
const stepTime = 60 * time.Second

// franz returns a franz-go client that ends with the test.
func franz(t *testing.T, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchMaxBytes(1 << 20), kgo.FetchMaxWait(500 * time.Millisecond)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func createTopic(t *testing.T, addr, topic string, partitions int32, configs map[string]*string) {
	t.Helper()
	r, err := kadm.NewClient(franz(t, addr)).CreateTopic(within(t, stepTime), partitions, 1, configs, topic)
	if err != nil {
		t.Fatalf("create %s: %v", topic, err)
	}
	if r.NumPartitions != partitions {
		t.Errorf("create %s: %d partitions, want %d", topic, r.NumPartitions, partitions)
	}
}

func toFranz(topic string, r record) *kgo.Record {
	out := &kgo.Record{Topic: topic, Partition: r.partition, Key: r.key, Value: r.value, Timestamp: time.UnixMilli(r.timestamp)}
	for _, h := range r.headers {
		out.Headers = append(out.Headers, kgo.RecordHeader{Key: h.key, Value: h.value})
	}
	return out
}

func fromFranz(r *kgo.Record) record {
	out := record{partition: r.Partition, offset: r.Offset, timestamp: r.Timestamp.UnixMilli(), key: r.Key, value: r.Value}
	for _, h := range r.Headers {
		out.headers = append(out.headers, header{h.Key, h.Value})
	}
	return out
}

// franzProduce sends records in order and checks the offsets they are said to
// have; with acks=0 there are none.
func franzProduce(t *testing.T, addr, topic string, rs []record, opts ...kgo.Opt) {
	t.Helper()
	c := franz(t, addr, opts...)
	var out []*kgo.Record
	for _, r := range rs {
		out = append(out, toFranz(topic, r))
	}
	for i, res := range c.ProduceSync(within(t, stepTime), out...) {
		if res.Err != nil {
			t.Fatalf("produce record %d to %s: %v", i, topic, res.Err)
		}
	}
}

// franzConsume reads n records of a partition from an offset on.
func franzConsume(t *testing.T, addr, topic string, partition int32, from kgo.Offset, n int) []record {
	t.Helper()
	c := franz(t, addr, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {partition: from}}))
	return franzPoll(t, c, n)
}

func franzPoll(t *testing.T, c *kgo.Client, n int) []record {
	t.Helper()
	ctx := within(t, stepTime)
	var got []record
	for len(got) < n {
		fetches := c.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			t.Fatalf("%d of %d records after %s", len(got), n, stepTime)
		}
		fetches.EachError(func(topic string, p int32, err error) { t.Fatalf("fetch %s-%d: %v", topic, p, err) })
		fetches.EachRecord(func(r *kgo.Record) { got = append(got, fromFranz(r)) })
	}
	return got
}

// ends returns the start and end offsets of a partition.
func ends(t *testing.T, addr, topic string, partition int32) (start, end int64) {
	t.Helper()
	adm := kadm.NewClient(franz(t, addr))
	s, err := adm.ListStartOffsets(within(t, stepTime), topic)
	if err != nil {
		t.Fatal(err)
	}
	e, err := adm.ListEndOffsets(within(t, stepTime), topic)
	if err != nil {
		t.Fatal(err)
	}
	so, _ := s.Lookup(topic, partition)
	eo, _ := e.Lookup(topic, partition)
	if so.Err != nil || eo.Err != nil {
		t.Fatalf("offsets of %s-%d: %v, %v", topic, partition, so.Err, eo.Err)
	}
	return so.Offset, eo.Offset
}

func TestFranzRoundTrips(t *testing.T) {
	t.Parallel()
	b := start(t)
	codecs := map[string]kgo.CompressionCodec{"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression()}
	acks := map[string]kgo.Acks{"all": kgo.AllISRAcks(), "one": kgo.LeaderAck(), "none": kgo.NoAck()}
	for codecName, codec := range codecs {
		for acksName, ack := range acks {
			t.Run(codecName+"/"+acksName, func(t *testing.T) {
				topic := topicName(t)
				createTopic(t, b.addr, topic, 3, nil)
				opts := []kgo.Opt{kgo.ProducerBatchCompression(codec), kgo.RequiredAcks(ack)}
				if acksName != "all" {
					opts = append(opts, kgo.DisableIdempotentWrite())
				}
				for p := range int32(3) {
					want := stamped(p, 0, append(edgeCases(), large()))
					franzProduce(t, b.addr, topic, want, opts...)
					same(t, "from the start", franzConsume(t, b.addr, topic, p, kgo.NewOffset().AtStart(), len(want)), want)
					if s, e := ends(t, b.addr, topic, p); s != 0 || e != int64(len(want)) {
						t.Errorf("partition %d reaches from %d to %d, want 0 to %d", p, s, e, len(want))
					}
				}
			})
		}
	}
	b.alive()
}

func TestFranzPositions(t *testing.T) {
	t.Parallel()
	b := start(t)
	topic := topicName(t)
	createTopic(t, b.addr, topic, 1, nil)
	all := stamped(0, 0, append(edgeCases(), edgeCases()...))
	franzProduce(t, b.addr, topic, all)
	for name, c := range map[string]struct {
		from kgo.Offset
		want int
	}{
		"start":                      {kgo.NewOffset().AtStart(), 0},
		"an offset":                  {kgo.NewOffset().At(17), 17},
		"a record's own time":        {kgo.NewOffset().AfterMilli(all[9].timestamp), 9},
		"a time between two records": {kgo.NewOffset().AfterMilli(all[9].timestamp + 1), 10},
		"a time before all":          {kgo.NewOffset().AfterMilli(1), 0},
		"three before the end":       {kgo.NewOffset().AtEnd().Relative(-3), len(all) - 3},
	} {
		same(t, name, franzConsume(t, b.addr, topic, 0, c.from, len(all)-c.want), all[c.want:])
	}
	// At the end nothing comes but what is produced from then on.
	c := franz(t, b.addr, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(int64(len(all)))}}))
	next := stamped(0, int64(len(all)), []record{{value: []byte("next")}})
	franzProduce(t, b.addr, topic, next)
	same(t, "the end", franzPoll(t, c, 1), next)
	b.alive()
}
