package main

import (
	"time"

	"github.com/spf13/cobra"

	"kafka-iggy-bridge/internal/tool"
	"kafka-iggy-bridge/internal/tool/apitable"
	"kafka-iggy-bridge/internal/tool/exchange"
)

const defaultTimeout = 10 * time.Second

func newAPIs() *cobra.Command {
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "apis [HOST:PORT]",
		Short: "List API keys, versions and header versions, with a broker's ranges beside ours",
		Args:  arguments(0, 1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return apitable.Write(c.OutOrStdout(), nil)
			}
			s, err := server(args[0], timeout)
			if err != nil {
				return err
			}
			ranges, err := s.Ranges(c.Context())
			if err != nil {
				return err
			}
			return apitable.Write(c.OutOrStdout(), ranges)
		},
	}
	addTimeout(c, &timeout)
	return c
}

func addTimeout(c *cobra.Command, timeout *time.Duration) {
	c.Flags().DurationVar(timeout, "timeout", defaultTimeout, "how long an exchange may take")
}

func server(address string, timeout time.Duration) (exchange.Server, error) {
	if timeout <= 0 {
		return exchange.Server{}, tool.Inputf("--timeout is %s, but must be above 0", timeout)
	}
	return exchange.Server{Address: address, Timeout: timeout}, exchange.CheckAddress(address)
}
