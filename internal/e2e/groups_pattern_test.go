package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestGroupPattern subscribes to a pattern: topics that are made later come to
// the members, those that do not match never do.
func TestGroupPattern(t *testing.T) {
	t.Parallel()
	b := startGroups(t)
	together(t, slices.Values([]string{"range", "cooperative-sticky", "consumer-uniform"}), func(t *testing.T, name string) {
		prefix := topicName(t)
		l := newLedger(t)
		opts := append([]kgo.Opt{kgo.ConsumeRegex(), kgo.ConsumeTopics("^" + strings.ReplaceAll(prefix, ".", `\.`) + `\.orders\.[a-z]+$`)}, groupProtocols[name]...)
		createTopic(t, b.addr, prefix+".orders.early", 2, nil)
		createTopic(t, b.addr, prefix+".orders.7", 2, nil)
		franzProduce(t, b.addr, prefix+".orders.early", stamped(0, 0, edgeCases()))
		franzProduce(t, b.addr, prefix+".orders.7", stamped(0, 0, edgeCases()))
		first := joinGroup(t, b.addr, prefix, "first", l, opts...)
		second := joinGroup(t, b.addr, prefix, "second", l, opts...)
		awaitShares(t, []*member{first, second}, 1, 1)

		createTopic(t, b.addr, prefix+".orders.late", 2, nil)
		franzProduce(t, b.addr, prefix+".orders.late", stamped(1, 0, edgeCases()))
		awaitShares(t, []*member{first, second}, 2, 2)
		want := 2 * len(edgeCases())
		await(t, "all records of matching topics", func() bool { n, _ := l.counts(); return n >= want })
		first.leave()
		second.leave()
		if n, again := l.counts(); n != want || again != 0 {
			t.Errorf("%d records and %d of them again, want %d and none", n, again, want)
		}
		for topic := range fetchCommits(t, b.addr, prefix) {
			if topic == prefix+".orders.7" {
				t.Errorf("%s does not match, and is committed", topic)
			}
		}
		healthy(t, first, second)
	})
	b.alive()
}

// TestGroupTopicChanges gives a topic further partitions, or deletes it, under the
// members of a group.
func TestGroupTopicChanges(t *testing.T) {
	t.Parallel()
	b := startGroups(t)
	together(t, slices.Values([]string{"range", "consumer-uniform"}), func(t *testing.T, name string) {
		topic := topicName(t)
		createTopic(t, b.addr, topic+".stays", 2, nil)
		createTopic(t, b.addr, topic+".goes", 2, nil)
		l := newLedger(t)
		opts := append([]kgo.Opt{kgo.ConsumeTopics(topic+".stays", topic+".goes", topic+".comes"), kgo.UnknownTopicRetries(-1)}, groupProtocols[name]...)
		first := joinGroup(t, b.addr, topic, "first", l, opts...)
		second := joinGroup(t, b.addr, topic, "second", l, opts...)
		awaitShares(t, []*member{first, second}, 2, 2)
		createTopic(t, b.addr, topic+".comes", 2, nil)
		awaitShares(t, []*member{first, second}, 3, 3)
		franzProduce(t, b.addr, topic+".comes", stamped(1, 0, edgeCases()))
		await(t, "the new topic is consumed", func() bool { n, _ := l.counts(); return n == len(edgeCases()) })
		if name == "consumer-uniform" {
			// Classic members of this client keep a deleted topic until they join anew.
			if _, err := kadm.NewClient(franz(t, b.addr)).DeleteTopics(within(t, stepTime), topic+".goes"); err != nil {
				t.Fatal(err)
			}
			awaitShares(t, []*member{first, second}, 2, 2)
		}
	})
	b.alive()
}
