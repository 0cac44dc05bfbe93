// Package convert turns messages from bytes into JSON and back, with or without
// their headers.
//
// The JSON is that of Kafka's JsonConverter classes, which has no place for
// tagged fields that the schema does not know. Where those are to be kept, a
// message is an envelope, {"json": …, "unknownTags": {"/topics/0": [{"tag": 7,
// "hex": "00ff"}]}}, with the tags of each struct by JSON pointer. With a header,
// the JSON is {"header": …, "body": …}, each of them bare or an envelope.
package convert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/jsonform"
	"kafka-iggy-bridge/internal/tool"
	"kafka-iggy-bridge/internal/tool/frame"
	"kafka-iggy-bridge/internal/tool/verify"
	"kafka-iggy-bridge/internal/wire"
)

// Form says what bytes and JSON hold.
type Form struct {
	// Message is the name of a spec, such as "FetchRequest", in any case.
	Message string
	Version int16
	// Header says that a header stands before the message, which must be a
	// request or a response.
	Header bool
	// Frame says that four bytes of size stand before the header.
	Frame bool
	// Tags writes envelopes. When reading JSON they are always recognised.
	Tags bool
}

// part is a message with its version: a header or a body.
type part struct {
	message generated.Message
	version int16
}

// parts returns the messages that the form consists of, body last.
func (f Form) parts() ([]part, error) {
	i := slices.IndexFunc(generated.Schemas(), func(s *wire.Schema) bool { return strings.EqualFold(s.Name, f.Message) })
	if i < 0 {
		return nil, tool.Inputf("there is no message %q; names are such as FetchRequest", f.Message)
	}
	s := generated.Schemas()[i]
	if s.Max < s.Min {
		return nil, tool.Inputf("%s has no versions: Kafka removed it", s.Name)
	}
	if f.Version < s.Min || f.Version > s.Max {
		return nil, tool.Inputf("%s has no version %d; it has %d to %d", s.Name, f.Version, s.Min, s.Max)
	}
	body, _ := generated.NewMessage(s.Name)
	if !f.Header {
		if f.Frame {
			return nil, tool.Inputf("a frame holds a header: give both or neither")
		}
		return []part{{body, f.Version}}, nil
	}
	a, ok := generated.LookupAPI(s.APIKey)
	switch {
	case ok && s.Type == "request":
		h := generated.DefaultRequestHeader()
		return []part{{&h, a.RequestHeaderVersion(f.Version)}, {body, f.Version}}, nil
	case ok && s.Type == "response":
		h := generated.DefaultResponseHeader()
		return []part{{&h, a.ResponseHeaderVersion(f.Version)}, {body, f.Version}}, nil
	}
	return nil, tool.Inputf("%s is neither a request nor a response, so it has no header", s.Name)
}

// checkHeader makes sure that a request's header announces the body.
func checkHeader(parts []part) error {
	h, ok := parts[0].message.(*generated.RequestHeader)
	if !ok || len(parts) == 1 {
		return nil
	}
	s, version := parts[1].message.Schema(), parts[1].version
	if h.RequestApiKey != s.APIKey || h.RequestApiVersion != version {
		return tool.Inputf("the header announces API key %d version %d, but %s v%d has key %d",
			h.RequestApiKey, h.RequestApiVersion, s.Name, version, s.APIKey)
	}
	return nil
}

// Decode returns the JSON of bytes, and notes on what the JSON does not show:
// unknown tags without envelopes, bytes behind the message, text that is not
// UTF-8. The error is tool.ErrInput.
func Decode(f Form, raw []byte) (text []byte, notes []string, err error) {
	parts, err := f.parts()
	if err != nil {
		return nil, nil, err
	}
	rest := raw
	if f.Frame {
		if rest, err = frame.Payload(raw); err != nil {
			return nil, nil, tool.Inputf("%w", err)
		}
	}
	var out [][]byte
	for _, p := range parts {
		if rest, err = p.message.Decode(p.version, rest); err != nil {
			return nil, nil, tool.Inputf("%w", err)
		}
		text, more, err := marshal(p, f.Tags)
		if err != nil {
			return nil, nil, tool.Inputf("%w", err)
		}
		out, notes = append(out, text), append(notes, more...)
	}
	if err := checkHeader(parts); err != nil {
		return nil, nil, err
	}
	if len(rest) > 0 {
		notes = append(notes, fmt.Sprintf("%d bytes are left behind the message", len(rest)))
	}
	if !f.Header {
		return out[0], notes, nil
	}
	return fmt.Appendf(nil, `{"header":%s,"body":%s}`, out[0], out[1]), notes, nil
}

// envelope is a message with the tags that its JSON has no place for.
type envelope struct {
	JSON        json.RawMessage           `json:"json"`
	UnknownTags map[string][]jsonform.Tag `json:"unknownTags,omitempty"`
}

func marshal(p part, tags bool) (text []byte, notes []string, err error) {
	name := p.message.Schema().Name
	if text, err = jsonform.Marshal(p.message, p.version); err != nil {
		return nil, nil, err
	}
	if !verify.ValidText(p.message) {
		notes = append(notes, fmt.Sprintf("%s holds text that is not UTF-8, shown with U+FFFD", name))
	}
	unknown := jsonform.Tags(p.message)
	if !tags {
		n := 0
		for _, t := range unknown {
			n += len(t)
		}
		if n > 0 {
			notes = append(notes, fmt.Sprintf("%s holds %d unknown tags, which are not shown; --tags shows them", name, n))
		}
		return text, notes, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err = enc.Encode(envelope{JSON: text, UnknownTags: unknown})
	return bytes.TrimSpace(b.Bytes()), notes, err
}

// Encode returns the bytes of JSON. The error is tool.ErrInput.
func Encode(f Form, text []byte) ([]byte, error) {
	parts, err := f.parts()
	if err != nil {
		return nil, err
	}
	texts := []json.RawMessage{text}
	if f.Header {
		var both struct {
			Header json.RawMessage `json:"header"`
			Body   json.RawMessage `json:"body"`
		}
		if err := strict(text, &both); err != nil || both.Header == nil || both.Body == nil {
			return nil, tool.Inputf(`with a header the JSON must be {"header": …, "body": …}%s`, because(err))
		}
		texts = []json.RawMessage{both.Header, both.Body}
	}
	var out []byte
	if f.Frame {
		out = make([]byte, frame.SizeBytes)
	}
	for i, p := range parts {
		if err := unmarshal(p, texts[i]); err != nil {
			return nil, tool.Inputf("%w", err)
		}
		if out, err = p.message.Append(out, p.version); err != nil {
			return nil, tool.Inputf("%w", err)
		}
	}
	if err := checkHeader(parts); err != nil {
		return nil, err
	}
	if f.Frame {
		frame.PutSize(out)
	}
	return out, nil
}

func unmarshal(p part, text []byte) error {
	var e envelope
	if strict(text, &e) != nil || e.JSON == nil {
		// No envelope: no message has a field "json".
		return jsonform.Unmarshal(text, p.message, p.version)
	}
	if err := jsonform.Unmarshal(e.JSON, p.message, p.version); err != nil {
		return err
	}
	return jsonform.SetTags(p.message, e.UnknownTags)
}

// strict reads one JSON value without fields that dst lacks.
func strict(text []byte, dst any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(dst); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}
