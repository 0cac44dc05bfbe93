package e2e

import (
	"errors"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// groupProtocols are the ways in which franz-go's members share partitions: the
// classic protocol with each of its balancers, and the one of KIP-848 with each
// of the assignors on the server.
var groupProtocols = map[string][]kgo.Opt{
	"range":              {kgo.Balancers(kgo.RangeBalancer())},
	"roundrobin":         {kgo.Balancers(kgo.RoundRobinBalancer())},
	"sticky":             {kgo.Balancers(kgo.StickyBalancer())},
	"cooperative-sticky": {kgo.Balancers(kgo.CooperativeStickyBalancer())},
	"consumer-range":     {kgo.Balancers(kgo.RangeBalancer()), kgo.ServerSideBalancer()},
	"consumer-uniform":   {kgo.Balancers(kgo.StickyBalancer()), kgo.ServerSideBalancer()},
}

// together runs subtests at the same time, all of them: they wait more than they
// work, so that as many as there are processors were too few.
func together(t *testing.T, names iter.Seq[string], run func(t *testing.T, name string)) {
	t.Helper()
	var wg sync.WaitGroup
	for name := range names {
		wg.Go(func() { t.Run(name, func(t *testing.T) { run(t, name) }) })
	}
	wg.Wait()
}

// startGroups runs a bridge whose groups settle soon: they do not wait for more
// first members, and members of consumer groups learn within half a second what
// they are to do.
func startGroups(t *testing.T, env ...string) *broker {
	t.Helper()
	return start(t, append([]string{"BRIDGE_GROUPS_INITIAL_REBALANCE_DELAY=0s", "BRIDGE_GROUPS_CONSUMER_HEARTBEAT_INTERVAL=500ms",
		"BRIDGE_GROUPS_CONSUMER_ASSIGNMENT_INTERVAL=100ms"}, env...)...)
}

// await waits until something holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(stepTime)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s: not within %s", what, stepTime)
		}
	}
}

// place is a partition.
type place struct {
	topic     string
	partition int32
}

// ledger holds what the members of a group have received and committed. It knows
// of each partition the offset that comes next, and the offset below which all is
// committed and acknowledged: a member must be given nothing behind the first and
// nothing before the second.
type ledger struct {
	t  *testing.T
	mu sync.Mutex

	next, committed map[place]int64
	received        int // records, without those that came again
	repeated        int // records that came again before they were committed
}

func newLedger(t *testing.T) *ledger {
	return &ledger{t: t, next: map[place]int64{}, committed: map[place]int64{}}
}

// enter notes a record that a member received.
func (l *ledger) enter(who, topic string, partition int32, offset int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := place{topic, partition}
	switch next := l.next[at]; {
	case offset > next:
		l.t.Errorf("%s received offset %d of %s-%d, and nobody received %d", who, offset, topic, partition, next)
	case offset < l.committed[at]:
		l.t.Errorf("%s received offset %d of %s-%d, which is committed up to %d", who, offset, topic, partition, l.committed[at])
	case offset < next:
		l.repeated++
		return
	default:
		l.received++
	}
	l.next[at] = offset + 1
}

// commit notes an acknowledged commit.
func (l *ledger) commit(topic string, partition int32, offset int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := (place{topic, partition}); offset > l.committed[at] {
		l.committed[at] = offset
	}
}

func (l *ledger) counts() (received, repeated int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.received, l.repeated
}

// matches checks that what the group has committed is what was acknowledged.
func (l *ledger) matches(addr, group string) {
	l.t.Helper()
	stored := fetchCommits(l.t, addr, group)
	l.mu.Lock()
	defer l.mu.Unlock()
	for at, want := range l.committed {
		if got, ok := stored.Lookup(at.topic, at.partition); !ok || got.At != want {
			l.t.Errorf("%s-%d is committed at %d (%t), want %d", at.topic, at.partition, got.At, ok, want)
		}
	}
}

// fetchCommits reads all offsets of a group, once they are loaded.
func fetchCommits(t *testing.T, addr, group string) kadm.OffsetResponses {
	t.Helper()
	admin := kadm.NewClient(franz(t, addr))
	var got kadm.OffsetResponses
	await(t, "the offsets of "+group+" are loaded", func() bool {
		var err error
		if got, err = admin.FetchOffsets(within(t, stepTime), group); err == nil {
			err = got.Error()
		}
		if err != nil && !errors.Is(err, kerr.CoordinatorLoadInProgress) {
			t.Fatalf("fetch offsets of %s: %v", group, err)
		}
		return err == nil
	})
	return got
}

// awaitStable waits until a group is in no rebalance.
func awaitStable(t *testing.T, addr, group string) {
	t.Helper()
	admin := kadm.NewClient(franz(t, addr))
	await(t, group+" is stable", func() bool {
		listed, err := admin.ListGroups(within(t, stepTime), "Stable")
		return err == nil && slices.Contains(listed.Groups(), group)
	})
}
