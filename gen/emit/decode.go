package emit

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"kafka-iggy-bridge/gen/layout"
)

var (
	reader = jen.Id("r").Op("*").Qual(wirePkg, "Reader")
)

// decodeFunc emits the straight-line decoder of one layout.
func decodeFunc(f *jenFile, l *layout.Layout) {
	f.Func().Id(decodeName(l)).Params(reader.Clone(), jen.Id("m").Op("*").Id(l.Struct.GoName)).Bool().BlockFunc(func(g *jen.Group) {
		setDefaults(g, jen.Id("m"), l.Absent)
		for _, s := range l.Tags {
			setDefaults(g, jen.Id("m"), []*layout.Field{s.Field})
		}
		for i := 0; i < len(l.Slots); {
			n := fixedRun(l.Slots[i:])
			if n > 0 {
				decodeFixed(g, l.Slots[i:i+n])
				i += n
				continue
			}
			decodeSlot(g, l.Slots[i])
			i++
		}
		decodeTags(g, l)
	})
}

// fixedRun is the number of slots at the front that have a fixed size, and so
// need one bounds check.
func fixedRun(slots []layout.Slot) int {
	n := 0
	for n < len(slots) && isFixed(slots[n]) {
		n++
	}
	return n
}

func decodeFixed(g *jen.Group, run []layout.Slot) {
	size := 0
	for _, s := range run {
		size += s.Field.Kind.FixedSize()
	}
	g.BlockFunc(func(g *jen.Group) {
		g.Id("b").Op(":=").Id("r").Dot("Take").Call(jen.Lit(size))
		names, sizes := jen.Index().String(), jen.Index().Int()
		g.If(jen.Id("b").Op("==").Nil()).Block(jen.Return(jen.Id("r").Dot("Short").Call(
			names.ValuesFunc(func(g *jen.Group) {
				for _, s := range run {
					g.Lit(s.Field.GoName)
				}
			}),
			sizes.ValuesFunc(func(g *jen.Group) {
				for _, s := range run {
					g.Lit(s.Field.Kind.FixedSize())
				}
			}))))
		// The conversion to an array spares the bounds checks below.
		g.Id("p").Op(":=").Parens(jen.Op("*").Index(jen.Lit(size)).Byte()).Parens(jen.Id("b"))
		at := 0
		for _, s := range run {
			n := s.Field.Kind.FixedSize()
			g.Id("m").Dot(s.Field.GoName).Op("=").Add(fixedValue(s.Field.Kind, at))
			at += n
		}
	})
}

// fixedValue reads a fixed-size value from the array p at a constant position.
func fixedValue(k layout.Kind, at int) *jen.Statement {
	part := jen.Id("p").Index(jen.Lit(at).Op(":").Lit(at + k.FixedSize()))
	one := jen.Id("p").Index(jen.Lit(at))
	switch k {
	case layout.Bool:
		return one.Op("!=").Lit(0)
	case layout.Int8:
		return jen.Int8().Call(one)
	case layout.Int16:
		return jen.Int16().Call(jen.Qual(binaryPkg, "BigEndian").Dot("Uint16").Call(part))
	case layout.Uint16:
		return jen.Qual(binaryPkg, "BigEndian").Dot("Uint16").Call(part)
	case layout.Int32:
		return jen.Int32().Call(jen.Qual(binaryPkg, "BigEndian").Dot("Uint32").Call(part))
	case layout.Int64:
		return jen.Int64().Call(jen.Qual(binaryPkg, "BigEndian").Dot("Uint64").Call(part))
	case layout.Float64:
		return jen.Qual(wirePkg, "Float64").Call(part)
	case layout.UUID:
		return jen.Qual(wirePkg, "UUID").Call(part)
	}
	panic(fmt.Sprintf("kind %d has no fixed size", k))
}

// orFail emits: if !call { return r.In(field) }.
func orFail(g *jen.Group, field *layout.Field, call *jen.Statement) {
	g.If(jen.Op("!").Add(call)).Block(in("r", field))
}

func in(who string, field *layout.Field) jen.Code {
	return jen.Return(jen.Id(who).Dot("In").Call(jen.Lit(field.GoName)))
}

// prefixed is a method's name in its compact or fixed form.
func prefixed(s layout.Slot, name string) string {
	if s.Compact {
		return "Compact" + name
	}
	return name
}

func decodeSlot(g *jen.Group, s layout.Slot) {
	f := s.Field
	dst := jen.Op("&").Id("m").Dot(f.GoName)
	switch {
	case f.Array:
		decodeArray(g, s)
	case f.Kind == layout.StructKind:
		decodeStruct(g, s)
	case f.Kind == layout.Bytes || f.Kind == layout.Records:
		orFail(g, f, jen.Id("r").Dot(prefixed(s, "Bytes")).Call(dst, jen.Lit(s.Nullable)))
	case f.Kind == layout.String && !f.IsNullable():
		orFail(g, f, jen.Id("r").Dot(prefixed(s, "String")).Call(dst))
	case f.Kind == layout.String && s.Nullable:
		orFail(g, f, jen.Id("r").Dot(prefixed(s, "NullString")).Call(dst))
	case f.Kind == layout.String:
		// Nullable in other versions only: the value is a NullString all the
		// same, and never null here.
		orFail(g, f, jen.Id("r").Dot(prefixed(s, "String")).Call(jen.Op("&").Id("m").Dot(f.GoName).Dot("S")))
		g.Id("m").Dot(f.GoName).Dot("Valid").Op("=").True()
	default:
		decodeFixed(g, []layout.Slot{s})
	}
}

func decodeStruct(g *jen.Group, s layout.Slot) {
	f := s.Field
	decode := jen.Id(decodeName(s.Sub))
	if !f.IsNullable() {
		orFail(g, f, decode.Call(jen.Id("r"), jen.Op("&").Id("m").Dot(f.GoName)))
		return
	}
	g.BlockFunc(func(g *jen.Group) {
		body := []jen.Code{
			jen.Id("v").Op(":=").New(jen.Id(f.Struct.GoName)),
			jen.If(jen.Op("!").Add(decode).Call(jen.Id("r"), jen.Id("v"))).Block(in("r", f)),
			jen.Id("m").Dot(f.GoName).Op("=").Id("v"),
		}
		if !s.Nullable {
			for _, c := range body {
				g.Add(c)
			}
			return
		}
		marker := "Present"
		if !f.Tagged.Empty() {
			marker = "TagPresent"
		}
		g.List(jen.Id("present"), jen.Id("ok")).Op(":=").Id("r").Dot(marker).Call()
		g.If(jen.Op("!").Id("ok")).Block(in("r", f))
		g.Id("m").Dot(f.GoName).Op("=").Nil()
		g.If(jen.Id("present")).Block(body...)
	})
}

var arrayReaders = map[layout.Kind]string{
	layout.Int8: "Int8s", layout.Int16: "Int16s", layout.Int32: "Int32s", layout.Int64: "Int64s", layout.UUID: "UUIDs",
}

func decodeArray(g *jen.Group, s layout.Slot) {
	f := s.Field
	if s.Compact && f.Kind == layout.Int32 {
		orFail(g, f, jen.Id("r").Dot("CompactInt32s").Call(jen.Op("&").Id("m").Dot(f.GoName), jen.Lit(s.Nullable)))
		return
	}
	g.BlockFunc(func(g *jen.Group) {
		g.List(jen.Id("n"), jen.Id("ok")).Op(":=").Id("r").Dot(prefixed(s, "Count")).Call(jen.Lit(s.ElemMinSize()), jen.Lit(s.Nullable))
		g.If(jen.Op("!").Id("ok")).Block(in("r", f))
		switch f.Kind {
		case layout.String:
			orFail(g, f, jen.Id("r").Dot(prefixed(s, "Strings")).Call(jen.Op("&").Id("m").Dot(f.GoName), jen.Id("n")))
		case layout.StructKind:
			assign := func(g *jen.Group) {
				g.Id("s").Op(":=").Make(jen.Index().Id(f.Struct.GoName), jen.Id("n"))
				g.For(jen.Id("i").Op(":=").Range().Id("s")).Block(
					jen.If(jen.Op("!").Id(decodeName(s.Sub)).Call(jen.Id("r"), jen.Op("&").Id("s").Index(jen.Id("i")))).Block(
						jen.Return(jen.Id("r").Dot("InIndex").Call(jen.Lit(f.GoName), jen.Id("i")))))
				g.Id("m").Dot(f.GoName).Op("=").Id("s")
			}
			if !s.Nullable {
				assign(g)
				return
			}
			g.If(jen.Id("n").Op("<").Lit(0)).Block(jen.Id("m").Dot(f.GoName).Op("=").Nil()).Else().BlockFunc(assign)
		default:
			g.Id("m").Dot(f.GoName).Op("=").Id("r").Dot(arrayReaders[f.Kind]).Call(jen.Id("n"))
		}
	})
}

func decodeTags(g *jen.Group, l *layout.Layout) {
	if !l.Flexible {
		g.Return(jen.True())
		return
	}
	unknown := jen.Op("&").Id("m").Dot("UnknownTags")
	if len(l.Tags) == 0 && len(l.Refused) == 0 {
		g.Return(jen.Id("r").Dot("NoTags").Call().Op("||").Id("r").Dot("Tags").Call(unknown))
		return
	}
	g.If(jen.Id("r").Dot("NoTags").Call()).Block(jen.Return(jen.True()))
	g.List(jen.Id("n"), jen.Id("ok")).Op(":=").Id("r").Dot("TagCount").Call()
	g.If(jen.Op("!").Id("ok")).Block(jen.Return(jen.Id("r").Dot("In").Call(jen.Lit("tags"))))
	g.For(jen.Empty(), jen.Id("n").Op(">").Lit(0), jen.Id("n").Op("--")).BlockFunc(func(g *jen.Group) {
		g.List(jen.Id("tag"), jen.Id("size"), jen.Id("ok")).Op(":=").Id("r").Dot("Tag").Call()
		g.If(jen.Op("!").Id("ok")).Block(jen.Return(jen.Id("r").Dot("In").Call(jen.Lit("tags"))))
		g.Switch(jen.Id("tag")).BlockFunc(func(g *jen.Group) {
			for _, s := range l.Tags {
				g.Case(jen.Lit(s.Field.Tag)).BlockFunc(func(g *jen.Group) { decodeSlot(g, s) })
			}
			for _, t := range l.Refused {
				g.Case(jen.Lit(t)).Block(jen.Return(jen.Id("r").Dot("RefuseTag").Call(jen.Id("tag"))))
			}
			g.Default().Block(jen.If(jen.Op("!").Id("r").Dot("UnknownTag").Call(unknown, jen.Id("tag"), jen.Id("size"))).Block(jen.Return(jen.False())))
		})
	})
	g.Return(jen.True())
}
