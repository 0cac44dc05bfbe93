package sample

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/wire"
)

// legal is what Kafka takes as a topic's name.
var legal = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

// TestSendableRequests looks at every request: one element per array at most,
// nothing tagged, no long waits, no legal topic's name broken.
func TestSendableRequests(t *testing.T) {
	t.Parallel()
	for _, s := range generated.Schemas() {
		if s.Type != "request" {
			continue
		}
		for v := s.Min; v <= s.Max; v++ {
			m, _ := generated.NewMessage(s.Name)
			if err := Fill(m, v, NewRand(3, uint64(v)), Options{Sendable: true, UnknownTags: true}); err != nil {
				t.Fatal(err)
			}
			checkSendable(t, s.Root, reflect.ValueOf(m).Elem(), v, s.Name)
		}
	}
}

func checkSendable(t *testing.T, s *wire.Struct, v reflect.Value, version int16, path string) {
	t.Helper()
	for _, slot := range s.Layout(version) {
		f, name := v.Field(slot.Index), path+"."+slot.Field.Name
		switch {
		case slot.Field.Array:
			if f.Len() > 1 {
				t.Errorf("%s v%d: %d elements", name, version, f.Len())
			}
			for i := range f.Len() {
				switch e := f.Index(i); {
				case slot.Field.Struct != nil:
					checkSendable(t, slot.Field.Struct, e, version, name)
				case e.Kind() == reflect.String && !legal.MatchString(e.String()):
					t.Errorf("%s v%d: holds the name %q", name, version, e.String())
				case e.CanInt() && (e.Int() < 0 || e.Int() > 2) && e.Int() != nobody:
					t.Errorf("%s v%d: holds the number %d", name, version, e.Int())
				}
			}
		case strings.HasSuffix(slot.Field.Name, "WaitMs") && f.Int() > 1000:
			t.Errorf("%s v%d: waits for %d ms", name, version, f.Int())
		case strings.EqualFold(slot.Field.Name, "validateOnly") && !f.Bool():
			t.Errorf("%s v%d: would change something", name, version)
		case slot.Field.Name == "Acks" && f.Int() != -1:
			t.Errorf("%s v%d: acks of %d", name, version, f.Int())
		case namesTopic(s, slot.Field.Name) && f.Kind() == reflect.String && !legal.MatchString(f.String()):
			t.Errorf("%s v%d: %q is no name of a topic", name, version, f.String())
		case slot.Field.Kind == wire.KindStruct && f.Kind() == reflect.Struct:
			checkSendable(t, slot.Field.Struct, f, version, name)
		}
	}
}

func TestSendableTopics(t *testing.T) {
	t.Parallel()
	fetch := generated.DefaultFetchRequest()
	if err := Fill(&fetch, 4, NewRand(1, 1), Options{Sendable: true, Topic: "orders"}); err != nil {
		t.Fatal(err)
	}
	if got := fetch.Topics[0].Topic; got != "orders" {
		t.Errorf("Fetch names %q, want the topic asked for", got)
	}
	remove := generated.DefaultDeleteTopicsRequest()
	if err := Fill(&remove, 1, NewRand(1, 1), Options{Sendable: true, Topic: "orders"}); err != nil {
		t.Fatal(err)
	}
	if got := remove.TopicNames[0]; !strings.HasPrefix(got, "kafka-tool-absent-") {
		t.Errorf("DeleteTopics names %q, want one that is not there", got)
	}
	filter := generated.DefaultDeleteAclsRequest()
	if err := Fill(&filter, 3, NewRand(1, 1), Options{Sendable: true}); err != nil {
		t.Fatal(err)
	}
	if !filter.Filters[0].ResourceNameFilter.Valid || !filter.Filters[0].PrincipalFilter.Valid {
		t.Errorf("DeleteAcls filters by %+v, which is not one resource and principal", filter.Filters[0])
	}
}

// TestSendableMetadata: a topic is named only where that does not create it.
func TestSendableMetadata(t *testing.T) {
	t.Parallel()
	for version := int16(0); version <= 13; version++ {
		m := generated.DefaultMetadataRequest()
		if err := Fill(&m, version, NewRand(1, 1), Options{Sendable: true}); err != nil {
			t.Fatal(err)
		}
		if named := len(m.Topics) > 0; named != (version >= 4) || named && m.AllowAutoTopicCreation {
			t.Errorf("v%d: %+v", version, m)
		}
	}
}

// TestSendableProduce: a broker takes the batch.
func TestSendableProduce(t *testing.T) {
	t.Parallel()
	for version := int16(3); version <= 13; version++ {
		for seed := range uint64(10) {
			m := generated.DefaultProduceRequest()
			if err := Fill(&m, version, NewRand(seed, 0), Options{Sendable: true}); err != nil {
				t.Fatal(err)
			}
			b, rest, err := records.Parse(m.TopicData[0].PartitionData[0].Records)
			if err != nil || len(rest) > 0 {
				t.Fatalf("v%d: %d bytes behind the batch: %v", version, len(rest), err)
			}
			if err := b.VerifyCRC(); err != nil {
				t.Errorf("v%d: %v", version, err)
			}
			if b.BaseOffset != 0 || b.LastOffsetDelta != b.Count-1 || b.Codec() == records.CodecZstd || b.IsControl() || b.HasProducer() {
				t.Errorf("v%d: no producer sends %+v", version, b)
			}
		}
	}
}
