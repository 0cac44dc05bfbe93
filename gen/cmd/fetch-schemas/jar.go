package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"kafka-iggy-bridge/gen/spec"
)

type jar struct{ name, sha256 string }

type specFile struct {
	name string
	data []byte
}

// readJar returns the specs of a jar, normalised.
func readJar(file string) (jar, []specFile, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return jar{}, nil, err
	}
	sum := sha256.Sum256(raw)
	j := jar{name: filepath.Base(file), sha256: hex.EncodeToString(sum[:])}
	r, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return j, nil, fmt.Errorf("%s: %w", j.name, err)
	}
	var specs []specFile
	for _, f := range r.File {
		name, ok := strings.CutPrefix(f.Name, "common/message/")
		if !ok || !strings.HasSuffix(name, ".json") {
			continue
		}
		data, err := normaliseEntry(f)
		if err != nil {
			return j, nil, fmt.Errorf("%s: %s: %w", j.name, f.Name, err)
		}
		specs = append(specs, specFile{name: name, data: data})
	}
	if len(specs) == 0 {
		return j, nil, fmt.Errorf("%s: no message spec in it", j.name)
	}
	return j, specs, nil
}

func normaliseEntry(f *zip.File) ([]byte, error) {
	rc, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer rc.Close()
	src, err := io.ReadAll(rc)
	if err != nil {
		return nil, err
	}
	return normalise(src)
}

// normalise keeps a spec's keys and values in their order and drops its
// comments and every "about". Fields stand one a line.
func normalise(src []byte) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(spec.StripComments(src)))
	dec.UseNumber()
	v, err := readValue(dec)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	writeValue(&out, v, "")
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// object is a JSON object that remembers the order of its members.
type object []member

type member struct {
	key   string
	value any
}

func readValue(dec *json.Decoder) (any, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch tok {
	case json.Delim('{'):
		return readObject(dec)
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			v, err := readValue(dec)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = dec.Token()
		return list, err
	}
	return tok, nil
}

func readObject(dec *json.Decoder) (any, error) {
	var o object
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		v, err := readValue(dec)
		if err != nil {
			return nil, err
		}
		if key != "about" {
			o = append(o, member{key.(string), v})
		}
	}
	_, err := dec.Token()
	return o, err
}

// writeValue puts objects that hold objects on several lines, others on one.
func writeValue(out *bytes.Buffer, v any, indent string) {
	switch v := v.(type) {
	case object:
		if !nested(v) && indent != "" {
			writeFlat(out, v)
			return
		}
		out.WriteString("{\n")
		for i, m := range v {
			fmt.Fprintf(out, "%s  %s: ", indent, quote(m.key))
			writeValue(out, m.value, indent+"  ")
			out.WriteString(comma(i, len(v)) + "\n")
		}
		out.WriteString(indent + "}")
	case []any:
		if !nested(v) {
			writeFlat(out, v)
			return
		}
		out.WriteString("[\n")
		for i, e := range v {
			out.WriteString(indent + "  ")
			writeValue(out, e, indent+"  ")
			out.WriteString(comma(i, len(v)) + "\n")
		}
		out.WriteString(indent + "]")
	default:
		writeFlat(out, v)
	}
}

func writeFlat(out *bytes.Buffer, v any) {
	switch v := v.(type) {
	case object:
		out.WriteString("{ ")
		for i, m := range v {
			out.WriteString(quote(m.key) + ": ")
			writeFlat(out, m.value)
			out.WriteString(comma(i, len(v)))
			if i < len(v)-1 {
				out.WriteByte(' ')
			}
		}
		out.WriteString(" }")
	case []any:
		out.WriteByte('[')
		for i, e := range v {
			writeFlat(out, e)
			out.WriteString(comma(i, len(v)))
			if i < len(v)-1 {
				out.WriteByte(' ')
			}
		}
		out.WriteByte(']')
	case string:
		out.WriteString(quote(v))
	case nil:
		out.WriteString("null")
	default:
		fmt.Fprint(out, v)
	}
}

func nested(v any) bool {
	switch v := v.(type) {
	case object:
		for _, m := range v {
			if nested(m.value) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if _, ok := e.(object); ok {
				return true
			}
		}
	}
	return false
}

func comma(i, n int) string {
	if i < n-1 {
		return ","
	}
	return ""
}

func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	// A string cannot fail to encode.
	_ = enc.Encode(s)
	return strings.TrimSuffix(b.String(), "\n")
}
