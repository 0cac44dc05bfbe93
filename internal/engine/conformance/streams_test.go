package conformance

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	iggcon "github.com/apache/iggy/foreign/go/contracts"

	"kafka-iggy-bridge/internal/engine/protocol"
	"kafka-iggy-bridge/internal/engine/rawclient"
)

// topicRequest is a CreateTopic payload.
func topicRequest(stream []byte, name string, partitions uint32, compression byte, expiry, maxSize uint64) []byte {
	b := binary.LittleEndian.AppendUint32(slices.Clone(stream), partitions)
	return append(append(b, topicSettings(compression, expiry, maxSize)...), rawclient.Name(name)...)
}

func topicSettings(compression byte, expiry, maxSize uint64) []byte {
	b := binary.LittleEndian.AppendUint64([]byte{compression}, expiry)
	return append(binary.LittleEndian.AppendUint64(b, maxSize), 0)
}

func TestNames(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		c := s.rawRoot(t)
		for name, text := range map[string]string{
			"slashes, line breaks and zeros": newName("a/b\n\x00../"),
			"other scripts":                  newName("тема-主题"),
			"the longest":                    (newName("long") + strings.Repeat("n", 255))[:255],
			"upper case is another":          strings.ToUpper(newName("case")),
		} {
			status, created := c.Do(202, rawclient.Name(text))
			if status != 0 || len(created) != 33+len(text) || string(created[33:]) != text {
				t.Errorf("%s: status %d, %d bytes", name, status, len(created))
				continue
			}
			if status, _ := c.Do(202, rawclient.Name(text)); status != uint32(protocol.ErrStreamExists) {
				t.Errorf("%s, again: status %d", name, status)
			}
			if status, got := c.Do(200, rawclient.NameID(text)); status != 0 || !slices.Equal(got[33:], created[33:]) {
				t.Errorf("%s: get: status %d", name, status)
			}
			if status, _ := c.Do(203, rawclient.NameID(text)); status != 0 {
				t.Errorf("%s: delete: status %d", name, status)
			}
			if status, got := c.Do(200, rawclient.NameID(text)); status != 0 || len(got) != 0 {
				t.Errorf("%s: get after the deletion: status %d, %d bytes", name, status, len(got))
			}
		}
	})
}

// TestNumbersAreGivenAgain deletes things from the middle: the lowest free number is
// the next one's.
func TestNumbersAreGivenAgain(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		cli := s.sdkRoot(t)
		p := s.newPlace(t, cli, 1)
		create := func(name string) uint32 {
			topic, err := cli.CreateTopic(p.stream, name, 1, iggcon.CompressionAlgorithmNone, 0, 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			return topic.Id
		}
		if a, b := create("a"), create("b"); a != 1 || b != 2 {
			t.Errorf("numbers %d, %d", a, b)
		}
		if err := cli.DeleteTopic(p.stream, named(t, "a")); err != nil {
			t.Fatal(err)
		}
		if c, d := create("c"), create("d"); c != 1 || d != 3 {
			t.Errorf("numbers after a deletion: %d, %d", c, d)
		}
		topics, err := cli.GetTopics(p.stream)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, topic := range topics {
			names = append(names, topic.Name)
		}
		if !slices.Equal(names, []string{"t", "c", "b", "d"}) {
			t.Errorf("topics by number: %q", names)
		}
		group := func(name string) uint32 {
			g, err := cli.CreateConsumerGroup(p.stream, p.topic, name)
			if err != nil {
				t.Fatal(err)
			}
			return g.Id
		}
		first, second := group("g0"), group("g1")
		if err := cli.DeleteConsumerGroup(p.stream, p.topic, named(t, "g0")); err != nil {
			t.Fatal(err)
		}
		if third := group("g2"); first != 0 || second != 1 || third != 0 {
			t.Errorf("groups: %d, %d, %d", first, second, third)
		}
	})
}

func TestPartitionCounts(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		cli := s.sdkRoot(t)
		p := s.newPlace(t, cli, 2)
		p.send(t, cli, 1, "kept")
		c := s.rawRoot(t)
		change := func(code protocol.Code, n uint32) uint32 {
			status, _ := c.Do(uint32(code), binary.LittleEndian.AppendUint32(slices.Clone(p.rawTopic), n))
			return status
		}
		for _, step := range []struct {
			name  string
			code  protocol.Code
			n     uint32
			want  protocol.Status
			after int
		}{
			{"create none", protocol.CreatePartitions, 0, protocol.ErrTooManyPartitions, 2},
			{"create more than a thousand", protocol.CreatePartitions, 1001, protocol.ErrTooManyPartitions, 2},
			{"create three", protocol.CreatePartitions, 3, protocol.OK, 5},
			{"delete none", protocol.DeletePartitions, 0, protocol.ErrTooManyPartitions, 5},
			{"delete more than there are", protocol.DeletePartitions, 6, protocol.ErrPartitionsCount, 5},
			{"delete the highest", protocol.DeletePartitions, 3, protocol.OK, 2},
		} {
			if status := change(step.code, step.n); status != uint32(step.want) {
				t.Errorf("%s: status %d, want %d", step.name, status, step.want)
			}
			topic, err := cli.GetTopic(p.stream, p.topic)
			if err != nil || len(topic.Partitions) != step.after {
				t.Fatalf("%s: %+v, %v", step.name, topic, err)
			}
		}
		if got := texts(p.poll(t, cli, 1, iggcon.FirstPollingStrategy(), 9)); got != "0:kept" {
			t.Errorf("the partition that stayed: %q", got)
		}
		if status, _ := c.Do(302, topicRequest(p.rawS, "many", 1001, 1, 0, 0)); status != uint32(protocol.ErrTooManyPartitions) {
			t.Errorf("topic of 1001 partitions: status %d", status)
		}
	})
}

func TestUpdateOfATopicReplacesEverything(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		cli := s.sdkRoot(t)
		p := s.newPlace(t, cli, 1)
		c := s.rawRoot(t)
		update := func(expiry, maxSize uint64) (gotExpiry, gotSize uint64) {
			if status, _ := c.Do(304, append(append(slices.Clone(p.rawTopic), topicSettings(2, expiry, maxSize)...), rawclient.Name("t")...)); status != 0 {
				t.Fatalf("update: status %d", status)
			}
			status, b := c.Do(300, p.rawTopic)
			if status != 0 || len(b) < 51 || b[24] != 2 {
				t.Fatalf("get: status %d, %x", status, b)
			}
			return binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[25:])
		}
		if expiry, size := update(3_600_000_000, 5<<30); expiry != 3_600_000_000 || size != 5<<30 {
			t.Errorf("explicit values: %d, %d", expiry, size)
		}
		wantExpiry, wantSize := uint64(protocol.Never), uint64(protocol.Never)
		if s.differs(t, topicUpdate) {
			wantExpiry, wantSize = 0, 0
		}
		if expiry, size := update(0, 0); expiry != wantExpiry || size != wantSize {
			t.Errorf("zeros: %d, %d", expiry, size)
		}
		if expiry, size := update(protocol.Never, protocol.Never); expiry != protocol.Never || size != protocol.Never {
			t.Errorf("never: %d, %d", expiry, size)
		}
		if status, _ := c.Do(302, topicRequest(p.rawS, "small", 1, 1, 0, 1<<20)); status != uint32(protocol.ErrInvalidTopicSize) {
			t.Errorf("a maximum below a segment: status %d", status)
		}
	})
}

func TestPurge(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		cli := s.sdkRoot(t)
		p := s.newPlace(t, cli, 2)
		c := s.rawRoot(t)
		one := uint32(1)
		consumer := iggcon.NewSingleConsumer(numbered(t, 5))
		flush := binary.LittleEndian.AppendUint32(slices.Clone(p.rawTopic), one)
		for _, code := range []protocol.Code{protocol.PurgeTopic, protocol.PurgeStream} {
			p.send(t, cli, 1, "a", "b", "c")
			if status, _ := c.Do(uint32(protocol.FlushUnsavedBuffer), append(slices.Clone(flush), 1)); status != 0 {
				t.Errorf("flush: status %d", status)
			}
			if err := cli.StoreConsumerOffset(consumer, p.stream, p.topic, 2, &one); err != nil {
				t.Fatal(err)
			}
			payload := p.rawTopic
			if code == protocol.PurgeStream {
				payload = p.rawS
			}
			if status, _ := c.Do(uint32(code), payload); status != 0 {
				t.Fatalf("purge: %d", status)
			}
			if polled := p.poll(t, cli, 1, iggcon.FirstPollingStrategy(), 10); len(polled.Messages) != 0 || polled.CurrentOffset != 0 {
				t.Errorf("after a purge: %+v", polled)
			}
			if s.differs(t, atomicPurge) {
				return // what is sent next may be out of sight
			}
			if stored, err := cli.GetConsumerOffset(consumer, p.stream, p.topic, &one); err != nil || stored != nil {
				t.Errorf("stored offset after a purge: %+v, %v", stored, err)
			}
		}
		p.send(t, cli, 1, "new")
		if got := texts(p.poll(t, cli, 1, iggcon.FirstPollingStrategy(), 10)); got != "0:new" {
			t.Errorf("sent after the purges: %q", got)
		}
	})
}

func TestDeleteSegmentsKeepsTheActiveOne(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		cli := s.sdkRoot(t)
		p := s.newPlace(t, cli, 1)
		p.send(t, cli, 0, "a", "b")
		c := s.rawRoot(t)
		remove := func(partition, count uint32) uint32 {
			b := binary.LittleEndian.AppendUint32(slices.Clone(p.rawTopic), partition)
			status, _ := c.Do(uint32(protocol.DeleteSegments), binary.LittleEndian.AppendUint32(b, count))
			return status
		}
		if status := remove(7, 1); status != uint32(protocol.ErrPartitionNotFound) {
			t.Errorf("unknown partition: %d", status)
		}
		if status := remove(0, 10); status != 0 {
			t.Errorf("all there are: %d", status)
		}
		if got := texts(p.poll(t, cli, 0, iggcon.FirstPollingStrategy(), 9)); got != "0:a 1:b" {
			t.Errorf("left: %q", got)
		}
	})
}

func TestCountersOfStreamsAndTopics(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		cli := s.sdkRoot(t)
		p := s.newPlace(t, cli, 2)
		p.send(t, cli, 0, "12345", "123")
		p.send(t, cli, 1, "1")
		const bytes = 3*64 + 9
		topic, err := cli.GetTopic(p.stream, p.topic)
		if err != nil || topic.MessagesCount != 3 || topic.Size != bytes || len(topic.Partitions) != 2 {
			t.Fatalf("topic %+v, %v", topic, err)
		}
		if a, b := topic.Partitions[0], topic.Partitions[1]; a.CurrentOffset != 1 || a.MessagesCount != 2 || b.CurrentOffset != 0 || b.MessagesCount != 1 || a.SegmentsCount != 1 {
			t.Errorf("partitions %+v, %+v", a, b)
		}
		stream, err := cli.GetStream(p.stream)
		if err != nil || stream.MessagesCount != 3 || stream.SizeBytes != bytes || stream.TopicsCount != 1 || len(stream.Topics) != 1 {
			t.Errorf("stream %+v, %v", stream, err)
		}
		stats, err := cli.GetStats()
		if err != nil || stats.IggyServerVersion != "0.8.0" || stats.StreamsCount == 0 || stats.MessagesCount < 3 || stats.MessagesSizeBytes < bytes {
			t.Errorf("stats %+v, %v", stats, err)
		}
	})
}
