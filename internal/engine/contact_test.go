package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestARunningEngineCanBeFound(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	if _, err := ReadContact(dir); !errors.Is(err, ErrNotRunning) {
		t.Errorf("without a folder: %v", err)
	}
	e, err := Open(Options{DataDir: dir, Listen: "0.0.0.0:0", SelfSigned: true})
	if err != nil {
		t.Fatal(err)
	}
	c, err := ReadContact(dir)
	if err != nil {
		t.Fatal(err)
	}
	user, password := e.Credentials()
	want := Contact{Address: reachable(e.Addr().String()), TLS: true, CertificateFile: e.CertificateFile(), Username: user, Password: password}
	if c != want {
		t.Errorf("got %+v, want %+v", c, want)
	}
	path := filepath.Join(dir, AddressFile)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("stays behind: %v", err)
	}
	if _, err := ReadContact(dir); !errors.Is(err, ErrNotRunning) {
		t.Errorf("after the end: %v", err)
	}
	if err := os.WriteFile(path, []byte(`{"address":"127.0.0.1:1"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadContact(dir); !errors.Is(err, ErrNotRunning) {
		t.Errorf("with what a killed engine leaves: %v", err)
	}
	if e, err = Open(Options{DataDir: dir, RootPassword: "configured"}); err != nil {
		t.Fatal(err)
	}
	if c, err = ReadContact(dir); err != nil || c.Address != e.Addr().String() || c.TLS || c.CertificateFile != "" {
		t.Errorf("started anew, without TLS: %+v, %v", c, err)
	}
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func TestAddressesThatCanBeReached(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"127.0.0.1:8090":   "127.0.0.1:8090",
		"0.0.0.0:8090":     "localhost:8090",
		"[::]:8090":        "localhost:8090",
		"192.0.2.7:8090":   "192.0.2.7:8090",
		"no address at it": "no address at it",
	} {
		if got := reachable(address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}
