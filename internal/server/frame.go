package server

import (
	"math/bits"
	"sync"
)

const (
	// firstFrameBytes is what a frame starts with, whatever size its client has
	// announced: memory follows the bytes that arrive.
	firstFrameBytes = 16 << 10

	// frameGrowth is the factor by which a full buffer grows. Four keeps what
	// is copied on the way to a third of the frame.
	frameGrowth = 4

	// maxTrustedBytes bounds the size up to which a connection that has already
	// delivered such a frame gets the next one's buffer in one piece.
	maxTrustedBytes = 1 << 20

	minClassBits = 9  // 512 bytes
	maxClassBits = 22 // 4 MiB; larger buffers are left to the garbage collector

	poisonByte = 0xDB
)

// framePools holds buffers by size class, powers of two from 512 bytes to 4 MiB.
var framePools [maxClassBits - minClassBits + 1]sync.Pool

// frame is one request's bytes without the leading size, in a pooled buffer.
type frame struct {
	buf []byte // length = bytes that have arrived, capacity = the class's size
}

// newFrame returns an empty frame with room for at least n bytes.
func newFrame(n int) *frame {
	class := sizeClass(n)
	if class < 0 {
		return &frame{buf: make([]byte, 0, n)}
	}
	if f, ok := framePools[class].Get().(*frame); ok {
		f.buf = f.buf[:0]
		return f
	}
	return &frame{buf: make([]byte, 0, 1<<(class+minClassBits))}
}

// grow returns a frame with the same bytes and room for n, and releases f.
func (f *frame) grow(n int) *frame {
	g := newFrame(n)
	g.buf = append(g.buf, f.buf...)
	f.release()
	return g
}

// release gives the buffer back. Nobody may look at the frame's bytes after it.
func (f *frame) release() {
	if poisonFrames {
		b := f.buf[:cap(f.buf)]
		for i := range b {
			b[i] = poisonByte
		}
	}
	if class := sizeClass(cap(f.buf)); class >= 0 {
		framePools[class].Put(f)
	}
}

// sizeClass returns the index of the smallest class that holds n bytes, or -1
// when no class does.
func sizeClass(n int) int {
	if n <= 1<<minClassBits {
		return 0
	}
	class := bits.Len(uint(n-1)) - minClassBits
	if class >= len(framePools) {
		return -1
	}
	return class
}
