package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestTransactionsSurviveKills kills the bridge, and the engine inside it, at
// random moments under transactional producers. What was committed is read once,
// in order, in all partitions; what was aborted, nowhere; and nothing stays open.
func TestTransactionsSurviveKills(t *testing.T) {
	t.Parallel()
	const partitions, rounds = 2, 6
	b := start(t)
	topics := []string{topicName(t) + ".a", topicName(t) + ".b"}
	var places []place
	for _, topic := range topics {
		createTopic(t, b.addr, topic, partitions, nil)
		for p := range int32(partitions) {
			places = append(places, place{topic, p})
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var ended atomic.Int64
	results := make(chan outcomes)
	producers := 0
	for name, protocol := range transactionProtocols {
		for i := range 2 {
			id := fmt.Sprintf("%s.%s.%d", topicName(t), name, i)
			producers++
			go func() { results <- transactUntil(ctx, t, b.addr, id, places, &ended, protocol) }()
		}
	}
	for range rounds {
		awaitCount(t, &ended, ended.Load()+20)
		<-time.After(rand.N(100 * time.Millisecond))
		b.kill()
		b.run()
	}
	awaitCount(t, &ended, ended.Load()+20)
	stop()
	all := outcomes{}
	for range producers {
		maps.Copy(all, <-results)
	}
	tally := map[outcome]int{}
	for _, o := range all {
		tally[o]++
	}
	t.Logf("%d transactions are committed, %d aborted, and of %d it is not known", tally[committed], tally[aborted], tally[unknown])

	read := readAll(t, b.addr, kgo.ReadCommitted(), topics...)
	for value, o := range all {
		found := 0
		for _, at := range places {
			n := 0
			for _, v := range read[at] {
				if v == value {
					n++
				}
			}
			if n > 1 {
				t.Errorf("%s is %d times in %s-%d", value, n, at.topic, at.partition)
			}
			found += n
		}
		switch {
		case found != 0 && found != len(places), o == committed && found == 0, o == aborted && found > 0:
			t.Errorf("%s was %s, and is in %d of %d partitions", value, o, found, len(places))
		}
	}
	for _, at := range places {
		for _, v := range read[at] {
			if _, ok := all[v]; !ok {
				t.Errorf("%s-%d has %q, which nobody wrote", at.topic, at.partition, v)
			}
		}
		inTurn(t, at, read[at])
	}
	b.alive()
}

// inTurn checks that the numbers of each producer rise.
func inTurn(t *testing.T, at place, values []string) {
	t.Helper()
	last := map[string]int{}
	for _, v := range values {
		var id string
		var n int
		if _, err := fmt.Sscanf(v, "%s %d", &id, &n); err != nil {
			t.Fatalf("%q: %v", v, err)
		}
		if n <= last[id] {
			t.Errorf("%s-%d: %q comes behind number %d", at.topic, at.partition, v, last[id])
		}
		last[id] = n
	}
}

// outcome is how a transaction ended, as its producer was told.
type outcome string

const (
	committed outcome = "committed"
	aborted   outcome = "aborted"
	unknown   outcome = "committed or aborted"
)

// outcomes are those of transactions, by the value of their records.
type outcomes map[string]outcome

// transactUntil has a producer write transactions until ctx ends, each with a
// record for every place, and commit most of them. When it is told that it is over
// it begins anew.
func transactUntil(ctx context.Context, t *testing.T, addr, id string, places []place, ended *atomic.Int64, opts []kgo.Opt) outcomes {
	all := outcomes{}
	for number := 1; ctx.Err() == nil; {
		c, err := kgo.NewClient(slices.Concat([]kgo.Opt{kgo.SeedBrokers(addr), kgo.TransactionalID(id), kgo.ProducerLinger(0),
			kgo.RecordPartitioner(kgo.ManualPartitioner())}, persistent(), opts)...)
		if err != nil {
			t.Error(err)
			return all
		}
		for ; ctx.Err() == nil; number++ {
			value := fmt.Sprintf("%s %d", id, number)
			o, err := transactOnce(c, value, places, rand.N(4) > 0)
			all[value] = o
			ended.Add(1)
			if err != nil {
				t.Logf("%s: %v", value, err)
				number++
				break
			}
		}
		c.Close()
	}
	return all
}

// transactOnce writes one transaction. An error says that the client is of no
// more use.
func transactOnce(c *kgo.Client, value string, places []place, commit bool) (outcome, error) {
	ctx, cancel := context.WithTimeout(context.Background(), stepTime)
	defer cancel()
	if err := c.BeginTransaction(); err != nil {
		return aborted, fmt.Errorf("begin: %w", err)
	}
	var rs []*kgo.Record
	for _, at := range places {
		rs = append(rs, &kgo.Record{Topic: at.topic, Partition: at.partition, Value: []byte(value)})
	}
	if err := c.ProduceSync(ctx, rs...).FirstErr(); err != nil {
		return aborted, errors.Join(fmt.Errorf("produce: %w", err), c.EndTransaction(ctx, kgo.TryAbort))
	}
	err := c.EndTransaction(ctx, kgo.TransactionEndTry(commit))
	switch {
	case err != nil && commit:
		// What the producer does next makes sure that it is over, one way or the other.
		return unknown, fmt.Errorf("commit: %w", err)
	case err != nil:
		return aborted, fmt.Errorf("abort: %w", err)
	case commit:
		return committed, nil
	}
	return aborted, nil
}
