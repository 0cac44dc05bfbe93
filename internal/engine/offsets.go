package engine

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/sirupsen/logrus"

	"kafka-iggy-bridge/internal/engine/metalog"
)

// offsetKey names a stored offset: which partition's data, and whose it is. Single
// consumers are 32-bit numbers, groups are identities that are never used twice.
type offsetKey struct {
	partition uint64 // partition.uid
	group     bool
	consumer  uint64
}

const offsetKeySize = 17

func (k offsetKey) encode(b *[offsetKeySize]byte) []byte {
	binary.LittleEndian.PutUint64(b[0:], k.partition)
	b[8] = 0
	if k.group {
		b[8] = 1
	}
	binary.LittleEndian.PutUint64(b[9:], k.consumer)
	return b[:]
}

func decodeOffsetKey(b []byte) (offsetKey, bool) {
	if len(b) != offsetKeySize || b[8] > 1 {
		return offsetKey{}, false
	}
	return offsetKey{
		partition: binary.LittleEndian.Uint64(b),
		group:     b[8] == 1,
		consumer:  binary.LittleEndian.Uint64(b[9:]),
	}, true
}

// offsetStore holds the stored offsets of all consumers and groups.
type offsetStore struct {
	logger logrus.FieldLogger

	mu     sync.Mutex
	log    *metalog.Log
	tx     metalog.Tx
	tables map[uint64]map[offsetKey]uint64 // by partition
}

func openOffsets(dir string, opts metalog.Options) (*offsetStore, error) {
	s := &offsetStore{logger: opts.Logger, tables: make(map[uint64]map[offsetKey]uint64)}
	log, err := metalog.Open(dir, "offsets", opts, s.apply)
	if err != nil {
		return nil, err
	}
	s.log = log
	return s, nil
}

func (s *offsetStore) apply(c metalog.Change) error {
	k, ok := decodeOffsetKey(c.Key)
	switch {
	case !ok || c.Value != nil && len(c.Value) != 8:
		return fmt.Errorf("%w: an offset entry does not parse", metalog.ErrCorrupt)
	case c.Value == nil:
		s.forget(k)
	default:
		s.put(k, binary.LittleEndian.Uint64(c.Value))
	}
	return nil
}

func (s *offsetStore) put(k offsetKey, offset uint64) {
	t := s.tables[k.partition]
	if t == nil {
		t = make(map[offsetKey]uint64)
		s.tables[k.partition] = t
	}
	t[k] = offset
}

func (s *offsetStore) forget(k offsetKey) {
	t := s.tables[k.partition]
	delete(t, k)
	if len(t) == 0 {
		delete(s.tables, k.partition)
	}
}

// get returns a stored offset.
func (s *offsetStore) get(k offsetKey) (uint64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	offset, ok := s.tables[k.partition][k]
	return offset, ok
}

// lowest returns the lowest offset that any consumer or group has stored for a
// partition.
func (s *offsetStore) lowest(partition uint64) (offset uint64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.tables[partition] {
		if !ok || o < offset {
			offset, ok = o, true
		}
	}
	return offset, ok
}

// set stores an offset; it is durable, as far as the engine promises, on return.
func (s *offsetStore) set(k offsetKey, offset uint64) error {
	var kb [offsetKeySize]byte
	var vb [8]byte
	binary.LittleEndian.PutUint64(vb[:], offset)
	s.mu.Lock()
	s.tx.Reset()
	s.tx.Put(k.encode(&kb), vb[:])
	ticket, err := s.log.Append(&s.tx)
	if err == nil {
		s.put(k, offset)
		s.compact()
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.log.Wait(ticket)
}

// remove deletes a stored offset and reports whether there was one.
func (s *offsetStore) remove(k offsetKey) (bool, error) {
	s.mu.Lock()
	_, ok := s.tables[k.partition][k]
	s.mu.Unlock()
	if !ok {
		return false, nil
	}
	return true, s.removeWhere([]uint64{k.partition}, func(o offsetKey) bool { return o == k })
}

// removeWhere deletes the offsets of the given partitions that match.
func (s *offsetStore) removeWhere(partitions []uint64, match func(offsetKey) bool) error {
	var kb [offsetKeySize]byte
	s.mu.Lock()
	s.tx.Reset()
	var gone []offsetKey
	for _, p := range partitions {
		for k := range s.tables[p] {
			if match(k) {
				s.tx.Delete(k.encode(&kb))
				gone = append(gone, k)
			}
		}
	}
	ticket, err := s.log.Append(&s.tx)
	if err == nil {
		for _, k := range gone {
			s.forget(k)
		}
		s.compact()
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.log.Wait(ticket)
}

// retain deletes the offsets of partitions and groups that no longer exist.
func (s *offsetStore) retain(partitions, groups map[uint64]bool) error {
	var all []uint64
	s.mu.Lock()
	for p := range s.tables {
		all = append(all, p)
	}
	s.mu.Unlock()
	return s.removeWhere(all, func(k offsetKey) bool {
		return !partitions[k.partition] || k.group && !groups[k.consumer]
	})
}

// compact replaces the log by a snapshot when it has grown enough. A failure leaves
// the old log in use.
func (s *offsetStore) compact() {
	if !s.log.NeedsCompact() {
		return
	}
	err := s.log.Compact(func(put func(key, value []byte)) error {
		var kb [offsetKeySize]byte
		var vb [8]byte
		for _, t := range s.tables {
			for k, offset := range t {
				binary.LittleEndian.PutUint64(vb[:], offset)
				put(k.encode(&kb), vb[:])
			}
		}
		return nil
	})
	if err != nil {
		s.logger.WithError(err).Error("snapshot of the offsets not written")
	}
}

func (s *offsetStore) sync() error { return s.log.Sync() }

func (s *offsetStore) close() error {
	err := s.log.Sync()
	if closeErr := s.log.Close(); err == nil {
		err = closeErr
	}
	return err
}
