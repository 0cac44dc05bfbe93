package emit

import (
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"

	"kafka-iggy-bridge/gen/layout"
)

// messageCode emits everything of one message: types, methods, one decoder and
// one encoder for each layout, and the schema.
func messageCode(f *jenFile, m *layout.Message) {
	for _, s := range m.Structs {
		structType(f, m, s)
		defaultFunc(f, s)
	}
	methods(f, m)
	for _, s := range m.Structs {
		for _, l := range s.Layouts {
			decodeFunc(f, l)
			encodeFunc(f, l)
		}
	}
	for _, s := range m.Structs {
		schemaVar(f, s)
	}
	messageSchema(f, m)
}

func structType(f *jenFile, m *layout.Message, s *layout.Struct) {
	if s == m.Root {
		f.Commentf("%s is Kafka's message of that name, versions %s.", s.GoName, m.Valid)
	} else {
		f.Commentf("%s is %s of %s.", s.GoName, s.Name, m.Name)
	}
	f.Type().Id(s.GoName).StructFunc(func(g *jen.Group) {
		for _, field := range s.Fields {
			g.Comment(fieldDoc(field))
			g.Id(field.GoName).Add(goType(field))
		}
		if s.Flexible {
			g.Comment("UnknownTags are tagged fields that the schema does not know, by rising tag.")
			g.Id("UnknownTags").Qual(wirePkg, "RawTags")
		}
	})
}

func fieldDoc(f *layout.Field) string {
	parts := []string{fmt.Sprintf("%s: %s, versions %s", f.GoName, typeName(f), f.Versions)}
	if f.Versions.Empty() {
		parts = []string{fmt.Sprintf("%s: %s, in no valid version", f.GoName, typeName(f))}
	}
	if f.IsNullable() {
		parts = append(parts, "nullable in "+f.Nullable.String())
	}
	if !f.Tagged.Empty() {
		parts = append(parts, fmt.Sprintf("tag %d", f.Tag))
	}
	if d := defaultDoc(f); d != "" {
		parts = append(parts, "default "+d)
	}
	if f.Ignorable {
		parts = append(parts, "ignorable")
	}
	return strings.Join(parts, ", ") + "."
}

func defaultDoc(f *layout.Field) string {
	d := f.Default
	switch {
	case d.Null:
		return "null"
	case f.Array:
		return ""
	case f.Kind == layout.Bool && d.Bool:
		return "true"
	case d.Int != 0:
		return fmt.Sprint(d.Int)
	case d.String != "":
		return fmt.Sprintf("%q", d.String)
	}
	return ""
}

// defaultFunc emits DefaultX, which returns the struct as a spec's defaults
// make it.
func defaultFunc(f *jenFile, s *layout.Struct) {
	f.Commentf("Default%s returns a %s with every field at its default.", s.GoName, s.GoName)
	f.Func().Id("Default" + s.GoName).Params().Id(s.GoName).BlockFunc(func(g *jen.Group) {
		g.Id("m").Op(":=").Id(s.GoName).Values()
		setDefaults(g, jen.Id("m"), s.Fields)
		g.Return(jen.Id("m"))
	})
}

// setDefaults emits assignments for the fields of m, which is at Go's zero
// value, whose default is another. Structs are set field by field: that is
// cheaper than copying a whole one.
func setDefaults(g *jen.Group, m *jen.Statement, fields []*layout.Field) {
	for _, field := range fields {
		if field.Kind == layout.StructKind && !field.Array && !field.IsNullable() {
			setDefaults(g, m.Clone().Dot(field.GoName), field.Struct.Fields)
			continue
		}
		if v := defaultValue(field); v != nil {
			g.Add(m.Clone()).Dot(field.GoName).Op("=").Add(v)
		}
	}
}

// defaultValue is the default of a field that is no plain struct, where Go's
// zero value is not it, else nil.
func defaultValue(f *layout.Field) *jen.Statement {
	d := f.Default
	switch {
	case f.Array || f.Kind == layout.Bytes:
		if f.IsNullable() && !d.Null {
			return goType(f).Values()
		}
		return nil
	case f.Kind == layout.StructKind && f.IsNullable():
		if d.Null {
			return nil
		}
		return jen.Id("new").Call(jen.Id("Default" + f.Struct.GoName).Call())
	case f.Kind == layout.String && f.IsNullable():
		if d.Null {
			return nil
		}
		return jen.Qual(wirePkg, "NullString").Values(jen.Dict{jen.Id("S"): jen.Lit(d.String), jen.Id("Valid"): jen.True()})
	case f.Kind == layout.String && d.String != "":
		return jen.Lit(d.String)
	case f.Kind == layout.Bool && d.Bool:
		return jen.True()
	case f.Kind == layout.Float64 && d.Float != 0:
		return jen.Lit(d.Float)
	case d.Int != 0:
		return jen.Id(fmt.Sprint(d.Int))
	}
	return nil
}
