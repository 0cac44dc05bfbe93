package bridge

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"kafka-iggy-bridge/internal/records"
)

// The envelope holds a record that Iggy's user headers cannot hold exactly. It
// is the message's payload, little-endian:
//
//	flags u8 (1 key present, 2 value present)
//	key length u32, key · value length u32, value
//	header count u32, and for each: name length u32, name,
//	value present u8, value length u32, value
//
// What is not present has length 0.
const (
	envelopeHasKey   = 1
	envelopeHasValue = 2
	// envelopeMinHeader is the size of the smallest header in an envelope.
	envelopeMinHeader = 4 + 1 + 4
)

var errEnvelope = errors.New("malformed envelope")

func appendEnvelope(dst []byte, r *records.Record) []byte {
	var flags byte
	if r.Key != nil {
		flags |= envelopeHasKey
	}
	if r.Value != nil {
		flags |= envelopeHasValue
	}
	dst = append(dst, flags)
	dst = appendSized(dst, r.Key)
	dst = appendSized(dst, r.Value)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(r.Headers)))
	for i := range r.Headers {
		h := &r.Headers[i]
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(h.Key)))
		dst = append(dst, h.Key...)
		var present byte
		if h.Value != nil {
			present = 1
		}
		dst = append(dst, present)
		dst = appendSized(dst, h.Value)
	}
	return dst
}

func appendSized(dst, b []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(b)))
	return append(dst, b...)
}

// parseEnvelope reads an envelope into key, value and headers of r, as views
// of b. The error wraps errEnvelope; r is then in an undefined state.
func parseEnvelope(b []byte, r *records.Record) error {
	if len(b) < 1 {
		return fmt.Errorf("%w: it is empty", errEnvelope)
	}
	flags := b[0]
	if flags&^(envelopeHasKey|envelopeHasValue) != 0 {
		return fmt.Errorf("%w: unknown flags %#x", errEnvelope, flags)
	}
	b = b[1:]
	var err error
	if r.Key, b, err = cutOptional(b, flags&envelopeHasKey != 0, "key"); err != nil {
		return err
	}
	if r.Value, b, err = cutOptional(b, flags&envelopeHasValue != 0, "value"); err != nil {
		return err
	}
	if len(b) < 4 {
		return fmt.Errorf("%w: cut off before its headers", errEnvelope)
	}
	count := binary.LittleEndian.Uint32(b)
	b = b[4:]
	if uint64(count)*envelopeMinHeader > uint64(len(b)) {
		return fmt.Errorf("%w: %d headers in %d bytes", errEnvelope, count, len(b))
	}
	r.Headers = r.Headers[:0]
	for range count {
		var name, value []byte
		if name, b, err = cutSized(b, "header name"); err != nil {
			return err
		}
		if len(b) < 1 || b[0] > 1 {
			return fmt.Errorf("%w: a header value is neither present nor absent", errEnvelope)
		}
		present := b[0] == 1
		if value, b, err = cutOptional(b[1:], present, "header value"); err != nil {
			return err
		}
		r.Headers = append(r.Headers, records.Header{Key: stringView(name), Value: value})
	}
	if len(b) != 0 {
		return fmt.Errorf("%w: %d bytes behind its end", errEnvelope, len(b))
	}
	return nil
}

// cutOptional cuts a sized field, which is nil when it is not present.
func cutOptional(b []byte, present bool, what string) (field, rest []byte, err error) {
	field, rest, err = cutSized(b, what)
	if err != nil || present {
		return field, rest, err
	}
	if len(field) != 0 {
		return nil, nil, fmt.Errorf("%w: a null %s has %d bytes", errEnvelope, what, len(field))
	}
	return nil, rest, nil
}

func cutSized(b []byte, what string) (field, rest []byte, err error) {
	if len(b) < 4 {
		return nil, nil, fmt.Errorf("%w: cut off before a %s", errEnvelope, what)
	}
	size := binary.LittleEndian.Uint32(b)
	if size > math.MaxInt32 || int(size) > len(b)-4 {
		return nil, nil, fmt.Errorf("%w: a %s of %d bytes, %d are left", errEnvelope, what, size, len(b)-4)
	}
	end := 4 + int(size)
	return b[4:end:end], b[end:], nil
}
