package layout

import (
	"fmt"
	"strings"

	"kafka-iggy-bridge/gen/spec"
)

var kinds = map[string]Kind{
	"bool": Bool, "int8": Int8, "int16": Int16, "uint16": Uint16, "int32": Int32, "int64": Int64,
	"float64": Float64, "uuid": UUID, "string": String, "bytes": Bytes, "records": Records,
}

// reserved are the names of the methods and the extra field of generated
// structs, which no field may have.
var reserved = map[string]bool{
	"Decode": true, "Encode": true, "Append": true, "Reset": true, "Schema": true, "UnknownTags": true,
}

// Build resolves a set of specs. Names of Go types must be unique over the
// whole set.
func Build(specs []*spec.Message) ([]*Message, error) {
	owner := map[string]string{}
	var all []*Message
	for _, s := range specs {
		m, err := build(s)
		if err != nil {
			return nil, err
		}
		for _, st := range m.Structs {
			if other, ok := owner[st.GoName]; ok {
				return nil, fmt.Errorf("%s: struct %s: the Go name %s is also made by %s", s.File, st.Name, st.GoName, other)
			}
			owner[st.GoName] = s.File
		}
		all = append(all, m)
	}
	return all, nil
}

type builder struct {
	spec    *spec.Message
	msg     *Message
	structs map[string]*Struct
}

func build(s *spec.Message) (*Message, error) {
	m := &Message{Spec: s, Name: s.Name, Valid: *s.ValidVersions, Flexible: spec.None, Roots: map[int16]*Layout{}}
	if m.Valid.Empty() {
		return m, nil
	}
	m.Flexible = s.FlexibleVersions.Intersect(m.Valid)
	b := &builder{spec: s, msg: m, structs: map[string]*Struct{}}
	m.Root = &Struct{Name: s.Name, GoName: s.Name}
	m.Structs = []*Struct{m.Root}
	// Common structs first, so that fields can refer to them by name.
	for _, c := range s.CommonStructs {
		b.newStruct(c.Name)
	}
	if err := b.fill(m.Root, "", s.Fields, m.Valid); err != nil {
		return nil, err
	}
	for _, c := range s.CommonStructs {
		if err := b.fill(b.structs[c.Name], c.Name, c.Fields, c.Versions.Intersect(m.Valid)); err != nil {
			return nil, err
		}
	}
	if err := b.checkRecursion(m.Root, nil); err != nil {
		return nil, err
	}
	for v := m.Valid.Min; v <= m.Valid.Max; v++ {
		m.Roots[v] = b.resolve(m.Root, v)
	}
	return m, nil
}

// newStruct names a struct of the message: the message's name and its own,
// without saying the message's twice.
func (b *builder) newStruct(name string) *Struct {
	goName := spec.Exported(name)
	if !strings.HasPrefix(goName, b.msg.Name) {
		goName = b.msg.Name + goName
	}
	s := &Struct{Name: name, GoName: goName}
	b.structs[name] = s
	b.msg.Structs = append(b.msg.Structs, s)
	return s
}

func (b *builder) fill(s *Struct, path string, fields []*spec.Field, valid spec.Versions) error {
	for _, sf := range fields {
		at := path + "." + sf.Name
		if path == "" {
			at = sf.Name
		}
		f := &Field{Name: sf.Name, GoName: spec.Exported(sf.Name), Ignorable: sf.Ignorable, MapKey: sf.MapKey, Tag: -1,
			Versions: sf.Versions.Intersect(valid), Nullable: spec.None, Tagged: spec.None}
		if reserved[f.GoName] {
			return fmt.Errorf("%s: %s: the name clashes with a method of generated structs", b.spec.File, at)
		}
		if sf.NullableVersions != nil {
			f.Nullable = sf.NullableVersions.Intersect(f.Versions)
		}
		if sf.Tag != nil {
			f.Tag = *sf.Tag
			f.Tagged = sf.TaggedVersions.Intersect(f.Versions)
		}
		if sf.FlexibleVersions != nil {
			if !sf.FlexibleVersions.Empty() {
				return fmt.Errorf("%s: %s: flexibleVersions of a field can only be \"none\"", b.spec.File, at)
			}
			f.Fixed = true
		}
		if err := b.typed(f, at, sf); err != nil {
			return err
		}
		var err error
		if f.Default, err = parseDefault(f, sf.Default); err != nil {
			return fmt.Errorf("%s: %s: %w", b.spec.File, at, err)
		}
		s.Fields = append(s.Fields, f)
	}
	return nil
}

func (b *builder) typed(f *Field, at string, sf *spec.Field) error {
	elem, isArray := spec.Elem(sf.Type)
	f.Array = isArray
	if k, ok := kinds[elem]; ok {
		f.Kind = k
		switch {
		case f.IsNullable() && !isArray && k.FixedSize() > 0:
			return fmt.Errorf("%s: %s: a %s cannot be null", b.spec.File, at, sf.Type)
		case isArray && (k == Bytes || k == Records || k == Bool):
			return fmt.Errorf("%s: %s: type %s occurs in no spec and is not supported", b.spec.File, at, sf.Type)
		}
		return nil
	}
	f.Kind = StructKind
	if len(sf.Fields) == 0 {
		// Every struct that a field names without defining it is a common one
		// or defined by another field; the spec's check has made sure.
		f.Struct = b.structs[elem]
		if f.Struct == nil {
			return fmt.Errorf("%s: %s: type %s is used before it is defined", b.spec.File, at, elem)
		}
		return nil
	}
	f.Struct = b.newStruct(elem)
	return b.fill(f.Struct, at, sf.Fields, f.Versions)
}

func (b *builder) checkRecursion(s *Struct, above []*Struct) error {
	for _, a := range above {
		if a == s {
			return fmt.Errorf("%s: struct %s holds itself", b.spec.File, s.Name)
		}
	}
	for _, f := range s.Fields {
		if f.Struct == nil {
			continue
		}
		if err := b.checkRecursion(f.Struct, append(above, s)); err != nil {
			return err
		}
	}
	return nil
}
