package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"kafka-iggy-bridge/internal/tool"
	"kafka-iggy-bridge/internal/tool/corpus"
	"kafka-iggy-bridge/internal/tool/exchange"
)

func newSend() *cobra.Command {
	var timeout time.Duration
	var concurrency int
	var opts corpus.Options
	c := &cobra.Command{
		Use:   "send HOST:PORT [DIR]",
		Short: "Send each valid request on a connection of its own and decode the answers",
		Long: `Sends requests to a Kafka server, made as generate does or read from its folder,
each on a connection of its own, and decodes the answers: ok, closed (as servers
do with what they do not serve), malformed, timeout or unreachable. Ends with the
counts; the exit code is 1 where any is neither ok nor closed.`,
		Args: arguments(1, 2),
	}
	chosen := addSelection(c)
	addTimeout(c, &timeout)
	addCorpusFlags(c, &opts)
	c.Flags().IntVar(&concurrency, "concurrency", 8, "how many requests are under way at a time")
	c.RunE = func(c *cobra.Command, args []string) error {
		s, err := server(args[0], timeout)
		if err != nil {
			return err
		}
		if concurrency < 1 {
			return tool.Inputf("--concurrency is %d, but must be at least 1", concurrency)
		}
		requests, err := requests(chosen, argument(args[1:]), opts)
		if err != nil {
			return err
		}
		return sendAll(c, s, requests, concurrency)
	}
	return c
}

// requests reads a corpus folder, or makes the requests where none is given.
func requests(chosen *selection, dir string, opts corpus.Options) ([]*corpus.Exchange, error) {
	if dir != "" {
		api, version, err := chosen.filter()
		if err != nil {
			return nil, err
		}
		return corpus.Load(dir, api, version)
	}
	pairs, err := chosen.pairs()
	if err != nil {
		return nil, err
	}
	all := make([]*corpus.Exchange, len(pairs))
	for i, p := range pairs {
		if all[i], err = corpus.Make(p, opts); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func sendAll(c *cobra.Command, s exchange.Server, requests []*corpus.Exchange, concurrency int) error {
	if err := s.Reachable(c.Context()); err != nil {
		return err
	}
	var printing error
	counts, err := s.SendAll(c.Context(), requests, concurrency, func(o exchange.Outcome) {
		if err := o.Print(c.OutOrStdout()); err != nil {
			printing = err
		}
	})
	if err == nil {
		err = printing
	}
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(c.OutOrStdout(), counts); err != nil {
		return err
	}
	if err := s.Reachable(c.Context()); err != nil {
		return fmt.Errorf("the server is gone behind the requests: %w", err)
	}
	if counts.Failed() > 0 {
		return errFailed
	}
	return nil
}
