package config

import (
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"time"
)

// parse turns a key's text into the value that set takes.
func (k *key) parse(text string) (any, error) {
	if text == "" && !k.optional {
		return nil, errors.New("is empty")
	}
	switch k.kind {
	case kindInt:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, errors.New("is not an integer")
		}
		return n, k.checkRange(n)
	case kindBytes:
		n, err := parseBytes(text)
		if err != nil {
			return nil, err
		}
		return n, k.checkRange(n)
	case kindDuration:
		d, err := parseDuration(text)
		if err != nil {
			return nil, err
		}
		return d, k.checkRange(int64(d))
	case kindBool:
		return parseBool(text)
	case kindChoice:
		for _, a := range k.allowed {
			if text == a {
				return text, nil
			}
		}
		return nil, errors.New("is not one of them")
	case kindAddress:
		return text, checkAddress(text)
	case kindLocations:
		return parseLocations(text)
	}
	return text, nil
}

func (k *key) checkRange(n int64) error {
	if n < k.min || n > k.max {
		return errors.New("is out of range")
	}
	return nil
}

func parseBool(text string) (any, error) {
	switch strings.ToLower(text) {
	case "true", "yes", "on", "1":
		return true, nil
	case "false", "no", "off", "0":
		return false, nil
	}
	return nil, errors.New("is neither true nor false")
}

// byteUnits are the units of sizes, the larger first.
var byteUnits = []struct {
	suffix string
	factor int64
}{
	{"TIB", 1 << 40}, {"GIB", 1 << 30}, {"MIB", 1 << 20}, {"KIB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1},
}

// parseBytes reads a size: an integer of bytes, or one with a unit.
func parseBytes(text string) (int64, error) {
	number, factor := strings.ToUpper(strings.TrimSpace(text)), int64(1)
	for _, u := range byteUnits {
		if strings.HasSuffix(number, u.suffix) {
			number, factor = strings.TrimSpace(strings.TrimSuffix(number, u.suffix)), u.factor
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0, errors.New("is not a size")
	}
	if n > math.MaxInt64/factor || n < math.MinInt64/factor {
		return 0, errors.New("is out of range")
	}
	return n * factor, nil
}

// formatBytes writes a size with the largest unit that divides it.
func formatBytes(n int64) string {
	for _, u := range []struct {
		suffix string
		factor int64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n != 0 && n%u.factor == 0 {
			return strconv.FormatInt(n/u.factor, 10) + u.suffix
		}
	}
	return strconv.FormatInt(n, 10)
}

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err == nil {
		return d, nil
	}
	if _, numeric := strconv.ParseFloat(text, 64); numeric == nil {
		return 0, fmt.Errorf("lacks a unit, for example %ss", text)
	}
	return 0, errors.New("is not a duration")
}

// formatDuration writes a duration without parts that are zero: 10m, not 10m0s.
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// checkAddress checks a host:port; empty ones were let through for their key.
func checkAddress(text string) error {
	if text == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(text)
	if err != nil {
		return errors.New("is not HOST:PORT")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n > math.MaxUint16 {
		return fmt.Errorf("has port %q, which is not within 0 to 65535", port)
	}
	return nil
}

// parseLocations reads TOPIC=STREAM/TOPIC, separated by commas. The last slash
// separates: streams may have slashes in their names.
func parseLocations(text string) (map[string]Location, error) {
	locations := map[string]Location{}
	for _, item := range strings.Split(text, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		topic, place, ok := strings.Cut(item, "=")
		slash := strings.LastIndexByte(place, '/')
		if !ok || topic == "" || slash <= 0 || slash == len(place)-1 {
			return nil, fmt.Errorf("has %q, which is not TOPIC=STREAM/TOPIC", item)
		}
		if _, twice := locations[topic]; twice {
			return nil, fmt.Errorf("names topic %q twice", topic)
		}
		locations[topic] = Location{Stream: place[:slash], Topic: place[slash+1:]}
	}
	return locations, nil
}
