// Command generate writes the message codec from the specs in schemas:
//
//	go run ./gen/cmd/generate -schemas schemas -out generated
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"kafka-iggy-bridge/gen/emit"
	"kafka-iggy-bridge/gen/layout"
	"kafka-iggy-bridge/gen/spec"
)

func main() {
	schemas := flag.String("schemas", "schemas", "folder of the specs")
	out := flag.String("out", "generated", "folder to write to")
	flag.Parse()
	if err := run(*schemas, *out); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(schemas, out string) error {
	version, err := kafkaVersion(filepath.Join(schemas, "VERSION"))
	if err != nil {
		return err
	}
	specs, err := spec.ParseDir(schemas)
	if err != nil {
		return err
	}
	msgs, err := layout.Build(specs)
	if err != nil {
		return err
	}
	files, err := emit.All(version, msgs)
	if err != nil {
		return err
	}
	return emit.Write(out, files)
}

func kafkaVersion(file string) (string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	first, _, _ := strings.Cut(string(b), "\n")
	version, ok := strings.CutPrefix(first, "kafka ")
	if !ok {
		return "", fmt.Errorf("%s: first line is %q, want \"kafka <release>\"", file, first)
	}
	return version, nil
}
