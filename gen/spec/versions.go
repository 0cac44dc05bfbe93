package spec

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Versions is an inclusive range of message versions. The zero value is not
// the empty range; use None.
type Versions struct{ Min, Max int16 }

// None is the empty range, written "none" in a spec.
var None = Versions{Min: 0, Max: -1}

// Empty reports whether the range holds no version.
func (v Versions) Empty() bool { return v.Max < v.Min }

// Contains reports whether version lies in the range.
func (v Versions) Contains(version int16) bool { return version >= v.Min && version <= v.Max }

// Covers reports whether every version of other lies in the range.
func (v Versions) Covers(other Versions) bool {
	return other.Empty() || (v.Contains(other.Min) && v.Contains(other.Max))
}

// Intersect returns the versions that lie in both ranges.
func (v Versions) Intersect(other Versions) Versions {
	r := Versions{Min: max(v.Min, other.Min), Max: min(v.Max, other.Max)}
	if r.Empty() {
		return None
	}
	return r
}

// String writes the range as a spec does: "none", "3", "0-4" or "2+".
func (v Versions) String() string {
	switch {
	case v.Empty():
		return "none"
	case v.Min == v.Max:
		return strconv.Itoa(int(v.Min))
	case v.Max == math.MaxInt16:
		return fmt.Sprintf("%d+", v.Min)
	default:
		return fmt.Sprintf("%d-%d", v.Min, v.Max)
	}
}

// ParseVersions reads the four forms of a version range: "none", "3", "0-4"
// and "2+".
func ParseVersions(s string) (Versions, error) {
	if s == "none" {
		return None, nil
	}
	if low, ok := strings.CutSuffix(s, "+"); ok {
		from, err := parseVersion(low)
		return Versions{Min: from, Max: math.MaxInt16}, err
	}
	low, high, isRange := strings.Cut(s, "-")
	from, err := parseVersion(low)
	if err != nil {
		return None, err
	}
	if !isRange {
		return Versions{Min: from, Max: from}, nil
	}
	to, err := parseVersion(high)
	if err != nil {
		return None, err
	}
	if to < from {
		return None, fmt.Errorf("version range %q runs backwards", s)
	}
	return Versions{Min: from, Max: to}, nil
}

func parseVersion(s string) (int16, error) {
	n, err := strconv.ParseUint(s, 10, 15)
	if err != nil {
		return 0, fmt.Errorf("version %q: want a number from 0 to 32767", s)
	}
	return int16(n), nil
}

// UnmarshalJSON reads a range from its string form.
func (v *Versions) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("version range %s: want a string such as \"0-4\", \"2+\" or \"none\"", b)
	}
	r, err := ParseVersions(s)
	*v = r
	return err
}
