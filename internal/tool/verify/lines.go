package verify

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxLine is the greatest length of a line in bytes.
const maxLine = 64 << 20

// EachLine calls do with every line that is not blank and its number, from 1.
// Text compressed with gzip is recognised by its first bytes. It stops at the
// first error, which then names the line.
func EachLine(r io.Reader, do func(n int, line []byte) error) error {
	in := bufio.NewReader(r)
	var text io.Reader = in
	if magic, err := in.Peek(2); err == nil && bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unzipped, err := gzip.NewReader(in)
		if err != nil {
			return err
		}
		text = unzipped
	}
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		n++
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		if err := do(n, line); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("line %d: %w", n+1, err)
	}
	return nil
}

// Result is what became of one line.
type Result struct {
	// Line is its number in its file, from 1.
	Line int
	Case Case
	// Err is nil where the line holds.
	Err error
}

// Cases calls do with every line of a file and its number, from 1, and stops at
// the first error. The error says that the file cannot be read, or is ErrUnknown
// for a line that is not of a known kind.
func Cases(path string, do func(n int, c Case) error) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := EachLine(f, func(n int, line []byte) error {
		c, err := Parse(line)
		if err != nil {
			return err
		}
		return do(n, c)
	}); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// File checks every line of a file and reports each. Its errors are those of
// Cases.
func File(path string, report func(Result)) error {
	return Cases(path, func(n int, c Case) error {
		report(Result{Line: n, Case: c, Err: c.Check()})
		return nil
	})
}
