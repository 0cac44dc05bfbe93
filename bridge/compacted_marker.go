package bridge

import "kafka-iggy-bridge/internal/records"

// Markers are what the bridge itself writes into the logs of internal topics.
// To Kafka they are commit markers of transactions that have no records, which
// every consumer skips.
type marker int64

// The kinds of markers. Each is the producer id that its message has: the
// greatest ones there can be, which are never handed out.
const (
	// markerComplete ends a generation's snapshot: the generation counts.
	markerComplete marker = maxProducerID
	// markerVoid says of a generation without a snapshot that is complete that it
	// never will count. The first of these two in a generation holds.
	markerVoid marker = maxProducerID - 1
	// markerSeal takes an offset in a generation that is about to be left, so that
	// whoever else writes to it notices.
	markerSeal marker = maxProducerID - 2
	// markerNone is no marker.
	markerNone marker = -1
)

// markerOf says which marker a message is.
func markerOf(m *message) marker {
	// A look at the top bytes spares the check of nearly all ids.
	if m.Header.Id[0] != 0 || m.Header.Id[2] != 0xff {
		return markerNone
	}
	stamp, ok := parseMessageID(m.Header.Id)
	if !ok || stamp.Flags != idTransactional|idControl || stamp.ID < int64(markerSeal) {
		return markerNone
	}
	return marker(stamp.ID)
}

// batch is the marker as a batch to append. Its epoch makes its message's id
// another one than those of the markers before it.
func (k marker) batch(b *Bridge) (*records.Batch, error) {
	return b.controlBatch(int64(k), int16(b.ids.reserve(1)&0x7fff), records.EndTxnMarker{Commit: true})
}
