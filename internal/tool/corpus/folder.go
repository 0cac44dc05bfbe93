package corpus

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/tool"
	"kafka-iggy-bridge/internal/tool/frame"
)

// ManifestName is the manifest's file in a corpus folder.
const ManifestName = "manifest.json"

// Manifest lists a corpus folder.
type Manifest struct {
	// KafkaVersion is the release whose specs the messages follow.
	KafkaVersion string  `json:"kafkaVersion"`
	Seed         uint64  `json:"seed"`
	Count        int     `json:"count"`
	Pairs        []Entry `json:"pairs"`
}

// Entry is one exchange of a corpus folder.
type Entry struct {
	API                   string `json:"api"`
	Key                   int16  `json:"key"`
	Version               int16  `json:"version"`
	Stable                bool   `json:"stable"`
	RequestHeaderVersion  int16  `json:"requestHeaderVersion"`
	ResponseHeaderVersion int16  `json:"responseHeaderVersion"`
	CorrelationID         int32  `json:"correlationId"`
	Request               File   `json:"request"`
	Response              File   `json:"response"`
}

// File is a framed message in a corpus folder.
type File struct {
	Name string `json:"file"`
	// Bytes is the file's size, that of the frame and its four bytes of size.
	Bytes int `json:"bytes"`
}

// fileName is such as 018-ApiVersions-v3.request.bin.
func fileName(p tool.Pair, kind string) string {
	return fmt.Sprintf("%03d-%s-v%d.%s.bin", p.API.Key, p.API.Name, p.Version, kind)
}

// Write makes the exchanges of pairs and writes them into a folder, which it
// makes where it is missing; files of the same names are replaced. The manifest
// comes last.
func Write(dir string, pairs []tool.Pair, opts Options) (*Manifest, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	m := &Manifest{KafkaVersion: generated.KafkaVersion, Seed: opts.Seed, Count: len(pairs)}
	for _, p := range pairs {
		x, err := Make(p, opts)
		if err != nil {
			return nil, err
		}
		e := Entry{
			API: p.API.Name, Key: p.API.Key, Version: p.Version, Stable: p.Version <= p.API.MaxStable,
			RequestHeaderVersion: p.API.RequestHeaderVersion(p.Version), ResponseHeaderVersion: p.API.ResponseHeaderVersion(p.Version),
			CorrelationID: x.CorrelationID,
			Request:       File{fileName(p, "request"), len(x.Request)},
			Response:      File{fileName(p, "response"), len(x.Response)},
		}
		if err := os.WriteFile(filepath.Join(dir, e.Request.Name), x.Request, 0o644); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, e.Response.Name), x.Response, 0o644); err != nil {
			return nil, err
		}
		m.Pairs = append(m.Pairs, e)
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	return m, os.WriteFile(filepath.Join(dir, ManifestName), append(text, '\n'), 0o644)
}

// Load reads the exchanges of a corpus folder for an API, nil for all, and a
// version, tool.AllVersions for each. What does not fit its manifest is
// tool.ErrInput, as is a folder without one.
func Load(dir string, api *generated.API, version int16) ([]*Exchange, error) {
	text, err := os.ReadFile(filepath.Join(dir, ManifestName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, tool.Inputf("%s has no %s: make such a folder with kafka-tool generate", dir, ManifestName)
	}
	if err != nil {
		return nil, err
	}
	var m Manifest
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&m); err != nil {
		return nil, tool.Inputf("%s: %w", filepath.Join(dir, ManifestName), err)
	}
	var all []*Exchange
	for _, e := range m.Pairs {
		if api != nil && e.Key != api.Key || version != tool.AllVersions && e.Version != version {
			continue
		}
		x, err := e.load(dir)
		if err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	if len(all) == 0 {
		return nil, tool.Inputf("%s holds no such request", dir)
	}
	return all, nil
}

func (e *Entry) load(dir string) (*Exchange, error) {
	a, ok := generated.LookupAPI(e.Key)
	if !ok || !a.Has(e.Version) {
		return nil, tool.Inputf("%s: there is no version %d of API key %d", filepath.Join(dir, ManifestName), e.Version, e.Key)
	}
	x := &Exchange{Pair: tool.Pair{API: a, Version: e.Version}, CorrelationID: e.CorrelationID}
	var err error
	if x.Request, err = e.Request.load(dir); err != nil {
		return nil, err
	}
	x.Response, err = e.Response.load(dir)
	return x, err
}

func (f File) load(dir string) ([]byte, error) {
	if !filepath.IsLocal(f.Name) {
		return nil, tool.Inputf("%s names the file %q, which is not in the folder", filepath.Join(dir, ManifestName), f.Name)
	}
	path := filepath.Join(dir, f.Name)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, tool.Inputf("%s is missing; the manifest lists it", path)
	}
	if err != nil {
		return nil, err
	}
	if _, err := frame.Payload(b); err != nil {
		return nil, tool.Inputf("%s: %w", path, err)
	}
	return b, nil
}
