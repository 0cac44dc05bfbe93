package verify

import (
	"fmt"
	"slices"

	"kafka-iggy-bridge/generated"
)

// Header is what Kafka says of an API key and its versions.
type Header struct {
	API           string          `json:"api"`
	Key           int16           `json:"apiKey"`
	Valid         bool            `json:"valid"`
	Lowest        int16           `json:"lowest"`
	Highest       int16           `json:"highest"`
	HighestStable int16           `json:"highestStable"`
	Listeners     []string        `json:"listeners"`
	Versions      []HeaderVersion `json:"versions"`
}

// HeaderVersion is what Kafka says of one version of an API.
type HeaderVersion struct {
	Version  int16 `json:"version"`
	Request  int16 `json:"requestHeaderVersion"`
	Response int16 `json:"responseHeaderVersion"`
	Flexible bool  `json:"flexible"`
	Stable   bool  `json:"stable"`
}

// Name is the API's name.
func (h *Header) Name() string { return h.API }

// Check compares with the table of APIs.
func (h *Header) Check() error {
	a, ok := generated.LookupAPI(h.Key)
	if !ok {
		return fmt.Errorf("there is no API key %d", h.Key)
	}
	var f faults
	if a.Name != h.API {
		f.add("key %d is %s", h.Key, a.Name)
	}
	if a.Valid() != h.Valid {
		f.add("valid is %t, want %t", a.Valid(), h.Valid)
	}
	if !h.Valid || !a.Valid() {
		return f.err()
	}
	if a.Min != h.Lowest || a.Max != h.Highest || a.MaxStable != h.HighestStable {
		f.add("versions are %d to %d, stable to %d; want %d to %d, stable to %d", a.Min, a.Max, a.MaxStable, h.Lowest, h.Highest, h.HighestStable)
	}
	if !slices.Equal(sorted(a.Listeners), sorted(h.Listeners)) {
		f.add("listeners are %v, want %v", a.Listeners, h.Listeners)
	}
	for _, v := range h.Versions {
		got := HeaderVersion{Version: v.Version, Request: a.RequestHeaderVersion(v.Version), Response: a.ResponseHeaderVersion(v.Version),
			Flexible: a.Flexible(v.Version), Stable: v.Version <= a.MaxStable}
		if got != v {
			f.add("got %+v, want %+v", got, v)
		}
	}
	return f.err()
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }
