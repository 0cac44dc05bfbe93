package bridge

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"kafka-iggy-bridge/internal/producers"
	"kafka-iggy-bridge/internal/records"

	"github.com/google/go-cmp/cmp"
)

func TestFetchOffsets(t *testing.T) {
	t.Parallel()
	f, b, topic := fakeBridge(t, nil)
	recs := make([]string, 20)
	for i := range recs {
		recs[i] = fmt.Sprint("v", i)
	}
	produce(t, b, topic, 0, plainBatch(t, recs...))
	f.retain(ordersAt, 0, 10)
	for _, c := range []struct {
		name      string
		partition int32
		offset    int64
		first     string
		want      error
	}{
		{"below the start", 0, 9, "", ErrOffsetOutOfRange},
		{"negative", 0, -1, "", ErrOffsetOutOfRange},
		{"the start", 0, 10, "v10", nil},
		{"the last record", 0, 19, "v19", nil},
		{"the end", 0, 20, "", nil},
		{"beyond the end", 0, 21, "", ErrOffsetOutOfRange},
		{"far beyond the end", 0, math.MaxInt64, "", ErrOffsetOutOfRange},
		{"the end of a partition never written", 1, 0, "", nil},
		{"beyond the end of a partition never written", 1, 1, "", ErrOffsetOutOfRange},
		{"a partition that is not there", 2, 0, "", ErrPartitionNotFound},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := b.Fetch(testContext(t), topic, c.partition, FetchSpec{Offset: c.offset, MaxBytes: 1 << 20, AtLeastOne: true})
			if !errors.Is(err, c.want) || c.want == nil && err != nil {
				t.Fatalf("error %v, want %v", err, c.want)
			}
			var first string
			for _, r := range recordsOf(t, got) {
				if r.Offset == c.offset {
					first = string(r.Value)
				}
			}
			if first != c.first {
				t.Fatalf("read %q, want %q", first, c.first)
			}
		})
	}
	if start, err := b.LogStartOffset(testContext(t), topic, 0); err != nil {
		t.Fatal(start, err)
	}
}

func TestFetchLimits(t *testing.T) {
	t.Parallel()
	_, b, topic := fakeBridge(t, func(c *Config) { c.CacheBytes = 1 << 20 })
	big := strings.Repeat("x", 10_000)
	for i := range 30 {
		produce(t, b, topic, 0, plainBatch(t, fmt.Sprint(i), big))
	}
	one := FetchSpec{Offset: 1, MaxBytes: 1, AtLeastOne: true}
	got, err := b.Fetch(testContext(t), topic, 0, one)
	if recs := recordsOf(t, got); err != nil || len(got.Records) != 1 || len(recs) != 1 || recs[0].Offset != 1 {
		t.Fatalf("a record larger than the limit: %d batches, %v", len(got.Records), err)
	}
	one.AtLeastOne = false
	if got, err = b.Fetch(testContext(t), topic, 0, one); err != nil || len(got.Records) != 0 || got.HighWatermark != 60 {
		t.Fatalf("without the exemption: %d batches, %v", len(got.Records), err)
	}
	for limit := 5_000; limit < 100_000; limit += 7_000 {
		var all []rec
		for from := int64(0); from < 60; {
			got, err := b.Fetch(testContext(t), topic, 0, FetchSpec{Offset: from, MaxBytes: limit, AtLeastOne: true})
			if err != nil || len(got.Records) == 0 {
				t.Fatalf("limit %d, offset %d: %d batches, %v", limit, from, len(got.Records), err)
			}
			if got.Size() > limit && len(got.Records) > 1 {
				t.Fatalf("limit %d: %d bytes in %d batches", limit, got.Size(), len(got.Records))
			}
			for _, r := range recordsOf(t, got) {
				if r.Offset >= from {
					all = append(all, r)
					from = r.Offset + 1
				}
			}
		}
		for i, r := range all {
			if r.Offset != int64(i) || len(all) != 60 {
				t.Fatalf("limit %d: record %d of %d has offset %d", limit, i, len(all), r.Offset)
			}
		}
	}
}

func TestFetchServesTailReadersFromMemory(t *testing.T) {
	t.Parallel()
	metrics := new(countingMetrics)
	f, b, topic := fakeBridge(t, func(c *Config) { c.Metrics = metrics })
	produce(t, b, topic, 0, plainBatch(t, "a"))
	readAll(t, b, topic, 0, 0)
	batch := plainBatch(t, "b", "c")
	want := bytes.Clone(batch.Raw)
	produce(t, b, topic, 0, batch)
	f.hooks(func(c fakeCall) error {
		if c.op == "read" && c.at == ordersAt {
			return errTest
		}
		return nil
	}, nil)
	got, err := b.Fetch(testContext(t), topic, 0, FetchSpec{Offset: 2, MaxBytes: 1000})
	if err != nil || len(got.Records) != 1 || metrics.hits != 1 {
		t.Fatalf("%d batches, %d hits, %v", len(got.Records), metrics.hits, err)
	}
	records.Rebase(want, 1, leaderEpoch)
	if !bytes.Equal(got.Records[0], want) {
		t.Fatal("the producer's batch came back otherwise than with its offset")
	}
}

func TestFetchNeverSkipsAHole(t *testing.T) {
	t.Parallel()
	f, b, topic := fakeBridge(t, nil)
	produce(t, b, topic, 0, plainBatch(t, "a", "b", "c", "d"))
	f.mu.Lock()
	p, _ := f.log(ordersAt, 0)
	p.messages[2].Header.Offset = 3
	p.messages = append(p.messages[:2], p.messages[3])
	p.messages = append(p.messages, p.messages[2])
	f.mu.Unlock()
	got, err := b.Fetch(testContext(t), topic, 0, FetchSpec{Offset: 0, MaxBytes: 1000})
	if diff := cmp.Diff([]string{"a", "b"}, values(recordsOf(t, got))); diff != "" || err != nil {
		t.Fatal(diff, err)
	}
	if _, err = b.Fetch(testContext(t), topic, 0, FetchSpec{Offset: 2, MaxBytes: 1000}); !errors.Is(err, ErrStorage) {
		t.Fatalf("got %v", err)
	}
}

func TestFetchOfWhatIggyClientsWrote(t *testing.T) {
	t.Parallel()
	f, b, topic := fakeBridge(t, nil)
	broken := foreign("payload")
	broken.UserHeaders = []byte("junk")
	f.inject(ordersAt, 0, foreign("a"), broken, foreign("b"))
	got := readAll(t, b, topic, 0, 0)
	if diff := cmp.Diff([]string{"a", "payload", "b"}, values(got)); diff != "" {
		t.Fatal(diff)
	}
	if got[1].Headers[0].Key != headerUnreadable || got[0].Timestamp != testTime {
		t.Fatalf("%+v", got)
	}
}

func TestFetchCompressesAsTheTopicSays(t *testing.T) {
	t.Parallel()
	_, b, _ := fakeBridge(t, nil)
	for name, codec := range map[string]records.Codec{"gzip": records.CodecGzip, "snappy": records.CodecSnappy, "lz4": records.CodecLZ4, "zstd": records.CodecZstd} {
		topic := makeTopic(t, b, "compressed-"+name, 1, ConfigCompressionType, name)
		text := strings.Repeat("compress me ", 100)
		for range 2 { // the second is produced for a tail reader
			produce(t, b, topic, 0, plainBatch(t, text))
			got, err := b.Fetch(testContext(t), topic, 0, FetchSpec{MaxBytes: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			for _, raw := range got.Records {
				if batch, _, err := records.Parse(raw); err != nil || batch.Codec() != codec {
					t.Fatalf("%s: codec %v, %v", name, batch.Codec(), err)
				}
			}
			recordsOf(t, got)
		}
	}
}

func TestFetchKeepsTransactionsApart(t *testing.T) {
	t.Parallel()
	_, b, topic := fakeBridge(t, func(c *Config) { c.CacheBytes = -1 })
	txn := func(id int64, sequence int32) records.BatchSpec {
		return records.BatchSpec{HasProducer: true, ProducerID: id, ProducerEpoch: 2, BaseSequence: sequence, Transactional: true}
	}
	produce(t, b, topic, 0, plainBatch(t, "a"))
	produce(t, b, topic, 0, batchOf(t, txn(1, 0), value("b"), value("c")))
	produce(t, b, topic, 0, batchOf(t, txn(1, 2), value("d")))
	produce(t, b, topic, 0, batchOf(t, txn(2, 0), value("e")))
	if err := b.WriteMarker(testContext(t), topic, 0, producers.Marker{ProducerID: 1, Epoch: 2, Commit: true}); err != nil {
		t.Fatal(err)
	}
	got, err := b.Fetch(testContext(t), topic, 0, FetchSpec{MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, raw := range got.Records {
		batch, _, err := records.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%d+%d producer %d/%d sequence %d txn %v control %v",
			batch.BaseOffset, batch.Count, batch.ProducerID, batch.ProducerEpoch, batch.BaseSequence, batch.IsTransactional(), batch.IsControl()))
	}
	want := []string{
		"0+1 producer -1/-1 sequence -1 txn false control false",
		"1+3 producer 1/2 sequence 0 txn true control false",
		"4+1 producer 2/2 sequence 0 txn true control false",
		"5+1 producer 1/2 sequence -1 txn true control true",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Fatal(diff)
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	f, b, topic := fakeBridge(t, func(c *Config) { c.WatchInterval = 5 * time.Millisecond })
	produce(t, b, topic, 0, plainBatch(t, "a"))
	ctx := testContext(t)
	wait := func(what string, w *Watcher) {
		t.Helper()
		select {
		case <-w.C:
		case <-ctx.Done():
			t.Fatalf("not told of %s", what)
		}
		w.Close()
	}
	wait("what was there before", b.Watch([]TopicPartition{{topic, 0, 0}}))

	w := b.Watch([]TopicPartition{{topic, 0, 1}, {topic, 1, 0}})
	select {
	case <-w.C:
		t.Fatal("told of nothing")
	default:
	}
	produce(t, b, topic, 1, plainBatch(t, "b"))
	wait("an append through this bridge", w)

	w = b.Watch([]TopicPartition{{topic, 0, 1}})
	f.inject(ordersAt, 0, foreign("c"))
	wait("an append by an Iggy client", w)

	w = b.Watch([]TopicPartition{{topic, 0, 2}})
	if err := b.DeleteTopic(ctx, "orders"); err != nil {
		t.Fatal(err)
	}
	wait("the topic's end", w)
	eventually(t, 5*time.Second, func() error {
		b.watches.mu.Lock()
		defer b.watches.mu.Unlock()
		if b.watches.running || len(b.watches.topics) != 0 {
			return fmt.Errorf("still watching %d topics for nobody", len(b.watches.topics))
		}
		return nil
	})
}
