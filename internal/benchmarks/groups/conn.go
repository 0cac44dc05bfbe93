package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/wire"
)

// answerTime is how long an answer may take; JoinGroup waits for all members.
const answerTime = 5 * time.Minute

// conn is a bare connection with one request at a time.
type conn struct {
	net  net.Conn
	stop func() bool
	w    wire.Writer
	in   []byte
	next int32
}

// dial connects; the end of ctx cuts the connection.
func dial(ctx context.Context, address string) (*conn, error) {
	var d net.Dialer
	nc, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &conn{net: nc, stop: context.AfterFunc(ctx, func() { _ = nc.Close() })}, nil
}

func (c *conn) close() {
	c.stop()
	_ = c.net.Close()
}

// call sends a request and reads its answer, which is a view of the connection's
// buffer until the next call.
func (c *conn) call(key, version int16, request, response wire.Message) error {
	if err := c.send(key, version, request); err != nil {
		return err
	}
	return c.receive(key, version, response)
}

func (c *conn) send(key, version int16, request wire.Message) error {
	api := &generated.APIs()[key]
	c.next++
	h := generated.RequestHeader{RequestApiKey: key, RequestApiVersion: version, CorrelationId: c.next, ClientId: wire.String("bench")}
	c.w.Reset()
	at := c.w.BeginFrame()
	if err := h.Encode(&c.w, api.RequestHeaderVersion(version)); err != nil {
		return err
	}
	if err := request.Encode(&c.w, version); err != nil {
		return err
	}
	c.w.EndFrame(at)
	_, err := c.net.Write(c.w.Bytes())
	return err
}

func (c *conn) receive(key, version int16, response wire.Message) error {
	if err := c.net.SetReadDeadline(time.Now().Add(answerTime)); err != nil {
		return err
	}
	var size [4]byte
	if _, err := io.ReadFull(c.net, size[:]); err != nil {
		return fmt.Errorf("%s: %w", generated.APIs()[key].Name, err)
	}
	n := int(binary.BigEndian.Uint32(size[:]))
	if cap(c.in) < n {
		c.in = make([]byte, n)
	}
	c.in = c.in[:n]
	if _, err := io.ReadFull(c.net, c.in); err != nil {
		return err
	}
	var h generated.ResponseHeader
	rest, err := h.Decode(generated.APIs()[key].ResponseHeaderVersion(version), c.in)
	if err != nil {
		return err
	}
	if h.CorrelationId != c.next {
		return fmt.Errorf("answer %d to request %d", h.CorrelationId, c.next)
	}
	_, err = response.Decode(version, rest)
	return err
}

// createTopic makes a topic, and waits until the broker knows it.
func createTopic(ctx context.Context, address, name string, partitions int) error {
	c, err := dial(ctx, address)
	if err != nil {
		return err
	}
	defer c.close()
	request, response := generated.DefaultCreateTopicsRequest(), generated.CreateTopicsResponse{}
	topic := generated.CreateTopicsRequestCreatableTopic{Name: name, NumPartitions: int32(partitions), ReplicationFactor: 1}
	request.Topics = append(request.Topics, topic)
	for retry := (patience{}); ; {
		if err := c.call(generated.KeyCreateTopics, 4, &request, &response); err != nil {
			return err
		}
		switch code := response.Topics[0].ErrorCode; code {
		case errorcode.None, errorcode.TopicAlreadyExists:
			return c.findCoordinator(ctx)
		case errorcode.NotController, errorcode.RequestTimedOut:
			if err := retry.pause(ctx, code); err != nil {
				return err
			}
		default:
			return fmt.Errorf("create topic %s: %s", name, errorcode.Name(code))
		}
	}
}

// findCoordinator asks for a group's coordinator, with which a broker begins to
// keep groups.
func (c *conn) findCoordinator(ctx context.Context) error {
	request, response := generated.DefaultFindCoordinatorRequest(), generated.FindCoordinatorResponse{}
	request.Key = "bench"
	for retry := (patience{}); ; {
		if err := c.call(generated.KeyFindCoordinator, 3, &request, &response); err != nil {
			return err
		}
		switch code := response.ErrorCode; {
		case code == errorcode.None:
			return nil
		case !notReady(code):
			return fmt.Errorf("find the coordinator: %s", errorcode.Name(code))
		default:
			if err := retry.pause(ctx, code); err != nil {
				return err
			}
		}
	}
}

const (
	// retryPause is the time between attempts while a coordinator is not ready.
	retryPause = 20 * time.Millisecond
	// readyTime is how long it may take to be ready.
	readyTime = 2 * time.Minute
)

// patience bounds attempts at the same thing.
type patience struct{ began time.Time }

// pause waits before the next attempt, or fails when there were enough; code is
// what the broker answered.
func (p *patience) pause(ctx context.Context, code int16) error {
	switch {
	case p.began.IsZero():
		p.began = time.Now()
	case time.Since(p.began) > readyTime:
		return fmt.Errorf("the broker answers %s for %v", errorcode.Name(code), readyTime)
	}
	return pause(ctx, retryPause)
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// notReady reports whether a coordinator answers that it is not ready yet.
func notReady(code int16) bool {
	switch code {
	case errorcode.CoordinatorLoadInProgress, errorcode.CoordinatorNotAvailable, errorcode.NotCoordinator:
		return true
	}
	return false
}
