package handlers

import (
	"bufio"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/wire"
)

// adminExchange is a request and its answer, recorded from a real Kafka 4.4.0
// (testdata/kafka-answers/README.md).
type adminExchange struct {
	Why      string
	API      string
	APIKey   int16
	Version  int16
	Request  string
	Response string

	request, response generated.Message
}

// recorded reads the exchanges of a file that are sound requests with sound
// answers, in a version that exists.
func recorded(t *testing.T, file string) []adminExchange {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "testdata", "kafka-answers", file+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}()
	var list []adminExchange
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e adminExchange
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		if e.decode() {
			list = append(list, e)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if len(list) < 10 {
		t.Fatalf("%s has only %d exchanges that can be read", file, len(list))
	}
	return list
}

func (e *adminExchange) decode() bool {
	api, ok := generated.LookupAPI(e.APIKey)
	req, err1 := hex.DecodeString(e.Request)
	resp, err2 := hex.DecodeString(e.Response) // "closed" and "none" are no hex
	if !ok || err1 != nil || err2 != nil || len(req) == 0 || len(resp) == 0 || !api.Has(e.Version) {
		return false
	}
	var reqHeader generated.RequestHeader
	var respHeader generated.ResponseHeader
	body, err := reqHeader.Decode(api.RequestHeaderVersion(e.Version), req)
	if err != nil {
		return false
	}
	e.request = api.NewRequest()
	if _, err := e.request.Decode(e.Version, body); err != nil {
		return false
	}
	if body, err = respHeader.Decode(api.ResponseHeaderVersion(e.Version), resp); err != nil {
		return false
	}
	e.response = api.NewResponse()
	_, err = e.response.Decode(e.Version, body)
	return err == nil
}

// replay brings topics into the state in which the broker must have been, asks,
// and compares.
type replay struct {
	*adminFixture
	names  map[wire.UUID]string // recorded topic ids
	latest map[string]wire.UUID // the last recorded id of a name
	ids    map[string]wire.UUID // present ids, also of topics that are gone
}

func newReplay(t *testing.T) *replay {
	return &replay{adminFixture: newAdmin(t, nil), names: map[wire.UUID]string{}, latest: map[string]wire.UUID{}, ids: map[string]wire.UUID{}}
}

// madeUp is an id that the recording broker never had.
const madeUp = "AbCdEfGhIjKlMnOpQrStUw"

func (r *replay) learn(name string, id wire.UUID) {
	if !id.IsZero() && id.String() != madeUp {
		r.names[id], r.latest[name] = name, id
	}
}

// exist makes sure that there is, or is not, a topic of that name.
func (r *replay) exist(name string, want bool, partitions int32) {
	r.t.Helper()
	topic, err := r.b.Topic(context.Background(), name)
	switch {
	case want && errors.Is(err, bridge.ErrTopicNotFound):
		r.ids[name] = r.mustCreate(name, partitions)
	case !want && err == nil:
		r.drop(name)
	case err == nil:
		r.ids[name] = topic.ID
	case !errors.Is(err, bridge.ErrTopicNotFound):
		r.t.Fatal(err)
	}
}

// ours is the present id for a recorded one.
func (r *replay) ours(id wire.UUID) wire.UUID {
	if name, ok := r.names[id]; ok {
		return r.ids[name]
	}
	return id
}

// theirs is the recorded id for a present one.
func (r *replay) theirs(id wire.UUID) wire.UUID {
	for name, present := range r.ids {
		if recorded, ok := r.latest[name]; ok && present == id {
			return recorded
		}
	}
	return id
}

func (r *replay) compare(t *testing.T, want, got generated.Message) {
	t.Helper()
	if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(wire.RawTags{})); diff != "" {
		t.Errorf("Kafka answered otherwise (-Kafka +bridge):\n%s", diff)
	}
}

func TestReplayMetadata(t *testing.T) {
	t.Parallel()
	differs := map[string]string{
		"internal topics":                   "the bridge's own topics are not shown",
		"zero id and null name, version 12": "Kafka fails with -1, the bridge says what is wrong",
		"zero id and null name, version 13": "Kafka fails with -1, the bridge says what is wrong",
	}
	for _, file := range []string{"metadata", "metadata-ids"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			r := newReplay(t)
			for _, e := range recorded(t, file) {
				if _, known := differs[e.Why]; known {
					continue
				}
				r.metadataExchange(t, e)
			}
		})
	}
}

func (r *replay) metadataExchange(t *testing.T, e adminExchange) {
	req, want := e.request.(*generated.MetadataRequest), e.response.(*generated.MetadataResponse)
	want.Topics = slices.DeleteFunc(want.Topics, func(row generated.MetadataResponseTopic) bool {
		return strings.HasPrefix(row.Name.S, "__") && row.ErrorCode == 0
	})
	for i := range want.Topics {
		row := &want.Topics[i]
		switch {
		case row.Name.S != "" && row.ErrorCode == 0:
			r.exist(row.Name.S, true, int32(len(row.Partitions)))
			r.learn(row.Name.S, row.TopicId)
		case row.ErrorCode == 3:
			r.exist(row.Name.S, false, 0)
		case row.ErrorCode == 100 && r.names[row.TopicId] != "":
			r.exist(r.names[row.TopicId], false, 0)
		}
	}
	for i := range req.Topics {
		req.Topics[i].TopicId = r.ours(req.Topics[i].TopicId)
	}
	t.Run(e.Why, func(t *testing.T) {
		answer, err := r.ask(e.APIKey, e.Version, req)
		if err != nil {
			t.Fatal(err)
		}
		got := answer.(*generated.MetadataResponse)
		if len(want.Brokers) > 0 {
			want.Brokers[0].Host, want.Brokers[0].Port = r.h.config.Host, r.h.config.Port
		}
		if want.ClusterId.Valid && got.ClusterId.Valid && len(got.ClusterId.S) == len(want.ClusterId.S) {
			want.ClusterId = got.ClusterId
		}
		byName := func(a, b generated.MetadataResponseTopic) int {
			return cmp.Or(cmp.Compare(a.Name.S, b.Name.S), strings.Compare(a.TopicId.String(), b.TopicId.String()))
		}
		for i := range got.Topics {
			row := &got.Topics[i]
			row.TopicId = r.theirs(row.TopicId)
			slices.SortFunc(row.Partitions, func(a, b generated.MetadataResponsePartition) int {
				return cmp.Compare(a.PartitionIndex, b.PartitionIndex)
			})
		}
		for i := range want.Topics {
			row := &want.Topics[i]
			slices.SortFunc(row.Partitions, func(a, b generated.MetadataResponsePartition) int {
				return cmp.Compare(a.PartitionIndex, b.PartitionIndex)
			})
		}
		slices.SortFunc(got.Topics, byName)
		slices.SortFunc(want.Topics, byName)
		if strings.HasSuffix(e.Why, "first answer") {
			// Kafka creates topics behind the answer, the bridge before it.
			acceptCreated(t, want, got)
		}
		r.compare(t, want, got)
	})
}

// acceptCreated takes a topic that is there already for one that is being made.
func acceptCreated(t *testing.T, want, got *generated.MetadataResponse) {
	for i := range want.Topics {
		if i >= len(got.Topics) || want.Topics[i].ErrorCode != 3 {
			continue
		}
		if row := &got.Topics[i]; row.ErrorCode != 0 || len(row.Partitions) != 1 {
			t.Errorf("topic %s is not there: %+v", row.Name.S, row)
		}
		got.Topics[i] = want.Topics[i]
	}
}

func TestReplayCreateTopics(t *testing.T) {
	t.Parallel()
	differs := map[string]string{
		"__consumer_offsets, validate only": "36 in Kafka, where it exists; here it is prohibited",
	}
	otherWords := map[string]string{
		"compression.gzip.level='0'":                  "Kafka tells of the -1 as well",
		"compression.gzip.level='10'":                 "Kafka tells of the -1 as well",
		"remote.storage.enable='true'":                "Kafka ends with a full stop",
		"follower.replication.throttled.replicas='x'": "Kafka shows the value as a list",
		"two bad ones":                                "Kafka names the one that its hash table has first",
	}
	for _, file := range []string{"create-topics", "create-topics-configs"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			r := newReplay(t)
			for _, e := range recorded(t, file) {
				if _, known := differs[e.Why]; known {
					continue
				}
				_, reworded := otherWords[e.Why]
				r.createExchange(t, e, reworded)
			}
		})
	}
}

func (r *replay) createExchange(t *testing.T, e adminExchange, reworded bool) {
	req, want := e.request.(*generated.CreateTopicsRequest), e.response.(*generated.CreateTopicsResponse)
	for _, row := range want.Topics {
		if bridge.CheckTopicName(row.Name) == nil && !bridge.IsReservedTopic(row.Name) {
			r.exist(row.Name, row.ErrorCode == 36, 1)
		}
		if _, other, collides := strings.Cut(row.ErrorMessage.S, "collides with existing topic: "); collides {
			r.exist(other, true, 1)
		}
	}
	t.Run(e.Why, func(t *testing.T) {
		answer, err := r.ask(e.APIKey, e.Version, req)
		if err != nil {
			t.Fatal(err)
		}
		got := answer.(*generated.CreateTopicsResponse)
		byName := func(a, b generated.CreateTopicsResponseCreatableTopicResult) int { return cmp.Compare(a.Name, b.Name) }
		slices.SortFunc(got.Topics, byName)
		slices.SortFunc(want.Topics, byName)
		for i := range want.Topics {
			if i >= len(got.Topics) {
				break
			}
			w, g := &want.Topics[i], &got.Topics[i]
			if w.ErrorCode == 0 && e.Version >= 7 {
				if g.TopicId.IsZero() != req.ValidateOnly {
					t.Errorf("topic id %v, validate only %v", g.TopicId, req.ValidateOnly)
				}
				w.TopicId = g.TopicId
			}
			// With one bridge there is nothing else to say of why 2 replicas cannot be.
			w.ErrorMessage.S = strings.Replace(w.ErrorMessage.S, " or some brokers have all their log directories cordoned", "", 1)
			if reworded && w.ErrorMessage.S != "" && g.ErrorMessage.S != "" {
				w.ErrorMessage = g.ErrorMessage
			}
			for j := range w.Configs {
				c := &w.Configs[j]
				if c.Name == bridge.ConfigMinInsyncReplicas && c.ConfigSource == 3 {
					c.ConfigSource = sourceDefault // set by a feature that the bridge lacks
				}
				c.Value.S = strings.TrimSpace(c.Value.S)
			}
		}
		r.compare(t, want, got)
	})
}

func TestReplayDeleteTopics(t *testing.T) {
	t.Parallel()
	r := newReplay(t)
	for _, e := range recorded(t, "delete-topics") {
		r.deleteExchange(t, e)
	}
}

func (r *replay) deleteExchange(t *testing.T, e adminExchange) {
	req, want := e.request.(*generated.DeleteTopicsRequest), e.response.(*generated.DeleteTopicsResponse)
	for _, row := range want.Responses {
		if row.Name.S != "" && bridge.CheckTopicName(row.Name.S) == nil {
			r.exist(row.Name.S, row.ErrorCode != 3, 1)
			r.learn(row.Name.S, row.TopicId)
		}
	}
	for i := range req.Topics {
		req.Topics[i].TopicId = r.ours(req.Topics[i].TopicId)
	}
	t.Run(e.Why, func(t *testing.T) {
		answer, err := r.ask(e.APIKey, e.Version, req)
		if err != nil {
			t.Fatal(err)
		}
		got := answer.(*generated.DeleteTopicsResponse)
		for i := range got.Responses {
			got.Responses[i].TopicId = r.theirs(got.Responses[i].TopicId)
		}
		byName := func(a, b generated.DeleteTopicsResponseDeletableTopicResult) int {
			return cmp.Or(cmp.Compare(a.Name.S, b.Name.S), strings.Compare(a.TopicId.String(), b.TopicId.String()))
		}
		slices.SortFunc(got.Responses, byName)
		slices.SortFunc(want.Responses, byName)
		r.compare(t, want, got)
		for _, row := range want.Responses {
			if row.ErrorCode == 0 && r.has(row.Name.S) {
				t.Errorf("topic %s is still there", row.Name.S)
			}
		}
	})
}

func TestReplayApiVersions(t *testing.T) {
	t.Parallel()
	r := newReplay(t)
	for _, e := range recorded(t, "api-versions") {
		t.Run(e.Why, func(t *testing.T) {
			want := e.response.(*generated.ApiVersionsResponse)
			answer, err := r.ask(e.APIKey, e.Version, e.request)
			if err != nil {
				t.Fatal(err)
			}
			got := answer.(*generated.ApiVersionsResponse)
			if (len(got.ApiKeys) == 0) != (len(want.ApiKeys) == 0) || (got.FinalizedFeaturesEpoch == -1) != (want.FinalizedFeaturesEpoch == -1) {
				t.Errorf("%d keys and epoch %d, Kafka %d and %d", len(got.ApiKeys), got.FinalizedFeaturesEpoch, len(want.ApiKeys), want.FinalizedFeaturesEpoch)
			}
			// What is advertised is a part of what Kafka advertises.
			want.FinalizedFeaturesEpoch = got.FinalizedFeaturesEpoch
			want.ApiKeys = slices.DeleteFunc(want.ApiKeys, func(row generated.ApiVersionsResponseApiVersion) bool {
				_, served := routes[row.ApiKey]
				return !served
			})
			own := func(name string) bool {
				return slices.ContainsFunc(features, func(f feature) bool { return f.name == name })
			}
			want.SupportedFeatures = slices.DeleteFunc(want.SupportedFeatures, func(f generated.ApiVersionsResponseSupportedFeatureKey) bool { return !own(f.Name) })
			want.FinalizedFeatures = slices.DeleteFunc(want.FinalizedFeatures, func(f generated.ApiVersionsResponseFinalizedFeatureKey) bool { return !own(f.Name) })
			// Kafka's order is that of a hash map.
			for _, list := range [][]generated.ApiVersionsResponseFinalizedFeatureKey{want.FinalizedFeatures, got.FinalizedFeatures} {
				slices.SortFunc(list, func(a, b generated.ApiVersionsResponseFinalizedFeatureKey) int {
					return strings.Compare(a.Name, b.Name)
				})
			}
			for _, list := range [][]generated.ApiVersionsResponseSupportedFeatureKey{want.SupportedFeatures, got.SupportedFeatures} {
				slices.SortFunc(list, func(a, b generated.ApiVersionsResponseSupportedFeatureKey) int {
					return strings.Compare(a.Name, b.Name)
				})
			}
			r.compare(t, want, got)
		})
	}
}
