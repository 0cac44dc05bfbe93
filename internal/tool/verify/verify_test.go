package verify

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Lines that hold: a metadata request for topic "A", its null in version 0, a
// bool of 2, and so on.
const (
	vector    = `{"message":"MetadataRequest","version":1,"case":"dense","json":{"topics":[{"name":"A"}]},"hex":"00000001000141"}`
	tagged    = `{"message":"MetadataRequest","version":9,"case":"x","json":{"topics":[],"allowAutoTopicCreation":true,"includeClusterAuthorizedOperations":false,"includeTopicAuthorizedOperations":false},"unknownTags":{"":[{"tag":5,"hex":"ff"}]},"hex":"01010000010501ff"}`
	quota     = `{"message":"AlterClientQuotasRequest","version":0,"case":"x","json":{"entries":[{"entity":[],"ops":[{"key":"A","value":1.0,"remove":false}]}],"validateOnly":false},"hex":"00000001000000000000000100014` + `13ff00000000000000000"}`
	absent    = `{"message":"MetadataRequest","version":0,"field":"/allowAutoTopicCreation","kind":"absent","expect":"fail","value":false,"base":{"topics":[]}}`
	null      = `{"message":"MetadataRequest","version":0,"field":"/topics","kind":"null","expect":"fail","value":null,"base":{"topics":[]}}`
	ignored   = `{"message":"MetadataRequest","version":1,"field":"/topics/0/topicId","kind":"absent","expect":"ignored","value":"k9BKS9eBttCiwoM6HY9_jQ","base":{"topics":[{"name":"A"}]}}`
	odd       = `{"message":"DefaultPrincipalData","version":0,"why":"bool of 2","read":"ok","left":0,"rewritten":"024102420100","hex":"024102420200"}`
	notText   = `{"message":"DefaultPrincipalData","version":0,"why":"not UTF-8","read":"ok","left":0,"rewritten":"04efbfbd02420100","hex":"02ff02420100"}`
	truncated = `{"message":"DefaultPrincipalData","version":0,"why":"short","read":"RuntimeException: no","hex":"0241"}`
	noWrite   = `{"message":"DefaultPrincipalData","version":0,"why":"tags fall","read":"ok","left":0,"write":"no","hex":"02410242010206000500"}`
	spare     = `{"message":"DefaultPrincipalData","version":0,"why":"spare","read":"ok","left":2,"rewritten":"024102420100","hex":"024102420100ffff"}`
	headers   = `{"api":"SaslHandshake","apiKey":17,"valid":true,"lowest":0,"highest":1,"highestStable":1,"listeners":["controller","broker"],"versions":[{"version":0,"requestHeaderVersion":1,"responseHeaderVersion":0,"flexible":false,"stable":true}]}`
	removed   = `{"api":"StopReplica","apiKey":5,"valid":false,"versions":[]}`
)

var sound = []string{vector, tagged, quota, absent, null, ignored, odd, notText, truncated, noWrite, spare, headers, removed}

func TestSoundLines(t *testing.T) {
	t.Parallel()
	for _, line := range sound {
		c, err := Parse([]byte(line))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if err := c.Check(); err != nil {
			t.Errorf("%s: %v", c.Name(), err)
		}
	}
}

// TestFaults changes sound lines in one place each: every check must notice.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		line     string
		from, to string
		want     string
	}{
		{"vector with other bytes", vector, "000141", "000142", "JSON is"},
		{"vector with bytes behind", vector, "000141", "00014100", "leaves 1 bytes"},
		{"vector with bytes missing", vector, "000141", "0001", "decoding: "},
		{"vector with bytes that are no hex", vector, "000141", "00014x", "hex: "},
		{"vector with other JSON", vector, `"name":"A"`, `"name":"B"`, "JSON encodes to"},
		{"vector without a field in JSON", vector, `"name":"A"`, ``, "reading JSON"},
		{"vector of no message", vector, "MetadataRequest", "MetadataQuery", `no message "MetadataQuery"`},
		{"vector of no version", vector, `"version":1`, `"version":99`, "no such version"},
		{"vector with a tag's other bytes", tagged, `"hex":"ff"`, `"hex":"fe"`, "unknown tags are"},
		{"vector without its tags", tagged, `"unknownTags":{"":[{"tag":5,"hex":"ff"}]},`, ``, "unknown tags are"},
		{"vector with tags where there is no struct", tagged, `{"":[`, `{"/nobody":[`, "reading JSON"},
		{"vector with another number", quota, `1.0`, `1.5`, "JSON is"},
		{"failure that is none", absent, `"value":false`, `"value":true`, "want an error"},
		{"failure of a message that is not sound", absent, `"base":{"topics":[]}`, `"base":{}`, "the sound message"},
		{"failure of a field that no version has", absent, "/allowAutoTopicCreation", "/allow", "unknown key"},
		{"failure at no place", ignored, "/topics/0/topicId", "/topics/7/topicId", `no element "7"`},
		{"failure with an odd expectation", ignored, `"expect":"ignored"`, `"expect":"luck"`, "neither fail nor ignored"},
		{"failure that must not be", absent, `"expect":"fail"`, `"expect":"ignored"`, "want the field to be ignored"},
		{"malformed that decodes", odd, `"read":"ok"`, `"read":"RuntimeException"`, "decodes; Kafka says RuntimeException"},
		{"malformed that does not decode", truncated, "RuntimeException: no", "ok", "decoding: "},
		{"malformed with another rest", spare, `"left":2`, `"left":1`, "leaves 2 bytes, want 1"},
		{"malformed written otherwise", odd, `"rewritten":"0241`, `"rewritten":"0242`, "encodes again to"},
		{"malformed that is written", odd, `"rewritten":"024102420100",`, ``, "in Kafka that fails"},
		{"malformed that is not written", noWrite, `"write":"no"`, `"rewritten":"00"`, "encoding again: "},
		{"header of another key", headers, `"apiKey":17`, `"apiKey":18`, "key 18 is ApiVersions"},
		{"header of no key", headers, `"apiKey":17`, `"apiKey":99`, "no API key 99"},
		{"header with other versions", headers, `"highest":1`, `"highest":2`, "versions are 0 to 1"},
		{"header with other listeners", headers, `"controller",`, ``, "listeners are"},
		{"header version", headers, `"requestHeaderVersion":1`, `"requestHeaderVersion":2`, "got {Version:0 Request:1"},
		{"removed API that is not", headers, `"valid":true`, `"valid":false`, "valid is true, want false"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			line := strings.Replace(c.line, c.from, c.to, 1)
			if line == c.line {
				t.Fatalf("%q is not in the line", c.from)
			}
			parsed, err := Parse([]byte(line))
			if err != nil {
				t.Fatal(err)
			}
			if err := parsed.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestUnknownLines(t *testing.T) {
	t.Parallel()
	for _, line := range []string{``, `no JSON`, `[]`, `{}`, `{"message":"MetadataRequest","hex":"00"}`, `{"api":"Fetch"}`,
		`{"message":7,"hex":"","json":{}}`, `{"message":"MetadataRequest","version":"one","hex":"","json":{}}`} {
		if _, err := Parse([]byte(line)); !errors.Is(err, ErrUnknown) {
			t.Errorf("%s: got %v, want ErrUnknown", line, err)
		}
	}
}

func TestSameJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, a, b string
		same       bool
	}{
		{"order of keys", `{"a":1,"b":2}`, `{"b":2,"a":1}`, true},
		{"order of elements", `[1,2]`, `[2,1]`, false},
		{"missing key", `{"a":1}`, `{}`, false},
		{"null and missing", `{"a":null}`, `{}`, false},
		{"integers beyond a float's digits", `9223372036854775807`, `9223372036854775806`, false},
		{"one float written twice", `1.0E-7`, `1e-07`, true},
		{"float without a fraction", `1.0`, `1`, true},
		{"escapes", `"\u00e9"`, `"é"`, true},
		{"string and number", `"1"`, `1`, false},
		{"zero and minus zero", `0.0`, `-0.0`, false},
	} {
		if same, err := SameJSON([]byte(c.a), []byte(c.b)); err != nil || same != c.same {
			t.Errorf("%s: %t (%v), want %t", c.name, same, err, c.same)
		}
	}
	if _, err := SameJSON([]byte(`1 2`), []byte(`1`)); err == nil {
		t.Error("two values pass for one")
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	text := "\n" + strings.Join(sound, "\n") + "\n\n"
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		content []byte
		lines   int
		err     error
	}{
		{"plain text", []byte(text), len(sound), nil},
		{"gzip, whatever the name", zipped.Bytes(), len(sound), nil},
		{"nothing", nil, 0, nil},
		{"text of another kind", []byte(vector + "\nhello"), 1, ErrUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "lines")
			if err := os.WriteFile(path, c.content, 0o600); err != nil {
				t.Fatal(err)
			}
			n := 0
			err := File(path, func(r Result) {
				n++
				if r.Err != nil {
					t.Errorf("line %d: %v", r.Line, r.Err)
				}
			})
			if n != c.lines || !errors.Is(err, c.err) {
				t.Errorf("%d lines, %v; want %d, %v", n, err, c.lines, c.err)
			}
		})
	}
	cut := filepath.Join(t.TempDir(), "cut.gz")
	if err := os.WriteFile(cut, zipped.Bytes()[:zipped.Len()/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := File(cut, func(Result) {}); err == nil {
		t.Error("half a gzip file passes for a whole one")
	}
	if err := File(filepath.Join(t.TempDir(), "none"), func(Result) {}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want os.ErrNotExist", err)
	}
}
