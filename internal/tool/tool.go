// Package tool holds what the parts of kafka-tool share: which API versions a
// command is about, and the difference between wrong input and other errors.
// The commands' logic is in the packages below it.
package tool

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"kafka-iggy-bridge/generated"
)

// ErrInput is wrapped by errors that are the fault of what the user gave: a
// name that does not exist, text that is not hex, a flag out of range.
var ErrInput = errors.New("input error")

// inputError is an ErrInput that does not say so in its text.
type inputError struct{ error }

func (e inputError) Is(target error) bool { return target == ErrInput }
func (e inputError) Unwrap() error        { return e.error }

// Inputf returns an error that is ErrInput. Its text is what the user reads.
func Inputf(format string, args ...any) error { return inputError{fmt.Errorf(format, args...)} }

// Pair is one version of an API: a request and a response.
type Pair struct {
	API     *generated.API
	Version int16
}

// String is the API's name and the version, such as "Fetch v12".
func (p Pair) String() string { return fmt.Sprintf("%s v%d", p.API.Name, p.Version) }

// ID is a number that no other pair has.
func (p Pair) ID() uint64 { return uint64(p.API.Key)<<16 | uint64(p.Version) }

// AllVersions stands for every version in Select.
const AllVersions int16 = -1

// LookupAPI finds an API by its name, in any case, or by its key. The error is
// ErrInput; keys that Kafka has removed are found.
func LookupAPI(name string) (*generated.API, error) {
	if key, err := strconv.ParseInt(name, 10, 16); err == nil {
		if a, ok := generated.LookupAPI(int16(key)); ok {
			return a, nil
		}
		return nil, Inputf("there is no API key %d; keys are 0 to %d", key, len(generated.APIs())-1)
	}
	apis := generated.APIs()
	for i := range apis {
		if strings.EqualFold(apis[i].Name, name) {
			return &apis[i], nil
		}
	}
	return nil, Inputf("there is no API %q", name)
}

// Select returns the pairs of an API, "" for all, in a version, AllVersions for
// each, ordered by key and version. The error is ErrInput where there is none.
func Select(api string, version int16) ([]Pair, error) {
	apis := generated.APIs()
	if api != "" {
		a, err := LookupAPI(api)
		if err != nil {
			return nil, err
		}
		if !a.Valid() {
			return nil, Inputf("%s has no versions: Kafka removed it", a.Name)
		}
		if version != AllVersions && !a.Has(version) {
			return nil, Inputf("%s has no version %d; it has %d to %d", a.Name, version, a.Min, a.Max)
		}
		apis = apis[a.Key : a.Key+1]
	}
	var pairs []Pair
	for i := range apis {
		for v := apis[i].Min; v <= apis[i].Max; v++ {
			if version == AllVersions || version == v {
				pairs = append(pairs, Pair{API: &apis[i], Version: v})
			}
		}
	}
	if len(pairs) == 0 {
		return nil, Inputf("no API has a version %d", version)
	}
	return pairs, nil
}
