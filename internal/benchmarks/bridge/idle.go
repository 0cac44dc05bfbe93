package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/wire"
)

// maxWaits are the long-poll times with which idle consumers ask: those of
// franz-go and of Java by default.
var maxWaits = []time.Duration{5 * time.Second, 500 * time.Millisecond}

// idleConsumers measures what consumers cost that wait at the end of a partition.
// They are bare connections, so that the clients cost this process little.
func idleConsumers(ctx context.Context, o options, p *process) error {
	c, err := client(p.kafka)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := createTopic(ctx, c, "idle"); err != nil {
		return err
	}
	fmt.Printf("| %d idle consumers, maximum wait | processor, %% of a core | memory, MB |\n| --- | ---: | ---: |\n", o.consumers)
	for _, wait := range maxWaits {
		if err := idleRound(ctx, o, p, wait); err != nil {
			return err
		}
	}
	return nil
}

func idleRound(ctx context.Context, o options, p *process, wait time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	failed := make(chan error, o.consumers)
	for range o.consumers {
		all.Go(func() {
			if err := idleConsumer(ctx, p.kafka, wait); err != nil && ctx.Err() == nil {
				failed <- err
			}
		})
	}
	if err := pause(ctx, wait+2*time.Second, failed); err != nil {
		return err
	}
	before, _, err := p.usage()
	if err != nil {
		return err
	}
	if err := pause(ctx, o.idle, failed); err != nil {
		return err
	}
	after, rss, err := p.usage()
	if err != nil {
		return err
	}
	fmt.Printf("| %s | %.1f | %.0f |\n", wait, 100*(after-before).Seconds()/o.idle.Seconds(), float64(rss)/1e6)
	return nil
}

func pause(ctx context.Context, d time.Duration, failed <-chan error) error {
	select {
	case <-time.After(d):
		return nil
	case err := <-failed:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// idleConsumer fetches at the end of partition 0 until ctx ends.
func idleConsumer(ctx context.Context, addr string, wait time.Duration) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	frame, err := fetchFrame(wait)
	if err != nil {
		return err
	}
	size := make([]byte, 4)
	for {
		if _, err := conn.Write(frame); err != nil {
			return err
		}
		if _, err := io.ReadFull(conn, size); err != nil {
			return err
		}
		if _, err := io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint32(size))); err != nil {
			return err
		}
	}
}

func fetchFrame(wait time.Duration) ([]byte, error) {
	h := generated.RequestHeader{RequestApiKey: generated.KeyFetch, RequestApiVersion: 12, ClientId: wire.String("idle")}
	m := generated.DefaultFetchRequest()
	m.MaxWaitMs, m.MinBytes = int32(wait.Milliseconds()), 1
	t := generated.DefaultFetchRequestFetchTopic()
	t.Topic = "idle"
	part := generated.DefaultFetchRequestFetchPartition()
	part.PartitionMaxBytes = 1 << 20
	t.Partitions = append(t.Partitions, part)
	m.Topics = append(m.Topics, t)
	var w wire.Writer
	at := w.BeginFrame()
	if err := h.Encode(&w, 2); err != nil {
		return nil, err
	}
	if err := m.Encode(&w, 12); err != nil {
		return nil, err
	}
	w.EndFrame(at)
	return w.Bytes(), nil
}
