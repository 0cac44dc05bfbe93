package metalog

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// table is a map that lives in a log.
type table struct {
	log *Log
	m   map[string]string
}

func openTable(dir string, opts Options) (*table, error) {
	t := &table{m: make(map[string]string)}
	var err error
	t.log, err = Open(dir, "table", opts, func(c Change) error {
		if c.Value == nil {
			delete(t.m, string(c.Key))
		} else {
			t.m[string(c.Key)] = string(c.Value)
		}
		return nil
	})
	return t, err
}

func mustOpen(tb testing.TB, dir string, opts Options) *table {
	tb.Helper()
	t, err := openTable(dir, opts)
	if err != nil {
		tb.Fatalf("Open: %v", err)
	}
	tb.Cleanup(func() { _ = t.log.Close() })
	return t
}

func (t *table) set(key, value string) error {
	var tx Tx
	tx.Put([]byte(key), []byte(value))
	ticket, err := t.log.Append(&tx)
	if err != nil {
		return err
	}
	t.m[key] = value
	return t.log.Wait(ticket)
}

func (t *table) compact() error {
	return t.log.Compact(func(put func(key, value []byte)) error {
		for k, v := range t.m {
			put([]byte(k), []byte(v))
		}
		return nil
	})
}

func TestReplay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tab := mustOpen(t, dir, Options{})
	for i := range 100 {
		if err := tab.set(fmt.Sprint(i%40), fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
		if i == 50 {
			if err := tab.compact(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := tab.set("empty", ""); err != nil {
		t.Fatal(err)
	}
	var tx Tx
	tx.Delete([]byte("7"))
	tx.Put([]byte("8"), []byte("together"))
	if _, err := tab.log.Append(&tx); err != nil {
		t.Fatal(err)
	}
	delete(tab.m, "7")
	tab.m["8"] = "together"
	if err := tab.log.Close(); err != nil {
		t.Fatal(err)
	}
	again := mustOpen(t, dir, Options{})
	if !maps.Equal(again.m, tab.m) {
		t.Errorf("got %v, want %v", again.m, tab.m)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("files: %v, %v", files, err)
	}
}

// TestTornAndDamaged ends the file at every byte of the last record and flips a bit in
// every byte of the last two.
func TestTornAndDamaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tab := mustOpen(t, dir, Options{})
	var ends []int64
	for _, k := range []string{"a", "b", "c"} {
		if err := tab.set(k, "value of "+k); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, tab.log.size)
	}
	path := tab.log.path(1)
	if err := tab.log.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	try := func(b []byte, opts Options) (*table, error) {
		d := t.TempDir()
		if err := os.WriteFile(filepath.Join(d, filepath.Base(path)), b, 0o600); err != nil {
			t.Fatal(err)
		}
		return openTable(d, opts)
	}
	for size := ends[1]; size < ends[2]; size++ {
		tab, err := try(content[:size], Options{})
		if err != nil || len(tab.m) != 2 {
			t.Fatalf("cut at %d: %v, %v", size, tab.m, err)
		}
		if err := tab.set("d", "after"); err != nil {
			t.Fatal(err)
		}
		_ = tab.log.Close()
	}
	for at := ends[0]; at < ends[2]; at++ {
		b := append([]byte(nil), content...)
		b[at] ^= 0x10
		if at < ends[1] {
			if _, err := try(b, Options{}); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("damage at %d, records behind it: %v", at, err)
			}
			tab, err := try(b, Options{SkipCorrupt: true})
			if err != nil || len(tab.m) != 2 || tab.m["c"] == "" {
				t.Fatalf("damage at %d, skipped: %v, %v", at, tab.m, err)
			}
			_ = tab.log.Close()
			continue
		}
		if at >= ends[1]+recordHeaderSize {
			if _, err := try(b, Options{}); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("damage at %d of a whole last record: %v", at, err)
			}
		}
		tab, err := try(b, Options{MachineCrashed: true})
		if err != nil || len(tab.m) != 2 {
			t.Fatalf("damage at %d after a machine's crash: %v, %v", at, tab.m, err)
		}
		_ = tab.log.Close()
	}
}

func TestCrashInsideACompaction(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tab := mustOpen(t, dir, Options{})
	if err := tab.set("a", "1"); err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(tab.log.path(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := tab.compact(); err != nil {
		t.Fatal(err)
	}
	if err := tab.set("b", "2"); err != nil {
		t.Fatal(err)
	}
	if err := tab.log.Close(); err != nil {
		t.Fatal(err)
	}
	// The old file was not removed yet, and the next snapshot was begun.
	if err := os.WriteFile(tab.log.path(1), first, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(tab.log.path(3)+".tmp", first[:20], 0o600); err != nil {
		t.Fatal(err)
	}
	again := mustOpen(t, dir, Options{})
	if !maps.Equal(again.m, map[string]string{"a": "1", "b": "2"}) {
		t.Errorf("got %v", again.m)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("files: %v, %v", files, err)
	}
}

// faultyFile fails on demand.
type faultyFile struct {
	*os.File
	mu       sync.Mutex
	room     int
	failSync bool
	failCut  bool
}

func (f *faultyFile) WriteAt(p []byte, off int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.room < 0 || f.room >= len(p) {
		return f.File.WriteAt(p, off)
	}
	n, err := f.File.WriteAt(p[:f.room], off)
	if err == nil {
		err = syscall.ENOSPC
	}
	return n, err
}

func (f *faultyFile) Truncate(size int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failCut {
		return syscall.EIO
	}
	return f.File.Truncate(size)
}

func (f *faultyFile) Sync() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failSync {
		return syscall.EIO
	}
	return f.File.Sync()
}

func TestFaults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var file *faultyFile
	opts := Options{Sync: true, OpenFile: func(path string) (File, error) {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		file = &faultyFile{File: f, room: -1}
		return file, nil
	}}
	tab := mustOpen(t, dir, opts)
	if err := tab.set("a", "1"); err != nil {
		t.Fatal(err)
	}
	for _, room := range []int{0, 5, 20} {
		file.room, file.failCut = room, true
		if err := tab.set("lost", "x"); err == nil {
			t.Fatal("a write to a full disk succeeded")
		}
		if err := tab.set("lost", "x"); err == nil {
			t.Fatal("the log went on before the failed write was cut off")
		}
	}
	delete(tab.m, "lost")
	file.room, file.failCut = -1, false
	if err := tab.set("b", "2"); err != nil {
		t.Fatal(err)
	}
	file.failSync = true
	if err := tab.set("c", "3"); err == nil {
		t.Error("a failed sync was acknowledged")
	}
	file.failSync = false
	if err := tab.set("d", "4"); err == nil {
		t.Error("the log trusts a disk that lost data before")
	}
	if err := tab.compact(); err != nil { // a whole new file is sound again
		t.Fatal(err)
	}
	if err := tab.set("e", "5"); err != nil {
		t.Errorf("after a new snapshot: %v", err)
	}
	if err := tab.log.Close(); err != nil {
		t.Fatal(err)
	}
	if again := mustOpen(t, dir, Options{}); !maps.Equal(again.m, tab.m) {
		t.Errorf("got %v, want %v", again.m, tab.m)
	}
}

func FuzzReplay(f *testing.F) {
	dir := f.TempDir()
	tab := mustOpen(f, dir, Options{})
	for _, k := range []string{"a", "b"} {
		if err := tab.set(k, k); err != nil {
			f.Fatal(err)
		}
	}
	b, err := os.ReadFile(tab.log.path(1))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b, false)
	f.Add(b[:len(b)-5], true)
	f.Add([]byte(fileMagic), false)
	f.Fuzz(func(t *testing.T, b []byte, skip bool) {
		d := t.TempDir()
		if err := os.WriteFile(filepath.Join(d, "table-0000000001.log"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		tab, err := openTable(d, Options{SkipCorrupt: skip})
		if err != nil {
			return
		}
		if err := tab.set("k", "v"); err != nil {
			t.Fatal(err)
		}
		if err := tab.log.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := openTable(d, Options{SkipCorrupt: skip})
		if err != nil || !maps.Equal(again.m, tab.m) {
			t.Fatalf("got %v, %v, want %v", again.m, err, tab.m)
		}
		_ = again.log.Close()
	})
}
