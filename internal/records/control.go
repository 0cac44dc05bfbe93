package records

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ControlType is what a control record says: the int16 behind the version in
// its key.
type ControlType int16

// The control types that end transactions. Others, such as KRaft's, may occur
// in a batch and are to be skipped.
const (
	ControlAbort  ControlType = 0
	ControlCommit ControlType = 1
)

// ErrControlRecord says that a record is not a control record's key or value.
var ErrControlRecord = errors.New("malformed control record")

// controlKeySize is the version and the type, int16 each.
const controlKeySize = 4

// endTxnVersion is the version written into key and value; readers accept
// later ones, which may only add fields.
const endTxnVersion = 0

// EndTxnMarker is the control record that ends a transaction in a partition.
type EndTxnMarker struct {
	// Commit tells a commit from an abort.
	Commit bool
	// CoordinatorEpoch is the transaction coordinator's, which fences markers
	// of a former coordinator.
	CoordinatorEpoch int32
}

// AppendEndTxnMarker appends a transactional control batch with one marker to
// dst. Of spec it uses the base offset, the leader epoch, the producer's id
// and epoch, and the append time; timestamp is in ms.
func AppendEndTxnMarker(dst []byte, spec BatchSpec, timestamp int64, m EndTxnMarker) ([]byte, error) {
	spec.Codec, spec.Transactional, spec.Control = CodecNone, true, true
	spec.HasProducer, spec.BaseSequence = true, NoSequence
	kind := ControlAbort
	if m.Commit {
		kind = ControlCommit
	}
	var key [controlKeySize]byte
	binary.BigEndian.PutUint16(key[0:], endTxnVersion)
	binary.BigEndian.PutUint16(key[2:], uint16(kind))
	var value [6]byte
	binary.BigEndian.PutUint16(value[0:], endTxnVersion)
	binary.BigEndian.PutUint32(value[2:], uint32(m.CoordinatorEpoch))

	var b Builder
	b.Reset(dst, spec)
	if err := b.Append(timestamp, key[:], value[:], nil); err != nil {
		return nil, err
	}
	return b.Finish()
}

// ParseControlType reads the type from the key of a record in a control batch.
// The error is ErrControlRecord.
func ParseControlType(key []byte) (ControlType, error) {
	if len(key) < controlKeySize {
		return 0, fmt.Errorf("%w: a key of %d bytes", ErrControlRecord, len(key))
	}
	if version := int16(binary.BigEndian.Uint16(key)); version < 0 {
		return 0, fmt.Errorf("%w: key version %d", ErrControlRecord, version)
	}
	return ControlType(binary.BigEndian.Uint16(key[2:])), nil
}

// ParseEndTxnMarker reads a marker from a record of a control batch. The error
// is ErrControlRecord, also when the record is a control record of another type.
func ParseEndTxnMarker(r *Record) (EndTxnMarker, error) {
	kind, err := ParseControlType(r.Key)
	if err != nil {
		return EndTxnMarker{}, err
	}
	if kind != ControlAbort && kind != ControlCommit {
		return EndTxnMarker{}, fmt.Errorf("%w: type %d does not end a transaction", ErrControlRecord, kind)
	}
	if len(r.Value) < 6 {
		return EndTxnMarker{}, fmt.Errorf("%w: a value of %d bytes", ErrControlRecord, len(r.Value))
	}
	if version := int16(binary.BigEndian.Uint16(r.Value)); version < 0 {
		return EndTxnMarker{}, fmt.Errorf("%w: value version %d", ErrControlRecord, version)
	}
	return EndTxnMarker{
		Commit:           kind == ControlCommit,
		CoordinatorEpoch: int32(binary.BigEndian.Uint32(r.Value[2:])),
	}, nil
}
