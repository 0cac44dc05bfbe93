package engine

import (
	"slices"
	"testing"
	"time"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
)

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
