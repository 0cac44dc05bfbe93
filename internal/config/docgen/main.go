// Command docgen writes docs/CONFIG.md from the table of configuration keys.
package main

import (
	"flag"
	"fmt"
	"os"

	"kafka-iggy-bridge/internal/config"
)

func main() {
	out := flag.String("out", "docs/CONFIG.md", "file to write")
	flag.Parse()
	if err := os.WriteFile(*out, []byte(config.Markdown()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "docgen:", err)
		os.Exit(1)
	}
}
