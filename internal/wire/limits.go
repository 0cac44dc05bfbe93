package wire

// Limits that the reader holds every frame to. The first three are those of
// Kafka 4.4.
const (
	// MaxString is the greatest length of a string in bytes, when reading and
	// when writing.
	MaxString = 32767
	// MaxArray is the greatest number of elements of one array.
	MaxArray = 1_000_000
	// MaxTags is the greatest number of tagged fields of one struct.
	MaxTags = 10_000
	// MaxElements is the greatest number of array elements and tagged fields in
	// a whole frame. It bounds what a frame can make the reader allocate where
	// small elements become large structs.
	MaxElements = 2_000_000
)
