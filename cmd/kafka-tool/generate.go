package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"kafka-iggy-bridge/internal/tool"
	"kafka-iggy-bridge/internal/tool/corpus"
)

func newGenerate() *cobra.Command {
	var dir string
	var opts corpus.Options
	c := &cobra.Command{
		Use:   "generate --out DIR",
		Short: "Write valid framed requests and responses, one file each, and a manifest",
		Long: `Writes a framed request and response of every API key and version into a folder,
and manifest.json, which lists them. The same seed gives the same bytes.`,
		Args: arguments(0, 0),
	}
	chosen := addSelection(c)
	c.Flags().StringVar(&dir, "out", "", "the folder to write to (required)")
	addCorpusFlags(c, &opts)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if dir == "" {
			return tool.Inputf("--out is missing: the folder to write to")
		}
		pairs, err := chosen.pairs()
		if err != nil {
			return err
		}
		m, err := corpus.Write(dir, pairs, opts)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "%d pairs in %s\n", m.Count, dir)
		return err
	}
	return c
}

// addCorpusFlags adds the flags that say what generated messages hold.
func addCorpusFlags(c *cobra.Command, opts *corpus.Options) {
	c.Flags().Uint64Var(&opts.Seed, "seed", 1, "what all values are made from")
	c.Flags().StringVar(&opts.Topic, "topic", "kafka-tool", "the topic that requests name where they only read, append or commit")
}
