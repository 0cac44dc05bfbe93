package coordinator

import (
	"math"
	"unicode/utf16"
)

// partitionFor is the partition that Kafka keeps a key in: the absolute value of
// the hash that Java has for the string, modulo the number of partitions.
func partitionFor(key string, partitions int) int {
	hash := javaHash(key)
	switch {
	case hash == math.MinInt32:
		hash = 0 // has no absolute value; Kafka takes 0
	case hash < 0:
		hash = -hash
	}
	return int(hash) % partitions
}

// javaHash is String.hashCode: a polynomial over the UTF-16 code units.
func javaHash(s string) int32 {
	var hash int32
	for _, r := range s {
		if high, low := utf16.EncodeRune(r); utf16.IsSurrogate(high) && utf16.IsSurrogate(low) {
			hash = 31*(31*hash+high) + low
		} else {
			hash = 31*hash + r
		}
	}
	return hash
}
