package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// member is a franz-go client in a group. It receives what it is assigned,
// commits it, and keeps in mind what it owns.
type member struct {
	name  string
	c     *kgo.Client
	l     *ledger
	task  task
	wires *wires
	ended chan struct{}
	stop  context.CancelFunc // ends polling
	die   context.CancelFunc // ends all

	mu    sync.Mutex
	owned map[place]bool
	moved int // partitions that were given or taken
	errs  []error
}

// task is what a member does beyond receiving and committing.
type task struct {
	polls  int                       // after so many polls that brought something it goes, and lets the last one lie; 0 for no end
	handle func([]*kgo.Record) error // is called before the commit
}

// joinGroup starts a member that lives until it is told to leave or to vanish, or
// the test ends.
func joinGroup(t *testing.T, addr, group, name string, l *ledger, opts ...kgo.Opt) *member {
	t.Helper()
	return joinGroupFor(t, addr, group, name, l, task{}, opts...)
}

func joinGroupFor(t *testing.T, addr, group, name string, l *ledger, do task, opts ...kgo.Opt) *member {
	t.Helper()
	life, die := context.WithCancel(context.Background())
	polling, stop := context.WithCancel(life)
	m := &member{name: name, l: l, task: do, wires: &wires{conns: map[net.Conn]bool{}}, ended: make(chan struct{}), stop: stop, die: die, owned: map[place]bool{}}
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(addr), kgo.ConsumerGroup(group), kgo.ClientID(name), kgo.Dialer(m.wires.dial), kgo.WithContext(life),
		kgo.FetchMaxWait(200 * time.Millisecond), kgo.HeartbeatInterval(100 * time.Millisecond), kgo.SessionTimeout(6 * time.Second),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.BlockRebalanceOnPoll(), kgo.DisableAutoCommit(),
		kgo.MetadataMaxAge(time.Second), kgo.MetadataMinAge(100 * time.Millisecond), kgo.RequestRetries(1000),
		kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, ps map[string][]int32) { m.own(ps, true) }),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, ps map[string][]int32) { m.own(ps, false) }),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, ps map[string][]int32) { m.own(ps, false) })}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	m.c = c
	go m.live(polling, life)
	t.Cleanup(m.vanish)
	return m
}

func (m *member) own(ps map[string][]int32, given bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for topic, partitions := range ps {
		for _, p := range partitions {
			m.moved++
			if at := (place{topic, p}); given {
				m.owned[at] = true
			} else {
				delete(m.owned, at)
			}
		}
	}
}

// live polls a few records at a time and commits them before the group may move
// on: what one member commits, another does not see.
func (m *member) live(polling, life context.Context) {
	defer close(m.ended)
	for polls := 0; ; {
		fetches := m.c.PollRecords(polling, 50)
		if !fetches.Empty() {
			polls++
		}
		if polling.Err() != nil || fetches.IsClientClosed() {
			m.c.AllowRebalance()
			return
		}
		if m.task.polls > 0 && polls == m.task.polls {
			m.c.CloseAllowingRebalance()
			return
		}
		fetches.EachError(func(topic string, p int32, err error) { m.fail(fmt.Errorf("fetch %s-%d: %w", topic, p, err)) })
		if records := fetches.Records(); len(records) > 0 {
			m.work(life, records)
		}
		m.c.AllowRebalance()
	}
}

// work enters records into the ledger, does the member's task and commits.
func (m *member) work(life context.Context, records []*kgo.Record) {
	last := map[place]int64{}
	for _, r := range records {
		m.l.enter(m.name, r.Topic, r.Partition, r.Offset)
		last[place{r.Topic, r.Partition}] = r.Offset
	}
	if m.task.handle != nil {
		if err := m.task.handle(records); err != nil {
			m.fail(err)
			return
		}
	}
	if err := m.c.CommitRecords(life, records...); err != nil {
		if life.Err() == nil {
			m.fail(fmt.Errorf("commit: %w", err))
		}
		return
	}
	for at, offset := range last {
		m.l.commit(at.topic, at.partition, offset+1)
	}
}

func (m *member) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.errs = append(m.errs, err)
}

// failure is what the member was told is wrong, nil for nothing.
func (m *member) failure() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return errors.Join(m.errs...)
}

// leave ends the member in good order. A static member stays in its group.
func (m *member) leave() {
	m.stop()
	<-m.ended
	m.c.CloseAllowingRebalance()
}

// vanish cuts the member's connections: its group is not told.
func (m *member) vanish() {
	m.die()
	m.wires.cut()
	<-m.ended
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = m.c.LeaveGroupContext(ctx)
	m.c.CloseAllowingRebalance()
}

func (m *member) places() []place {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Keys(m.owned))
}

func (m *member) moves() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.moved
}

// awaitShares waits until the members own so many partitions each, and no
// partition twice.
func awaitShares(t *testing.T, members []*member, shares ...int) {
	t.Helper()
	await(t, fmt.Sprintf("%d members share partitions as %v", len(members), shares), func() bool {
		var sizes []int
		all := map[place]bool{}
		total := 0
		for _, m := range members {
			ps := m.places()
			sizes = append(sizes, len(ps))
			total += len(ps)
			for _, p := range ps {
				all[p] = true
			}
		}
		slices.Sort(sizes)
		return slices.Equal(sizes, shares) && len(all) == total
	})
}

// healthy fails the test with what members were told is wrong.
func healthy(t *testing.T, members ...*member) {
	t.Helper()
	for _, m := range members {
		if err := m.failure(); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}

// wires are the connections of one client, which can be cut all at once.
type wires struct {
	mu    sync.Mutex
	down  bool
	conns map[net.Conn]bool
}

func (w *wires) dial(ctx context.Context, network, host string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, host)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down {
		c.Close()
		return nil, net.ErrClosed
	}
	w.conns[c] = true
	return c, nil
}

func (w *wires) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = true
	for c := range w.conns {
		c.Close()
	}
}
