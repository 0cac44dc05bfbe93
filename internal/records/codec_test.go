package records

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

func compress(t testing.TB, c Codec, src []byte) []byte {
	t.Helper()
	out, err := AppendCompressed([]byte("x"), c, src)
	if err != nil {
		t.Fatal(err)
	}
	return out[1:]
}

func TestCodecsRoundTripAndLimit(t *testing.T) {
	t.Parallel()
	sizes := []int{0, 1, 13, 100, 4096, 64<<10 - 1, 64 << 10, 64<<10 + 1, 128<<10 + 5, 1 << 20}
	for _, c := range allCodecs {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			for _, n := range sizes {
				for kind, src := range map[string][]byte{"text": text(n), "noise": noise(n), "zeros": make([]byte, n)} {
					packed := compress(t, c, src)
					got, err := AppendDecompressed([]byte("y"), c, packed, n)
					if err != nil || got[0] != 'y' || !bytes.Equal(got[1:], src) {
						t.Fatalf("%s of %d bytes within a limit of as many: %v", kind, n, err)
					}
					if n == 0 {
						continue
					}
					if _, err := AppendDecompressed(nil, c, packed, n-1); !errors.Is(err, ErrTooLarge) {
						t.Errorf("%s of %d bytes within a limit of one less: %v", kind, n, err)
					}
				}
			}
		})
	}
}

func TestCodecNames(t *testing.T) {
	t.Parallel()
	for _, c := range allCodecs {
		if got, err := ParseCodec(c.String()); err != nil || got != c {
			t.Errorf("%s: %v %v", c, got, err)
		}
	}
	if c, err := ParseCodec("uncompressed"); err != nil || c != CodecNone {
		t.Errorf("uncompressed: %v %v", c, err)
	}
	if _, err := ParseCodec("producer"); !errors.Is(err, ErrUnknownCodec) {
		t.Errorf("producer: %v", err)
	}
	if Codec(5).Known() || Codec(-1).Known() || Codec(6).String() != "codec(6)" {
		t.Error("unknown codecs pass")
	}
	if _, err := AppendCompressed(nil, 7, nil); !errors.Is(err, ErrUnknownCodec) {
		t.Errorf("compress: %v", err)
	}
	if _, err := AppendDecompressed(nil, 7, nil, 10); !errors.Is(err, ErrUnknownCodec) {
		t.Errorf("decompress: %v", err)
	}
}

func TestSnappyLayouts(t *testing.T) {
	t.Parallel()
	src := text(100_000)
	chunk := func(b []byte) []byte {
		packed := s2.EncodeSnappy(nil, b)
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(packed))), packed...)
	}
	header := func(version, compatible uint32) []byte {
		h := binary.BigEndian.AppendUint32(bytes.Clone(xerialMagic), version)
		return binary.BigEndian.AppendUint32(h, compatible)
	}
	v1 := header(1, 1)
	for _, tc := range []struct {
		name string
		in   []byte
		want []byte
		err  error
	}{
		{"one raw block, as librdkafka writes", s2.EncodeSnappy(nil, src), src, nil},
		{"framed, blocks cut anywhere", cat(v1, chunk(src[:7]), chunk(src[7:32768]), chunk(src[32768:])), src, nil},
		{"framed, a later version, as Java reads it", cat(header(2, 2), chunk(src)), src, nil},
		{"two frames in a row", cat(v1, chunk(src[:10]), v1, chunk(src[10:])), src, nil},
		{"frame without blocks", v1, nil, nil},
		{"frame of version 0", cat(header(0, 0), chunk(src)), nil, ErrCorruptPayload},
		{"frame header cut", v1[:12], nil, ErrCorruptPayload},
		{"block length cut", cat(v1, []byte{0, 0}), nil, ErrCorruptPayload},
		{"block cut", cat(v1, chunk(src))[:100], nil, ErrCorruptPayload},
		{"negative block length", cat(v1, []byte{0xff, 0xff, 0xff, 0xff}), nil, ErrCorruptPayload},
		{"block of no bytes", cat(v1, []byte{0, 0, 0, 0}), nil, ErrCorruptPayload},
		{"bytes behind the blocks", cat(v1, chunk(src), []byte{1, 2, 3, 4, 5}), nil, ErrCorruptPayload},
		{"nothing", nil, nil, ErrCorruptPayload},
		{"a raw block that claims 4 GiB", []byte{0xff, 0xff, 0xff, 0xff, 0x0f, 0}, nil, ErrTooLarge},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := AppendDecompressed(nil, CodecSnappy, tc.in, 1<<20)
			if !errors.Is(err, tc.err) || !bytes.Equal(got, tc.want) {
				t.Errorf("%d bytes, error %v; want %d, %v", len(got), err, len(tc.want), tc.err)
			}
		})
	}
}

// lz4Frame writes a frame by the library's stream, with its options.
func lz4Stream(t testing.TB, src []byte, options ...lz4.Option) []byte {
	t.Helper()
	var out bytes.Buffer
	w := lz4.NewWriter(&out)
	if err := w.Apply(options...); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(src); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestLZ4Frames(t *testing.T) {
	t.Parallel()
	src := append(text(300_000), noise(100_000)...)
	plain := lz4Stream(t, src, lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false))
	summed := lz4Stream(t, src, lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(true))
	blocks := lz4Stream(t, src, lz4.BlockSizeOption(lz4.Block256Kb), lz4.ChecksumOption(false), lz4.BlockChecksumOption(true))
	change := func(b []byte, f func(b []byte)) []byte { b = bytes.Clone(b); f(b); return b }
	dependent := change(plain, func(b []byte) { b[4] &^= lz4FlagIndependent; b[6] = lz4HeaderChecksum(b[4:6]) })
	for _, tc := range []struct {
		name string
		in   []byte
		err  error
	}{
		{"64 KiB blocks without checksums", plain, nil},
		{"4 MiB blocks", lz4Stream(t, src, lz4.BlockSizeOption(lz4.Block4Mb)), nil},
		{"content size given", lz4Stream(t, src, lz4.SizeOption(uint64(len(src)))), nil},
		{"content checksum", summed, nil},
		{"content checksum wrong: nobody compares it", change(summed, func(b []byte) { b[len(b)-1] ^= 1 }), nil},
		{"content checksum cut", summed[:len(summed)-4], ErrCorruptPayload},
		{"block checksums", blocks, nil},
		{"block checksum wrong", change(blocks, func(b []byte) { b[len(b)-5] ^= 1 }), ErrCorruptPayload},
		{"bytes behind the frame", append(bytes.Clone(plain), "more"...), nil},
		{"a second frame", append(bytes.Clone(plain), plain...), nil},
		{"dependent blocks, which Java cannot read", dependent, ErrCorruptPayload},
		{"wrong header checksum", change(plain, func(b []byte) { b[6] ^= 1 }), ErrCorruptPayload},
		{"no end mark", plain[:len(plain)-4], ErrCorruptPayload},
		{"a dictionary", change(plain, func(b []byte) { b[4] |= 1; b[6] = lz4HeaderChecksum(b[4:6]) }), ErrCorruptPayload},
		{"legacy frame", change(plain, func(b []byte) { b[0] = 2 }), ErrCorruptPayload},
		{"block size code 3", change(plain, func(b []byte) { b[5] = 0x30; b[6] = lz4HeaderChecksum(b[4:6]) }), ErrCorruptPayload},
		{"content size cut", []byte{4, 0x22, 0x4d, 0x18, 0x68, 0x40, 0, 0}, ErrCorruptPayload},
		{"block above its size", change(plain, func(b []byte) { put32(b, 7, 0x01000100) }), ErrCorruptPayload},
		{"nothing", nil, ErrCorruptPayload},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := AppendDecompressed(nil, CodecLZ4, tc.in, 1<<20)
			if !errors.Is(err, tc.err) || (tc.err == nil && !bytes.Equal(got, src)) {
				t.Errorf("%d bytes, error %v; want %v", len(got), err, tc.err)
			}
		})
	}
}

func TestLZ4IsReadByTheLibraryAndIndependent(t *testing.T) {
	t.Parallel()
	for _, src := range [][]byte{text(300_000), noise(70_000), nil} {
		packed := compress(t, CodecLZ4, src)
		var got bytes.Buffer
		if _, err := got.ReadFrom(lz4.NewReader(bytes.NewReader(packed))); err != nil || !bytes.Equal(got.Bytes(), src) {
			t.Errorf("%d bytes: %v", len(src), err)
		}
		if packed[4]&lz4FlagIndependent == 0 {
			t.Error("blocks depend on each other")
		}
	}
}

func TestXXH32(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]uint32{
		"": 0x02CC5D05, "a": 0x550D7456, "abc": 0x32D153FF,
		"Nobody inspects the spammish repetition": 0xE2293B2F,
	} {
		if got := xxh32([]byte(in)); got != want {
			t.Errorf("%q: %x, want %x", in, got, want)
		}
	}
}

func TestGzipMembersAndTails(t *testing.T) {
	t.Parallel()
	src := text(50_000)
	packed := compress(t, CodecGzip, src)
	change := func(i int) []byte { b := bytes.Clone(packed); b[len(b)+i] ^= 1; return b }
	for _, tc := range []struct {
		name string
		in   []byte
		want []byte
		err  error
	}{
		{"two members", append(bytes.Clone(packed), packed...), append(bytes.Clone(src), src...), nil},
		{"bytes behind it, which Java ignores", append(bytes.Clone(packed), "tail"...), src, nil},
		{"size in the trailer wrong", change(-1), nil, ErrCorruptPayload},
		{"checksum wrong", change(-5), nil, ErrCorruptPayload},
		{"trailer cut", packed[:len(packed)-8], nil, ErrCorruptPayload},
		{"nothing", nil, nil, ErrCorruptPayload},
	} {
		got, err := AppendDecompressed(nil, CodecGzip, tc.in, 1<<20)
		if !errors.Is(err, tc.err) || !bytes.Equal(got, tc.want) {
			t.Errorf("%s: %d bytes, error %v", tc.name, len(got), err)
		}
	}
}

func TestZstdFrames(t *testing.T) {
	t.Parallel()
	src := text(300_000)
	var streamed bytes.Buffer
	w, err := zstd.NewWriter(&streamed, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(src); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	stream := streamed.Bytes()
	compressible := func() []byte {
		var out bytes.Buffer
		w.Reset(&out)
		for range 20 { // each flush begins a block, none of which tells its size
			if _, err := w.Write(make([]byte, (1<<20-5)/20)); err != nil {
				t.Fatal(err)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Write(make([]byte, (1<<20-5)%20)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}()
	skippable := []byte{0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3}
	for _, tc := range []struct {
		name string
		in   []byte
		want []byte
		err  error
	}{
		{"streamed, size not given", stream, src, nil},
		{"streamed, 500 times smaller than its content", compressible, make([]byte, 1<<20-5), nil},
		{"two frames", cat(stream, compress(t, CodecZstd, src[:10])), cat(src, src[:10]), nil},
		{"a skippable frame first", cat(skippable, stream), src, nil},
		{"a skippable frame cut", skippable[:9], nil, ErrCorruptPayload},
		{"no frame", nil, nil, nil},
		{"bytes behind it", cat(stream, []byte{1, 2, 3, 4, 5}), nil, ErrCorruptPayload},
		{"checksum wrong", func() []byte { b := bytes.Clone(stream); b[len(b)-1] ^= 1; return b }(), nil, ErrCorruptPayload},
		{"checksum cut", stream[:len(stream)-2], nil, ErrCorruptPayload},
		{"block cut", stream[:200], nil, ErrCorruptPayload},
		{"reserved block type", []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 0x58, 7, 0, 0}, nil, ErrCorruptPayload},
	} {
		got, err := AppendDecompressed(nil, CodecZstd, tc.in, 1<<20)
		if !errors.Is(err, tc.err) || !bytes.Equal(got, tc.want) {
			t.Errorf("%s: %d bytes, error %v", tc.name, len(got), err)
		}
	}
}

// zstdRLE is a frame that repeats a byte in blocks of 128 KiB, 4 bytes each.
func zstdRLE(blocks int) []byte {
	out := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 0x58}
	for i := range blocks {
		word := uint32(zstdBlockMax)<<3 | zstdRepeat<<1
		if i == blocks-1 {
			word |= 1
		}
		out = append(out, byte(word), byte(word>>8), byte(word>>16), 'x')
	}
	return out
}

// TestBombsStayWithinTheLimit is not parallel: it measures memory.
func TestBombsStayWithinTheLimit(t *testing.T) {
	const (
		limit = 1 << 20
		size  = 16 << 20
	)
	zeros := make([]byte, size)
	bombs := map[string]struct {
		codec Codec
		data  []byte
	}{
		"gzip":                       {CodecGzip, compress(t, CodecGzip, zeros)},
		"snappy framed":              {CodecSnappy, compress(t, CodecSnappy, zeros)},
		"snappy raw":                 {CodecSnappy, s2.EncodeSnappy(nil, zeros)},
		"lz4":                        {CodecLZ4, compress(t, CodecLZ4, zeros)},
		"lz4 in 4 MiB blocks":        {CodecLZ4, lz4Stream(t, zeros, lz4.BlockSizeOption(lz4.Block4Mb))},
		"zstd":                       {CodecZstd, compress(t, CodecZstd, zeros)},
		"zstd of repeated bytes":     {CodecZstd, zstdRLE(size / zstdBlockMax)},
		"gzip that claims no size":   {CodecGzip, append(compress(t, CodecGzip, zeros), 0, 0, 0, 0)},
		"gzip cut before its size":   {CodecGzip, compress(t, CodecGzip, zeros)[:8_000]},
		"zstd of many small frames":  {CodecZstd, bytes.Repeat(zstdRLE(1), size/zstdBlockMax)},
		"snappy of many small block": {CodecSnappy, cat(compress(t, CodecSnappy, nil), bytes.Repeat(compress(t, CodecSnappy, zeros[:xerialBlock])[xerialHeaderSize:], size/xerialBlock))},
	}
	clear(zeros)
	for name, bomb := range bombs {
		// Once to fill the library's own pools, which have a fixed size.
		for round := range 2 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := AppendDecompressed(nil, bomb.codec, bomb.data, limit)
			runtime.ReadMemStats(&after)
			if !errors.Is(err, ErrTooLarge) {
				t.Errorf("%s: error %v", name, err)
			}
			// Attempts before the last are smaller and given back, but count.
			if got := after.TotalAlloc - before.TotalAlloc; round > 0 && got > 2*limit {
				t.Errorf("%s: %d bytes allocated", name, got)
			}
		}
	}
}

func TestEstimatesNeverExceedWhatDecodes(t *testing.T) {
	t.Parallel()
	for _, c := range allCodecs[1:] {
		for _, n := range []int{0, 1, 1000, 200_000} {
			for _, src := range [][]byte{text(n), noise(n)} {
				least, likely := decoders[c].estimate(compress(t, c, src))
				if least > n || likely < n || likely > n+zstdBlockMax {
					t.Errorf("%s of %d: between %d and %d", c, n, least, likely)
				}
			}
		}
	}
}
