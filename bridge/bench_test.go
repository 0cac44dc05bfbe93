package bridge

import (
	"context"
	"testing"
	"time"

	"kafka-iggy-bridge/internal/records"

	"github.com/apache/iggy/foreign/go/client/tcp"
	iggcon "github.com/apache/iggy/foreign/go/contracts"
)

// The SDK alone and the bridge do the same work on the same Iggy: compare the
// pairs.

func sdkClient(b *testing.B, config Config) *tcp.IggyTcpClient {
	b.Helper()
	client, err := tcp.NewIggyTcpClient(tcp.WithServerAddress(config.Address))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = client.Close() })
	if _, err := client.LoginUser(config.Username, config.Password); err != nil {
		b.Fatal(err)
	}
	if _, err := socketOf(client); err != nil { // turns Nagle's algorithm off, as the bridge does
		b.Fatal(err)
	}
	return client
}

func benchSDKSend(b *testing.B, n, size int) {
	config := iggyConfig(b)
	bridge := startBridge(b, config)
	makeTopic(b, bridge, "bench", 1)
	client := sdkClient(b, config)
	id := nameIdentifier("bench")
	messages := make([]iggcon.IggyMessage, n)
	for i := range messages {
		messages[i] = iggcon.IggyMessage{Header: iggcon.NewMessageHeader(iggcon.MessageID{1}, uint32(size), 0), Payload: make([]byte, size)}
	}
	b.SetBytes(int64(n * size))
	b.ReportAllocs()
	for b.Loop() {
		if err := client.SendMessages(id, id, iggcon.PartitionId(0), messages); err != nil {
			b.Fatal(err)
		}
	}
}

func benchProduce(b *testing.B, n, size int) {
	bridge := startBridge(b, iggyConfig(b))
	topic := makeTopic(b, bridge, "bench", 1)
	batch := benchBatch(b, n, size)
	b.SetBytes(int64(n * size))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := bridge.Produce(context.Background(), topic, 0, batch); err != nil {
			b.Fatal(err)
		}
	}
}

func benchBatch(b *testing.B, n, size int) *records.Batch {
	recs := make([]rec, n)
	for i := range recs {
		recs[i] = rec{Timestamp: time.Now().UnixMilli(), Value: make([]byte, size)}
	}
	return batchOf(b, records.BatchSpec{}, recs...)
}

func BenchmarkSend1(b *testing.B) {
	b.Run("sdk", func(b *testing.B) { benchSDKSend(b, 1, 1000) })
	b.Run("bridge", func(b *testing.B) { benchProduce(b, 1, 1000) })
}

func BenchmarkSend1000(b *testing.B) {
	b.Run("sdk", func(b *testing.B) { benchSDKSend(b, 1000, 1000) })
	b.Run("bridge", func(b *testing.B) { benchProduce(b, 1000, 1000) })
}

func BenchmarkRead1000(b *testing.B) {
	const n, size, batches = 1000, 1000, 50
	fill := func(b *testing.B, config Config) (*Bridge, *Topic) {
		bridge := startBridge(b, config)
		topic := makeTopic(b, bridge, "bench", 1)
		batch := benchBatch(b, n, size)
		for range batches {
			if _, err := bridge.Produce(context.Background(), topic, 0, batch); err != nil {
				b.Fatal(err)
			}
		}
		b.SetBytes(n * size)
		b.ReportAllocs()
		return bridge, topic
	}
	b.Run("sdk", func(b *testing.B) {
		config := iggyConfig(b)
		fill(b, config)
		client, id, partition := sdkClient(b, config), nameIdentifier("bench"), uint32(0)
		for i := 0; b.Loop(); i++ {
			res, err := client.PollMessages(id, id, iggcon.DefaultConsumer(), iggcon.OffsetPollingStrategy(uint64(i%batches*n)), n, false, &partition)
			if err != nil || len(res.Messages) != n {
				b.Fatal(len(res.Messages), err)
			}
		}
	})
	b.Run("bridge", func(b *testing.B) {
		config := iggyConfig(b)
		config.CacheBytes = -1
		bridge, topic := fill(b, config)
		for i := 0; b.Loop(); i++ {
			f, err := bridge.Fetch(context.Background(), topic, 0, FetchSpec{Offset: int64(i % (batches - 1) * n), MaxBytes: 1_030_000, AtLeastOne: true})
			if err != nil || f.Size() < n*size*9/10 {
				b.Fatal(f.Size(), err)
			}
		}
	})
	b.Run("bridge, cached", func(b *testing.B) {
		bridge, topic := fill(b, iggyConfig(b))
		batch := benchBatch(b, n, size)
		if _, err := bridge.Fetch(context.Background(), topic, 0, FetchSpec{Offset: batches*n - 1, MaxBytes: 1}); err != nil {
			b.Fatal(err)
		}
		a, err := bridge.Produce(context.Background(), topic, 0, batch)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			f, err := bridge.Fetch(context.Background(), topic, 0, FetchSpec{Offset: a.BaseOffset, MaxBytes: 1_100_000})
			if err != nil || len(f.Records) != 1 {
				b.Fatal(len(f.Records), err)
			}
		}
	})
}

func BenchmarkEncode1000(b *testing.B) {
	batch := benchBatch(b, 1000, 1000)
	ids := testIDs()
	b.SetBytes(1_000_000)
	b.ReportAllocs()
	for b.Loop() {
		e := encoders.Get().(*encoder)
		if err := e.encode(batch, encodeOptions{ids: ids, now: time.UnixMilli(testTime)}); err != nil {
			b.Fatal(err)
		}
		e.release()
	}
}
