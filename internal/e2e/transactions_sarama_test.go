package e2e

import (
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kgo"
)

// saramaVersions are releases of Kafka that Sarama takes the bridge for: the first
// with transactions, some in which they changed, and the newest it knows.
var saramaVersions = map[string]sarama.KafkaVersion{"0.11": sarama.V0_11_0_2, "2.5": sarama.V2_5_0_0, "2.8": sarama.V2_8_0_0, "newest": sarama.MaxVersion}

// saramaIdempotent is a configuration of an idempotent producer, transactional with
// an id.
func saramaIdempotent(version sarama.KafkaVersion, id string) *sarama.Config {
	c := saramaConfig(sarama.CompressionNone, sarama.WaitForAll)
	c.Version = version
	c.Producer.Idempotent, c.Net.MaxOpenRequests = true, 1
	c.Producer.Transaction.ID = id
	c.Producer.Retry.Max, c.Producer.Retry.Backoff = 200, 50*time.Millisecond
	c.Producer.Transaction.Retry.Max, c.Producer.Transaction.Retry.Backoff = 200, 50*time.Millisecond
	c.Metadata.Retry.Max, c.Metadata.Retry.Backoff = 200, 50*time.Millisecond
	return c
}

func saramaProducer(t *testing.T, addr string, config *sarama.Config) sarama.SyncProducer {
	t.Helper()
	p, err := sarama.NewSyncProducer([]string{addr}, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// TestSaramaIdempotent has an idempotent producer go on over a restart and a kill.
func TestSaramaIdempotent(t *testing.T) {
	t.Parallel()
	b := start(t)
	topic := topicName(t)
	createTopic(t, b.addr, topic, 2, nil)
	p := saramaProducer(t, b.addr, saramaIdempotent(sarama.MaxVersion, ""))
	all := stamped(1, 0, append(forSarama(edgeCases()), forSarama(edgeCases())...))
	for i, r := range all {
		switch i {
		case 10:
			b.restart()
		case 20:
			b.kill()
			b.run()
		}
		if partition, offset, err := p.SendMessage(toSarama(topic, r)); err != nil || partition != 1 || offset != r.offset {
			t.Fatalf("record %d went to %d/%d: %v", i, partition, offset, err)
		}
	}
	same(t, "consumed", saramaConsume(t, b.addr, topic, 1, sarama.OffsetOldest, len(all)), all)
	b.alive()
}

// TestSaramaTransactions has Sarama commit and abort transactions with records for
// two topics and with a group's offsets.
func TestSaramaTransactions(t *testing.T) {
	t.Parallel()
	b := startGroups(t)
	together(t, maps.Keys(saramaVersions), func(t *testing.T, name string) {
		topics := []string{topicName(t) + ".a", topicName(t) + ".b"}
		for _, topic := range topics {
			createTopic(t, b.addr, topic, 2, nil)
		}
		p := saramaProducer(t, b.addr, saramaIdempotent(saramaVersions[name], topicName(t)))
		want := map[place][]string{}
		for i := range 6 {
			if err := p.BeginTxn(); err != nil {
				t.Fatalf("begin: %v", err)
			}
			commit := i%3 != 1
			for _, topic := range topics[:1+i%2] {
				value := fmt.Sprint(i)
				if _, _, err := p.SendMessage(toSarama(topic, record{partition: 1, value: []byte(value)})); err != nil {
					t.Fatalf("produce: %v", err)
				}
				if at := (place{topic, 1}); commit {
					want[at] = append(want[at], value)
				}
			}
			offset := &sarama.PartitionOffsetMetadata{Partition: 1, Offset: int64(i)}
			if err := p.AddOffsetsToTxn(map[string][]*sarama.PartitionOffsetMetadata{topics[0]: {offset}}, topics[0]); err != nil {
				t.Fatalf("add offsets: %v", err)
			}
			end := p.AbortTxn
			if commit {
				end = p.CommitTxn
			}
			if err := end(); err != nil {
				t.Fatalf("end, commit %t: %v", commit, err)
			}
			committed := int64(i)
			if !commit {
				committed--
			}
			await(t, "the offset is committed if the transaction is", func() bool {
				o, ok := fetchCommits(t, b.addr, topics[0]).Lookup(topics[0], 1)
				return ok && o.At == committed
			})
		}
		sameValues(t, "committed", readAll(t, b.addr, kgo.ReadCommitted(), topics...), want)
	})
	b.alive()
}

// TestSaramaZombie has a second producer take over a transactional id.
func TestSaramaZombie(t *testing.T) {
	t.Parallel()
	b := start(t)
	together(t, maps.Keys(saramaVersions), func(t *testing.T, name string) {
		topic := topicName(t)
		createTopic(t, b.addr, topic, 1, nil)
		write := func(p sarama.SyncProducer, value string) {
			t.Helper()
			if err := p.BeginTxn(); err != nil {
				t.Fatalf("begin: %v", err)
			}
			if _, _, err := p.SendMessage(toSarama(topic, record{value: []byte(value)})); err != nil {
				t.Fatalf("produce: %v", err)
			}
		}
		first := saramaProducer(t, b.addr, saramaIdempotent(saramaVersions[name], topic))
		write(first, "of the first")
		second := saramaProducer(t, b.addr, saramaIdempotent(saramaVersions[name], topic))
		write(second, "of the second")
		if err := first.CommitTxn(); !errors.Is(err, sarama.ErrProducerFenced) && !errors.Is(err, sarama.ErrInvalidProducerEpoch) {
			t.Errorf("the first one commits: %v", err)
		}
		if err := second.CommitTxn(); err != nil {
			t.Errorf("the second one commits: %v", err)
		}
		sameValues(t, "committed", readAll(t, b.addr, kgo.ReadCommitted(), topic), map[place][]string{{topic, 0}: {"of the second"}})
	})
	b.alive()
}
