package spec

import (
	"strings"
	"testing"
)

const head = `{"type": "data", "name": "Tiny", "validVersions": "1-4", "flexibleVersions": "3+", "fields": [`

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ why, src, err string }{
		{"an attribute of the message that no spec has", `{"type": "data", "name": "T", "validVersions": "0", "deprecatedVersions": "0"}`, `unknown field "deprecatedVersions"`},
		{"an attribute of a field that no spec has", head + `{"name": "A", "type": "int8", "versions": "0+", "colour": 1}]}`, `unknown field "colour"`},
		{"JSON that ends early", head, "unexpected EOF"},
		{"no name", `{"type": "data", "validVersions": "0", "flexibleVersions": "none"}`, "no name"},
		{"an unknown message type", `{"type": "rpc", "name": "T", "validVersions": "0", "flexibleVersions": "none"}`, `unknown type "rpc"`},
		{"a request without a key", `{"type": "request", "name": "T", "validVersions": "0", "flexibleVersions": "none"}`, "a request needs an apiKey"},
		{"no valid versions", `{"type": "data", "name": "T"}`, "no validVersions"},
		{"no flexible versions", `{"type": "data", "name": "T", "validVersions": "0"}`, "no flexibleVersions"},
		{"a dead message with fields", `{"type": "data", "name": "T", "validVersions": "none", "fields": [{"name": "A", "type": "int8", "versions": "0"}]}`, "no valid version"},
		{"flexible versions that end before the valid ones", `{"type": "data", "name": "T", "validVersions": "0-3", "flexibleVersions": "1-2"}`, "never stops being flexible"},
		{"a range that runs backwards", `{"type": "data", "name": "T", "validVersions": "3-1"}`, "runs backwards"},
		{"a version that is no number", `{"type": "data", "name": "T", "validVersions": "x+"}`, "want a number"},
		{"a range that is no string", `{"type": "data", "name": "T", "validVersions": 3}`, "want a string"},
		{"a field without versions", head + `{"name": "A", "type": "int8"}]}`, "tiny.json: A: no versions"},
		{"a field of a field's, by its path", head + `{"name": "A", "type": "[]B", "versions": "0+", "fields": [{"name": "C", "type": "int8"}]}]}`, "tiny.json: A.C: no versions"},
		{"versions above those of the struct", head + `{"name": "A", "type": "[]B", "versions": "0-1", "fields": [{"name": "C", "type": "int8", "versions": "2+"}]}]}`, "A.C: versions 2+ lie above the struct's 0-1"},
		{"null in versions that the field lacks", head + `{"name": "A", "type": "string", "versions": "0-1", "nullableVersions": "3+"}]}`, "A: nullableVersions 3+ lie outside its versions 0-1"},
		{"a tag without versions", head + `{"name": "A", "type": "int8", "versions": "3+", "tag": 0}]}`, "A: tag and taggedVersions go together"},
		{"a tag in versions that are not flexible", head + `{"name": "A", "type": "int8", "versions": "2+", "tag": 0, "taggedVersions": "2+"}]}`, "A: taggedVersions 2+ reach outside flexibleVersions 3+"},
		{"a tag in versions that the field lacks", head + `{"name": "A", "type": "int8", "versions": "4+", "tag": 0, "taggedVersions": "3+"}]}`, "A: taggedVersions 3+ reach outside its versions 4+"},
		{"a gap between tags", head + `{"name": "A", "type": "int8", "versions": "3+", "tag": 0, "taggedVersions": "3+"}, {"name": "B", "type": "int8", "versions": "3+", "tag": 2, "taggedVersions": "3+"}]}`, "B: tag 2, but the struct has 2 tags"},
		{"a tag twice", head + `{"name": "A", "type": "int8", "versions": "3+", "tag": 0, "taggedVersions": "3+"}, {"name": "B", "type": "int8", "versions": "3+", "tag": 0, "taggedVersions": "3+"}]}`, "B: tag 0 is used twice"},
		{"a name twice", head + `{"name": "A", "type": "int8", "versions": "0+"}, {"name": "A", "type": "int8", "versions": "0+"}]}`, "A: two fields of one struct have this name"},
		{"names that differ in the first letter's case only", head + `{"name": "timeoutMs", "type": "int8", "versions": "0+"}, {"name": "TimeoutMs", "type": "int8", "versions": "0+"}]}`, "TimeoutMs: two fields"},
		{"a struct defined twice", head + `{"name": "A", "type": "[]S", "versions": "0+", "fields": [{"name": "C", "type": "int8", "versions": "0+"}]}, {"name": "B", "type": "[]S", "versions": "0+", "fields": [{"name": "C", "type": "int8", "versions": "0+"}]}]}`, "B: struct S is defined twice"},
		{"a struct defined nowhere", head + `{"name": "A", "type": "[]S", "versions": "0+"}]}`, "type S is used, but defined nowhere"},
		{"a number with fields", head + `{"name": "A", "type": "int8", "versions": "0+", "fields": [{"name": "C", "type": "int8", "versions": "0+"}]}]}`, "A: type int8 cannot have fields"},
		{"arrays of arrays", head + `{"name": "A", "type": "[][]int8", "versions": "0+"}]}`, "arrays of arrays do not occur"},
		{"uint32, which no spec uses", head + `{"name": "A", "type": "uint32", "versions": "0+"}]}`, "uint32 occurs in no spec"},
	} {
		_, err := Parse("tiny.json", []byte(c.src))
		if err == nil || !strings.Contains(err.Error(), c.err) || !strings.HasPrefix(err.Error(), "tiny.json: ") {
			t.Errorf("%s: got %v, want an error of tiny.json with %q", c.why, err, c.err)
		}
	}
}

func TestParseAccepts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ why, src string }{
		{"comments, also between members and at the end", "// a\n{ // b\n\"type\": \"data\", // c\n// d\n\"name\": \"T\", \"validVersions\": \"0\", \"flexibleVersions\": \"none\" } // e"},
		{"a message without a valid version, fields and flexible versions", `{"type": "request", "apiKey": 4, "name": "T", "validVersions": "none"}`},
		{"a field whose versions begin below the valid ones", head + `{"name": "A", "type": "int8", "versions": "0+"}]}`},
		{"a field in no valid version", head + `{"name": "A", "type": "int8", "versions": "0"}]}`},
		{"null in versions below those of the field", head + `{"name": "A", "type": "string", "versions": "3+", "nullableVersions": "0+"}]}`},
		{"a tagged field that gives no other versions", head + `{"name": "A", "type": "int8", "tag": 0, "taggedVersions": "3+"}]}`},
		{"tags whose order is not that of the fields", head + `{"name": "A", "type": "int8", "versions": "3+", "tag": 1, "taggedVersions": "3+"}, {"name": "B", "type": "int8", "versions": "3+", "tag": 0, "taggedVersions": "3+"}]}`},
	} {
		if _, err := Parse("tiny.json", []byte(c.src)); err != nil {
			t.Errorf("%s: %v", c.why, err)
		}
	}
}

func TestStripComments(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"a": "x//y"} // z`:             `{"a": "x//y"}     `,
		"// a\n{}":                       "    \n{}",
		`{"a": "\"//b"}`:                 `{"a": "\"//b"}`,
		`{"a": "b\\"} // c`:              `{"a": "b\\"}     `,
		"{\"a\": 1, // \"b\"\n\"c\": 2}": "{\"a\": 1,       \n\"c\": 2}",
	} {
		if got := string(StripComments([]byte(in))); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"none": "none", "3": "3", "0-4": "0-4", "2+": "2+", "5-5": "5"} {
		v, err := ParseVersions(in)
		if err != nil || v.String() != want {
			t.Errorf("%q reads as %s (%v), want %s", in, v, err, want)
		}
	}
	all, late := Versions{0, 9}, Versions{4, 12}
	if got := all.Intersect(late); got != (Versions{4, 9}) {
		t.Errorf("0-9 and 4-12 have %s in common, want 4-9", got)
	}
	if got := all.Intersect(Versions{10, 12}); !got.Empty() {
		t.Errorf("0-9 and 10-12 have %s in common, want none", got)
	}
	if !all.Covers(None) || !all.Covers(Versions{2, 3}) || all.Covers(late) {
		t.Error("Covers is wrong")
	}
}
