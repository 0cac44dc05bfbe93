package sample

import (
	"fmt"

	"kafka-iggy-bridge/internal/records"
)

// timestamp is what the records of a batch count from, in ms: in the past, as
// brokers refuse the future, and the same for every run.
const timestamp = 1_700_000_000_000

// records returns what a field of record batches holds: no batch, one, several,
// or any bytes where the options say so.
func (f *filler) records() []byte {
	if f.opts.RawRecords {
		return f.bytes()
	}
	out := []byte{}
	offset := int64(0)
	for range f.IntN(3) {
		out, offset = f.batch(out, offset, records.BatchSpec{
			LeaderEpoch:   int32(f.IntN(3)) - 1,
			Codec:         records.Codec(f.IntN(5)),
			LogAppendTime: f.one(4),
			AppendTime:    timestamp,
			Transactional: f.one(4),
			HasProducer:   f.one(2),
			ProducerID:    int64(f.Uint64() >> 1),
			ProducerEpoch: int16(f.IntN(100)),
			BaseSequence:  int32(f.IntN(1000)),
		})
	}
	return out
}

// produced returns a batch as a producer sends it: alone, from offset 0, in a
// codec that every Produce version may carry.
func (f *filler) produced() []byte {
	out, _ := f.batch(nil, 0, records.BatchSpec{
		LeaderEpoch: records.NoLeaderEpoch,
		Codec:       records.Codec(f.IntN(4)),
	})
	return out
}

// batch appends a batch and returns the offset behind it.
func (f *filler) batch(dst []byte, offset int64, spec records.BatchSpec) ([]byte, int64) {
	spec.BaseOffset = offset
	var b records.Builder
	b.Reset(dst, spec)
	for range 1 + f.IntN(3) {
		if err := b.Append(timestamp+int64(f.IntN(1000)), f.nullable(), f.nullable(), f.headers()); err != nil {
			f.fail(err)
			return dst, offset
		}
	}
	next := b.NextOffset()
	out, err := b.Finish()
	if err != nil {
		f.fail(err)
		return dst, offset
	}
	return out, next
}

func (f *filler) fail(err error) {
	if f.err == nil {
		f.err = fmt.Errorf("building a record batch: %w", err)
	}
}

func (f *filler) nullable() []byte {
	if f.one(5) {
		return nil
	}
	return f.bytes()
}

func (f *filler) headers() []records.Header {
	var h []records.Header
	for range f.IntN(3) {
		h = append(h, records.Header{Key: f.name(1 + f.IntN(4)), Value: f.nullable()})
	}
	return h
}
