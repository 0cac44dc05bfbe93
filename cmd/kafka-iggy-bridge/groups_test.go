package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/internal/config"
	"kafka-iggy-bridge/internal/groupadmin"
)

// groupsOn are the arguments of a sub-command of groups for a running bridge.
func groupsOn(r *running, dir string, args ...string) []string {
	return append([]string{"groups", "--bootstrap=" + r.address(), "--embedded.data_dir=" + dir}, args...)
}

// mustRun runs a command line that has to succeed.
func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	code, out, errs := execute(args...)
	if code != exitOK {
		t.Fatalf("%v: exit %d: %s", args, code, errs)
	}
	return out
}

// kafkaClient makes a client and a topic with four records in its first of two
// partitions.
func kafkaClient(t *testing.T, r *running, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(r.address()), kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func fillTopic(t *testing.T, client *kgo.Client, topic string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := kadm.NewClient(client).CreateTopic(ctx, 2, 1, nil, topic); err != nil {
		t.Fatal(err)
	}
	for _, v := range []string{"a", "b", "c", "d"} {
		if err := client.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte(v)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

// committed are the offsets that a group has, as describe prints them.
func committed(t *testing.T, r *running, dir, group string) map[groupadmin.TopicPartition]int64 {
	t.Helper()
	var groups []groupadmin.Group
	if err := json.Unmarshal([]byte(mustRun(t, groupsOn(r, dir, "describe", group, "-o", "json")...)), &groups); err != nil {
		t.Fatal(err)
	}
	out := make(map[groupadmin.TopicPartition]int64)
	for _, o := range groups[0].Offsets {
		out[o.TopicPartition] = o.Committed
	}
	return out
}

func TestGroupsOfARunningBridge(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	r := startBridge(t, "--embedded.data_dir="+dir, "--groups.initial_rebalance_delay=0s")
	fillTopic(t, kafkaClient(t, r), "orders")
	first := groupadmin.TopicPartition{Topic: "orders", Partition: 0}

	if out := mustRun(t, groupsOn(r, dir, "list")...); out != "There are no groups.\n" {
		t.Errorf("list: %s", out)
	}
	if out := mustRun(t, groupsOn(r, dir, "reset", "g", "--to-offset=3", "--topic=orders")...); !strings.Contains(out, "A dry run") || !strings.Contains(out, "3 is above the end") {
		t.Errorf("reset: %s", out)
	}
	if code, _, errs := execute(groupsOn(r, dir, "describe", "g")...); code != exitFailed || !strings.Contains(errs, "no such group") {
		t.Errorf("a dry run made the group: exit %d, %s", code, errs)
	}
	mustRun(t, groupsOn(r, dir, "reset", "g", "--to-offset=3", "--topic=orders", "--execute")...)
	if got := committed(t, r, dir, "g"); got[first] != 3 || len(got) != 2 {
		t.Errorf("committed %v", got)
	}
	file := filepath.Join(t.TempDir(), "offsets.csv")
	if err := os.WriteFile(file, []byte("orders,0,1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	mustRun(t, groupsOn(r, dir, "reset", "g", "--from-file="+file, "--execute")...)
	mustRun(t, groupsOn(r, dir, "reset", "g", "--shift-by=1", "--topic=orders:0", "--execute")...)
	if got := committed(t, r, dir, "g"); got[first] != 2 {
		t.Errorf("committed %v", got)
	}

	member := kafkaClient(t, r, kgo.ConsumerGroup("g"), kgo.ConsumeTopics("orders"), kgo.DisableAutoCommit())
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if f := member.PollFetches(ctx); f.Err() != nil || f.NumRecords() != 2 {
		t.Fatalf("the member reads %d records, %v", f.NumRecords(), f.Err())
	}
	for _, args := range [][]string{
		{"reset", "g", "--to-latest", "--all-topics", "--execute"},
		{"handover", "g", "--to-iggy"},
		{"handover", "g", "--from-iggy"},
	} {
		if code, _, errs := execute(groupsOn(r, dir, args...)...); code != exitFailed || !strings.Contains(errs, "has members") || strings.Count(errs, "\n") != 1 {
			t.Errorf("%v with a member: exit %d, %s", args, code, errs)
		}
	}
	if out := mustRun(t, groupsOn(r, dir, "list")...); !strings.Contains(out, "Stable") {
		t.Errorf("list: %s", out)
	}
	member.Close()
	r.end()
}

func TestAPositionIsHandedOverAndBack(t *testing.T) {
	for name, flags := range map[string][]string{
		"in the clear": nil,
		"over TLS":     {"--embedded.tls.enabled"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			r := startBridge(t, append([]string{"--embedded.data_dir=" + dir}, flags...)...)
			fillTopic(t, kafkaClient(t, r), "orders")
			mustRun(t, groupsOn(r, dir, "reset", "g", "--to-offset=3", "--topic=orders", "--execute")...)
			if out := mustRun(t, groupsOn(r, dir, "handover", "g", "--to-iggy")...); !strings.Contains(out, "A dry run") {
				t.Errorf("dry run: %s", out)
			}
			out := mustRun(t, groupsOn(r, dir, "handover", "g", "--to-iggy", "--iggy-group=native", "--execute")...)
			if !strings.Contains(out, "Left: Kafka group \"g\" still has 2 committed offsets") {
				t.Errorf("handed over: %s", out)
			}
			offsets := nativeOffsets(t, dir)
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if next, ok, err := offsets.Group(ctx, "native", "orders", 0); next != 3 || !ok || err != nil {
				t.Errorf("Iggy has %d, %v, %v", next, ok, err)
			}
			if _, ok, err := offsets.Group(ctx, "native", "orders", 1); ok || err != nil {
				t.Errorf("nothing was consumed there, and Iggy has an offset: %v", err)
			}
			if err := offsets.SetGroup(ctx, "native", "orders", map[int32]int64{0: 4}); err != nil {
				t.Fatal(err)
			}
			out = mustRun(t, groupsOn(r, dir, "handover", "g", "--from-iggy", "--iggy-group=native", "--execute", "--remove-source")...)
			if !strings.Contains(out, "no offsets of these partitions any more") {
				t.Errorf("handed back: %s", out)
			}
			if got := committed(t, r, dir, "g"); got[groupadmin.TopicPartition{Topic: "orders", Partition: 0}] != 4 {
				t.Errorf("committed %v", got)
			}
			if _, ok, err := offsets.Group(ctx, "native", "orders", 0); ok || err != nil {
				t.Errorf("Iggy still has an offset, %v", err)
			}
			r.end()
			if code, _, errs := execute(groupsOn(r, dir, "handover", "g", "--to-iggy")...); code != exitFailed || !strings.Contains(errs, "no engine runs") {
				t.Errorf("without a bridge: exit %d, %s", code, errs)
			}
		})
	}
}

// nativeOffsets reaches the Iggy of a running bridge.
func nativeOffsets(t *testing.T, dir string) *bridge.ConsumerOffsets {
	t.Helper()
	c := &config.Config{Embedded: config.Embedded{DataDir: dir}}
	bc, err := findIggy(c)
	if err != nil {
		t.Fatal(err)
	}
	offsets, err := bridge.OpenConsumerOffsets(bc)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := offsets.Close(); err != nil {
			t.Error(err)
		}
	})
	return offsets
}

func TestCommitsAreMirroredToIggy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	r := startBridge(t, "--embedded.data_dir="+dir, "--groups.mirror_offsets")
	client := kafkaClient(t, r)
	fillTopic(t, client, "orders")
	offsets := nativeOffsets(t, dir)
	mustRun(t, groupsOn(r, dir, "reset", "g", "--to-offset=3", "--topic=orders", "--execute")...)
	awaitConsumer(t, offsets, 3, true)
	mustRun(t, groupsOn(r, dir, "reset", "g", "--to-offset=2", "--topic=orders", "--execute")...)
	awaitConsumer(t, offsets, 2, true)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := kadm.NewClient(client).DeleteGroup(ctx, "g"); err != nil {
		t.Fatal(err)
	}
	awaitConsumer(t, offsets, 0, false)
	r.end()
}

// awaitConsumer waits until the mirror has stored an offset of group g: no event
// tells of it.
func awaitConsumer(t *testing.T, offsets *bridge.ConsumerOffsets, want int64, wantOK bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		next, ok, err := offsets.Consumer(ctx, "g", "orders", 0)
		if err == nil && next == want && ok == wantOK {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("Iggy has %d, %v, %v; want %d, %v", next, ok, err, want, wantOK)
		}
	}
}

func TestMistakesInGroupCommands(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no group to describe":      {[]string{"describe"}, "requires at least 1 arg"},
		"no place to go to":         {[]string{"reset", "g", "--topic=t"}, "to-earliest"},
		"two places":                {[]string{"reset", "g", "--topic=t", "--to-latest", "--shift-by=1"}, "to-latest"},
		"no topics":                 {[]string{"reset", "g", "--to-latest"}, "all-topics"},
		"topics beside a file":      {[]string{"reset", "g", "--from-file=x", "--topic=t"}, "from-file"},
		"a file that is not there":  {[]string{"reset", "g", "--from-file=/nonexistent.csv"}, "/nonexistent.csv"},
		"a topic without a name":    {[]string{"reset", "g", "--to-latest", "--topic=:1"}, "--topic"},
		"a negative offset":         {[]string{"reset", "g", "--to-offset=-1", "--topic=t"}, "--to-offset=-1"},
		"no date":                   {[]string{"reset", "g", "--to-datetime=today", "--topic=t"}, "--to-datetime"},
		"no length of time":         {[]string{"reset", "g", "--by-duration=week", "--topic=t"}, "--by-duration"},
		"switched off":              {[]string{"reset", "g", "--to-latest=false", "--topic=t"}, "switched off"},
		"no direction":              {[]string{"handover", "g"}, "to-iggy"},
		"a direction switched off":  {[]string{"handover", "g", "--to-iggy=false"}, "which way"},
		"both directions":           {[]string{"handover", "g", "--to-iggy", "--from-iggy"}, "to-iggy"},
		"an unknown form of output": {[]string{"list", "-o", "yaml"}, "--output=yaml"},
		"no time":                   {[]string{"list", "--timeout=0s"}, "--timeout"},
		"no address":                {[]string{"list", "--kafka.listen=127.0.0.1:0"}, "--bootstrap"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, errs := execute(append([]string{"groups"}, tc.args...)...)
			if code != exitUsage || out != "" || !strings.Contains(errs, tc.want) || strings.Count(errs, "\n") != 1 {
				t.Errorf("exit %d, stdout %q, stderr %q", code, out, errs)
			}
		})
	}
	code, _, errs := execute("groups", "list", "--bootstrap=127.0.0.1:1", "--timeout=2s")
	if code != exitFailed || !strings.Contains(errs, "127.0.0.1:1") || strings.Contains(errs, "the bridge has failed") {
		t.Errorf("nobody there: exit %d, %s", code, errs)
	}
}
