package engine

import (
	"slices"
	"testing"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
)

func TestSendAndPoll(t *testing.T) {
	t.Parallel()
	e := startEngine(t, Options{})
	cli := rootClient(t, e)
	makeTopic(t, cli, 3)
	send(t, cli, 1, "a", "b", "c")
	send(t, cli, 1, "d")
	tests := []struct {
		name     string
		strategy iggcon.PollingStrategy
		count    uint32
		want     []string
	}{
		{"first gives the beginning", iggcon.FirstPollingStrategy(), 2, []string{"a", "b"}},
		{"offset inside a batch", iggcon.OffsetPollingStrategy(1), 2, []string{"b", "c"}},
		{"offset over a batch's end", iggcon.OffsetPollingStrategy(2), 10, []string{"c", "d"}},
		{"offset beyond the end is empty", iggcon.OffsetPollingStrategy(4), 10, []string{}},
		{"last counts from the end", iggcon.LastPollingStrategy(), 2, []string{"c", "d"}},
		{"last with more than there is", iggcon.LastPollingStrategy(), 9, []string{"a", "b", "c", "d"}},
		{"next without a stored offset", iggcon.NextPollingStrategy(), 1, []string{"a"}},
		{"timestamp zero is the beginning", iggcon.TimestampPollingStrategy(0), 1, []string{"a"}},
		{"timestamp in the future is empty", iggcon.TimestampPollingStrategy(1 << 62), 1, []string{}},
		{"count zero is empty", iggcon.FirstPollingStrategy(), 0, []string{}},
	}
	for _, tt := range tests {
		polled := poll(t, cli, 1, tt.strategy, tt.count)
		if got := payloads(polled); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
		if polled.PartitionId != 1 || polled.CurrentOffset != 3 {
			t.Errorf("%s: partition %d, current offset %d", tt.name, polled.PartitionId, polled.CurrentOffset)
		}
	}
}

func TestRestartKeepsEverything(t *testing.T) {
	t.Parallel()
	for _, policy := range []FsyncPolicy{FsyncNever, FsyncInterval, FsyncAlways} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			restart(t, Options{DataDir: t.TempDir(), Fsync: policy, FsyncInterval: time.Millisecond})
		})
	}
}

func restart(t *testing.T, opts Options) {
	t.Helper()
	e := startEngine(t, opts)
	cli := rootClient(t, e)
	makeTopic(t, cli, 2)
	send(t, cli, 0, "one", "two")
	partition := uint32(0)
	consumer := iggcon.NewSingleConsumer(named("reader"))
	if err := cli.StoreConsumerOffset(consumer, named("s"), named("t"), 0, &partition); err != nil {
		t.Fatal(err)
	}
	before, err := cli.GetTopic(named("s"), named("t"))
	if err != nil {
		t.Fatal(err)
	}
	stopEngine(t, e)

	e = startEngine(t, opts)
	cli = rootClient(t, e)
	after, err := cli.GetTopic(named("s"), named("t"))
	if err != nil {
		t.Fatal(err)
	}
	if before.CreatedAt != after.CreatedAt || after.MessagesCount != 2 || after.Size != before.Size {
		t.Errorf("topic before %+v, after %+v", before, after)
	}
	send(t, cli, 0, "three")
	if got := payloads(poll(t, cli, 0, iggcon.FirstPollingStrategy(), 10)); !slices.Equal(got, []string{"one", "two", "three"}) {
		t.Errorf("messages after restart: %q", got)
	}
	stored, err := cli.GetConsumerOffset(consumer, named("s"), named("t"), &partition)
	if err != nil || stored == nil || stored.StoredOffset != 0 || stored.CurrentOffset != 2 {
		t.Errorf("stored offset after restart: %+v, %v", stored, err)
	}
}
