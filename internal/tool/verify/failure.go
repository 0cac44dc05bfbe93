package verify

import (
	"bytes"
	"encoding/json"
	"fmt"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/jsonform"
)

// Failure is a sound message in JSON with one field set that its version does
// not have, or to null where that is not allowed.
type Failure struct {
	Message string `json:"message"`
	Version int16  `json:"version"`
	// Field is the JSON pointer of the field.
	Field string `json:"field"`
	// Kind is "absent" or "null".
	Kind string `json:"kind"`
	// Expect is "fail", or "ignored" where the field is left out.
	Expect string `json:"expect"`
	// Value is what the field is set to.
	Value json.RawMessage `json:"value"`
	Base  json.RawMessage `json:"base"`
}

// Name is message, version, field and kind.
func (f *Failure) Name() string {
	return fmt.Sprintf("%s v%d %s %s", f.Message, f.Version, f.Field, f.Kind)
}

// Check encodes the message with the field set: an error, or the bytes of the
// message without it.
func (f *Failure) Check() error {
	base, err := f.message(f.Base)
	if err != nil {
		return fmt.Errorf("the sound message: %w", err)
	}
	want, err := base.Append(nil, f.Version)
	if err != nil {
		return fmt.Errorf("the sound message: %w", err)
	}
	src, err := replace(f.Base, f.Field, f.Value)
	if err != nil {
		return err
	}
	changed, err := f.message(src)
	if err != nil {
		// Null cannot even be put where Go has none. Fields of other versions
		// can be set in any case, so that their encoding is really tried.
		if f.Kind == "null" && f.Expect == "fail" {
			return nil
		}
		return fmt.Errorf("reading JSON with the field: %w", err)
	}
	out, err := changed.Append(nil, f.Version)
	return f.judge(out, want, err)
}

func (f *Failure) judge(out, want []byte, err error) error {
	switch {
	case f.Expect == "fail" && err == nil:
		return fmt.Errorf("encodes to %s, want an error", excerpt(out))
	case f.Expect == "fail":
		return nil
	case f.Expect != "ignored":
		return fmt.Errorf("expect is %q, which is neither fail nor ignored", f.Expect)
	case err != nil:
		return fmt.Errorf("want the field to be ignored: %w", err)
	case !bytes.Equal(out, want):
		return fmt.Errorf("with the ignored field it encodes to %s", difference(out, want))
	}
	return nil
}

func (f *Failure) message(src []byte) (generated.Message, error) {
	m, ok := generated.NewMessage(f.Message)
	if !ok {
		return nil, fmt.Errorf("there is no message %q", f.Message)
	}
	return m, jsonform.Unmarshal(src, m, f.Version)
}
