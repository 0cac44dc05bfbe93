package engine

import (
	"testing"

	"kafka-iggy-bridge/internal/engine/rawclient"
)

func dialRaw(tb testing.TB, e *Engine) *rawclient.Conn {
	tb.Helper()
	return rawclient.Dial(tb, e.Addr().String())
}

// dialRawRoot connects as the root user.
func dialRawRoot(tb testing.TB, e *Engine) *rawclient.Conn {
	tb.Helper()
	c := dialRaw(tb, e)
	user, password := e.Credentials()
	if status, _ := c.Do(38, rawclient.Login(user, password)); status != 0 {
		tb.Fatalf("login: status %d", status)
	}
	return c
}

// first is stream 0, topic 0.
func first() []byte { return append(rawclient.NumberID(0), rawclient.NumberID(0)...) }

// sendPayload sends to stream 0, topic 0.
func sendPayload(partitioning []byte, payloads ...string) []byte {
	return rawclient.Send(first(), partitioning, payloads...)
}

// pollPayload polls partition 0 of stream 0, topic 0 from an offset.
func pollPayload(offset uint64, count uint32) []byte {
	return rawclient.Poll(first(), 0, offset, count)
}
