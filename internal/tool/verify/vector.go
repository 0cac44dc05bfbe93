package verify

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/jsonform"
)

// Vector is a message in bytes and in JSON.
type Vector struct {
	Message string `json:"message"`
	Version int16  `json:"version"`
	Case    string `json:"case"`
	// JSON is the message in the form of Kafka's JsonConverter.
	JSON json.RawMessage `json:"json"`
	// UnknownTags are those of its structs, by JSON pointer.
	UnknownTags map[string][]jsonform.Tag `json:"unknownTags"`
	Hex         string                    `json:"hex"`
}

// Name is message, version and case.
func (v *Vector) Name() string { return fmt.Sprintf("%s v%d %s", v.Message, v.Version, v.Case) }

// Check goes both ways: the bytes decode, leave nothing behind, encode to
// themselves and give the JSON; the JSON encodes to the bytes. No part of a
// dense message, one with every field set, may pass for a whole one.
func (v *Vector) Check() error {
	raw, err := hex.DecodeString(v.Hex)
	if err != nil {
		return fmt.Errorf("hex: %w", err)
	}
	m, ok := generated.NewMessage(v.Message)
	if !ok {
		return fmt.Errorf("there is no message %q", v.Message)
	}
	var f faults
	v.checkBytes(&f, m, raw)
	v.checkJSON(&f, raw)
	if v.Case == "dense" && len(f) == 0 {
		v.checkPrefixes(&f, raw)
	}
	return f.err()
}

// checkBytes goes from bytes to message, and from there to bytes and JSON.
func (v *Vector) checkBytes(f *faults, m generated.Message, raw []byte) {
	rest, err := m.Decode(v.Version, raw)
	if err != nil {
		f.add("decoding: %w", err)
		return
	}
	if len(rest) > 0 {
		f.add("decoding leaves %d bytes", len(rest))
	}
	if out, err := m.Append(nil, v.Version); err != nil {
		f.add("encoding what was decoded: %w", err)
	} else if !bytes.Equal(out, raw) {
		f.add("what was decoded encodes to %s", difference(out, raw))
	}
	text, err := jsonform.Marshal(m, v.Version)
	if err != nil {
		f.add("writing JSON: %w", err)
	} else if same, err := SameJSON(text, v.JSON); err != nil {
		f.add("comparing JSON: %w", err)
	} else if !same {
		f.add("JSON is %s, want %s", text, v.JSON)
	}
	if tags := jsonform.Tags(m); !maps.EqualFunc(tags, v.UnknownTags, slices.Equal) {
		f.add("unknown tags are %v, want %v", tags, v.UnknownTags)
	}
}

// checkJSON goes from JSON to bytes.
func (v *Vector) checkJSON(f *faults, raw []byte) {
	m, _ := generated.NewMessage(v.Message)
	if err := jsonform.Unmarshal(v.JSON, m, v.Version); err != nil {
		f.add("reading JSON: %w", err)
		return
	}
	if err := jsonform.SetTags(m, v.UnknownTags); err != nil {
		f.add("reading JSON: %w", err)
		return
	}
	if out, err := m.Append(nil, v.Version); err != nil {
		f.add("encoding from JSON: %w", err)
	} else if !bytes.Equal(out, raw) {
		f.add("JSON encodes to %s", difference(out, raw))
	}
}

// maxCuts is how many prefixes of a message are tried. Beyond it every so many
// bytes one is, as all of them would take quadratic time.
const maxCuts = 16 << 10

func (v *Vector) checkPrefixes(f *faults, raw []byte) {
	m, _ := generated.NewMessage(v.Message)
	for cut := 0; cut < len(raw); cut += 1 + len(raw)/maxCuts {
		if _, err := m.Decode(v.Version, raw[:cut]); err == nil {
			f.add("the first %d of %d bytes decode", cut, len(raw))
			return
		}
	}
}

// shown is how many bytes of a difference are printed.
const shown = 48

// difference describes bytes that are not those wanted, from where they differ.
func difference(got, want []byte) string {
	at := 0
	for at < len(got) && at < len(want) && got[at] == want[at] {
		at++
	}
	return fmt.Sprintf("%d bytes, want %d; from byte %d on %s, want %s", len(got), len(want), at, excerpt(got[at:]), excerpt(want[at:]))
}

func excerpt(b []byte) string {
	switch {
	case len(b) == 0:
		return "nothing"
	case len(b) > shown:
		return hex.EncodeToString(b[:shown]) + "…"
	default:
		return hex.EncodeToString(b)
	}
}
