package e2e

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestReadersFromEveryOffset reads a log of interleaved transactions, committed and
// aborted, with batches of several records, from each of its offsets: also from
// within batches, where a reader's own filter has to know what was aborted.
func TestReadersFromEveryOffset(t *testing.T) {
	t.Parallel()
	b := start(t)
	topic := topicName(t)
	createTopic(t, b.addr, topic, 1, nil)
	end, committed := interleave(t, b.addr, topic)
	readers := map[string]func(*testing.T, int64) []string{
		"franz-go": func(t *testing.T, from int64) []string { return franzReads(t, b.addr, topic, from, end) },
		"sarama":   func(t *testing.T, from int64) []string { return saramaReads(t, b.addr, topic, from, end) },
	}
	var wg sync.WaitGroup
	for name, read := range readers {
		wg.Go(func() {
			t.Run(name, func(t *testing.T) {
				for from := range end {
					want := committed[min(int(from), len(committed)):]
					want = slices.DeleteFunc(slices.Clone(want), func(v string) bool { return v == "" })
					if got := read(t, from); !slices.Equal(got, want) {
						t.Errorf("from offset %d: %v, want %v", from, got, want)
					}
				}
			})
		})
	}
	wg.Wait()
	b.alive()
}

// interleave writes a log. It returns its end, which a plain record has, and what
// committed records are at which offsets.
func interleave(t *testing.T, addr, topic string) (end int64, committed []string) {
	t.Helper()
	one, two := transactional(t, addr, topic+".one"), transactional(t, addr, topic+".two")
	plain := franz(t, addr)
	commits, aborts := kgo.TryCommit, kgo.TryAbort
	none := func(n int) []string { return make([]string, n) }
	for _, ends := range [][2]kgo.TransactionEndTry{{commits, aborts}, {aborts, commits}, {aborts, aborts}, {commits, commits}} {
		keeps := func(how kgo.TransactionEndTry, values ...string) []string {
			if how == commits {
				return values
			}
			return none(len(values))
		}
		begin(t, one, valuesFor(topic, 0, "1a", "1b", "1c")...)
		committed = append(committed, keeps(ends[0], "1a", "1b", "1c")...)
		begin(t, two, valuesFor(topic, 0, "2a", "2b")...)
		committed = append(committed, keeps(ends[1], "2a", "2b")...)
		write(t, plain, valuesFor(topic, 0, "plain")...)
		committed = append(committed, "plain")
		write(t, one, valuesFor(topic, 0, "1d", "1e")...)
		committed = append(committed, keeps(ends[0], "1d", "1e")...)
		endIn(t, one, addr, topic, ends[0])
		committed = append(committed, none(1)...)
		write(t, two, valuesFor(topic, 0, "2c")...)
		committed = append(committed, keeps(ends[1], "2c")...)
		endIn(t, two, addr, topic, ends[1])
		committed = append(committed, none(1)...)
	}
	write(t, plain, valuesFor(topic, 0, "end")...)
	committed = append(committed, "end")
	awaitBound(t, addr, topic, bound{int64(len(committed)), int64(len(committed))})
	return int64(len(committed)), committed
}

// endIn ends a transaction and waits for its marker, so that it is known where
// that is.
func endIn(t *testing.T, c *kgo.Client, addr, topic string, how kgo.TransactionEndTry) {
	t.Helper()
	before := bounds(t, addr, topic)[place{topic, 0}].end
	end(t, c, how)
	await(t, "the marker is written", func() bool { return bounds(t, addr, topic)[place{topic, 0}].end == before+1 })
}

func franzReads(t *testing.T, addr, topic string, from, end int64) (values []string) {
	t.Helper()
	c := franz(t, addr, kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(from)}}))
	defer c.Close()
	for last := int64(0); last < end-1; {
		for _, r := range franzPoll(t, c, 1) {
			values, last = append(values, string(r.value)), r.offset
		}
	}
	return values
}

func saramaReads(t *testing.T, addr, topic string, from, end int64) (values []string) {
	t.Helper()
	config := saramaConfig(sarama.CompressionNone, sarama.WaitForAll)
	config.Consumer.IsolationLevel = sarama.ReadCommitted
	c, err := sarama.NewConsumer([]string{addr}, config)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	pc, err := c.ConsumePartition(topic, 0, from)
	if err != nil {
		t.Fatal(err)
	}
	defer pc.AsyncClose()
	for deadline := time.After(stepTime); ; {
		select {
		case m := <-pc.Messages():
			if values = append(values, string(m.Value)); m.Offset >= end-1 {
				return values
			}
		case err := <-pc.Errors():
			t.Fatal(err)
		case <-deadline:
			t.Fatalf("%v from offset %d on, within %s", values, from, stepTime)
		}
	}
}

// TestKafkaGoReadsCommitted reads with kafka-go, which asks for committed records
// but leaves out no aborted ones by itself, nor control records: from Kafka it gets
// the same. Of a transaction that is open it gets nothing.
func TestKafkaGoReadsCommitted(t *testing.T) {
	t.Parallel()
	b := start(t)
	topic := topicName(t)
	createTopic(t, b.addr, topic, 1, nil)
	c := transactional(t, b.addr, topic)
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{b.addr}, Topic: topic, MaxBytes: 1 << 20, MaxWait: 50 * time.Millisecond, IsolationLevel: kafka.ReadCommitted})
	defer r.Close()
	const marker = "\x00\x00\x00\x00\x00\x00"
	read := func(want ...string) {
		t.Helper()
		for _, v := range want {
			m, err := r.ReadMessage(within(t, stepTime))
			if err != nil || string(m.Value) != v {
				t.Fatalf("read %q at %d (%v), want %q", m.Value, m.Offset, err, v)
			}
		}
	}
	begin(t, c, valuesFor(topic, 0, "0", "1")...)
	write(t, franz(t, b.addr), valuesFor(topic, 0, "2")...)
	end(t, c, kgo.TryCommit)
	read("0", "1", "2", marker)
	begin(t, c, valuesFor(topic, 0, "4")...)
	// What it reads behind what is open cannot come before the end.
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if m, err := r.ReadMessage(ctx); err == nil {
		t.Errorf("read %q of an open transaction", m.Value)
	}
	end(t, c, kgo.TryAbort)
	read("4", marker)
	b.alive()
}
