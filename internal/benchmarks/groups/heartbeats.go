package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// idle are the members of the groups that do nothing but send heartbeats.
type idle struct {
	options *options
	address string

	settled      sync.WaitGroup // members that have their first assignment
	heartbeats   atomic.Int64
	rebalances   atomic.Int64
	failed       chan error
	connectTurns chan struct{} // bounds how many connect and join at a time
}

// heartbeats measures what many groups of members cost that only say that they
// live.
func heartbeats(ctx context.Context, o *options, b *broker) error {
	if err := createTopic(ctx, b.address, "idle", o.members); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	n := o.groups * o.members
	s := &idle{options: o, address: b.address, failed: make(chan error, n), connectTurns: make(chan struct{}, 500)}
	s.settled.Add(n)
	began := time.Now()
	for g := range o.groups {
		for range o.members {
			all.Go(func() {
				if err := s.live(ctx, fmt.Sprintf("idle-%d", g)); err != nil && ctx.Err() == nil {
					s.failed <- err
				}
			})
		}
	}
	if err := s.wait(ctx); err != nil {
		return err
	}
	settled := time.Since(began)
	if err := s.watch(ctx, o.interval); err != nil { // the joins are over and done with
		return err
	}
	return s.report(ctx, b, settled)
}

// live is a member's life until ctx ends.
func (s *idle) live(ctx context.Context, group string) error {
	m, err := s.enter(ctx, group)
	s.settled.Done()
	if err != nil {
		return err
	}
	defer m.conn.close()
	// Members started at the same time must not beat at the same time.
	if err := pause(ctx, rand.N(s.options.interval)); err != nil {
		return err
	}
	for {
		rebalances, err := m.heartbeat()
		if err != nil {
			return err
		}
		s.heartbeats.Add(1)
		if rebalances {
			s.rebalances.Add(1)
			if err := m.settle(ctx); err != nil {
				return err
			}
		}
		if err := pause(ctx, s.options.interval); err != nil {
			return err
		}
	}
}

// enter connects and joins.
func (s *idle) enter(ctx context.Context, group string) (*member, error) {
	s.connectTurns <- struct{}{}
	c, err := dial(ctx, s.address)
	<-s.connectTurns
	if err != nil {
		return nil, err
	}
	m := &member{conn: c, group: group, topic: "idle", partitions: s.options.members}
	if err := m.settle(ctx); err != nil {
		c.close()
		return nil, err
	}
	return m, nil
}

// wait waits until all members have an assignment.
func (s *idle) wait(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		s.settled.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case err := <-s.failed:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// watch lets the members go on for a while.
func (s *idle) watch(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case err := <-s.failed:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *idle) report(ctx context.Context, b *broker, settled time.Duration) error {
	o := s.options
	beats, rebalances := s.heartbeats.Load(), s.rebalances.Load()
	before, _, err := b.used()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := s.watch(ctx, o.watch); err != nil {
		return err
	}
	after, rss, err := b.used()
	if err != nil {
		return err
	}
	took := time.Since(began)
	table([]string{"groups × members, heartbeat", "settled after, s", "heartbeats/s", "rebalances", "processor, % of a core", "memory, MB"},
		[]string{
			fmt.Sprintf("%d × %d, %v", o.groups, o.members, o.interval),
			fmt.Sprintf("%.1f", settled.Seconds()),
			fmt.Sprintf("%.0f", float64(s.heartbeats.Load()-beats)/took.Seconds()),
			fmt.Sprint(s.rebalances.Load() - rebalances),
			b.load(after-before, took),
			b.megabytes(rss),
		})
	return nil
}
