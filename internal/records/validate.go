package records

import (
	"encoding/binary"
	"fmt"
	"math"
)

// DefaultMaxDecompressed is 64 MiB: what a batch may decompress to unless
// ValidateOptions says otherwise.
const DefaultMaxDecompressed = 64 << 20

// zstdProduceVersion is the first Produce version that may carry zstd (KIP-110).
const zstdProduceVersion = 7

// ValidateOptions are the settings of a topic and a request that decide
// whether a batch is accepted. Begin with DefaultValidateOptions: numbers are
// taken literally.
type ValidateOptions struct {
	// Version is the Produce request's.
	Version int16
	// MaxBytes is max.message.bytes: the largest batch as sent, in bytes.
	MaxBytes int
	// MaxDecompressed bounds the decompressed records in bytes. Kafka has no
	// such bound.
	MaxDecompressed int
	// RequireKeys refuses records without a key: cleanup.policy has compact.
	RequireKeys bool
	// LogAppendTime is message.timestamp.type: times of records then do not
	// matter, and the caller follows with Batch.SetLogAppendTime.
	LogAppendTime bool
	// Now is the current time in ms, for the two bounds below.
	Now int64
	// TimestampBeforeMax and TimestampAfterMax, in ms, are
	// message.timestamp.before.max.ms and message.timestamp.after.max.ms. A
	// record without a timestamp (-1) passes always.
	TimestampBeforeMax, TimestampAfterMax int64
}

// DefaultValidateOptions are Kafka's defaults at the time now, in ms.
func DefaultValidateOptions(version int16, now int64) ValidateOptions {
	return ValidateOptions{
		Version:            version,
		MaxBytes:           1048588,
		MaxDecompressed:    DefaultMaxDecompressed,
		Now:                now,
		TimestampBeforeMax: math.MaxInt64,
		TimestampAfterMax:  3600000,
	}
}

// ValidateProduce checks the records of one partition of a Produce request, v3
// or later, as a Kafka 4.4.0 broker does, in its order and with its codes, and
// returns the batch, decompressed and ready for Iterator. The caller calls
// Release once it is stored.
//
// raw must hold exactly one batch. Bytes behind it that cannot be one, being
// too few, are ignored, as the broker cuts them off. Like the broker it
// corrects the batch in place where the producer set its greatest timestamp
// wrongly or claimed log append time, so Raw may be kept and served.
//
// The error is always a *ValidationError. It departs from the broker's answer
// where that is an accident: an unknown codec (76), broken compressed data and
// overlong varints (87) are UNKNOWN_SERVER_ERROR there; records whose offset
// deltas are not 0, 1, 2, … are refused (87) also uncompressed, where the broker
// stores a batch whose offsets contradict its log's; MaxDecompressed, MaxHeaders
// and MaxRecordErrors are bounds of this package.
func ValidateProduce(raw []byte, opts ValidateOptions) (*Batch, error) {
	size, verr := singleBatch(raw, opts.Version)
	if verr != nil {
		return nil, verr
	}
	raw = raw[:size:size]
	if verr := checkAppend(raw, opts.MaxBytes); verr != nil {
		return nil, verr
	}
	b := batchPool.Get().(*Batch)
	b.pooled = true
	b.decode(raw)
	if verr := b.validate(&opts); verr != nil {
		b.Release()
		return nil, verr
	}
	return b, nil
}

// CheckRequest makes the first of ValidateProduce's checks, those of the request
// itself: a broker makes them before it looks at acks or at a log. The error is a
// *ValidationError.
func CheckRequest(raw []byte, version int16) error {
	if _, verr := singleBatch(raw, version); verr != nil {
		return verr
	}
	return nil
}

// singleBatch makes the checks of the request itself: raw holds one whole
// batch, of magic 2, in a codec that the request's version allows.
func singleBatch(raw []byte, version int16) (size int, verr *ValidationError) {
	size, verr = batchSize(raw)
	if verr != nil {
		return 0, verr
	}
	if size == 0 {
		return 0, refuse(KindInvalidRecord, "a partition's records must be one whole record batch, not %d bytes", len(raw))
	}
	if magic := raw[posMagic]; magic != Magic2 {
		return 0, refuse(KindInvalidRecord, "Produce v%d carries record batches of magic 2, not %d", version, magic)
	}
	if size > posAttributes+1 && Codec(raw[posAttributes+1]&attrCodecMask) == CodecZstd && version < zstdProduceVersion {
		return 0, refuse(KindUnsupportedCompression, "zstd needs Produce v%d, this is v%d", zstdProduceVersion, version)
	}
	next, verr := batchSize(raw[size:])
	if verr != nil {
		return 0, verr
	}
	if next != 0 {
		return 0, refuse(KindInvalidRecord, "a partition's records must be one record batch, not several")
	}
	return size, nil
}

// batchSize is the size of the batch, of whatever magic, that b begins with,
// and 0 when b does not hold a whole one. What cannot be a batch is an error.
func batchSize(b []byte) (int, *ValidationError) {
	if len(b) < logOverhead {
		return 0, nil
	}
	length := int32(binary.BigEndian.Uint32(b[posLength:]))
	if length < minLegacyLength {
		return 0, refuse(KindCorruptMessage, "record batch length %d is below the least possible, %d", length, minLegacyLength)
	}
	if len(b) <= posMagic {
		return 0, nil
	}
	if magic := int8(b[posMagic]); magic < 0 || magic > Magic2 {
		return 0, refuse(KindCorruptMessage, "record batch has the unknown magic %d", magic)
	}
	if int(length) > len(b)-logOverhead {
		return 0, nil
	}
	return logOverhead + int(length), nil
}

// checkAppend makes the checks of a log before it looks at records.
func checkAppend(raw []byte, maxBytes int) *ValidationError {
	if base := int64(binary.BigEndian.Uint64(raw)); base != 0 {
		return refuseRecords(KindInvalidRecord, "a producer's record batch begins at offset 0, not %d", base)
	}
	if len(raw) > maxBytes {
		return refuse(KindMessageTooLarge, "record batch of %d bytes exceeds max.message.bytes, %d", len(raw), maxBytes)
	}
	if len(raw) < HeaderSize {
		return refuse(KindCorruptMessage, "record batch of %d bytes is shorter than its header", len(raw))
	}
	if want, got := binary.BigEndian.Uint32(raw[posCRC:]), checksum(raw); want != got {
		e := refuse(KindCorruptMessage, "record batch has checksum %d, its bytes have %d", want, got)
		e.cause = ErrCRC
		return e
	}
	return nil
}

// validate checks header and records.
func (b *Batch) validate(opts *ValidateOptions) *ValidationError {
	if verr := b.checkHeader(); verr != nil {
		return verr
	}
	limit := opts.MaxDecompressed
	if limit <= 0 {
		limit = DefaultMaxDecompressed
	}
	if err := b.Decompress(limit); err != nil {
		return refuseCause(err)
	}
	claimed := b.LogAppendTime()
	greatest, verr := b.checkRecords(opts)
	if verr != nil {
		return verr
	}
	if !opts.LogAppendTime && (claimed || greatest != b.MaxTimestamp) {
		b.SetMaxTimestamp(greatest)
	}
	return nil
}

func (b *Batch) checkHeader() *ValidationError {
	switch {
	case !b.Codec().Known():
		e := refuseRecords(KindUnsupportedCompression, "codec %d is unknown", b.Codec())
		e.cause = ErrUnknownCodec
		return e
	case b.LastOffsetDelta < 0:
		return refuseRecords(KindInvalidRecord, "last offset delta %d is negative", b.LastOffsetDelta)
	case b.Count <= 0:
		return refuseRecords(KindInvalidRecord, "record count %d is not positive", b.Count)
	case int64(b.LastOffsetDelta)+1 != int64(b.Count):
		return refuseRecords(KindInvalidRecord, "last offset delta %d does not fit %d records", b.LastOffsetDelta, b.Count)
	case b.IsControl():
		return refuseRecords(KindInvalidRecord, "producers may not write control records")
	case b.HasProducer() && b.BaseSequence < 0:
		return refuseRecords(KindInvalidRecord, "producer id %d comes with the base sequence %d", b.ProducerID, b.BaseSequence)
	}
	return nil
}

// recordChecks gathers what is wrong with single records.
type recordChecks struct {
	errors        []RecordError
	badTimestamps bool
	earliest      int64
	latest        int64
}

func (c *recordChecks) add(index int32, message string) {
	if len(c.errors) < MaxRecordErrors {
		c.errors = append(c.errors, RecordError{BatchIndex: index, Message: message})
	}
}

// checkRecords walks over all records and returns the greatest create time.
// As in the broker, a malformed record counts before any complaint about
// well-formed ones, and any bad timestamp makes the whole an invalid timestamp.
func (b *Batch) checkRecords(opts *ValidateOptions) (greatest int64, verr *ValidationError) {
	checks := recordChecks{
		earliest: saturatingSub(opts.Now, opts.TimestampBeforeMax),
		latest:   saturatingAdd(opts.Now, opts.TimestampAfterMax),
	}
	it := b.Iterator()
	it.skipHeaders = true
	// The stored times are wanted, not the header's that readers would get.
	claimed := it.logAppendTime
	it.logAppendTime = false
	var (
		r        Record
		badDelta *ValidationError
	)
	greatest = NoTimestamp
	for i := int32(0); it.Next(&r); i++ {
		if it.offsetDelta != i && badDelta == nil {
			badDelta = refuseRecords(KindInvalidRecord, "record %d has the offset delta %d", i, it.offsetDelta)
		}
		if i == 0 || r.Timestamp > greatest {
			greatest = r.Timestamp
		}
		if opts.RequireKeys && r.Key == nil {
			checks.add(i, "a compacted topic takes no records without a key")
			continue
		}
		timestamp := r.Timestamp
		if claimed {
			timestamp = b.MaxTimestamp
		}
		checks.timestamp(i, timestamp, claimed, opts)
	}
	if err := it.Err(); err != nil {
		return 0, refuseCause(err)
	}
	if verr := checks.result(); verr != nil {
		return 0, verr
	}
	return greatest, badDelta
}

// timestamp checks one record's. A claim of log append time is refused where
// the broker alone sets it; elsewhere it is only dropped.
func (c *recordChecks) timestamp(index int32, ts int64, claimed bool, opts *ValidateOptions) {
	if opts.LogAppendTime {
		if claimed {
			c.badTimestamps = true
			c.add(index, "only the broker sets the timestamp type LogAppendTime")
		}
		return
	}
	// The differences wrap, as the broker's do: a time more than 2^63 ms ago lies
	// in the future, and passes where neither has a bound.
	if ts == NoTimestamp || opts.Now-ts <= opts.TimestampBeforeMax && ts-opts.Now <= opts.TimestampAfterMax {
		return
	}
	c.badTimestamps = true
	if len(c.errors) < MaxRecordErrors {
		c.add(index, fmt.Sprintf("timestamp %d lies outside [%d, %d]", ts, c.earliest, c.latest))
	}
}

func (c *recordChecks) result() *ValidationError {
	if len(c.errors) == 0 {
		return nil
	}
	kind, what := KindInvalidRecord, "records without a key"
	if c.badTimestamps {
		kind, what = KindInvalidTimestamp, "records with an invalid timestamp"
	}
	first := c.errors[0]
	e := refuseRecords(kind, "the batch has %s; record %d: %s", what, first.BatchIndex, first.Message)
	e.RecordErrors = c.errors
	return e
}

func saturatingAdd(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func saturatingSub(a, b int64) int64 {
	if b > 0 && a < math.MinInt64+b {
		return math.MinInt64
	}
	return a - b
}
