package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestTransactionChain has records pass four topics, each copied from the one
// before by a group in transactions, while members come and go and the bridge is
// killed: each record comes out once, in order.
func TestTransactionChain(t *testing.T) {
	t.Parallel()
	const partitions, stage, kills = 4, 200, 3
	b := startGroups(t, "BRIDGE_GROUPS_CONSUMER_SESSION_TIMEOUT=6s")
	var chains []*txnChain
	for _, name := range []string{"range", "cooperative-sticky", "consumer-uniform"} {
		chains = append(chains, newTxnChain(t, b, topicName(t)+"."+name, partitions, groupProtocols[name]))
	}
	all := func(do func(*txnChain)) {
		for _, c := range chains {
			do(c)
		}
	}
	var firsts []*copier
	all(func(c *txnChain) {
		firsts = append(firsts, c.join(t, "first", 0)...)
		c.join(t, "restless", 4)
	})
	for i := range kills {
		all(func(c *txnChain) { c.feed(t, stage) })
		all(func(c *txnChain) { c.through(t, i*stage+stage/3) })
		<-time.After(rand.N(200 * time.Millisecond))
		all(func(c *txnChain) { c.kills.Add(1) })
		b.kill()
		b.run()
		if i == 1 {
			all(func(c *txnChain) { c.join(t, "second", 0) })
			for _, m := range firsts {
				m.leave()
			}
		}
	}
	all(func(c *txnChain) { c.through(t, kills*stage) })
	for _, c := range chains {
		for _, m := range c.members {
			m.leave()
		}
		want := readAll(t, b.addr, kgo.ReadCommitted(), c.topics[0])
		for i, topic := range c.topics[1:] {
			copyMatches(t, b.addr, topic+".group", c.topics[i], topic)
			at := map[place][]string{}
			for p := range int32(partitions) {
				at[place{topic, p}] = want[place{c.topics[0], p}]
			}
			sameValues(t, topic, readAll(t, b.addr, kgo.ReadCommitted(), topic), at)
		}
	}
	b.alive()
}

// txnChain is four topics and the groups between them.
type txnChain struct {
	b        *broker
	topics   []string
	opts     []kgo.Opt
	producer *kgo.Client
	fed      int
	members  []*copier
	kills    atomic.Int64
}

func newTxnChain(t *testing.T, b *broker, name string, partitions int32, opts []kgo.Opt) *txnChain {
	t.Helper()
	c := &txnChain{b: b, opts: slices.Clip(opts), producer: transactional(t, b.addr, name+".producer")}
	for i := range 4 {
		c.topics = append(c.topics, fmt.Sprintf("%s.%d", name, i))
		createTopic(t, b.addr, c.topics[i], partitions, nil)
	}
	return c
}

// feed writes records into the first topic, in transactions.
func (c *txnChain) feed(t *testing.T, n int) {
	t.Helper()
	for until := c.fed + n; c.fed < until; {
		var rs []*kgo.Record
		for range 50 {
			rs = append(rs, &kgo.Record{Topic: c.topics[0], Partition: int32(c.fed % 4), Value: fmt.Append(nil, c.fed)})
			c.fed++
		}
		begin(t, c.producer, rs...)
		end(t, c.producer, kgo.TryCommit)
	}
}

// join adds a member to each group.
func (c *txnChain) join(t *testing.T, name string, lives int) (joined []*copier) {
	t.Helper()
	for i, topic := range c.topics[1:] {
		m := copying{addr: c.b.addr, group: topic + ".group", from: c.topics[i], to: topic, opts: c.opts, lives: lives, aborts: true, kills: &c.kills}.join(t, topic+"."+name)
		joined = append(joined, m)
	}
	c.members = append(c.members, joined...)
	return joined
}

// through waits until so many records have come out.
func (c *txnChain) through(t *testing.T, n int) {
	t.Helper()
	out := franz(t, c.b.addr, slices.Concat(persistent(), []kgo.Opt{kgo.ConsumeTopics(c.topics[len(c.topics)-1]), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(100 * time.Millisecond)})...)
	defer out.Close()
	franzPoll(t, out, n)
}
