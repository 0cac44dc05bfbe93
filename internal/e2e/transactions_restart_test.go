package e2e

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestTransactionsAcrossRestarts ends the bridge, in good order and with SIGKILL,
// while transactions are open. Their producers go on and end them.
func TestTransactionsAcrossRestarts(t *testing.T) {
	t.Parallel()
	b := start(t)
	stops := []func(){b.restart, func() { b.kill(); b.run() }}
	type openOne struct {
		c   *kgo.Client
		how kgo.TransactionEndTry
	}
	clients, want := map[string][]openOne{}, map[string]map[place][]string{}
	for name, protocol := range transactionProtocols {
		topic := topicName(t) + "." + name
		createTopic(t, b.addr, topic, 2, nil)
		want[topic] = map[place][]string{}
		for _, how := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort} {
			clients[topic] = append(clients[topic], openOne{transactional(t, b.addr, fmt.Sprintf("%s.%t", topic, how), protocol...), how})
		}
	}
	for i, stop := range append(stops, stops...) {
		for topic, open := range clients {
			for _, o := range open {
				begin(t, o.c, valuesFor(topic, 0, fmt.Sprintf("%d before", i))...)
			}
		}
		stop()
		for topic, open := range clients {
			for _, o := range open {
				write(t, o.c, valuesFor(topic, 0, fmt.Sprintf("%d behind", i))...)
				write(t, o.c, valuesFor(topic, 1, fmt.Sprintf("%d elsewhere", i))...)
				end(t, o.c, o.how)
			}
			want[topic][place{topic, 0}] = append(want[topic][place{topic, 0}], fmt.Sprintf("%d before", i), fmt.Sprintf("%d behind", i))
			want[topic][place{topic, 1}] = append(want[topic][place{topic, 1}], fmt.Sprintf("%d elsewhere", i))
		}
	}
	for topic := range clients {
		sameValues(t, "committed", readAll(t, b.addr, kgo.ReadCommitted(), topic), want[topic])
	}
	b.alive()
}

// TestTransactionalIDAfterRestart uses transactional ids again that were used
// before a restart: with a transaction that is committed, one that is open and one
// whose time is over when the bridge is back.
func TestTransactionalIDAfterRestart(t *testing.T) {
	t.Parallel()
	b := start(t)
	type used struct{ committed, open, late *kgo.Client }
	clients := map[string]used{}
	for name, protocol := range transactionProtocols {
		topic := topicName(t) + "." + name
		createTopic(t, b.addr, topic, 3, nil)
		u := used{transactional(t, b.addr, topic+".committed", protocol...), transactional(t, b.addr, topic+".open", protocol...),
			transactional(t, b.addr, topic+".late", append(protocol, kgo.TransactionTimeout(time.Second))...)}
		begin(t, u.committed, valuesFor(topic, 0, "before")...)
		end(t, u.committed, kgo.TryCommit)
		begin(t, u.open, valuesFor(topic, 1, "open")...)
		begin(t, u.late, valuesFor(topic, 2, "late")...)
		clients[topic] = u
	}
	b.kill()
	b.run()
	together(t, maps.Keys(transactionProtocols), func(t *testing.T, name string) {
		topic := "TestTransactionalIDAfterRestart." + name
		u, protocol := clients[topic], transactionProtocols[name]
		await(t, "the transaction that takes too long is over", func() bool {
			now := bounds(t, b.addr, topic)[place{topic, 2}]
			return now == bound{2, 2}
		})
		for id, p := range map[string]int32{".committed": 0, ".open": 1, ".late": 2} {
			c := transactional(t, b.addr, topic+id, protocol...)
			begin(t, c, valuesFor(topic, p, "again")...)
			end(t, c, kgo.TryCommit)
		}
		for what, old := range map[string]*kgo.Client{"open": u.open, "late": u.late} {
			if err := old.EndTransaction(within(t, stepTime), kgo.TryCommit); !fenced(err) {
				t.Errorf("a commit of the producer before, %s: %v", what, err)
			}
		}
		sameValues(t, "committed", readAll(t, b.addr, kgo.ReadCommitted(), topic),
			map[place][]string{{topic, 0}: {"before", "again"}, {topic, 1}: {"again"}, {topic, 2}: {"again"}})
	})
	b.alive()
}
