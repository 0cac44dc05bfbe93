package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"kafka-iggy-bridge/internal/errorcode"
)

// newCopying makes a topic with numbered records, and an empty one for the copy.
func newCopying(t *testing.T, addr, from string, partitions, records int, opts ...kgo.Opt) copying {
	t.Helper()
	createTopic(t, addr, from, int32(partitions), nil)
	createTopic(t, addr, from+".copy", int32(partitions), nil)
	var rs []*kgo.Record
	for i := range records {
		rs = append(rs, &kgo.Record{Topic: from, Partition: int32(i % partitions), Value: fmt.Append(nil, i)})
	}
	write(t, franz(t, addr), rs...)
	return copying{addr: addr, group: from, from: from, to: from + ".copy", opts: opts, aborts: true}
}

// TestCopyLoopSurvivesKills has groups copy topics in transactions, some of which
// they abort, and kills the bridge under them. Whenever they rest, the copy has
// what the group has committed, no more and no less.
func TestCopyLoopSurvivesKills(t *testing.T) {
	t.Parallel()
	const partitions, records, kills = 3, 1200, 3
	b := startGroups(t)
	var ways []copying
	var killed atomic.Int64
	for name, protocol := range transactionProtocols {
		w := newCopying(t, b.addr, topicName(t)+"."+name, partitions, records, protocol...)
		w.kills = &killed
		ways = append(ways, w)
	}
	join := func(round int) (all []*copier) {
		for _, w := range ways {
			all = append(all, w.join(t, fmt.Sprintf("%s.%d", w.from, round)))
		}
		return all
	}
	settle := func(all []*copier) {
		for _, c := range all {
			c.leave()
		}
		for _, w := range ways {
			copyMatches(t, b.addr, w.group, w.from, w.to)
		}
	}
	for round := range kills {
		copiers := join(round)
		for _, c := range copiers {
			await(t, "some is copied", func() bool { return c.copied.Load() >= records/kills/4 })
		}
		<-time.After(rand.N(30 * time.Millisecond))
		killed.Add(1)
		b.kill()
		b.run()
		settle(copiers)
	}
	copiers := join(kills)
	for _, w := range ways {
		await(t, "all is committed", func() bool {
			stored := fetchCommits(t, b.addr, w.group)
			n := int64(0)
			for p := range int32(partitions) {
				o, _ := stored.Lookup(w.from, p)
				n += o.At
			}
			return n == records
		})
	}
	settle(copiers)
	b.alive()
}

// TestZombieCopier has a member of a group lose its connections in the midst of a
// transaction while another one takes over. It cannot commit any more: when the
// other one has the same transactional id because of its epoch, else because it is
// no member (KIP-447).
func TestZombieCopier(t *testing.T) {
	t.Parallel()
	b := startGroups(t)
	heirs := map[string]int16{".zombie": errorcode.InvalidProducerEpoch, ".heir": errorcode.UnknownMemberID}
	together(t, maps.Keys(heirs), func(t *testing.T, name string) {
		const records = 10
		w := newCopying(t, b.addr, topicName(t), 1, records)
		w.aborts = false
		z := newZombie(t, w, w.from+".zombie")
		heir := w.join(t, w.from+name)
		await(t, "another one copies all", func() bool { return heir.copied.Load() == records })
		heir.leave()
		if code := z.commitOffset(); code != heirs[name] {
			t.Errorf("the zombie commits an offset: %s, want %s", errorcode.Name(code), errorcode.Name(heirs[name]))
		}
		switch code := z.end(name == ".zombie"); name {
		case ".zombie":
			if code != errorcode.ProducerFenced {
				t.Errorf("the zombie commits: %s", errorcode.Name(code))
			}
		default: // it may end its transaction, which is the only thing left to do for it
			if code != errorcode.None {
				t.Errorf("the zombie aborts: %s", errorcode.Name(code))
			}
		}
		copyMatches(t, b.addr, w.group, w.from, w.to)
		if o, _ := fetchCommits(t, b.addr, w.group).Lookup(w.from, 0); o.At != records {
			t.Errorf("%d is committed, want %d", o.At, records)
		}
	})
	b.alive()
}

// zombie is a member that its group has removed, as it still knows itself.
type zombie struct {
	t          *testing.T
	c          *kgo.Client // not the zombie's own, which has no connections
	w          copying
	id         string
	producer   int64
	epoch      int16
	member     string
	generation int32
}

// newZombie joins a group, begins a transaction, and is cut off.
func newZombie(t *testing.T, w copying, id string) *zombie {
	t.Helper()
	lines := &wires{conns: map[net.Conn]bool{}}
	s, err := kgo.NewGroupTransactSession(append(w.options(id), kgo.Dialer(lines.dial), kgo.RetryTimeout(time.Second))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if got := s.PollRecords(within(t, stepTime), 3).Records(); len(got) == 0 {
		t.Fatal("nothing to copy")
	}
	if err := s.Begin(); err != nil {
		t.Fatal(err)
	}
	if err := s.ProduceSync(within(t, stepTime), valuesFor(w.to, 0, "of the zombie")...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	z := &zombie{t: t, c: franz(t, w.addr, kgo.MaxVersions(kversion.V4_0_0())), w: w, id: id}
	if z.producer, z.epoch, err = s.Client().ProducerID(within(t, stepTime)); err != nil {
		t.Fatal(err)
	}
	z.member, z.generation = s.Client().GroupMetadata()
	lines.cut()
	leave := kmsg.NewPtrLeaveGroupRequest()
	leave.Group, leave.MemberID = w.group, z.member
	leave.Members = []kmsg.LeaveGroupRequestMember{{MemberID: z.member}}
	if answer, err := leave.RequestWith(within(t, stepTime), z.c); err != nil || answer.ErrorCode != errorcode.None {
		t.Fatalf("removing a member: %+v, %v", answer, err)
	}
	return z
}

// commitOffset tries to commit an offset within the transaction.
func (z *zombie) commitOffset() int16 {
	z.t.Helper()
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch, req.MemberID, req.Generation = z.id, z.w.group, z.producer, z.epoch, z.member, z.generation
	req.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: z.w.from, Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{{Offset: 3, LeaderEpoch: -1}}}}
	answer, err := req.RequestWith(within(z.t, stepTime), z.c)
	if err != nil {
		z.t.Fatal(err)
	}
	return answer.Topics[0].Partitions[0].ErrorCode
}

// end tries to end the transaction.
func (z *zombie) end(commit bool) int16 {
	z.t.Helper()
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = z.id, z.producer, z.epoch, commit
	answer, err := req.RequestWith(within(z.t, stepTime), z.c)
	if err != nil {
		z.t.Fatal(err)
	}
	return answer.ErrorCode
}
