package groups

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/statemachine"
	"kafka-iggy-bridge/internal/wire"
)

// recordPendingOffset is the type of the records of pending offsets. Kafka has
// none for them: there they are offset commits in transactional batches, whose
// fate a control record decides. Here the transactions' ends are worked out
// before anything is written, so that all offset commits in the log are decided
// ones. The number is far from Kafka's, whose tools pass over what they do not
// know.
//
// All numbers are big endian; a string is its length in bytes (int16) and then
// its bytes. A pending offset is known by its key:
//
//	int16   type: 32000
//	string  group
//	string  topic
//	int32   partition
//	int64   producer id
//
// Its value, until the transaction ends and a tombstone follows:
//
//	int16   version: 0
//	int16   producer epoch
//	int64   order: which of a partition's pending offsets is newer
//	int8    1 if something newer has been committed meanwhile, else 0
//	int64   offset
//	int32   leader epoch, -1 when unknown
//	string  metadata
//	int64   time of the commit, ms
//	16 byte topic id, zero when unknown
const recordPendingOffset int16 = 32000

// pendingValueVersion is the version of the values that are written.
const pendingValueVersion int16 = 0

// errPendingRecord says that a record of a pending offset is not in its form.
var errPendingRecord = errors.New("not a pending offset")

// pendingOffsetRecord is the record of a pending offset.
func pendingOffsetRecord(at time.Time, groupID, topic string, p *pendingOffset) records.Record {
	r := pendingOffsetTombstone(at, groupID, topic, p)
	b := make([]byte, 0, 2+2+8+1+8+4+2+len(p.metadata)+8+16)
	b = binary.BigEndian.AppendUint16(b, uint16(pendingValueVersion))
	b = binary.BigEndian.AppendUint16(b, uint16(p.producerEpoch))
	b = binary.BigEndian.AppendUint64(b, uint64(p.order))
	if p.outdated {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	b = binary.BigEndian.AppendUint64(b, uint64(p.offset))
	b = binary.BigEndian.AppendUint32(b, uint32(p.leaderEpoch))
	b = appendShortString(b, p.metadata)
	b = binary.BigEndian.AppendUint64(b, uint64(p.commitMs))
	r.Value = append(b, p.topicID[:]...)
	return r
}

// pendingOffsetTombstone is the record that removes a pending offset.
func pendingOffsetTombstone(at time.Time, groupID, topic string, p *pendingOffset) records.Record {
	b := make([]byte, 0, 2+2+len(groupID)+2+len(topic)+4+8)
	b = binary.BigEndian.AppendUint16(b, uint16(recordPendingOffset))
	b = appendShortString(b, groupID)
	b = appendShortString(b, topic)
	b = binary.BigEndian.AppendUint32(b, uint32(p.partition))
	b = binary.BigEndian.AppendUint64(b, uint64(p.producerID))
	return records.Record{Timestamp: at.UnixMilli(), Key: b}
}

// appendShortString appends a string that came out of a request, where it fit as
// it does here.
func appendShortString(b []byte, s string) []byte {
	if len(s) > wire.MaxString {
		panic(fmt.Sprintf("groups: a record cannot be encoded: a string of %d bytes", len(s)))
	}
	return append(binary.BigEndian.AppendUint16(b, uint16(len(s))), s...)
}

// decodePendingOffset reads a record of a pending offset; live is false for a
// tombstone, of which only the key is there.
func decodePendingOffset(r *records.Record) (groupID, topic string, p pendingOffset, live bool, err error) {
	key := pendingReader{b: r.Key[2:]} // behind the type
	groupID, topic = key.text(), key.text()
	p.partition = int32(key.uint(4))
	p.producerID = int64(key.uint(8))
	if !key.end() {
		return "", "", p, false, fmt.Errorf("%w: a key of %d bytes", errPendingRecord, len(r.Key))
	}
	if r.Value == nil {
		return groupID, topic, p, false, nil
	}
	value := pendingReader{b: r.Value}
	if version := int16(value.uint(2)); !value.short && version != pendingValueVersion {
		return "", "", p, false, fmt.Errorf("%w: a pending offset of version %d", statemachine.ErrUnknownRecord, version)
	}
	p.producerEpoch = int16(value.uint(2))
	p.order = int64(value.uint(8))
	outdated := value.uint(1)
	p.outdated = outdated == 1
	p.offset = int64(value.uint(8))
	p.leaderEpoch = int32(value.uint(4))
	p.metadata = value.text()
	p.commitMs, p.expireMs = int64(value.uint(8)), noExpiry
	copy(p.topicID[:], value.take(len(p.topicID)))
	if !value.end() || outdated > 1 {
		return "", "", p, false, fmt.Errorf("%w: a value of %d bytes", errPendingRecord, len(r.Value))
	}
	return groupID, topic, p, true, nil
}

// pendingReader reads a record. What it reads behind the end is zero, and end
// says so.
type pendingReader struct {
	b     []byte
	short bool
}

// take returns the next n bytes.
func (r *pendingReader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.short, r.b = true, nil
		return nil
	}
	taken := r.b[:n]
	r.b = r.b[n:]
	return taken
}

// uint reads a number of up to 8 bytes.
func (r *pendingReader) uint(size int) (n uint64) {
	for _, b := range r.take(size) {
		n = n<<8 | uint64(b)
	}
	return n
}

// text reads a string.
func (r *pendingReader) text() string { return string(r.take(int(int16(r.uint(2))))) }

// end tells whether everything was there, and nothing else.
func (r *pendingReader) end() bool { return !r.short && len(r.b) == 0 }
