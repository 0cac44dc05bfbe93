package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestDataFolderIsLocked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := startEngine(t, Options{DataDir: dir})
	if _, err := Open(Options{DataDir: dir}); !errors.Is(err, ErrLocked) {
		t.Errorf("second engine on the folder: %v", err)
	}
	stopEngine(t, e)
	startEngine(t, Options{DataDir: dir})
}

func TestNewerFormatIsRefused(t *testing.T) {
	t.Parallel()
	t.Run("of the folder", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, formatFile), []byte(`{"version":2,"salt":1}`), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(Options{DataDir: dir}); !errors.Is(err, ErrNewerFormat) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("of the catalog", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		stopEngine(t, startEngine(t, Options{DataDir: dir}))
		path := filepath.Join(dir, metaFolder, "catalog-0000000001.log")
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		// Version 2 with its right checksum.
		copy(b, newerHeader())
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(Options{DataDir: dir}); !errors.Is(err, ErrNewerFormat) {
			t.Errorf("got %v", err)
		}
	})
}

func TestForeignFolderIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thesis.tex"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{DataDir: dir}); err == nil || !strings.Contains(err.Error(), "thesis.tex") {
		t.Errorf("got %v", err)
	}
}

func TestBadOptionsAreRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		opts Options
	}{
		{"no data folder", Options{}},
		{"unknown fsync policy", Options{DataDir: "x", Fsync: "sometimes"}},
		{"negative interval", Options{DataDir: "x", RetentionInterval: -1}},
		{"send limit above what a segment holds", Options{DataDir: "x", MaxSendBytes: 1 << 30}},
		{"poll limit below zero", Options{DataDir: "x", MaxPollBytes: -1}},
		{"segment above one gibibyte", Options{SegmentBytes: 2 << 30}},
		{"address that is none", Options{Listen: "nowhere:at:all"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.opts.DataDir == "" && tt.name != "no data folder" {
				tt.opts.DataDir = t.TempDir()
			}
			if e, err := Open(tt.opts); err == nil {
				stopEngine(t, e)
				t.Error("opened")
			}
		})
	}
}

func TestCredentialsAreKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := startEngine(t, Options{DataDir: dir})
	user, password := e.Credentials()
	if user != DefaultRootUser || len(password) < 20 {
		t.Fatalf("generated %q, %q", user, password)
	}
	info, err := os.Stat(filepath.Join(dir, CredentialsFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("credentials file: %v, %v", info, err)
	}
	cli := rootClient(t, e)
	if err := cli.ChangePassword(named(user), password, "a-new-one"); err != nil {
		t.Fatal(err)
	}
	name := "chief"
	if err := cli.UpdateUser(named(user), &name, nil); err != nil {
		t.Fatal(err)
	}
	stopEngine(t, e)

	e = startEngine(t, Options{DataDir: dir})
	if user, password = e.Credentials(); user != "chief" || password != "a-new-one" {
		t.Errorf("after a change and a restart: %q, %q", user, password)
	}
	rootClient(t, e)
	stopEngine(t, e)

	e = startEngine(t, Options{DataDir: dir, RootPassword: "configured"})
	if user, password = e.Credentials(); user != "chief" || password != "configured" {
		t.Errorf("with a configured password: %q, %q", user, password)
	}
	rootClient(t, e)
}

func TestCloseTellsClientsAndEnds(t *testing.T) {
	t.Parallel()
	e := startEngine(t, Options{})
	idle := dialRawRoot(t, e)
	stuck := dialRaw(t, e)
	stuck.Write([]byte{200, 0, 0, 0, 1, 0, 0, 0, 'x'}) // a frame that never ends
	if status, _ := idle.Do(1, nil); status != 0 {
		t.Fatal(status)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := e.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Error("Close took until its context ended")
	}
	if status, _ := idle.Read(); status != 8 {
		t.Errorf("an idle client was told %d, want 8", status)
	}
	if !idle.Closed() {
		t.Error("the connection is still open")
	}
}

func TestUncleanEndIsNoticed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stopEngine(t, startEngine(t, Options{DataDir: dir}))
	if _, err := os.Stat(filepath.Join(dir, runningFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the mark of a running engine is left after a clean stop: %v", err)
	}
	tests := []struct {
		name, content string
		crashed       bool
	}{
		{"the process ended, the machine went on", bootID(), false},
		{"the machine was started anew", "another-boot", true},
		{"the mark is unreadable", "", true},
	}
	for _, tt := range tests {
		if err := os.WriteFile(filepath.Join(dir, runningFile), []byte(tt.content), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := openFolder(dir)
		if err != nil {
			t.Fatal(err)
		}
		if f.machineCrashed != tt.crashed {
			t.Errorf("%s: machineCrashed is %v", tt.name, f.machineCrashed)
		}
		if err := f.close(true); err != nil {
			t.Fatal(err)
		}
	}
}
