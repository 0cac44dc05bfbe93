package wire

// Schema describes a message to tools, documents and tests: what the generated
// code was made from.
type Schema struct {
	Name string
	Type string
	// APIKey is the key of a request or response, or the type of a record of an
	// internal topic; -1 where there is none.
	APIKey int16
	// Min and Max are the valid versions; Max is below Min for none.
	Min, Max int16
	// FlexibleFrom is the first flexible version; above Max for none.
	FlexibleFrom int16
	// Unstable says that the latest version is not served by default.
	Unstable bool
	Root     *Struct
}

// Flexible reports whether a version has compact forms and tagged fields.
func (s *Schema) Flexible(version int16) bool { return version >= s.FlexibleFrom && version <= s.Max }

// Struct describes a struct: the union of its versions' fields, in the order of
// the generated struct's fields.
type Struct struct {
	Name   string
	Fields []Field
}

// Kind is the wire type of a field, or of an array's elements.
type Kind uint8

// The wire types of Kafka's specs.
const (
	KindBool Kind = iota
	KindInt8
	KindInt16
	KindUint16
	KindInt32
	KindInt64
	KindFloat64
	KindUUID
	KindString
	KindBytes
	KindRecords
	KindStruct
)

// String is the kind's name as a spec has it.
func (k Kind) String() string {
	return [...]string{"bool", "int8", "int16", "uint16", "int32", "int64", "float64", "uuid", "string", "bytes", "records", "struct"}[k]
}

// Versions is an inclusive range; empty where Max is below Min.
type Versions struct{ Min, Max int16 }

// Contains reports whether version lies in the range.
func (v Versions) Contains(version int16) bool { return version >= v.Min && version <= v.Max }

// Field describes a field. The ranges are those in which it really occurs.
type Field struct {
	Name     string
	Kind     Kind
	Array    bool
	Versions Versions
	Nullable Versions
	Tagged   Versions
	// Tag is the tag's number where Tagged is not empty.
	Tag       int
	Ignorable bool
	MapKey    bool
	// Struct describes the struct, or the array's elements.
	Struct *Struct
}

// Slot is a field as it is laid out in one version.
type Slot struct {
	Field    *Field
	Index    int // of the field in its struct
	Nullable bool
	Tagged   bool
}

// Layout lists the fields of a struct that a version has: first those that are
// not tagged, in their order, then the tagged ones.
func (s *Struct) Layout(version int16) []Slot {
	var plain, tagged []Slot
	for i := range s.Fields {
		f := &s.Fields[i]
		if !f.Versions.Contains(version) {
			continue
		}
		slot := Slot{Field: f, Index: i, Nullable: f.Nullable.Contains(version), Tagged: f.Tagged.Contains(version)}
		if slot.Tagged {
			tagged = append(tagged, slot)
		} else {
			plain = append(plain, slot)
		}
	}
	return append(plain, tagged...)
}
