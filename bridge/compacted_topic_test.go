package bridge

import (
	"errors"
	"testing"

	"kafka-iggy-bridge/internal/records"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
	"github.com/google/go-cmp/cmp"
)

func TestOpenInternalTopicFixesThePartitionsForEver(t *testing.T) {
	t.Parallel()
	f := newFakeIggy()
	b := startBridge(t, f.config())
	before := b.TopicsVersion()
	if n, err := b.OpenInternalTopic(testContext(t), offsetsTopic, 50); n != 50 || err != nil {
		t.Fatalf("%d partitions (%v), want 50", n, err)
	}
	if after := b.TopicsVersion(); after <= before {
		t.Errorf("version of the topics %d, was %d: it must grow", after, before)
	}
	version := b.TopicsVersion()
	if n, err := b.OpenInternalTopic(testContext(t), offsetsTopic, 7); n != 50 || err != nil {
		t.Errorf("opened again with another number: %d partitions (%v), want 50", n, err)
	}
	if b.TopicsVersion() != version {
		t.Error("the version of the topics grew though nothing changed")
	}
	topic, err := b.Topic(testContext(t), offsetsTopic)
	if err != nil {
		t.Fatal(err)
	}
	if !topic.Internal || topic.Partitions != 50 || !topic.Config.Compacted() || topic.Config.Deleted() {
		t.Errorf("the topic is %+v", topic)
	}

	other := startBridge(t, f.config()) // never opened it itself
	topics, err := other.Topics(testContext(t))
	if err != nil || len(topics) != 1 {
		t.Fatalf("another bridge has %d topics (%v), want 1", len(topics), err)
	}
	if topics[0].ID != topic.ID || topics[0].Partitions != 50 || !topics[0].Internal {
		t.Errorf("another bridge has %+v", topics[0])
	}
	if byID, err := other.TopicByID(testContext(t), topic.ID); err != nil || byID.Name != offsetsTopic {
		t.Errorf("by id: %v, %v", byID, err)
	}
}

func TestOpenInternalTopicRefuses(t *testing.T) {
	t.Parallel()
	b := startBridge(t, newFakeIggy().config())
	for _, c := range []struct {
		why, name  string
		partitions int32
		want       error
	}{
		{"a name that is none of Kafka's", "orders", 1, ErrInvalidTopicName},
		{"a topic that Kafka keeps in another way", "__cluster_metadata", 1, ErrInvalidTopicName},
		{"no partitions", offsetsTopic, 0, ErrInvalidPartitions},
		{"more partitions than the stream has room for", offsetsTopic, 1001, ErrInvalidPartitions},
	} {
		if _, err := b.OpenInternalTopic(testContext(t), c.name, c.partitions); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.why, err, c.want)
		}
	}
	if _, err := b.Topic(testContext(t), offsetsTopic); !errors.Is(err, ErrTopicNotFound) {
		t.Errorf("a topic that was not opened: %v", err)
	}
	if err := b.CompactedLog(offsetsTopic, 0).Load(testContext(t), func(*records.Record) {}); !errors.Is(err, ErrTopicNotFound) {
		t.Errorf("loading from a topic that was not opened: %v", err)
	}
}

func TestInternalTopicsAreNotForClientsToChange(t *testing.T) {
	t.Parallel()
	b := startBridge(t, newFakeIggy().config())
	appendLog(t, openLog(t, b, 0), keyed("a", "1"))
	ctx := testContext(t)
	topic, err := b.Topic(ctx, offsetsTopic)
	if err != nil {
		t.Fatal(err)
	}
	_, create := b.CreateTopic(ctx, offsetsTopic, TopicSpec{Partitions: 1})
	_, grow := b.CreatePartitions(ctx, offsetsTopic, 60)
	_, configure := b.SetTopicConfigs(ctx, offsetsTopic, nil)
	for what, err := range map[string]error{
		"create":       create,
		"grow":         grow,
		"configure":    configure,
		"delete":       b.DeleteTopic(ctx, offsetsTopic),
		"delete by id": b.DeleteTopicByID(ctx, topic.ID),
	} {
		if !errors.Is(err, ErrInvalidTopicName) {
			t.Errorf("%s: %v, want %v", what, err, ErrInvalidTopicName)
		}
	}
	wantContents(t, b.CompactedLog(offsetsTopic, 0), contents{"a": "1"})
}

func TestUnusedInternalTopicsCostNothing(t *testing.T) {
	t.Parallel()
	f := newFakeIggy()
	b := startBridge(t, f.config())
	l := openLog(t, b, 2)
	topic, err := b.Topic(testContext(t), offsetsTopic)
	if err != nil {
		t.Fatal(err)
	}
	if recs := readAll(t, b, topic, 2, 0); len(recs) != 0 {
		t.Errorf("%d records in a partition that was never written", len(recs))
	}
	if err := l.Append(testContext(t), nil); err != nil {
		t.Error(err)
	}
	if names := chainOf(f, 2); len(names) != 0 {
		t.Errorf("generations %v of a partition that was never written", names)
	}
	appendLog(t, l, keyed("a", "1"))
	if diff := cmp.Diff([]string{"__consumer_offsets.2.0"}, chainOf(f, 2)); diff != "" {
		t.Error(diff)
	}
	if names := chainOf(f, 1); len(names) != 0 {
		t.Errorf("generations %v of another partition", names)
	}
}

func TestIggyTopicsOfReservedNamesDoNotDisturb(t *testing.T) {
	t.Parallel()
	f := newFakeIggy()
	b := startBridge(t, f.config())
	appendLog(t, openLog(t, b, 0), keyed("a", "1"))
	at := Location{Stream: offsetsTopic, Topic: offsetsTopic}
	ctx := testContext(t)
	if err := f.createStream(ctx, at.Stream); err != nil {
		t.Fatal(err)
	}
	if err := f.createTopic(ctx, at, 1, iggyNever, iggyUnlimited); err != nil {
		t.Fatal(err)
	}
	for _, remove := range []bool{false, true} {
		if remove {
			if err := f.deleteStream(ctx, at.Stream); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.catalog.load(ctx); err != nil {
			t.Fatal(err)
		}
		topic, err := b.Topic(ctx, offsetsTopic)
		if err != nil || topic.Partitions != 4 {
			t.Fatalf("removed %v: %+v, %v", remove, topic, err)
		}
	}
	wantContents(t, b.CompactedLog(offsetsTopic, 0), contents{"a": "1"})
}

func TestTopicsVersionGrowsWithTopicsAndPartitions(t *testing.T) {
	t.Parallel()
	b := startBridge(t, newFakeIggy().config())
	ctx := testContext(t)
	fail := func(_ *Topic, err error) error { return err }
	for _, c := range []struct {
		why   string
		do    func() error
		grows bool
	}{
		{"a topic is made", func() error { return fail(b.CreateTopic(ctx, "orders", TopicSpec{Partitions: 1})) }, true},
		{"it gets partitions", func() error { return fail(b.CreatePartitions(ctx, "orders", 3)) }, true},
		{"its configuration changes", func() error {
			return fail(b.SetTopicConfigs(ctx, "orders", map[string]string{ConfigRetentionMs: "1000"}))
		}, false},
		{"it is looked at", func() error { return b.catalog.load(ctx) }, false},
		{"an internal topic is opened", func() error { _, err := b.OpenInternalTopic(ctx, offsetsTopic, 1); return err }, true},
		{"a topic is deleted", func() error { return b.DeleteTopic(ctx, "orders") }, true},
	} {
		before := b.TopicsVersion()
		if err := c.do(); err != nil {
			t.Fatalf("%s: %v", c.why, err)
		}
		if grown := b.TopicsVersion() > before; grown != c.grows {
			t.Errorf("%s: the version grew: %v, want %v", c.why, grown, c.grows)
		}
	}
}

func TestParseGeneration(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why, name string
		partition int32
		base      int64
		ok        bool
	}{
		{"the first of a partition", "__consumer_offsets.0.0", 0, 0, true},
		{"a later one", "__consumer_offsets.49.9223372036854775807", 49, 1<<63 - 1, true},
		{"another topic", "__transaction_state.0.0", 0, 0, false},
		{"a topic whose name begins alike", "__consumer_offsets2.0.0", 0, 0, false},
		{"no base", "__consumer_offsets.0", 0, 0, false},
		{"more than a base", "__consumer_offsets.0.0.0", 0, 0, false},
		{"a partition that is no number", "__consumer_offsets.x.0", 0, 0, false},
		{"a partition out of range", "__consumer_offsets.2147483648.0", 0, 0, false},
		{"a negative base", "__consumer_offsets.0.-1", 0, 0, false},
		{"another way to write a number", "__consumer_offsets.0.01", 0, 0, false},
		{"a sign", "__consumer_offsets.+1.0", 0, 0, false},
		{"a base out of range", "__consumer_offsets.0.9223372036854775808", 0, 0, false},
	} {
		partition, base, ok := parseGeneration(offsetsTopic, c.name)
		if ok != c.ok || partition != c.partition || base != c.base {
			t.Errorf("%s: %d, %d, %v", c.why, partition, base, ok)
		}
		if ok && generationTopic(offsetsTopic, partition, base) != c.name {
			t.Errorf("%s: written as %s", c.why, generationTopic(offsetsTopic, partition, base))
		}
	}
}

func TestOnlyMarkersAreMarkers(t *testing.T) {
	t.Parallel()
	b := startBridge(t, newFakeIggy().config())
	marked := func(stamp producerStamp) message {
		var m message
		m.Header.Id = producerMessageID(stamp)
		return m
	}
	const flags = idTransactional | idControl
	for _, k := range []marker{markerComplete, markerVoid, markerSeal} {
		batch, err := k.batch(b)
		if err != nil {
			t.Fatal(err)
		}
		if !batch.IsControl() || !batch.IsTransactional() || batch.Count != 1 {
			t.Errorf("marker %d is the batch %+v", k, batch)
		}
		m := marked(producerStamp{ID: batch.ProducerID, Epoch: batch.ProducerEpoch, Sequence: batch.BaseSequence, Flags: flags})
		if got := markerOf(&m); got != k {
			t.Errorf("marker %d is taken for %d", k, got)
		}
	}
	for why, m := range map[string]message{
		"a record":                     {},
		"a transaction's commit":       marked(producerStamp{ID: 4711, Sequence: -1, Flags: flags}),
		"the producer id before them":  marked(producerStamp{ID: int64(markerSeal) - 1, Sequence: -1, Flags: flags}),
		"a record of such a producer":  marked(producerStamp{ID: int64(markerSeal), Sequence: 0, Flags: idTransactional}),
		"an id whose check is wrong":   {Header: iggcon.MessageHeader{Id: messageID{2: 0xff, 3: 0xff}}},
		"an id of the bridge's source": {Header: iggcon.MessageHeader{Id: b.ids.id(7)}},
	} {
		if got := markerOf(&m); got != markerNone {
			t.Errorf("%s is taken for marker %d", why, got)
		}
	}
}
