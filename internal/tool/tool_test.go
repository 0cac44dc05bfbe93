package tool

import (
	"errors"
	"strings"
	"testing"
)

func TestSelect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		api     string
		version int16
		count   int
		first   string
		err     string
	}{
		{"all pairs", "", AllVersions, 309, "Produce v3", ""},
		{"one API by name", "ApiVersions", AllVersions, 6, "ApiVersions v0", ""},
		{"one API in another case", "apiversions", AllVersions, 6, "ApiVersions v0", ""},
		{"one API by key", "18", AllVersions, 6, "ApiVersions v0", ""},
		{"one version of an API", "Fetch", 12, 1, "Fetch v12", ""},
		{"the unstable version of an API", "InitProducerId", 6, 1, "InitProducerId v6", ""},
		{"one version of all APIs that have it", "", 13, 3, "Produce v13", ""},
		{"name that does not exist", "Fetsch", AllVersions, 0, "", `there is no API "Fetsch"`},
		{"key that does not exist", "95", AllVersions, 0, "", "there is no API key 95; keys are 0 to 94"},
		{"negative key", "-1", AllVersions, 0, "", "there is no API key -1"},
		{"API that Kafka removed", "LeaderAndIsr", AllVersions, 0, "", "Kafka removed it"},
		{"version below the first", "Fetch", 3, 0, "", "Fetch has no version 3; it has 4 to 18"},
		{"version above the last", "Fetch", 19, 0, "", "Fetch has no version 19; it has 4 to 18"},
		{"version that no API has", "", 99, 0, "", "no API has a version 99"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pairs, err := Select(c.api, c.version)
			if c.err != "" {
				if !errors.Is(err, ErrInput) || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %v, want an input error with %q", err, c.err)
				}
				return
			}
			if err != nil || len(pairs) != c.count || pairs[0].String() != c.first {
				t.Errorf("got %d pairs, first %v (%v); want %d, first %s", len(pairs), pairs[:1], err, c.count, c.first)
			}
		})
	}
}

func TestPairsHaveIDsOfTheirOwn(t *testing.T) {
	t.Parallel()
	pairs, err := Select("", AllVersions)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[uint64]Pair{}
	for _, p := range pairs {
		if other, ok := ids[p.ID()]; ok {
			t.Errorf("%s and %s have one ID", p, other)
		}
		ids[p.ID()] = p
	}
}

func TestInputErrorsWrap(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	err := Inputf("outside: %w", cause)
	if !errors.Is(err, ErrInput) || !errors.Is(err, cause) || err.Error() != "outside: cause" {
		t.Errorf("got %v", err)
	}
	if errors.Is(cause, ErrInput) {
		t.Error("another error is an input error")
	}
}
