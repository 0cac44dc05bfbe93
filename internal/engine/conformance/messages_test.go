package conformance

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/zeebo/xxh3"

	"kafka-iggy-bridge/internal/engine/protocol"
	"kafka-iggy-bridge/internal/engine/rawclient"
)

func TestPollingStrategies(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		cli := s.sdkRoot(t)
		p := s.newPlace(t, cli, 3)
		p.send(t, cli, 1, "a", "b", "c")
		p.send(t, cli, 1, "d")
		tests := []struct {
			name     string
			strategy iggcon.PollingStrategy
			count    uint32
			want     string
		}{
			{"first gives the beginning", iggcon.FirstPollingStrategy(), 2, "0:a 1:b"},
			{"offset inside a batch", iggcon.OffsetPollingStrategy(1), 2, "1:b 2:c"},
			{"offset over a batch's end", iggcon.OffsetPollingStrategy(2), 10, "2:c 3:d"},
			{"offset beyond the end is empty", iggcon.OffsetPollingStrategy(4), 10, ""},
			{"last counts from the end", iggcon.LastPollingStrategy(), 2, "2:c 3:d"},
			{"last with more than there is", iggcon.LastPollingStrategy(), 9, "0:a 1:b 2:c 3:d"},
			{"next without a stored offset", iggcon.NextPollingStrategy(), 1, "0:a"},
			{"timestamp zero is the beginning", iggcon.TimestampPollingStrategy(0), 1, "0:a"},
			{"timestamp in the future is empty", iggcon.TimestampPollingStrategy(1 << 62), 1, ""},
			{"count zero is empty", iggcon.FirstPollingStrategy(), 0, ""},
		}
		for _, tt := range tests {
			polled := p.poll(t, cli, 1, tt.strategy, tt.count)
			if got := texts(polled); got != tt.want {
				t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
			}
			if polled.PartitionId != 1 || polled.CurrentOffset != 3 {
				t.Errorf("%s: partition %d, current offset %d", tt.name, polled.PartitionId, polled.CurrentOffset)
			}
		}
	})
}

// rawMessage is one message of a poll's answer.
type rawMessage struct {
	checksum, offset, timestamp, origin, reserved uint64
	id                                            [16]byte
	whole, payload, headers                       []byte
}

// rawPoll polls by frame and takes the answer apart.
func rawPoll(t *testing.T, c *rawclient.Conn, payload []byte) []rawMessage {
	t.Helper()
	status, b := c.Do(uint32(protocol.PollMessages), payload)
	if status != 0 || len(b) < 16 {
		t.Fatalf("poll: status %d, %d bytes", status, len(b))
	}
	count := binary.LittleEndian.Uint32(b[12:])
	var all []rawMessage
	for b = b[16:]; len(b) > 0; {
		u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
		headers, payload := int(binary.LittleEndian.Uint32(b[48:])), int(binary.LittleEndian.Uint32(b[52:]))
		size := 64 + headers + payload
		m := rawMessage{checksum: u64(0), offset: u64(24), timestamp: u64(32), origin: u64(40), reserved: u64(56),
			id: [16]byte(b[8:24]), whole: b[:size], payload: b[64 : 64+payload], headers: b[64+payload : size]}
		all, b = append(all, m), b[size:]
	}
	if int(count) != len(all) {
		t.Fatalf("poll: count says %d, %d messages came", count, len(all))
	}
	return all
}

// TestWhatTheServerSetsAndWhatItKeeps sends messages by frame with every field filled.
func TestWhatTheServerSetsAndWhatItKeeps(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		p := s.newPlace(t, s.sdkRoot(t), 1)
		c := s.rawRoot(t)
		request := rawclient.Send(p.rawTopic, rawclient.ToPartition(0), "first", "second")
		second := len(request) - 64 - len("second")
		first := second - 64 - len("first")
		binary.LittleEndian.PutUint64(request[first:], 12345)        // a wrong checksum
		copy(request[first+8:], "sixteen byte id!")                  // kept
		binary.LittleEndian.PutUint64(request[first+32:], 77)        // the server's time is its own
		binary.LittleEndian.PutUint64(request[first+40:], 1<<63+5)   // any origin time is kept
		binary.LittleEndian.PutUint64(request[second+56:], 0xabcdef) // reserved: kept as well
		binary.LittleEndian.PutUint32(request[second+48:], 4)        // the last four bytes become
		binary.LittleEndian.PutUint32(request[second+52:], 2)        // headers that are none
		before := uint64(time.Now().Add(-time.Minute).UnixMicro())   // clocks of two machines differ
		if status, _ := c.Do(101, request); status != 0 {
			t.Fatalf("send: %d", status)
		}
		all := rawPoll(t, c, rawclient.Poll(p.rawTopic, 0, 0, 10))
		if len(all) != 2 {
			t.Fatalf("%d messages", len(all))
		}
		for i, m := range all {
			if m.checksum != xxh3.Hash(m.whole[8:]) {
				t.Errorf("message %d: checksum %x is not the hash of what follows it", i, m.checksum)
			}
			if m.offset != uint64(i) || m.timestamp != all[0].timestamp || m.timestamp < before {
				t.Errorf("message %d: offset %d, time %d", i, m.offset, m.timestamp)
			}
		}
		if string(all[0].id[:]) != "sixteen byte id!" || all[0].origin != 1<<63+5 || string(all[0].payload) != "first" {
			t.Errorf("first: %+v", all[0])
		}
		// An id that was zero becomes a random UUID of version 4, in the UUID's own order.
		if id := all[1].id; id[6]>>4 != 4 || id[8]>>6 != 2 {
			t.Errorf("an id made by the server: %x", id)
		}
		if m := all[1]; m.reserved != 0xabcdef || string(m.payload) != "se" || string(m.headers) != "cond" || m.origin != 0 {
			t.Errorf("second: %+v", m)
		}
	})
}

func TestTheSameIDTwiceIsTwoMessages(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		cli := s.sdkRoot(t)
		p := s.newPlace(t, cli, 1)
		m := message("again")
		m.Header.Id = iggcon.MessageID{1, 2, 3}
		for range 2 {
			if err := cli.SendMessages(p.stream, p.topic, iggcon.PartitionId(0), []iggcon.IggyMessage{m, m}); err != nil {
				t.Fatal(err)
			}
		}
		if got := texts(p.poll(t, cli, 0, iggcon.FirstPollingStrategy(), 10)); got != "0:again 1:again 2:again 3:again" {
			t.Errorf("got %q", got)
		}
	})
}

func TestPartitioning(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		cli := s.sdkRoot(t)
		const partitions = 4
		p := s.newPlace(t, cli, partitions)
		c := s.rawRoot(t)
		// Balanced: one partition per request, one after the other.
		for i := range 2 * partitions {
			if status, _ := c.Do(101, rawclient.Send(p.rawTopic, rawclient.Balanced(), fmt.Sprint(i), fmt.Sprint(i))); status != 0 {
				t.Fatalf("balanced send: %d", status)
			}
		}
		for id := range uint32(partitions) {
			if polled := p.poll(t, cli, id, iggcon.FirstPollingStrategy(), 100); polled.MessageCount != 4 {
				t.Errorf("partition %d has %d balanced messages", id, polled.MessageCount)
			}
		}
		// By key: XXH32 of the key, modulo the partitions.
		for _, key := range []string{"a", "order-17", strings.Repeat("k", 255), "\x00\xff"} {
			if status, _ := c.Do(101, rawclient.Send(p.rawTopic, rawclient.ByKey(key), "by key "+key)); status != 0 {
				t.Fatalf("send by key: %d", status)
			}
			id := protocol.XXH32([]byte(key)) % partitions
			polled := p.poll(t, cli, id, iggcon.LastPollingStrategy(), 1)
			if string(polled.Messages[0].Payload) != "by key "+key {
				t.Errorf("key %.10q: partition %d ends with %.20q", key, id, polled.Messages[0].Payload)
			}
		}
	})
}

func TestTopicWithoutPartitions(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		p := s.newPlace(t, s.sdkRoot(t), 1)
		c := s.rawRoot(t)
		if status, body := c.Do(302, topicRequest(p.rawS, "none", 0, 1, 0, 0)); status != 0 || len(body) != 51+4 {
			t.Fatalf("create: status %d, %d bytes", status, len(body))
		}
		topic := append(slices.Clone(p.rawS), rawclient.NameID("none")...)
		if status, _ := c.Do(101, rawclient.Send(topic, rawclient.Balanced(), "x")); status != uint32(protocol.ErrTopicNotFound) {
			t.Errorf("balanced: status %d", status)
		}
		if status, _ := c.Do(101, rawclient.Send(topic, rawclient.ToPartition(0), "x")); status != uint32(protocol.ErrPartitionNotFound) {
			t.Errorf("by partition: status %d", status)
		}
		if status, _ := c.Do(100, rawclient.Poll(topic, 0, 0, 1)); status != uint32(protocol.ErrPartitionNotFound) {
			t.Errorf("poll: status %d", status)
		}
		if s.differs(t, keyWithoutPartitions) {
			return // it would end that server
		}
		if status, _ := c.Do(101, rawclient.Send(topic, rawclient.ByKey("k"), "x")); status != uint32(protocol.ErrTopicNotFound) {
			t.Errorf("by key: status %d", status)
		}
	})
}

func TestLargeMessages(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		p := s.newPlace(t, s.sdkRoot(t), 1)
		c := s.rawRoot(t)
		largest := strings.Repeat("x", protocol.MaxPayloadBytes)
		if status, _ := c.Do(101, rawclient.Send(p.rawTopic, rawclient.ToPartition(0), largest)); status != 0 {
			t.Errorf("the largest payload: %d", status)
		}
		// What follows must be in step however the one that is too large was refused.
		on := s.rawRoot(t)
		if status, _ := on.Do(101, rawclient.Send(p.rawTopic, rawclient.ToPartition(0), largest+"x")); status != uint32(protocol.ErrPayloadTooLarge) {
			t.Errorf("one byte more: %d", status)
		}
		if status, _ := on.Do(1, nil); status != 0 {
			t.Errorf("the ping behind it: %d", status)
		}
		headers := rawclient.Send(p.rawTopic, rawclient.ToPartition(0), strings.Repeat("h", protocol.MaxUserHeadersBytes))
		at := len(headers) - protocol.MaxUserHeadersBytes - 64
		binary.LittleEndian.PutUint32(headers[at+48:], protocol.MaxUserHeadersBytes)
		binary.LittleEndian.PutUint32(headers[at+52:], 0)
		if status, _ := c.Do(101, headers); status != 0 {
			t.Errorf("the largest headers: %d", status)
		}
		all := rawPoll(t, c, rawclient.Poll(p.rawTopic, 0, 0, 10))
		if len(all) != 2 || string(all[0].payload) != largest || len(all[1].headers) != protocol.MaxUserHeadersBytes || len(all[1].payload) != 0 {
			t.Errorf("%d messages came back, or not what was sent", len(all))
		}
	})
}

func TestConsumerOffsets(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		cli := s.sdkRoot(t)
		p := s.newPlace(t, cli, 2)
		p.send(t, cli, 0, "a", "b", "c")
		zero, one := uint32(0), uint32(1)
		byName := iggcon.NewSingleConsumer(named(t, "reader"))
		sameNumber := iggcon.NewSingleConsumer(numbered(t, protocol.XXH32([]byte("reader"))))

		if stored, err := cli.GetConsumerOffset(byName, p.stream, p.topic, &zero); err != nil || stored != nil {
			t.Errorf("before anything is stored: %+v, %v", stored, err)
		}
		if got := texts(p.pollAs(t, cli, byName, &zero, iggcon.NextPollingStrategy(), 2, true)); got != "0:a 1:b" {
			t.Errorf("next with commit: %q", got)
		}
		if got := texts(p.pollAs(t, cli, byName, &zero, iggcon.NextPollingStrategy(), 2, false)); got != "2:c" {
			t.Errorf("next again: %q", got)
		}
		// A name is a number in disguise: its hash.
		stored, err := cli.GetConsumerOffset(sameNumber, p.stream, p.topic, &zero)
		if err != nil || stored == nil || stored.StoredOffset != 1 || stored.CurrentOffset != 2 || stored.PartitionId != 0 {
			t.Errorf("stored: %+v, %v", stored, err)
		}
		if err := cli.StoreConsumerOffset(byName, p.stream, p.topic, 0, &zero); err != nil {
			t.Errorf("backwards: %v", err)
		}
		if got := texts(p.pollAs(t, cli, sameNumber, &zero, iggcon.NextPollingStrategy(), 9, false)); got != "1:b 2:c" {
			t.Errorf("next after going back: %q", got)
		}
		// Without a partition a single consumer means partition 0.
		if got := texts(p.pollAs(t, cli, byName, nil, iggcon.FirstPollingStrategy(), 1, false)); got != "0:a" {
			t.Errorf("without a partition: %q", got)
		}
		store := func(offset uint64, partition uint32) uint32 {
			b := append(append([]byte{1}, rawclient.NameID("reader")...), p.rawTopic...)
			b = binary.LittleEndian.AppendUint32(append(b, 1), partition)
			status, _ := s.rawRoot(t).Do(uint32(protocol.StoreConsumerOffset), binary.LittleEndian.AppendUint64(b, offset))
			return status
		}
		if status := store(3, zero); status != uint32(protocol.ErrInvalidOffset) {
			t.Errorf("store beyond the end: %d", status)
		}
		if status := store(0, one); status != 0 && status != uint32(protocol.ErrInvalidOffset) {
			t.Errorf("store on an empty partition: %d", status)
		}
		if status := store(0, 7); status != uint32(protocol.ErrPartitionNotFound) {
			t.Errorf("store on a partition that is not there: %d", status)
		}
		if err := cli.DeleteConsumerOffset(byName, p.stream, p.topic, &zero); err != nil {
			t.Errorf("delete: %v", err)
		}
		if stored, err := cli.GetConsumerOffset(byName, p.stream, p.topic, &zero); err != nil || stored != nil {
			t.Errorf("after the deletion: %+v, %v", stored, err)
		}
	})
}

// TestOffsetsFollowOneAnother lets several connections append to one partition.
func TestOffsetsFollowOneAnother(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		root := s.sdkRoot(t)
		p := s.newPlace(t, root, 1)
		const clients, sends, batch = 4, 25, 3
		done := make(chan error, clients)
		for n := range clients {
			cli := s.sdkRoot(t)
			go func() {
				for i := range sends {
					var all []iggcon.IggyMessage
					for j := range batch {
						all = append(all, message(fmt.Sprintf("%d-%d-%d", n, i, j)))
					}
					if err := cli.SendMessages(p.stream, p.topic, iggcon.PartitionId(0), all); err != nil {
						done <- err
						return
					}
				}
				done <- nil
			}()
		}
		for range clients {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		polled := p.poll(t, root, 0, iggcon.FirstPollingStrategy(), clients*sends*batch+1)
		next := make(map[string]int)
		for i, m := range polled.Messages {
			var n, send, j int
			if _, err := fmt.Sscanf(string(m.Payload), "%d-%d-%d", &n, &send, &j); err != nil {
				t.Fatal(err)
			}
			if m.Header.Offset != uint64(i) || i%batch != j || next[fmt.Sprint(n)] != send*batch+j {
				t.Fatalf("message %d has offset %d and is %s", i, m.Header.Offset, m.Payload)
			}
			next[fmt.Sprint(n)]++
		}
		if len(polled.Messages) != clients*sends*batch {
			t.Errorf("%d messages", len(polled.Messages))
		}
	})
}
