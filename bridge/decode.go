package bridge

import (
	"encoding/binary"
	"fmt"
	"strings"

	"kafka-iggy-bridge/internal/records"
)

// headerUnreadable is the Kafka header that says why a message could not be
// read as what it claims to be.
const headerUnreadable = "kafka.unreadable"

// decoded is a message as a Kafka record. Keys, values and headers are views of
// the message, and the headers' slice is reused by the next decode.
type decoded struct {
	records.Record
	// appendTime says that Timestamp is the time of Iggy's append.
	appendTime bool
	// unreadable is why the message could not be read, "" when it could. The
	// record then holds the payload and a kafka.unreadable header.
	unreadable string
	// transactional and control come from the id of a producer's message, and
	// stamp says which; they are never set on messages of Iggy's clients.
	transactional, control bool
	stamp                  producerStamp
}

// decode reads m into d. It takes any bytes, never fails and never panics.
func (d *decoded) decode(m *message) {
	d.Offset = int64(m.Header.Offset)
	d.Key, d.Value, d.Headers = nil, nil, d.Headers[:0]
	d.appendTime, d.unreadable = false, ""
	d.transactional, d.control, d.stamp = false, false, producerStamp{}
	d.Timestamp = originTime(m)
	d.appendTime = m.Header.OriginTimestamp == 0
	if stamp, ok := parseMessageID(m.Header.Id); ok {
		d.stamp = stamp
		d.transactional = stamp.Flags&idTransactional != 0
	}
	if len(m.UserHeaders) == 0 {
		d.Value = present(m.Payload)
		return
	}
	ours, err := d.decodeOurs(m)
	switch {
	case err != nil:
		d.markUnreadable(m, err)
	case !ours:
		if err := d.decodeForeign(m); err != nil {
			d.markUnreadable(m, err)
		}
	}
}

// originTime is the message's time in ms: the origin's, or Iggy's own.
func originTime(m *message) int64 {
	us := m.Header.OriginTimestamp
	if us == 0 {
		us = m.Header.Timestamp
	}
	if us == 0 {
		return records.NoTimestamp
	}
	return int64(us / 1000)
}

// present is b, empty rather than nil.
func present(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// mappedHeaders is what the user headers of a message of the mapping say.
type mappedHeaders struct {
	version  []byte
	envelope []byte
	value    []byte
	control  []byte
}

// decodeOurs reads a message with kafka.v; ours is false for one without.
func (d *decoded) decodeOurs(m *message) (ours bool, err error) {
	var mapped mappedHeaders
	broken := error(nil)
	for rest := m.UserHeaders; len(rest) > 0; {
		var h userHeader
		if h, rest, broken = nextUserHeader(rest); broken != nil {
			break
		}
		if err == nil {
			err = d.mappedHeader(&mapped, h)
		}
	}
	if mapped.version == nil {
		return false, nil
	}
	if broken != nil {
		return true, broken
	}
	switch {
	case len(mapped.version) == 1 && mapped.version[0] == controlVersion && mapped.control != nil && d.transactional && d.stamp.Flags&idControl != 0:
		// Its id says so as well: no Iggy client's message can be taken for a control
		// record by chance and vanish from consumers' sight.
		d.control = true
		d.Value = present(m.Payload)
		return true, err
	case len(mapped.version) != 1 || mapped.version[0] != mappingVersion:
		return true, fmt.Errorf("unknown mapping version %x", mapped.version)
	case err != nil:
		return true, err
	}
	if mapped.envelope != nil {
		if len(mapped.envelope) != 1 || mapped.envelope[0] != 1 {
			return true, fmt.Errorf("unknown envelope version %x", mapped.envelope)
		}
		return true, parseEnvelope(m.Payload, &d.Record)
	}
	switch string(mapped.value) {
	case "":
		d.Value = present(m.Payload)
	case valueNull:
		d.Value = nil
	case valueEmpty:
		d.Value = []byte{}
	default:
		return true, fmt.Errorf("unknown kind of value %q", mapped.value)
	}
	return true, nil
}

// mappedHeader takes note of one user header.
func (d *decoded) mappedHeader(mapped *mappedHeaders, h userHeader) error {
	name := stringView(h.key)
	if !strings.HasPrefix(name, reservedPrefix) {
		// Something that another writer added to a message of the mapping.
		d.Headers = append(d.Headers, records.Header{Key: name, Value: h.value})
		return nil
	}
	switch name {
	case headerVersion:
		mapped.version = h.value
	case headerKey:
		d.Key = h.value
	case headerValue:
		mapped.value = h.value
	case headerEnvelope:
		mapped.envelope = h.value
	case headerControl:
		mapped.control = h.value
	case headerTime:
		if len(h.value) != 8 {
			return fmt.Errorf("a timestamp of %d bytes", len(h.value))
		}
		d.Timestamp = int64(binary.LittleEndian.Uint64(h.value))
		d.appendTime = false
	default:
		if header, ok := strings.CutPrefix(name, headerPrefix); ok {
			d.Headers = append(d.Headers, records.Header{Key: header, Value: h.value})
		}
	}
	return nil
}

// decodeForeign reads a message that an Iggy client wrote for Iggy's clients.
func (d *decoded) decodeForeign(m *message) error {
	d.Key, d.Value, d.Headers = nil, present(m.Payload), d.Headers[:0]
	d.Timestamp, d.appendTime = originTime(m), m.Header.OriginTimestamp == 0
	for rest := m.UserHeaders; len(rest) > 0; {
		var h userHeader
		var err error
		if h, rest, err = nextUserHeader(rest); err != nil {
			return err
		}
		d.Headers = append(d.Headers, records.Header{Key: userHeaderName(h.keyKind, h.key), Value: h.value})
	}
	return nil
}

// markUnreadable makes d the raw payload with a header that says what is wrong
// with it: a message that cannot be read must not stall a consumer.
func (d *decoded) markUnreadable(m *message, err error) {
	d.unreadable = err.Error()
	d.Key, d.Value = nil, present(m.Payload)
	d.Timestamp, d.appendTime = originTime(m), m.Header.OriginTimestamp == 0
	d.Headers = append(d.Headers[:0], records.Header{Key: headerUnreadable, Value: []byte(d.unreadable)})
}

// messageSize is about what a message takes in memory and on the wire.
func messageSize(m *message) int {
	return iggyMessageHeader + len(m.Payload) + len(m.UserHeaders)
}
