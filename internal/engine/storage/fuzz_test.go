package storage

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// FuzzLogFile gives the log any file: it must open, serve nothing that is not intact,
// and take appends that can be read back.
func FuzzLogFile(f *testing.F) {
	dir := f.TempDir()
	l := openLog(f, testStore(f, dir, Options{}))
	appendBatch(f, l, "a", "b")
	appendBatch(f, l, "c")
	if err := l.Close(); err != nil {
		f.Fatal(err)
	}
	log, err := os.ReadFile(logPath(dir, "0"))
	if err != nil {
		f.Fatal(err)
	}
	index, err := os.ReadFile(filepath.Join(dir, "p", "00000000000000000000"+indexSuffix))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(log, index, false)
	f.Add(log[:len(log)-3], index, true)
	f.Add(append(append([]byte(nil), log...), log...), index, false)
	f.Add([]byte("IGB1"), []byte{}, true)
	f.Fuzz(func(t *testing.T, log, index []byte, crashed bool) {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "p"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(logPath(dir, "0"), log, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "p", "00000000000000000000"+indexSuffix), index, 0o600); err != nil {
			t.Fatal(err)
		}
		s := testStore(t, dir, Options{MachineCrashed: crashed})
		l, err := s.Open("p")
		if err != nil {
			t.Fatalf("Open: %v", err)
		}
		_, end := l.Bounds()
		for offset := uint64(0); offset < min(end, 20); offset++ {
			if _, err := read(l, offset, 5); err != nil && !errors.Is(err, ErrCorrupt) {
				t.Fatalf("Read(%d): %v", offset, err)
			}
		}
		if _, _, err := l.OffsetForTime(15); err != nil {
			t.Fatalf("OffsetForTime: %v", err)
		}
		if end < 1<<60 {
			base := appendBatch(t, l, "new")
			if base != end {
				t.Fatalf("appended at %d, the end was %d", base, end)
			}
			if got := mustRead(t, l, base, 1); got != "new" {
				t.Fatalf("got %q", got)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
