package exchange

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/tool"
	"kafka-iggy-bridge/internal/tool/corpus"
	"kafka-iggy-bridge/internal/tool/frame"
)

// behaviour answers the frames of one connection, given one at a time without
// their size. It returns false to close the connection.
type behaviour func(conn net.Conn, payload []byte) bool

// peer starts a server that behaves in one way and returns its address. It ends
// with the test, with all connections.
func peer(t *testing.T, behave behaviour) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open[conn] = true
			mu.Unlock()
			running.Go(func() {
				serve(conn, behave)
				mu.Lock()
				delete(open, conn)
				mu.Unlock()
			})
		}
	})
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		mu.Lock()
		for conn := range open {
			// It may have been closed by its own goroutine.
			if err := conn.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
				t.Error(err)
			}
		}
		mu.Unlock()
		running.Wait()
	})
	return l.Addr().String()
}

func serve(conn net.Conn, behave behaviour) {
	defer func() { _ = conn.Close() }() // the other side may be gone
	for {
		payload, err := frame.Read(conn)
		if err != nil || !behave(conn, payload) {
			return
		}
	}
}

// send writes raw bytes; a client that is gone shows at the next read.
func send(conn net.Conn, b []byte) { _, _ = conn.Write(b) }

// answer is a well-behaved peer: the response of a corpus to every request.
func answer(conn net.Conn, payload []byte) bool {
	key, version := int16(binary.BigEndian.Uint16(payload)), int16(binary.BigEndian.Uint16(payload[2:]))
	api, ok := generated.LookupAPI(key)
	if !ok {
		return false
	}
	x, err := corpus.Make(tool.Pair{API: api, Version: version}, corpus.Options{Seed: 1})
	if err != nil {
		return false
	}
	copy(x.Response[frame.SizeBytes:], payload[4:8]) // the correlation id
	send(conn, x.Response)
	return true
}

func closes(net.Conn, []byte) bool { return false }

// never answers nothing and leaves the connection to the client.
func never(conn net.Conn, _ []byte) bool {
	_, _ = io.Copy(io.Discard, conn)
	return false
}

func says(b string) behaviour {
	return func(conn net.Conn, _ []byte) bool {
		send(conn, []byte(b))
		return false
	}
}

// echoes sends a frame with the request's correlation id and then some bytes.
func echoes(b string) behaviour {
	return func(conn net.Conn, payload []byte) bool {
		out := binary.BigEndian.AppendUint32(nil, uint32(4+len(b)))
		out = append(out, payload[4:8]...)
		send(conn, append(out, b...))
		return true
	}
}

func resets(conn net.Conn, _ []byte) bool {
	if c, ok := conn.(*net.TCPConn); ok {
		_ = c.SetLinger(0) // closing then sends RST
	}
	return false
}

func server(address string) Server { return Server{Address: address, Timeout: 10 * time.Second} }

func impatient(address string) Server {
	return Server{Address: address, Timeout: 50 * time.Millisecond}
}

// nobody returns an address at which nothing listens.
func nobody(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

func make1(t *testing.T, api string, version int16) *corpus.Exchange {
	t.Helper()
	pairs, err := tool.Select(api, version)
	if err != nil {
		t.Fatal(err)
	}
	x, err := corpus.Make(pairs[0], corpus.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return x
}
