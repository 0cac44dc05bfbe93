package engine

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"kafka-iggy-bridge/internal/engine/protocol"
	"kafka-iggy-bridge/internal/engine/rawclient"
)

// TestEverythingAtOnce lets clients create, fill, read, purge and delete the same few
// things concurrently, with retention and snapshots running. No answer may be one that
// the situation cannot explain, and the engine must restart with a sound catalog.
func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	opts := Options{DataDir: dir, SegmentBytes: 2 << 10, compactBytes: 1 << 10, RetentionInterval: 2 * time.Millisecond, MaxOpenFiles: 5}
	e := startEngine(t, opts)
	explained := map[protocol.Status]bool{
		protocol.OK: true, protocol.ErrStreamNotFound: true, protocol.ErrStreamExists: true, protocol.ErrTopicNotFound: true,
		protocol.ErrTopicExists: true, protocol.ErrPartitionNotFound: true, protocol.ErrPartitionsCount: true,
		protocol.ErrGroupNotFound: true, protocol.ErrGroupExists: true, protocol.ErrNotMember: true,
		protocol.ErrOffsetNotFound: true, protocol.ErrInvalidOffset: true, protocol.ErrPartitionUnassigned: true,
	}
	var clients sync.WaitGroup
	for n := range 6 {
		c := dialRawRoot(t, e)
		clients.Add(1)
		go func() {
			defer clients.Done()
			rng := rand.New(rand.NewPCG(uint64(n), 2))
			for range 400 {
				code, payload := randomRequest(rng)
				if _, err := c.Net.Write(rawclient.Frame(uint32(code), payload)); err != nil {
					t.Errorf("write: %v", err)
					return
				}
				status, _ := c.Read()
				if !explained[protocol.Status(status)] {
					t.Errorf("command %d: status %d", code, status)
				}
			}
		}()
	}
	clients.Wait()
	before := catalogText(e)
	stopEngine(t, e)
	if after := catalogText(startEngine(t, opts)); after != before {
		t.Errorf("catalog before\n%s\nand after a restart\n%s", before, after)
	}
}

func randomRequest(rng *rand.Rand) (protocol.Code, []byte) {
	stream := []byte{1, 4, byte(rng.IntN(2)), 0, 0, 0}
	topic := append(append([]byte(nil), stream...), 1, 4, byte(rng.IntN(2)), 0, 0, 0)
	with := func(more ...byte) []byte { return append(append([]byte(nil), topic...), more...) }
	name := []byte{1, byte('a' + rng.IntN(3))}
	group := []byte{1, 4, byte(rng.IntN(2)), 0, 0, 0}
	consumer := append([]byte{byte(1 + rng.IntN(2))}, group...)
	option := []byte{byte(rng.IntN(2)), byte(rng.IntN(3)), 0, 0, 0}
	switch rng.IntN(24) {
	case 0:
		return protocol.CreateStream, name
	case 1:
		if rng.IntN(4) == 0 {
			return protocol.DeleteStream, stream
		}
		return protocol.GetStream, stream
	case 2, 3:
		b := append(append([]byte(nil), stream...), byte(rng.IntN(4)), 0, 0, 0, 1)
		b = protocol.AppendU64(b, 5000) // expires soon
		b = append(protocol.AppendU64(b, 4<<10), 1)
		return protocol.CreateTopic, append(b, name...)
	case 4:
		if rng.IntN(3) == 0 {
			return protocol.DeleteTopic, topic
		}
		return protocol.GetTopic, topic
	case 5:
		return protocol.PurgeTopic, topic
	case 6:
		return protocol.CreatePartitions, with(1, 0, 0, 0)
	case 7:
		return protocol.DeletePartitions, with(1, 0, 0, 0)
	case 8:
		return protocol.CreateConsumerGroup, with(name...)
	case 9:
		return protocol.DeleteConsumerGroup, with(group...)
	case 10:
		return protocol.JoinConsumerGroup, with(group...)
	case 11:
		return protocol.LeaveConsumerGroup, with(group...)
	case 12:
		return protocol.GetConsumerGroup, with(group...)
	case 13:
		return protocol.StoreConsumerOffset, protocol.AppendU64(append(append(consumer, topic...), option...), uint64(rng.IntN(4)))
	case 14:
		return protocol.GetConsumerOffset, append(append(consumer, topic...), option...)
	case 15:
		return protocol.GetStats, nil
	case 16:
		return protocol.DeleteSegments, with(0, 0, 0, 0, 1, 0, 0, 0)
	case 17, 18, 19:
		b := append(append(append(consumer, topic...), option...), 5)
		b = protocol.AppendU64(b, 0)
		return protocol.PollMessages, append(protocol.AppendU32(b, 10), byte(rng.IntN(2)))
	}
	payload := sendPayload(rawclient.ToPartition(uint32(rng.IntN(3))), string(make([]byte, rng.IntN(700))), "second")
	copy(payload[4:], topic)
	return protocol.SendMessages, payload
}

// catalogText renders the catalog and the logs' ends.
func catalogText(e *Engine) string {
	e.mu.RLock()
	defer e.mu.RUnlock()
	text := ""
	for s := range e.catalog.streams.all() {
		text += fmt.Sprintf("stream %d %q\n", s.id, s.name)
		for tp := range s.topics.all() {
			text += fmt.Sprintf(" topic %d %q %+v\n", tp.id, tp.name, tp.settings)
			for _, p := range tp.partitions {
				_, end := p.log.Bounds()
				text += fmt.Sprintf("  partition %d %d ends %d\n", p.id, p.uid, end)
			}
			for g := range tp.groups.all() {
				text += fmt.Sprintf("  group %d %d %q\n", g.id, g.uid, g.name)
			}
		}
	}
	return text
}

// TestSlowReaderIsCut asks for much and reads nothing.
func TestSlowReaderIsCut(t *testing.T) {
	t.Parallel()
	e := startEngine(t, Options{WriteTimeout: 50 * time.Millisecond})
	makeTopic(t, rootClient(t, e), 1)
	c := dialRawRoot(t, e)
	if status, _ := c.Do(101, sendPayload(rawclient.ToPartition(0), string(make([]byte, 4<<20)))); status != 0 {
		t.Fatal(status)
	}
	for range 20 {
		c.Write(rawclient.Frame(100, pollPayload(0, 1)))
	}
	awaitConnections(t, e, 1) // the one that made the topic
	var head [8]byte
	if n, err := c.Net.Read(head[:]); err != nil || n == 8 && binary.LittleEndian.Uint32(head[:]) != 0 {
		t.Errorf("what was sent before is gone: %v", err)
	}
}
