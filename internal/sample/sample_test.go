package sample

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/wire"
)

func encoded(t *testing.T, s *wire.Schema, version int16, seed uint64, opts Options) []byte {
	t.Helper()
	m, ok := generated.NewMessage(s.Name)
	if !ok {
		t.Fatalf("no message %s", s.Name)
	}
	if err := Fill(m, version, NewRand(seed, 0), opts); err != nil {
		t.Fatalf("%s v%d: %v", s.Name, version, err)
	}
	b, err := m.Append(nil, version)
	if err != nil {
		t.Fatalf("%s v%d, seed %d: %v", s.Name, version, seed, err)
	}
	return b
}

func TestSameSeedSameMessage(t *testing.T) {
	t.Parallel()
	differ := 0
	for _, s := range generated.Schemas() {
		if s.Max < s.Min {
			continue
		}
		a := encoded(t, s, s.Max, 7, Options{UnknownTags: true})
		if !bytes.Equal(a, encoded(t, s, s.Max, 7, Options{UnknownTags: true})) {
			t.Errorf("%s: two messages of one seed differ", s.Name)
		}
		if !bytes.Equal(a, encoded(t, s, s.Max, 8, Options{UnknownTags: true})) {
			differ++
		}
	}
	if differ < len(generated.Schemas())*9/10 {
		t.Errorf("only %d of %d messages differ between seeds", differ, len(generated.Schemas()))
	}
}

func TestEverythingEncodes(t *testing.T) {
	t.Parallel()
	for _, opts := range []Options{{}, {UnknownTags: true}, {RawRecords: true}, {Elements: 1}, {Sendable: true}} {
		t.Run(fmt.Sprintf("%+v", opts), func(t *testing.T) {
			t.Parallel()
			for _, s := range generated.Schemas() {
				for v := s.Min; v <= s.Max; v++ {
					for seed := range uint64(5) {
						encoded(t, s, v, seed, opts)
					}
				}
			}
		})
	}
}

func TestNoSuchVersion(t *testing.T) {
	t.Parallel()
	m := generated.DefaultMetadataRequest()
	var e *wire.Error
	if err := Fill(&m, 99, NewRand(1, 1), Options{}); !errors.As(err, &e) {
		t.Errorf("got %v, want a *wire.Error", err)
	}
}

// seen is what a field was filled with over many seeds.
type seen struct{ null, empty, one, several, set, unset, wide, long bool }

func TestValuesCoverWhatAVersionCanHold(t *testing.T) {
	t.Parallel()
	fields, tags, lowTags := map[string]*seen{}, 0, 0
	for _, name := range []string{"MetadataResponse", "FetchRequest", "JoinGroupRequest", "ConsumerGroupHeartbeatRequest"} {
		m, _ := generated.NewMessage(name)
		s := m.Schema()
		for seed := range uint64(600) {
			if err := Fill(m, s.Max, NewRand(seed, 0), Options{UnknownTags: true}); err != nil {
				t.Fatal(err)
			}
			look(s.Root, reflect.ValueOf(m).Elem(), s.Max, name, fields, &tags, &lowTags)
		}
	}
	for name, f := range fields {
		if !f.set {
			t.Errorf("%s is never set", name)
		}
	}
	for name, want := range map[string]func(*seen) bool{
		"MetadataResponse.Topics.Name":                             func(f *seen) bool { return f.null && f.empty && f.wide && f.long },
		"MetadataResponse.Topics.Partitions.ReplicaNodes":          func(f *seen) bool { return f.empty && f.one && f.several },
		"FetchRequest.ClusterId":                                   func(f *seen) bool { return f.unset && f.set && f.wide },
		"JoinGroupRequest.Protocols.Metadata":                      func(f *seen) bool { return f.empty && f.several },
		"ConsumerGroupHeartbeatRequest.TopicPartitions":            func(f *seen) bool { return f.null && f.empty && f.one && f.several },
		"ConsumerGroupHeartbeatRequest.TopicPartitions.Partitions": func(f *seen) bool { return f.long },
		"ConsumerGroupHeartbeatRequest.SubscribedTopicNames":       func(f *seen) bool { return f.null && f.several },
		"MetadataResponse.Topics.Partitions.IsrNodes":              func(f *seen) bool { return f.empty && f.one },
		"MetadataResponse.Topics.Partitions":                       func(f *seen) bool { return f.empty && f.one && f.several },
		"MetadataResponse.Topics.TopicId":                          func(f *seen) bool { return f.set },
		"JoinGroupRequest.GroupInstanceId":                         func(f *seen) bool { return f.null && f.wide },
		"ConsumerGroupHeartbeatRequest.TopicPartitions.TopicId":    func(f *seen) bool { return f.set },
		"FetchRequest.Topics.Partitions.ReplicaDirectoryId":        func(f *seen) bool { return f.set && f.unset },
		"FetchRequest.Topics.Partitions.CurrentLeaderEpoch":        func(f *seen) bool { return f.set },
		"ConsumerGroupHeartbeatRequest.SubscribedTopicRegex":       func(f *seen) bool { return f.null && f.empty },
		"ConsumerGroupHeartbeatRequest.ServerAssignor":             func(f *seen) bool { return f.null && f.wide },
		"FetchRequest.ForgottenTopicsData":                         func(f *seen) bool { return f.empty && f.one },
		"FetchRequest.ReplicaState.ReplicaEpoch":                   func(f *seen) bool { return f.set },
	} {
		if f := fields[name]; f == nil || !want(f) {
			t.Errorf("%s was filled with %+v, which is not all", name, f)
		}
	}
	if tags == 0 || lowTags > 0 {
		t.Errorf("%d unknown tags, %d of which the schema knows or do not rise", tags, lowTags)
	}
}

// look notes what fields are filled with.
func look(s *wire.Struct, v reflect.Value, version int16, path string, fields map[string]*seen, tags, low *int) {
	next := uint32(0)
	for _, slot := range s.Layout(version) {
		if slot.Tagged {
			next = uint32(slot.Field.Tag) + 1
		}
		name := path + "." + slot.Field.Name
		f := fields[name]
		if f == nil {
			f = &seen{}
			fields[name] = f
		}
		fv := v.Field(slot.Index)
		f.note(fv)
		if slot.Field.Struct == nil {
			continue
		}
		switch fv.Kind() {
		case reflect.Slice:
			for i := range fv.Len() {
				look(slot.Field.Struct, fv.Index(i), version, name, fields, tags, low)
			}
		case reflect.Struct:
			look(slot.Field.Struct, fv, version, name, fields, tags, low)
		}
	}
	for _, tag := range v.FieldByName("UnknownTags").Interface().(wire.RawTags).All() {
		*tags++
		if tag.Tag < next {
			*low++
		}
		next = tag.Tag + 1
	}
}

func (f *seen) note(v reflect.Value) {
	n, text := -1, ""
	switch x := v.Interface().(type) {
	case wire.NullString:
		f.null = f.null || !x.Valid
		n, text = len(x.S), x.S
		if !x.Valid {
			n = -1
		}
	case string:
		n, text = len(x), x
	default:
		if v.Kind() == reflect.Slice {
			f.null = f.null || v.IsNil()
			if !v.IsNil() {
				n = v.Len()
			}
		}
	}
	f.empty = f.empty || n == 0
	f.one = f.one || n == 1
	f.several = f.several || n > 1
	f.long = f.long || n > 127
	f.wide = f.wide || utf8.RuneCountInString(text) < len(text)
	f.set = f.set || !v.IsZero()
	f.unset = f.unset || v.IsZero()
}

func TestBatchesAreSound(t *testing.T) {
	t.Parallel()
	batches, codecs := 0, map[records.Codec]bool{}
	for seed := range uint64(60) {
		m := generated.DefaultFetchResponse()
		if err := Fill(&m, 12, NewRand(seed, 0), Options{}); err != nil {
			t.Fatal(err)
		}
		for _, r := range m.Responses {
			for _, p := range r.Partitions {
				for rest := p.Records; len(rest) > 0; batches++ {
					var b records.Batch
					var err error
					if b, rest, err = records.Parse(rest); err != nil {
						t.Fatal(err)
					}
					if err := b.VerifyCRC(); err != nil {
						t.Error(err)
					}
					codecs[b.Codec()] = true
				}
			}
		}
	}
	if batches < 20 || len(codecs) != 5 {
		t.Errorf("%d batches with the codecs %v, want several of each codec", batches, codecs)
	}
}

// TestRulesNameFields: a rule for a field that no request has is a slip.
func TestRulesNameFields(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, s := range generated.Schemas() {
		if s.Type == "request" {
			note(s.Root, strings.TrimSuffix(s.Name, "Request"), known)
		}
	}
	for name := range rules {
		if !known[name] {
			t.Errorf("there is no field %s", name)
		}
	}
	for _, api := range append(append([]string(nil), harmless...), mostlyDefault...) {
		if _, ok := generated.LookupAPIName(api); !ok {
			t.Errorf("there is no API %s", api)
		}
	}
}

func note(s *wire.Struct, api string, known map[string]bool) {
	for i := range s.Fields {
		f := &s.Fields[i]
		name := strings.ToUpper(f.Name[:1]) + f.Name[1:]
		known[name], known[api+"."+name] = true, true
		if f.Struct != nil {
			note(f.Struct, api, known)
		}
	}
}
