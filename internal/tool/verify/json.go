package verify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// SameJSON compares two JSON texts by value: the order of keys does not count,
// integers keep all their digits, and other numbers are equal where they are the
// same float64, however written. The error says that a text is not JSON.
func SameJSON(a, b []byte) (bool, error) {
	x, err := parseJSON(a)
	if err != nil {
		return false, err
	}
	y, err := parseJSON(b)
	if err != nil {
		return false, err
	}
	return sameValue(x, y), nil
}

func parseJSON(src []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(src))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("%.40q: %w", src, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%.40q: more than one JSON value", src)
	}
	return v, nil
}

func sameValue(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, sameValue)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, sameValue)
	case json.Number:
		b, ok := b.(json.Number)
		return ok && sameNumber(a.String(), b.String())
	default: // null, a boolean or a string
		return a == b
	}
}

func sameNumber(a, b string) bool {
	if a == b || !strings.ContainsAny(a+b, ".eE") {
		return a == b
	}
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && math.Float64bits(x) == math.Float64bits(y)
}

// replace returns a JSON text with one value replaced, or added to an object.
// The place is a JSON pointer (RFC 6901).
func replace(src []byte, pointer string, value []byte) ([]byte, error) {
	root, err := parseJSON(src)
	if err != nil {
		return nil, err
	}
	var with any
	if value != nil {
		if with, err = parseJSON(value); err != nil {
			return nil, err
		}
	}
	path := strings.Split(pointer, "/")
	if len(path) < 2 || path[0] != "" {
		return nil, fmt.Errorf("%q does not lead to a field", pointer)
	}
	at := root
	for _, step := range path[1 : len(path)-1] {
		if at, err = child(at, unescape(step)); err != nil {
			return nil, fmt.Errorf("%q: %w", pointer, err)
		}
	}
	last := unescape(path[len(path)-1])
	switch at := at.(type) {
	case map[string]any:
		at[last] = with
	case []any:
		i, err := index(at, last)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", pointer, err)
		}
		at[i] = with
	default:
		return nil, fmt.Errorf("%q does not lead to a field", pointer)
	}
	return json.Marshal(root)
}

func unescape(step string) string { return strings.NewReplacer("~1", "/", "~0", "~").Replace(step) }

func child(v any, step string) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		if c, ok := v[step]; ok {
			return c, nil
		}
	case []any:
		i, err := index(v, step)
		if err != nil {
			return nil, err
		}
		return v[i], nil
	}
	return nil, fmt.Errorf("nothing at %q", step)
}

func index(list []any, step string) (int, error) {
	i, err := strconv.Atoi(step)
	if err != nil || i < 0 || i >= len(list) {
		return 0, fmt.Errorf("no element %q", step)
	}
	return i, nil
}
