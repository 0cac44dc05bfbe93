package e2e

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestGroupMigrates moves a group from the classic protocol to the one of KIP-848
// and back, member by member and while records flow.
func TestGroupMigrates(t *testing.T) {
	t.Parallel()
	b := startGroups(t)
	topic := topicName(t)
	createTopic(t, b.addr, topic, 4, nil)
	l := newLedger(t)
	join := func(name, protocol string) *member {
		return joinGroup(t, b.addr, topic, name, l, append(groupProtocols[protocol], kgo.ConsumeTopics(topic))...)
	}
	admin := kadm.NewClient(franz(t, b.addr))
	awaitType := func(want string) {
		await(t, "the group is of type "+want, func() bool {
			listed, err := admin.ListGroupsByType(within(t, stepTime), []string{want})
			return err == nil && listed[topic].Group == topic
		})
	}
	f := startFeed(t, b.addr, topic, 4)
	classic := join("classic", "cooperative-sticky")
	awaitShares(t, []*member{classic}, 4)
	awaitType("classic")
	modern := join("modern", "consumer-uniform")
	awaitShares(t, []*member{classic, modern}, 2, 2)
	awaitType("consumer")
	classic.leave()
	awaitShares(t, []*member{modern}, 4)
	again := join("classic again", "cooperative-sticky")
	awaitShares(t, []*member{again, modern}, 2, 2)
	modern.leave()
	awaitShares(t, []*member{again}, 4)
	awaitType("classic")

	total := f.finish(t)
	await(t, "all records are received", func() bool { n, _ := l.counts(); return n >= total })
	again.leave()
	if n, repeated := l.counts(); n != total || repeated != 0 {
		t.Errorf("%d records and %d of them again, want %d and none", n, repeated, total)
	}
	l.matches(b.addr, topic)
	healthy(t, classic, modern, again)
	b.alive()
}
