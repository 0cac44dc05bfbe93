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
	fetchVersion = 7
	// loadConnections write the offsets and ask for them.
	loadConnections = 8
)

// load measures how long a broker that starts takes until it knows all committed
// offsets again.
func load(ctx context.Context, o *options, b *broker) error {
	if b.binary == "" {
		fmt.Println("\nload: a broker that runs already is not started anew, left out")
		return nil
	}
	if err := createTopic(ctx, b.address, "wide", o.partitions); err != nil {
		return err
	}
	began := time.Now()
	if err := writeOffsets(ctx, o, b); err != nil {
		return err
	}
	written := time.Since(began)
	b.stop()
	began = time.Now()
	if err := b.start(ctx); err != nil {
		return err
	}
	serves := time.Since(began)
	if err := readOffsets(ctx, o, b); err != nil {
		return err
	}
	loaded := time.Since(began)
	_, rss, err := b.used()
	if err != nil {
		return err
	}
	table([]string{"committed offsets", "written in, s", "clients served after, s", "all offsets served after, s", "memory, MB"},
		[]string{
			fmt.Sprintf("%d × %d", o.loadGroups, o.partitions),
			fmt.Sprintf("%.1f", written.Seconds()), fmt.Sprintf("%.2f", serves.Seconds()), fmt.Sprintf("%.2f", loaded.Seconds()),
			b.megabytes(rss),
		})
	return nil
}

func loadGroup(i int) string { return fmt.Sprintf("load-%d", i) }

// share runs work for every group, over several connections.
func share(work func(first, step int) error) error {
	errs := make([]error, loadConnections)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = work(i, loadConnections) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// writeOffsets commits an offset for every group and partition, a group's in one
// request.
func writeOffsets(ctx context.Context, o *options, b *broker) error {
	partitions := make([]int32, o.partitions)
	for p := range partitions {
		partitions[p] = int32(p)
	}
	return share(func(first, step int) error {
		c, err := newCommitter(ctx, b.address, "", "wide")
		if err != nil {
			return err
		}
		defer c.conn.close()
		for g := first; g < o.loadGroups; g += step {
			c.request.GroupId = loadGroup(g)
			if err := c.commit(ctx, int64(g), partitions...); err != nil {
				return err
			}
		}
		return nil
	})
}

// readOffsets fetches the offsets of all groups, and waits where the coordinator
// is still loading.
func readOffsets(ctx context.Context, o *options, b *broker) error {
	return share(func(first, step int) error {
		c, err := dial(ctx, b.address)
		if err != nil {
			return err
		}
		defer c.close()
		for g := first; g < o.loadGroups; g += step {
			if err := readGroup(ctx, c, g, o.partitions); err != nil {
				return err
			}
		}
		return nil
	})
}

func readGroup(ctx context.Context, c *conn, group, partitions int) error {
	r := generated.DefaultOffsetFetchRequest()
	r.GroupId, r.Topics = loadGroup(group), nil // of all topics
	for retry := (patience{}); ; {
		var a generated.OffsetFetchResponse
		if err := c.call(generated.KeyOffsetFetch, fetchVersion, &r, &a); err != nil {
			return err
		}
		switch {
		case a.ErrorCode == errorcode.None:
			return checkGroup(&a, group, partitions)
		case !notReady(a.ErrorCode):
			return fmt.Errorf("offsets of %s: %s", r.GroupId, errorcode.Name(a.ErrorCode))
		}
		if err := retry.pause(ctx, a.ErrorCode); err != nil {
			return err
		}
	}
}

// checkGroup makes sure that nothing was lost.
func checkGroup(a *generated.OffsetFetchResponse, group, partitions int) error {
	n := 0
	for _, t := range a.Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode != errorcode.None || p.CommittedOffset != int64(group) {
				return fmt.Errorf("%s has offset %d, error %s in partition %d", loadGroup(group), p.CommittedOffset, errorcode.Name(p.ErrorCode), p.PartitionIndex)
			}
			n++
		}
	}
	if n != partitions {
		return fmt.Errorf("%s has %d of %d offsets", loadGroup(group), n, partitions)
	}
	return nil
}
