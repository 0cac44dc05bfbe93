package emit

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"kafka-iggy-bridge/gen/layout"
	"kafka-iggy-bridge/gen/spec"
)

// apiVersionsKey is the one API whose response header never becomes flexible,
// so that a client can read the answer whatever version it asked for (KIP-511).
const apiVersionsKey = 18

// apisFile emits the table of API keys: names, versions, header versions and
// constructors.
func apisFile(f *jenFile, kafka string, msgs []*layout.Message) *jenFile {
	f.Comment("KafkaVersion is the Kafka release whose specs the package is made from.")
	f.Const().Id("KafkaVersion").Op("=").Lit(kafka)

	requests, responses := map[int16]*layout.Message{}, map[int16]*layout.Message{}
	var keys []int16
	for _, m := range msgs {
		switch m.Spec.Type {
		case spec.Request:
			requests[*m.Spec.APIKey] = m
			keys = append(keys, *m.Spec.APIKey)
		case spec.Response:
			responses[*m.Spec.APIKey] = m
		}
	}
	slices.Sort(keys)

	f.Comment("The API keys by name.")
	f.Const().DefsFunc(func(g *jen.Group) {
		for _, k := range keys {
			g.Id("Key" + apiName(requests[k])).Int16().Op("=").Lit(int(k))
		}
	})

	f.Var().Id("apis").Op("=").Index(jen.Op("...")).Id("API").ValuesFunc(func(g *jen.Group) {
		for _, k := range keys {
			g.Line().Add(jen.Lit(int(k))).Op(":").Values(apiEntry(k, requests[k], responses[k]))
		}
		g.Line()
	})
	return f
}

func apiName(request *layout.Message) string {
	return request.Name[:len(request.Name)-len("Request")]
}

func apiEntry(key int16, req, resp *layout.Message) jen.Dict {
	d := jen.Dict{
		jen.Id("Key"):  jen.Lit(int(key)),
		jen.Id("Name"): jen.Lit(apiName(req)),
		jen.Id("Min"):  jen.Lit(int(req.Valid.Min)),
		jen.Id("Max"):  jen.Lit(int(req.Valid.Max)),
	}
	if req.Root == nil {
		return d
	}
	stable := int(req.Valid.Max)
	if req.Spec.LatestVersionUnstable {
		stable--
	}
	flexible := int(req.Valid.Max) + 1
	if !req.Flexible.Empty() {
		flexible = int(req.Flexible.Min)
	}
	tagged := flexible
	if key == apiVersionsKey {
		tagged = int(req.Valid.Max) + 1
	}
	d[jen.Id("MaxStable")] = jen.Lit(stable)
	d[jen.Id("FlexibleFrom")] = jen.Lit(flexible)
	d[jen.Id("responseTagsFrom")] = jen.Lit(tagged)
	d[jen.Id("Listeners")] = jen.Index().String().ValuesFunc(func(g *jen.Group) {
		for _, l := range req.Spec.Listeners {
			g.Lit(l)
		}
	})
	d[jen.Id("NewRequest")] = constructor(req)
	d[jen.Id("NewResponse")] = constructor(resp)
	return d
}

// constructor emits a function that returns the message at its defaults.
func constructor(m *layout.Message) *jen.Statement {
	return jen.Func().Params().Qual(wirePkg, "Message").Block(
		jen.Id("m").Op(":=").Id("Default"+m.Name).Call(),
		jen.Return(jen.Op("&").Id("m")))
}

// messagesFile emits the table of all messages by name.
func messagesFile(f *jenFile, msgs []*layout.Message) *jenFile {
	f.Var().Id("messages").Op("=").Index().Id("messageEntry").ValuesFunc(func(g *jen.Group) {
		for _, m := range msgs {
			if m.Root == nil {
				continue
			}
			g.Line().Values(jen.Op("&").Id(messageSchemaName(m)), constructor(m))
		}
		g.Line()
	})

	f.Comment("Defaults maps each generated struct type to a function that returns one at")
	f.Comment("its defaults.")
	f.Var().Id("Defaults").Op("=").Map(jen.Qual("reflect", "Type")).Func().Params().Any().ValuesFunc(func(g *jen.Group) {
		for _, m := range msgs {
			for _, s := range m.Structs {
				g.Line().Qual("reflect", "TypeFor").Index(jen.Id(s.GoName)).Call().Op(":").Func().Params().Any().
					Block(jen.Return(jen.Id("Default" + s.GoName).Call()))
			}
		}
		g.Line()
	})
	return f
}
