package engine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"

	"kafka-iggy-bridge/internal/engine/protocol"
)

// testClock is a clock that stands still until it is moved.
type testClock struct{ micros atomic.Int64 }

func newTestClock() *testClock {
	c := &testClock{}
	c.micros.Store(1_700_000_000_000_000)
	return c
}

func (c *testClock) now() time.Time          { return time.UnixMicro(c.micros.Load()) }
func (c *testClock) advance(d time.Duration) { c.micros.Add(d.Microseconds()) }

func makeLimitedTopic(t *testing.T, cli iggcon.Client, expiry time.Duration, maxSize uint64) {
	t.Helper()
	if _, err := cli.CreateStream("s"); err != nil {
		t.Fatal(err)
	}
	if _, err := cli.CreateTopic(named("s"), "t", 2, 1, iggcon.Duration(expiry.Microseconds()), maxSize, nil); err != nil {
		t.Fatal(err)
	}
}

func TestExpiryRemovesSegmentsAndKeepsTheEnd(t *testing.T) {
	t.Parallel()
	clock, dir := newTestClock(), t.TempDir()
	opts := Options{DataDir: dir, Clock: clock.now, SegmentBytes: 1 << 10}
	e := startEngine(t, opts)
	cli := rootClient(t, e)
	makeLimitedTopic(t, cli, time.Hour, 0)
	pad := strings.Repeat("p", 400)
	for range 6 {
		send(t, cli, 0, pad)
	}
	clock.advance(30 * time.Minute)
	for range 3 {
		send(t, cli, 0, pad)
	}
	e.Retain()
	if got := len(poll(t, cli, 0, iggcon.FirstPollingStrategy(), 100).Messages); got != 9 {
		t.Fatalf("before anything expired: %d messages", got)
	}
	clock.advance(31 * time.Minute)
	e.Retain()
	polled := poll(t, cli, 0, iggcon.OffsetPollingStrategy(0), 100)
	if n := len(polled.Messages); n == 0 || n >= 9 || polled.Messages[n-1].Header.Offset != 8 {
		t.Fatalf("half expired: %d messages", n)
	}
	clock.advance(time.Hour)
	e.Retain()
	check := func(when string) {
		topic, err := cli.GetTopic(named("s"), named("t"))
		if err != nil {
			t.Fatal(err)
		}
		p := topic.Partitions[0]
		if p.MessagesCount != 0 || p.CurrentOffset != 8 || p.SegmentsCount != 1 || p.SizeBytes != 0 {
			t.Errorf("%s: partition %+v", when, p)
		}
		if polled := poll(t, cli, 0, iggcon.FirstPollingStrategy(), 10); len(polled.Messages) != 0 || polled.CurrentOffset != 8 {
			t.Errorf("%s: polled %+v", when, polled)
		}
	}
	check("all expired")
	stopEngine(t, e)
	e = startEngine(t, opts)
	cli = rootClient(t, e)
	check("all expired, restarted")
	send(t, cli, 0, "fresh")
	if polled := poll(t, cli, 0, iggcon.FirstPollingStrategy(), 10); len(polled.Messages) != 1 || polled.Messages[0].Header.Offset != 9 {
		t.Errorf("after the restart: %+v", polled)
	}
}

func TestSizeLimitRemovesTheOldestSegments(t *testing.T) {
	t.Parallel()
	clock := newTestClock()
	e := startEngine(t, Options{Clock: clock.now, SegmentBytes: 1 << 10})
	cli := rootClient(t, e)
	makeLimitedTopic(t, cli, 0, 8<<10)
	for i := range 40 {
		clock.advance(time.Second)
		send(t, cli, uint32(i%2), strings.Repeat("p", 400))
	}
	e.Retain()
	topic, err := cli.GetTopic(named("s"), named("t"))
	if err != nil {
		t.Fatal(err)
	}
	if topic.Size >= 8<<10*9/10 || topic.Size < 4<<10 {
		t.Errorf("topic takes %d bytes", topic.Size)
	}
	for _, p := range topic.Partitions {
		if p.CurrentOffset != 19 || p.MessagesCount == 0 {
			t.Errorf("partition %+v", p)
		}
	}
}

func TestStoredOffsetsHoldSegmentsBack(t *testing.T) {
	t.Parallel()
	clock := newTestClock()
	e := startEngine(t, Options{Clock: clock.now, SegmentBytes: 1 << 10})
	cli := rootClient(t, e)
	makeLimitedTopic(t, cli, time.Hour, 0)
	for range 10 {
		send(t, cli, 0, strings.Repeat("p", 400))
	}
	partition := uint32(0)
	consumer := iggcon.NewSingleConsumer(numbered(5))
	if err := cli.StoreConsumerOffset(consumer, named("s"), named("t"), 4, &partition); err != nil {
		t.Fatal(err)
	}
	clock.advance(2 * time.Hour)
	e.Retain()
	first := poll(t, cli, 0, iggcon.FirstPollingStrategy(), 1).Messages[0].Header.Offset
	if first > 5 || first < 3 {
		t.Errorf("log begins at %d, a consumer is at 4", first)
	}
	if err := cli.DeleteConsumerOffset(consumer, named("s"), named("t"), &partition); err != nil {
		t.Fatal(err)
	}
	e.Retain()
	if n := len(poll(t, cli, 0, iggcon.FirstPollingStrategy(), 1).Messages); n != 0 {
		t.Errorf("%d messages are left", n)
	}
}

func TestDeleteSegments(t *testing.T) {
	t.Parallel()
	e := startEngine(t, Options{SegmentBytes: 1 << 10})
	cli := rootClient(t, e)
	makeTopic(t, cli, 1)
	for range 10 {
		send(t, cli, 0, strings.Repeat("p", 400))
	}
	c := dialRawRoot(t, e)
	del := func(partition, count uint32) uint32 {
		b := []byte{1, 4, 0, 0, 0, 0, 1, 4, 0, 0, 0, 0}
		status, _ := c.Do(uint32(protocol.DeleteSegments), protocol.AppendU32(protocol.AppendU32(b, partition), count))
		return status
	}
	if status := del(7, 1); status != uint32(protocol.ErrPartitionNotFound) {
		t.Errorf("unknown partition: %d", status)
	}
	if status := del(0, 1); status != 0 {
		t.Errorf("one segment: %d", status)
	}
	if first := poll(t, cli, 0, iggcon.FirstPollingStrategy(), 1).Messages[0].Header.Offset; first != 2 {
		t.Errorf("log begins at %d, want 2", first)
	}
	if status := del(0, 1000); status != 0 {
		t.Errorf("all segments: %d", status)
	}
	polled := poll(t, cli, 0, iggcon.FirstPollingStrategy(), 100)
	if len(polled.Messages) == 0 || polled.CurrentOffset != 9 {
		t.Errorf("the active segment went too: %+v", polled)
	}
}

func TestPurge(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := startEngine(t, Options{DataDir: dir})
	cli := rootClient(t, e)
	makeTopic(t, cli, 2)
	c := dialRawRoot(t, e)
	partition := uint32(1)
	consumer := iggcon.NewSingleConsumer(numbered(5))
	for _, code := range []protocol.Code{protocol.PurgeTopic, protocol.PurgeStream} {
		send(t, cli, 1, "a", "b", "c")
		if err := cli.StoreConsumerOffset(consumer, named("s"), named("t"), 2, &partition); err != nil {
			t.Fatal(err)
		}
		if status, _ := c.Do(uint32(code), []byte{2, 1, 's', 2, 1, 't'}); status != 0 {
			t.Fatalf("purge: %d", status)
		}
		if polled := poll(t, cli, 1, iggcon.FirstPollingStrategy(), 10); len(polled.Messages) != 0 || polled.CurrentOffset != 0 {
			t.Errorf("after a purge: %+v", polled)
		}
		if stored, err := cli.GetConsumerOffset(consumer, named("s"), named("t"), &partition); err != nil || stored != nil {
			t.Errorf("stored offset after a purge: %+v, %v", stored, err)
		}
	}
	send(t, cli, 1, "new")
	stopEngine(t, e)
	cli = rootClient(t, startEngine(t, Options{DataDir: dir}))
	polled := poll(t, cli, 1, iggcon.FirstPollingStrategy(), 10)
	if !slices.Equal(payloads(polled), []string{"new"}) || polled.Messages[0].Header.Offset != 0 {
		t.Errorf("after a purge and a restart: %+v", polled)
	}
	// Of the four data folders that existed only the written one is left.
	if left, err := os.ReadDir(filepath.Join(dir, partitionFolder)); err != nil || len(left) != 1 {
		t.Errorf("data folders left: %v, %v", left, err)
	}
}

func TestDamagedBatchIsAnError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := startEngine(t, Options{DataDir: dir})
	cli := rootClient(t, e)
	makeTopic(t, cli, 1)
	send(t, cli, 0, "good")
	send(t, cli, 0, "damaged")
	send(t, cli, 0, "good again")
	stopEngine(t, e)
	logs, err := filepath.Glob(filepath.Join(dir, partitionFolder, "*", "*.log"))
	if err != nil || len(logs) != 1 {
		t.Fatalf("%v, %v", logs, err)
	}
	b, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	b[strings.Index(string(b), "damaged")] ^= 1
	if err := os.WriteFile(logs[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
	e = startEngine(t, Options{DataDir: dir})
	cli = rootClient(t, e)
	if got := payloads(poll(t, cli, 0, iggcon.FirstPollingStrategy(), 10)); !slices.Equal(got, []string{"good"}) {
		t.Errorf("up to the damage: %q", got)
	}
	c := dialRawRoot(t, e)
	if status, _ := c.Do(100, pollPayload(1, 10)); status != uint32(protocol.ErrInvalidChecksum) {
		t.Errorf("at the damage: status %d", status)
	}
	if got := payloads(poll(t, cli, 0, iggcon.OffsetPollingStrategy(2), 10)); !slices.Equal(got, []string{"good again"}) {
		t.Errorf("behind the damage: %q", got)
	}
}
