package bridge

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"sync/atomic"
)

// messageID is the 128-bit id of an Iggy message, its bytes in the order in
// which they lie on the wire. A producer's record has, big-endian:
//
//	producer id 8 · epoch 2 · sequence 4 · flags 4 bits · check 12 bits
//
// The check is the 32-bit FNV-1a hash h of the 14 bytes in front and of one byte
// with the flags, folded: the low 12 bits of h ^ h>>12 ^ h>>24. So producer
// state can be read from the log at no cost in bytes. Other records have a
// unique id whose check is wrong.
type messageID = [16]byte

// Flags of a message id.
const (
	idTransactional = 1
	idControl       = 2
	idKnownFlags    = idTransactional | idControl
)

// maxProducerID bounds the producer ids that are believed. Ids are handed out
// from 0, and an id with more than 48 bits would be an Iggy client's random
// message id that passes the check by chance.
const maxProducerID = 1<<48 - 1

// producerStamp is what a message id says of the producer.
type producerStamp struct {
	ID       int64
	Epoch    int16
	Sequence int32
	Flags    uint8
}

func idCheck(id *messageID, flags uint8) uint16 {
	const offset, prime = 2166136261, 16777619
	h := uint32(offset)
	for _, b := range id[:14] {
		h = (h ^ uint32(b)) * prime
	}
	h = (h ^ uint32(flags)) * prime
	return uint16((h ^ h>>12 ^ h>>24) & 0x0fff)
}

// producerMessageID is the id of a record that an idempotent producer sent.
func producerMessageID(s producerStamp) messageID {
	var id messageID
	binary.BigEndian.PutUint64(id[0:], uint64(s.ID))
	binary.BigEndian.PutUint16(id[8:], uint16(s.Epoch))
	binary.BigEndian.PutUint32(id[10:], uint32(s.Sequence))
	binary.BigEndian.PutUint16(id[14:], uint16(s.Flags)<<12|idCheck(&id, s.Flags))
	return id
}

// parseMessageID reads a producer's stamp from a message id. ok is false for
// ids without one.
func parseMessageID(id messageID) (s producerStamp, ok bool) {
	tail := binary.BigEndian.Uint16(id[14:])
	s = producerStamp{
		ID:       int64(binary.BigEndian.Uint64(id[0:])),
		Epoch:    int16(binary.BigEndian.Uint16(id[8:])),
		Sequence: int32(binary.BigEndian.Uint32(id[10:])),
		Flags:    uint8(tail >> 12),
	}
	switch {
	case s.ID < 0 || s.ID > maxProducerID, s.Epoch < 0, s.Sequence < -1, s.Flags&^idKnownFlags != 0:
		return producerStamp{}, false
	case tail&0x0fff != idCheck(&id, s.Flags):
		return producerStamp{}, false
	}
	return s, true
}

// idSource makes the ids of records without a producer: 8 random bytes that
// tell this bridge from all others, a 48-bit counter, and a check that is wrong.
type idSource struct {
	seed    [8]byte
	counter atomic.Uint64
}

func newIDSource() (*idSource, error) {
	s := new(idSource)
	if _, err := rand.Read(s.seed[:]); err != nil {
		return nil, fmt.Errorf("reading random bytes: %w", err)
	}
	// The counter's start is random too, so that two sources that share a seed
	// still differ.
	var start [8]byte
	if _, err := rand.Read(start[:6]); err != nil {
		return nil, fmt.Errorf("reading random bytes: %w", err)
	}
	s.counter.Store(binary.LittleEndian.Uint64(start[:]))
	return s, nil
}

// reserve takes n consecutive counter values and returns the first.
func (s *idSource) reserve(n int) uint64 {
	return s.counter.Add(uint64(n)) - uint64(n)
}

// id is the id for a reserved counter value.
func (s *idSource) id(counter uint64) messageID {
	var id messageID
	copy(id[:8], s.seed[:])
	binary.BigEndian.PutUint16(id[8:], uint16(counter>>32))
	binary.BigEndian.PutUint32(id[10:], uint32(counter))
	binary.BigEndian.PutUint16(id[14:], idCheck(&id, 0)^0x0fff)
	return id
}

// nextSequence is the sequence number n records behind s: it wraps from
// 2^31-1 to 0.
func nextSequence(s int32, n int) int32 {
	return int32((int64(s) + int64(n)) & 0x7fffffff)
}
