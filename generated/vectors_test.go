package generated_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/jsonform"
	"kafka-iggy-bridge/internal/wire"
)

const vectorDir = "../testdata/codec"

type vector struct {
	Message     string                    `json:"message"`
	Version     int16                     `json:"version"`
	Case        string                    `json:"case"`
	JSON        json.RawMessage           `json:"json"`
	UnknownTags map[string][]jsonform.Tag `json:"unknownTags"`
	Hex         string                    `json:"hex"`
}

// eachLine calls do with every line of a JSON-lines file, gzip or not.
func eachLine[T any](t testing.TB, name string, do func(T)) int {
	t.Helper()
	f, err := os.Open(filepath.Join(vectorDir, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(name, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 64<<20)
	n := 0
	for ; lines.Scan(); n++ {
		var v T
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatalf("%s line %d: %v", name, n+1, err)
		}
		do(v)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return n
}

func newMessage(t testing.TB, name string) generated.Message {
	t.Helper()
	m, ok := generated.NewMessage(name)
	if !ok {
		t.Fatalf("no message %s", name)
	}
	return m
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sameJSON compares two JSON texts by value; numbers keep all their digits.
func sameJSON(t testing.TB, a, b []byte) bool {
	t.Helper()
	return reflect.DeepEqual(parseJSON(t, a), parseJSON(t, b))
}

func parseJSON(t testing.TB, src []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(src))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	return canonical(v)
}

// canonical turns numbers with a fraction into floats, since 1e-7 and 1.0E-7
// are the same number.
func canonical(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = canonical(v[k])
		}
	case []any:
		for i := range v {
			v[i] = canonical(v[i])
		}
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			if f, err := v.Float64(); err == nil {
				return f
			}
		}
	}
	return v
}

func TestVectors(t *testing.T) {
	t.Parallel()
	n := eachLine(t, "vectors.jsonl.gz", func(v vector) { checkVector(t, v) })
	if n < 3200 {
		t.Errorf("%d vectors, want at least 3200", n)
	}
}

func checkVector(t *testing.T, v vector) {
	t.Helper()
	raw := unhex(t, v.Hex)
	m := newMessage(t, v.Message)
	rest, err := m.Decode(v.Version, raw)
	if err != nil {
		t.Errorf("%s: decode: %v", v.Case, err)
		return
	}
	if len(rest) > 0 {
		t.Errorf("%s v%d %s: %d bytes left", v.Message, v.Version, v.Case, len(rest))
	}
	again, err := m.Append(nil, v.Version)
	if err != nil || !bytes.Equal(again, raw) {
		t.Errorf("%s v%d %s: encodes to\n%x, want\n%x (%v)", v.Message, v.Version, v.Case, again, raw, err)
	}
	text, err := jsonform.Marshal(m, v.Version)
	if err != nil || !sameJSON(t, text, v.JSON) {
		t.Errorf("%s v%d %s: JSON\n%s, want\n%s (%v)", v.Message, v.Version, v.Case, text, v.JSON, err)
	}
	if tags := jsonform.Tags(m); len(tags)+len(v.UnknownTags) > 0 && !reflect.DeepEqual(tags, v.UnknownTags) {
		t.Errorf("%s v%d %s: unknown tags %v, want %v", v.Message, v.Version, v.Case, tags, v.UnknownTags)
	}
	built := newMessage(t, v.Message)
	if err := jsonform.Unmarshal(v.JSON, built, v.Version); err != nil {
		t.Errorf("%s: from JSON: %v", v.Case, err)
		return
	}
	if err := jsonform.SetTags(built, v.UnknownTags); err != nil {
		t.Errorf("%s v%d %s: %v", v.Message, v.Version, v.Case, err)
	}
	if out, err := built.Append(nil, v.Version); err != nil || !bytes.Equal(out, raw) {
		t.Errorf("%s v%d %s: from JSON encodes to\n%x, want\n%x (%v)", v.Message, v.Version, v.Case, out, raw, err)
	}
	if v.Case == "dense" {
		checkPrefixes(t, v, raw)
	}
}

// checkPrefixes makes sure that no strict prefix of a message decodes. Long
// messages are cut at a sample of places, since all would take quadratic time.
func checkPrefixes(t *testing.T, v vector, raw []byte) {
	t.Helper()
	m := newMessage(t, v.Message)
	for cut := range raw {
		if _, err := m.Decode(v.Version, raw[:cut]); err == nil {
			t.Errorf("%s v%d: the first %d of %d bytes decode", v.Message, v.Version, cut, len(raw))
			return
		}
	}
}

type failure struct {
	Message string          `json:"message"`
	Version int16           `json:"version"`
	Field   string          `json:"field"`
	Kind    string          `json:"kind"`
	Expect  string          `json:"expect"`
	Value   json.RawMessage `json:"value"`
	Base    json.RawMessage `json:"base"`
}

func TestEncodeFailures(t *testing.T) {
	t.Parallel()
	n := eachLine(t, "failures.jsonl.gz", func(f failure) {
		changed := set(t, f)
		m := newMessage(t, f.Message)
		err := jsonform.Unmarshal(changed, m, f.Version)
		var out []byte
		if err == nil {
			out, err = m.Append(nil, f.Version)
		}
		if f.Expect == "fail" {
			if err == nil {
				t.Errorf("%s v%d %s %s: encodes to %x", f.Message, f.Version, f.Field, f.Kind, out)
			}
			return
		}
		base := newMessage(t, f.Message)
		if err := jsonform.Unmarshal(f.Base, base, f.Version); err != nil {
			t.Fatal(err)
		}
		want, wantErr := base.Append(nil, f.Version)
		if err != nil || wantErr != nil || !bytes.Equal(out, want) {
			t.Errorf("%s v%d %s: an ignored field gives %x (%v), want %x (%v)", f.Message, f.Version, f.Field, out, err, want, wantErr)
		}
	})
	if n < 863 {
		t.Errorf("%d failures, want at least 863", n)
	}
}

// set returns the base with one field replaced.
func set(t *testing.T, f failure) []byte {
	t.Helper()
	root := parseJSON(t, f.Base)
	var value any
	if f.Value != nil {
		value = parseJSON(t, f.Value)
	}
	parts := strings.Split(f.Field[1:], "/")
	at := root
	for _, p := range parts[:len(parts)-1] {
		at = child(at, p)
	}
	at.(map[string]any)[parts[len(parts)-1]] = value
	out, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func child(v any, key string) any {
	if list, ok := v.([]any); ok {
		var i int
		for _, c := range key {
			i = 10*i + int(c-'0')
		}
		return list[i]
	}
	return v.(map[string]any)[key]
}

type malformed struct {
	Message   string  `json:"message"`
	Version   int16   `json:"version"`
	Why       string  `json:"why"`
	Read      string  `json:"read"`
	Left      *int    `json:"left"`
	Rewritten *string `json:"rewritten"`
	Hex       string  `json:"hex"`
}

// keepsBytes are inputs that Kafka reads with U+FFFD in the place of bytes that
// are not UTF-8. A proxy must hand on what it was given, so the codec keeps
// them.
var keepsBytes = map[string]bool{"string that is not UTF-8": true, "surrogate half in UTF-8": true}

func TestMalformed(t *testing.T) {
	t.Parallel()
	n := eachLine(t, "malformed.jsonl.gz", func(c malformed) {
		raw := unhex(t, c.Hex)
		m := newMessage(t, c.Message)
		rest, err := m.Decode(c.Version, raw)
		if c.Read != "ok" {
			if err == nil {
				t.Errorf("%s v%d, %s: decodes, Kafka says %s", c.Message, c.Version, c.Why, c.Read)
			}
			return
		}
		if err != nil || c.Left == nil || len(rest) != *c.Left {
			t.Errorf("%s v%d, %s: %d bytes left (%v), want %v", c.Message, c.Version, c.Why, len(rest), err, c.Left)
			return
		}
		out, err := m.Append(nil, c.Version)
		switch want := c.Rewritten; {
		case want == nil && err == nil:
			t.Errorf("%s v%d, %s: encodes again, in Kafka it does not", c.Message, c.Version, c.Why)
		case want == nil:
		case keepsBytes[c.Why]:
			if err != nil || !bytes.Equal(out, raw) {
				t.Errorf("%s v%d, %s: encodes to %x (%v), want the same bytes", c.Message, c.Version, c.Why, out, err)
			}
		case err != nil || hex.EncodeToString(out) != *want:
			t.Errorf("%s v%d, %s: encodes to %x (%v), want %s", c.Message, c.Version, c.Why, out, err, *want)
		}
	})
	if n < 56 {
		t.Errorf("%d malformed inputs, want at least 56", n)
	}
}

type header struct {
	API                   string   `json:"api"`
	Key                   int16    `json:"apiKey"`
	Valid                 bool     `json:"valid"`
	Lowest                int16    `json:"lowest"`
	Highest               int16    `json:"highest"`
	HighestStable         int16    `json:"highestStable"`
	LatestVersionUnstable bool     `json:"latestVersionUnstable"`
	Listeners             []string `json:"listeners"`
	Versions              []struct {
		Version  int16 `json:"version"`
		Request  int16 `json:"requestHeaderVersion"`
		Response int16 `json:"responseHeaderVersion"`
		Flexible bool  `json:"flexible"`
		Stable   bool  `json:"stable"`
	} `json:"versions"`
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	n := eachLine(t, "headers.jsonl", func(h header) {
		a, ok := generated.LookupAPI(h.Key)
		if !ok || a.Name != h.API || a.Valid() != h.Valid {
			t.Errorf("%s: got %+v", h.API, a)
			return
		}
		if !h.Valid {
			return
		}
		if a.Min != h.Lowest || a.Max != h.Highest || a.MaxStable != h.HighestStable {
			t.Errorf("%s: versions %d to %d, stable to %d; want %d, %d, %d", h.API, a.Min, a.Max, a.MaxStable, h.Lowest, h.Highest, h.HighestStable)
		}
		if !sameSet(a.Listeners, h.Listeners) {
			t.Errorf("%s: listeners %v, want %v", h.API, a.Listeners, h.Listeners)
		}
		for _, v := range h.Versions {
			if got := a.RequestHeaderVersion(v.Version); got != v.Request {
				t.Errorf("%s v%d: request header v%d, want v%d", h.API, v.Version, got, v.Request)
			}
			if got := a.ResponseHeaderVersion(v.Version); got != v.Response {
				t.Errorf("%s v%d: response header v%d, want v%d", h.API, v.Version, got, v.Response)
			}
			if a.Flexible(v.Version) != v.Flexible || (v.Version <= a.MaxStable) != v.Stable {
				t.Errorf("%s v%d: flexible %t, stable to %d; want %t, %t", h.API, v.Version, a.Flexible(v.Version), a.MaxStable, v.Flexible, v.Stable)
			}
		}
	})
	if n != len(generated.APIs()) {
		t.Errorf("%d keys, the table has %d", n, len(generated.APIs()))
	}
}

func sameSet(a, b []string) bool {
	in := map[string]bool{}
	for _, s := range a {
		in[s] = true
	}
	for _, s := range b {
		if !in[s] {
			return false
		}
	}
	return len(a) == len(b)
}

var _ wire.Message = generated.Message(nil)
