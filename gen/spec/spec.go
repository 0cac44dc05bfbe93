// Package spec reads Kafka's message specs: the JSON files that say which
// fields each message has in which version. It checks them as far as one file
// can be checked by itself; every error names the file and the field.
package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// MessageType is what a spec describes.
type MessageType string

// The message types that occur in Kafka's specs. The two coordinator types
// are the records of the internal topics (keys and values).
const (
	Request          MessageType = "request"
	Response         MessageType = "response"
	Header           MessageType = "header"
	Data             MessageType = "data"
	CoordinatorKey   MessageType = "coordinator-key"
	CoordinatorValue MessageType = "coordinator-value"
)

// Message is one spec file.
type Message struct {
	// File is the name of the file it came from, for errors.
	File string `json:"-"`

	APIKey                *int16      `json:"apiKey"`
	Type                  MessageType `json:"type"`
	Listeners             []string    `json:"listeners"`
	Name                  string      `json:"name"`
	ValidVersions         *Versions   `json:"validVersions"`
	FlexibleVersions      *Versions   `json:"flexibleVersions"`
	LatestVersionUnstable bool        `json:"latestVersionUnstable"`
	Fields                []*Field    `json:"fields"`
	CommonStructs         []*Struct   `json:"commonStructs"`
}

// Field is one field of a message or struct.
type Field struct {
	Name             string          `json:"name"`
	Type             string          `json:"type"`
	Versions         *Versions       `json:"versions"`
	About            string          `json:"about"`
	Fields           []*Field        `json:"fields"`
	Default          json.RawMessage `json:"default"`
	EntityType       string          `json:"entityType"`
	NullableVersions *Versions       `json:"nullableVersions"`
	Ignorable        bool            `json:"ignorable"`
	MapKey           bool            `json:"mapKey"`
	Tag              *int            `json:"tag"`
	TaggedVersions   *Versions       `json:"taggedVersions"`
	ZeroCopy         bool            `json:"zeroCopy"`
	FlexibleVersions *Versions       `json:"flexibleVersions"`
}

// Struct is a struct that several fields of one message share.
type Struct struct {
	Name     string    `json:"name"`
	Versions *Versions `json:"versions"`
	Fields   []*Field  `json:"fields"`
}

// Primitive reports whether typ is one of the types that need no struct.
func Primitive(typ string) bool { return slices.Contains(primitives, typ) }

var primitives = []string{
	"bool", "int8", "int16", "uint16", "int32", "uint32", "int64", "float64",
	"string", "uuid", "bytes", "records",
}

// Elem returns the element type of an array type, and whether typ is one.
func Elem(typ string) (string, bool) { return strings.CutPrefix(typ, "[]") }

// Parse reads one spec, with or without comments. file is used in errors only.
// An attribute that no spec of Kafka's has is an error, so that a new one
// cannot go unnoticed.
func Parse(file string, src []byte) (*Message, error) {
	dec := json.NewDecoder(bytes.NewReader(StripComments(src)))
	dec.DisallowUnknownFields()
	m := &Message{File: file}
	if err := dec.Decode(m); err != nil {
		return nil, fmt.Errorf("%s: at byte %d: %w", file, dec.InputOffset(), err)
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	return m, nil
}

// ParseDir reads every .json file of a folder, in the order of their names.
func ParseDir(dir string) ([]*Message, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: no spec in it; run `make schemas`", dir)
	}
	slices.Sort(files)
	var all []*Message
	seen := map[string]string{}
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		m, err := Parse(filepath.Base(f), src)
		if err != nil {
			return nil, err
		}
		if other, ok := seen[m.Name]; ok {
			return nil, fmt.Errorf("%s: message %s is also in %s", m.File, m.Name, other)
		}
		seen[m.Name] = m.File
		all = append(all, m)
	}
	return all, nil
}
