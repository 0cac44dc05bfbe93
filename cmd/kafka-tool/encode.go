package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"kafka-iggy-bridge/internal/tool/convert"
)

func newEncode() *cobra.Command {
	var form convert.Form
	var out string
	c := &cobra.Command{
		Use:   "encode --message M --version V [JSON | FILE | -]",
		Short: "Show a message's JSON as bytes, in hex",
		Long: `Turns JSON in the form of Kafka's JsonConverter, or what decode writes with --tags
or --header, into bytes. The JSON is given itself, in a file or on standard
input. The bytes are printed in hex, or written to a file.`,
		Args: arguments(0, 1),
	}
	addForm(c, &form)
	c.Flags().StringVar(&out, "out", "", "write the bytes to this file")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := checkForm(c, &form); err != nil {
			return err
		}
		text, err := convert.Text(argument(args), c.InOrStdin())
		if err != nil {
			return err
		}
		raw, err := convert.Encode(form, text)
		if err != nil {
			return err
		}
		if out != "" {
			return os.WriteFile(out, raw, 0o644)
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "%x\n", raw)
		return err
	}
	return c
}
