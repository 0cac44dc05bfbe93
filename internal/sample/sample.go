// Package sample fills messages with values, the same ones for the same seed:
// for tests that need any message of a version, and for tools that need a
// request that a server can take.
//
// It reads the descriptions that every message has and knows no message by its
// type.
package sample

import (
	"math/rand/v2"
	"reflect"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/wire"
)

// DefaultElements is how many array elements a message gets at most where
// Options do not say.
const DefaultElements = 200

// Options say what a message is filled with. The zero value stands for anything
// that the version can hold, without unknown tags.
type Options struct {
	// Sendable fills a request with what a server can answer at once and what
	// changes nothing of value in it: legal names, one element per array, short
	// waits, acks of -1, "validate only" wherever there is such a field. Tagged
	// fields stay at their defaults. See Topic.
	Sendable bool
	// Topic is the topic that sendable requests name where they only read or
	// append: "kafka-tool" when empty. Those that delete or alter name others.
	Topic string
	// RawRecords puts any bytes where record batches belong.
	RawRecords bool
	// UnknownTags adds tagged fields that the schema does not know, their
	// numbers rising, to structs of flexible versions.
	UnknownTags bool
	// Elements bounds the number of array elements in the message; 0 stands
	// for DefaultElements.
	Elements int
}

// NewRand returns the source of values of a seed and a purpose, such as an API
// key and a version, so that what one message gets does not hang on which
// others were filled before.
func NewRand(seed, purpose uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, purpose)) }

// Fill sets all fields that the message has in the version, and the others to
// their defaults. The result encodes in that version. The error says that there
// is no such version, or that a record batch could not be built.
func Fill(m wire.Message, version int16, rng *rand.Rand, opts Options) error {
	s := m.Schema()
	if version < s.Min || version > s.Max {
		return wire.UnsupportedVersion(s, version)
	}
	if opts.Elements == 0 {
		opts.Elements = DefaultElements
	}
	if opts.Topic == "" {
		opts.Topic = "kafka-tool"
	}
	m.Reset()
	f := filler{Rand: rng, opts: opts, schema: s, version: version, left: opts.Elements}
	f.structure(s.Root, reflect.ValueOf(m).Elem(), 0)
	return f.err
}

// filler fills one message.
type filler struct {
	*rand.Rand
	opts    Options
	schema  *wire.Schema
	version int16
	// left is how many elements the message may still get.
	left int
	err  error
}

func (f *filler) structure(s *wire.Struct, v reflect.Value, depth int) {
	for _, slot := range s.Layout(f.version) {
		dst := v.Field(slot.Index)
		if f.opts.Sendable {
			f.sendable(s, slot, dst, depth)
			continue
		}
		if slot.Tagged && f.one(2) {
			continue
		}
		f.field(slot, dst, depth)
	}
	if f.opts.UnknownTags && f.schema.Flexible(f.version) && f.one(3) {
		v.FieldByName("UnknownTags").Addr().Interface().(*wire.RawTags).Set(f.unknownTags(s))
	}
}

// one is true once in n times.
func (f *filler) one(n int) bool { return f.IntN(n) == 0 }

func (f *filler) field(slot wire.Slot, dst reflect.Value, depth int) {
	if slot.Nullable && f.one(5) {
		dst.SetZero()
		return
	}
	if !slot.Field.Array {
		f.value(slot.Field, dst, depth)
		return
	}
	f.array(slot.Field, dst, f.count(slot.Field, depth), depth)
}

// array sets n elements, or as many as the message may still get.
func (f *filler) array(field *wire.Field, dst reflect.Value, n, depth int) {
	n = min(n, f.left)
	f.left -= n
	out := reflect.MakeSlice(dst.Type(), n, n)
	for i := range n {
		if f.opts.Sendable {
			f.sendableValue(field, out.Index(i), depth)
		} else {
			f.value(field, out.Index(i), depth)
		}
	}
	dst.Set(out)
}

// count chooses the length of an array: none, one, several, and for numbers now
// and then more than one varint byte can say.
func (f *filler) count(field *wire.Field, depth int) int {
	switch x := f.IntN(40); {
	case x < 8:
		return 0
	case x < 22 || depth > 3:
		return 1
	case x == 39 && field.Kind != wire.KindStruct:
		return 126 + f.IntN(4)
	default:
		return 2 + f.IntN(3)
	}
}

func (f *filler) value(field *wire.Field, dst reflect.Value, depth int) {
	switch field.Kind {
	case wire.KindStruct:
		f.structure(field.Struct, fresh(dst), depth+1)
	case wire.KindBool:
		dst.SetBool(f.one(2))
	case wire.KindUint16:
		dst.SetUint(uint64(f.integer(16)) & 0xffff)
	case wire.KindFloat64:
		dst.SetFloat(f.float())
	case wire.KindUUID:
		dst.Set(reflect.ValueOf(f.uuid()))
	case wire.KindString:
		setString(dst, f.text())
	case wire.KindBytes:
		dst.SetBytes(f.bytes())
	case wire.KindRecords:
		dst.SetBytes(f.records())
	default:
		dst.SetInt(f.integer(dst.Type().Bits()))
	}
}

// fresh puts a struct with its spec's defaults where dst is, behind a new
// pointer where dst is one, and returns it.
func fresh(dst reflect.Value) reflect.Value {
	if dst.Kind() == reflect.Pointer {
		dst.Set(reflect.New(dst.Type().Elem()))
		dst = dst.Elem()
	}
	dst.Set(reflect.ValueOf(generated.Defaults[dst.Type()]()))
	return dst
}

// setString sets a string, nullable or not.
func setString(dst reflect.Value, s string) {
	if dst.Kind() == reflect.Struct {
		dst.Set(reflect.ValueOf(wire.String(s)))
		return
	}
	dst.SetString(s)
}
