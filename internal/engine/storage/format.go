// Package storage keeps the messages of partitions in append-only segment files.
//
// A partition is a folder of segments. Each segment is a log file named by the
// offset of its first message, twenty decimal digits and ".log", and an index file
// beside it (".idx") that can always be rebuilt from the log.
//
// A log file is a sequence of batches. A batch is a 40-byte header followed by
// messages in the form the protocol sends them, so that reading needs no encoding:
//
//	 0  u32  magic "IGB1"
//	 4  u32  CRC-32C of the header's bytes 8..39, seeded with the store's salt
//	 8  u32  length of the body in bytes
//	12  u32  number of messages
//	16  u64  offset of the first message
//	24  u64  append time, µs since the Unix epoch
//	32  u32  CRC-32C of the body
//	36  u32  zero
//
// All integers are little-endian. The header has a checksum of its own so that a
// reader can step over batches it does not serve without reading their bodies; the
// salt is random per store, so that no payload can pose as a batch where a reader
// looks for the next intact one.
package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"

	"github.com/zeebo/xxh3"
)

const (
	// BatchHeaderSize is the room, in bytes, that Append needs in front of a
	// batch's messages.
	BatchHeaderSize = 40

	// MessageHeaderSize is the size of a message's fixed head in bytes.
	MessageHeaderSize = 64

	batchMagic = 0x31424749 // "IGB1"
)

// Positions of the fields inside a message.
const (
	messageID         = 8
	messageOffset     = 24
	messageTimestamp  = 32
	messageHeadersLen = 48
	messagePayloadLen = 52
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrCorrupt marks data on disk whose checksum does not match. It is never served.
var ErrCorrupt = errors.New("storage: corrupt data")

// CorruptError says which part of a log cannot be read. It matches ErrCorrupt.
type CorruptError struct {
	Path     string // the segment's file
	Position int64  // where the batch begins, bytes
	Reason   string
}

// Error describes the damage.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("storage: %s at byte %d: %s", e.Path, e.Position, e.Reason)
}

// Is reports whether target is ErrCorrupt.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// batchHeader is the decoded head of a batch.
type batchHeader struct {
	bodyLen   uint32
	count     uint32
	base      uint64
	timestamp uint64
	bodyCRC   uint32
}

// end returns the offset after the batch's last message.
func (h *batchHeader) end() uint64 { return h.base + uint64(h.count) }

// size returns the batch's length in the file, header included.
func (h *batchHeader) size() int64 { return BatchHeaderSize + int64(h.bodyLen) }

func (h *batchHeader) put(b []byte, salt uint32) {
	binary.LittleEndian.PutUint32(b[0:], batchMagic)
	binary.LittleEndian.PutUint32(b[8:], h.bodyLen)
	binary.LittleEndian.PutUint32(b[12:], h.count)
	binary.LittleEndian.PutUint64(b[16:], h.base)
	binary.LittleEndian.PutUint64(b[24:], h.timestamp)
	binary.LittleEndian.PutUint32(b[32:], h.bodyCRC)
	binary.LittleEndian.PutUint32(b[36:], 0)
	binary.LittleEndian.PutUint32(b[4:], crc32.Update(salt, castagnoli, b[8:BatchHeaderSize]))
}

// parseBatchHeader decodes a header and reports whether it is intact: magic,
// checksum, and a body that can hold its messages.
func parseBatchHeader(b []byte, salt uint32) (batchHeader, bool) {
	if len(b) < BatchHeaderSize || binary.LittleEndian.Uint32(b) != batchMagic {
		return batchHeader{}, false
	}
	if binary.LittleEndian.Uint32(b[4:]) != crc32.Update(salt, castagnoli, b[8:BatchHeaderSize]) {
		return batchHeader{}, false
	}
	h := batchHeader{
		bodyLen:   binary.LittleEndian.Uint32(b[8:]),
		count:     binary.LittleEndian.Uint32(b[12:]),
		base:      binary.LittleEndian.Uint64(b[16:]),
		timestamp: binary.LittleEndian.Uint64(b[24:]),
		bodyCRC:   binary.LittleEndian.Uint32(b[32:]),
	}
	intact := h.count > 0 && uint64(h.bodyLen) >= uint64(h.count)*MessageHeaderSize && h.base+uint64(h.count) > h.base
	return h, intact
}

// messageSize returns the length of the message at the front of b, or 0 when b
// does not hold a whole one.
func messageSize(b []byte) int {
	if len(b) < MessageHeaderSize {
		return 0
	}
	size := MessageHeaderSize + uint64(binary.LittleEndian.Uint32(b[messageHeadersLen:])) +
		uint64(binary.LittleEndian.Uint32(b[messagePayloadLen:]))
	if size > uint64(len(b)) {
		return 0
	}
	return int(size)
}

// stamp gives the messages of body their offsets, append time, ids and checksums,
// and returns the header that goes in front of them. The caller has checked that
// body is exactly count whole messages.
func stamp(body []byte, count uint32, base, timestamp uint64) batchHeader {
	offset := base
	for rest := body; len(rest) > 0; offset++ {
		size := MessageHeaderSize + int(binary.LittleEndian.Uint32(rest[messageHeadersLen:])) +
			int(binary.LittleEndian.Uint32(rest[messagePayloadLen:]))
		message := rest[:size]
		if binary.LittleEndian.Uint64(message[messageID:]) == 0 && binary.LittleEndian.Uint64(message[messageID+8:]) == 0 {
			putRandomID(message[messageID : messageID+16])
		}
		binary.LittleEndian.PutUint64(message[messageOffset:], offset)
		binary.LittleEndian.PutUint64(message[messageTimestamp:], timestamp)
		binary.LittleEndian.PutUint64(message, xxh3.Hash(message[8:]))
		rest = rest[size:]
	}
	return batchHeader{
		bodyLen:   uint32(len(body)),
		count:     count,
		base:      base,
		timestamp: timestamp,
		bodyCRC:   crc32.Checksum(body, castagnoli),
	}
}

// putRandomID writes a random UUID of version 4 in its own order of bytes, as a real
// server does.
func putRandomID(b []byte) {
	binary.LittleEndian.PutUint64(b, rand.Uint64())
	binary.LittleEndian.PutUint64(b[8:], rand.Uint64())
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
}
