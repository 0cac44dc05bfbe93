package bridge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kafka-iggy-bridge/internal/errorcode"
)

func TestConcurrentCreationMakesOneTopic(t *testing.T) {
	t.Parallel()
	f := newFakeIggy()
	bridges := []*Bridge{startBridge(t, f.config()), startBridge(t, f.config())}
	var work sync.WaitGroup
	ids := make([][16]byte, 50)
	for i := range ids {
		work.Go(func() {
			topic, err := bridges[i%2].EnsureStreamAndTopic(testContext(t), "orders", TopicSpec{Partitions: 3})
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = topic.ID
		})
	}
	work.Wait()
	for _, id := range ids {
		if id != ids[0] || id == ([16]byte{}) {
			t.Fatalf("topic ids %x and %x", id, ids[0])
		}
	}
}

func TestCreateTopicErrors(t *testing.T) {
	t.Parallel()
	_, b, _ := fakeBridge(t, func(c *Config) { c.Topics = map[string]Location{"mapped": {"elsewhere", "there"}} })
	for _, c := range []struct {
		name, topic string
		spec        TopicSpec
		want        error
		text        string
	}{
		{"exists", "orders", TopicSpec{Partitions: 1}, ErrTopicExists, "orders"},
		{"no name", "", TopicSpec{Partitions: 1}, ErrInvalidTopicName, "empty"},
		{"a name Kafka forbids", "a/b", TopicSpec{Partitions: 1}, ErrInvalidTopicName, "ASCII"},
		{"dots", "..", TopicSpec{Partitions: 1}, ErrInvalidTopicName, "'..' is not allowed"},
		{"a long name", strings.Repeat("a", 250), TopicSpec{Partitions: 1}, ErrInvalidTopicName, "longer"},
		{"a name of Kafka's own", "__consumer_offsets", TopicSpec{Partitions: 1}, ErrInvalidTopicName, "reserved"},
		{"the bridge's stream", DefaultStateStream, TopicSpec{Partitions: 1}, ErrInvalidTopicName, "reserved"},
		{"no partitions", "x", TopicSpec{}, ErrInvalidPartitions, "0"},
		{"unknown config", "x", TopicSpec{Partitions: 1, Configs: map[string]string{"prefix": "x"}}, ErrInvalidConfig, "Unknown topic config name: prefix"},
		{"bad number", "x", TopicSpec{Partitions: 1, Configs: map[string]string{ConfigRetentionMs: "abc"}}, ErrInvalidConfig, "Invalid value abc for configuration retention.ms: Not a number of type LONG"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := b.CreateTopic(testContext(t), c.topic, c.spec)
			check := b.CheckCreateTopic(testContext(t), c.topic, c.spec)
			for _, err := range []error{err, check} {
				if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
					t.Errorf("got %v, want %v with %q", err, c.want, c.text)
				}
			}
		})
	}
}

func TestTopicConfigsAndRetention(t *testing.T) {
	t.Parallel()
	f, b, _ := fakeBridge(t, func(c *Config) { c.TopicDefaults = map[string]string{ConfigRetentionMs: "1000"} })
	inIggy := func(name string) (expiry, size uint64) {
		info, err := f.topic(context.Background(), Location{name, name})
		if err != nil {
			t.Fatal(err)
		}
		return info.expiry, info.maxSize
	}
	for _, c := range []struct {
		name         string
		configs      []string
		expiry, size uint64
	}{
		{"broker-wide", nil, 1_000_000, iggyUnlimited},
		{"own", []string{ConfigRetentionMs, "5", ConfigRetentionBytes, "100"}, 5000, 300},
		{"forever", []string{ConfigRetentionMs, "-1", ConfigRetentionBytes, "-1"}, iggyNever, iggyUnlimited},
		{"compacted-keeps-all", []string{ConfigCleanupPolicy, "compact", ConfigRetentionMs, "5"}, iggyNever, iggyUnlimited},
		{"compacted-and-deleted", []string{ConfigCleanupPolicy, "compact,delete", ConfigRetentionMs, "5"}, 5000, iggyUnlimited},
		{"ten-thousand-years", []string{ConfigRetentionMs, "315446400000000"}, 315446400000000000, iggyUnlimited},
	} {
		topic := makeTopic(t, b, c.name, 3, c.configs...)
		if expiry, size := inIggy(c.name); expiry != c.expiry || size != c.size {
			t.Errorf("%s: expiry %d, size %d, want %d, %d", c.name, expiry, size, c.expiry, c.size)
		}
		if n := len(topic.Config.Overrides()); n != len(c.configs)/2 {
			t.Errorf("%s: overrides %v", c.name, topic.Config.Overrides())
		}
	}
	topic, err := b.SetTopicConfigs(testContext(t), "own", map[string]string{ConfigRetentionBytes: "200", ConfigCleanupPolicy: "delete"})
	if err != nil {
		t.Fatal(err)
	}
	if expiry, size := inIggy("own"); expiry != 1_000_000 || size != 600 || topic.Config.RetentionBytes() != 200 {
		t.Errorf("after a change: expiry %d, size %d", expiry, size)
	}
	// What an Iggy client sets holds.
	info, err := f.topic(context.Background(), Location{"own", "own"})
	if err == nil {
		err = f.updateTopic(context.Background(), info, 7000, iggyUnlimited)
	}
	if err != nil {
		t.Fatal(err)
	}
	b.lookAgain("own")
	topic, err = b.Topic(testContext(t), "own")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{ConfigRetentionMs: "7", ConfigRetentionBytes: "-1", ConfigCleanupPolicy: "delete"}
	if diff := cmp.Diff(want, topic.Config.Overrides()); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIggyClientsMakeAppears(t *testing.T) {
	t.Parallel()
	for _, layout := range []string{"", "all"} {
		t.Run("stream "+layout, func(t *testing.T) {
			t.Parallel()
			f := newFakeIggy()
			config := f.config()
			config.RefreshInterval = 5 * time.Millisecond
			config.Stream = layout
			config.Topics = map[string]Location{"mapped": {"elsewhere", "there/it is"}}
			b := startBridge(t, config)
			ctx := context.Background()
			make := func(stream, topic string, partitions int) {
				if err := f.createStream(ctx, stream); err != nil && !errors.Is(err, errStreamExists) {
					t.Fatal(err)
				}
				if err := f.createTopic(ctx, Location{stream, topic}, partitions, iggyNever, 5000); err != nil {
					t.Fatal(err)
				}
			}
			at := func(name string) Location { return config.locate(name) }
			for _, name := range []string{"native", "empty", "bad name", "__consumer_offsets"} {
				partitions := 2
				if name == "empty" {
					partitions = 0
				}
				make(at(name).Stream, at(name).Topic, partitions)
			}
			make("elsewhere", "there/it is", 1)
			names := func(want ...string) {
				t.Helper()
				eventually(t, 5*time.Second, func() error {
					topics, err := b.Topics(ctx)
					var got []string
					for _, topic := range topics {
						got = append(got, topic.Name)
					}
					if err != nil || !cmp.Equal(got, want) {
						return fmt.Errorf("topics %v, %v", got, err)
					}
					return nil
				})
			}
			names("mapped", "native")
			native, err := b.Topic(ctx, "native")
			if err != nil || native.Config.RetentionMs() != -1 || native.Config.RetentionBytes() != 2500 {
				t.Fatal(native, err)
			}
			if byID, err := b.TopicByID(ctx, native.ID); err != nil || byID.Name != "native" {
				t.Fatal(byID, err)
			}
			produce(t, b, native, 1, plainBatch(t, "a"))

			// It gets partitions.
			if err := f.createPartitions(ctx, at("native"), 1); err != nil {
				t.Fatal(err)
			}
			eventually(t, 5*time.Second, func() error {
				if topic, err := b.Topic(ctx, "native"); err != nil || topic.Partitions != 3 || topic.ID != native.ID {
					return fmt.Errorf("%+v, %v", topic, err)
				}
				return nil
			})
			// It is deleted and made anew.
			if err := f.deleteTopic(ctx, at("native")); err != nil {
				t.Fatal(err)
			}
			make(at("native").Stream, at("native").Topic, 1)
			eventually(t, 5*time.Second, func() error {
				if topic, err := b.Topic(ctx, "native"); err != nil || topic.ID == native.ID {
					return fmt.Errorf("%+v, %v", topic, err)
				}
				return nil
			})
			if _, err := b.Produce(ctx, native, 0, plainBatch(t, "b")); !errors.Is(err, ErrTopicNotFound) {
				t.Fatalf("a produce to the topic that is gone: %v", err)
			}
			if _, err := b.TopicByID(ctx, native.ID); !errors.Is(err, ErrTopicIDNotFound) {
				t.Fatalf("the id of the topic that is gone: %v", err)
			}
			// It is deleted for good.
			if err := f.deleteTopic(ctx, at("native")); err != nil {
				t.Fatal(err)
			}
			names("mapped")
			// One without partitions gets them when Kafka makes it.
			if topic := makeTopic(t, b, "empty", 4); topic.Partitions != 4 {
				t.Fatalf("%d partitions", topic.Partitions)
			}
		})
	}
}

func TestTopicIDsAreStable(t *testing.T) {
	t.Parallel()
	f, b, topic := fakeBridge(t, nil)
	other := startBridge(t, f.config())
	if same, err := other.Topic(testContext(t), "orders"); err != nil || same.ID != topic.ID {
		t.Fatal(same, err)
	}
	// Another bridge makes the topic anew: the old id deletes nothing.
	if err := other.DeleteTopic(testContext(t), "orders"); err != nil {
		t.Fatal(err)
	}
	makeTopic(t, other, "orders", 2)
	if err := b.DeleteTopicByID(testContext(t), topic.ID); !errors.Is(err, ErrTopicIDNotFound) || ErrorCode(err) != errorcode.UnknownTopicID {
		t.Fatal(err)
	}
	fresh, err := b.Topic(testContext(t), "orders")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.DeleteTopicByID(testContext(t), fresh.ID); err != nil {
		t.Fatal(err)
	}
	if again := makeTopic(t, b, "orders", 2); again.ID == topic.ID {
		t.Fatal("a topic made anew has its predecessor's id")
	}
	info := topicInfo{location: Location{"orders", "orders"}, streamID: 1, id: 2, createdAt: 3}
	if got := fmt.Sprintf("%x", topicID(info)); got != wantTopicID {
		t.Fatalf("the derivation of ids changed: %s", got)
	}
	for i := range uint64(10_000) {
		info.createdAt = i
		if id := topicID(info); id[6]>>4 != 8 || id[8]>>6 != 2 || id[0]>>2 == 62 {
			t.Fatalf("id %x", id)
		}
	}
}

func TestIggysLimitsOnStreams(t *testing.T) {
	t.Parallel()
	f, b, _ := fakeBridge(t, nil)
	f.mu.Lock()
	for i := range maxStreams {
		f.byName[fmt.Sprint("s", i)] = &fakeStream{id: uint32(i + 10), topics: map[string]*fakeTopic{}}
	}
	f.mu.Unlock()
	if _, err := b.CreateTopic(testContext(t), "one-more", TopicSpec{Partitions: 1}); !errors.Is(err, ErrTooManyTopics) {
		t.Fatal(err)
	}
}

func TestTopicSizeBelowASegment(t *testing.T) {
	t.Parallel()
	f, b, _ := fakeBridge(t, nil)
	refused := 0
	f.hooks(func(c fakeCall) error {
		if c.op == "create topic" && refused < 2 {
			refused++
			return errTopicSize
		}
		return nil
	}, nil)
	topic := makeTopic(t, b, "small", 1, ConfigRetentionBytes, "1000")
	info, err := f.topic(context.Background(), Location{"small", "small"})
	if err != nil || info.maxSize != 256<<20 || topic.Config.RetentionBytes() != 1000 {
		t.Fatalf("size %d, retention.bytes %d, %v", info.maxSize, topic.Config.RetentionBytes(), err)
	}
}

const wantTopicID = "66cca31b67368571afd42f7321a94171"
