package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"kafka-iggy-bridge/internal/errorcode"
)

// parkTime is how long the last member waits, so that all other joins have
// reached the broker.
const parkTime = 100 * time.Millisecond

// rebalance measures the time from the last member's join to the last answer to
// a sync, in a group that has to deal out many partitions.
func rebalance(ctx context.Context, o *options, b *broker) error {
	if o.rebalanced < 2 || o.rounds < 1 {
		return fmt.Errorf("a rebalance takes two members and a round, not %d and %d", o.rebalanced, o.rounds)
	}
	if err := createTopic(ctx, b.address, "wide", o.partitions); err != nil {
		return err
	}
	members := make([]*member, o.rebalanced)
	for i := range members {
		c, err := dial(ctx, b.address)
		if err != nil {
			return err
		}
		defer c.close()
		members[i] = &member{conn: c, group: "rebalance", topic: "wide", partitions: o.partitions}
	}
	if err := each(members, func(m *member) error { return m.settle(ctx) }); err != nil {
		return err
	}
	var times []time.Duration
	for range o.rounds {
		if err := quiet(ctx, members); err != nil {
			return err
		}
		took, err := round(ctx, members)
		if err != nil {
			return err
		}
		if n := dealt(members); n != o.partitions {
			return fmt.Errorf("%d of %d partitions are dealt out", n, o.partitions)
		}
		times = append(times, took)
	}
	median, worst := quantile(times, 0.5), quantile(times, 1)
	table([]string{"members, partitions", "rounds", "last join to last sync, median ms", "worst ms"},
		[]string{fmt.Sprintf("%d, %d", o.rebalanced, o.partitions), fmt.Sprint(o.rounds), ms(median), ms(worst)})
	return nil
}

// each does something for all members at the same time.
func each(members []*member, do func(*member) error) error {
	errs := make([]error, len(members))
	var all sync.WaitGroup
	for i, m := range members {
		all.Go(func() { errs[i] = do(m) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// quiet waits until the group is stable: the first rounds may be followed by
// more, as members come late.
func quiet(ctx context.Context, members []*member) error {
	for {
		var mu sync.Mutex
		moving := false
		err := each(members, func(m *member) error {
			rebalances, err := m.heartbeat()
			if err != nil || !rebalances {
				return err
			}
			mu.Lock()
			moving = true
			mu.Unlock()
			return m.settle(ctx)
		})
		if err != nil || !moving {
			return err
		}
	}
}

// round is one rebalance: the leader's join begins it, the others follow when
// heartbeats tell them, and the clock starts with the last.
func round(ctx context.Context, members []*member) (time.Duration, error) {
	var first, last *member
	var others []*member
	for _, m := range members {
		switch {
		case m.leader:
			first = m
		case last == nil:
			last = m
		default:
			others = append(others, m)
		}
	}
	if first == nil || last == nil {
		return 0, fmt.Errorf("no leader among %d members", len(members))
	}
	if err := first.sendJoin(); err != nil {
		return 0, err
	}
	if err := each(append(others, last), func(m *member) error {
		if err := m.await(ctx); err != nil || m == last {
			return err
		}
		return m.sendJoin()
	}); err != nil {
		return 0, err
	}
	if err := pause(ctx, parkTime); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := last.sendJoin(); err != nil {
		return 0, err
	}
	err := each(members, func(m *member) error {
		code, err := m.joined()
		again := code != errorcode.None
		if err == nil && !again {
			again, err = m.sync()
		}
		if err == nil && again {
			err = fmt.Errorf("member %s has to join again", m.id)
		}
		return err
	})
	return time.Since(began), err
}

// await sends heartbeats until the group rebalances.
func (m *member) await(ctx context.Context) error {
	for {
		rebalances, err := m.heartbeat()
		if err != nil || rebalances {
			return err
		}
		if err := pause(ctx, retryPause); err != nil {
			return err
		}
	}
}

// dealt counts the partitions that members have.
func dealt(members []*member) int {
	n := 0
	for _, m := range members {
		n += m.assigned
	}
	return n
}
