package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/config"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2 // the command line or the configuration is wrong
)

// version is set by the linker; without that it is taken from the build.
var version string

// errRuntime marks what went wrong after the configuration was accepted.
var errRuntime = errors.New("the bridge has failed")

// commandError is what went wrong in a command that was understood.
type commandError struct{ error }

// Unwrap gives the error itself.
func (e commandError) Unwrap() error { return e.error }

// run executes a command line and returns the exit code. Signals end a running
// bridge: the first in order, the second at once.
func run(args []string, stdout, stderr io.Writer, signals <-chan os.Signal) int {
	root := rootCommand(signals)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(context.Background())
	if err == nil {
		return exitOK
	}
	if _, printErr := fmt.Fprintf(stderr, "kafka-iggy-bridge: %v\n", err); printErr != nil {
		return exitFailed
	}
	if failed := (commandError{}); errors.Is(err, errRuntime) || errors.As(err, &failed) {
		return exitFailed
	}
	return exitUsage
}

func rootCommand(signals <-chan os.Signal) *cobra.Command {
	root := &cobra.Command{
		Use:           "kafka-iggy-bridge",
		Short:         "Serve Kafka clients from Apache Iggy",
		Long:          "Serve Kafka clients from Apache Iggy.\n\nWithout --iggy.address everything is kept in the embedded engine, in the folder --embedded.data_dir.",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := config.Load(cmd.Flags())
			if err != nil {
				return err
			}
			if err := serve(cmd.Context(), c, cmd.OutOrStdout(), cmd.ErrOrStderr(), signals); err != nil {
				return fmt.Errorf("%w: %w", errRuntime, err)
			}
			return nil
		},
	}
	config.AddFlags(root.PersistentFlags())
	root.AddCommand(engineCommand(signals), groupsCommand(), configCommand(), versionCommand())
	root.CompletionOptions.DisableDefaultCmd = true
	return root
}

func configCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "config",
		Short: "Print the effective configuration and where each value comes from, secrets masked",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := config.Load(cmd.Flags())
			if err != nil {
				return err
			}
			return c.Print(cmd.OutOrStdout())
		},
	}
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "kafka-iggy-bridge %s (Kafka protocol %s, %s, %s/%s)\n",
				buildVersion(), generated.KafkaVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// buildVersion is the version given by the linker, else the module's, else the
// commit the binary was built from.
func buildVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	revision, dirty := "unknown", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	return revision + dirty
}
