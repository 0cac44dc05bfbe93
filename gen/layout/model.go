// Package layout resolves Kafka's message specs into what code is generated
// from: Go structs with the union of their versions' fields, and for each
// version the layout of the bytes. Versions with equal layouts share one.
package layout

import (
	"kafka-iggy-bridge/gen/spec"
)

// Kind is the wire type of a field, or of an array's elements.
type Kind int

// The wire types that occur in Kafka's specs.
const (
	Bool Kind = iota
	Int8
	Int16
	Uint16
	Int32
	Int64
	Float64
	UUID
	String
	Bytes
	Records
	StructKind
)

// FixedSize is the number of bytes a kind takes, 0 where it varies.
func (k Kind) FixedSize() int {
	return [...]int{Bool: 1, Int8: 1, Int16: 2, Uint16: 2, Int32: 4, Int64: 8, Float64: 8, UUID: 16, StructKind: 0}[k]
}

// Message is one spec with its structs and layouts.
type Message struct {
	Spec     *spec.Message
	Name     string
	Valid    spec.Versions
	Flexible spec.Versions
	// Root is nil for a message without a valid version.
	Root *Struct
	// Structs holds every struct of the message, the root first.
	Structs []*Struct
	// Roots maps each valid version to its layout.
	Roots map[int16]*Layout
}

// Struct is one Go struct: the union of the fields of its versions.
type Struct struct {
	Name   string
	GoName string
	Fields []*Field
	// Flexible reports whether it has unknown tags in some version.
	Flexible bool
	// Layouts holds its distinct layouts, by rising first version.
	Layouts []*Layout
}

// Field is one field of a Go struct. The version ranges are cut down to the
// versions in which the field really occurs.
type Field struct {
	Name      string
	GoName    string
	Array     bool
	Kind      Kind
	Struct    *Struct
	Versions  spec.Versions
	Nullable  spec.Versions
	Tagged    spec.Versions
	Tag       int
	Default   Default
	Ignorable bool
	MapKey    bool
	// Fixed says that the field keeps the fixed form in flexible versions,
	// as the client id of a request header does.
	Fixed bool
}

// IsNullable reports whether the field may be null in some version.
func (f *Field) IsNullable() bool { return !f.Nullable.Empty() }

// Layout is the order of bytes of one struct in one or more versions.
type Layout struct {
	Struct *Struct
	// First is the lowest version that has it; it names the functions.
	First    int16
	Versions []int16
	Flexible bool
	// Slots are the untagged fields in their order, Tags the tagged ones by
	// rising tag.
	Slots []Slot
	Tags  []Slot
	// Refused are tags that other versions define and this one does not: they
	// are errors and not unknown tags.
	Refused []int
	// Absent are fields of other versions.
	Absent []*Field
	// MinSize is the smallest number of bytes an encoded struct takes.
	MinSize int

	signature string
}

// Slot is a field's place in a layout.
type Slot struct {
	Field    *Field
	Nullable bool
	// Compact says that lengths are varints of length + 1.
	Compact bool
	// Sub is the layout of the struct, or of the array's elements.
	Sub *Layout
}
