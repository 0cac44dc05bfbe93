package storage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTornTailIsCut ends the file at every byte of the last batch, with and without
// an index, and with junk in place of what is missing.
func TestTornTailIsCut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := openLog(t, testStore(t, dir, Options{}))
	appendBatch(t, l, "a", "b")
	appendBatch(t, l, "c")
	before := l.active().size
	appendBatch(t, l, "torn", "apart")
	after := l.active().size
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for size := before; size < after; size++ {
		for _, junk := range []int{0, 1, 100} {
			copied := filepath.Join(t.TempDir(), "copy")
			copyDir(t, dir, copied)
			path := logPath(copied, "0")
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			content = append(content[:size:size], make([]byte, junk)...)
			if int64(len(content)) >= after {
				continue // no longer a torn batch but a damaged one
			}
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			l := openLog(t, testStore(t, copied, Options{}))
			if got := mustRead(t, l, 0, 10); got != "a b c" {
				t.Fatalf("cut at %d of %d with %d junk bytes: got %q", size, after, junk, got)
			}
			if base := appendBatch(t, l, "again"); base != 3 {
				t.Fatalf("cut at %d: next offset %d, want 3", size, base)
			}
			if got := mustRead(t, l, 0, 10); got != "a b c again" {
				t.Fatalf("cut at %d: got %q", size, got)
			}
			_ = l.Close()
		}
	}
}

// TestFlippedBits flips every bit of a batch in the middle, and of the last one: the
// damaged batch is an error, everything else is served, offsets stay.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := openLog(t, testStore(t, dir, Options{}))
	appendBatch(t, l, "a", "b")
	first := l.active().size
	appendBatch(t, l, "c", "d")
	second := l.active().size
	appendBatch(t, l, "e")
	third := l.active().size
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(logPath(dir, "0"))
	if err != nil {
		t.Fatal(err)
	}
	for at := first; at < third; at++ {
		copied := filepath.Join(t.TempDir(), "copy")
		copyDir(t, dir, copied)
		damaged := append([]byte(nil), content...)
		damaged[at] ^= 1 << (at % 8)
		if err := os.WriteFile(logPath(copied, "0"), damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		l := openLog(t, testStore(t, copied, Options{}))
		where := fmt.Sprintf("byte %d of %d", at, third)
		want := "a b"
		switch {
		case at >= second+BatchHeaderSize:
			want = "a b c d"
		case at >= second: // the last header is made anew from the messages
			want = "a b c d e"
		}
		if got := mustRead(t, l, 0, 10); got != want {
			t.Fatalf("%s: reading from the start gave %q, want %q", where, got, want)
		}
		if at < second { // the batch in the middle
			for _, offset := range []uint64{2, 3} {
				if got, err := read(l, offset, 1); !errors.Is(err, ErrCorrupt) {
					t.Fatalf("%s: offset %d gave %q, %v", where, offset, got, err)
				}
			}
			if got := mustRead(t, l, 4, 10); got != "e" {
				t.Fatalf("%s: the batch behind gave %q", where, got)
			}
		} else if at >= second+BatchHeaderSize { // the last one's messages
			if got, err := read(l, 4, 1); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("%s: offset 4 gave %q, %v", where, got, err)
			}
		}
		if base := appendBatch(t, l, "f"); base != 5 {
			t.Fatalf("%s: next offset %d, want 5", where, base)
		}
		if got := mustRead(t, l, 5, 10); got != "f" {
			t.Fatalf("%s: what was appended afterwards gave %q", where, got)
		}
		_ = l.Close()
	}
}

// TestFlippedBitWhileRunning damages the file behind a running log's back.
func TestFlippedBitWhileRunning(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := openLog(t, testStore(t, dir, Options{}))
	appendBatch(t, l, "a")
	first := l.active().size
	appendBatch(t, l, "b")
	appendBatch(t, l, "c")
	f, err := os.OpenFile(logPath(dir, "0"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int64{first + BatchHeaderSize + 5, first + 9} { // the messages, then the header
		if _, err := f.WriteAt([]byte{0xee}, at); err != nil {
			t.Fatal(err)
		}
		if got := mustRead(t, l, 0, 5); got != "a" {
			t.Errorf("damage at %d: got %q", at, got)
		}
		if _, err := read(l, 1, 5); !errors.Is(err, ErrCorrupt) {
			t.Errorf("damage at %d: %v", at, err)
		}
		if got := mustRead(t, l, 2, 5); got != "c" {
			t.Errorf("damage at %d: got %q", at, got)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestMachineCrash takes a damaged last batch for one that never reached the disk.
func TestMachineCrash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := openLog(t, testStore(t, dir, Options{}))
	appendBatch(t, l, "a")
	size := l.active().size
	appendBatch(t, l, "b")
	appendBatch(t, l, "c")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(logPath(dir, "0"))
	if err != nil {
		t.Fatal(err)
	}
	clear(content[size+BatchHeaderSize : size+BatchHeaderSize+30])
	clear(content[len(content)-30:])
	if err := os.WriteFile(logPath(dir, "0"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	l = openLog(t, testStore(t, dir, Options{MachineCrashed: true}))
	if base := appendBatch(t, l, "again"); base != 1 {
		t.Errorf("next offset %d, want 1", base)
	}
	if got := mustRead(t, l, 0, 10); got != "a again" {
		t.Errorf("got %q", got)
	}
}

// TestBrokenIndexes loses, cuts and damages the index files of every segment.
func TestBrokenIndexes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := openLog(t, testStore(t, dir, Options{SegmentBytes: 200 << 10}))
	var want []string
	for i := range 60 {
		p := fmt.Sprintf("%d-%s", i, strings.Repeat("q", 9000))
		appendBatch(t, l, p)
		want = append(want, p)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	breakers := map[string]func(b []byte) []byte{
		"gone":                     func([]byte) []byte { return nil },
		"cut inside an entry":      func(b []byte) []byte { return b[:len(b)-7] },
		"cut before the last one":  func(b []byte) []byte { return b[:len(b)-indexEntrySize] },
		"only the first left":      func(b []byte) []byte { return b[:indexEntrySize] },
		"a bit flipped in the mid": func(b []byte) []byte { b[len(b)/2] ^= 4; return b },
		"a bit flipped at the end": func(b []byte) []byte { b[len(b)-1] ^= 4; return b },
		"entries doubled":          func(b []byte) []byte { return append(b, b...) },
		"junk":                     func([]byte) []byte { return []byte(strings.Repeat("junk", 100)) },
	}
	for name, breaker := range breakers {
		copied := filepath.Join(t.TempDir(), "copy")
		copyDir(t, dir, copied)
		paths, err := filepath.Glob(filepath.Join(copied, "p", "*"+indexSuffix))
		if err != nil || len(paths) < 3 {
			t.Fatalf("%v, %v", paths, err)
		}
		for _, path := range paths {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if len(b) == 0 {
				continue
			}
			if err := os.WriteFile(path, breaker(b), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 { // the rebuilt index must hold as well
			l := openLog(t, testStore(t, copied, Options{SegmentBytes: 200 << 10}))
			for from := 0; from < len(want); from += 7 {
				if got := mustRead(t, l, uint64(from), 7); got != strings.Join(want[from:min(from+7, len(want))], " ") {
					t.Fatalf("%s: Read(%d) gave %.60q", name, from, got)
				}
			}
			if offset, ok, err := l.OffsetForTime(415); err != nil || !ok || offset != 41 {
				t.Errorf("%s: OffsetForTime = %d, %v, %v", name, offset, ok, err)
			}
			if st := l.Stats(); st.Bytes != uint64(len(strings.Join(want, ""))+60*MessageHeaderSize) {
				t.Errorf("%s: %d bytes", name, st.Bytes)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestCrashInsideARoll leaves the states that a crash between a roll's steps can.
func TestCrashInsideARoll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := openLog(t, testStore(t, dir, Options{}))
	appendBatch(t, l, "a", "b")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	t.Run("the next file exists, the index is not final", func(t *testing.T) {
		copied := filepath.Join(t.TempDir(), "copy")
		copyDir(t, dir, copied)
		if err := os.WriteFile(logPath(copied, "2"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		l := openLog(t, testStore(t, copied, Options{}))
		if base := appendBatch(t, l, "c"); base != 2 {
			t.Errorf("next offset %d, want 2", base)
		}
		if got := mustRead(t, l, 0, 10); got != "a b c" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("an empty file of a roll that failed, outgrown since", func(t *testing.T) {
		copied := filepath.Join(t.TempDir(), "copy")
		copyDir(t, dir, copied)
		if err := os.WriteFile(logPath(copied, "1"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		l := openLog(t, testStore(t, copied, Options{}))
		if base := appendBatch(t, l, "c"); base != 2 {
			t.Errorf("next offset %d, want 2", base)
		}
		if got := mustRead(t, l, 0, 10); got != "a b c" {
			t.Errorf("got %q", got)
		}
	})
}

func TestIndexWithoutLogIsRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := openLog(t, testStore(t, dir, Options{SegmentBytes: 512}))
	for range 4 {
		appendBatch(t, l, strings.Repeat("k", 300))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(logPath(dir, "0")); err != nil { // a deletion that a crash interrupted
		t.Fatal(err)
	}
	l = openLog(t, testStore(t, dir, Options{SegmentBytes: 512}))
	if start, end := l.Bounds(); start != 1 || end != 4 {
		t.Errorf("bounds %d..%d, want 1..4", start, end)
	}
	if _, err := os.Stat(filepath.Join(dir, "p", "00000000000000000000"+indexSuffix)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the index is still there: %v", err)
	}
}
