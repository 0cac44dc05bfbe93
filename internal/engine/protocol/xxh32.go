package protocol

import (
	"encoding/binary"
	"math/bits"
)

const (
	prime1 = 2654435761
	prime2 = 2246822519
	prime3 = 3266489917
	prime4 = 668265263
	prime5 = 374761393
)

// XXH32 is the 32-bit xxHash with seed 0, which Iggy uses for client ids, named
// single consumers and message keys.
func XXH32(b []byte) uint32 {
	n := uint32(len(b))
	h := uint32(prime5)
	if len(b) >= 16 {
		lanes := [4]uint32{prime1 + prime2 - 1<<32, prime2, 0, -prime1 & (1<<32 - 1)}
		for ; len(b) >= 16; b = b[16:] {
			for i := range lanes {
				lanes[i] = bits.RotateLeft32(lanes[i]+binary.LittleEndian.Uint32(b[4*i:])*prime2, 13) * prime1
			}
		}
		h = bits.RotateLeft32(lanes[0], 1) + bits.RotateLeft32(lanes[1], 7) +
			bits.RotateLeft32(lanes[2], 12) + bits.RotateLeft32(lanes[3], 18)
	}
	h += n
	for ; len(b) >= 4; b = b[4:] {
		h = bits.RotateLeft32(h+binary.LittleEndian.Uint32(b)*prime3, 17) * prime4
	}
	for _, c := range b {
		h = bits.RotateLeft32(h+uint32(c)*prime5, 11) * prime1
	}
	h ^= h >> 15
	h *= prime2
	h ^= h >> 13
	h *= prime3
	return h ^ h>>16
}
