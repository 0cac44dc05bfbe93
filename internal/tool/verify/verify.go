// Package verify checks the codec against lines of recorded truth: messages
// that Kafka's own classes wrote, what they refuse to write, what they make of
// malformed bytes, and the header versions of each API.
//
// A line is a JSON object; which kind it is shows in its fields. The tests of
// package generated and kafka-tool verify check them in this one way.
package verify

import (
	"encoding/json"
	"errors"
	"fmt"
)

// ErrUnknown says that a line is not of any kind that this package checks.
var ErrUnknown = errors.New("not a line to verify")

// Case is one line, ready to be checked.
type Case interface {
	// Name says what the line is about, such as "FetchRequest v12 dense".
	Name() string
	// Check returns what is wrong, nil when all is as the line says. Several
	// faults are joined.
	Check() error
}

// marks are the fields that tell the kinds of lines apart.
type marks struct {
	Message  *string         `json:"message"`
	API      *string         `json:"api"`
	JSON     json.RawMessage `json:"json"`
	Base     json.RawMessage `json:"base"`
	Hex      *string         `json:"hex"`
	Read     *string         `json:"read"`
	Expect   *string         `json:"expect"`
	Versions json.RawMessage `json:"versions"`
}

// Parse reads a line. The error is ErrUnknown where it is not JSON or not of a
// known kind.
func Parse(line []byte) (Case, error) {
	var m marks
	if err := json.Unmarshal(line, &m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	var c Case
	switch {
	case m.Message != nil && m.Hex != nil && m.JSON != nil:
		c = &Vector{}
	case m.Message != nil && m.Base != nil && m.Expect != nil:
		c = &Failure{}
	case m.Message != nil && m.Hex != nil && m.Read != nil:
		c = &Malformed{}
	case m.API != nil && m.Versions != nil:
		c = &Header{}
	default:
		return nil, fmt.Errorf("%w: it has neither message, hex and json (a vector) nor message, base and expect (an encode failure) "+
			"nor message, hex and read (malformed bytes) nor api and versions (header versions)", ErrUnknown)
	}
	if err := json.Unmarshal(line, c); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return c, nil
}

// faults collects what is wrong.
type faults []error

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

func (f faults) err() error { return errors.Join(f...) }
