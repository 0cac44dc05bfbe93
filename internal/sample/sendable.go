package sample

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"kafka-iggy-bridge/internal/wire"
)

// sendable fills a field of a request that is to be sent to a server.
func (f *filler) sendable(s *wire.Struct, slot wire.Slot, dst reflect.Value, depth int) {
	if slot.Tagged {
		return
	}
	api := strings.TrimSuffix(f.schema.Name, "Request")
	name := slot.Field.Name
	name = strings.ToUpper(name[:1]) + name[1:]
	if want, ok := lookup(api, name, f.version); ok {
		f.apply(want, slot, dst)
		return
	}
	switch {
	case slices.Contains(mostlyDefault, api):
	case namesTopic(s, name) && slot.Field.Kind == wire.KindString:
		f.apply(f.topic(api), slot, dst)
	case slot.Field.Array:
		f.array(slot.Field, dst, 1, depth)
	default:
		f.sendableValue(slot.Field, dst, depth)
	}
}

// lookup finds the rule for a field: that of the API, or the general one.
func lookup(api, name string, version int16) (any, bool) {
	want, ok := rules[api+"."+name]
	if !ok {
		want, ok = rules[name]
	}
	if b, limited := want.(before); limited {
		return b.rule, version < b.version
	}
	return want, ok
}

func namesTopic(s *wire.Struct, field string) bool {
	return strings.HasSuffix(field, "Topic") || strings.HasPrefix(field, "TopicName") || field == "SubscribedTopicNames" ||
		field == "Name" && strings.Contains(s.Name, "Topic")
}

// topic is the topic that a request of the API names.
func (f *filler) topic(api string) string {
	if slices.Contains(harmless, api) {
		return f.opts.Topic
	}
	return "kafka-tool-absent-" + f.name(12)
}

// apply sets what a rule says.
func (f *filler) apply(want any, slot wire.Slot, dst reflect.Value) {
	switch want.(type) {
	case keep:
		return
	case null:
		if slot.Nullable {
			dst.SetZero()
		}
		return
	case empty:
		dst.Set(reflect.MakeSlice(dst.Type(), 0, 0))
		return
	}
	if !slot.Field.Array {
		f.set(want, dst)
		return
	}
	out := reflect.MakeSlice(dst.Type(), 1, 1)
	f.set(want, out.Index(0))
	dst.Set(out)
}

func (f *filler) set(want any, dst reflect.Value) {
	switch want := want.(type) {
	case int:
		if dst.CanUint() {
			dst.SetUint(uint64(want))
			return
		}
		dst.SetInt(int64(want))
	case float64:
		dst.SetFloat(want)
	case bool:
		dst.SetBool(want)
	case string:
		setString(dst, want)
	case []byte:
		dst.SetBytes(want)
	case wire.UUID:
		dst.Set(reflect.ValueOf(want))
	case batch:
		dst.SetBytes(f.produced())
	default:
		panic(fmt.Sprintf("sample: a rule of type %T", want))
	}
}

// sendableValue sets what no rule speaks of: names and ids made up, numbers 0.
func (f *filler) sendableValue(field *wire.Field, dst reflect.Value, depth int) {
	switch field.Kind {
	case wire.KindStruct:
		f.structure(field.Struct, fresh(dst), depth+1)
	case wire.KindString:
		setString(dst, "kt-"+f.name(12))
	case wire.KindUUID:
		u := wire.UUID(f.noise(16))
		u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80 // a random UUID of RFC 9562
		dst.Set(reflect.ValueOf(u))
	case wire.KindBytes:
		dst.SetBytes(f.noise(8))
	default:
		dst.SetZero()
	}
}
