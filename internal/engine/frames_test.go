package engine

import (
	"bytes"
	"encoding/binary"
	"testing"

	"kafka-iggy-bridge/internal/engine/protocol"
)

// sendPayload builds a SendMessages payload for stream 0, topic 0.
func sendPayload(partitioning []byte, payloads ...string) []byte {
	meta := []byte{1, 4, 0, 0, 0, 0, 1, 4, 0, 0, 0, 0}
	meta = append(meta, partitioning...)
	meta = protocol.AppendU32(meta, uint32(len(payloads)))
	b := protocol.AppendU32(nil, uint32(len(meta)))
	b = append(b, meta...)
	var messages []byte
	for _, p := range payloads {
		m := make([]byte, 64)
		binary.LittleEndian.PutUint32(m[52:], uint32(len(p)))
		messages = append(append(messages, m...), p...)
		b = protocol.AppendU32(b, 0)
		b = protocol.AppendU32(b, uint32(len(messages)))
		b = protocol.AppendU64(b, 0)
	}
	return append(b, messages...)
}

func toPartition(id uint32) []byte { return protocol.AppendU32([]byte{2, 4}, id) }

// pollPayload polls up to count messages of partition 0 of stream 0, topic 0 from an
// offset.
func pollPayload(offset uint64, count uint32) []byte {
	b := []byte{1, 1, 4, 9, 0, 0, 0, 1, 4, 0, 0, 0, 0, 1, 4, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}
	b = protocol.AppendU64(b, offset)
	return append(protocol.AppendU32(b, count), 0)
}

// TestBadRequestsKeepTheConnectionInStep sends a malformed request, then a ping, which
// must be answered next.
func TestBadRequestsKeepTheConnectionInStep(t *testing.T) {
	t.Parallel()
	e := startEngine(t, Options{MaxSendBytes: 1 << 20})
	makeTopic(t, rootClient(t, e), 1)
	good := sendPayload(toPartition(0), "abc")
	edited := func(at int, v byte) []byte {
		b := bytes.Clone(good)
		b[at] = v
		return b
	}
	const (
		meta  = 4
		index = 4 + 12 + 6 + 4
		body  = index + 16
	)
	tests := []struct {
		name    string
		request []byte
		want    protocol.Status
	}{
		{"length below the code's", []byte{3, 0, 0, 0, 1, 0, 0, 0}, protocol.ErrInvalidCommand},
		{"length zero", make([]byte, 8), protocol.ErrInvalidCommand},
		{"unknown code with a payload", frame(9999, make([]byte, 5000)), protocol.ErrInvalidCommand},
		{"payload above ten megabytes is drained", frame(200, make([]byte, protocol.MaxCommandBytes+1)), protocol.ErrInvalidCommand},
		{"identifier cut short", frame(200, []byte{2, 9, 'a'}), protocol.ErrInvalidCommand},
		{"identifier of unknown kind", frame(200, []byte{7, 1, 'a'}), protocol.ErrInvalidCommand},
		{"numeric identifier of three bytes", frame(200, []byte{1, 3, 0, 0, 0}), protocol.ErrInvalidFormat},
		{"name that is not UTF-8", frame(202, []byte{2, 0xff, 0xfe}), protocol.ErrInvalidCommand},
		{"empty name", frame(202, []byte{0}), protocol.ErrInvalidFormat},
		{"empty payload where one is needed", frame(202, nil), protocol.ErrInvalidCommand},
		{"poll with an unknown strategy", frame(100, edited2(pollPayload(0, 1), 24, 9)), protocol.ErrInvalidCommand},
		{"send of nothing", frame(101, nil), protocol.ErrInvalidCommand},
		{"send without messages", frame(101, sendPayload(toPartition(0))), protocol.ErrNoMessages},
		{"send with metadata longer than the payload", frame(101, edited(1, 0xff)), protocol.ErrInvalidCommand},
		{"send with an unknown identifier kind", frame(101, edited(meta, 9)), protocol.ErrInvalidIdentifier},
		{"send with an unknown partitioning", frame(101, edited(meta+12, 9)), protocol.ErrInvalidCommand},
		{"send with a count beyond the payload", frame(101, edited(meta+12+6+2, 0xff)), protocol.ErrInvalidCommand},
		{"send with an offset in its index", frame(101, edited(index, 1)), protocol.ErrIndexOffset},
		{"send with a time in its index", frame(101, edited(index+8, 1)), protocol.ErrIndexTimestamp},
		{"send with a payload length beyond the end", frame(101, edited(body+52, 99)), protocol.ErrMessagesSize},
		{"send with a payload length before the end", frame(101, edited(body+52, 1)), protocol.ErrMessagesSize},
		{"send with headers above the limit", frame(101, edited(body+50, 9)), protocol.ErrHeadersTooLarge},
		{"send with a payload above the limit", frame(101, edited(body+55, 9)), protocol.ErrPayloadTooLarge},
		{"send cut inside a message's head", frame(101, good[:body+10]), protocol.ErrMissingIndex},
		{"send to a partition that is not there", frame(101, sendPayload(toPartition(9), "x")), protocol.ErrPartitionNotFound},
		{"send above the limit is drained", frame(101, make([]byte, 1<<20+1)), protocol.ErrInvalidSize},
		{"permissions shorter than they say", frame(36, []byte{1, 4, 9, 0, 0, 0, 1, 3, 0, 0, 0, 1, 1, 1}), protocol.ErrInvalidFormat},
		{"get snapshot is not offered", frame(11, []byte{1, 1, 1}), protocol.ErrFeatureUnavailable},
		{"trailing bytes do not matter", frame(1, []byte("trailing")), protocol.OK},
	}
	c := dialRaw(t, e)
	c.loginRoot(e)
	for _, tt := range tests {
		c.write(tt.request)
		if status, _ := c.read(); status != uint32(tt.want) {
			t.Errorf("%s: status %d, want %d", tt.name, status, tt.want)
		}
		if status, body := c.do(1, nil); status != 0 || len(body) != 0 {
			t.Fatalf("%s: out of step, ping got %d with %d bytes", tt.name, status, len(body))
		}
	}
	if status, _ := c.do(101, good); status != 0 {
		t.Errorf("the good send got %d", status)
	}
}

func edited2(b []byte, at int, v byte) []byte {
	b[at] = v
	return b
}

func TestUnauthenticatedRequestsAreDrained(t *testing.T) {
	t.Parallel()
	c := dialRaw(t, startEngine(t, Options{}))
	for code := range commands {
		switch code {
		case protocol.Ping, protocol.LoginUser, protocol.LoginWithToken:
			continue
		}
		// A payload that parses as anything: format errors come before the login check.
		status, _ := c.do(uint32(code), nil)
		if status != uint32(protocol.ErrUnauthenticated) && status != uint32(protocol.ErrInvalidCommand) {
			t.Errorf("command %d before login: status %d", code, status)
		}
	}
	for _, size := range []int{0, 3, 5000, 1 << 20} {
		c.write(append(frame(101, make([]byte, size)), frame(1, nil)...))
		if status, _ := c.read(); status != uint32(protocol.ErrUnauthenticated) {
			t.Errorf("send of %d bytes before login: status %d", size, status)
		}
		if status, _ := c.read(); status != 0 {
			t.Fatalf("send of %d bytes before login: the ping behind it got %d", size, status)
		}
	}
	if status, _ := c.do(100, pollPayload(0, 1)); status != uint32(protocol.ErrUnauthenticated) {
		t.Errorf("poll before login: status %d", status)
	}
}

func TestPipelinedRequestsAreAnsweredInOrder(t *testing.T) {
	t.Parallel()
	e := startEngine(t, Options{})
	makeTopic(t, rootClient(t, e), 1)
	c := dialRaw(t, e)
	c.loginRoot(e)
	var all []byte
	const n = 300
	for i := range n {
		all = append(all, frame(101, sendPayload(toPartition(0), string(make([]byte, i*20))))...)
		all = append(all, frame(100, pollPayload(uint64(i), 1))...)
		all = append(all, frame(200, []byte{2, 1, 'x'})...)
	}
	go c.write(all)
	for i := range n {
		if status, body := c.read(); status != 0 || len(body) != 0 {
			t.Fatalf("send %d: status %d, %d bytes", i, status, len(body))
		}
		status, body := c.read()
		if status != 0 || len(body) != 16+64+i*20 || binary.LittleEndian.Uint64(body[16+24:]) != uint64(i) {
			t.Fatalf("poll %d: status %d, %d bytes", i, status, len(body))
		}
		if status, body := c.read(); status != 0 || len(body) != 0 {
			t.Fatalf("get %d: status %d, %d bytes", i, status, len(body))
		}
	}
}

func TestTopicWithoutPartitions(t *testing.T) {
	t.Parallel()
	e := startEngine(t, Options{})
	cli := rootClient(t, e)
	if _, err := cli.CreateStream("s"); err != nil {
		t.Fatal(err)
	}
	c := dialRaw(t, e)
	c.loginRoot(e)
	create := append([]byte{1, 4, 0, 0, 0, 0, 0, 0, 0, 0, 1}, make([]byte, 17)...)
	if status, body := c.do(302, append(create, 1, 't')); status != 0 || len(body) != 52 {
		t.Fatalf("create: status %d, %d bytes", status, len(body))
	}
	for name, partitioning := range map[string][]byte{"balanced": {1, 0}, "by key": {3, 1, 'k'}} {
		if status, _ := c.do(101, sendPayload(partitioning, "x")); status != uint32(protocol.ErrTopicNotFound) {
			t.Errorf("%s: status %d", name, status)
		}
	}
	if status, _ := c.do(101, sendPayload(toPartition(0), "x")); status != uint32(protocol.ErrPartitionNotFound) {
		t.Errorf("by partition: status %d", status)
	}
	if status, _ := c.do(100, pollPayload(0, 1)); status != uint32(protocol.ErrPartitionNotFound) {
		t.Errorf("poll: status %d", status)
	}
}

func TestFrameArrivingByteByByte(t *testing.T) {
	t.Parallel()
	e := startEngine(t, Options{})
	c := dialRaw(t, e)
	c.loginRoot(e)
	request := frame(202, append([]byte{200}, bytes.Repeat([]byte{'n'}, 200)...))
	for i := range request {
		c.write(request[i : i+1])
	}
	if status, body := c.read(); status != 0 || len(body) != 33+200 {
		t.Errorf("status %d, %d bytes", status, len(body))
	}
}

func TestLengthAloneTakesLittleMemory(t *testing.T) {
	t.Parallel()
	e := startEngine(t, Options{})
	c := dialRaw(t, e)
	c.loginRoot(e)
	b := protocol.AppendU32(nil, 250<<20)
	b = protocol.AppendU32(b, 101)
	c.write(append(b, 1, 2, 3))
	c.close() // the engine must notice, give the buffer back and go on
	other := dialRaw(t, e)
	if status, _ := other.do(1, nil); status != 0 {
		t.Errorf("ping: %d", status)
	}
}
