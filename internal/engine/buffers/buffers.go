// Package buffers hands out reusable byte buffers in size classes, so that the
// cost of a request does not grow with what it carries.
package buffers

import (
	"math/bits"
	"sync"
)

const (
	minShift = 10 // 1 KiB, the smallest class
	maxShift = 26 // 64 MiB, the largest class kept for reuse

	// Buffers of the classes in between are kept over garbage collections too, since
	// making and clearing one costs about as much as the request that uses it.
	minKept      = 17 // 128 KiB
	maxKept      = 23 // 8 MiB
	maxKeptBytes = 48 << 20
)

// Buffer is a byte slice on loan from the pool. Its owner may use B up to its
// full capacity and must call Release exactly once; no view of B may be used
// after that.
type Buffer struct {
	// B has the class's full capacity as its length when handed out.
	B []byte

	class int8
}

var classes [maxShift - minShift + 1]sync.Pool

// kept are the buffers that the garbage collector does not take.
var kept struct {
	mu    sync.Mutex
	bytes int
	free  [maxKept - minKept + 1][]*Buffer
}

// takeKept returns a kept buffer of the class, nil when there is none.
func takeKept(class int) *Buffer {
	i := class + minShift - minKept
	if i < 0 || i >= len(kept.free) {
		return nil
	}
	kept.mu.Lock()
	defer kept.mu.Unlock()
	n := len(kept.free[i])
	if n == 0 {
		return nil
	}
	b := kept.free[i][n-1]
	kept.free[i] = kept.free[i][:n-1]
	kept.bytes -= cap(b.B)
	return b
}

// keep takes the buffer when there is room for it.
func keep(b *Buffer) bool {
	i := int(b.class) + minShift - minKept
	if i < 0 || i >= len(kept.free) {
		return false
	}
	kept.mu.Lock()
	defer kept.mu.Unlock()
	if kept.bytes+cap(b.B) > maxKeptBytes {
		return false
	}
	kept.bytes += cap(b.B)
	kept.free[i] = append(kept.free[i], b)
	return true
}

// Get returns a buffer whose length is at least size bytes. Its contents are
// undefined. Sizes above 64 MiB are allocated and not kept.
func Get(size int) *Buffer {
	class := classOf(size)
	if class < 0 {
		return &Buffer{B: make([]byte, size), class: -1}
	}
	if b := takeKept(class); b != nil {
		b.B = b.B[:cap(b.B)]
		return b
	}
	if b, ok := classes[class].Get().(*Buffer); ok {
		b.B = b.B[:cap(b.B)]
		return b
	}
	return &Buffer{B: make([]byte, 1<<(class+minShift)), class: int8(class)}
}

// Release gives the buffer back. A nil buffer is accepted.
func (b *Buffer) Release() {
	if b == nil || b.class < 0 || keep(b) {
		return
	}
	classes[b.class].Put(b)
}

// Grow returns a buffer of at least size bytes that begins with the first used
// bytes of b, releasing b when another one takes its place.
func (b *Buffer) Grow(used, size int) *Buffer {
	if size <= len(b.B) {
		return b
	}
	// Doubling keeps the copying proportional to the bytes received.
	next := Get(max(size, 2*len(b.B)))
	copy(next.B, b.B[:used])
	b.Release()
	return next
}

func classOf(size int) int {
	if size <= 1<<minShift {
		return 0
	}
	shift := bits.Len(uint(size - 1))
	if shift > maxShift {
		return -1
	}
	return shift - minShift
}
