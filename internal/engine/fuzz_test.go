package engine

import (
	"encoding/binary"
	"net"
	"testing"
	"time"

	"kafka-iggy-bridge/internal/engine/protocol"
	"kafka-iggy-bridge/internal/engine/rawclient"
)

// FuzzFrames sends any bytes over a logged-in connection. The engine must stay alive
// and answer only whole responses; a well-formed frame behind whole frames is answered.
func FuzzFrames(f *testing.F) {
	e := startEngine(f, Options{MaxSendBytes: 1 << 16})
	makeTopic(f, rootClient(f, e), 1)
	f.Add(rawclient.Frame(101, sendPayload(rawclient.ToPartition(0), "abc")))
	f.Add(rawclient.Frame(100, pollPayload(0, 10)))
	f.Add(append(rawclient.Frame(1, nil), rawclient.Frame(12, nil)...))
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0})
	for code := range commands {
		f.Add(rawclient.Frame(uint32(code), []byte{1, 4, 0, 0, 0, 0, 1, 4, 0, 0, 0, 0, 1, 1, 'x', 0, 0, 0, 0}))
	}
	user, password := e.Credentials()
	f.Fuzz(func(t *testing.T, b []byte) {
		conn, err := net.Dial("tcp", e.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c := rawclient.New(t, conn)
		defer c.Close()
		if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if status, _ := c.Do(38, rawclient.Login(user, password)); status != 0 {
			t.Fatalf("login: status %d", status)
		}
		whole, rest, n := wholeFrames(b)
		c.Write(whole)
		for range n {
			c.Read()
		}
		if status, _ := c.Do(1, nil); status != 0 {
			t.Fatalf("ping behind %d frames: status %d", n, status)
		}
		c.Write(rest)
	})
}

// wholeFrames returns the beginning of b that is made of whole frames, how many there
// are, and what follows when that is a frame that does not end. It stops in front of
// commands that change who may log in.
func wholeFrames(b []byte) (whole, rest []byte, n int) {
	at := 0
	for len(b)-at >= 8 {
		length := int(binary.LittleEndian.Uint32(b[at:]))
		size := 8
		if length >= 4 {
			size = 4 + length
		}
		code := protocol.Code(binary.LittleEndian.Uint32(b[at+4:]))
		if code == protocol.ChangePassword || code == protocol.UpdateUser {
			return b[:at], nil, n
		}
		if size > len(b)-at {
			break
		}
		at += size
		n++
	}
	return b[:at], b[at:], n
}

func FuzzParseSend(f *testing.F) {
	f.Add(sendPayload(rawclient.ToPartition(0), "abc", "de"))
	f.Add(sendPayload([]byte{3, 1, 'k'}, ""))
	f.Fuzz(func(t *testing.T, b []byte) {
		req, err := parseSend(b)
		if err != nil {
			return
		}
		n := uint32(0)
		for rest := req.messages; len(rest) > 0; n++ {
			size := 64 + int(binary.LittleEndian.Uint32(rest[48:])) + int(binary.LittleEndian.Uint32(rest[52:]))
			rest = rest[size:]
		}
		if n != req.count {
			t.Fatalf("%d messages were accepted as %d", n, req.count)
		}
	})
}
