package storage

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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

// FuzzIndexFile gives a sealed segment any index, with or without checksums that are
// right. Whatever the index says, no read may return anything but what was written,
// and without right checksums nothing may be missing.
func FuzzIndexFile(f *testing.F) {
	dir := f.TempDir()
	opts := Options{SegmentBytes: 96 << 10}
	l := openLog(f, testStore(f, dir, opts))
	var want []string
	for i := range 16 {
		want = append(want, strconv.Itoa(i)+strings.Repeat("q", 10<<10))
		appendBatch(f, l, want[i])
	}
	if err := l.Close(); err != nil {
		f.Fatal(err)
	}
	indexPath := func(dir string) string { return filepath.Join(dir, "p", "00000000000000000000"+indexSuffix) }
	index, err := os.ReadFile(indexPath(dir))
	if err != nil || len(index) < 3*indexEntrySize {
		f.Fatalf("index of %d bytes, %v", len(index), err)
	}
	f.Add(index, false)
	f.Add(index[indexEntrySize:], true)
	f.Add(append(index[len(index)-indexEntrySize:], index...), true)
	f.Add([]byte(strings.Repeat("x", indexEntrySize)), true)
	f.Fuzz(func(t *testing.T, index []byte, right bool) {
		index = slices.Clone(index) // the fuzzer keeps what it gave
		if right {
			for at := 0; at+indexEntrySize <= len(index); at += indexEntrySize {
				binary.LittleEndian.PutUint32(index[at+28:], indexCRC(index[at:at+28], 0))
			}
		}
		copied := filepath.Join(t.TempDir(), "copy")
		copyDir(t, dir, copied)
		if err := os.WriteFile(indexPath(copied), index, 0o600); err != nil {
			t.Fatal(err)
		}
		l := openLog(t, testStore(t, copied, opts))
		for offset := range want {
			got, err := read(l, uint64(offset), 3)
			if err != nil && !right {
				t.Fatalf("Read(%d): %v", offset, err)
			}
			for i, payload := range got {
				if right {
					if !slices.Contains(want, payload) {
						t.Fatalf("Read(%d) gave %.20q", offset, payload)
					}
				} else if payload != want[offset+i] {
					t.Fatalf("Read(%d) gave %.20q at %d", offset, payload, i)
				}
			}
			if !right && len(got) != min(3, len(want)-offset) {
				t.Fatalf("Read(%d) gave %d messages", offset, len(got))
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
