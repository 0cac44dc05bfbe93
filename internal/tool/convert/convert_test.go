package convert

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"kafka-iggy-bridge/internal/tool"
	"kafka-iggy-bridge/internal/tool/corpus"
)

// Forms of one message, Metadata v9 for all topics, with an unknown tag in the
// body and in the header.
const (
	bodyHex  = "0001000000"
	bodyJSON = `{"topics":null,"allowAutoTopicCreation":true,"includeClusterAuthorizedOperations":false,"includeTopicAuthorizedOperations":false}`

	taggedHex  = "00010000010501ff"
	taggedJSON = `{"json":` + bodyJSON + `,"unknownTags":{"":[{"tag":5,"hex":"ff"}]}}`

	headerHex  = "0003000900000007000161" + "010700"
	headerJSON = `{"requestApiKey":3,"requestApiVersion":9,"correlationId":7,"clientId":"a"}`
)

func form(header, frame, tags bool) Form {
	return Form{Message: "metadatarequest", Version: 9, Header: header, Frame: frame, Tags: tags}
}

func TestBothWays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		form Form
		hex  string
		json string
	}{
		{"bare", form(false, false, false), bodyHex, bodyJSON},
		{"envelope", form(false, false, true), taggedHex, taggedJSON},
		{"envelope without tags", form(false, false, true), bodyHex, `{"json":` + bodyJSON + `}`},
		{"header", form(true, false, false), "000300090000000700016100" + bodyHex, `{"header":` + headerJSON + `,"body":` + bodyJSON + `}`},
		{"header with envelopes", form(true, false, true), headerHex + taggedHex,
			`{"header":{"json":` + headerJSON + `,"unknownTags":{"":[{"tag":7,"hex":""}]}},"body":` + taggedJSON + `}`},
		{"frame", form(true, true, false), "00000011" + "000300090000000700016100" + bodyHex, `{"header":` + headerJSON + `,"body":` + bodyJSON + `}`},
		{"response with header v0", Form{Message: "ApiVersionsResponse", Version: 3, Header: true}, "00000007" + "0000" + "01" + "00000000" + "00",
			`{"header":{"correlationId":7},"body":{"errorCode":0,"apiKeys":[],"throttleTimeMs":0}}`},
		{"header by itself", Form{Message: "RequestHeader", Version: 1}, "0003000900000007000161", headerJSON},
		{"record of an internal topic", Form{Message: "GroupMetadataKey"}, "000161", `{"group":"a"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			raw, err := hex.DecodeString(c.hex)
			if err != nil {
				t.Fatal(err)
			}
			text, notes, err := Decode(c.form, raw)
			if err != nil || string(text) != c.json || len(notes) > 0 {
				t.Errorf("decodes to\n%s, want\n%s (%v, %v)", text, c.json, notes, err)
			}
			got, err := Encode(c.form, []byte(c.json))
			if err != nil || !bytes.Equal(got, raw) {
				t.Errorf("encodes to %x, want %s (%v)", got, c.hex, err)
			}
		})
	}
}

// TestWholeCorpus: with envelopes nothing of any message is lost.
func TestWholeCorpus(t *testing.T) {
	t.Parallel()
	pairs, err := tool.Select("", tool.AllVersions)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pairs {
		x, err := corpus.Make(p, corpus.Options{Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		for message, framed := range map[string][]byte{p.API.Name + "Request": x.Request, p.API.Name + "Response": x.Response} {
			f := Form{Message: message, Version: p.Version, Header: true, Frame: true, Tags: true}
			text, notes, err := Decode(f, framed)
			if err != nil || len(notes) > 0 {
				t.Errorf("%s v%d: %v %v", message, p.Version, notes, err)
				continue
			}
			if got, err := Encode(f, text); err != nil || !bytes.Equal(got, framed) {
				t.Errorf("%s v%d does not come back from JSON: %v", message, p.Version, err)
			}
		}
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		form Form
		hex  string
		want string
	}{
		{"tags that are not shown", form(false, false, false), taggedHex, "holds 1 unknown tags"},
		{"bytes behind", form(false, false, false), bodyHex + "00", "1 bytes are left behind"},
		{"text that is not UTF-8", Form{Message: "GroupMetadataKey"}, "0001ff", "not UTF-8"},
	} {
		raw, err := hex.DecodeString(c.hex)
		if err != nil {
			t.Fatal(err)
		}
		if _, notes, err := Decode(c.form, raw); err != nil || len(notes) != 1 || !strings.Contains(notes[0], c.want) {
			t.Errorf("%s: notes %v (%v), want one with %q", c.name, notes, err, c.want)
		}
	}
}

func TestWrongInput(t *testing.T) {
	t.Parallel()
	decode := func(f Form, digits string) error {
		raw, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = Decode(f, raw)
		return err
	}
	encode := func(f Form, text string) error {
		_, err := Encode(f, []byte(text))
		return err
	}
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"no such message", decode(Form{Message: "Fetch"}, ""), `no message "Fetch"; names are such as FetchRequest`},
		{"no such version", decode(Form{Message: "FetchRequest", Version: 3}, ""), "no version 3; it has 4 to 18"},
		{"header of what has none", decode(Form{Message: "GroupMetadataKey", Header: true}, ""), "neither a request nor a response"},
		{"frame without header", encode(Form{Message: "FetchRequest", Version: 4, Frame: true}, "{}"), "give both or neither"},
		{"bytes cut", decode(form(false, false, false), "000100"), "MetadataRequest v9"},
		{"frame of another size", decode(form(true, true, false), "0000000900"), "announces 9 bytes"},
		{"header of another API", decode(form(true, false, false), "0004000900000007000161"+"00"+bodyHex), "announces API key 4"},
		{"JSON of another API", encode(form(true, false, false), `{"header":`+strings.Replace(headerJSON, "9", "8", 1)+`,"body":`+bodyJSON+`}`), "version 8"},
		{"no JSON", encode(form(false, false, false), `{`), "MetadataRequest v9"},
		{"JSON without a field", encode(form(false, false, false), `{"topics":null}`), "missing"},
		{"two JSON values", encode(form(false, false, false), bodyJSON+bodyJSON), "more than one"},
		{"two envelopes", encode(form(false, false, false), taggedJSON+taggedJSON), "more than one"},
		{"header missing", encode(form(true, false, false), bodyJSON), `must be {"header": …, "body": …}`},
		{"tags at no struct", encode(form(false, false, false), strings.Replace(taggedJSON, `{"":`, `{"/x":`, 1)), "unknown tags"},
		{"tags that fall", encode(form(false, false, false), strings.Replace(taggedJSON, `"ff"}]`, `"ff"},{"tag":4,"hex":""}]`, 1)), "unknown tag 4"},
		{"null that must not be", encode(Form{Message: "MetadataRequest"}, `{"topics":null}`), "null"},
	} {
		if !errors.Is(c.err, tool.ErrInput) || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: got %v, want an input error with %q", c.name, c.err, c.want)
		}
	}
}

func TestBytes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		name, argument, stdin, want string
		binary                      bool
	}{
		{"hex", "00ff", "", "\x00\xff", false},
		{"hex with spaces", "00 FF", "", "\x00\xff", false},
		{"file of bytes", file("bytes", "\x00\xff"), "", "\x00\xff", false},
		{"file of hex", file("hex", "00\nff\n"), "", "\x00\xff", false},
		{"file of bytes that look like hex", file("text", "00ff"), "", "00ff", true},
		{"standard input", "", "00ff", "\x00\xff", false},
		{"standard input by its name", "-", "\x00", "\x00", false},
		{"nothing on standard input", "", "", "", false},
	} {
		if got, err := Bytes(c.argument, strings.NewReader(c.stdin), c.binary); err != nil || string(got) != c.want {
			t.Errorf("%s: %q (%v), want %q", c.name, got, err, c.want)
		}
	}
	for _, argument := range []string{"0", "0g", filepath.Join(dir, "none"), strings.Repeat("x", 100)} {
		if _, err := Bytes(argument, nil, false); !errors.Is(err, tool.ErrInput) || len(err.Error()) > 100+len(dir) {
			t.Errorf("%q: %v, want an input error", argument, err)
		}
	}
	broken := errors.New("broken")
	if _, err := Bytes("", iotest.ErrReader(broken), false); !errors.Is(err, broken) {
		t.Errorf("got %v, want the error of standard input", err)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "json")
	if err := os.WriteFile(path, []byte(`{"a":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for argument, stdin := range map[string]string{` {"a":1}`: "", path: "", "-": `{"a":1}`, "": `{"a":1}`} {
		if got, err := Text(argument, strings.NewReader(stdin)); err != nil || strings.TrimSpace(string(got)) != `{"a":1}` {
			t.Errorf("%q: %q, %v", argument, got, err)
		}
	}
	if _, err := Text("none", nil); !errors.Is(err, tool.ErrInput) {
		t.Errorf("got %v, want an input error", err)
	}
}
