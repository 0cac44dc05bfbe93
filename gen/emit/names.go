package emit

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"kafka-iggy-bridge/gen/layout"
)

func decodeName(l *layout.Layout) string { return fmt.Sprintf("decode%sV%d", l.Struct.GoName, l.First) }
func encodeName(l *layout.Layout) string { return fmt.Sprintf("encode%sV%d", l.Struct.GoName, l.First) }
func schemaName(s *layout.Struct) string { return "schemaOf" + s.GoName }

var scalarTypes = map[layout.Kind]string{
	layout.Bool: "bool", layout.Int8: "int8", layout.Int16: "int16", layout.Uint16: "uint16",
	layout.Int32: "int32", layout.Int64: "int64", layout.Float64: "float64", layout.String: "string",
}

// elemType is the Go type of a field's value, or of its elements.
func elemType(f *layout.Field) *jen.Statement {
	switch f.Kind {
	case layout.UUID:
		return jen.Qual(wirePkg, "UUID")
	case layout.Bytes, layout.Records:
		return jen.Index().Byte()
	case layout.StructKind:
		return jen.Id(f.Struct.GoName)
	default:
		return jen.Id(scalarTypes[f.Kind])
	}
}

// goType is the Go type of a field.
func goType(f *layout.Field) *jen.Statement {
	switch {
	case f.Array:
		return jen.Index().Add(elemType(f))
	case f.IsNullable() && f.Kind == layout.String:
		return jen.Qual(wirePkg, "NullString")
	case f.IsNullable() && f.Kind == layout.StructKind:
		return jen.Op("*").Add(elemType(f))
	default:
		return elemType(f)
	}
}

// isFixed reports whether a slot takes the same number of bytes whatever its
// value.
func isFixed(s layout.Slot) bool {
	return !s.Field.Array && s.Field.Kind.FixedSize() > 0
}

// typeName is a field's type as a spec writes it, for comments.
func typeName(f *layout.Field) string {
	name := [...]string{"bool", "int8", "int16", "uint16", "int32", "int64", "float64", "uuid", "string", "bytes", "records", ""}[f.Kind]
	if f.Kind == layout.StructKind {
		name = f.Struct.Name
	}
	if f.Array {
		return "[]" + name
	}
	return name
}
