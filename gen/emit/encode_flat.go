package emit

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"kafka-iggy-bridge/gen/layout"
)

// maxVarint is the greatest number of bytes of a varint.
const maxVarint = 5

// isFlat reports whether a slot is a number, string or byte string: what a run
// of needs one check for room.
func isFlat(s layout.Slot) bool {
	k := s.Field.Kind
	return !s.Field.Array && (k.FixedSize() > 0 || k == layout.String || k == layout.Bytes)
}

// flatRun is the number of flat slots at the front.
func flatRun(slots []layout.Slot) int {
	n := 0
	for n < len(slots) && isFlat(slots[n]) {
		n++
	}
	return n
}

// encodeFlat emits a run of flat slots: checks first, then room for all of them
// at once, then appends that cannot fail. Where the run ends a struct whose
// schema has no tags, last, the struct is done with it unless there are unknown
// ones.
func encodeFlat(g *jen.Group, run []layout.Slot, last bool) {
	g.BlockFunc(func(g *jen.Group) {
		size, lengths := 0, jen.Empty()
		for _, s := range run {
			checkFlat(g, s)
			if isFixed(s) {
				size += s.Field.Kind.FixedSize()
				continue
			}
			size += maxVarint
			lengths.Op("+").Len(flatValue(s.Field))
		}
		if last {
			size++
		}
		g.Id("b").Op(":=").Id("w").Dot("Room").Call(jen.Lit(size).Add(lengths))
		for i := 0; i < len(run); {
			if n := fixedRun(run[i:]); n > 0 {
				putFixedRun(g, run[i:i+n])
				i += n
				continue
			}
			appendFlat(g, run[i])
			i++
		}
		if last {
			g.If(jen.Id("m").Dot("UnknownTags").Dot("Len").Call().Op("==").Lit(0)).Block(
				jen.Id("w").Dot("Wrote").Call(jen.Append(jen.Id("b"), jen.Lit(0))),
				jen.Return(jen.True()))
		}
		g.Id("w").Dot("Wrote").Call(jen.Id("b"))
	})
}

// flatValue is the string or the bytes of a field.
func flatValue(f *layout.Field) *jen.Statement {
	v := jen.Id("m").Dot(f.GoName)
	if f.Kind == layout.String && f.IsNullable() {
		v = v.Dot("S")
	}
	return v
}

// checkFlat emits what can be wrong with a field: a string that is too long, or
// null where it must not be.
func checkFlat(g *jen.Group, s layout.Slot) {
	f := s.Field
	if f.Kind != layout.String {
		return
	}
	g.If(jen.Len(flatValue(f)).Op(">").Qual(wirePkg, "MaxString")).Block(
		jen.Return(jen.Id("w").Dot("TooLong").Call(jen.Lit(f.GoName), jen.Len(flatValue(f)))))
	if f.IsNullable() && !s.Nullable {
		g.If(jen.Op("!").Id("m").Dot(f.GoName).Dot("Valid")).Block(jen.Return(jen.Id("w").Dot("Null").Call(jen.Lit(f.GoName))))
	}
}

// appendFlat emits a string or bytes behind their length.
func appendFlat(g *jen.Group, s layout.Slot) {
	f := s.Field
	v := flatValue(f)
	length := jen.Qual(wirePkg, "AppendUvarint").Call(jen.Id("b"), jen.Uint32().Call(jen.Len(v.Clone()).Op("+").Lit(1)))
	null := jen.Append(jen.Id("b"), jen.Lit(0))
	switch {
	case !s.Compact && f.Kind == layout.String:
		length = jen.Qual(binaryPkg, "BigEndian").Dot("AppendUint16").Call(jen.Id("b"), jen.Uint16().Call(jen.Len(v.Clone())))
		null = jen.Append(jen.Id("b"), jen.Lit(0xff), jen.Lit(0xff))
	case !s.Compact:
		length = jen.Qual(binaryPkg, "BigEndian").Dot("AppendUint32").Call(jen.Id("b"), jen.Uint32().Call(jen.Len(v.Clone())))
		null = jen.Append(jen.Id("b"), jen.Lit(0xff), jen.Lit(0xff), jen.Lit(0xff), jen.Lit(0xff))
	}
	set := jen.Id("b").Op("=").Append(length, v.Clone().Op("..."))
	if !s.Nullable {
		g.Add(set)
		return
	}
	isNull := jen.Op("!").Id("m").Dot(f.GoName).Dot("Valid")
	if f.Kind == layout.Bytes {
		isNull = v.Clone().Op("==").Nil()
	}
	g.If(isNull).Block(jen.Id("b").Op("=").Add(null)).Else().Block(set)
}

// putFixedRun emits values of fixed sizes with one bounds check for all.
func putFixedRun(g *jen.Group, run []layout.Slot) {
	size := 0
	for _, s := range run {
		size += s.Field.Kind.FixedSize()
	}
	g.BlockFunc(func(g *jen.Group) {
		g.Id("n").Op(":=").Len(jen.Id("b"))
		g.Id("b").Op("=").Id("b").Index(jen.Op(":").Id("n").Op("+").Lit(size))
		g.Id("p").Op(":=").Parens(jen.Op("*").Index(jen.Lit(size)).Byte()).Parens(jen.Id("b").Index(jen.Id("n").Op(":")))
		at := 0
		for _, s := range run {
			putFixed(g, s.Field, at)
			at += s.Field.Kind.FixedSize()
		}
	})
}

func putFixed(g *jen.Group, f *layout.Field, at int) {
	v := jen.Id("m").Dot(f.GoName)
	one := jen.Id("p").Index(jen.Lit(at))
	part := jen.Id("p").Index(jen.Lit(at).Op(":").Lit(at + f.Kind.FixedSize()))
	put := func(bits int, v *jen.Statement) {
		g.Qual(binaryPkg, "BigEndian").Dot(fmt.Sprintf("PutUint%d", bits)).Call(part, v)
	}
	switch f.Kind {
	case layout.Bool:
		g.Add(one).Op("=").Qual(wirePkg, "PutBool").Call(v)
	case layout.Int8:
		g.Add(one).Op("=").Byte().Call(v)
	case layout.Int16:
		put(16, jen.Uint16().Call(v))
	case layout.Uint16:
		put(16, v)
	case layout.Int32:
		put(32, jen.Uint32().Call(v))
	case layout.Int64:
		put(64, jen.Uint64().Call(v))
	case layout.Float64:
		g.Qual(wirePkg, "PutFloat64").Call(part, v)
	case layout.UUID:
		g.Copy(part, v.Index(jen.Op(":")))
	}
}
