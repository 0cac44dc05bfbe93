package storage

import (
	"fmt"
	"os"
	"sync"
)

// File is what the store needs of an open segment file. Tests put faults behind it.
type File interface {
	ReadAt(p []byte, off int64) (int, error)
	WriteAt(p []byte, off int64) (int, error)
	Truncate(size int64) error
	Sync() error
	Close() error
}

// OpenFunc opens a segment file for reading and writing, creating it when absent.
type OpenFunc func(path string) (File, error)

// OpenOSFile is the OpenFunc of the operating system's files.
func OpenOSFile(path string) (File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// files bounds the number of open segment files: the least recently used one that
// nobody is using is closed when another must be opened.
type files struct {
	open OpenFunc
	max  int

	mu    sync.Mutex
	count int
	// front and back delimit the list of open slots, most recently used first.
	front, back *fileSlot
}

// fileSlot is one segment's file, open or not. Its fields are guarded by files.mu.
type fileSlot struct {
	path       string
	file       File
	refs       int
	doomed     bool
	closed     func() // told when the file is closed
	prev, next *fileSlot
}

func newFiles(open OpenFunc, limit int) *files {
	return &files{open: open, max: limit}
}

// acquire returns the slot's open file; release must follow.
func (f *files) acquire(s *fileSlot) (File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.doomed {
		return nil, fmt.Errorf("storage: %s: %w", s.path, os.ErrNotExist)
	}
	if s.file != nil {
		s.refs++
		if f.front != s {
			f.unlink(s)
			f.pushFront(s)
		}
		return s.file, nil
	}
	f.evict()
	file, err := f.open(s.path)
	if err != nil {
		return nil, fmt.Errorf("storage: open segment: %w", err)
	}
	s.file = file
	s.refs++
	f.count++
	f.pushFront(s)
	return file, nil
}

func (f *files) release(s *fileSlot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s.refs--
	if s.doomed && s.refs == 0 {
		f.close(s)
	}
}

// forget closes the slot's file once nobody uses it and never opens it again.
func (f *files) forget(s *fileSlot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s.doomed = true
	if s.refs == 0 {
		f.close(s)
	}
}

// evict makes room for one more open file, as far as unused ones allow.
func (f *files) evict() {
	for s := f.back; s != nil && f.count >= f.max; {
		prev := s.prev
		if s.refs == 0 {
			f.close(s)
		}
		s = prev
	}
}

func (f *files) close(s *fileSlot) {
	if s.file == nil {
		return
	}
	f.unlink(s)
	f.count--
	// Everything written has been handed to the system by write(2), and whoever
	// needs it on disk has called Sync: a failing close has nothing left to lose.
	_ = s.file.Close()
	s.file = nil
	if s.closed != nil {
		s.closed()
	}
}

func (f *files) pushFront(s *fileSlot) {
	s.prev, s.next = nil, f.front
	if f.front != nil {
		f.front.prev = s
	}
	f.front = s
	if f.back == nil {
		f.back = s
	}
}

func (f *files) unlink(s *fileSlot) {
	if s.prev != nil {
		s.prev.next = s.next
	} else {
		f.front = s.next
	}
	if s.next != nil {
		s.next.prev = s.prev
	} else {
		f.back = s.prev
	}
	s.prev, s.next = nil, nil
}
