// Package jsonform converts messages to and from JSON in the form of Kafka's
// JsonConverter classes: fields in the order of the spec under their names with
// a small first letter, bytes and records in base64, ids in URL-safe base64 of
// 22 characters, int64 as bare numbers, tagged fields left out at their default.
package jsonform

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"kafka-iggy-bridge/internal/wire"
)

// Marshal returns the message as JSON in the given version. Fields that the
// version lacks are left out.
func Marshal(m wire.Message, version int16) ([]byte, error) {
	s := m.Schema()
	if version < s.Min || version > s.Max {
		return nil, wire.UnsupportedVersion(s, version)
	}
	e := encoder{version: version}
	if err := e.structure(s.Root, reflect.ValueOf(m).Elem()); err != nil {
		return nil, fmt.Errorf("%s v%d: %w", s.Name, version, err)
	}
	return e.out.Bytes(), nil
}

// Key is a field's name in JSON.
func Key(name string) string { return strings.ToLower(name[:1]) + name[1:] }

type encoder struct {
	out     bytes.Buffer
	version int16
}

func (e *encoder) structure(s *wire.Struct, v reflect.Value) error {
	e.out.WriteByte('{')
	first := true
	for i := range s.Fields {
		f := &s.Fields[i]
		if !f.Versions.Contains(e.version) {
			continue
		}
		if f.Tagged.Contains(e.version) && isDefault(f, v, i) {
			continue
		}
		if !first {
			e.out.WriteByte(',')
		}
		first = false
		e.text(Key(f.Name))
		e.out.WriteByte(':')
		if err := e.field(f, v.Field(i)); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	e.out.WriteByte('}')
	return nil
}

// isDefault compares a field with that of a fresh struct.
func isDefault(f *wire.Field, parent reflect.Value, i int) bool {
	v, def := parent.Field(i), freshField(parent, i)
	if f.Array || f.Kind == wire.KindBytes {
		return v.Len() == def.Len() && v.IsNil() == def.IsNil() && v.Len() == 0
	}
	return reflect.DeepEqual(v.Interface(), def.Interface())
}

func (e *encoder) field(f *wire.Field, v reflect.Value) error {
	if !f.Array {
		return e.value(f, v)
	}
	if v.IsNil() && f.Nullable.Contains(e.version) {
		e.out.WriteString("null")
		return nil
	}
	e.out.WriteByte('[')
	for i := range v.Len() {
		if i > 0 {
			e.out.WriteByte(',')
		}
		if err := e.value(f, v.Index(i)); err != nil {
			return fmt.Errorf("[%d]: %w", i, err)
		}
	}
	e.out.WriteByte(']')
	return nil
}

func (e *encoder) value(f *wire.Field, v reflect.Value) error {
	switch f.Kind {
	case wire.KindStruct:
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				e.out.WriteString("null")
				return nil
			}
			v = v.Elem()
		}
		return e.structure(f.Struct, v)
	case wire.KindBool:
		e.out.WriteString(strconv.FormatBool(v.Bool()))
	case wire.KindUint16:
		e.out.WriteString(strconv.FormatUint(v.Uint(), 10))
	case wire.KindFloat64:
		e.float(v.Float())
	case wire.KindUUID:
		e.text(v.Interface().(wire.UUID).String())
	case wire.KindString:
		if n, ok := v.Interface().(wire.NullString); ok {
			if !n.Valid {
				e.out.WriteString("null")
				return nil
			}
			e.text(n.S)
			return nil
		}
		e.text(v.String())
	case wire.KindBytes, wire.KindRecords:
		if v.IsNil() && f.Nullable.Contains(e.version) {
			e.out.WriteString("null")
			return nil
		}
		e.text(base64.StdEncoding.EncodeToString(v.Bytes()))
	default:
		e.out.WriteString(strconv.FormatInt(v.Int(), 10))
	}
	return nil
}

// float writes a number; what JSON has no number for becomes a string, as in
// Kafka's tools.
func (e *encoder) float(x float64) {
	switch {
	case math.IsNaN(x):
		e.text("NaN")
	case math.IsInf(x, 1):
		e.text("Infinity")
	case math.IsInf(x, -1):
		e.text("-Infinity")
	case x == 0 && math.Signbit(x):
		e.out.WriteString("-0.0")
	default:
		e.out.WriteString(strconv.FormatFloat(x, 'g', -1, 64))
	}
}

func (e *encoder) text(s string) {
	enc := json.NewEncoder(&e.out)
	enc.SetEscapeHTML(false)
	// Encoding a string into a buffer cannot fail.
	_ = enc.Encode(s)
	e.out.Truncate(e.out.Len() - 1)
}
