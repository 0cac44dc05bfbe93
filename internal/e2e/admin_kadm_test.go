package e2e

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

func text(s string) *string { return &s }

func TestKadmManagesTopics(t *testing.T) {
	t.Parallel()
	b := start(t, "BRIDGE_TOPICS_DEFAULT_PARTITIONS=3", "BRIDGE_KAFKA_NODE_ID=9")
	admin := kadm.NewClient(franz(t, b.addr))
	ctx := within(t, stepTime)

	configs := map[string]*string{"cleanup.policy": text("compact"), "retention.ms": text("-1")}
	checked, err := admin.ValidateCreateTopics(ctx, -1, -1, configs, "orders")
	if err != nil || checked["orders"].Err != nil || checked["orders"].NumPartitions != 3 {
		t.Fatalf("validate: %+v, %v", checked, err)
	}
	made, err := admin.CreateTopic(ctx, -1, -1, configs, "orders")
	if err != nil {
		t.Fatal(err)
	}
	if c := made.Configs["cleanup.policy"]; made.NumPartitions != 3 || made.ReplicationFactor != 1 || c.Value == nil || *c.Value != "compact" {
		t.Errorf("made %+v", made)
	}
	if _, err := admin.CreateTopic(ctx, 1, 1, nil, "orders"); !errors.Is(err, kerr.TopicAlreadyExists) {
		t.Errorf("made again: %v", err)
	}
	if _, err := admin.CreateTopic(ctx, 1, 3, nil, "replicated"); !errors.Is(err, kerr.InvalidReplicationFactor) {
		t.Errorf("replicated: %v", err)
	}
	if _, err := admin.CreateTopic(ctx, 1, 1, map[string]*string{"nonsense": text("1")}, "odd"); !errors.Is(err, kerr.InvalidConfig) {
		t.Errorf("with a nonsense configuration: %v", err)
	}

	metadata, err := admin.Metadata(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if metadata.Controller != 9 || metadata.Cluster == "" || !slices.Equal(metadata.Brokers.NodeIDs(), []int32{9}) {
		t.Errorf("cluster %q, controller %d, brokers %v", metadata.Cluster, metadata.Controller, metadata.Brokers.NodeIDs())
	}
	if names := slices.Sorted(maps.Keys(metadata.Topics)); !slices.Equal(names, []string{"orders"}) {
		t.Errorf("topics %v", names)
	}
	b.restart()
	again, err := admin.Metadata(ctx, "orders")
	if err != nil {
		t.Fatal(err)
	}
	if again.Topics["orders"].ID != made.ID || again.Cluster != metadata.Cluster {
		t.Errorf("after a restart the topic is %v of %q, before %v of %q", again.Topics["orders"].ID, again.Cluster, made.ID, metadata.Cluster)
	}

	gone, err := admin.DeleteTopics(ctx, "orders", "missing")
	if err != nil || gone["orders"].Err != nil || !errors.Is(gone["missing"].Err, kerr.UnknownTopicOrPartition) {
		t.Errorf("deleted %+v, %v", gone, err)
	}
	anew, err := admin.CreateTopic(ctx, 1, 1, nil, "orders")
	if err != nil || anew.ID == made.ID {
		t.Errorf("made anew with id %v (before %v), %v", anew.ID, made.ID, err)
	}
	b.alive()
}

func TestKgoProducersCreateOneTopic(t *testing.T) {
	t.Parallel()
	b := start(t)
	const producers = 20
	var wg sync.WaitGroup
	for i := range producers {
		c := franz(t, b.addr, kgo.AllowAutoTopicCreation())
		wg.Go(func() {
			record := &kgo.Record{Topic: "raced", Value: fmt.Appendf(nil, "from %d", i)}
			if err := c.ProduceSync(within(t, stepTime), record).FirstErr(); err != nil {
				t.Errorf("producer %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if _, end := ends(t, b.addr, "raced", 0); end != producers {
		t.Errorf("%d records, want %d", end, producers)
	}
	b.alive()
}

func TestKgoDoesNotCreateWhereItIsForbidden(t *testing.T) {
	t.Parallel()
	b := start(t, "BRIDGE_TOPICS_AUTO_CREATE=false")
	c := franz(t, b.addr, kgo.AllowAutoTopicCreation(), kgo.UnknownTopicRetries(1))
	err := c.ProduceSync(within(t, stepTime), &kgo.Record{Topic: "absent", Value: []byte("x")}).FirstErr()
	if !errors.Is(err, kerr.UnknownTopicOrPartition) {
		t.Errorf("produced: %v", err)
	}
	topics, err := kadm.NewClient(c).ListTopics(within(t, stepTime))
	if err != nil || len(topics) != 0 {
		t.Errorf("topics %v, %v", topics.Names(), err)
	}
}
