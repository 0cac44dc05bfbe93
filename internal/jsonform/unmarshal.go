package jsonform

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"

	"kafka-iggy-bridge/internal/wire"
)

// Unmarshal fills the message from JSON. Fields that the version has and that
// are not tagged must be there; fields of other versions may be, so that their
// encoding can be tried. Unknown keys are errors.
func Unmarshal(data []byte, m wire.Message, version int16) error {
	s := m.Schema()
	if version < s.Min || version > s.Max {
		return wire.UnsupportedVersion(s, version)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return fmt.Errorf("%s v%d: %w", s.Name, version, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s v%d: more than one JSON value", s.Name, version)
	}
	m.Reset()
	if err := structure(s.Root, v, reflect.ValueOf(m).Elem(), version); err != nil {
		return fmt.Errorf("%s v%d: %w", s.Name, version, err)
	}
	return nil
}

func structure(s *wire.Struct, src any, dst reflect.Value, version int16) error {
	object, ok := src.(map[string]any)
	if !ok {
		return fmt.Errorf("got %s, want an object", kindOf(src))
	}
	seen := 0
	for i := range s.Fields {
		f := &s.Fields[i]
		v, ok := object[Key(f.Name)]
		if !ok {
			if f.Versions.Contains(version) && !f.Tagged.Contains(version) {
				return fmt.Errorf("%s: missing; it is mandatory in this version", f.Name)
			}
			continue
		}
		seen++
		if err := field(f, v, dst.Field(i), version); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	if seen < len(object) {
		return fmt.Errorf("unknown key %q", unknownKey(s, object))
	}
	return nil
}

func unknownKey(s *wire.Struct, object map[string]any) string {
	known := map[string]bool{}
	for _, f := range s.Fields {
		known[Key(f.Name)] = true
	}
	for k := range object {
		if !known[k] {
			return k
		}
	}
	return ""
}

var errNull = errors.New("null, but not nullable in this version")

func field(f *wire.Field, src any, dst reflect.Value, version int16) error {
	if src == nil {
		return null(f, dst, version)
	}
	if !f.Array {
		return value(f, src, dst, version)
	}
	list, ok := src.([]any)
	if !ok {
		return fmt.Errorf("got %s, want an array", kindOf(src))
	}
	out := reflect.MakeSlice(dst.Type(), len(list), len(list))
	for i, e := range list {
		if e == nil {
			return fmt.Errorf("[%d]: %w", i, errNull)
		}
		if f.Kind == wire.KindStruct {
			out.Index(i).Set(Fresh(out.Index(i).Type()))
		}
		if err := value(f, e, out.Index(i), version); err != nil {
			return fmt.Errorf("[%d]: %w", i, err)
		}
	}
	dst.Set(out)
	return nil
}

// null sets a field to null. Where it can be null in some version, encoding
// decides; elsewhere Go has no null to set.
func null(f *wire.Field, dst reflect.Value, version int16) error {
	if f.Nullable.Max < f.Nullable.Min {
		return errNull
	}
	if f.Versions.Contains(version) && !f.Nullable.Contains(version) {
		return errNull
	}
	dst.SetZero()
	return nil
}

func value(f *wire.Field, src any, dst reflect.Value, version int16) error {
	switch f.Kind {
	case wire.KindStruct:
		if dst.Kind() == reflect.Pointer {
			p := reflect.New(dst.Type().Elem())
			p.Elem().Set(Fresh(dst.Type().Elem()))
			dst.Set(p)
			dst = p.Elem()
		}
		return structure(f.Struct, src, dst, version)
	case wire.KindBool:
		b, ok := src.(bool)
		if !ok {
			return fmt.Errorf("got %s, want true or false", kindOf(src))
		}
		dst.SetBool(b)
		return nil
	case wire.KindFloat64:
		return float(src, dst)
	case wire.KindUUID, wire.KindString, wire.KindBytes, wire.KindRecords:
		return text(f, src, dst)
	default:
		return integer(src, dst)
	}
}

func text(f *wire.Field, src any, dst reflect.Value) error {
	s, ok := src.(string)
	if !ok {
		return fmt.Errorf("got %s, want a string", kindOf(src))
	}
	switch f.Kind {
	case wire.KindUUID:
		u, err := wire.ParseUUID(s)
		if err != nil {
			return err
		}
		dst.Set(reflect.ValueOf(u))
	case wire.KindString:
		if dst.Kind() == reflect.Struct {
			dst.Set(reflect.ValueOf(wire.String(s)))
		} else {
			dst.SetString(s)
		}
	default:
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return fmt.Errorf("%q is not base64: %w", s, err)
		}
		dst.SetBytes(b)
	}
	return nil
}

func integer(src any, dst reflect.Value) error {
	n, ok := src.(json.Number)
	if !ok {
		return fmt.Errorf("got %s, want a number", kindOf(src))
	}
	if dst.CanUint() {
		x, err := strconv.ParseUint(n.String(), 10, dst.Type().Bits())
		if err != nil {
			return fmt.Errorf("%s is no %s", n, dst.Type())
		}
		dst.SetUint(x)
		return nil
	}
	x, err := strconv.ParseInt(n.String(), 10, dst.Type().Bits())
	if err != nil {
		return fmt.Errorf("%s is no %s", n, dst.Type())
	}
	dst.SetInt(x)
	return nil
}

func float(src any, dst reflect.Value) error {
	switch x := src.(type) {
	case json.Number:
		v, err := x.Float64()
		if err != nil {
			return fmt.Errorf("%s is no float64", x)
		}
		dst.SetFloat(v)
		return nil
	case string:
		switch x {
		case "NaN":
			// Java's NaN; Go's own has another bit set.
			dst.SetFloat(math.Float64frombits(0x7ff8000000000000))
			return nil
		case "Infinity", "-Infinity":
			sign := 1
			if strings.HasPrefix(x, "-") {
				sign = -1
			}
			dst.SetFloat(math.Inf(sign))
			return nil
		}
	}
	return fmt.Errorf("got %s, want a number", kindOf(src))
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case json.Number:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "an array"
	default:
		return "an object"
	}
}
