package offsetmirror

import (
	"encoding/binary"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/records"
)

// recordOffsetCommit is the highest type of the records of __consumer_offsets
// that are offset commits; 0 is an older form with the same key.
const recordOffsetCommit = 1

// Written takes records of __consumer_offsets that are durable: offset commits
// and their tombstones are mirrored, others passed over: among them pending
// offsets of transactions, which become commits when those are committed. It
// never waits, and keeps nothing of rs.
func (m *Mirror) Written(rs []records.Record) {
	for i := range rs {
		m.written(&rs[i])
	}
}

// written takes one record. One that does not parse is none of the coordinator's
// own, and the coordinator says so when it loads it.
func (m *Mirror) written(r *records.Record) {
	if len(r.Key) < 2 || binary.BigEndian.Uint16(r.Key) > recordOffsetCommit {
		return
	}
	var k generated.OffsetCommitKey
	if _, err := k.Decode(0, r.Key[2:]); err != nil {
		return
	}
	if r.Value == nil {
		m.Deleted(k.Group, k.Topic, k.Partition)
		return
	}
	if len(r.Value) < 2 {
		return
	}
	var v generated.OffsetCommitValue
	if _, err := v.Decode(int16(binary.BigEndian.Uint16(r.Value)), r.Value[2:]); err != nil {
		return
	}
	m.Committed(k.Group, k.Topic, k.Partition, v.Offset)
}
