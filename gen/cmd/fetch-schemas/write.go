package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"kafka-iggy-bridge/gen/spec"
)

const notice = `The files of this folder state the field names, types, versions and defaults
of Apache Kafka's network messages and internal records. These facts are taken
from the jars named in VERSION.

Apache Kafka
Copyright The Apache Software Foundation
https://kafka.apache.org/

Apache Kafka is licensed under the Apache License, Version 2.0.
`

// write replaces the specs of a folder by those of one release. Each is read
// back by the generator's parser first, so that a release it cannot handle
// changes nothing.
func write(out, kafka string, jars []jar, specs []specFile) error {
	names := map[string]bool{}
	for _, s := range specs {
		if names[s.name] {
			return fmt.Errorf("%s is in two jars", s.name)
		}
		names[s.name] = true
		if _, err := spec.Parse(s.name, s.data); err != nil {
			return err
		}
	}
	old, err := filepath.Glob(filepath.Join(out, "*.json"))
	if err != nil {
		return err
	}
	for _, f := range old {
		if err := os.Remove(f); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for _, s := range specs {
		if err := os.WriteFile(filepath.Join(out, s.name), s.data, 0o644); err != nil {
			return err
		}
	}
	var v strings.Builder
	fmt.Fprintf(&v, "kafka %s\n", kafka)
	for _, j := range jars {
		fmt.Fprintf(&v, "sha256 %s %s\n", j.sha256, j.name)
	}
	if err := os.WriteFile(filepath.Join(out, "VERSION"), []byte(v.String()), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "NOTICE"), []byte(notice), 0o644); err != nil {
		return err
	}
	fmt.Printf("%d specs of Kafka %s in %s\n", len(specs), kafka, out)
	return nil
}
