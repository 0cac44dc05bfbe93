package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/spf13/cobra"

	"kafka-iggy-bridge/internal/config"
	"kafka-iggy-bridge/internal/groupadmin"
)

// groupFlags are the flags that all sub-commands of groups have.
type groupFlags struct {
	bootstrap string
	output    string
	timeout   time.Duration
}

// Forms of output.
const (
	outputTable = "table"
	outputJSON  = "json"
)

func groupsCommand() *cobra.Command {
	f := &groupFlags{}
	groups := &cobra.Command{
		Use:   "groups",
		Short: "List, describe, reset and hand over Kafka's consumer groups",
		Long: "List, describe, reset and hand over Kafka's consumer groups, through a bridge that runs: --bootstrap is its address for Kafka clients, " +
			"by default the one in the configuration.\n\nWhat changes something is a dry run until --execute is given.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	flags := groups.PersistentFlags()
	flags.StringVar(&f.bootstrap, "bootstrap", "", "bridge to ask, HOST:PORT, several separated by commas (default: kafka.advertised, else kafka.listen)")
	flags.StringVarP(&f.output, "output", "o", outputTable, "form of the output: table or json")
	flags.DurationVar(&f.timeout, "timeout", 30*time.Second, "time for the whole command")
	groups.AddCommand(groupsList(f), groupsDescribe(f), groupsReset(f), groupsHandover(f))
	return groups
}

// work runs a sub-command with the configuration and a client of the bridge.
// What fails in it is no mistake on the command line.
func (f *groupFlags) work(cmd *cobra.Command, do func(ctx context.Context, c *config.Config, k *groupadmin.Kafka) error) error {
	if f.output != outputTable && f.output != outputJSON {
		return fmt.Errorf("--output=%s: allowed: %s, %s", f.output, outputTable, outputJSON)
	}
	if f.timeout <= 0 {
		return fmt.Errorf("--timeout=%v: must be above 0", f.timeout)
	}
	c, err := config.Load(cmd.Flags())
	if err != nil {
		return err
	}
	bootstrap, err := f.address(c)
	if err != nil {
		return err
	}
	k, err := groupadmin.ConnectKafka(bootstrap)
	if err != nil {
		return err
	}
	defer k.Close()
	ctx, cancel := context.WithTimeout(cmd.Context(), f.timeout)
	defer cancel()
	if err := do(ctx, c, k); err != nil {
		return commandError{err}
	}
	return nil
}

// address is the bridge to ask.
func (f *groupFlags) address(c *config.Config) (string, error) {
	switch {
	case f.bootstrap != "":
		return f.bootstrap, nil
	case c.Kafka.Advertised != "":
		return c.Kafka.Advertised, nil
	}
	if _, port, err := net.SplitHostPort(c.Kafka.Listen); err != nil || port == "0" {
		return "", fmt.Errorf("kafka.listen=%s does not tell where the bridge is; give its address with --bootstrap=HOST:PORT", c.Kafka.Listen)
	}
	return c.Kafka.Listen, nil
}

func groupsList(f *groupFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List all groups with state, members and lag",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.work(cmd, func(ctx context.Context, _ *config.Config, k *groupadmin.Kafka) error {
				groups, err := groupadmin.List(ctx, k)
				if err != nil {
					return err
				}
				return f.print(cmd, groups, func(t *table) { t.groups(groups) })
			})
		},
	}
}

func groupsDescribe(f *groupFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "describe GROUP…",
		Short: "Describe groups: members, and per partition the committed offset, the end and the lag",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			return f.work(cmd, func(ctx context.Context, _ *config.Config, k *groupadmin.Kafka) error {
				groups, err := groupadmin.Describe(ctx, k, names...)
				if err != nil {
					return err
				}
				return f.print(cmd, groups, func(t *table) {
					for i := range groups {
						t.group(&groups[i])
					}
				})
			})
		},
	}
}
