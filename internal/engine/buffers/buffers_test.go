package buffers

import (
	"bytes"
	"testing"
)

func TestSizes(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 1 << 10, 1<<10 + 1, 1 << 20, 1<<20 + 1, 64 << 20, 64<<20 + 1} {
		b := Get(size)
		if len(b.B) < size || len(b.B) != cap(b.B) {
			t.Errorf("Get(%d) gave %d of %d bytes", size, len(b.B), cap(b.B))
		}
		if size >= 1<<10 && len(b.B) >= 2*size && size < 64<<20 {
			t.Errorf("Get(%d) gave %d bytes, twice what is needed", size, len(b.B))
		}
		b.B = b.B[:size/2] // whatever its borrower did, the next one gets all of it
		b.Release()
		if again := Get(size); len(again.B) < size {
			t.Errorf("Get(%d) after a release gave %d bytes", size, len(again.B))
		}
	}
	var none *Buffer
	none.Release()
}

func TestGrowKeepsWhatIsUsed(t *testing.T) {
	t.Parallel()
	b := Get(2000)
	copy(b.B, "contents")
	if same := b.Grow(8, len(b.B)); same != b {
		t.Error("a buffer that is large enough was replaced")
	}
	b = b.Grow(8, 1_000_000)
	if len(b.B) < 1_000_000 || !bytes.Equal(b.B[:8], []byte("contents")) {
		t.Errorf("%d bytes beginning with %q", len(b.B), b.B[:8])
	}
	b.Release()
}

func TestKeptBytesAreBounded(t *testing.T) {
	t.Parallel()
	var all []*Buffer
	for range 40 {
		all = append(all, Get(4<<20))
	}
	for _, b := range all {
		b.Release()
	}
	kept.mu.Lock()
	defer kept.mu.Unlock()
	if kept.bytes > maxKeptBytes {
		t.Errorf("%d bytes are kept", kept.bytes)
	}
}
