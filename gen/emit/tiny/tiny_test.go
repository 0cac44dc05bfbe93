package tiny

import (
	"encoding/hex"
	"math"
	"strings"
	"testing"

	"kafka-iggy-bridge/internal/wire"
)

// join concatenates hex with blanks and comments: everything behind # on a line.
func join(t *testing.T, text string) []byte {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		b.WriteString(strings.Join(strings.Fields(line), ""))
	}
	raw, err := hex.DecodeString(b.String())
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// full returns a message with every field of a version set.
func full(version int16) TinyShapes {
	m := DefaultTinyShapes()
	m.Flag, m.Tiny, m.Port, m.Limit, m.Ratio = false, -2, 65535, 7, math.Copysign(0, -1)
	m.Name = wire.String("né")
	m.Blob, m.Log = []byte{1}, []byte{2, 3}
	m.Numbers, m.Words = []int32{-1, 2}, []string{"a", ""}
	item := DefaultTinyShapesItem()
	item.Key, item.Inner.Version = "k", 9
	m.Items = []TinyShapesItem{item}
	m.Maybe = &TinyShapesShared{Version: 4}
	if version == 1 {
		m.Dropped = 3
	} else {
		m.Epoch = 6
	}
	if version >= 3 {
		m.Maybe.Type, m.Items[0].Inner.Type = 8, 8
		m.Cursor = wire.String("c")
	}
	if version >= 4 {
		m.Id = wire.UUID{15: 1}
		m.Extra.Offset = 1
	}
	return m
}

// wireForms are the bytes of full, by version.
var wireForms = map[int16]string{
	1: `00 fe ffff 0000000000000007 8000000000000000 # flag, tiny, port, limit, ratio: -0.0 keeps its bits
		0003 6ec3a9            # name: length in bytes
		0003                   # dropped
		00000001 01  00000002 0203   # blob, log
		00000002 ffffffff 00000002   # numbers
		00000002 0001 61 0000        # words
		00000001 0001 6b 00000005 0009   # items: key, size at its default, inner
		0004                   # maybe: not nullable here, so no marker`,
	2: `00 fe ffff 00000006 0000000000000007 8000000000000000
		0003 6ec3a9  00000001 01  00000002 0203
		00000002 ffffffff 00000002  00000002 0001 61 0000
		00000001 0001 6b 00000005 0009
		01 0004                # maybe: nullable now, a marker in front`,
	3: `00 fe ffff 00000006 0000000000000007 8000000000000000
		04 6ec3a9  02 01  03 0203     # compact: length + 1
		03 ffffffff 00000002  03 02 61 01
		02 02 6b 00000005 0009 08 00 00   # tags end the inner struct, then the item
		01 0004 08 00
		01 00 02 02 63         # one tag: 0, two bytes, cursor`,
	4: `00 fe ffff 00000006 0000000000000007 8000000000000000
		00000000000000000000000000000001
		04 6ec3a9  02 01  03 0203
		03 ffffffff 00000002  03 02 61 01
		02 02 6b 00000005 0009 08 00 00
		01 0004 08 00
		02 00 02 02 63 01 0a 0000000000000001 01 00   # tag 1: a struct with tags of its own`,
}

func TestWireForms(t *testing.T) {
	t.Parallel()
	for version, text := range wireForms {
		want := join(t, text)
		m := full(version)
		got, err := m.Append(nil, version)
		if err != nil || string(got) != string(want) {
			t.Errorf("v%d encodes to\n%x, want\n%x (%v)", version, got, want, err)
		}
		var back TinyShapes
		rest, err := back.Decode(version, append(want, 0xee))
		if err != nil || len(rest) != 1 {
			t.Errorf("v%d: decode: %v, %d bytes left, want the 1 behind it", version, err, len(rest))
			continue
		}
		if again, err := back.Append(nil, version); err != nil || string(again) != string(want) {
			t.Errorf("v%d decodes and encodes to\n%x, want\n%x (%v)", version, again, want, err)
		}
		for cut := range want {
			if _, err := back.Decode(version, want[:cut]); err == nil {
				t.Errorf("v%d: the first %d bytes decode", version, cut)
			}
		}
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	m := DefaultTinyShapes()
	switch {
	case !m.Flag:
		t.Error("a bool's default of true is lost")
	case m.Limit != math.MaxInt64:
		t.Error("an int64 above 2^53 in hex is read wrongly")
	case m.Epoch != -1:
		t.Error("a default in a string is lost")
	case DefaultTinyShapesItem().Size != 5:
		t.Error("a default that is a JSON number is lost")
	case m.Blob != nil:
		t.Error("a default of null is not null")
	case m.Log != nil:
		t.Error("records are null until set")
	case !m.Name.Valid || m.Items == nil:
		t.Error("what is nullable without a default of null begins empty, not null")
	case m.Cursor.Valid || m.Maybe != nil:
		t.Error("null defaults of strings and structs are lost")
	case m.Extra.Offset != -1:
		t.Error("defaults of a struct's fields are lost")
	}
	// Fields that a version lacks come back at their defaults, not at zero.
	var back TinyShapes
	one := full(1)
	raw, err := one.Append(nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := back.Decode(1, raw); err != nil || back.Epoch != -1 || back.Extra.Offset != -1 || back.Cursor.Valid {
		t.Errorf("absent fields: epoch %d, extra %d, cursor %v (%v)", back.Epoch, back.Extra.Offset, back.Cursor, err)
	}
}

func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why     string
		version int16
		change  func(*TinyShapes)
		path    string // "" where it is fine
	}{
		{"a dropped field that is not ignorable", 2, func(m *TinyShapes) { m.Dropped = 1 }, "Dropped"},
		{"an ignorable field that the version lacks", 1, func(m *TinyShapes) { m.Epoch = 4 }, ""},
		{"an ignorable field at its default, which is not zero", 1, func(m *TinyShapes) { m.Epoch = -1 }, ""},
		{"null where the version has no null yet", 1, func(m *TinyShapes) { m.Name = wire.NullString{} }, "Name"},
		{"null where the version has it", 2, func(m *TinyShapes) { m.Name = wire.NullString{} }, ""},
		{"a null array where the version has no null yet", 1, func(m *TinyShapes) { m.Items = nil }, "Items"},
		{"a null struct where the version has no null yet", 1, func(m *TinyShapes) { m.Maybe = nil }, "Maybe"},
		{"a tagged field that the version lacks", 2, func(m *TinyShapes) { m.Cursor = wire.String("") }, "Cursor"},
		{"a tagged struct that the version lacks", 3, func(m *TinyShapes) { m.Extra.Notes = []string{"x"} }, "Extra"},
		{"unknown tags in a version that is not flexible", 2, func(m *TinyShapes) { m.UnknownTags.Append(wire.RawTag{Tag: 9}) }, "tags"},
		{"unknown tags that fall", 4, func(m *TinyShapes) { m.UnknownTags.Set([]wire.RawTag{{Tag: 9}, {Tag: 8}}) }, "tags"},
		{"an unknown tag twice", 4, func(m *TinyShapes) { m.UnknownTags.Set([]wire.RawTag{{Tag: 9}, {Tag: 9}}) }, "tags"},
		{"an unknown tag that the schema defines", 4, func(m *TinyShapes) { m.UnknownTags.Append(wire.RawTag{Tag: 1}) }, "tags"},
		{"unknown tags that rise", 4, func(m *TinyShapes) { m.UnknownTags.Set([]wire.RawTag{{Tag: 2}, {Tag: 300}}) }, ""},
		{"a string of 32,767 bytes", 1, func(m *TinyShapes) { m.Words[0] = strings.Repeat("x", 32767) }, ""},
		{"a string of 32,768 bytes, fixed form", 1, func(m *TinyShapes) { m.Words[0] = strings.Repeat("x", 32768) }, "Words[0]"},
		{"a string of 32,768 bytes, compact form", 3, func(m *TinyShapes) { m.Items[0].Key = strings.Repeat("x", 32768) }, "Items[0].Key"},
	} {
		m := full(c.version)
		c.change(&m)
		_, err := m.Append(nil, c.version)
		if c.path == "" {
			if err != nil {
				t.Errorf("%s: %v", c.why, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), ": "+c.path+": ") {
			t.Errorf("%s: got %v, want an error at %s", c.why, err, c.path)
		}
	}
}

// flexible returns the v4 form of a default message with the given hex in the
// place of its root tags.
func flexible(t *testing.T, tags string) []byte {
	t.Helper()
	m := DefaultTinyShapes()
	raw, err := m.Append(nil, 4)
	if err != nil {
		t.Fatal(err)
	}
	return append(raw[:len(raw)-1], join(t, tags)...)
}

func TestTags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why, in, out, err string
	}{
		{"none", "00", "00", ""},
		{"known and unknown ones merge in rising order", "02 05 01 aa 00 02 02 63", "02 00 02 02 63 05 01 aa", ""},
		{"a known one at its default is left out", "01 00 01 00", "00", ""},
		{"a struct at its default is left out", "01 01 0a ffffffffffffffff 01 00", "00", ""},
		{"a known one twice: the last counts", "02 00 02 02 61 00 02 02 62", "01 00 02 02 62", ""},
		{"a known one with a wrong size is read all the same", "01 00 7f 02 61", "01 00 02 02 61", ""},
		{"content of more than 127 bytes", "01 00 8201 8101" + strings.Repeat("61", 128), "01 00 8201 8101" + strings.Repeat("61", 128), ""},
		{"unknown and empty", "01 09 00", "01 09 00", ""},
		{"unknown twice decodes, but does not encode", "02 09 00 09 00", "", "must be higher"},
		{"more than there are bytes", "7f", "", "exceeds 0 bytes left"},
		{"unknown and longer than the rest", "01 09 05 00", "", "exceeds 1 bytes left"},
	} {
		var m TinyShapes
		_, err := m.Decode(4, flexible(t, c.in))
		var got []byte
		if err == nil {
			got, err = m.Append(nil, 4)
		}
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: got %v, want an error with %q", c.why, err, c.err)
			}
			continue
		}
		if want := flexible(t, c.out); err != nil || string(got) != string(want) {
			t.Errorf("%s: %x, want %x (%v)", c.why, got, want, err)
		}
	}
}

func TestTagOfALaterVersionIsRefused(t *testing.T) {
	t.Parallel()
	m := DefaultTinyShapes()
	raw, err := m.Append(nil, 3)
	if err != nil {
		t.Fatal(err)
	}
	raw = append(raw[:len(raw)-1], 1, 1, 0)
	if _, err := m.Decode(3, raw); err == nil || !strings.Contains(err.Error(), "tag 1 is not valid in this version") {
		t.Errorf("v3 with the tag of v4: %v", err)
	}
}

func TestDecodeRefusesAndAccepts(t *testing.T) {
	t.Parallel()
	// The fields of v2 in front of Name, and what follows Blob.
	const front, behind = "00 00 0000 00000000 0000000000000000 0000000000000000", "ffffffff 00000000 00000000 00000000 ff"
	for _, c := range []struct{ why, hex, err string }{
		{"a nullable string of length -2 is null", front + "fffe ffffffff" + behind, ""},
		{"nullable bytes of length -2 are null", front + "0000 fffffffe" + behind, ""},
		{"a bool of 2 is true", "02" + front[2:] + "0000 ffffffff" + behind, ""},
		{"a null array where none may be", front + "0000 ffffffff ffffffff ffffffff", "Numbers: null, but not nullable"},
		{"a count above what is left", front + "0000 ffffffff ffffffff 7fffffff 00", "Numbers: length 2147483647 exceeds 1 bytes left"},
		{"a count of elements that are too large together", front + "0000 ffffffff ffffffff 00000000 00000000 00000002 0000 0000", "Items: length 2 exceeds 4 bytes left"},
		{"a string longer than the rest", front + "0009 61", "Name: length 9 exceeds 1 bytes left"},
		{"an element that ends early", front + "0000 ffffffff ffffffff 00000000 00000000 00000001 0003 616263 0000 0000", "Items[0].Inner.Version: needs 2 bytes, 0 left"},
	} {
		var m TinyShapes
		_, err := m.Decode(2, join(t, c.hex))
		switch {
		case c.err == "" && err != nil:
			t.Errorf("%s: %v", c.why, err)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: got %v, want an error with %q", c.why, err, c.err)
		}
	}
	var m TinyShapes
	if _, err := m.Decode(0, nil); err == nil || !strings.Contains(err.Error(), "no such version; valid are 1 to 4") {
		t.Errorf("v0: %v", err)
	}
}

func TestNullableStructMarker(t *testing.T) {
	t.Parallel()
	base := DefaultTinyShapes()
	raw, err := base.Append(nil, 2)
	if err != nil {
		t.Fatal(err)
	}
	for marker, present := range map[byte]bool{0xff: false, 0x80: false, 0: true, 1: true, 2: true} {
		in := append(append([]byte{}, raw[:len(raw)-1]...), marker)
		if present {
			in = append(in, 0, 7)
		}
		var m TinyShapes
		if _, err := m.Decode(2, in); err != nil || (m.Maybe != nil) != present {
			t.Errorf("marker %x: present %t (%v), want %t", marker, m.Maybe != nil, err, present)
		}
	}
}

func TestHeaderOverride(t *testing.T) {
	t.Parallel()
	m := TinyHeader{ClientId: wire.String("ab")}
	if got, err := m.Append(nil, 2); err != nil || hex.EncodeToString(got) != "0002616200" {
		t.Errorf("a field that stays fixed in a flexible version: %x (%v), want 0002616200", got, err)
	}
	m.ClientId = wire.NullString{}
	if got, err := m.Append(nil, 2); err != nil || hex.EncodeToString(got) != "ffff00" {
		t.Errorf("null in it: %x (%v), want ffff00", got, err)
	}
}

func TestNeverFlexible(t *testing.T) {
	t.Parallel()
	m := TinyFixed{Count: 1}
	if got, err := m.Append(nil, 0); err != nil || hex.EncodeToString(got) != "00000001" {
		t.Errorf("%x (%v)", got, err)
	}
	if s := m.Schema(); s.Flexible(0) || s.APIKey != -1 {
		t.Errorf("schema %+v", s)
	}
}

func TestViewsAreNotCopied(t *testing.T) {
	t.Parallel()
	m := full(4)
	raw, err := m.Append(nil, 4)
	if err != nil {
		t.Fatal(err)
	}
	var back TinyShapes
	if _, err := back.Decode(4, raw); err != nil {
		t.Fatal(err)
	}
	if cap(back.Blob) != len(back.Blob) {
		t.Error("an append to a view could write into the frame")
	}
	for i := range raw {
		raw[i] = 'z'
	}
	if back.Name.S != "zzz" || back.Blob[0] != 'z' {
		t.Errorf("name %q, blob %q: copies, want views of the frame", back.Name.S, back.Blob)
	}
}

func TestEmptyIsNotNull(t *testing.T) {
	t.Parallel()
	for version := range wireForms {
		m := full(version)
		m.Numbers, m.Words, m.Items, m.Blob, m.Name = []int32{}, []string{}, []TinyShapesItem{}, []byte{}, wire.String("")
		raw, err := m.Append(nil, version)
		if err != nil {
			t.Fatal(err)
		}
		var back TinyShapes
		if _, err := back.Decode(version, raw); err != nil {
			t.Fatal(err)
		}
		if back.Numbers == nil || back.Words == nil || back.Items == nil || back.Blob == nil || !back.Name.Valid {
			t.Errorf("v%d: something empty comes back as null: %+v", version, back)
		}
	}
}
