package records

import "math/bits"

// The varints inside records are Protocol Buffers' zigzag varints: int32 in at
// most 5 bytes, int64 in at most 10 (KIP-98).

// maxVarintLen is the longest encoding of an int32, in bytes.
const maxVarintLen = 5

// maxVarlongLen is the longest encoding of an int64, in bytes.
const maxVarlongLen = 10

// varint reads an int32 at b[i] and returns the index behind it, or -1 when
// the bytes end or the number is longer than any int32. An index of -1 in is
// handed on, so a caller may read several numbers and test once.
func varint(b []byte, i int) (v int32, next int) {
	if uint(i) < uint(len(b)) && b[i] < 0x80 {
		u := uint32(b[i])
		return int32(u>>1) ^ -int32(u&1), i + 1
	}
	return varintSlow(b, i)
}

func varintSlow(b []byte, i int) (int32, int) {
	if i < 0 {
		return 0, -1
	}
	var u uint32
	for n := range maxVarintLen {
		if i+n >= len(b) {
			return 0, -1
		}
		c := b[i+n]
		u |= uint32(c&0x7f) << (7 * n)
		if c < 0x80 {
			return int32(u>>1) ^ -int32(u&1), i + n + 1
		}
	}
	return 0, -1
}

// varlong is varint for an int64.
func varlong(b []byte, i int) (v int64, next int) {
	if i < 0 {
		return 0, -1
	}
	var u uint64
	for n := range maxVarlongLen {
		if i+n >= len(b) {
			return 0, -1
		}
		c := b[i+n]
		u |= uint64(c&0x7f) << (7 * n)
		if c < 0x80 {
			return int64(u>>1) ^ -int64(u&1), i + n + 1
		}
	}
	return 0, -1
}

// appendVarint appends v, which must fit in an int32 unless it is a varlong.
func appendVarint(dst []byte, v int64) []byte {
	u := uint64(v<<1) ^ uint64(v>>63)
	for u >= 0x80 {
		dst = append(dst, byte(u)|0x80)
		u >>= 7
	}
	return append(dst, byte(u))
}

// varintLen is the number of bytes that appendVarint writes for v.
func varintLen(v int64) int {
	u := uint64(v<<1) ^ uint64(v>>63)
	return (bits.Len64(u|1) + 6) / 7
}
