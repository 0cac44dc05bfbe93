package generated_test

import (
	"bytes"
	"math"
	"reflect"
	"slices"
	"testing"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/jsonform"
	"kafka-iggy-bridge/internal/sample"
	"kafka-iggy-bridge/internal/tool/verify"
	"kafka-iggy-bridge/internal/wire"
)

// The fuzz targets together cover the decoder of every version of every message.
// An input is the number of a message among those of its kind, a version, which
// is folded into the valid ones, and the bytes.

func FuzzDecodeRequests(f *testing.F)  { fuzzDecoders(f, "request") }
func FuzzDecodeResponses(f *testing.F) { fuzzDecoders(f, "response") }
func FuzzDecodeHeaders(f *testing.F)   { fuzzDecoders(f, "header") }
func FuzzDecodeData(f *testing.F)      { fuzzDecoders(f, "data") }

// FuzzDecodeRecords covers the records of the internal topics.
func FuzzDecodeRecords(f *testing.F) { fuzzDecoders(f, "coordinator-key", "coordinator-value") }

func fuzzDecoders(f *testing.F, types ...string) {
	schemas := schemasOf(types...)
	if len(schemas) == 0 {
		f.Fatalf("no messages of types %v", types)
	}
	eachSeed(f, schemas, func(i int, version int16, frame []byte) {
		f.Add(uint16(i), version-schemas[i].Min, frame)
	})
	f.Fuzz(func(t *testing.T, i uint16, version int16, frame []byte) {
		s := schemas[int(i)%len(schemas)]
		span := int(s.Max-s.Min) + 1
		checkDecoder(t, s, s.Min+int16(int(uint16(version))%span), frame)
	})
}

// schemasOf returns the messages of some types that have versions.
func schemasOf(types ...string) []*wire.Schema {
	var out []*wire.Schema
	for _, s := range generated.Schemas() {
		if slices.Contains(types, s.Type) && s.Max >= s.Min {
			out = append(out, s)
		}
	}
	return out
}

// maxSeed is the greatest size of a seed in bytes: mutations of small inputs
// find more.
const maxSeed = 2048

// eachSeed calls do with what fuzzing starts from: a random message of each
// version, the dense vectors and the malformed bytes. A message is named by its
// place in schemas.
func eachSeed(t testing.TB, schemas []*wire.Schema, do func(i int, version int16, frame []byte)) {
	t.Helper()
	add := func(name string, version int16, frame []byte) {
		i := slices.IndexFunc(schemas, func(s *wire.Schema) bool { return s.Name == name })
		if i >= 0 && len(frame) <= maxSeed {
			do(i, version, frame)
		}
	}
	for _, s := range schemas {
		for v := s.Min; v <= s.Max; v++ {
			m := newMessage(t, s.Name)
			if err := sample.Fill(m, v, sample.NewRand(1, uint64(v)), sample.Options{UnknownTags: true, Elements: 12}); err != nil {
				t.Fatal(err)
			}
			frame, err := m.Append(nil, v)
			if err != nil {
				t.Fatal(err)
			}
			add(s.Name, v, frame)
		}
	}
	vectorsOf(t, "vectors.jsonl.gz", func(v *verify.Vector) {
		if v.Case == "dense" {
			add(v.Message, v.Version, unhex(t, v.Hex))
		}
	})
	vectorsOf(t, "malformed.jsonl.gz", func(c *verify.Malformed) { add(c.Message, c.Version, unhex(t, c.Hex)) })
}

// checkDecoder decodes any bytes and holds the codec to what must be true of
// whatever they are.
func checkDecoder(t *testing.T, s *wire.Schema, version int16, frame []byte) {
	before := bytes.Clone(frame)
	m := newMessage(t, s.Name)
	rest, err := m.Decode(version, frame)
	if !bytes.Equal(frame, before) {
		t.Fatalf("%s v%d: decoding changes the frame", s.Name, version)
	}
	if size, limit := deepSize(reflect.ValueOf(m).Elem()), sizeLimit(m, len(frame)); size > limit {
		t.Fatalf("%s v%d: %d bytes become a message of %d, more than %d", s.Name, version, len(frame), size, limit)
	}
	if err != nil {
		return
	}
	if !bytes.HasSuffix(frame, rest) {
		t.Fatalf("%s v%d: what is left is not the end of the frame", s.Name, version)
	}
	out, err := m.Append(nil, version)
	if ordered := tagsRise(reflect.ValueOf(m).Elem()); (err == nil) != ordered {
		t.Fatalf("%s v%d: unknown tags rise: %t; encoding what was decoded: %v", s.Name, version, ordered, err)
	}
	if err != nil {
		return
	}
	again := newMessage(t, s.Name)
	if rest, err := again.Decode(version, out); err != nil || len(rest) > 0 {
		t.Fatalf("%s v%d: decoding what was encoded leaves %d bytes: %v\n%x", s.Name, version, len(rest), err, out)
	}
	wantBytes(t, again, version, out, "decoded twice")
	if verify.ValidText(m) && plainNaNs(reflect.ValueOf(m).Elem()) {
		checkJSON(t, m, version, out)
	}
}

func wantBytes(t *testing.T, m generated.Message, version int16, want []byte, what string) {
	t.Helper()
	got, err := m.Append(nil, version)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%s v%d, %s, encodes to\n%x, want\n%x (%v)", m.Schema().Name, version, what, got, want, err)
	}
}

// checkJSON goes through JSON and back.
func checkJSON(t *testing.T, m generated.Message, version int16, want []byte) {
	t.Helper()
	text, err := jsonform.Marshal(m, version)
	if err != nil {
		t.Fatalf("%s v%d: %v", m.Schema().Name, version, err)
	}
	built := newMessage(t, m.Schema().Name)
	if err := jsonform.Unmarshal(text, built, version); err != nil {
		t.Fatalf("%s v%d: reading its own JSON: %v\n%s", m.Schema().Name, version, err, text)
	}
	if err := jsonform.SetTags(built, jsonform.Tags(m)); err != nil {
		t.Fatalf("%s v%d: %v", m.Schema().Name, version, err)
	}
	wantBytes(t, built, version, want, "from JSON")
}

// walk calls do with a struct and all structs in it until one returns false.
func walk(v reflect.Value, do func(reflect.Value) bool) bool {
	switch v.Kind() {
	case reflect.Pointer:
		return v.IsNil() || walk(v.Elem(), do)
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Struct {
			return true
		}
		for i := range v.Len() {
			if !walk(v.Index(i), do) {
				return false
			}
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[wire.RawTags]() {
			return true
		}
		if !do(v) {
			return false
		}
		for i := range v.NumField() {
			if !walk(v.Field(i), do) {
				return false
			}
		}
	}
	return true
}

// tagsRise reports whether the unknown tags of every struct rise, without which
// Kafka reads but does not write them.
func tagsRise(v reflect.Value) bool {
	return walk(v, func(s reflect.Value) bool {
		f := s.FieldByName("UnknownTags")
		if !f.IsValid() {
			return true
		}
		tags := f.Interface().(wire.RawTags).All()
		for i := 1; i < len(tags); i++ {
			if tags[i].Tag <= tags[i-1].Tag {
				return false
			}
		}
		return true
	})
}

// plainNaNs reports whether no float is a NaN with bits of its own, which JSON
// has no way to tell.
func plainNaNs(v reflect.Value) bool {
	return walk(v, func(s reflect.Value) bool {
		for i := range s.NumField() {
			if f := s.Field(i); f.Kind() == reflect.Float64 && math.IsNaN(f.Float()) {
				return false
			}
		}
		return true
	})
}
