package emit

import (
	"github.com/dave/jennifer/jen"

	"kafka-iggy-bridge/gen/layout"
	"kafka-iggy-bridge/gen/spec"
)

func messageSchemaName(m *layout.Message) string { return "schema" + m.Name }

var kindNames = [...]string{"KindBool", "KindInt8", "KindInt16", "KindUint16", "KindInt32", "KindInt64", "KindFloat64",
	"KindUUID", "KindString", "KindBytes", "KindRecords", "KindStruct"}

func messageSchema(f *jenFile, m *layout.Message) {
	key := -1
	if m.Spec.APIKey != nil {
		key = int(*m.Spec.APIKey)
	}
	flexible := int(m.Valid.Max) + 1
	if !m.Flexible.Empty() {
		flexible = int(m.Flexible.Min)
	}
	f.Var().Id(messageSchemaName(m)).Op("=").Qual(wirePkg, "Schema").Values(jen.Dict{
		jen.Id("Name"):         jen.Lit(m.Name),
		jen.Id("Type"):         jen.Lit(string(m.Spec.Type)),
		jen.Id("APIKey"):       jen.Lit(key),
		jen.Id("Min"):          jen.Lit(int(m.Valid.Min)),
		jen.Id("Max"):          jen.Lit(int(m.Valid.Max)),
		jen.Id("FlexibleFrom"): jen.Lit(flexible),
		jen.Id("Unstable"):     jen.Lit(m.Spec.LatestVersionUnstable),
		jen.Id("Root"):         jen.Op("&").Id(schemaName(m.Root)),
	})
}

func schemaVar(f *jenFile, s *layout.Struct) {
	f.Var().Id(schemaName(s)).Op("=").Qual(wirePkg, "Struct").Values(jen.Dict{
		jen.Id("Name"): jen.Lit(s.Name),
		jen.Id("Fields"): jen.Index().Qual(wirePkg, "Field").ValuesFunc(func(g *jen.Group) {
			for _, field := range s.Fields {
				g.Line().Values(fieldSchema(field))
			}
			g.Line()
		}),
	})
}

func fieldSchema(f *layout.Field) jen.Dict {
	d := jen.Dict{
		jen.Id("Name"):     jen.Lit(f.Name),
		jen.Id("Kind"):     jen.Qual(wirePkg, kindNames[f.Kind]),
		jen.Id("Versions"): versionsLit(f.Versions),
		jen.Id("Nullable"): versionsLit(f.Nullable),
		jen.Id("Tagged"):   versionsLit(f.Tagged),
	}
	if f.Array {
		d[jen.Id("Array")] = jen.True()
	}
	if !f.Tagged.Empty() {
		d[jen.Id("Tag")] = jen.Lit(f.Tag)
	}
	if f.Ignorable {
		d[jen.Id("Ignorable")] = jen.True()
	}
	if f.MapKey {
		d[jen.Id("MapKey")] = jen.True()
	}
	if f.Struct != nil {
		d[jen.Id("Struct")] = jen.Op("&").Id(schemaName(f.Struct))
	}
	return d
}

func versionsLit(v spec.Versions) *jen.Statement {
	return jen.Qual(wirePkg, "Versions").Values(jen.Dict{jen.Id("Min"): jen.Lit(int(v.Min)), jen.Id("Max"): jen.Lit(int(v.Max))})
}
