package layout

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Default is the value that a field has when nobody set it.
type Default struct {
	Null   bool
	Bool   bool
	Int    int64
	Float  float64
	String string
}

var intRange = map[Kind][2]int64{
	Int8:   {math.MinInt8, math.MaxInt8},
	Int16:  {math.MinInt16, math.MaxInt16},
	Uint16: {0, math.MaxUint16},
	Int32:  {math.MinInt32, math.MaxInt32},
	Int64:  {math.MinInt64, math.MaxInt64},
}

// parseDefault reads a spec's default, which may be a JSON string, number,
// boolean or null, whatever the field's type.
func parseDefault(f *Field, raw json.RawMessage) (Default, error) {
	text, err := defaultText(raw)
	if err != nil {
		return Default{}, err
	}
	if text == nil {
		// Records are null until set, also where null cannot be encoded.
		return Default{Null: f.Kind == Records && !f.Array}, nil
	}
	if *text == "null" && (f.Array || f.Kind.FixedSize() == 0) {
		if !f.IsNullable() {
			return Default{}, fmt.Errorf("default null, but it is nullable in no version")
		}
		return Default{Null: true}, nil
	}
	if f.Array || f.Kind == StructKind || f.Kind == Bytes || f.Kind == Records {
		if *text == "" {
			return Default{}, nil
		}
		return Default{}, fmt.Errorf("default %q: this type takes null only", *text)
	}
	return parseScalar(f.Kind, *text)
}

// defaultText returns the default as text, nil where there is none. Only the
// string "null" makes null the default; Kafka's own generator takes the JSON
// value null for a missing default.
func defaultText(raw json.RawMessage) (*string, error) {
	if raw == nil || string(raw) == "null" {
		return nil, nil
	}
	text := string(raw)
	if strings.HasPrefix(text, `"`) {
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, err
		}
	}
	return &text, nil
}

func parseScalar(k Kind, text string) (d Default, err error) {
	switch k {
	case String:
		return Default{String: text}, nil
	case UUID:
		return Default{}, fmt.Errorf("default %q: a uuid has none in Kafka's specs", text)
	case Bool:
		d.Bool, err = strconv.ParseBool(text)
	case Float64:
		d.Float, err = strconv.ParseFloat(text, 64)
	default:
		d.Int, err = strconv.ParseInt(text, 0, 64)
		if r := intRange[k]; err == nil && (d.Int < r[0] || d.Int > r[1]) {
			err = fmt.Errorf("outside %d to %d", r[0], r[1])
		}
	}
	if err != nil {
		return d, fmt.Errorf("default %q: %w", text, err)
	}
	return d, nil
}
