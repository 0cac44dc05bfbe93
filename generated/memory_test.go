package generated_test

import (
	"encoding/hex"
	"reflect"
	"runtime"
	"testing"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/wire"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// deepSize is the memory behind a struct in bytes: slices by their capacity,
// without views of the frame and without the slabs that arrays are cut from.
func deepSize(v reflect.Value) int {
	n := 0
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			n = int(v.Elem().Type().Size()) + deepSize(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			n += deepSize(v.Field(i))
		}
	case reflect.Slice:
		elem := v.Type().Elem()
		if elem.Kind() == reflect.Uint8 {
			return 0 // a view
		}
		n = v.Cap() * int(elem.Size())
		if elem.Kind() == reflect.Struct {
			for i := range v.Len() {
				n += deepSize(v.Index(i))
			}
		}
	}
	return n
}

// sizeLimit is how much memory a message may take that was decoded from a frame
// of so many bytes: each byte of it can stand for at most one element, so it is
// the size of the largest struct times the frame.
func sizeLimit(m generated.Message, frame int) int {
	return largest(reflect.TypeOf(m).Elem()) * (frame + 1)
}

// largest returns the size of the largest array element or nullable struct in a
// type. Growing lists of tags may take twice their size.
func largest(t reflect.Type) int {
	n := 2*int(reflect.TypeFor[wire.RawTag]().Size()) + int(reflect.TypeFor[wire.RawTags]().Size())
	for i := range t.NumField() {
		f := t.Field(i).Type
		if f.Kind() != reflect.Slice && f.Kind() != reflect.Pointer {
			if f.Kind() == reflect.Struct {
				n = max(n, largest(f))
			}
			continue
		}
		n = max(n, int(f.Elem().Size()))
		if f.Elem().Kind() == reflect.Struct {
			n = max(n, largest(f.Elem()))
		}
	}
	return n
}

// slabs is what slabs may take beyond what is cut from them, in bytes: for each
// of three kinds of number as much as the frame, and as much again for what is
// left over in them.
const slabs = 6

// overhead is what decoding may allocate for whatever frame, in bytes: errors.
const overhead = 16 << 10

// TestHostileLengths puts the greatest numbers into every place of small
// messages, where some are lengths, and measures what decoding allocates.
// It measures the whole process, so nothing may run in parallel.
func TestHostileLengths(t *testing.T) {
	schemas := schemasOf("request", "response", "header", "data", "coordinator-key", "coordinator-value")
	hostile := [][]byte{{0x7f, 0xff, 0xff, 0xff}, {0x00, 0x0f, 0x42, 0x40}, {0xff, 0xff, 0xff, 0xff, 0x07}, {0xc0, 0x84, 0x3d}, {0x7f, 0xff}}
	eachSeed(t, schemas, func(i int, version int16, frame []byte) {
		if len(frame) > 256 {
			return
		}
		m := newMessage(t, schemas[i].Name)
		limit := uint64(sizeLimit(m, len(frame)) + slabs*len(frame) + overhead)
		for at := range frame {
			changed := append([]byte(nil), frame...)
			copy(changed[at:], hostile[at%len(hostile)])
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := m.Decode(version, changed)
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > limit {
				t.Errorf("%s v%d: %d bytes changed at %d allocate %d bytes, more than %d (%v)", schemas[i].Name, version, len(frame), at, took, limit, err)
				return
			}
		}
	})
}
