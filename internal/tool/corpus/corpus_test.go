package corpus

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/tool"
	"kafka-iggy-bridge/internal/tool/frame"
)

func all(t *testing.T) []tool.Pair {
	t.Helper()
	pairs, err := tool.Select("", tool.AllVersions)
	if err != nil {
		t.Fatal(err)
	}
	return pairs
}

// TestFolder writes the whole corpus, and takes every file apart again.
func TestFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "folder")
	m, err := Write(dir, all(t), Options{Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	if m.Count != 309 || len(m.Pairs) != 309 || m.Seed != 5 || m.KafkaVersion != generated.KafkaVersion {
		t.Errorf("manifest of %d pairs, count %d, seed %d, Kafka %s", len(m.Pairs), m.Count, m.Seed, m.KafkaVersion)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2*309+1 {
		t.Errorf("%d files (%v), want two per pair and the manifest", len(files), err)
	}
	loaded, err := Load(dir, nil, tool.AllVersions)
	if err != nil || len(loaded) != 309 {
		t.Fatalf("%d exchanges loaded (%v)", len(loaded), err)
	}
	ids := map[int32]bool{}
	for i, x := range loaded {
		ids[x.CorrelationID] = true
		checkExchange(t, x, m.Pairs[i])
		made, err := Make(x.Pair, Options{Seed: 5})
		if err != nil || !bytes.Equal(made.Request, x.Request) || !bytes.Equal(made.Response, x.Response) {
			t.Errorf("%s: made again it differs (%v)", x.Pair, err)
		}
	}
	if len(ids) != 309 {
		t.Errorf("%d correlation ids for 309 requests", len(ids))
	}
}

func checkExchange(t *testing.T, x *Exchange, e Entry) {
	t.Helper()
	payload, err := frame.Payload(x.Request)
	if err != nil {
		t.Fatal(err)
	}
	h, _, err := frame.DecodeRequest(payload)
	if err != nil {
		t.Errorf("%s: %v", x.Pair, err)
		return
	}
	if h.RequestApiKey != e.Key || h.RequestApiVersion != e.Version || h.CorrelationId != e.CorrelationID || h.ClientId.S != ClientID {
		t.Errorf("%s: header %+v, manifest %+v", x.Pair, h, e)
	}
	if payload, err = frame.Payload(x.Response); err != nil {
		t.Fatal(err)
	}
	r, _, err := frame.DecodeResponse(x.Pair, payload)
	if err != nil || r.CorrelationId != e.CorrelationID {
		t.Errorf("%s: response %+v, %v", x.Pair, r, err)
	}
	if e.Request.Bytes != len(x.Request) || e.Response.Bytes != len(x.Response) || e.API != x.API.Name ||
		e.RequestHeaderVersion != x.API.RequestHeaderVersion(x.Version) || e.ResponseHeaderVersion != x.API.ResponseHeaderVersion(x.Version) ||
		e.Stable != (x.Version <= x.API.MaxStable) {
		t.Errorf("%s: the manifest has %+v", x.Pair, e)
	}
}

// TestPartOfAFolder: what a pair gets does not hang on what else is made.
func TestPartOfAFolder(t *testing.T) {
	t.Parallel()
	whole, part := t.TempDir(), t.TempDir()
	if _, err := Write(whole, all(t), Options{Seed: 1}); err != nil {
		t.Fatal(err)
	}
	pairs, err := tool.Select("Fetch", 12)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Write(part, pairs, Options{Seed: 1}); err != nil {
		t.Fatal(err)
	}
	const name = "001-Fetch-v12.response.bin"
	a, errA := os.ReadFile(filepath.Join(whole, name))
	b, errB := os.ReadFile(filepath.Join(part, name))
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Errorf("%s differs (%v, %v)", name, errA, errB)
	}
	api, err := tool.LookupAPI("Fetch")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		api     *generated.API
		version int16
		count   int
	}{
		{"one API", api, tool.AllVersions, 15},
		{"one version of it", api, 12, 1},
		{"one version of all", nil, 13, 3},
	} {
		if got, err := Load(whole, c.api, c.version); err != nil || len(got) != c.count {
			t.Errorf("%s: %d exchanges (%v), want %d", c.name, len(got), err, c.count)
		}
	}
	if _, err := Load(part, api, 11); !errors.Is(err, tool.ErrInput) {
		t.Errorf("a version that is not in the folder: %v", err)
	}
}

// TestBrokenFolders: what does not fit its manifest is refused with the reason.
func TestBrokenFolders(t *testing.T) {
	t.Parallel()
	change := func(do func(*Manifest)) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, ManifestName)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var m Manifest
			if err := json.Unmarshal(text, &m); err != nil {
				t.Fatal(err)
			}
			do(&m)
			if text, err = json.Marshal(m); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	write := func(name, content string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	const request, response = "018-ApiVersions-v0.request.bin", "018-ApiVersions-v0.response.bin"
	for _, c := range []struct {
		name string
		do   func(*testing.T, string)
		want string
	}{
		{"no manifest", remove(ManifestName), "has no manifest.json"},
		{"manifest of another kind", write(ManifestName, `{"name":"x"}`), "unknown field"},
		{"manifest that is no JSON", write(ManifestName, `{`), "unexpected EOF"},
		{"request missing", remove(request), "is missing; the manifest lists it"},
		{"response missing", remove(response), "is missing; the manifest lists it"},
		{"request cut", write(request, "\x00\x00\x00\x09a"), "announces 9 bytes"},
		{"version that does not exist", change(func(m *Manifest) { m.Pairs[0].Version = 99 }), "no version 99 of API key 18"},
		{"key that does not exist", change(func(m *Manifest) { m.Pairs[0].Key = 999 }), "no version 0 of API key 999"},
		{"file outside the folder", change(func(m *Manifest) { m.Pairs[0].Request.Name = "../secret" }), "which is not in the folder"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			pairs, err := tool.Select("ApiVersions", 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Write(dir, pairs, Options{}); err != nil {
				t.Fatal(err)
			}
			c.do(t, dir)
			if _, err := Load(dir, nil, tool.AllVersions); !errors.Is(err, tool.ErrInput) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an input error with %q", err, c.want)
			}
		})
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(file, nil, Options{}); err == nil {
		t.Error("a file passes for a folder")
	}
}
