package main

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"kafka-iggy-bridge/internal/tool"
	"kafka-iggy-bridge/internal/tool/verify"
)

func newVerify() *cobra.Command {
	return &cobra.Command{
		Use:   "verify FILE...",
		Short: "Check the codec against recorded messages",
		Long: `Checks every line of the files, JSON and gzipped or not: messages in bytes and
JSON, what must not encode, malformed bytes, header versions. Prints each
failure and ends with the counts.`,
		Args: arguments(1, math.MaxInt),
		RunE: func(c *cobra.Command, args []string) (err error) {
			out := bufio.NewWriter(c.OutOrStdout())
			passed, failed, err := verifyFiles(out, args)
			if err == nil {
				_, err = fmt.Fprintf(out, "%d passed, %d failed\n", passed, failed)
			}
			if e := out.Flush(); err == nil {
				err = e
			}
			if err == nil && failed > 0 {
				err = errFailed
			}
			return err
		},
	}
}

// verifyFiles prints each failure and returns how many lines passed and failed.
func verifyFiles(out io.Writer, paths []string) (passed, failed int, err error) {
	for _, path := range paths {
		var printing error
		err := verify.File(path, func(r verify.Result) {
			if r.Err == nil {
				passed++
				return
			}
			failed++
			if _, err := fmt.Fprintf(out, "%s:%d: %s: %s\n", path, r.Line, r.Case.Name(), strings.ReplaceAll(r.Err.Error(), "\n", "; ")); err != nil {
				printing = err
			}
		})
		if err != nil {
			return passed, failed, asInput(err)
		}
		if printing != nil {
			return passed, failed, printing
		}
	}
	return passed, failed, nil
}

// asInput marks errors that are the fault of what a file is.
func asInput(err error) error {
	var path *fs.PathError
	if errors.Is(err, verify.ErrUnknown) || errors.Is(err, bufio.ErrTooLong) || errors.Is(err, gzip.ErrHeader) ||
		errors.Is(err, gzip.ErrChecksum) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &path) {
		return tool.Inputf("%w", err)
	}
	return err
}
