package records

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// seedBatches are batches of every codec and shape, with and without faults.
func seedBatches(f *testing.F) [][]byte {
	f.Helper()
	var out [][]byte
	for _, c := range allCodecs {
		out = append(out, build(f, producerSpec(c), three()...), build(f, producerSpec(c), javaRecords(12)...))
		for _, m := range malformedRecords() {
			out = append(out, withRecords(f, c, m.count, m.encoded))
		}
	}
	files, err := filepath.Glob("testdata/java-*.bin")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		out = append(out, raw)
	}
	return out
}

// FuzzValidateProduce: whatever is accepted can be read completely, is
// unchanged when validated again, and comes back from a Builder.
func FuzzValidateProduce(f *testing.F) {
	for _, raw := range seedBatches(f) {
		f.Add(raw, int16(9), false)
		f.Add(raw, int16(3), true)
	}
	f.Fuzz(func(t *testing.T, raw []byte, version int16, keys bool) {
		opts := DefaultValidateOptions(version, testNow)
		opts.RequireKeys, opts.MaxDecompressed = keys, 1<<20
		if len(raw) >= HeaderSize {
			seal(raw) // else the fuzzer never gets past the checksum
		}
		b, err := ValidateProduce(raw, opts)
		if err != nil {
			var verr *ValidationError
			if !errors.As(err, &verr) {
				t.Fatalf("error %v of another type", err)
			}
			return
		}
		got := collect(t, b)
		if len(got) != int(b.Count) {
			t.Fatalf("%d records, announced %d", len(got), b.Count)
		}
		if err := b.VerifyCRC(); err != nil {
			t.Fatal(err)
		}
		want := bytes.Clone(b.Raw)
		again, err := ValidateProduce(b.Raw, opts)
		if err != nil || !bytes.Equal(again.Raw, want) {
			t.Fatalf("second time: %v", err)
		}
		again.Release()
		rebuilt := collect(t, parseOne(t, build(t, producerSpec(CodecNone), got...)))
		for i := range got {
			if !equalRecords(got[i], rebuilt[i], true) {
				t.Fatalf("record %d: %+v, rebuilt %+v", i, got[i], rebuilt[i])
			}
		}
		b.Release()
	})
}

// FuzzIterate reads batches that nobody validated, as a consumer would.
func FuzzIterate(f *testing.F) {
	for _, raw := range seedBatches(f) {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var r Record
		for len(raw) > 0 {
			b, rest, err := Parse(raw)
			if err != nil {
				return
			}
			if err := b.Decompress(1 << 20); err == nil {
				n := int32(0)
				it := b.Iterator()
				for it.Next(&r) {
					n++
				}
				if it.Err() == nil && n != b.Count {
					t.Fatalf("%d records, announced %d, no error", n, b.Count)
				}
			}
			b.Release()
			raw = rest
		}
	})
}

func fuzzCodec(f *testing.F, c Codec) {
	const limit = 1 << 20
	for _, src := range [][]byte{nil, []byte("x"), text(5000), noise(5000), make([]byte, 100_000), text(100_000)} {
		packed := compress(f, c, src)
		f.Add(packed)
		f.Add(packed[:len(packed)/2])
		f.Add(append(packed, packed...))
	}
	for _, raw := range seedBatches(f) {
		if b, _, err := Parse(raw); err == nil && b.Codec() == c {
			f.Add(b.Payload())
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		got, err := AppendDecompressed(nil, c, src, limit)
		if err != nil {
			if !errors.Is(err, ErrCorruptPayload) && !errors.Is(err, ErrTooLarge) {
				t.Fatalf("error %v", err)
			}
			return
		}
		if len(got) > limit {
			t.Fatalf("%d bytes", len(got))
		}
		// A destination of exactly the size must do, and one byte less must not.
		if _, err := AppendDecompressed(nil, c, src, len(got)); err != nil {
			t.Fatalf("limit of exactly %d: %v", len(got), err)
		}
		if len(got) > 0 {
			if _, err := AppendDecompressed(nil, c, src, len(got)-1); !errors.Is(err, ErrTooLarge) {
				t.Fatalf("limit of one less than %d: %v", len(got), err)
			}
		}
		back, err := AppendDecompressed(nil, c, compress(t, c, got), limit)
		if err != nil || !bytes.Equal(back, got) {
			t.Fatalf("round trip: %v", err)
		}
	})
}

func FuzzGzip(f *testing.F)   { fuzzCodec(f, CodecGzip) }
func FuzzSnappy(f *testing.F) { fuzzCodec(f, CodecSnappy) }
func FuzzLZ4(f *testing.F)    { fuzzCodec(f, CodecLZ4) }
func FuzzZstd(f *testing.F)   { fuzzCodec(f, CodecZstd) }
