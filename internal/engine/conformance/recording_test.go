package conformance

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"

	"kafka-iggy-bridge/internal/engine/protocol"
	"kafka-iggy-bridge/internal/engine/rawclient"
)

// exchange is one request of the recording of a real server 0.8.0.
type exchange struct {
	Step     string `json:"step"`
	Conn     int    `json:"conn"`
	Code     uint32 `json:"code"`
	Request  string `json:"request"`
	Status   uint32 `json:"status"`
	Response string `json:"response"`
}

func readRecording(t *testing.T) []exchange {
	t.Helper()
	f, err := os.Open("testdata/transcript.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var all []exchange
	scan := bufio.NewScanner(z)
	scan.Buffer(nil, 16<<20)
	for scan.Scan() {
		var x exchange
		if err := json.Unmarshal(scan.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		all = append(all, x)
	}
	if err := scan.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestRecording sends the recorded requests byte for byte and compares the answers,
// with what differs from run to run masked. It needs a server without a past, as the
// recorded one was, since Iggy goes on counting where others have left: so it is not
// parallel, which makes it the first to use a real server.
func TestRecording(t *testing.T) {
	onEachInTurn(t, func(t *testing.T, s *server) {
		admin := s.rawRoot(t)
		requireEmpty(t, admin)
		t.Cleanup(func() { removeAll(t, s) })
		awaitClients(t, admin, 1) // those of earlier tests may be about to go
		admin.Close()
		play(t, s, readRecording(t))
	})
}

// play sends the recorded requests, each over the connection it was recorded on.
func play(t *testing.T, s *server, all []exchange) {
	t.Helper()
	recordedLogin := hex.EncodeToString(rawclient.Login("iggy", "iggy")[:10])
	conns := make(map[int]*rawclient.Conn)
	replaced := make(map[string]string) // recorded request → the one to send, hex
	for _, x := range all {
		if x.Step == "get group after the second closed" {
			conns[1].Close()
			awaitClients(t, conns[0], len(conns)-1)
		}
		c := conns[x.Conn]
		if c == nil {
			c = s.raw(t)
			conns[x.Conn] = c
		}
		request := x.Request
		if x.Code == uint32(protocol.LoginUser) && strings.HasPrefix(request, recordedLogin) {
			request = hex.EncodeToString(rawclient.Login(s.user, s.password))
		}
		if other, ok := replaced[request]; ok {
			request = other
		}
		status, body := c.Do(x.Code, unhex(t, request))
		if x.Code == uint32(protocol.CreateToken) && status == 0 {
			replaced[x.Response] = hex.EncodeToString(body)
		}
		if status != x.Status {
			t.Errorf("%s: status %d, recorded %d", x.Step, status, x.Status)
			continue
		}
		want, got := mask(x.Code, unhex(t, x.Response)), mask(x.Code, body)
		if got != want {
			t.Errorf("%s:\n got      %s\n recorded %s", x.Step, got, want)
		}
	}
}

// requireEmpty makes sure that no streams and no users but root exist.
func requireEmpty(t *testing.T, root *rawclient.Conn) {
	t.Helper()
	if status, body := root.Do(uint32(protocol.GetStreams), nil); status != 0 || len(body) > 0 {
		t.Fatalf("the server has streams already (status %d, %d bytes): the recording needs an empty one", status, len(body))
	}
	if _, body := root.Do(uint32(protocol.GetUsers), nil); len(body) < 14 || len(body) != 14+int(body[13]) {
		t.Fatalf("the server has users already (%d bytes): the recording needs an empty one", len(body))
	}
}

// removeAll deletes what the recording leaves: its streams and users. The lowest
// numbers are given first, so these are all there can be.
func removeAll(t *testing.T, s *server) {
	t.Helper()
	root := s.rawRoot(t)
	for id := range uint32(8) {
		root.Do(uint32(protocol.DeleteStream), rawclient.NumberID(id))
		if id > 0 { // the root user stays
			root.Do(uint32(protocol.DeleteUser), rawclient.NumberID(id))
		}
	}
	requireEmpty(t, root)
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// awaitClients waits until the server knows of no more than n clients.
func awaitClients(t *testing.T, root *rawclient.Conn, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d clients", n), func() bool {
		_, body := root.Do(uint32(protocol.GetClients), nil)
		return countClients(body) <= n
	})
}

// countClients counts the records of a GetClients answer.
func countClients(b []byte) int {
	n := 0
	for ; len(b) >= 13; n++ {
		b = b[min(len(b), 17+int(binary.LittleEndian.Uint32(b[9:]))):]
	}
	return n
}

// mask renders a response with what differs from run to run left out.
func mask(code uint32, b []byte) string {
	if len(b) == 0 {
		return "empty"
	}
	m := &masker{b: b}
	switch protocol.Code(code) {
	case protocol.GetStats:
		return fmt.Sprint("stats of ", m.stats())
	case protocol.GetClusterMetadata:
		m.keep(4 + 11 + 4 + 4 + 9)
		m.skip(4 + 9 + 8) // address and ports
		m.rest()
	case protocol.GetClients:
		for len(m.b) > 0 {
			m.skip(4 + 4) // the number; the user is lost by the recorded server's migration
			m.keep(1)
			m.skip(4 + int(binary.LittleEndian.Uint32(m.b)))
			m.keep(4)
		}
	case protocol.GetStream, protocol.GetStreams, protocol.CreateStream:
		m.stream()
		for len(m.b) > 0 {
			if protocol.Code(code) == protocol.GetStream {
				m.topic()
			} else {
				m.stream()
			}
		}
	case protocol.GetTopic, protocol.CreateTopic:
		m.topic()
		for len(m.b) > 0 {
			m.keep(4)
			m.skip(8)
			m.keep(28)
		}
	case protocol.GetTopics:
		for len(m.b) > 0 {
			m.topic()
		}
	case protocol.PollMessages:
		m.keep(16)
		for len(m.b) > 0 {
			m.message()
		}
	case protocol.GetUser, protocol.CreateUser, protocol.GetUsers:
		for len(m.b) > 4 {
			m.keep(4)
			m.skip(8)
			m.keep(1)
			m.keep(1 + int(m.b[0]))
			if protocol.Code(code) != protocol.GetUsers {
				break
			}
		}
		m.rest()
	case protocol.CreateToken:
		m.keep(1)
		m.skip(68)
		m.rest()
	default:
		m.rest()
	}
	return m.out.String()
}

type masker struct {
	b   []byte
	out strings.Builder
}

func (m *masker) keep(n int) {
	n = min(n, len(m.b))
	fmt.Fprintf(&m.out, "%x ", m.b[:n])
	m.b = m.b[n:]
}

func (m *masker) skip(n int) {
	n = min(n, len(m.b))
	fmt.Fprintf(&m.out, "<%d> ", n)
	m.b = m.b[n:]
}

func (m *masker) rest() { m.keep(len(m.b)) }

func (m *masker) stream() {
	m.keep(4)
	m.skip(8)
	m.keep(20)
	m.keep(1 + int(m.b[0]))
}

func (m *masker) topic() {
	m.keep(4)
	m.skip(8)
	m.keep(38)
	m.keep(1 + int(m.b[0]))
}

// message checks a polled message's checksum and hides it, ids that the server made
// up, and both times: the recording's own origin times come back, but not those of the
// requests whose contents are random.
func (m *masker) message() {
	size := 64 + int(binary.LittleEndian.Uint32(m.b[48:])) + int(binary.LittleEndian.Uint32(m.b[52:]))
	sum := binary.LittleEndian.Uint64(m.b)
	if sum != xxh3.Hash(m.b[8:size]) {
		m.out.WriteString("BAD CHECKSUM ")
	}
	m.skip(8)
	if bytes.Equal(m.b[3:16], make([]byte, 13)) {
		m.keep(16)
	} else {
		m.skip(16)
	}
	m.keep(8)
	m.skip(8)
	m.keep(size - 40)
}

// stats returns the counters of a stats answer that do not depend on the machine.
func (m *masker) stats() string {
	return fmt.Sprintf("%x, version %q", m.b[68:108], "0.8.0")
}
