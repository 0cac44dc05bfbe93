package bridge

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"
	"unsafe"

	"kafka-iggy-bridge/internal/records"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
)

const (
	// maxPayload is the largest payload Iggy takes; the SDK's own limit of 10 MB
	// lies in a constructor that the bridge does not use.
	maxPayload = 64_000_000
	// maxUserHeaders bounds a message's user headers in bytes.
	maxUserHeaders = 100_000
	// originWindow is how far in µs the origin timestamps of one batch may lie
	// apart: newer Iggy servers store them as an u32 behind the batch's.
	originWindow = math.MaxUint32
	// maxOriginMs is the last millisecond that an origin timestamp in µs can say.
	maxOriginMs = math.MaxUint64 / 1000
)

// placeholder is the payload of records without a value: Iggy wants a byte.
var placeholder = []byte{0}

// encoder turns the records of a batch into Iggy messages. Payloads of plain
// records are views of the batch; everything else lies in the encoder's slab.
// It is reused through encoders and must be released when the messages have
// been sent.
type encoder struct {
	messages []message
	slab     []byte
	record   records.Record

	// what the batch holds, for the time index
	maxTimestamp   int64
	maxTimestampAt int // index of the first record that has it
	bytes          int // payloads and user headers
}

var encoders = sync.Pool{New: func() any { return new(encoder) }}

// maxIdleSlab is the largest slab an encoder keeps between batches.
const maxIdleSlab = 4 << 20

func (e *encoder) release() {
	clear(e.messages)
	e.messages = e.messages[:0]
	if cap(e.slab) > maxIdleSlab {
		e.slab = nil
	}
	e.slab = e.slab[:0]
	clear(e.record.Headers[:cap(e.record.Headers)])
	e.record = records.Record{Headers: e.record.Headers[:0]}
	encoders.Put(e)
}

// encodeOptions is what besides the batch decides how it is stored.
type encodeOptions struct {
	ids *idSource
	now time.Time
	// appendTime leaves the origin timestamps 0, which says that the records'
	// time is the one at which Iggy appends them.
	appendTime bool
}

// encode fills the encoder with the batch's records. Errors wrap
// ErrRecordTooLarge and ErrCorruptBatch.
func (e *encoder) encode(batch *records.Batch, opts encodeOptions) error {
	// The window begins at the batch's earliest real timestamp. That is nearly
	// always the first record's, so this is tried first; a record outside it
	// makes the encoder look for the earliest and start again.
	start := realOrigin(batch.BaseTimestamp)
	inWindow, err := e.run(batch, opts, start, start != 0 || opts.appendTime)
	if err != nil || inWindow {
		return err
	}
	if start, err = e.earliest(batch); err != nil {
		return err
	}
	if start == 0 {
		start = uint64(max(opts.now.UnixMicro(), 1))
	}
	_, err = e.run(batch, opts, start, false)
	return err
}

// realOrigin is a timestamp in µs, or 0 when an origin timestamp cannot say it.
func realOrigin(ms int64) uint64 {
	if ms <= 0 || uint64(ms) > maxOriginMs {
		return 0
	}
	return uint64(ms) * 1000
}

// earliest finds the earliest timestamp that an origin timestamp can say, 0
// when there is none.
func (e *encoder) earliest(batch *records.Batch) (uint64, error) {
	var first uint64
	it := batch.Iterator()
	for it.Next(&e.record) {
		if o := realOrigin(e.record.Timestamp); o != 0 && (first == 0 || o < first) {
			first = o
		}
	}
	if err := it.Err(); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrCorruptBatch, err)
	}
	return first, nil
}

// run encodes the batch with origin timestamps in the window that begins at
// start. With strict set it stops and returns false at the first record that
// lies outside.
func (e *encoder) run(batch *records.Batch, opts encodeOptions, start uint64, strict bool) (inWindow bool, err error) {
	if start == 0 && !opts.appendTime {
		return false, nil
	}
	e.messages, e.slab, e.bytes = e.messages[:0], e.slab[:0], 0
	e.maxTimestamp, e.maxTimestampAt = math.MinInt64, 0
	stamp, ids := e.identity(batch, opts.ids)
	end := start + originWindow
	if end < start {
		end = math.MaxUint64
	}
	it := batch.Iterator()
	for i := 0; it.Next(&e.record); i++ {
		r := &e.record
		if r.Timestamp > e.maxTimestamp {
			e.maxTimestamp, e.maxTimestampAt = r.Timestamp, i
		}
		var origin uint64
		exact := true
		if !opts.appendTime {
			origin = realOrigin(r.Timestamp)
			exact = origin >= start && origin <= end
			if !exact && strict && origin != 0 {
				return false, nil
			}
			origin = min(max(origin, start), end)
		}
		m := message{Header: iggcon.MessageHeader{OriginTimestamp: origin}}
		if batch.HasProducer() {
			if batch.BaseSequence >= 0 {
				stamp.Sequence = nextSequence(batch.BaseSequence, i)
			}
			m.Header.Id = producerMessageID(stamp)
		} else {
			m.Header.Id = opts.ids.id(ids + uint64(i))
		}
		if batch.IsControl() {
			e.fillControl(&m, r, exact)
		} else if err := e.fill(&m, r, exact); err != nil {
			return false, fmt.Errorf("record %d: %w", i, err)
		}
		e.bytes += len(m.Payload) + len(m.UserHeaders)
		e.messages = append(e.messages, m)
	}
	if err := it.Err(); err != nil {
		return false, fmt.Errorf("%w: %w", ErrCorruptBatch, err)
	}
	return true, nil
}

// identity prepares the batch's message ids.
func (e *encoder) identity(batch *records.Batch, ids *idSource) (stamp producerStamp, counter uint64) {
	if !batch.HasProducer() {
		return producerStamp{}, ids.reserve(int(max(batch.Count, 0)))
	}
	stamp = producerStamp{ID: batch.ProducerID, Epoch: batch.ProducerEpoch, Sequence: records.NoSequence}
	if batch.IsTransactional() {
		stamp.Flags |= idTransactional
	}
	if batch.IsControl() {
		stamp.Flags |= idControl
	}
	return stamp, 0
}

// fill gives m the payload and the user headers of r. exact says that the
// origin timestamp is the record's.
func (e *encoder) fill(m *message, r *records.Record, exact bool) error {
	switch {
	case r.Key == nil && len(r.Headers) == 0 && len(r.Value) > 0 && exact:
		m.Payload = r.Value
	case fitsHeaders(r):
		e.fillHeaders(m, r, exact)
	default:
		e.fillEnvelope(m, r, exact)
	}
	if len(m.Payload) > maxPayload {
		return fmt.Errorf("%w: %d bytes exceed %d", ErrRecordTooLarge, len(m.Payload), maxPayload)
	}
	m.Header.PayloadLength = uint32(len(m.Payload))
	m.Header.UserHeaderLength = uint32(len(m.UserHeaders))
	return nil
}

// fitsHeaders reports whether Iggy's user headers can hold the record exactly.
func fitsHeaders(r *records.Record) bool {
	if r.Key != nil && (len(r.Key) == 0 || len(r.Key) > maxHeaderField) {
		return false
	}
	// All that the mapping itself may add, rounded up.
	size := 5*headerOverhead + len(headerVersion) + len(headerKey) + len(r.Key) + len(headerValue) + len(valueEmpty) + len(headerTime) + 16
	for i := range r.Headers {
		h := &r.Headers[i]
		if len(headerPrefix)+len(h.Key) > maxHeaderField || len(h.Value) == 0 || len(h.Value) > maxHeaderField || !utf8.ValidString(h.Key) {
			return false
		}
		size += headerOverhead + len(headerPrefix) + len(h.Key) + len(h.Value)
		if size > maxUserHeaders || repeated(r.Headers[:i], h.Key) {
			return false
		}
	}
	return true
}

// repeated looks for a name among headers. The size limit of user headers
// keeps their number, and so the square of it, small enough.
func repeated(headers []records.Header, name string) bool {
	for i := range headers {
		if headers[i].Key == name {
			return true
		}
	}
	return false
}

func (e *encoder) fillHeaders(m *message, r *records.Record, exact bool) {
	from := len(e.slab)
	e.slab = appendUserHeader(e.slab, headerVersion, "", iggcon.Raw, []byte{mappingVersion})
	if r.Key != nil {
		e.slab = appendUserHeader(e.slab, headerKey, "", iggcon.Raw, r.Key)
	}
	for i := range r.Headers {
		e.slab = appendUserHeader(e.slab, headerPrefix, r.Headers[i].Key, iggcon.Raw, r.Headers[i].Value)
	}
	m.Payload = r.Value
	if len(r.Value) == 0 {
		m.Payload = placeholder
		what := valueEmpty
		if r.Value == nil {
			what = valueNull
		}
		e.slab = appendUserHeader(e.slab, headerValue, "", iggcon.String, what)
	}
	e.appendTime(r, exact)
	m.UserHeaders = e.slab[from:len(e.slab):len(e.slab)]
}

func (e *encoder) fillEnvelope(m *message, r *records.Record, exact bool) {
	from := len(e.slab)
	e.slab = appendUserHeader(e.slab, headerVersion, "", iggcon.Raw, []byte{mappingVersion})
	e.slab = appendUserHeader(e.slab, headerEnvelope, "", iggcon.Raw, []byte{1})
	e.appendTime(r, exact)
	m.UserHeaders = e.slab[from:len(e.slab):len(e.slab)]
	from = len(e.slab)
	e.slab = appendEnvelope(e.slab, r)
	m.Payload = e.slab[from:len(e.slab):len(e.slab)]
}

// fillControl gives m the key and the value of a control record. The name of
// what it says is for who looks at the log with Iggy's tools.
func (e *encoder) fillControl(m *message, r *records.Record, exact bool) {
	from := len(e.slab)
	e.slab = appendUserHeader(e.slab, headerVersion, "", iggcon.Raw, []byte{controlVersion})
	e.slab = appendUserHeader(e.slab, headerControl, "", iggcon.String, controlName(r.Key))
	e.slab = appendUserHeader(e.slab, headerKey, "", iggcon.Raw, r.Key)
	e.appendTime(r, exact)
	m.UserHeaders = e.slab[from:len(e.slab):len(e.slab)]
	m.Payload = r.Value
	m.Header.PayloadLength = uint32(len(m.Payload))
	m.Header.UserHeaderLength = uint32(len(m.UserHeaders))
}

// controlName is the value of kafka.control.
func controlName(key []byte) string {
	kind, err := records.ParseControlType(key)
	switch {
	case err != nil:
		return "unknown"
	case kind == records.ControlCommit:
		return "commit"
	case kind == records.ControlAbort:
		return "abort"
	default:
		return strconv.Itoa(int(kind))
	}
}

func (e *encoder) appendTime(r *records.Record, exact bool) {
	if exact {
		return
	}
	var ms [8]byte
	binary.LittleEndian.PutUint64(ms[:], uint64(r.Timestamp))
	e.slab = appendUserHeader(e.slab, headerTime, "", iggcon.Int64, ms[:])
}

// stringView is b as a string without a copy; b must not change while it is in
// use.
func stringView(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
