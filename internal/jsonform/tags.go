package jsonform

import (
	"encoding/hex"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"kafka-iggy-bridge/internal/wire"
)

// Tag is an unknown tag as the vectors write it.
type Tag struct {
	Tag uint32 `json:"tag"`
	Hex string `json:"hex"`
}

// SetTags adds unknown tags to the structs of a message, each named by its JSON
// pointer ("" for the root, "/topics/0" for an element).
func SetTags(m wire.Message, tags map[string][]Tag) error {
	for pointer, list := range tags {
		v, err := find(m, pointer)
		if err != nil {
			return fmt.Errorf("unknown tags at %q: %w", pointer, err)
		}
		field := v.FieldByName("UnknownTags")
		if !field.IsValid() {
			return fmt.Errorf("unknown tags at %q: the struct has no flexible version", pointer)
		}
		raw := field.Addr().Interface().(*wire.RawTags)
		raw.Set(nil)
		for _, t := range list {
			data, err := hex.DecodeString(t.Hex)
			if err != nil {
				return fmt.Errorf("unknown tags at %q: tag %d: %w", pointer, t.Tag, err)
			}
			raw.Append(wire.RawTag{Tag: t.Tag, Data: data})
		}
	}
	return nil
}

// Tags returns the unknown tags of a message's structs by JSON pointer.
func Tags(m wire.Message) map[string][]Tag {
	out := map[string][]Tag{}
	collect(m.Schema().Root, reflect.ValueOf(m).Elem(), "", out)
	return out
}

func collect(s *wire.Struct, v reflect.Value, pointer string, out map[string][]Tag) {
	if f := v.FieldByName("UnknownTags"); f.IsValid() {
		for _, t := range f.Interface().(wire.RawTags).All() {
			out[pointer] = append(out[pointer], Tag{t.Tag, hex.EncodeToString(t.Data)})
		}
	}
	for i := range s.Fields {
		f := &s.Fields[i]
		if f.Struct == nil {
			continue
		}
		at := pointer + "/" + Key(f.Name)
		switch fv := v.Field(i); {
		case f.Array:
			for j := range fv.Len() {
				collect(f.Struct, fv.Index(j), at+"/"+strconv.Itoa(j), out)
			}
		case fv.Kind() == reflect.Pointer:
			if !fv.IsNil() {
				collect(f.Struct, fv.Elem(), at, out)
			}
		default:
			collect(f.Struct, fv, at, out)
		}
	}
}

// find follows a JSON pointer to a struct.
func find(m wire.Message, pointer string) (reflect.Value, error) {
	v, s := reflect.ValueOf(m).Elem(), m.Schema().Root
	if pointer == "" {
		return v, nil
	}
	parts := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for len(parts) > 0 {
		i := indexOf(s, parts[0])
		if i < 0 || s.Fields[i].Struct == nil {
			return v, fmt.Errorf("%s has no struct %q", s.Name, parts[0])
		}
		f := &s.Fields[i]
		v, parts = v.Field(i), parts[1:]
		if f.Array {
			if len(parts) == 0 {
				return v, fmt.Errorf("%s is an array", f.Name)
			}
			j, err := strconv.Atoi(parts[0])
			if err != nil || j < 0 || j >= v.Len() {
				return v, fmt.Errorf("%s has no element %q", f.Name, parts[0])
			}
			v, parts = v.Index(j), parts[1:]
		}
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return v, fmt.Errorf("%s is null", f.Name)
			}
			v = v.Elem()
		}
		s = f.Struct
	}
	return v, nil
}

func indexOf(s *wire.Struct, key string) int {
	for i, f := range s.Fields {
		if Key(f.Name) == key {
			return i
		}
	}
	return -1
}
