package metalog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/sirupsen/logrus"
)

// Change is one key's new value as a replay tells it; Value is nil for a deletion.
// Both slices are only valid during the call.
type Change struct {
	Key, Value []byte
}

// Open opens the log called name in dir, or creates an empty one, and replays it into
// apply. An unfinished record at its end is cut off.
func Open(dir, name string, opts Options, apply func(Change) error) (*Log, error) {
	if opts.CompactBytes <= 0 {
		opts.CompactBytes = 4 << 20
	}
	if opts.Logger == nil {
		quiet := logrus.New()
		quiet.SetLevel(logrus.PanicLevel)
		opts.Logger = quiet
	}
	if opts.OpenFile == nil {
		opts.OpenFile = func(path string) (File, error) {
			f, err := os.OpenFile(path, os.O_RDWR, 0o600)
			if err != nil {
				return nil, err
			}
			return f, nil
		}
	}
	l := &Log{dir: dir, name: name, opts: opts}
	l.cond = sync.Cond{L: &l.syncMu}
	generations, err := l.tidy()
	if err != nil {
		return nil, err
	}
	if len(generations) == 0 {
		l.generation = 1
		file, _, err := l.replacement(l.path(1), func(func(key, value []byte)) error { return nil })
		if err != nil {
			return nil, err
		}
		if err := errors.Join(file.Close(), syncDir(dir)); err != nil {
			return nil, fmt.Errorf("metalog: create: %w", err)
		}
		generations = []uint64{1}
	}
	// A file gets its name only when it is complete, so the newest one counts.
	l.generation = generations[len(generations)-1]
	if err := l.load(apply); err != nil {
		return nil, err
	}
	for _, g := range generations[:len(generations)-1] {
		if err := os.Remove(l.path(g)); err != nil {
			return nil, fmt.Errorf("metalog: remove superseded file: %w", err)
		}
	}
	return l, nil
}

// tidy removes unfinished snapshots and lists the generations there are, ascending.
func (l *Log) tidy() ([]uint64, error) {
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return nil, fmt.Errorf("metalog: %w", err)
	}
	var generations []uint64
	for _, e := range entries { // sorted by name, and names have a fixed width
		rest, ok := strings.CutPrefix(e.Name(), l.name+"-")
		if !ok {
			continue
		}
		if strings.HasSuffix(rest, ".tmp") {
			if err := os.Remove(l.dir + "/" + e.Name()); err != nil {
				return nil, fmt.Errorf("metalog: remove unfinished snapshot: %w", err)
			}
			continue
		}
		digits, ok := strings.CutSuffix(rest, ".log")
		if g, err := strconv.ParseUint(digits, 10, 64); ok && err == nil && len(digits) == 10 {
			generations = append(generations, g)
		}
	}
	return generations, nil
}

func (l *Log) load(apply func(Change) error) error {
	path := l.path(l.generation)
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("metalog: %w", err)
	}
	if err := checkFileHeader(b); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	end, err := l.replay(b, apply)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	file, err := l.opts.OpenFile(path)
	if err != nil {
		return fmt.Errorf("metalog: %w", err)
	}
	if end < len(b) {
		l.opts.Logger.WithField("file", path).WithField("position", end).WithField("bytes", len(b)-end).
			Warn("cut an unfinished record off the metadata log")
		if err := file.Truncate(int64(end)); err != nil {
			return errors.Join(fmt.Errorf("metalog: cut unfinished record: %w", err), file.Close())
		}
	}
	l.file, l.size = file, int64(end)
	return nil
}

func checkFileHeader(b []byte) error {
	if len(b) < fileHeaderSize || string(b[:8]) != fileMagic ||
		crc32.Checksum(b[:12], castagnoli) != binary.LittleEndian.Uint32(b[12:]) {
		return fmt.Errorf("%w: no valid file header", ErrCorrupt)
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v > FormatVersion {
		return fmt.Errorf("%w: format %d, this program reads up to %d", ErrNewerFormat, v, FormatVersion)
	}
	return nil
}

// replay applies the records of a file and returns where the intact ones end.
func (l *Log) replay(b []byte, apply func(Change) error) (int, error) {
	snapshotDone := false
	pos := fileHeaderSize
	for pos < len(b) {
		payload, ok := parseRecord(b[pos:])
		if !ok {
			next, err := l.afterDamage(b, pos)
			if err != nil {
				return 0, err
			}
			if next < 0 {
				break
			}
			pos = next
			continue
		}
		switch payload[0] {
		case kindSnapshotEnd:
			snapshotDone = true
			l.snapshot = int64(pos)
		case kindChanges, kindSnapshot:
			if err := decodeChanges(payload[1:], apply); err != nil {
				return 0, err
			}
		default:
			return 0, fmt.Errorf("%w: record of unknown kind %d at byte %d", ErrCorrupt, payload[0], pos)
		}
		pos += recordHeaderSize + len(payload)
	}
	if !snapshotDone {
		return 0, fmt.Errorf("%w: the snapshot at its beginning is incomplete", ErrCorrupt)
	}
	return pos, nil
}

// afterDamage decides what an unreadable record means: next is where to go on, or
// below zero when the log ends here.
func (l *Log) afterDamage(b []byte, pos int) (next int, err error) {
	for at := pos + 1; at+recordHeaderSize <= len(b); at++ {
		if b[at] != recordMagic&0xff {
			continue
		}
		if _, ok := parseRecord(b[at:]); !ok {
			continue
		}
		if !l.opts.SkipCorrupt {
			return 0, fmt.Errorf("%w: unreadable bytes %d to %d, readable records follow", ErrCorrupt, pos, at)
		}
		l.opts.Logger.WithField("log", l.name).WithField("position", pos).Error("skipped a damaged record")
		return at, nil
	}
	complete := len(b)-pos >= recordHeaderSize &&
		binary.LittleEndian.Uint32(b[pos:]) == recordMagic &&
		uint64(binary.LittleEndian.Uint32(b[pos+4:])) == uint64(len(b)-pos-recordHeaderSize)
	if complete && !l.opts.MachineCrashed && !l.opts.SkipCorrupt {
		return 0, fmt.Errorf("%w: the last record, at byte %d, has a wrong checksum", ErrCorrupt, pos)
	}
	return -1, nil
}

// parseRecord returns the payload of the record at the front of b when it is whole
// and intact; it is never empty.
func parseRecord(b []byte) ([]byte, bool) {
	if len(b) < recordHeaderSize || binary.LittleEndian.Uint32(b) != recordMagic {
		return nil, false
	}
	length := binary.LittleEndian.Uint32(b[4:])
	if length == 0 || length > maxRecordBytes || uint64(length) > uint64(len(b)-recordHeaderSize) {
		return nil, false
	}
	payload := b[recordHeaderSize : recordHeaderSize+int(length)]
	if recordCRC(payload) != binary.LittleEndian.Uint32(b[8:]) {
		return nil, false
	}
	return payload, true
}

func decodeChanges(b []byte, apply func(Change) error) error {
	for len(b) > 0 {
		op := b[0]
		key, rest, ok := cutField(b[1:])
		if !ok || op != opPut && op != opDelete {
			return fmt.Errorf("%w: a record with a right checksum does not parse", ErrCorrupt)
		}
		change := Change{Key: key}
		if op == opPut {
			if change.Value, rest, ok = cutField(rest); !ok {
				return fmt.Errorf("%w: a record with a right checksum does not parse", ErrCorrupt)
			}
		}
		if err := apply(change); err != nil {
			return err
		}
		b = rest
	}
	return nil
}

func cutField(b []byte) (field, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	n := binary.LittleEndian.Uint32(b)
	if uint64(n) > uint64(len(b)-4) {
		return nil, nil, false
	}
	return b[4 : 4+n : 4+n], b[4+n:], true
}
