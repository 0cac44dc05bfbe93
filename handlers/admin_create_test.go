package handlers

import (
	"context"
	"maps"
	"strings"
	"testing"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/wire"
)

func TestCreateTopicsInEachVersion(t *testing.T) {
	t.Parallel()
	f := newAdmin(t, func(c *Config, _ *bridge.Config) { c.DefaultPartitions = 4 })
	for version := int16(2); version <= 7; version++ {
		name := "v" + string(rune('0'+version))
		row := f.create(version, false, creatable(name, -1, -1, "retention.ms", "1000"))[0]
		if row.ErrorCode != 0 || row.ErrorMessage.Valid || row.Name != name {
			t.Errorf("v%d: %+v", version, row)
		}
		topic, err := f.b.Topic(context.Background(), name)
		if err != nil {
			t.Fatal(err)
		}
		if topic.Partitions != 4 || topic.Config.RetentionMs() != 1000 {
			t.Errorf("v%d made %+v", version, topic)
		}
		if version >= 5 && (row.NumPartitions != 4 || row.ReplicationFactor != 1 || len(row.Configs) != len(bridge.TopicConfigs())) {
			t.Errorf("v%d reports %d partitions, %d replicas, %d configurations", version, row.NumPartitions, row.ReplicationFactor, len(row.Configs))
		}
		if version >= 7 && row.TopicId != wire.UUID(topic.ID) {
			t.Errorf("v%d reports id %v, the topic has %v", version, row.TopicId, topic.ID)
		}
	}
}

// What Connect, Streams, MirrorMaker 2 and Apicurio were seen to ask for.
func TestCreateTopicsAsProgramsAskForThem(t *testing.T) {
	t.Parallel()
	f := newAdmin(t, nil)
	cases := []struct {
		reason     string
		partitions int32
		configs    []string
	}{
		{"Connect's configurations stop it when they are not compacted", 1, []string{"cleanup.policy", "compact"}},
		{"Connect's offsets", 25, []string{"cleanup.policy", "compact"}},
		{"Streams' repartition topics live until they are deleted from", 4, []string{"cleanup.policy", "delete", "message.timestamp.type", "CreateTime", "retention.ms", "-1", "segment.bytes", "52428800"}},
		{"Streams' windowed store keeps ten years", 4, []string{"cleanup.policy", "compact,delete", "message.timestamp.type", "CreateTime", "retention.ms", "315446400000"}},
		{"Streams' store", 4, []string{"cleanup.policy", "compact", "message.timestamp.type", "CreateTime"}},
		{"MirrorMaker's copy", 3, []string{"cleanup.policy", "delete", "retention.ms", "86400123"}},
		{"Apicurio's journal", 1, []string{"min.insync.replicas", "1"}},
		{"min.insync.replicas above the brokers is kept, as in Kafka", 1, []string{"min.insync.replicas", "2"}},
		{"flush.messages means nothing here and is kept", 1, []string{"flush.messages", "1", "flush.ms", "100"}},
		{"a value that is the default is an override all the same", 1, []string{"cleanup.policy", "delete", "compression.type", "producer"}},
		{"retention by size", 2, []string{"retention.bytes", "1000000", "max.message.bytes", "2000000"}},
	}
	for i, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			name := "asked-" + string(rune('a'+i))
			want := map[string]string{}
			for j := 0; j < len(c.configs); j += 2 {
				want[c.configs[j]] = c.configs[j+1]
			}
			for _, validateOnly := range []bool{true, false} {
				row := f.create(7, validateOnly, creatable(name, c.partitions, 1, c.configs...))[0]
				if row.ErrorCode != 0 {
					t.Fatalf("validate only %v: %+v", validateOnly, row)
				}
				reported := map[string]string{}
				for _, config := range row.Configs {
					if config.ConfigSource == sourceTopic {
						reported[config.Name] = config.Value.S
					}
				}
				if !maps.Equal(reported, want) {
					t.Errorf("validate only %v: reported as set on the topic %v, want %v", validateOnly, reported, want)
				}
				if f.has(name) == validateOnly {
					t.Errorf("validate only %v: made %v", validateOnly, f.has(name))
				}
			}
			topic, err := f.b.Topic(context.Background(), name)
			if err != nil {
				t.Fatal(err)
			}
			if got := topic.Config.Overrides(); !maps.Equal(got, want) || topic.Partitions != c.partitions {
				t.Errorf("kept %v with %d partitions, want %v", got, topic.Partitions, want)
			}
		})
	}
}

func TestCreateTopicsReportsBrokerWideValues(t *testing.T) {
	t.Parallel()
	f := newAdmin(t, func(_ *Config, b *bridge.Config) {
		b.TopicDefaults = map[string]string{"retention.ms": "5000", "max.message.bytes": "77777"}
	})
	for _, validateOnly := range []bool{true, false} {
		row := f.create(7, validateOnly, creatable("some", 1, 1, "max.message.bytes", "88888"))[0]
		got := map[string]generated.CreateTopicsResponseCreatableTopicConfigs{}
		for _, config := range row.Configs {
			got[config.Name] = config
		}
		if c := got["retention.ms"]; c.Value.S != "5000" || c.ConfigSource != sourceStaticBroker {
			t.Errorf("validate only %v: the broker's own default: %+v", validateOnly, c)
		}
		if c := got["max.message.bytes"]; c.Value.S != "88888" || c.ConfigSource != sourceTopic {
			t.Errorf("validate only %v: above the broker's default: %+v", validateOnly, c)
		}
		if c := got["segment.ms"]; c.Value.S != "604800000" || c.ConfigSource != sourceDefault || c.ReadOnly || c.IsSensitive {
			t.Errorf("validate only %v: Kafka's default: %+v", validateOnly, c)
		}
	}
}

func TestCreateTopicsRefusals(t *testing.T) {
	t.Parallel()
	f := newAdmin(t, func(c *Config, _ *bridge.Config) { c.NodeID = 5 })
	f.mustCreate("there", 1)
	assigned := func(name string, brokers ...int32) generated.CreateTopicsRequestCreatableTopic {
		c := creatable(name, -1, -1)
		c.Assignments = []generated.CreateTopicsRequestCreatableReplicaAssignment{{BrokerIds: brokers}}
		return c
	}
	null := creatable("new", 1, 1)
	null.Configs = []generated.CreateTopicsRequestCreatableTopicConfig{{Name: "cleanup.policy"}}
	cases := []struct {
		reason  string
		topic   generated.CreateTopicsRequestCreatableTopic
		code    int16
		message string
	}{
		{"existing", creatable("there", 1, 1), 36, "Topic 'there' already exists."},
		{"existing weighs more than bad numbers", creatable("there", 0, 9), 36, "already exists"},
		{"no partitions", creatable("new", 0, 1), 37, "non-positive"},
		{"fewer than no partitions", creatable("new", -2, 1), 37, "non-positive"},
		{"no replicas", creatable("new", 1, 0), 38, "larger than 0"},
		{"more replicas than bridges says so", creatable("new", 1, 5), 38, "only 1 broker(s) are registered"},
		{"a configuration that nobody knows", creatable("new", 1, 1, "prefix", "x"), 40, "Unknown topic config name: prefix"},
		{"a number that is none", creatable("new", 1, 1, "retention.ms", "abc"), 40, "retention.ms"},
		{"a segment below Kafka's least", creatable("new", 1, 1, "segment.bytes", "1000"), 40, "at least 1048576"},
		{"a null value", null, 40, "Null value not supported"},
		{"configurations that exclude one another", creatable("new", 1, 1, "min.compaction.lag.ms", "9", "max.compaction.lag.ms", "5"), 40, "conflict"},
		{"tiered storage", creatable("new", 1, 1, "remote.storage.enable", "true"), 40, "Tiered Storage"},
		{"a forbidden name", creatable("a b", 1, 1), 17, "Topic name is invalid"},
		{"a name that Kafka keeps for itself", creatable("__transaction_state", 1, 1), 42, "prohibited"},
		{"the name of the bridge's own stream", creatable(bridge.DefaultStateStream, 1, 1), 42, "prohibited"},
		{"assigned to a broker that there is not", assigned("new", 1), 39, "includes broker 1"},
		{"assigned to one broker twice", assigned("new", 5, 5), 39, "more than once"},
		{"assigned to no broker", assigned("new"), 39, "empty replica list"},
		{"a million partitions", creatable("new", 1_000_000, 1), 44, "Excessively large"},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			for version := int16(2); version <= 7; version++ {
				for _, validateOnly := range []bool{true, false} {
					row := f.create(version, validateOnly, c.topic)[0]
					if row.ErrorCode != c.code || !strings.Contains(row.ErrorMessage.S, c.message) {
						t.Errorf("v%d, validate only %v: %d %q, want %d", version, validateOnly, row.ErrorCode, row.ErrorMessage.S, c.code)
					}
					if row.NumPartitions != -1 || row.ReplicationFactor != -1 || len(row.Configs) != 0 || !row.TopicId.IsZero() {
						if version >= 7 {
							t.Errorf("v%d: a topic that is not made has %+v", version, row)
						}
					}
				}
			}
			if c.topic.Name != "there" && f.has(c.topic.Name) {
				t.Error("it was made")
			}
		})
	}
	t.Run("assigned to this bridge", func(t *testing.T) {
		if row := f.create(7, false, assigned("placed", 5))[0]; row.ErrorCode != 0 || row.NumPartitions != 1 {
			t.Errorf("%+v", row)
		}
	})
	t.Run("one name twice makes neither and hinders no other", func(t *testing.T) {
		rows := f.create(7, false, creatable("twice", 1, 1), creatable("other", 1, 1), creatable("twice", 2, 1))
		if len(rows) != 2 || rows[0].ErrorCode != 42 || rows[1].ErrorCode != 0 || f.has("twice") || !f.has("other") {
			t.Errorf("%+v", rows)
		}
	})
}

func TestCreateTopicsInTime(t *testing.T) {
	t.Parallel()
	f := newAdmin(t, nil)
	for _, timeout := range []int32{0, -1} {
		req := generated.DefaultCreateTopicsRequest()
		req.Topics = []generated.CreateTopicsRequestCreatableTopic{creatable("late", 1, 1)}
		req.TimeoutMs = timeout
		answer, err := f.ask(generated.KeyCreateTopics, 7, &req)
		if err != nil {
			t.Fatal(err)
		}
		if row := answer.(*generated.CreateTopicsResponse).Topics[0]; row.ErrorCode != errorcode.RequestTimedOut || f.has("late") {
			t.Errorf("timeout %d: %+v, made %v", timeout, row, f.has("late"))
		}
		req.Topics = append(req.Topics, req.Topics[0])
		if answer, err = f.ask(generated.KeyCreateTopics, 7, &req); err != nil {
			t.Fatal(err)
		}
		if rows := answer.(*generated.CreateTopicsResponse).Topics; len(rows) != 1 || rows[0].ErrorCode != errorcode.InvalidRequest {
			t.Errorf("timeout %d and nothing to do: %+v, want 42 once", timeout, rows)
		}
	}
}

func TestCreateAndDeleteTopicsWhileIggyIsAway(t *testing.T) {
	t.Parallel()
	f := newAdminAt(t, bridge.Config{Address: nowhere(t), Username: "iggy", Password: "iggy"}, nil)
	away := bridge.ErrorCodeIn(bridge.ScopeAdmin, bridge.ErrUnavailable)
	for _, validateOnly := range []bool{true, false} {
		if row := f.create(7, validateOnly, creatable("new", 1, 1))[0]; row.ErrorCode != away || !row.ErrorMessage.Valid {
			t.Errorf("create, validate only %v: %+v, want %d with a reason", validateOnly, row, away)
		}
	}
	rows := f.remove(6, named("new"), generated.DeleteTopicsRequestDeleteTopicState{TopicId: wire.UUID{1}})
	for _, row := range rows {
		if row.ErrorCode != away || !row.ErrorMessage.Valid {
			t.Errorf("delete: %+v, want %d with a reason", row, away)
		}
	}
}
