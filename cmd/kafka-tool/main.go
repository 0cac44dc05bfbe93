// Command kafka-tool makes, shows, checks and sends messages of the Kafka
// protocol.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"kafka-iggy-bridge/internal/tool"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // a check failed, or something outside did: a file, a server
	exitInput  = 2 // the input is wrong
)

// errFailed ends a command whose output says already what failed.
var errFailed = errors.New("failed")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run runs the tool and returns its exit code. Errors are one line on stderr.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(append([]string{}, args...)) // nil would stand for the process's own
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errFailed):
		return exitFailed
	}
	// Where standard error is gone nobody can be told; the exit code remains.
	_, _ = fmt.Fprintln(stderr, "kafka-tool: "+oneLine(err.Error()))
	if errors.Is(err, tool.ErrInput) {
		return exitInput
	}
	return exitFailed
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "kafka-tool",
		Short:         "Makes, shows, checks and sends messages of the Kafka protocol",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return tool.Inputf("there is no command %q; kafka-tool --help lists them", args[0])
			}
			return tool.Inputf("a command is missing; kafka-tool --help lists them")
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return tool.Inputf("%w; %s --help lists the flags", err, c.CommandPath())
	})
	root.SetHelpCommand(newHelp(root))
	root.AddCommand(newAPIs(), newGenerate(), newDecode(), newEncode(), newVerify(), newSend())
	return root
}

func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show what a command does",
		Args:  arguments(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return tool.Inputf("there is no command %q; kafka-tool --help lists them", args[0])
			}
			return c.Help()
		},
	}
}

// arguments takes between least and most arguments; usage says which.
func arguments(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return tool.Inputf("%d arguments; the usage is %s", len(args), c.UseLine())
		}
		return nil
	}
}
