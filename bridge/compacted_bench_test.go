package bridge

import (
	"encoding/binary"
	"testing"
	"time"

	"kafka-iggy-bridge/internal/records"
)

// offsetCommits yields n records like those of committed offsets.
func offsetCommits(n int) func(yield func(records.Record) bool) {
	return func(yield func(records.Record) bool) {
		key, value := make([]byte, 40), make([]byte, 28)
		for i := range n {
			binary.BigEndian.PutUint64(key, uint64(i))
			if !yield(records.Record{Timestamp: 1_700_000_000_000, Key: key, Value: value}) {
				return
			}
		}
	}
}

// BenchmarkCompactedLog writes a million committed offsets as a snapshot, and
// loads them.
func BenchmarkCompactedLog(b *testing.B) {
	const n = 1_000_000
	bridge := startBridge(b, iggyConfig(b))
	l := openLog(b, bridge, 0)
	compact := func(b *testing.B) {
		if err := l.Compact(b.Context(), offsetCommits(n)); err != nil {
			b.Fatal(err)
		}
	}
	compact(b)
	b.Run("compact a million", func(b *testing.B) {
		for b.Loop() {
			compact(b)
		}
	})
	b.Run("load a million", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			records := 0
			if err := l.Load(b.Context(), func(*rec) { records++ }); err != nil || records != n {
				b.Fatal(records, err)
			}
		}
	})
	b.Run("append 10", func(b *testing.B) {
		var recs []rec
		for r := range offsetCommits(10) {
			r.Key, r.Timestamp = append([]byte(nil), r.Key...), time.Now().UnixMilli()
			recs = append(recs, r)
		}
		for b.Loop() {
			if err := l.Append(b.Context(), recs); err != nil {
				b.Fatal(err)
			}
		}
	})
}
