package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
)

const (
	commitVersion = 9
	// commitPartitions are those that each connection commits for in turn.
	commitPartitions = 10
)

// committer commits offsets of a group of its own, one at a time, over its own
// connection.
type committer struct {
	conn    *conn
	request generated.OffsetCommitRequest
	took    []time.Duration
}

func newCommitter(ctx context.Context, address, group, topic string) (*committer, error) {
	c, err := dial(ctx, address)
	if err != nil {
		return nil, err
	}
	r := generated.DefaultOffsetCommitRequest()
	r.GroupId = group
	r.Topics = []generated.OffsetCommitRequestTopic{{Name: topic}}
	return &committer{conn: c, request: r}, nil
}

// commit commits the same offset for partitions.
func (c *committer) commit(ctx context.Context, offset int64, partitions ...int32) error {
	t := &c.request.Topics[0]
	t.Partitions = t.Partitions[:0]
	for _, p := range partitions {
		row := generated.DefaultOffsetCommitRequestPartition()
		row.PartitionIndex, row.CommittedOffset = p, offset
		t.Partitions = append(t.Partitions, row)
	}
	for retry := (patience{}); ; {
		var a generated.OffsetCommitResponse
		if err := c.conn.call(generated.KeyOffsetCommit, commitVersion, &c.request, &a); err != nil {
			return err
		}
		if len(a.Topics) != 1 || len(a.Topics[0].Partitions) != len(partitions) {
			return errors.New("an answer to a commit lacks rows")
		}
		code := errorcode.None
		for _, p := range a.Topics[0].Partitions {
			if p.ErrorCode != errorcode.None {
				code = p.ErrorCode
			}
		}
		switch {
		case code == errorcode.None:
			return nil
		case !notReady(code):
			return fmt.Errorf("commit of %s: %s", c.request.GroupId, errorcode.Name(code))
		}
		if err := retry.pause(ctx, code); err != nil {
			return err
		}
	}
}

// commits measures single commits, at a given rate and as fast as they go.
func commits(ctx context.Context, o *options, b *broker) error {
	if err := createTopic(ctx, b.address, "commits", commitPartitions); err != nil {
		return err
	}
	all := make([]*committer, o.connections)
	for i := range all {
		c, err := newCommitter(ctx, b.address, fmt.Sprintf("commits-%d", i), "commits")
		if err != nil {
			return err
		}
		defer c.conn.close()
		if err := c.commit(ctx, 0, 0); err != nil { // the coordinator is ready
			return err
		}
		all[i] = c
	}
	paced, err := commitRound(ctx, o, b, all, time.Duration(float64(time.Second)*float64(len(all))/float64(o.rate)))
	if err != nil {
		return err
	}
	fast, err := commitRound(ctx, o, b, all, 0)
	if err != nil {
		return err
	}
	table([]string{"commits, each a request, " + fmt.Sprint(o.connections) + " connections", "commits/s", "median ms", "99 % below ms", "processor, % of a core", "memory, MB"},
		append([]string{fmt.Sprintf("%d/s asked for", o.rate)}, paced...), append([]string{"as fast as they go"}, fast...))
	return nil
}

// commitRound commits for a while, each connection once in every interval, and
// returns the columns of the table.
func commitRound(ctx context.Context, o *options, b *broker, all []*committer, every time.Duration) ([]string, error) {
	before, _, err := b.used()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	errs := make([]error, len(all))
	var work sync.WaitGroup
	for i, c := range all {
		work.Go(func() {
			errs[i] = c.run(ctx, began, o.commitTime, every, every*time.Duration(i)/time.Duration(len(all)))
		})
	}
	work.Wait()
	took := time.Since(began)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	after, rss, err := b.used()
	if err != nil {
		return nil, err
	}
	var times []time.Duration
	for _, c := range all {
		times = append(times, c.took...)
	}
	return []string{
		fmt.Sprintf("%.0f", float64(len(times))/took.Seconds()),
		ms(quantile(times, 0.5)), ms(quantile(times, 0.99)),
		b.load(after-before, took), b.megabytes(rss),
	}, nil
}

// run commits until the time is over. What comes late is made up for, so that
// the rate shows whether it can be kept.
func (c *committer) run(ctx context.Context, began time.Time, length, every, phase time.Duration) error {
	c.took = c.took[:0]
	for n := int64(0); ; n++ {
		if every > 0 {
			if err := pause(ctx, time.Until(began.Add(phase+every*time.Duration(n)))); err != nil {
				return err
			}
		}
		sent := time.Now()
		if sent.Sub(began) >= length {
			return nil
		}
		if err := c.commit(ctx, n, int32(n%commitPartitions)); err != nil {
			return err
		}
		c.took = append(c.took, time.Since(sent))
	}
}
