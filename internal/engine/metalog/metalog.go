// Package metalog is a crash-safe log of key changes, from which small tables
// (the catalog of streams, topics and users; consumer offsets) are rebuilt at start.
//
// The tables live in their owner's memory. The owner appends the changes it makes,
// several as one record where they belong together, and from time to time has the
// whole table written into a new file, which then takes the old one's place. A crash
// at any point leaves one complete file.
//
// A file begins with 16 bytes, "IGGYMETA", format version u32 and CRC-32C u32 of the
// 12 bytes before. Records follow:
//
//	0  u32  magic "IGR1"
//	4  u32  length of the payload
//	8  u32  CRC-32C of the length and the payload
//	12      payload: kind u8 (1 changes, 2 part of a snapshot, 3 end of the snapshot),
//	        then changes: op u8 (1 put, 2 delete), key length u32, key,
//	        and for a put value length u32, value
//
// All integers are little-endian.
package metalog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/sirupsen/logrus"
)

const (
	fileMagic      = "IGGYMETA"
	fileHeaderSize = 16

	// FormatVersion is the version of the files this package writes.
	FormatVersion = 1

	recordMagic      = 0x31524749 // "IGR1"
	recordHeaderSize = 12

	kindChanges     = 1
	kindSnapshot    = 2
	kindSnapshotEnd = 3

	opPut    = 1
	opDelete = 2

	// maxRecordBytes bounds what is believed of a record's length.
	maxRecordBytes = 256 << 20

	// snapshotRecordBytes is about the size of a snapshot's records.
	snapshotRecordBytes = 64 << 10
)

// Errors that callers decide on.
var (
	// ErrCorrupt means bytes in the middle of the log have changed.
	ErrCorrupt = errors.New("metalog: corrupt log")

	// ErrNewerFormat means the file was written by a newer version.
	ErrNewerFormat = errors.New("metalog: written by a newer version")

	// ErrClosed means the log was closed.
	ErrClosed = errors.New("metalog: closed")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// File is what a Log needs of its file. Tests put faults behind it.
type File interface {
	io.WriterAt
	Truncate(size int64) error
	Sync() error
	Close() error
}

// Options configure a Log.
type Options struct {
	// Sync forces every append to disk before it is acknowledged by Wait.
	Sync bool

	// MachineCrashed allows a complete last record with a wrong checksum to be
	// taken for one that never reached the disk.
	MachineCrashed bool

	// SkipCorrupt drops a damaged record instead of refusing the log, where losing
	// one is better than not starting.
	SkipCorrupt bool

	// CompactBytes is the size a log must have grown by since its last snapshot
	// before another is due; 4 MiB when 0.
	CompactBytes int64

	// OpenFile opens the file to write to; the operating system's when nil.
	OpenFile func(path string) (File, error)

	// Logger is told of cut and skipped records.
	Logger logrus.FieldLogger
}

// Log is an open metadata log. Append and Compact are serialised by their caller,
// who guards the table with a lock anyway; Wait and Sync may be called at any time.
type Log struct {
	dir, name string
	opts      Options

	file       File
	generation uint64
	size       int64
	snapshot   int64 // size right after the last snapshot
	tail       bool  // a failed write may have left bytes behind size
	closed     bool

	buf []byte

	syncMu  sync.Mutex
	cond    sync.Cond
	running bool
	written uint64 // appends made
	synced  uint64 // appends on disk
	broken  error  // a failed sync: nothing more can be promised
}

// Tx gathers changes that become durable together.
type Tx struct{ b []byte }

// Put sets key to value.
func (t *Tx) Put(key, value []byte) {
	t.start()
	t.b = append(t.b, opPut)
	t.b = binary.LittleEndian.AppendUint32(t.b, uint32(len(key)))
	t.b = append(t.b, key...)
	t.b = binary.LittleEndian.AppendUint32(t.b, uint32(len(value)))
	t.b = append(t.b, value...)
}

// Delete removes key.
func (t *Tx) Delete(key []byte) {
	t.start()
	t.b = append(t.b, opDelete)
	t.b = binary.LittleEndian.AppendUint32(t.b, uint32(len(key)))
	t.b = append(t.b, key...)
}

// Reset empties the transaction for another use.
func (t *Tx) Reset() { t.b = t.b[:0] }

// Empty reports whether the transaction changes nothing.
func (t *Tx) Empty() bool { return len(t.b) <= 1 }

func (t *Tx) start() {
	if len(t.b) == 0 {
		t.b = append(t.b, kindChanges)
	}
}

func appendRecord(dst, payload []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, recordMagic)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(payload)))
	dst = binary.LittleEndian.AppendUint32(dst, recordCRC(payload))
	return append(dst, payload...)
}

func recordCRC(payload []byte) uint32 {
	var length [4]byte
	binary.LittleEndian.PutUint32(length[:], uint32(len(payload)))
	return crc32.Update(crc32.Checksum(length[:], castagnoli), castagnoli, payload)
}

// Append writes the transaction's changes. They survive the end of the process once
// Append has returned, and the machine's once Wait has returned for the ticket.
func (l *Log) Append(tx *Tx) (ticket uint64, err error) {
	if l.closed {
		return 0, ErrClosed
	}
	if tx.Empty() {
		return 0, nil
	}
	if l.tail {
		if err := l.file.Truncate(l.size); err != nil {
			return 0, fmt.Errorf("metalog: cut failed write: %w", err)
		}
		l.tail = false
	}
	l.buf = appendRecord(l.buf[:0], tx.b)
	n, err := l.file.WriteAt(l.buf, l.size)
	if err == nil && n < len(l.buf) {
		err = io.ErrShortWrite
	}
	if err != nil {
		l.tail = true
		return 0, fmt.Errorf("metalog: append: %w", err)
	}
	l.size += int64(len(l.buf))
	l.syncMu.Lock()
	defer l.syncMu.Unlock()
	l.written++
	return l.written, nil
}

// Wait returns when the append of the ticket is as durable as the options ask for.
// Concurrent waiters share one sync.
func (l *Log) Wait(ticket uint64) error {
	if !l.opts.Sync {
		return nil
	}
	return l.syncTo(ticket)
}

// Sync forces everything appended so far to disk.
func (l *Log) Sync() error {
	l.syncMu.Lock()
	ticket := l.written
	l.syncMu.Unlock()
	return l.syncTo(ticket)
}

func (l *Log) syncTo(ticket uint64) error {
	l.syncMu.Lock()
	defer l.syncMu.Unlock()
	for l.synced < ticket {
		if l.broken != nil {
			return l.broken
		}
		if l.running {
			l.cond.Wait()
			continue
		}
		l.running = true
		target, file := l.written, l.file
		l.syncMu.Unlock()
		err := file.Sync()
		l.syncMu.Lock()
		l.running = false
		if err != nil {
			l.broken = fmt.Errorf("metalog: sync: %w", err)
		} else {
			l.synced = max(l.synced, target)
		}
		l.cond.Broadcast()
	}
	return nil
}

// NeedsCompact reports whether the log has grown enough for a snapshot, or a sync of
// it has failed, after which only a new file can be trusted.
func (l *Log) NeedsCompact() bool {
	l.syncMu.Lock()
	broken := l.broken != nil
	l.syncMu.Unlock()
	return broken || l.size-l.snapshot > max(l.opts.CompactBytes, l.snapshot)
}

// Compact writes a snapshot into a new file, which takes this log's place. write
// must put the whole table, as it is after the last append. After an error the old
// file stays in use, unless the error says that only its removal failed.
func (l *Log) Compact(write func(put func(key, value []byte)) error) error {
	if l.closed {
		return ErrClosed
	}
	path := l.path(l.generation + 1)
	file, size, err := l.replacement(path, write)
	if err != nil {
		l.snapshot = l.size // try again when the log has grown once more
		return err
	}
	// From here on a start would take the new file, so this log must as well.
	old, previous := l.path(l.generation), l.file
	synced := syncDir(l.dir)
	l.syncMu.Lock()
	for l.running {
		l.cond.Wait()
	}
	l.file, l.broken = file, nil
	if synced == nil {
		l.synced = l.written
	} else {
		l.broken = fmt.Errorf("metalog: sync folder: %w", synced)
	}
	l.cond.Broadcast()
	l.syncMu.Unlock()
	l.generation++
	l.size, l.snapshot, l.tail = size, size, false
	if synced != nil {
		return errors.Join(l.broken, previous.Close())
	}
	if err := errors.Join(previous.Close(), os.Remove(old)); err != nil {
		return fmt.Errorf("metalog: remove superseded file: %w", err)
	}
	return nil
}

// replacement writes a snapshot and moves it to path, open for appends. When it fails
// there is nothing at path.
func (l *Log) replacement(path string, write func(put func(key, value []byte)) error) (File, int64, error) {
	size, err := writeSnapshot(path+".tmp", write)
	if err != nil {
		return nil, 0, err
	}
	file, err := l.opts.OpenFile(path + ".tmp")
	if err != nil {
		return nil, 0, fmt.Errorf("metalog: open snapshot: %w", err)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		return nil, 0, errors.Join(fmt.Errorf("metalog: place snapshot: %w", err), file.Close())
	}
	return file, size, nil
}

// Close closes the file; it does not force data to disk.
func (l *Log) Close() error {
	if l.closed {
		return nil
	}
	l.closed = true
	return l.file.Close()
}

func (l *Log) path(generation uint64) string {
	return filepath.Join(l.dir, fmt.Sprintf("%s-%010d.log", l.name, generation))
}

// writeSnapshot writes a complete file and forces it to disk. What a failure leaves
// behind is overwritten by the next one or removed at the next start.
func writeSnapshot(path string, write func(put func(key, value []byte)) error) (size int64, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, fmt.Errorf("metalog: create snapshot: %w", err)
	}
	size, err = encodeSnapshot(f, write)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return 0, fmt.Errorf("metalog: write snapshot: %w", err)
	}
	return size, nil
}

func encodeSnapshot(w io.Writer, write func(put func(key, value []byte)) error) (int64, error) {
	out := appendFileHeader(nil)
	var size int64
	var failed error
	flush := func() {
		if failed == nil {
			_, failed = w.Write(out)
		}
		size += int64(len(out))
		out = out[:0]
	}
	tx := Tx{b: []byte{kindSnapshot}}
	put := func(key, value []byte) {
		tx.Put(key, value)
		if len(tx.b) >= snapshotRecordBytes {
			out = appendRecord(out, tx.b)
			flush()
			tx.b = append(tx.b[:0], kindSnapshot)
		}
	}
	if err := write(put); err != nil {
		return 0, err
	}
	if len(tx.b) > 1 {
		out = appendRecord(out, tx.b)
	}
	out = appendRecord(out, []byte{kindSnapshotEnd})
	flush()
	return size, failed
}

func appendFileHeader(dst []byte) []byte {
	from := len(dst)
	dst = append(dst, fileMagic...)
	dst = binary.LittleEndian.AppendUint32(dst, FormatVersion)
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[from:], castagnoli))
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	err = d.Sync()
	if closeErr := d.Close(); err == nil {
		err = closeErr
	}
	return err
}
