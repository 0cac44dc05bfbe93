// Command fetch-schemas takes Kafka's message specs out of the jars of one
// Kafka release and writes them, normalised, into a folder: the same keys and
// values in the same order, without comments and descriptions.
//
//	go run ./gen/cmd/fetch-schemas -kafka 4.4.0 -out schemas
//
// The jars come from Maven through the mvn command. Their SHA-256 is recorded
// in the folder's VERSION file.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
)

// artifacts are the jars of a release that hold specs.
var artifacts = []string{"kafka-clients", "kafka-group-coordinator", "kafka-transaction-coordinator"}

func main() {
	kafka := flag.String("kafka", "", "Kafka release, such as 4.4.0")
	out := flag.String("out", "schemas", "folder to write the specs to")
	flag.Parse()
	if err := run(*kafka, *out); err != nil {
		fmt.Fprintln(os.Stderr, "fetch-schemas:", err)
		os.Exit(1)
	}
}

func run(kafka, out string) error {
	if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(kafka) {
		return fmt.Errorf("-kafka %q: want a release such as 4.4.0", kafka)
	}
	dir, err := os.MkdirTemp("", "kafka-jars-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var specs []specFile
	var jars []jar
	for _, name := range artifacts {
		file, err := download(name, kafka, dir)
		if err != nil {
			return err
		}
		j, found, err := readJar(file)
		if err != nil {
			return err
		}
		jars = append(jars, j)
		specs = append(specs, found...)
	}
	return write(out, kafka, jars, specs)
}

func download(artifact, version, dir string) (string, error) {
	cmd := exec.Command("mvn", "-q", "-B", "dependency:copy",
		"-Dartifact=org.apache.kafka:"+artifact+":"+version, "-DoutputDirectory="+dir)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("fetching %s %s with mvn: %w", artifact, version, err)
	}
	return filepath.Join(dir, artifact+"-"+version+".jar"), nil
}
