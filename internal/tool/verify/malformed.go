package verify

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"reflect"
	"unicode/utf8"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/wire"
)

// Malformed is bytes that are odd or wrong, and what Kafka makes of them.
type Malformed struct {
	Message string `json:"message"`
	Version int16  `json:"version"`
	Why     string `json:"why"`
	// Read is "ok" or an error.
	Read string `json:"read"`
	// Left is how many bytes stay behind the message.
	Left int `json:"left"`
	// Rewritten is what the message encodes to; nil where that fails.
	Rewritten *string `json:"rewritten"`
	Hex       string  `json:"hex"`
}

// Name is message, version and what is odd.
func (c *Malformed) Name() string { return fmt.Sprintf("%s v%d, %s", c.Message, c.Version, c.Why) }

// Check decodes the bytes and encodes the message again, and wants what Kafka
// makes of it, with one exception: Kafka puts U+FFFD in the place of bytes that
// are not UTF-8. A proxy must hand on what it was given, so the codec keeps them.
func (c *Malformed) Check() error {
	raw, err := hex.DecodeString(c.Hex)
	if err != nil {
		return fmt.Errorf("hex: %w", err)
	}
	m, ok := generated.NewMessage(c.Message)
	if !ok {
		return fmt.Errorf("there is no message %q", c.Message)
	}
	rest, err := m.Decode(c.Version, raw)
	if c.Read != "ok" {
		if err == nil {
			return fmt.Errorf("decodes; Kafka says %s", c.Read)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("decoding: %w", err)
	}
	if len(rest) != c.Left {
		return fmt.Errorf("decoding leaves %d bytes, want %d", len(rest), c.Left)
	}
	return c.checkRewritten(m, raw[:len(raw)-len(rest)])
}

func (c *Malformed) checkRewritten(m generated.Message, raw []byte) error {
	out, err := m.Append(nil, c.Version)
	if c.Rewritten == nil {
		if err == nil {
			return fmt.Errorf("encodes to %s; in Kafka that fails", excerpt(out))
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("encoding again: %w", err)
	}
	want, err := hex.DecodeString(*c.Rewritten)
	if err != nil {
		return fmt.Errorf("hex: %w", err)
	}
	if !validText(reflect.ValueOf(m).Elem()) {
		want = raw
	}
	if !bytes.Equal(out, want) {
		return fmt.Errorf("encodes again to %s", difference(out, want))
	}
	return nil
}

// ValidText reports whether all strings of a message are UTF-8.
func ValidText(m wire.Message) bool { return validText(reflect.ValueOf(m).Elem()) }

func validText(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return utf8.ValidString(v.String())
	case reflect.Pointer:
		return v.IsNil() || validText(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if !validText(v.Field(i)) {
				return false
			}
		}
	case reflect.Slice:
		if k := v.Type().Elem().Kind(); k != reflect.Struct && k != reflect.String {
			return true
		}
		for i := range v.Len() {
			if !validText(v.Index(i)) {
				return false
			}
		}
	}
	return true
}
