package records

import (
	"fmt"
	"testing"
)

// benchRecords are 1,000 records of 1 KiB with keys, half of them with headers.
func benchRecords() []Record {
	rs := make([]Record, 1000)
	value := text(1024 * len(rs))
	for i := range rs {
		rs[i] = Record{Offset: int64(i), Timestamp: testNow + int64(i), Key: fmt.Appendf(nil, "key-%d", i), Value: value[i*1024 : (i+1)*1024]}
		if i%2 == 0 {
			rs[i].Headers = []Header{{Key: "trace", Value: []byte("0123456789abcdef")}, {Key: "empty"}}
		}
	}
	return rs
}

func benchOptions() ValidateOptions {
	opts := DefaultValidateOptions(9, testNow)
	opts.MaxBytes = 16 << 20
	return opts
}

// validateAndIterate does for a batch what Produce does, and returns the size
// of its values.
func validateAndIterate(raw []byte, opts ValidateOptions, r *Record) (int, error) {
	b, err := ValidateProduce(raw, opts)
	if err != nil {
		return 0, err
	}
	n := 0
	it := b.Iterator()
	for it.Next(r) {
		n += len(r.Value)
	}
	err = it.Err()
	b.Release()
	return n, err
}

func BenchmarkValidateIterate(b *testing.B) {
	for _, c := range allCodecs {
		b.Run(c.String(), func(b *testing.B) {
			raw, opts := build(b, producerSpec(c), benchRecords()...), benchOptions()
			var r Record
			b.SetBytes(1000 * 1024)
			b.ReportAllocs()
			for b.Loop() {
				if n, err := validateAndIterate(raw, opts, &r); err != nil || n != 1000*1024 {
					b.Fatalf("%d bytes, %v", n, err)
				}
			}
		})
	}
}

func rebuild(builder *Builder, dst []byte, spec BatchSpec, rs []Record) ([]byte, error) {
	builder.Reset(dst, spec)
	for i := range rs {
		if err := builder.Append(rs[i].Timestamp, rs[i].Key, rs[i].Value, rs[i].Headers); err != nil {
			return nil, err
		}
	}
	return builder.Finish()
}

func BenchmarkBuild(b *testing.B) {
	rs := benchRecords()
	for _, c := range allCodecs {
		b.Run(c.String(), func(b *testing.B) {
			var (
				builder Builder
				dst     []byte
				err     error
			)
			b.SetBytes(1000 * 1024)
			b.ReportAllocs()
			for b.Loop() {
				if dst, err = rebuild(&builder, dst[:0], producerSpec(c), rs); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkChecksum(b *testing.B) {
	raw := build(b, producerSpec(CodecNone), benchRecords()...)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		checksum(raw)
	}
}
