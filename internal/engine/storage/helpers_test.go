package storage

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// testStore opens a store in dir with a clock that counts.
func testStore(tb testing.TB, dir string, opts Options) *Store {
	tb.Helper()
	if opts.Now == nil {
		var now uint64
		opts.Now = func() uint64 { now += 10; return now }
	}
	opts.Salt = 77
	s, err := NewStore(dir, opts)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func openLog(tb testing.TB, s *Store) *Log {
	tb.Helper()
	l, err := s.Open("p")
	if err != nil {
		tb.Fatalf("Open: %v", err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	return l
}

// batch builds a batch of messages ready for Append.
func batch(payloads ...string) ([]byte, uint32) {
	b := make([]byte, BatchHeaderSize)
	for _, p := range payloads {
		m := make([]byte, MessageHeaderSize)
		binary.LittleEndian.PutUint32(m[messagePayloadLen:], uint32(len(p)))
		b = append(append(b, m...), p...)
	}
	return b, uint32(len(payloads))
}

func appendBatch(tb testing.TB, l *Log, payloads ...string) uint64 {
	tb.Helper()
	b, n := batch(payloads...)
	base, err := l.Append(b, n)
	if err != nil {
		tb.Fatalf("Append(%q): %v", payloads, err)
	}
	return base
}

// read returns the payloads of what Read gives, checking that offsets are contiguous.
func read(l *Log, offset uint64, count uint32) ([]string, error) {
	c, err := l.Read(offset, count, 1<<20)
	if err != nil {
		return nil, err
	}
	defer c.Release()
	var got []string
	var last uint64
	for b := c.Bytes(); len(b) > 0; {
		size := messageSize(b)
		if size == 0 {
			return got, errors.New("chunk ends inside a message")
		}
		at := binary.LittleEndian.Uint64(b[messageOffset:])
		if len(got) > 0 && at != last+1 {
			return got, errors.New("offsets are not contiguous")
		}
		last = at
		got = append(got, string(b[MessageHeaderSize:size]))
		b = b[size:]
	}
	if uint32(len(got)) != c.Count || len(got) > 0 && last != c.Last {
		return got, errors.New("chunk's count or last offset is wrong")
	}
	return got, nil
}

// mustRead is read for a range that is intact.
func mustRead(tb testing.TB, l *Log, offset uint64, count uint32) string {
	tb.Helper()
	got, err := read(l, offset, count)
	if err != nil {
		tb.Fatalf("Read(%d, %d): %v", offset, count, err)
	}
	return strings.Join(got, " ")
}

func logPath(dir string, start string) string {
	return filepath.Join(dir, "p", strings.Repeat("0", 20-len(start))+start+logSuffix)
}

func copyDir(tb testing.TB, from, to string) {
	tb.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		tb.Fatal(err)
	}
}

// faults decides what goes wrong with files.
type faults struct {
	mu        sync.Mutex
	room      int64 // bytes that may still be written, below 0 for no limit
	failSync  int   // syncs that will fail
	failTrunc int
	failOpen  int // files that will not open
	syncs     int
	gate      chan struct{} // when set, a sync waits for a token
}

func (f *faults) open(path string) (File, error) {
	f.mu.Lock()
	fail := f.failOpen > 0
	if fail {
		f.failOpen--
	}
	f.mu.Unlock()
	if fail {
		return nil, syscall.EMFILE
	}
	file, err := OpenOSFile(path)
	if err != nil {
		return nil, err
	}
	return &faultyFile{File: file, f: f}, nil
}

type faultyFile struct {
	File
	f *faults
}

func (f *faultyFile) WriteAt(p []byte, off int64) (int, error) {
	f.f.mu.Lock()
	defer f.f.mu.Unlock()
	if f.f.room < 0 {
		return f.File.WriteAt(p, off)
	}
	n := min(f.f.room, int64(len(p)))
	f.f.room -= n
	written, err := f.File.WriteAt(p[:n], off)
	if err == nil && n < int64(len(p)) {
		err = syscall.ENOSPC
	}
	return written, err
}

func (f *faultyFile) Sync() error {
	if f.f.gate != nil {
		<-f.f.gate
	}
	f.f.mu.Lock()
	defer f.f.mu.Unlock()
	f.f.syncs++
	if f.f.failSync > 0 {
		f.f.failSync--
		return syscall.EIO
	}
	return f.File.Sync()
}

func (f *faultyFile) Truncate(size int64) error {
	f.f.mu.Lock()
	defer f.f.mu.Unlock()
	if f.f.failTrunc > 0 {
		f.f.failTrunc--
		return syscall.EIO
	}
	return f.File.Truncate(size)
}
