package handlers

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/wire"
)

func topicNames(resp *generated.MetadataResponse) []string {
	var names []string
	for _, t := range resp.Topics {
		names = append(names, t.Name.S)
	}
	return names
}

func allTopics(req *generated.MetadataRequest) { req.Topics = nil }

func noCreation(req *generated.MetadataRequest) { req.AllowAutoTopicCreation = false }

func TestMetadataNullAndEmptyListsOfTopics(t *testing.T) {
	t.Parallel()
	f := newAdmin(t, nil)
	f.mustCreate("one", 1)
	f.mustCreate("two", 2)
	for version := int16(0); version <= 13; version++ {
		cases := []struct {
			reason string
			topics []generated.MetadataRequestTopic
			want   []string
		}{
			{"null means all", nil, []string{"one", "two"}},
			{"an empty list means none", []generated.MetadataRequestTopic{}, nil},
		}
		if version == 0 {
			cases = cases[1:]
			cases[0].reason, cases[0].want = "an empty list means all before null existed", []string{"one", "two"}
		}
		for _, c := range cases {
			t.Run(fmt.Sprintf("v%d: %s", version, c.reason), func(t *testing.T) {
				resp := f.metadata(version, func(req *generated.MetadataRequest) { req.Topics = c.topics })
				if got := topicNames(resp); !slices.Equal(got, c.want) {
					t.Errorf("topics %v, want %v", got, c.want)
				}
				if len(resp.Brokers) != 1 {
					t.Errorf("brokers %+v", resp.Brokers)
				}
				if version >= 2 && (!resp.ClusterId.Valid || len(resp.ClusterId.S) != 22) {
					t.Errorf("cluster id %+v", resp.ClusterId)
				}
			})
		}
	}
}

func TestMetadataIdsAreThoseOfBrokersInTheList(t *testing.T) {
	t.Parallel()
	f := newAdmin(t, func(c *Config, _ *bridge.Config) { c.NodeID, c.Host, c.Port = 7, "advertised.example", 12345 })
	f.mustCreate("there", 3)
	for version := int16(0); version <= 13; version++ {
		resp := f.metadata(version, nil, "there")
		b := resp.Brokers[0]
		if len(resp.Brokers) != 1 || b.NodeId != 7 || b.Host != "advertised.example" || b.Port != 12345 || b.Rack.Valid {
			t.Errorf("v%d: brokers %+v", version, resp.Brokers)
		}
		if version >= 1 && resp.ControllerId != 7 {
			t.Errorf("v%d: controller %d", version, resp.ControllerId)
		}
		if len(resp.Topics[0].Partitions) != 3 {
			t.Fatalf("v%d: %+v", version, resp.Topics[0])
		}
		for i, p := range resp.Topics[0].Partitions {
			here := []int32{7}
			if p.PartitionIndex != int32(i) || p.LeaderId != 7 || !slices.Equal(p.ReplicaNodes, here) || !slices.Equal(p.IsrNodes, here) || len(p.OfflineReplicas) != 0 {
				t.Errorf("v%d: partition %+v", version, p)
			}
			if version >= 7 && p.LeaderEpoch != 0 {
				t.Errorf("v%d: leader epoch %d", version, p.LeaderEpoch)
			}
		}
	}
}

func TestMetadataAutoCreation(t *testing.T) {
	t.Parallel()
	allowed := newAdmin(t, func(c *Config, _ *bridge.Config) { c.DefaultPartitions = 3 })
	forbidden := newAdmin(t, func(c *Config, _ *bridge.Config) { c.AutoCreate = false })
	allowed.mustCreate("there.is", 1)
	cases := []struct {
		reason  string
		f       *adminFixture
		version int16
		change  func(*generated.MetadataRequest)
		name    string
		code    int16
		made    bool
	}{
		{"version 0 has no flag and creates", allowed, 0, nil, "v0", 0, true},
		{"version 3 has no flag and creates", allowed, 3, nil, "v3", 0, true},
		{"version 4 with the flag creates", allowed, 4, nil, "v4", 0, true},
		{"version 13 with the flag creates", allowed, 13, nil, "v13", 0, true},
		{"version 4 without the flag does not", allowed, 4, noCreation, "n4", 3, false},
		{"version 13 without the flag does not", allowed, 13, noCreation, "n13", 3, false},
		{"the configuration is above the flag", forbidden, 13, nil, "f13", 3, false},
		{"the configuration is above old versions", forbidden, 1, nil, "f1", 3, false},
		{"empty name", allowed, 12, nil, "", 17, false},
		{"one dot", allowed, 12, nil, ".", 17, false},
		{"two dots", allowed, 12, nil, "..", 17, false},
		{"a space", allowed, 12, nil, "a b", 17, false},
		{"a letter beyond ASCII", allowed, 12, nil, "é", 17, false},
		{"bytes that are no UTF-8", allowed, 12, nil, "a\xffb", 17, false},
		{"250 characters", allowed, 12, nil, strings.Repeat("x", 250), 17, false},
		{"249 characters are allowed", allowed, 12, nil, strings.Repeat("x", 249), 0, true},
		{"differs from a topic in . and _ alone", allowed, 12, nil, "there_is", 3, false},
		{"Kafka's own topic of offsets", allowed, 12, nil, "__consumer_offsets", 3, false},
		{"Kafka's own topic of transactions", allowed, 12, nil, "__transaction_state", 3, false},
		{"the bridge's own stream", allowed, 12, nil, bridge.DefaultStateStream, 3, false},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			row := c.f.metadata(c.version, c.change, c.name).Topics[0]
			if row.ErrorCode != c.code || row.Name.S != c.name {
				t.Errorf("code %d for %q, want %d", row.ErrorCode, row.Name.S, c.code)
			}
			if c.made && len(row.Partitions) != 3 {
				t.Errorf("%d partitions", len(row.Partitions))
			}
			if c.f.has(c.name) != c.made {
				t.Errorf("made: %v", !c.made)
			}
		})
	}
	t.Run("asking for all creates nothing", func(t *testing.T) {
		before := topicNames(allowed.metadata(12, allTopics))
		if len(before) < 5 {
			t.Errorf("topics %v", before)
		}
		if after := topicNames(allowed.metadata(12, allTopics)); !slices.Equal(before, after) {
			t.Errorf("%v, then %v", before, after)
		}
	})
}

func TestMetadataFiftyCallersMakeOneTopic(t *testing.T) {
	t.Parallel()
	f := newAdmin(t, nil)
	const callers = 50
	rows := make([]generated.MetadataResponseTopic, callers)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() { rows[i] = f.metadata(12, nil, "raced").Topics[0] })
	}
	wg.Wait()
	var id wire.UUID
	for _, row := range rows {
		switch row.ErrorCode {
		case 0:
			if id.IsZero() {
				id = row.TopicId
			}
			if row.TopicId != id || len(row.Partitions) != 1 {
				t.Errorf("another topic: %+v", row)
			}
		case errorcode.UnknownTopicOrPartition, errorcode.LeaderNotAvailable:
		default:
			t.Errorf("code %d is not one to retry on", row.ErrorCode)
		}
	}
	topic, err := f.b.Topic(context.Background(), "raced")
	if err != nil || topic.ID != id {
		t.Errorf("topic %+v, %v; want id %v", topic, err, id)
	}
}

func byID(id wire.UUID) func(*generated.MetadataRequest) {
	return func(req *generated.MetadataRequest) {
		req.Topics = []generated.MetadataRequestTopic{{TopicId: id}}
	}
}

func TestMetadataByID(t *testing.T) {
	t.Parallel()
	f := newAdmin(t, nil)
	old := f.mustCreate("reborn", 1)
	f.drop("reborn")
	id := f.mustCreate("reborn", 2)
	if id == old {
		t.Fatal("a topic that was made anew has its old id")
	}
	for _, version := range []int16{10, 11} {
		resp := f.metadata(version, byID(id))
		if row := resp.Topics[0]; row.ErrorCode != errorcode.InvalidRequest || len(resp.Brokers) != 0 || row.TopicId != id {
			t.Errorf("v%d asked by id: %+v", version, resp)
		}
	}
	for _, version := range []int16{12, 13} {
		if row := f.metadata(version, byID(id)).Topics[0]; row.ErrorCode != 0 || row.Name != wire.String("reborn") || row.TopicId != id || len(row.Partitions) != 2 {
			t.Errorf("v%d, known id: %+v", version, row)
		}
		if row := f.metadata(version, byID(old)).Topics[0]; row.ErrorCode != errorcode.UnknownTopicID || row.Name.Valid || row.TopicId != old {
			t.Errorf("v%d, id of the topic before: %+v", version, row)
		}
		if resp := f.metadata(version, byID(wire.UUID{})); resp.Topics[0].ErrorCode != errorcode.InvalidRequest {
			t.Errorf("v%d, neither name nor id: %+v", version, resp)
		}
	}
	user, password := f.engine.Credentials()
	other := newAdminAt(t, bridge.Config{Address: f.engine.Addr().String(), Username: user, Password: password}, nil)
	other.await(func() bool { return other.b.Health() == nil })
	if row := other.metadata(12, byID(id)).Topics[0]; row.Name != wire.String("reborn") {
		t.Errorf("another bridge knows the topic by another id: %+v", row)
	}
	if a, b := f.metadata(12, nil).ClusterId, other.metadata(12, nil).ClusterId; a != b || !a.Valid {
		t.Errorf("cluster ids %v and %v of two bridges on one Iggy", a, b)
	}
}

func TestMetadataAuthorizedOperations(t *testing.T) {
	t.Parallel()
	f := newAdmin(t, nil)
	f.mustCreate("there", 1)
	for version := int16(8); version <= 13; version++ {
		plain := f.metadata(version, noCreation, "there", "missing")
		asked := f.metadata(version, func(req *generated.MetadataRequest) {
			noCreation(req)
			req.IncludeTopicAuthorizedOperations = true
			req.IncludeClusterAuthorizedOperations = version <= 10
		}, "there", "missing")
		for i, row := range asked.Topics {
			if row.TopicAuthorizedOperations != 3576 || plain.Topics[i].TopicAuthorizedOperations != -1<<31 {
				t.Errorf("v%d: %s: asked %d, not asked %d", version, row.Name.S, row.TopicAuthorizedOperations, plain.Topics[i].TopicAuthorizedOperations)
			}
		}
		if version <= 10 && (asked.ClusterAuthorizedOperations != 8096 || plain.ClusterAuthorizedOperations != -1<<31) {
			t.Errorf("v%d: cluster: asked %d, not asked %d", version, asked.ClusterAuthorizedOperations, plain.ClusterAuthorizedOperations)
		}
	}
}

// nowhere is an address at which nothing listens.
func nowhere(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

// mute is an address where connections are taken and nothing is ever said.
func mute(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

func TestMetadataWhileIggyIsAway(t *testing.T) {
	t.Parallel()
	for reason, address := range map[string]string{"nothing listens": nowhere(t), "it takes connections and is silent": mute(t)} {
		f := newAdminAt(t, bridge.Config{Address: address, Username: "iggy", Password: "iggy"}, nil)
		t.Run(reason, func(t *testing.T) { testMetadataWhileIggyIsAway(t, f) })
	}
}

func testMetadataWhileIggyIsAway(t *testing.T, f *adminFixture) {
	t.Run("topics asked for by name answer a code to retry on", func(t *testing.T) {
		for version := int16(0); version <= 13; version++ {
			resp := f.metadata(version, nil, "a", "b")
			for _, row := range resp.Topics {
				if row.ErrorCode != errorcode.LeaderNotAvailable || len(row.Partitions) != 0 {
					t.Errorf("v%d: %+v", version, row)
				}
			}
			if len(resp.Topics) != 2 || len(resp.Brokers) != 1 {
				t.Errorf("v%d: %+v", version, resp)
			}
		}
	})
	t.Run("bad names are bad all the same", func(t *testing.T) {
		if row := f.metadata(12, nil, "a b").Topics[0]; row.ErrorCode != errorcode.InvalidTopic {
			t.Errorf("%+v", row)
		}
	})
	t.Run("topics asked for by id answer a code to retry on", func(t *testing.T) {
		if row := f.metadata(12, byID(wire.UUID{1})).Topics[0]; row.ErrorCode != errorcode.LeaderNotAvailable {
			t.Errorf("%+v", row)
		}
	})
	t.Run("brokers alone are known", func(t *testing.T) {
		resp := f.metadata(12, nil)
		if len(resp.Brokers) != 1 || len(resp.Topics) != 0 {
			t.Errorf("%+v", resp)
		}
	})
	t.Run("all topics are not believed to be none", func(t *testing.T) {
		for _, version := range []int16{0, 1, 13} {
			req := generated.DefaultMetadataRequest()
			if req.Topics = nil; version == 0 {
				req.Topics = []generated.MetadataRequestTopic{}
			}
			if answer, err := f.ask(generated.KeyMetadata, version, &req); err == nil {
				t.Errorf("v%d: answered %+v", version, answer)
			}
		}
	})
}

func TestMetadataOfTopicsKnownBeforeIggyWentAway(t *testing.T) {
	t.Parallel()
	f := newAdmin(t, nil)
	f.mustCreate("known", 2)
	before := f.metadata(13, allTopics)
	closeWithin(t, "engine", f.engine.Close)
	f.await(func() bool { return f.b.Health() != nil })
	after := f.metadata(13, allTopics)
	if !slices.Equal(topicNames(before), []string{"known"}) || !slices.Equal(topicNames(after), topicNames(before)) || len(after.Topics[0].Partitions) != 2 {
		t.Errorf("all topics: %+v", after.Topics)
	}
	if after.ClusterId != before.ClusterId {
		t.Errorf("cluster id %v, before %v", after.ClusterId, before.ClusterId)
	}
	resp := f.metadata(13, nil, "known", "new")
	if resp.Topics[0].ErrorCode != 0 || resp.Topics[1].ErrorCode != errorcode.LeaderNotAvailable {
		t.Errorf("%+v", resp.Topics)
	}
}

func TestMetadataOfManyTopicsAllocatesLittle(t *testing.T) {
	topics := make([]*bridge.Topic, 5000)
	for i := range topics {
		topics[i] = &bridge.Topic{Name: fmt.Sprintf("topic-%d", i), Partitions: 10}
	}
	h := &Handlers{config: adminConfig()}
	allocs := testing.AllocsPerRun(3, func() {
		m := metadataRows{h: h}
		m.all(topics)
		if len(m.rows) != len(topics) || len(m.partitions) != 50_000 {
			t.Fatalf("%d rows, %d partitions", len(m.rows), len(m.partitions))
		}
	})
	if allocs > 4 {
		t.Errorf("%.0f allocations for 5,000 topics with 50,000 partitions", allocs)
	}
}
