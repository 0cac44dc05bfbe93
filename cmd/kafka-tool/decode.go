package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"kafka-iggy-bridge/internal/tool"
	"kafka-iggy-bridge/internal/tool/convert"
)

// addForm adds the flags that say what bytes and JSON hold.
func addForm(c *cobra.Command, f *convert.Form) {
	c.Flags().StringVar(&f.Message, "message", "", "the message's name, such as FetchRequest (required)")
	c.Flags().Int16Var(&f.Version, "version", 0, "the message's version (required)")
	c.Flags().BoolVar(&f.Header, "header", false, "a header stands before the message")
	c.Flags().BoolVar(&f.Frame, "frame", false, "four bytes of size stand before a header, as in the files of generate")
}

func checkForm(c *cobra.Command, f *convert.Form) error {
	for _, name := range []string{"message", "version"} {
		if !c.Flags().Changed(name) {
			return tool.Inputf("--%s is missing", name)
		}
	}
	f.Header = f.Header || f.Frame
	return nil
}

func argument(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

func newDecode() *cobra.Command {
	var form convert.Form
	var binary bool
	c := &cobra.Command{
		Use:   "decode --message M --version V [HEX | FILE | -]",
		Short: "Show a message's bytes as JSON",
		Long: `Shows a message as JSON in the form of Kafka's JsonConverter. The bytes are hex
digits, a file or standard input; the latter may hold hex digits, too. With
--tags a message is {"json": …, "unknownTags": …}, with --header there are
{"header": …, "body": …}.`,
		Args: arguments(0, 1),
	}
	addForm(c, &form)
	c.Flags().BoolVar(&form.Tags, "tags", false, "keep unknown tags: write {\"json\": …, \"unknownTags\": …}")
	c.Flags().BoolVar(&binary, "binary", false, "the file holds the bytes, even if they look like hex digits")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := checkForm(c, &form); err != nil {
			return err
		}
		raw, err := convert.Bytes(argument(args), c.InOrStdin(), binary)
		if err != nil {
			return err
		}
		text, notes, err := convert.Decode(form, raw)
		if err != nil {
			return err
		}
		for _, n := range notes {
			if _, err := fmt.Fprintln(c.ErrOrStderr(), "kafka-tool: note: "+n); err != nil {
				return err
			}
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "%s\n", text)
		return err
	}
	return c
}
