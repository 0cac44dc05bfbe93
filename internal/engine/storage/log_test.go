package storage

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func TestReadFindsEveryRange(t *testing.T) {
	t.Parallel()
	// Small segments and large payloads: batches spread over segments and index entries.
	for _, segment := range []int64{512, 4 << 10, 1 << 20} {
		dir := t.TempDir()
		s := testStore(t, dir, Options{SegmentBytes: segment, MaxOpenFiles: 3})
		l := openLog(t, s)
		var want []string
		pad := strings.Repeat("x", 300)
		for i := range 60 {
			var payloads []string
			for j := range i%4 + 1 {
				payloads = append(payloads, fmt.Sprintf("%d.%d%s", i, j, pad))
			}
			if base := appendBatch(t, l, payloads...); base != uint64(len(want)) {
				t.Fatalf("batch %d began at %d, want %d", i, base, len(want))
			}
			want = append(want, payloads...)
		}
		check := func(l *Log) {
			for from := range len(want) + 1 {
				for _, count := range []int{1, 2, 7, 1000} {
					expected := strings.Join(want[from:min(from+count, len(want))], " ")
					if got := mustRead(t, l, uint64(from), uint32(count)); got != expected {
						t.Fatalf("segments of %d, Read(%d, %d): got %.80q, want %.80q", segment, from, count, got, expected)
					}
				}
			}
		}
		check(l)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		check(openLog(t, testStore(t, dir, Options{SegmentBytes: segment, MaxOpenFiles: 3})))
	}
}

func TestReadStopsAtMaxBytes(t *testing.T) {
	t.Parallel()
	l := openLog(t, testStore(t, t.TempDir(), Options{}))
	for range 200 {
		appendBatch(t, l, strings.Repeat("y", 1000))
	}
	c, err := l.Read(0, 1000, 50_000)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	if c.Count == 0 || c.Count == 200 || len(c.Bytes()) > 120_000 {
		t.Errorf("got %d messages in %d bytes", c.Count, len(c.Bytes()))
	}
	one, err := l.Read(5, 1000, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer one.Release()
	if one.Count == 0 {
		t.Error("a limit below a message's size must still give a message")
	}
}

func TestOffsetForTime(t *testing.T) {
	t.Parallel()
	times := []uint64{100, 300, 200, 400, 400, 500} // the clock was set back once
	for _, segment := range []int64{512, 1 << 20} {
		i := 0
		dir := t.TempDir()
		s := testStore(t, dir, Options{SegmentBytes: segment, Now: func() uint64 { i++; return times[i-1] }})
		l := openLog(t, s)
		for range times {
			appendBatch(t, l, strings.Repeat("z", 200), "b")
		}
		tests := []struct {
			name string
			at   uint64
			want uint64
			ok   bool
		}{
			{"before everything", 0, 0, true},
			{"exactly the first", 100, 0, true},
			{"between two", 101, 2, true},
			{"a time that the clock passed twice", 250, 2, true},
			{"first of two batches with one time", 400, 6, true},
			{"exactly the last", 500, 10, true},
			{"after everything", 501, 0, false},
		}
		for _, tt := range tests {
			got, ok, err := l.OffsetForTime(tt.at)
			if err != nil || ok != tt.ok || got != tt.want {
				t.Errorf("segments of %d, %s: OffsetForTime(%d) = %d, %v, %v", segment, tt.name, tt.at, got, ok, err)
			}
		}
	}
}

func TestDeleteOldestKeepsTheEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := openLog(t, testStore(t, dir, Options{SegmentBytes: 512}))
	for range 10 {
		appendBatch(t, l, strings.Repeat("k", 300))
	}
	if err := l.Roll(); err != nil {
		t.Fatal(err)
	}
	for {
		oldest, ok := l.OldestSealed()
		if !ok {
			break
		}
		if removed, err := l.DeleteOldest(oldest.End); !removed || err != nil {
			t.Fatalf("DeleteOldest: %v, %v", removed, err)
		}
	}
	for range 2 { // as it is, and after a restart
		if start, end := l.Bounds(); start != 10 || end != 10 {
			t.Fatalf("bounds %d..%d, want 10..10", start, end)
		}
		if got := mustRead(t, l, 0, 10); got != "" {
			t.Fatalf("an empty log gave %q", got)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l = openLog(t, testStore(t, dir, Options{SegmentBytes: 512}))
	}
	if base := appendBatch(t, l, "next"); base != 10 {
		t.Errorf("offset after everything expired: %d, want 10", base)
	}
	if got := mustRead(t, l, 0, 10); got != "next" {
		t.Errorf("got %q", got)
	}
}

func TestFullDiskFailsAppendsAndRecovers(t *testing.T) {
	t.Parallel()
	f := &faults{room: -1}
	dir := t.TempDir()
	l := openLog(t, testStore(t, dir, Options{OpenFile: f.open}))
	appendBatch(t, l, "kept")
	for _, room := range []int64{0, 1, 39, 40, 50, 110} {
		f.mu.Lock()
		f.room, f.failTrunc = room, 1 // what was written cannot even be cut at once
		f.mu.Unlock()
		b, n := batch("does not fit")
		if _, err := l.Append(b, n); err == nil {
			t.Fatalf("append with room for %d bytes succeeded", room)
		}
		if got := mustRead(t, l, 0, 10); got != "kept" {
			t.Fatalf("reading from the full disk gave %q", got)
		}
	}
	f.mu.Lock()
	f.room, f.failTrunc = -1, 0
	f.mu.Unlock()
	if base := appendBatch(t, l, "fits"); base != 1 {
		t.Errorf("offset after the failures: %d, want 1", base)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := mustRead(t, openLog(t, testStore(t, dir, Options{})), 0, 10); got != "kept fits" {
		t.Errorf("after a restart: %q", got)
	}
}

func TestFailedSyncUndoesTheAppend(t *testing.T) {
	t.Parallel()
	f := &faults{room: -1}
	dir := t.TempDir()
	l := openLog(t, testStore(t, dir, Options{OpenFile: f.open, Sync: SyncAlways}))
	appendBatch(t, l, "one")
	f.mu.Lock()
	f.failSync = 1
	f.mu.Unlock()
	b, n := batch("lost")
	if _, err := l.Append(b, n); !errors.Is(err, errLost) {
		t.Fatalf("append whose sync failed: %v", err)
	}
	if base := appendBatch(t, l, "two"); base != 1 {
		t.Errorf("offset after the failure: %d, want 1", base)
	}
	if got := mustRead(t, l, 0, 10); got != "one two" {
		t.Errorf("got %q", got)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := mustRead(t, openLog(t, testStore(t, dir, Options{})), 0, 10); got != "one two" {
		t.Errorf("after a restart: %q", got)
	}
}

// TestConcurrentSyncedAppends checks that under SyncAlways exactly the acknowledged
// appends are there, whatever syncs fail, and that appends share syncs.
func TestConcurrentSyncedAppends(t *testing.T) {
	t.Parallel()
	f := &faults{room: -1}
	dir := t.TempDir()
	l := openLog(t, testStore(t, dir, Options{OpenFile: f.open, Sync: SyncAlways, SegmentBytes: 8 << 10, Now: func() uint64 { return 1 }}))
	var mu sync.Mutex
	acked := make(map[string]uint64)
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Add(1)
		go func() {
			defer writers.Done()
			for i := range 50 {
				if w == 0 && i%10 == 5 {
					f.mu.Lock()
					f.failSync = 1
					f.mu.Unlock()
				}
				name := fmt.Sprintf("%d-%d", w, i)
				b, n := batch(name)
				base, err := l.Append(b, n)
				if err == nil {
					mu.Lock()
					acked[name] = base
					mu.Unlock()
				}
			}
		}()
	}
	writers.Wait()
	check := func(when string, l *Log) {
		got, err := read(l, 0, 10_000)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(acked) {
			t.Errorf("%s: %d messages, %d were acknowledged", when, len(got), len(acked))
		}
		for i, name := range got {
			if base, ok := acked[name]; !ok || base != uint64(i) {
				t.Errorf("%s: offset %d holds %s, acknowledged %v at %d", when, i, name, ok, base)
			}
		}
	}
	check("running", l)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	check("restarted", openLog(t, testStore(t, dir, Options{SegmentBytes: 8 << 10})))
}

func TestOpenFilesAreBounded(t *testing.T) {
	t.Parallel()
	s := testStore(t, t.TempDir(), Options{MaxOpenFiles: 4})
	logs := make([]*Log, 20)
	for i := range logs {
		l, err := s.Open(fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		logs[i] = l
	}
	for round := range 3 {
		for i, l := range logs {
			appendBatch(t, l, fmt.Sprint(round))
			if got := mustRead(t, l, uint64(round), 1); got != fmt.Sprint(round) {
				t.Fatalf("log %d: got %q", i, got)
			}
			if s.files.count > 4 {
				t.Fatalf("%d files are open", s.files.count)
			}
		}
	}
	for _, l := range logs {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if s.files.count != 0 {
		t.Errorf("%d files are open after all logs were closed", s.files.count)
	}
}

func TestNothingIsWrittenBeforeTheFirstAppend(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := openLog(t, testStore(t, dir, Options{}))
	if _, end := l.Bounds(); end != 0 {
		t.Error("a new log is not empty")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 0 {
		t.Errorf("folder holds %v, %v", entries, err)
	}
}

func TestUnsyncedMessagesAreOutOfSight(t *testing.T) {
	t.Parallel()
	f := &faults{room: -1, gate: make(chan struct{}, 8)}
	l := openLog(t, testStore(t, t.TempDir(), Options{OpenFile: f.open, Sync: SyncAlways}))
	f.gate <- struct{}{}
	appendBatch(t, l, "synced")
	done := make(chan error)
	for range 3 {
		go func() {
			b, n := batch("waiting")
			_, err := l.Append(b, n)
			done <- err
		}()
	}
	for { // until all three are written
		l.mu.RLock()
		end := l.end
		l.mu.RUnlock()
		if end == 4 {
			break
		}
		runtime.Gosched()
	}
	for _, count := range []uint32{1, 2, 3, 100} {
		if got := mustRead(t, l, 0, count); got != "synced" {
			t.Errorf("reading %d gave %q", count, got)
		}
	}
	if got := mustRead(t, l, 1, 1); got != "" {
		t.Errorf("offset 1 gave %q", got)
	}
	if _, ok, err := l.OffsetForTime(11); ok || err != nil {
		t.Errorf("OffsetForTime found a waiting message: %v, %v", ok, err)
	}
	close(f.gate)
	for range 3 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if got := mustRead(t, l, 0, 100); got != "synced waiting waiting waiting" {
		t.Errorf("after the sync: %q", got)
	}
	if f.syncs > 3 {
		t.Errorf("%d syncs for four appends, three of them together", f.syncs)
	}
}
