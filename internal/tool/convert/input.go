package convert

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"kafka-iggy-bridge/internal/tool"
)

// Bytes returns the bytes that an argument stands for: hex digits themselves, or
// else a file, or standard input for "" and "-". Files and standard input may
// hold the bytes or hex digits, unless binary says that they are the bytes
// whatever they look like. The error is tool.ErrInput where the argument is
// neither.
func Bytes(argument string, stdin io.Reader, binary bool) ([]byte, error) {
	if b, ok := fromHex([]byte(argument)); ok {
		return b, nil
	}
	content, err := content(argument, stdin)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, tool.Inputf("%s is neither hex nor a file", quote(argument))
	}
	if err != nil {
		return nil, err
	}
	if b, ok := fromHex(content); ok && !binary {
		return b, nil
	}
	return content, nil
}

// Text returns the JSON that an argument stands for: itself where it begins with
// a brace, or else the content of a file, or of standard input for "" and "-".
// The error is tool.ErrInput where the argument is neither.
func Text(argument string, stdin io.Reader) ([]byte, error) {
	if strings.HasPrefix(strings.TrimSpace(argument), "{") {
		return []byte(argument), nil
	}
	b, err := content(argument, stdin)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, tool.Inputf("%s is neither a JSON object nor a file", quote(argument))
	}
	return b, err
}

func content(argument string, stdin io.Reader) ([]byte, error) {
	if argument == "" || argument == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(argument)
}

// fromHex reads hex digits with any white space between them.
func fromHex(text []byte) ([]byte, bool) {
	digits := bytes.Join(bytes.Fields(text), nil)
	out := make([]byte, hex.DecodedLen(len(digits)))
	_, err := hex.Decode(out, digits)
	return out, err == nil && len(digits) > 0
}

// quote shows an argument, cut where it is long.
func quote(s string) string {
	const most = 40
	if len(s) > most {
		s = s[:most] + "…"
	}
	return `"` + s + `"`
}
