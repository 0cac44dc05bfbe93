// Command gen writes package tiny from its specs.
package main

import (
	"flag"
	"fmt"
	"os"

	"kafka-iggy-bridge/gen/emit"
	"kafka-iggy-bridge/gen/layout"
	"kafka-iggy-bridge/gen/spec"
)

func main() {
	schemas := flag.String("schemas", "schemas", "folder of the specs")
	out := flag.String("out", ".", "folder to write to")
	flag.Parse()
	if err := run(*schemas, *out); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(schemas, out string) error {
	specs, err := spec.ParseDir(schemas)
	if err != nil {
		return err
	}
	msgs, err := layout.Build(specs)
	if err != nil {
		return err
	}
	files, err := emit.Messages("tiny", msgs)
	if err != nil {
		return err
	}
	return emit.Write(out, files)
}
