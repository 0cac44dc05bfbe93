package main

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/iggy/foreign/go/client/tcp"
	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/google/uuid"
)

// messageSize is the size of a payload in bytes.
const messageSize = 1000

// kind is what a measurement does.
type kind string

const (
	sends kind = "send"
	polls kind = "poll"
)

// work is one measurement: requests on each of a number of connections, each of which
// has a partition of its own.
type work struct {
	kind         kind
	batch, conns int
	requests     int // of each connection

	stream   iggcon.Identifier
	messages []iggcon.IggyMessage
}

var streams atomic.Uint32

// cost is what a measurement took: time between the first request and the last answer,
// and the engine's processor time.
type cost struct{ passed, processor time.Duration }

// measure runs the work on a stream of its own, which it deletes.
func (w *work) measure(t target, p *process) (cost, error) {
	admin, err := connect(t)
	if err != nil {
		return cost{}, err
	}
	defer func() { _ = admin.Close() }() // everything it did has been answered
	name := fmt.Sprintf("bench-%d-%d", os.Getpid(), streams.Add(1))
	if w.stream, err = iggcon.NewIdentifier(name); err != nil {
		return cost{}, err
	}
	if w.messages, err = messages(max(w.batch, 1000)); err != nil {
		return cost{}, err
	}
	if _, err := admin.CreateStream(name); err != nil {
		return cost{}, err
	}
	if _, err := admin.CreateTopic(w.stream, name, uint32(w.conns), iggcon.CompressionAlgorithmNone, iggcon.IggyExpiryNeverExpire, 0, nil); err != nil {
		return cost{}, err
	}
	if w.kind == polls {
		if err := w.fill(admin); err != nil {
			return cost{}, err
		}
	}
	took, err := w.run(t, p)
	if err != nil {
		return cost{}, err
	}
	return took, admin.DeleteStream(w.stream)
}

// polledMessages is how many messages each partition has that polls go through, again
// and again.
const polledMessages = 100_000

// fill writes what will be polled, in batches of the size that is polled, so that a
// poll's answer is one batch, but no smaller than 100.
func (w *work) fill(admin *tcp.IggyTcpClient) error {
	batch := max(w.batch, 100)
	for partition := range uint32(w.conns) {
		for range polledMessages / batch {
			if err := admin.SendMessages(w.stream, w.stream, iggcon.PartitionId(partition), w.messages[:batch]); err != nil {
				return err
			}
		}
	}
	return nil
}

// run starts all connections and times their requests.
func (w *work) run(t target, p *process) (cost, error) {
	calls := make([]func() error, w.conns)
	for i := range calls {
		cli, err := connect(t)
		if err != nil {
			return cost{}, err
		}
		defer func() { _ = cli.Close() }() // everything it did has been answered
		if calls[i], err = w.caller(cli, uint32(i)); err != nil {
			return cost{}, err
		}
	}
	failed := make(chan error, w.conns)
	var all sync.WaitGroup
	before, _, err := p.usage()
	if err != nil {
		return cost{}, err
	}
	began := time.Now()
	for _, call := range calls {
		all.Go(func() {
			for range w.requests {
				if err := call(); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	all.Wait()
	took := cost{passed: time.Since(began)}
	after, _, err := p.usage()
	if err != nil {
		return cost{}, err
	}
	took.processor = after - before
	select {
	case err := <-failed:
		return cost{}, err
	default:
		return took, nil
	}
}

// caller returns a function that makes one request.
func (w *work) caller(cli *tcp.IggyTcpClient, partition uint32) (func() error, error) {
	if w.kind == sends {
		mine := append([]iggcon.IggyMessage(nil), w.messages[:w.batch]...)
		return func() error {
			return cli.SendMessages(w.stream, w.stream, iggcon.PartitionId(partition), mine)
		}, nil
	}
	id, err := iggcon.NewIdentifier(uint32(1))
	if err != nil {
		return nil, err
	}
	var at uint64
	return func() error {
		polled, err := cli.PollMessages(w.stream, w.stream, iggcon.NewSingleConsumer(id), iggcon.OffsetPollingStrategy(at), uint32(w.batch), false, &partition)
		if err != nil {
			return err
		}
		if len(polled.Messages) != w.batch {
			return fmt.Errorf("%d messages came at offset %d", len(polled.Messages), at)
		}
		at = (at + uint64(w.batch)) % polledMessages
		return nil
	}, nil
}

// connect logs in.
func connect(t target) (*tcp.IggyTcpClient, error) {
	cli, err := tcp.NewIggyTcpClient(tcp.WithServerAddress(t.address))
	if err != nil {
		return nil, err
	}
	if _, err := cli.LoginUser(t.user, t.password); err != nil {
		return nil, err
	}
	return cli, nil
}

func messages(n int) ([]iggcon.IggyMessage, error) {
	payload := make([]byte, messageSize)
	for i := range payload {
		payload[i] = byte(i)
	}
	all := make([]iggcon.IggyMessage, n)
	for i := range all {
		m, err := iggcon.NewIggyMessage(payload, iggcon.WithID(uuid.New()))
		if err != nil {
			return nil, err
		}
		all[i] = m
	}
	return all, nil
}
