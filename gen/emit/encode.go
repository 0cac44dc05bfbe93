package emit

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"kafka-iggy-bridge/gen/layout"
)

// encodeFunc emits the straight-line encoder of one layout.
func encodeFunc(f *jenFile, l *layout.Layout) {
	f.Func().Id(encodeName(l)).Params(jen.Id("w").Op("*").Qual(wirePkg, "Writer"), jen.Id("m").Op("*").Id(l.Struct.GoName)).Bool().
		BlockFunc(func(g *jen.Group) {
			for _, field := range l.Absent {
				// An ignorable field is left out silently, any other must be at
				// its default.
				if !field.Ignorable && !field.Versions.Empty() {
					g.If(isSet(field)).Block(jen.Return(jen.Id("w").Dot("Absent").Call(jen.Lit(field.GoName))))
				}
			}
			untagged := false // a run has dealt with there being no tags
			for i := 0; i < len(l.Slots); {
				if n := flatRun(l.Slots[i:]); n > 0 {
					untagged = i+n == len(l.Slots) && l.Flexible && len(l.Tags) == 0
					encodeFlat(g, l.Slots[i:i+n], untagged)
					i += n
					continue
				}
				encodeSlot(g, l.Slots[i])
				i++
			}
			encodeTags(g, l, untagged)
		})
}

// isSet is the condition that a field differs from its default.
func isSet(f *layout.Field) *jen.Statement { return isSetIn(jen.Id("m"), f) }

func isSetIn(m *jen.Statement, f *layout.Field) *jen.Statement {
	v := m.Clone().Dot(f.GoName)
	d := f.Default
	switch {
	case f.Array || f.Kind == layout.Bytes || f.Kind == layout.Records:
		if d.Null {
			return v.Op("!=").Nil()
		}
		set := jen.Len(v).Op("!=").Lit(0)
		if f.IsNullable() {
			set.Op("||").Add(v).Op("==").Nil()
		}
		return set
	case f.Kind == layout.StructKind && f.IsNullable() && d.Null:
		return v.Op("!=").Nil()
	case f.Kind == layout.StructKind && f.IsNullable():
		return jen.Parens(v.Clone().Op("==").Nil().Op("||").Add(anySet(v, f.Struct)))
	case f.Kind == layout.StructKind:
		return anySet(v, f.Struct)
	case f.Kind == layout.String && f.IsNullable() && d.Null:
		return v.Dot("Valid")
	case f.Kind == layout.String && f.IsNullable():
		return jen.Op("!").Add(v.Clone()).Dot("Valid").Op("||").Add(v).Dot("S").Op("!=").Lit(d.String)
	case f.Kind == layout.String:
		return v.Op("!=").Lit(d.String)
	case f.Kind == layout.Bool && d.Bool:
		return jen.Op("!").Add(v)
	case f.Kind == layout.Bool:
		return v
	case f.Kind == layout.UUID:
		return jen.Op("!").Add(v).Dot("IsZero").Call()
	case f.Kind == layout.Float64:
		return v.Op("!=").Lit(d.Float)
	default:
		return v.Op("!=").Id(fmt.Sprint(d.Int))
	}
}

// anySet is the condition that some field of a struct, or an unknown tag,
// differs from its default.
func anySet(v *jen.Statement, s *layout.Struct) *jen.Statement {
	cond := jen.Empty()
	for i, f := range s.Fields {
		if i > 0 {
			cond.Op("||")
		}
		cond.Add(isSetIn(v, f))
	}
	if s.Flexible {
		cond.Op("||").Add(v.Clone()).Dot("UnknownTags").Dot("Len").Call().Op("!=").Lit(0)
	}
	return cond
}

// encodeSlot emits one field; in a tag it stands alone.
func encodeSlot(g *jen.Group, s layout.Slot) {
	f := s.Field
	switch {
	case f.Array:
		encodeArray(g, s)
	case f.Kind == layout.StructKind:
		encodeStruct(g, s)
	case f.Kind == layout.Records:
		call := jen.Id("w").Dot(prefixed(s, "Records")).Call(jen.Id("m").Dot(f.GoName), jen.Lit(s.Nullable))
		g.If(jen.Op("!").Add(call)).Block(in("w", f))
	default:
		encodeFlat(g, []layout.Slot{s}, false)
	}
}

func encodeStruct(g *jen.Group, s layout.Slot) {
	f := s.Field
	v := jen.Id("m").Dot(f.GoName)
	encode := jen.Id(encodeName(s.Sub))
	if !f.IsNullable() {
		g.If(jen.Op("!").Add(encode).Call(jen.Id("w"), jen.Op("&").Add(v))).Block(in("w", f))
		return
	}
	null, present := jen.Id("w").Dot("Byte").Call(jen.Lit(0xff)), jen.Id("w").Dot("Byte").Call(jen.Lit(1))
	if !f.Tagged.Empty() {
		null = jen.Id("w").Dot("Byte").Call(jen.Lit(0))
	}
	fail := jen.If(jen.Op("!").Add(encode).Call(jen.Id("w"), v)).Block(in("w", f))
	if !s.Nullable {
		g.If(v.Clone().Op("==").Nil()).Block(jen.Return(jen.Id("w").Dot("Null").Call(jen.Lit(f.GoName))))
		g.Add(fail)
		return
	}
	g.If(v.Clone().Op("==").Nil()).Block(null).Else().Block(present, fail)
}

func encodeArray(g *jen.Group, s layout.Slot) {
	f := s.Field
	v := jen.Id("m").Dot(f.GoName)
	null := jen.False()
	if f.IsNullable() {
		null = v.Clone().Op("==").Nil()
	}
	if s.Compact && f.Kind == layout.Int32 {
		g.If(jen.Op("!").Id("w").Dot("CompactInt32s").Call(v, null, jen.Lit(s.Nullable))).Block(in("w", f))
		return
	}
	g.If(jen.Op("!").Id("w").Dot(prefixed(s, "Count")).Call(jen.Len(v), null, jen.Lit(s.Nullable))).Block(in("w", f))
	switch f.Kind {
	case layout.StructKind:
		g.For(jen.Id("i").Op(":=").Range().Add(v)).Block(
			jen.If(jen.Op("!").Id(encodeName(s.Sub)).Call(jen.Id("w"), jen.Op("&").Add(v).Index(jen.Id("i")))).Block(
				jen.Return(jen.Id("w").Dot("InIndex").Call(jen.Lit(f.GoName), jen.Id("i")))))
	case layout.String:
		g.If(jen.Op("!").Id("w").Dot(prefixed(s, "Strings")).Call(v)).Block(in("w", f))
	default:
		g.Id("w").Dot(arrayReaders[f.Kind]).Call(v)
	}
}

func encodeTags(g *jen.Group, l *layout.Layout, untagged bool) {
	unknown := jen.Id("m").Dot("UnknownTags")
	failTags := jen.Return(jen.Id("w").Dot("In").Call(jen.Lit("tags")))
	switch {
	case !l.Struct.Flexible:
		g.Return(jen.True())
	case !l.Flexible:
		g.If(jen.Op("!").Id("w").Dot("NoTags").Call(unknown)).Block(failTags)
		g.Return(jen.True())
	case len(l.Tags) == 0:
		if !untagged {
			g.If(unknown.Clone().Dot("Len").Call().Op("==").Lit(0)).Block(jen.Return(jen.Id("w").Dot("ZeroTags").Call()))
		}
		g.If(jen.Op("!").Id("w").Dot("Tags").Call(unknown)).Block(failTags)
		g.Return(jen.True())
	default:
		encodeKnownTags(g, l)
	}
}

func encodeKnownTags(g *jen.Group, l *layout.Layout) {
	failTags := jen.Return(jen.Id("w").Dot("In").Call(jen.Lit("tags")))
	set := func(s layout.Slot) *jen.Statement { return jen.Id(fmt.Sprintf("set%d", s.Field.Tag)) }
	g.Id("tags").Op(":=").Id("m").Dot("UnknownTags").Dot("All").Call()
	g.Id("n").Op(":=").Len(jen.Id("tags"))
	for _, s := range l.Tags {
		g.Add(set(s)).Op(":=").Add(isSet(s.Field))
		g.If(set(s)).Block(jen.Id("n").Op("++"))
	}
	g.Id("w").Dot("Uvarint").Call(jen.Uint32().Call(jen.Id("n")))
	g.If(jen.Id("n").Op("==").Lit(0)).Block(jen.Return(jen.True()))
	g.Id("ok").Op(":=").True()
	for _, s := range l.Tags {
		g.If(jen.List(jen.Id("tags"), jen.Id("ok")).Op("=").Id("w").Dot("TagsBelow").Call(jen.Id("tags"), jen.Lit(s.Field.Tag)), jen.Op("!").Id("ok")).Block(failTags)
		g.If(set(s)).BlockFunc(func(g *jen.Group) {
			g.Id("at").Op(":=").Id("w").Dot("BeginTag").Call(jen.Lit(s.Field.Tag))
			encodeSlot(g, s)
			g.Id("w").Dot("EndTag").Call(jen.Id("at"))
		})
	}
	g.If(jen.Op("!").Id("w").Dot("RawTags").Call(jen.Id("tags"), jen.Lit(l.Tags[len(l.Tags)-1].Field.Tag+1))).Block(failTags)
	g.Return(jen.True())
}
