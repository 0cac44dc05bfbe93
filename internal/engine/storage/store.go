package storage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
)

// SyncPolicy says when written data is forced to the disk. Under every policy an
// append has been handed to the operating system before it is acknowledged, so the
// end of the process alone loses nothing.
type SyncPolicy int

// The policies.
const (
	SyncNever    SyncPolicy = iota // the operating system decides
	SyncInterval                   // whoever owns the store calls SyncDirty regularly
	SyncAlways                     // before an append is acknowledged and visible
)

const (
	// MaxSegmentBytes is the largest allowed segment size.
	MaxSegmentBytes = 1 << 30

	// MaxBatchBytes is the largest batch an append takes, header included. It
	// keeps positions inside a segment well below 4 GiB.
	MaxBatchBytes = 512 << 20

	defaultMaxOpenFiles = 512
)

// Errors that callers decide on.
var (
	// ErrClosed means the log was closed or deleted.
	ErrClosed = errors.New("storage: log is closed")

	// ErrBatchTooLarge means an append above MaxBatchBytes.
	ErrBatchTooLarge = errors.New("storage: batch is too large")
)

// Options configure a Store. The zero value of each field has a usable default.
type Options struct {
	// Sync is when data is forced to disk.
	Sync SyncPolicy

	// SegmentBytes is the size at which a segment is sealed; 1 GiB when 0.
	SegmentBytes int64

	// MaxOpenFiles bounds open segment files; 512 when 0.
	MaxOpenFiles int

	// Salt seeds the checksums of batch headers; it must stay the same for the
	// life of the data.
	Salt uint32

	// MachineCrashed says that the machine, not just the process, may have gone
	// down since the data was written: then the active segments are scanned whole,
	// and a broken batch at the very end is taken for one that never reached disk.
	MachineCrashed bool

	// Now gives the append time in µs since the Unix epoch; the wall clock when nil.
	Now func() uint64

	// OpenFile opens segment files; OpenOSFile when nil.
	OpenFile OpenFunc

	// Logger receives what recovery and background work find; a discarding logger
	// when nil.
	Logger logrus.FieldLogger
}

// Store holds what all logs of a data folder share.
type Store struct {
	dir   string
	opts  Options
	files *files
	log   logrus.FieldLogger

	mu    sync.Mutex
	dirty map[*Log]struct{} // logs with data not yet forced to disk
}

// NewStore returns a store whose logs live in folders below dir, which must exist.
func NewStore(dir string, opts Options) (*Store, error) {
	if opts.SegmentBytes == 0 {
		opts.SegmentBytes = MaxSegmentBytes
	}
	if opts.SegmentBytes < 512 || opts.SegmentBytes > MaxSegmentBytes {
		return nil, fmt.Errorf("storage: segment size %d is outside 512..%d bytes", opts.SegmentBytes, MaxSegmentBytes)
	}
	if opts.MaxOpenFiles <= 0 {
		opts.MaxOpenFiles = defaultMaxOpenFiles
	}
	if opts.Now == nil {
		opts.Now = func() uint64 { return uint64(time.Now().UnixMicro()) }
	}
	if opts.OpenFile == nil {
		opts.OpenFile = OpenOSFile
	}
	if opts.Logger == nil {
		quiet := logrus.New()
		quiet.SetLevel(logrus.PanicLevel)
		opts.Logger = quiet
	}
	return &Store{
		dir:   dir,
		opts:  opts,
		files: newFiles(opts.OpenFile, opts.MaxOpenFiles),
		log:   opts.Logger,
		dirty: make(map[*Log]struct{}),
	}, nil
}

// SegmentBytes returns the size at which segments are sealed.
func (s *Store) SegmentBytes() int64 { return s.opts.SegmentBytes }

// SyncDirty forces everything written so far to disk. It goes on after a failure and
// returns the failures joined; what failed stays dirty.
func (s *Store) SyncDirty() error {
	s.mu.Lock()
	logs := make([]*Log, 0, len(s.dirty))
	for l := range s.dirty {
		logs = append(logs, l)
	}
	clear(s.dirty)
	s.mu.Unlock()

	var failed []error
	for _, l := range logs {
		if err := l.Sync(); err != nil {
			failed = append(failed, err)
			s.markDirty(l)
		}
	}
	return errors.Join(failed...)
}

func (s *Store) markDirty(l *Log) {
	s.mu.Lock()
	s.dirty[l] = struct{}{}
	s.mu.Unlock()
}

func (s *Store) forget(l *Log) {
	s.mu.Lock()
	delete(s.dirty, l)
	s.mu.Unlock()
}

// Names returns the folders of logs that exist, in no particular order.
func (s *Store) Names() ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("storage: list logs: %w", err)
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

// Remove deletes a log's folder whether or not it is open. The log, when open, must
// have been closed before.
func (s *Store) Remove(name string) error {
	if err := os.RemoveAll(filepath.Join(s.dir, name)); err != nil {
		return fmt.Errorf("storage: remove log: %w", err)
	}
	return nil
}

// syncDir makes a folder's entries durable.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("storage: open folder: %w", err)
	}
	err = d.Sync()
	if closeErr := d.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("storage: sync folder: %w", err)
	}
	return nil
}
