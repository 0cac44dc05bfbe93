package wire

import (
	"bytes"
	"net"
	"strings"
	"testing"
)

func TestSegmentsStandInTheirPlaces(t *testing.T) {
	t.Parallel()
	large, small := bytes.Repeat([]byte("L"), SegmentSize), []byte("s")
	write := func(w *Writer) {
		at := w.BeginFrame()
		w.CompactRecords(large, true)
		w.CompactString("between")
		w.Records(small, false)
		w.Records(large, false)
		w.EndFrame(at)
	}
	var plain, kept Writer
	write(&plain)
	for range 3 { // a writer is used again
		kept.Reset()
		kept.KeepSegments()
		write(&kept)
		parts := kept.Buffers(nil)
		if got := bytes.Join(parts, nil); !bytes.Equal(got, plain.Bytes()) || kept.Len() != len(got) {
			t.Fatalf("the parts make %d bytes, want %d", len(got), plain.Len())
		}
		if shared := &parts[1][0] == &large[0]; !shared || len(parts) != 4 {
			t.Errorf("%d parts, records copied: %t", len(parts), !shared)
		}
	}
	var empty Writer
	if parts := empty.Buffers(net.Buffers{}); len(parts) != 0 {
		t.Errorf("an empty writer has %d parts", len(parts))
	}
}

func TestSlabsBelongToOneArrayEach(t *testing.T) {
	t.Parallel()
	var w Writer
	for i := range int32(3) {
		w.CompactInt32s([]int32{i, i}, false, false)
	}
	r := NewReader(w.Bytes())
	var got [3][]int32
	for i := range got {
		if !r.CompactInt32s(&got[i], false) {
			t.Fatal(r.reason)
		}
	}
	got[0] = append(got[0], 99)
	if got[1][0] != 1 || got[2][0] != 2 {
		t.Errorf("an append to one array changed another: %v", got)
	}
}

func TestBudgetOfAFrame(t *testing.T) {
	t.Parallel()
	// Arrays that each keep to the limit, but not together: a billion elements of
	// one byte must not become a billion structs.
	var w Writer
	const each = MaxArray
	for range MaxElements/each + 1 {
		w.CompactCount(each, false, false)
		clear(w.Extend(each)[:each])
	}
	r := NewReader(w.Bytes())
	for range MaxElements / each {
		if n, ok := r.CompactCount(1, false); !ok || n != each {
			t.Fatalf("%d elements: %v", n, r.reason)
		}
		r.Take(each)
	}
	if _, ok := r.CompactCount(1, false); ok || !strings.Contains(r.reason.Error(), "at most 2000000 are allowed") {
		t.Errorf("beyond the budget: %v", r.reason)
	}
}

func TestErrorsNameThePlace(t *testing.T) {
	t.Parallel()
	r := NewReader([]byte{0, 0, 0, 9})
	if _, ok := r.Count(4, false); ok {
		t.Fatal("nine elements of four bytes fit into nothing")
	}
	r.In("Partitions")
	r.InIndex("Topics", 3)
	s := &Schema{Name: "FetchRequest"}
	if got, want := r.Err(s, 12).Error(), "FetchRequest v12: Topics[3].Partitions: length 9 exceeds 0 bytes left (at byte 4)"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestUUIDText(t *testing.T) {
	t.Parallel()
	u := UUID{0: 0xfb, 15: 1}
	back, err := ParseUUID(u.String())
	if err != nil || back != u || len(u.String()) != 22 {
		t.Errorf("%s reads as %v (%v)", u, back, err)
	}
	for _, bad := range []string{"", "AA", "AAAAAAAAAAAAAAAAAAAAAAAA", "!AAAAAAAAAAAAAAAAAAAAA"} {
		if _, err := ParseUUID(bad); err == nil {
			t.Errorf("%q is taken for a uuid", bad)
		}
	}
}
