package e2e

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestGroupCommitsAreKept commits without members: offsets before, at and behind
// the end, leader epochs and metadata are read back as they were written, also
// after the bridge was ended and killed.
func TestGroupCommitsAreKept(t *testing.T) {
	t.Parallel()
	b := startGroups(t)
	topic := topicName(t)
	createTopic(t, b.addr, topic, 6, nil)
	franzProduce(t, b.addr, topic, stamped(0, 0, edgeCases()))
	var want kadm.Offsets
	for p, o := range []kadm.Offset{
		{At: 0, LeaderEpoch: -1},
		{At: 7, LeaderEpoch: 0, Metadata: "seven"},
		{At: 1 << 40, LeaderEpoch: -1, Metadata: "far behind the end"},
		{At: 1, LeaderEpoch: 5, Metadata: strings.Repeat("m", 4096)},
		{At: 2, LeaderEpoch: -1, Metadata: "größe 中 😀"},
	} {
		o.Topic, o.Partition = topic, int32(p)
		want.Add(o)
	}
	tooLong := kadm.Offset{Topic: topic, Partition: 5, At: 3, LeaderEpoch: -1, Metadata: strings.Repeat("m", 4097)}
	var sent kadm.Offsets
	want.Each(func(o kadm.Offset) { sent.Add(o) })
	sent.Add(tooLong)

	answer, err := kadm.NewClient(franz(t, b.addr)).CommitOffsets(within(t, stepTime), topic, sent)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range answer.Sorted() {
		if r.Partition == tooLong.Partition {
			if !errors.Is(r.Err, kerr.OffsetMetadataTooLarge) {
				t.Errorf("4,097 bytes of metadata: %v, want %v", r.Err, kerr.OffsetMetadataTooLarge)
			}
		} else if r.Err != nil {
			t.Errorf("commit of partition %d: %v", r.Partition, r.Err)
		}
	}
	for _, again := range []struct {
		why  string
		make func()
	}{{"at once", func() {}}, {"after a restart", b.restart}, {"after a kill", func() { b.kill(); b.run() }}} {
		again.make()
		got := fetchCommits(t, b.addr, topic)
		want.Each(func(o kadm.Offset) {
			r, ok := got.Lookup(o.Topic, o.Partition)
			if r.TopicID = o.TopicID; !ok || r.Offset != o {
				t.Errorf("%s: partition %d is %+v, want %+v", again.why, o.Partition, r.Offset, o)
			}
		})
		if r, ok := got.Lookup(topic, tooLong.Partition); ok {
			t.Errorf("%s: the refused commit is there: %+v", again.why, r)
		}
	}
	b.alive()
}

// TestGroupCommittedPlaces has members begin at committed offsets that are no
// record's: 0 is the start although all could be reset to the end, and behind the
// end the position is reset.
func TestGroupCommittedPlaces(t *testing.T) {
	t.Parallel()
	b := startGroups(t)
	all := stamped(0, 0, edgeCases())
	for name, c := range map[string]struct {
		at    int64
		reset kgo.Offset
		want  int // the first record
	}{
		"zero":                  {0, kgo.NewOffset().AtEnd(), 0},
		"between":               {5, kgo.NewOffset().AtEnd(), 5},
		"behind the end, reset": {1000, kgo.NewOffset().AtStart(), 0},
	} {
		t.Run(name, func(t *testing.T) {
			topic := strings.NewReplacer(" ", "-", ",", "").Replace(topicName(t))
			createTopic(t, b.addr, topic, 1, nil)
			franzProduce(t, b.addr, topic, slices.Clone(all))
			commitAt(t, b.addr, topic, c.at)
			client := franz(t, b.addr, kgo.ConsumerGroup(topic), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(c.reset))
			same(t, name, franzPoll(t, client, len(all)-c.want), all[c.want:])
		})
	}
	b.alive()
}

// commitAt commits an offset of partition 0 for a group that is named like the
// topic.
func commitAt(t *testing.T, addr, topic string, at int64) {
	t.Helper()
	var o kadm.Offsets
	o.AddOffset(topic, 0, at, -1)
	if err := kadm.NewClient(franz(t, addr)).CommitAllOffsets(within(t, stepTime), topic, o); err != nil {
		t.Fatal(err)
	}
}

// TestGroupMemberCommitsMetadata has a member commit with metadata, which is read
// back, and has others commit for it, which is refused.
func TestGroupMemberCommitsMetadata(t *testing.T) {
	t.Parallel()
	b := startGroups(t)
	for _, name := range []string{"range", "consumer-uniform"} {
		t.Run(name, func(t *testing.T) {
			topic := topicName(t)
			createTopic(t, b.addr, topic, 1, nil)
			franzProduce(t, b.addr, topic, stamped(0, 0, edgeCases()))
			c := franz(t, b.addr, append([]kgo.Opt{kgo.ConsumerGroup(topic), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
				kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())}, groupProtocols[name]...)...)
			franzPoll(t, c, len(edgeCases()))
			ctx := kgo.PreCommitFnContext(within(t, stepTime), func(req *kmsg.OffsetCommitRequest) error {
				req.Topics[0].Partitions[0].Metadata = kmsg.StringPtr("state of the member")
				return nil
			})
			if err := c.CommitUncommittedOffsets(ctx); err != nil {
				t.Fatal(err)
			}
			got, _ := fetchCommits(t, b.addr, topic).Lookup(topic, 0)
			if got.At != int64(len(edgeCases())) || got.Metadata != "state of the member" {
				t.Errorf("committed %+v", got)
			}
			var o kadm.Offsets
			o.AddOffset(topic, 0, 1, -1)
			err := kadm.NewClient(franz(t, b.addr)).CommitAllOffsets(within(t, stepTime), topic, o)
			if !errors.Is(err, kerr.UnknownMemberID) {
				t.Errorf("a commit by nobody: %v, want %v", err, kerr.UnknownMemberID)
			}
			c.Close()
			if got, _ := fetchCommits(t, b.addr, topic).Lookup(topic, 0); got.At != int64(len(edgeCases())) {
				t.Errorf("afterwards committed at %d", got.At)
			}
		})
	}
	b.alive()
}

// TestGroupSeekAndPause moves a member's position back and forth, and has it
// leave out a partition for a while.
func TestGroupSeekAndPause(t *testing.T) {
	t.Parallel()
	b := startGroups(t)
	together(t, slices.Values([]string{"cooperative-sticky", "consumer-uniform"}), func(t *testing.T, name string) {
		topic := topicName(t)
		createTopic(t, b.addr, topic, 2, nil)
		zero, one := stamped(0, 0, edgeCases()), stamped(1, 0, edgeCases())
		franzProduce(t, b.addr, topic, zero)
		c := franz(t, b.addr, append([]kgo.Opt{kgo.ConsumerGroup(topic), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
			kgo.HeartbeatInterval(100 * time.Millisecond), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())}, groupProtocols[name]...)...)
		same(t, "from the start", franzPoll(t, c, len(zero)), zero)
		seek := func(to int64) {
			c.SetOffsets(map[string]map[int32]kgo.EpochOffset{topic: {0: {Epoch: -1, Offset: to}}})
		}
		seek(5)
		same(t, "back", franzPoll(t, c, len(zero)-5), zero[5:])
		seek(int64(len(zero) - 2))
		same(t, "forth", franzPoll(t, c, 2), zero[len(zero)-2:])

		c.PauseFetchPartitions(map[string][]int32{topic: {1}})
		franzProduce(t, b.addr, topic, one)
		more := stamped(0, int64(len(zero)), []record{{value: []byte("more")}})
		franzProduce(t, b.addr, topic, more)
		same(t, "while the other is paused", franzPoll(t, c, 1), more)
		c.ResumeFetchPartitions(map[string][]int32{topic: {1}})
		same(t, "resumed", franzPoll(t, c, len(one)), one)
		if err := c.CommitUncommittedOffsets(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		c.Close()
		got := fetchCommits(t, b.addr, topic)
		for p, want := range []int64{int64(len(zero) + 1), int64(len(one))} {
			if r, _ := got.Lookup(topic, int32(p)); r.At != want {
				t.Errorf("partition %d is committed at %d, want %d", p, r.At, want)
			}
		}
	})
	b.alive()
}
