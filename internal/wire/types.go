package wire

import (
	"encoding/base64"
	"fmt"
)

// UUID is a 16-byte identifier in network order. The zero value is Kafka's
// "no id".
type UUID [16]byte

// IsZero reports whether u is the id that means none.
func (u UUID) IsZero() bool { return u == UUID{} }

// String writes u as Kafka's tools do: 22 characters of URL-safe base64.
func (u UUID) String() string { return base64.RawURLEncoding.EncodeToString(u[:]) }

// ParseUUID reads the form that String writes.
func ParseUUID(s string) (UUID, error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) != 16 {
		return UUID{}, fmt.Errorf("uuid %q: want 22 characters of URL-safe base64", s)
	}
	return UUID(b), nil
}

// NullString is a string that may be null. The zero value is null.
type NullString struct {
	S     string
	Valid bool
}

// String returns a NullString that holds s.
func String(s string) NullString { return NullString{S: s, Valid: true} }

// OrEmpty returns the string, and "" for null.
func (n NullString) OrEmpty() string { return n.S }

// RawTag is a tagged field that the schema does not know, kept so that it
// survives decoding and encoding (KIP-482).
type RawTag struct {
	Tag  uint32
	Data []byte
}

// RawTags are the unknown tags of one struct. Almost no struct has any, so the
// zero value, none, takes one word only.
type RawTags struct{ list *[]RawTag }

// All returns the tags in the order in which they were read.
func (t RawTags) All() []RawTag {
	if t.list == nil {
		return nil
	}
	return *t.list
}

// Len is the number of tags.
func (t RawTags) Len() int { return len(t.All()) }

// Set replaces the tags. They are encoded only if their numbers rise.
func (t *RawTags) Set(tags []RawTag) {
	t.list = nil
	if len(tags) > 0 {
		t.list = &tags
	}
}

// Append adds a tag.
func (t *RawTags) Append(tag RawTag) { t.Set(append(t.All(), tag)) }

// Message is what every generated message offers.
type Message interface {
	// Decode reads the message from the front of frame in the given version and
	// returns what is left behind it. What it reads are views of frame.
	Decode(version int16, frame []byte) (rest []byte, err error)
	// Encode appends the message to w in the given version. On an error w holds
	// a part of the message and must not be sent.
	Encode(w *Writer, version int16) error
	// Append appends the message to dst in the given version.
	Append(dst []byte, version int16) ([]byte, error)
	// Reset sets every field to its default.
	Reset()
	// Schema describes the message.
	Schema() *Schema
}
