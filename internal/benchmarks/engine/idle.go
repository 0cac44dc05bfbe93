package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/apache/iggy/foreign/go/client/tcp"
	iggcon "github.com/apache/iggy/foreign/go/contracts"
)

const partitionsPerTopic = 3

// idleCost prints what an engine costs that has many topics, a message in each
// partition, and nothing to do: as it was filled, and after a restart.
func idleCost(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "bench-engine-")
	if err != nil {
		return err
	}
	p, err := startEngine(ctx, o.binary, dir)
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	fmt.Printf("\n| idle engine, %d topics × %d partitions | memory, MB | processor, %% of a core | open files | ready after, ms |\n", o.topics, partitionsPerTopic)
	fmt.Println("| --- | ---: | ---: | ---: | ---: |")
	err = fillTopics(target{"engine", p.address, user, password}, o.topics)
	if err == nil {
		err = watch(ctx, o, p, "just filled")
	}
	p.end()
	if err == nil {
		if p, err = startEngine(ctx, o.binary, dir); err == nil {
			err = watch(ctx, o, p, "started anew")
			p.end()
		}
	}
	return errors.Join(err, os.RemoveAll(dir))
}

func watch(ctx context.Context, o options, p *process, what string) error {
	before, _, err := p.usage()
	if err != nil {
		return err
	}
	select {
	case <-time.After(o.idle):
	case <-ctx.Done():
		return ctx.Err()
	}
	after, rss, err := p.usage()
	if err != nil {
		return err
	}
	files, err := p.openFiles()
	if err != nil {
		return err
	}
	fmt.Printf("| %s | %.0f | %.2f | %d | %d |\n", what, float64(rss)/1e6, 100*(after-before).Seconds()/o.idle.Seconds(), files, p.ready.Milliseconds())
	return nil
}

func fillTopics(t target, n int) error {
	cli, err := connect(t)
	if err != nil {
		return err
	}
	defer func() { _ = cli.Close() }() // everything it did has been answered
	one, err := messages(1)
	if err != nil {
		return err
	}
	stream, err := iggcon.NewIdentifier("idle")
	if err != nil {
		return err
	}
	if _, err := cli.CreateStream("idle"); err != nil {
		return err
	}
	for i := range n {
		if err := fillTopic(cli, stream, fmt.Sprintf("topic-%d", i), one); err != nil {
			return err
		}
	}
	return nil
}

func fillTopic(cli *tcp.IggyTcpClient, stream iggcon.Identifier, name string, one []iggcon.IggyMessage) error {
	topic, err := iggcon.NewIdentifier(name)
	if err != nil {
		return err
	}
	if _, err := cli.CreateTopic(stream, name, partitionsPerTopic, iggcon.CompressionAlgorithmNone, iggcon.IggyExpiryNeverExpire, 0, nil); err != nil {
		return err
	}
	for p := range uint32(partitionsPerTopic) {
		if err := cli.SendMessages(stream, topic, iggcon.PartitionId(p), one); err != nil {
			return err
		}
	}
	return nil
}

// startup prints how long an engine with a large log takes until it serves: after it
// was stopped in order, and after it was killed.
func startup(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "bench-engine-")
	if err != nil {
		return err
	}
	return errors.Join(timeStarts(ctx, o, dir), os.RemoveAll(dir))
}

func timeStarts(ctx context.Context, o options, dir string) error {
	p, err := startEngine(ctx, o.binary, dir)
	if err != nil {
		return err
	}
	err = fillLog(target{"engine", p.address, user, password}, o.logMB)
	p.end()
	if err != nil {
		return err
	}
	fmt.Printf("\n| start-up with a log of %d MB | ready after, ms |\n| --- | ---: |\n", o.logMB)
	for _, after := range []string{"an orderly end", "kill -9"} {
		if p, err = startEngine(ctx, o.binary, dir); err != nil {
			return err
		}
		fmt.Printf("| after %s | %d |\n", after, p.ready.Milliseconds())
		if err := p.cmd.Process.Kill(); err != nil {
			return err
		}
		<-p.exited
	}
	return nil
}

func fillLog(t target, megabytes int) error {
	cli, err := connect(t)
	if err != nil {
		return err
	}
	defer func() { _ = cli.Close() }() // everything it did has been answered
	const batch = 1000
	all, err := messages(batch)
	if err != nil {
		return err
	}
	name, err := iggcon.NewIdentifier("large")
	if err != nil {
		return err
	}
	if _, err := cli.CreateStream("large"); err != nil {
		return err
	}
	if _, err := cli.CreateTopic(name, "large", partitionsPerTopic, iggcon.CompressionAlgorithmNone, iggcon.IggyExpiryNeverExpire, 0, nil); err != nil {
		return err
	}
	for i := range megabytes * 1_000_000 / batch / messageSize {
		if err := cli.SendMessages(name, name, iggcon.PartitionId(uint32(i%partitionsPerTopic)), all); err != nil {
			return err
		}
	}
	return nil
}
