package e2e

import (
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestFranzTransactions has a producer commit and abort transactions over several
// partitions of two topics, and empty ones, and reads them both ways.
func TestFranzTransactions(t *testing.T) {
	t.Parallel()
	b := start(t)
	together(t, maps.Keys(transactionProtocols), func(t *testing.T, name string) {
		topics := []string{topicName(t) + ".a", topicName(t) + ".b"}
		for _, topic := range topics {
			createTopic(t, b.addr, topic, 3, nil)
		}
		c := transactional(t, b.addr, topicName(t), transactionProtocols[name]...)
		want := map[string]map[place][]string{"committed": {}, "uncommitted": {}}
		for i := range 12 {
			how := kgo.TransactionEndTry(i%3 != 1)
			begin(t, c)
			for _, topic := range topics[:1+i%2] {
				for p := range int32(3) {
					if (i+int(p))%4 == 0 {
						continue
					}
					values := []string{fmt.Sprintf("%d first", i), fmt.Sprintf("%d second", i)}
					write(t, c, valuesFor(topic, p, values...)...)
					at := place{topic, p}
					want["uncommitted"][at] = append(want["uncommitted"][at], values...)
					if how == kgo.TryCommit {
						want["committed"][at] = append(want["committed"][at], values...)
					}
				}
			}
			end(t, c, how)
			begin(t, c)
			end(t, c, how)
		}
		for isolation, level := range isolations {
			sameValues(t, isolation, readAll(t, b.addr, level, topics...), want[isolation])
		}
	})
	b.alive()
}

// TestInterleavedTransactions has two transactional producers and a plain one
// write to the same partition in turn. A reader of committed records gets what is
// decided as soon as all before it is.
func TestInterleavedTransactions(t *testing.T) {
	t.Parallel()
	b := start(t)
	together(t, maps.Keys(transactionProtocols), func(t *testing.T, name string) {
		topic := topicName(t)
		createTopic(t, b.addr, topic, 1, nil)
		open := func(id string) *kgo.Client { return transactional(t, b.addr, topic+id, transactionProtocols[name]...) }
		one, two, plain := open(".one"), open(".two"), franz(t, b.addr, kgo.ProducerLinger(0))
		from := kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}})
		committed, all := franz(t, b.addr, from, kgo.FetchIsolationLevel(kgo.ReadCommitted())), franz(t, b.addr, from)
		reads := func(why string, c *kgo.Client, want ...string) {
			t.Helper()
			for i, r := range franzPoll(t, c, len(want)) {
				if i >= len(want) || string(r.value) != want[i] {
					t.Fatalf("%s: record %d is %q, want %q", why, i, r.value, want)
				}
			}
		}

		begin(t, one, valuesFor(topic, 0, "one 0", "one 1")...)
		begin(t, two, valuesFor(topic, 0, "two 2")...)
		write(t, plain, valuesFor(topic, 0, "plain 3")...)
		write(t, one, valuesFor(topic, 0, "one 4")...)
		reads("all at once", all, "one 0", "one 1", "two 2", "plain 3", "one 4")
		awaitBound(t, b.addr, topic, bound{0, 5})
		end(t, two, kgo.TryCommit) // at 5
		awaitBound(t, b.addr, topic, bound{0, 6})
		end(t, one, kgo.TryAbort) // at 6
		awaitBound(t, b.addr, topic, bound{7, 7})
		reads("the first is aborted", committed, "two 2", "plain 3")

		begin(t, two, valuesFor(topic, 0, "two 7")...)
		write(t, plain, valuesFor(topic, 0, "plain 8")...)
		begin(t, one, valuesFor(topic, 0, "one 9")...)
		reads("all at once again", all, "two 7", "plain 8", "one 9")
		end(t, one, kgo.TryCommit) // at 10
		awaitBound(t, b.addr, topic, bound{7, 11})
		write(t, two, valuesFor(topic, 0, "two 11")...)
		end(t, two, kgo.TryCommit) // at 12
		reads("both are committed", committed, "two 7", "plain 8", "one 9", "two 11")
		reads("all to the end", all, "two 11")
		awaitBound(t, b.addr, topic, bound{13, 13})
	})
	b.alive()
}

// TestTransactionTimesOut lets transactions take longer than their producers said
// they would. They are aborted, what comes late is refused, and the id is free
// for the next producer.
func TestTransactionTimesOut(t *testing.T) {
	t.Parallel()
	b := start(t)
	together(t, maps.Keys(transactionProtocols), func(t *testing.T, name string) {
		topic := topicName(t)
		createTopic(t, b.addr, topic, 1, nil)
		late := transactional(t, b.addr, topic, append(transactionProtocols[name], kgo.TransactionTimeout(500*time.Millisecond))...)
		begin(t, late, valuesFor(topic, 0, "late")...)
		awaitBound(t, b.addr, topic, bound{2, 2})
		if err := late.EndTransaction(within(t, stepTime), kgo.TryCommit); !timedOut(err) {
			t.Errorf("a commit behind the time-out: %v", err)
		}
		next := transactional(t, b.addr, topic, transactionProtocols[name]...)
		begin(t, next, valuesFor(topic, 0, "next")...)
		end(t, next, kgo.TryCommit)
		sameValues(t, "read", readAll(t, b.addr, kgo.ReadCommitted(), topic), map[place][]string{{topic, 0}: {"next"}})
	})
	b.alive()
}

// fenced reports whether an error tells a producer that it is over.
func fenced(err error) bool {
	return errors.Is(err, kerr.ProducerFenced) || errors.Is(err, kerr.InvalidProducerEpoch)
}

// timedOut reports whether an error tells a producer that its transaction is not
// open any more. With KIP-890 a producer that ends a transaction in another way
// than it was ended is not told apart from one that asks again.
func timedOut(err error) bool { return fenced(err) || errors.Is(err, kerr.InvalidTxnState) }

// TestZombieProducer has a second producer take over a transactional id. The first
// one's transaction is aborted, whatever it still tries.
func TestZombieProducer(t *testing.T) {
	t.Parallel()
	b := start(t)
	together(t, maps.Keys(transactionProtocols), func(t *testing.T, name string) {
		for _, tries := range []struct {
			what string
			do   func(*kgo.Client, string) error
		}{
			{"commit", func(c *kgo.Client, _ string) error { return c.EndTransaction(within(t, stepTime), kgo.TryCommit) }},
			{"abort", func(c *kgo.Client, _ string) error { return c.EndTransaction(within(t, stepTime), kgo.TryAbort) }},
			{"produce", func(c *kgo.Client, topic string) error {
				return c.ProduceSync(within(t, stepTime), valuesFor(topic, 0, "zombie")...).FirstErr()
			}},
			{"produce elsewhere", func(c *kgo.Client, topic string) error {
				return c.ProduceSync(within(t, stepTime), valuesFor(topic, 1, "zombie")...).FirstErr()
			}},
		} {
			topic := topicName(t) + "." + tries.what[:3] + fmt.Sprint(len(tries.what))
			createTopic(t, b.addr, topic, 2, nil)
			first := transactional(t, b.addr, topic, transactionProtocols[name]...)
			begin(t, first, valuesFor(topic, 0, "of the first")...)
			second := transactional(t, b.addr, topic, transactionProtocols[name]...)
			begin(t, second, valuesFor(topic, 0, "of the second")...)
			if err := tries.do(first, topic); !fenced(err) {
				t.Errorf("%s: %v", tries.what, err)
			}
			end(t, second, kgo.TryCommit)
			sameValues(t, tries.what, readAll(t, b.addr, kgo.ReadCommitted(), topic), map[place][]string{{topic, 0}: {"of the second"}})
		}
	})
	b.alive()
}
