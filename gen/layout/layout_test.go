package layout

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"kafka-iggy-bridge/gen/spec"
)

// message parses one made-up spec with the given fields.
func message(t *testing.T, name, valid, flexible, fields string, more ...string) *spec.Message {
	t.Helper()
	src := fmt.Sprintf(`{"type": "data", "name": %q, "validVersions": %q, "flexibleVersions": %q, "fields": [%s] %s}`,
		name, valid, flexible, fields, strings.Join(more, " "))
	m, err := spec.Parse(name+".json", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func built(t *testing.T, m *spec.Message) *Message {
	t.Helper()
	all, err := Build([]*spec.Message{m})
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

func TestVersionsAreCutWithEverythingAbove(t *testing.T) {
	t.Parallel()
	m := built(t, message(t, "Tiny", "2-6", "none", `
		{"name": "A", "type": "[]S", "versions": "0-5", "fields": [
			{"name": "B", "type": "[]U", "versions": "3+", "fields": [
				{"name": "C", "type": "string", "versions": "0+", "nullableVersions": "4+"},
				{"name": "D", "type": "int8", "versions": "0-2"}]}]}`))
	b := m.Root.Fields[0].Struct.Fields[0]
	c, d := b.Struct.Fields[0], b.Struct.Fields[1]
	if got := fmt.Sprint(m.Root.Fields[0].Versions, b.Versions, c.Versions, c.Nullable, d.Versions); got != "2-5 3-5 3-5 4-5 none" {
		t.Errorf("versions %s, want 2-5 3-5 3-5 4-5 none", got)
	}
}

func TestLayoutsAreShared(t *testing.T) {
	t.Parallel()
	m := built(t, message(t, "Tiny", "0-5", "4+", `
		{"name": "A", "type": "int8", "versions": "0+"},
		{"name": "B", "type": "int8", "versions": "2-3"},
		{"name": "S", "type": "[]S", "versions": "0+", "fields": [
			{"name": "C", "type": "string", "versions": "0+", "nullableVersions": "1+"}]}`))
	var got []string
	for _, l := range m.Root.Layouts {
		got = append(got, fmt.Sprint(l.Versions))
	}
	// v1 differs from v0 only inside S; dropping B makes v4 differ anyway.
	if s := strings.Join(got, " "); s != "[0] [1] [2 3] [4 5]" {
		t.Errorf("layouts %s, want [0] [1] [2 3] [4 5]", s)
	}
	if m.Roots[2] != m.Roots[3] || m.Roots[1] == m.Roots[2] {
		t.Error("versions are not mapped to the shared layouts")
	}
}

func TestMinSizes(t *testing.T) {
	t.Parallel()
	m := built(t, message(t, "Tiny", "0-1", "1+", `
		{"name": "A", "type": "int64", "versions": "0+"},
		{"name": "B", "type": "string", "versions": "0+"},
		{"name": "C", "type": "bytes", "versions": "0+"},
		{"name": "D", "type": "[]string", "versions": "0+"},
		{"name": "E", "type": "S", "versions": "0+", "fields": [{"name": "F", "type": "uuid", "versions": "0+"}]},
		{"name": "G", "type": "S", "versions": "0+", "nullableVersions": "0+"},
		{"name": "T", "type": "int8", "versions": "1+", "tag": 0, "taggedVersions": "1+"}`))
	// 8 + 2 + 4 + 4 + 16 + 1, and 8 + 1 + 1 + 1 + (16 + 1) + 1 + 1 for the tags.
	if got := [2]int{m.Roots[0].MinSize, m.Roots[1].MinSize}; got != [2]int{35, 30} {
		t.Errorf("smallest sizes %v, want [35 30]", got)
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why, field string
		want       Default
		err        string
	}{
		{"a number in a string", `"type": "int32", "default": "-1"`, Default{Int: -1}, ""},
		{"a JSON number", `"type": "int32", "default": 7`, Default{Int: 7}, ""},
		{"hex", `"type": "int32", "default": "0x7fffffff"`, Default{Int: math.MaxInt32}, ""},
		{"an int64 above 2^53", `"type": "int64", "default": "9223372036854775807"`, Default{Int: math.MaxInt64}, ""},
		{"a bool in a string", `"type": "bool", "default": "true"`, Default{Bool: true}, ""},
		{"a JSON bool", `"type": "bool", "default": true`, Default{Bool: true}, ""},
		{"a float", `"type": "float64", "default": "0.5"`, Default{Float: 0.5}, ""},
		{"the string null", `"type": "string", "nullableVersions": "0+", "default": "null"`, Default{Null: true}, ""},
		{"the JSON value null is no default", `"type": "string", "nullableVersions": "0+", "default": null`, Default{}, ""},
		{"nullable without a default is empty", `"type": "string", "nullableVersions": "0+"`, Default{}, ""},
		{"records are null without a default", `"type": "records", "versions": "0+"`, Default{Null: true}, ""},
		{"an empty string", `"type": "string", "default": ""`, Default{}, ""},
		{"null where it never may be", `"type": "string", "default": "null"`, Default{}, "nullable in no version"},
		{"outside the type's range", `"type": "int8", "default": "128"`, Default{}, "outside -128 to 127"},
		{"no number", `"type": "int8", "default": "x"`, Default{}, "invalid syntax"},
		{"no bool", `"type": "bool", "default": "maybe"`, Default{}, "invalid syntax"},
		{"an array with content", `"type": "[]int8", "default": "1"`, Default{}, "takes null only"},
		{"a uuid", `"type": "uuid", "default": "x"`, Default{}, "has none"},
	} {
		field := `{"name": "A", ` + c.field
		if !strings.Contains(c.field, `"versions"`) {
			field += `, "versions": "0+"`
		}
		all, err := Build([]*spec.Message{message(t, "Tiny", "0", "none", field+"}")})
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) || !strings.HasPrefix(err.Error(), "Tiny.json: A: ") {
				t.Errorf("%s: got %v, want an error of Tiny.json: A with %q", c.why, err, c.err)
			}
		case err != nil:
			t.Errorf("%s: %v", c.why, err)
		case all[0].Root.Fields[0].Default != c.want:
			t.Errorf("%s: %+v, want %+v", c.why, all[0].Root.Fields[0].Default, c.want)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	m := built(t, message(t, "Tiny", "0", "none", `
		{"name": "timeoutMs", "type": "int32", "versions": "0"},
		{"name": "Parts", "type": "[]Part", "versions": "0", "fields": [{"name": "Key", "type": "int8", "versions": "0"}]},
		{"name": "More", "type": "[]TinyMore", "versions": "0", "fields": [{"name": "Type", "type": "Part", "versions": "0"}]}`))
	if got := m.Root.Fields[0].GoName; got != "TimeoutMs" {
		t.Errorf("a name that begins small becomes %s", got)
	}
	var names []string
	for _, s := range m.Structs {
		names = append(names, s.GoName)
	}
	if got := strings.Join(names, " "); got != "Tiny TinyPart TinyMore" {
		t.Errorf("structs %s, want Tiny TinyPart TinyMore", got)
	}
}

func TestBuildRefuses(t *testing.T) {
	t.Parallel()
	part := `{"name": "P", "type": "[]Part", "versions": "0", "fields": [{"name": "K", "type": "int8", "versions": "0"}]}`
	for _, c := range []struct {
		why   string
		specs []*spec.Message
		err   string
	}{
		{"a field named as a method", []*spec.Message{message(t, "Tiny", "0", "none", `{"name": "Encode", "type": "int8", "versions": "0"}`)}, "Tiny.json: Encode: the name clashes"},
		{"two messages whose structs have one Go name", []*spec.Message{message(t, "Tiny", "0", "none", part), message(t, "TinyPart", "0", "none", `{"name": "K", "type": "int8", "versions": "0"}`)}, "TinyPart.json: struct TinyPart: the Go name TinyPart is also made by Tiny.json"},
		{"a number that can be null", []*spec.Message{message(t, "Tiny", "0", "none", `{"name": "A", "type": "int8", "versions": "0", "nullableVersions": "0"}`)}, "Tiny.json: A: a int8 cannot be null"},
		{"an array of bytes", []*spec.Message{message(t, "Tiny", "0", "none", `{"name": "A", "type": "[]bytes", "versions": "0"}`)}, "Tiny.json: A: type []bytes occurs in no spec"},
		{"a struct that holds itself", []*spec.Message{message(t, "Tiny", "0", "none", `{"name": "A", "type": "S", "versions": "0"}`, `, "commonStructs": [{"name": "S", "versions": "0", "fields": [{"name": "B", "type": "[]S", "versions": "0"}]}]`)}, "Tiny.json: struct S holds itself"},
		{"flexible versions of a field other than none", []*spec.Message{message(t, "Tiny", "0", "0+", `{"name": "A", "type": "string", "versions": "0", "flexibleVersions": "0+"}`)}, "Tiny.json: A: flexibleVersions of a field"},
	} {
		_, err := Build(c.specs)
		if err == nil || !strings.HasPrefix(err.Error(), c.err) {
			t.Errorf("%s: got %v, want %q", c.why, err, c.err)
		}
	}
}

func TestDeadMessage(t *testing.T) {
	t.Parallel()
	m, err := spec.Parse("Tiny.json", []byte(`{"type": "request", "apiKey": 4, "name": "Tiny", "validVersions": "none"}`))
	if err != nil {
		t.Fatal(err)
	}
	if b := built(t, m); b.Root != nil || len(b.Structs) != 0 {
		t.Errorf("a message without versions has structs: %+v", b)
	}
}
