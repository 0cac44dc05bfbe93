package bridge

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"kafka-iggy-bridge/internal/records"
)

// startBridge starts a bridge that is closed with the test, and waits until it
// can work.
func startBridge(t testing.TB, config Config) *Bridge {
	t.Helper()
	b := openBridge(t, config)
	waitHealthy(t, b)
	return b
}

// openBridge starts a bridge without waiting for Iggy.
func openBridge(t testing.TB, config Config) *Bridge {
	t.Helper()
	if config.Logger == nil {
		config.Logger = discardLogger()
	}
	b, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeBridge(t, b) })
	return b
}

func closeBridge(t testing.TB, b *Bridge) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := b.Close(ctx); err != nil {
		t.Errorf("closing the bridge: %v", err)
	}
}

// waitHealthy waits until the bridge can work.
func waitHealthy(t testing.TB, b *Bridge) {
	t.Helper()
	eventually(t, 20*time.Second, func() error {
		if err := b.Health(); err != nil {
			return err
		}
		if !b.catalog.isLoaded() {
			return fmt.Errorf("the catalog is not loaded")
		}
		return nil
	})
}

// eventually polls a condition that no event tells of.
func eventually(t testing.TB, within time.Duration, check func() error) {
	t.Helper()
	deadline := time.Now().Add(within)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %v", within, err)
		}
		<-time.After(2 * time.Millisecond)
	}
}

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// rec is a record for tests.
type rec = records.Record

func value(s string) rec { return rec{Timestamp: 1_700_000_000_000, Value: []byte(s)} }

// batchOf builds a batch as a producer would.
func batchOf(t testing.TB, spec records.BatchSpec, recs ...rec) *records.Batch {
	t.Helper()
	var b records.Builder
	b.Reset(nil, spec)
	for _, r := range recs {
		if err := b.Append(r.Timestamp, r.Key, r.Value, r.Headers); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	batch, _, err := records.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return &batch
}

func plainBatch(t testing.TB, values ...string) *records.Batch {
	t.Helper()
	recs := make([]rec, len(values))
	for i, v := range values {
		recs[i] = value(v)
	}
	return batchOf(t, records.BatchSpec{}, recs...)
}

// makeTopic makes a topic.
func makeTopic(t testing.TB, b *Bridge, name string, partitions int32, configs ...string) *Topic {
	t.Helper()
	spec := TopicSpec{Partitions: partitions, Configs: map[string]string{}}
	for i := 0; i < len(configs); i += 2 {
		spec.Configs[configs[i]] = configs[i+1]
	}
	topic, err := b.EnsureStreamAndTopic(testContext(t), name, spec)
	if err != nil {
		t.Fatal(err)
	}
	return topic
}

func produce(t testing.TB, b *Bridge, topic *Topic, partition int32, batch *records.Batch) Appended {
	t.Helper()
	a, err := b.Produce(testContext(t), topic, partition, batch)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// readAll reads a partition from an offset to its end.
func readAll(t testing.TB, b *Bridge, topic *Topic, partition int32, from int64) []rec {
	t.Helper()
	var out []rec
	for {
		f, err := b.Fetch(testContext(t), topic, partition, FetchSpec{Offset: from, MaxBytes: 1 << 20, AtLeastOne: true})
		if err != nil {
			t.Fatalf("fetch at %d: %v", from, err)
		}
		if len(f.Records) == 0 {
			if from != f.HighWatermark {
				t.Fatalf("nothing at offset %d, the high watermark is %d", from, f.HighWatermark)
			}
			return out
		}
		for _, r := range recordsOf(t, f) {
			if r.Offset >= from {
				out = append(out, r)
				from = r.Offset + 1
			}
		}
	}
}

// recordsOf decodes what a fetch returned; the records own their bytes.
func recordsOf(t testing.TB, f Fetched) []rec {
	t.Helper()
	var out []rec
	for _, raw := range f.Records {
		batch, rest, err := records.Parse(raw)
		if err != nil || len(rest) != 0 {
			t.Fatalf("a fetched batch: %v, %d bytes behind it", err, len(rest))
		}
		if err := batch.VerifyCRC(); err != nil {
			t.Fatal(err)
		}
		if err := batch.Decompress(1 << 30); err != nil {
			t.Fatal(err)
		}
		it := batch.Iterator()
		for r := (rec{}); it.Next(&r); r = (rec{}) {
			out = append(out, cloneRecord(r))
		}
		if err := it.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func cloneRecord(r rec) rec {
	c := rec{Offset: r.Offset, Timestamp: r.Timestamp, Key: cloneBytes(r.Key), Value: cloneBytes(r.Value)}
	for _, h := range r.Headers {
		c.Headers = append(c.Headers, records.Header{Key: string([]byte(h.Key)), Value: cloneBytes(h.Value)})
	}
	return c
}

func cloneBytes(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append([]byte{}, b...)
}

func values(recs []rec) []string {
	out := make([]string, len(recs))
	for i, r := range recs {
		out[i] = string(r.Value)
	}
	return out
}

// sameRecord compares two records, null and empty apart; cmp takes minutes for
// records of 100 kB.
func sameRecord(a, b rec) bool {
	same := func(x, y []byte) bool { return (x == nil) == (y == nil) && bytes.Equal(x, y) }
	if a.Offset != b.Offset || a.Timestamp != b.Timestamp || !same(a.Key, b.Key) || !same(a.Value, b.Value) || len(a.Headers) != len(b.Headers) {
		return false
	}
	for i := range a.Headers {
		if a.Headers[i].Key != b.Headers[i].Key || !same(a.Headers[i].Value, b.Headers[i].Value) {
			return false
		}
	}
	return true
}
