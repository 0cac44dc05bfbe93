package emit

import (
	"github.com/dave/jennifer/jen"

	"kafka-iggy-bridge/gen/layout"
)

// methods emits what makes the root struct a wire.Message.
func methods(f *jenFile, m *layout.Message) {
	recv := jen.Id("m").Op("*").Id(m.Name)

	f.Commentf("Decode reads a %s from the front of frame and returns what is left behind it.", m.Name)
	f.Comment("Strings, bytes and records are views of frame.")
	f.Func().Params(recv.Clone()).Id("Decode").Params(jen.Id("version").Int16(), jen.Id("frame").Index().Byte()).
		Params(jen.Index().Byte(), jen.Error()).Block(
		jen.Id("r").Op(":=").Qual(wirePkg, "NewReader").Call(jen.Id("frame")),
		jen.Op("*").Id("m").Op("=").Id(m.Name).Values(),
		jen.Id("ok").Op(":=").False(),
		versionSwitch(m, func(l *layout.Layout) *jen.Statement {
			return jen.Id("ok").Op("=").Id(decodeName(l)).Call(jen.Op("&").Id("r"), jen.Id("m"))
		}, jen.Return(jen.Nil(), unsupported(m))),
		jen.If(jen.Op("!").Id("ok")).Block(
			jen.Return(jen.Nil(), jen.Id("r").Dot("Err").Call(jen.Op("&").Id(messageSchemaName(m)), jen.Id("version"))),
		),
		jen.Return(jen.Id("r").Dot("Rest").Call(), jen.Nil()),
	)

	f.Commentf("Encode appends the %s to w.", m.Name)
	f.Func().Params(recv.Clone()).Id("Encode").Params(jen.Id("w").Op("*").Qual(wirePkg, "Writer"), jen.Id("version").Int16()).
		Error().Block(
		jen.Id("ok").Op(":=").False(),
		versionSwitch(m, func(l *layout.Layout) *jen.Statement {
			return jen.Id("ok").Op("=").Id(encodeName(l)).Call(jen.Id("w"), jen.Id("m"))
		}, jen.Return(unsupported(m))),
		jen.If(jen.Op("!").Id("ok")).Block(
			jen.Return(jen.Id("w").Dot("Err").Call(jen.Op("&").Id(messageSchemaName(m)), jen.Id("version"))),
		),
		jen.Return(jen.Nil()),
	)

	f.Commentf("Append appends the %s to dst.", m.Name)
	f.Func().Params(recv.Clone()).Id("Append").Params(jen.Id("dst").Index().Byte(), jen.Id("version").Int16()).
		Params(jen.Index().Byte(), jen.Error()).Block(
		jen.Id("w").Op(":=").Qual(wirePkg, "NewWriter").Call(jen.Id("dst")),
		jen.If(jen.Err().Op(":=").Id("m").Dot("Encode").Call(jen.Op("&").Id("w"), jen.Id("version")), jen.Err().Op("!=").Nil()).Block(
			jen.Return(jen.Id("dst"), jen.Err()),
		),
		jen.Return(jen.Id("w").Dot("Bytes").Call(), jen.Nil()),
	)

	f.Comment("Reset sets every field to its default.")
	f.Func().Params(recv.Clone()).Id("Reset").Params().Block(
		jen.Op("*").Id("m").Op("=").Id("Default" + m.Name).Call())

	f.Commentf("Schema describes %s.", m.Name)
	f.Func().Params(recv.Clone()).Id("Schema").Params().Op("*").Qual(wirePkg, "Schema").Block(
		jen.Return(jen.Op("&").Id(messageSchemaName(m))))
}

func unsupported(m *layout.Message) *jen.Statement {
	return jen.Qual(wirePkg, "UnsupportedVersion").Call(jen.Op("&").Id(messageSchemaName(m)), jen.Id("version"))
}

// versionSwitch is the table from versions to layouts. A switch keeps reader
// and message off the heap, which calls through function values would not.
func versionSwitch(m *layout.Message, call func(*layout.Layout) *jen.Statement, otherwise jen.Code) *jen.Statement {
	return jen.Switch(jen.Id("version")).BlockFunc(func(g *jen.Group) {
		for _, l := range m.Root.Layouts {
			g.CaseFunc(func(c *jen.Group) {
				for _, v := range l.Versions {
					c.Lit(int(v))
				}
			}).Block(call(l))
		}
		g.Default().Block(otherwise)
	})
}
