package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kafka-iggy-bridge/internal/tool/frame"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// result is what a run of the tool gives.
type result struct {
	code           int
	stdout, stderr string
}

func runTool(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), args, strings.NewReader(stdin), &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; -update rewrites it. Got\n%s", path, got)
	}
}

// peer starts a server that treats each connection alike.
func peer(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serve(conn)
			_ = conn.Close() // the client may be gone
		}
	}()
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		<-done
	})
	return l.Addr().String()
}

// heartbeats serves Heartbeat in fixed versions and ApiVersions, and closes
// whatever else it is asked.
func heartbeats(conn net.Conn) {
	payload, err := frame.Read(conn)
	if err != nil {
		return
	}
	id := string(payload[4:8])
	reply := ""
	switch string(payload[:4]) {
	case "\x00\x0c\x00\x00":
		reply = "\x00\x00\x00\x06" + id + "\x00\x19"
	case "\x00\x0c\x00\x01":
		reply = "\x00\x00\x00\x06" + id + "\x00\x19" // as version 0: four bytes are missing
	case "\x00\x12\x00\x05":
		reply = "\x00\x00\x00\x13" + id + "\x00\x00\x02\x00\x0c\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00"
	}
	_, _ = io.WriteString(conn, reply) // the client may be gone
}

func TestGolden(t *testing.T) {
	address := peer(t, heartbeats)
	dir := t.TempDir()
	lines := filepath.Join("testdata", "lines.jsonl")
	for _, c := range []struct {
		name  string
		stdin string
		args  []string
		code  int
	}{
		{"help", "", []string{"--help"}, 0},
		{"help-verify", "", []string{"help", "verify"}, 0},
		{"apis", "", []string{"apis"}, 0},
		{"apis-broker", "", []string{"apis", address}, 0},
		{"generate", "", []string{"generate", "--out", dir, "--api", "ApiVersions", "--seed", "9"}, 0},
		{"decode-frame", "", []string{"decode", "--message", "ApiVersionsRequest", "--version", "3", "--frame", filepath.Join(dir, "018-ApiVersions-v3.request.bin")}, 0},
		{"decode-response", "", []string{"decode", "--message", "ApiVersionsResponse", "--version", "5", "--frame", "--tags", filepath.Join(dir, "018-ApiVersions-v5.response.bin")}, 0},
		{"decode-notes", "00010000010501ff\n", []string{"decode", "--message", "MetadataRequest", "--version", "9"}, 0},
		{"encode", `{"topics":[{"name":"orders"}]}`, []string{"encode", "--message", "MetadataRequest", "--version", "1"}, 0},
		{"verify", "", []string{"verify", lines}, 1},
		{"verify-sound", "", []string{"verify", filepath.Join("testdata", "sound.jsonl"), filepath.Join("testdata", "sound.jsonl")}, 0},
		{"send", "", []string{"send", address, "--api", "Heartbeat", "--concurrency", "2"}, 1},
		{"send-sound", "", []string{"send", address, "--api", "12", "--version", "0"}, 0},
		{"send-folder", "", []string{"send", address, dir, "--version", "5"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := runTool(t, c.stdin, c.args...)
			if got.code != c.code {
				t.Errorf("exit code %d, want %d", got.code, c.code)
			}
			text := got.stdout
			if got.stderr != "" {
				text += "--- stderr\n" + got.stderr
			}
			golden(t, c.name+".golden", strings.ReplaceAll(text, dir, "DIR"))
		})
	}
	manifest, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "manifest.golden", string(manifest))
}

// TestWrongInput: one clear line on standard error, nothing on standard output,
// exit code 2.
func TestWrongInput(t *testing.T) {
	t.Parallel()
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("# Notes\nsome text\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	zipped := filepath.Join(t.TempDir(), "zipped")
	if err := os.WriteFile(zipped, []byte("\x1f\x8bnot really"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"no command", nil, "a command is missing"},
		{"command that does not exist", []string{"encrypt"}, `no command "encrypt"`},
		{"help on a command that does not exist", []string{"help", "encrypt"}, `no command "encrypt"`},
		{"flag that does not exist", []string{"apis", "--colour"}, "unknown flag: --colour; kafka-tool apis --help"},
		{"too many arguments", []string{"apis", "a:1", "b:2"}, "the usage is kafka-tool apis [HOST:PORT]"},
		{"address without a port", []string{"apis", "localhost"}, `"localhost" is not of the form HOST:PORT`},
		{"address with a name for a port", []string{"send", "localhost:kafka"}, "the port must be a number"},
		{"time that is none", []string{"apis", "--timeout", "soon"}, `invalid argument "soon"`},
		{"time below zero", []string{"send", "localhost:1", "--timeout", "-1s"}, "must be above 0"},
		{"concurrency of nothing", []string{"send", "localhost:1", "--concurrency", "0"}, "at least 1"},
		{"send without an address", []string{"send"}, "the usage is kafka-tool send HOST:PORT [DIR]"},
		{"send from a folder without a manifest", []string{"send", "localhost:1", filepath.Dir(other)}, "has no manifest.json"},
		{"API that does not exist", []string{"generate", "--out", other + "x", "--api", "Fetsch"}, `no API "Fetsch"`},
		{"API without a name", []string{"generate", "--out", other + "x", "--api", ""}, "--api is empty"},
		{"API that Kafka removed", []string{"generate", "--out", other + "x", "--api", "5"}, "Kafka removed it"},
		{"version that does not exist", []string{"generate", "--out", other + "x", "--api", "Fetch", "--version", "99"}, "no version 99"},
		{"version below zero", []string{"generate", "--out", other + "x", "--version", "-1"}, "versions begin at 0"},
		{"version that is no number", []string{"generate", "--out", other + "x", "--version", "latest"}, `invalid argument "latest"`},
		{"no folder", []string{"generate"}, "--out is missing"},
		{"seed below zero", []string{"generate", "--out", other + "x", "--seed", "-4"}, `invalid argument "-4"`},
		{"decode without a message", []string{"decode", "--version", "1", "00"}, "--message is missing"},
		{"decode without a version", []string{"decode", "--message", "FetchRequest", "00"}, "--version is missing"},
		{"message that does not exist", []string{"decode", "--message", "Fetch", "--version", "1", "00"}, `no message "Fetch"`},
		{"neither hex nor a file", []string{"decode", "--message", "FetchRequest", "--version", "4", "0x00"}, "neither hex nor a file"},
		{"bytes that are not the message", []string{"decode", "--message", "FetchRequest", "--version", "4", "00"}, "FetchRequest v4: "},
		{"neither JSON nor a file", []string{"encode", "--message", "FetchRequest", "--version", "4", "[]"}, "neither a JSON object nor a file"},
		{"JSON that is not the message", []string{"encode", "--message", "FetchRequest", "--version", "4", "{}"}, "FetchRequest v4: "},
		{"verify nothing", []string{"verify"}, "the usage is kafka-tool verify FILE..."},
		{"verify no file", []string{"verify", other + "x"}, "no such file"},
		{"verify a folder", []string{"verify", filepath.Dir(other)}, "is a directory"},
		{"verify text", []string{"verify", other}, "line 1: not a line to verify"},
		{"verify what is no gzip", []string{"verify", zipped}, "gzip"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := runTool(t, "", c.args...)
			if got.code != exitInput || got.stdout != "" {
				t.Errorf("exit code %d, stdout %q; want 2 and nothing", got.code, got.stdout)
			}
			if strings.Count(got.stderr, "\n") != 1 || !strings.HasPrefix(got.stderr, "kafka-tool: ") || !strings.Contains(got.stderr, c.want) {
				t.Errorf("stderr %q, want one line with %q", got.stderr, c.want)
			}
		})
	}
	if _, err := os.Stat(other + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("wrong input makes a folder: %v", err)
	}
}

// TestFailures: what is no fault of the input is one line and exit code 1.
func TestFailures(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().String()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	closer := peer(t, func(net.Conn) {})
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"apis of nobody", []string{"apis", nobody}, "unreachable"},
		{"apis of one who closes", []string{"apis", closer}, "closed: no answer"},
		{"send to nobody", []string{"send", nobody}, "connection refused"},
		{"generate where a file is", []string{"generate", "--out", file}, "not a directory"},
		{"encode into a folder that is not there", []string{"encode", "--message", "GroupMetadataKey", "--version", "0", "--out", file + "/x", `{"group":"a"}`}, "not a directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := runTool(t, "", c.args...)
			if got.code != exitFailed || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, c.want) {
				t.Errorf("exit code %d, stderr %q; want 1 and one line with %q", got.code, got.stderr, c.want)
			}
		})
	}
}

// TestEncodeToFile: what decode shows comes back as the same file.
func TestEncodeToFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if got := runTool(t, "", "generate", "--out", dir, "--api", "Fetch", "--version", "12"); got.code != exitOK {
		t.Fatal(got)
	}
	in, out := filepath.Join(dir, "001-Fetch-v12.response.bin"), filepath.Join(dir, "again.bin")
	form := []string{"--message", "FetchResponse", "--version", "12", "--frame"}
	shown := runTool(t, "", append([]string{"decode", "--tags", in}, form...)...)
	if shown.code != exitOK || shown.stderr != "" {
		t.Fatal(shown)
	}
	if got := runTool(t, shown.stdout, append([]string{"encode", "--out", out}, form...)...); got.code != exitOK || got.stdout != "" {
		t.Fatal(got)
	}
	a, errA := os.ReadFile(in)
	b, errB := os.ReadFile(out)
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Errorf("the file does not come back (%v, %v)", errA, errB)
	}
}

// TestBinary builds the tool and looks at what a shell sees.
func TestBinary(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "kafka-tool")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, c := range []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string // patterns
	}{
		{"success", []string{"apis"}, exitOK, `(?s)^KEY .*\n95 keys.*\n$`, `^$`},
		{"counts of failures", []string{"verify", "testdata/lines.jsonl"}, exitFailed, `\n3 passed, 4 failed\n$`, `^$`},
		{"wrong input", []string{"decode", "--message", "X", "--version", "0", "00"}, exitInput, `^$`, `^kafka-tool: there is no message "X".*\n$`},
		{"all recorded truth", []string{"verify", "../../testdata/codec/vectors.jsonl.gz", "../../testdata/codec/failures.jsonl.gz",
			"../../testdata/codec/malformed.jsonl.gz", "../../testdata/codec/headers.jsonl"}, exitOK, `^4214 passed, 0 failed\n$`, `^$`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), binary, c.args...)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			err := cmd.Run()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if code := cmd.ProcessState.ExitCode(); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if !regexp.MustCompile(c.stdout).MatchString(stdout.String()) || !regexp.MustCompile(c.stderr).MatchString(stderr.String()) {
				t.Errorf("stdout %q, stderr %q; want %s and %s", stdout.String(), stderr.String(), c.stdout, c.stderr)
			}
		})
	}
}
