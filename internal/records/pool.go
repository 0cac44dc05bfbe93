package records

import (
	"math/bits"
	"sync"
)

// Buffers come in powers of two, so that one user's large buffers do not sit
// idle under another's small data. Larger ones than the last class are rare and
// left to the garbage collector.
const (
	minBufferBits = 12 // 4 KiB
	maxBufferBits = 24 // 16 MiB
)

// buffer is a pooled byte slice.
type buffer struct {
	b     []byte
	class int8 // index in bufferPools, or -1
}

var bufferPools [maxBufferBits - minBufferBits + 1]sync.Pool

var batchPool = sync.Pool{New: func() any { return new(Batch) }}

// getBuffer returns an empty buffer with a capacity of at least size, rounded
// up to a power of two where buffers are pooled and to size where not.
func getBuffer(size int) *buffer {
	size = max(size, 0)
	class := max(bits.Len(uint(max(size, 1)-1)), minBufferBits) - minBufferBits
	if class >= len(bufferPools) {
		return &buffer{b: make([]byte, 0, size), class: -1}
	}
	if buf, ok := bufferPools[class].Get().(*buffer); ok {
		return buf
	}
	return &buffer{b: make([]byte, 0, 1<<(class+minBufferBits)), class: int8(class)}
}

// release gives the buffer back; nil is allowed. A slice that was replaced by
// a grown one is let go.
func (buf *buffer) release() {
	if buf == nil || buf.class < 0 || cap(buf.b) != 1<<(int(buf.class)+minBufferBits) {
		return
	}
	buf.b = buf.b[:0]
	bufferPools[buf.class].Put(buf)
}
