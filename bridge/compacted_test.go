package bridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"kafka-iggy-bridge/internal/records"
)

func TestCompactedLogKeepsRecordsExactly(t *testing.T) {
	t.Parallel()
	f := newFakeIggy()
	b := startBridge(t, f.config())
	l := openLog(t, b, 1)
	long := bytes.Repeat([]byte("k"), 300)
	recs := []records.Record{
		keyed("a", "1"),
		tombstone("a"),
		{Timestamp: 5, Key: []byte("empty value"), Value: []byte{}},
		{Timestamp: -1, Key: long, Value: []byte{0, 1}},
		{Timestamp: 1_700_000_000_001, Key: []byte("h"), Value: []byte("v"), Headers: []records.Header{{Key: "x", Value: []byte("y")}}},
	}
	appendLog(t, l, recs[:2]...)
	appendLog(t, l, recs[2:]...)
	if n := l.Len(); n != 5 {
		t.Errorf("%d records after the appends, want 5", n)
	}
	for _, other := range []*CompactedLog{l, openLog(t, startBridge(t, f.config()), 1)} {
		var got []rec
		if err := other.Load(testContext(t), func(r *records.Record) { got = append(got, cloneRecord(*r)) }); err != nil {
			t.Fatal(err)
		}
		if len(got) != len(recs) || other.Len() != 5 {
			t.Fatalf("%d records, Len %d, want 5", len(got), other.Len())
		}
		for i := range recs {
			recs[i].Offset = int64(i)
			if !sameRecord(recs[i], got[i]) {
				t.Errorf("record %d: got %+v, want %+v", i, got[i], recs[i])
			}
		}
	}
}

func TestAppendNoticesAnotherWriter(t *testing.T) {
	t.Parallel()
	f := newFakeIggy()
	a, b := startBridge(t, f.config()), startBridge(t, f.config())
	one, two := openLog(t, a, 0), openLog(t, b, 0)
	appendLog(t, one, keyed("a", "1"))
	if err := two.Append(testContext(t), []records.Record{keyed("b", "2")}); !errors.Is(err, ErrLogChanged) {
		t.Fatalf("an append behind another bridge's: %v, want %v", err, ErrLogChanged)
	}
	if err := two.Append(testContext(t), []records.Record{keyed("b", "3")}); !errors.Is(err, ErrLogChanged) {
		t.Fatalf("an append to a log that is not loaded: %v, want %v", err, ErrLogChanged)
	}
	loadLog(t, two)
	appendLog(t, two, keyed("b", "4"))
	if err := one.Compact(testContext(t), contents{}.snapshot()); !errors.Is(err, ErrLogChanged) {
		t.Fatalf("a compaction behind another bridge's append: %v, want %v", err, ErrLogChanged)
	}
	wantContents(t, one, contents{"a": "1", "b": "4"})
}

func TestAppendRefusesWhatIggyCannotHold(t *testing.T) {
	t.Parallel()
	b := startBridge(t, newFakeIggy().config())
	l := openLog(t, b, 0)
	half := strings.Repeat("x", maxAppend/2)
	err := l.Append(testContext(t), []records.Record{keyed("a", half), keyed("b", half)})
	if !errors.Is(err, ErrRecordTooLarge) || !strings.Contains(err.Error(), "__consumer_offsets-0") {
		t.Fatalf("an append of 64 MB: %v", err)
	}
	appendLog(t, l, keyed("a", "still loaded"))
	wantContents(t, l, contents{"a": "still loaded"})
}

func TestAppendFindsOutWhatBecameOfIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why     string
		before  func(fakeCall) error
		after   func(fakeCall) error
		written bool
		want    error
	}{
		{why: "Iggy is away", before: onCall("append", DefaultStateStream, 1, errFakeDown), want: ErrUnavailable},
		{why: "the request was lost", before: onCall("append", DefaultStateStream, 1, lostReply()), written: true},
		{why: "the answer was lost", after: onCall("append", DefaultStateStream, 1, lostReply()), written: true},
		{why: "the generation could not be made", before: onCall("create topic", DefaultStateStream, 1, errFakeDown), want: ErrUnavailable},
		{why: "the generation was made and nobody said so", after: onCall("create topic", DefaultStateStream, 1, ErrTimeout), want: ErrTimeout},
		{why: "it cannot be looked for", before: func(c fakeCall) error {
			if c.op == "read" && onGenerations(c) {
				return ErrTimeout
			}
			return nil
		}, want: ErrOutcomeUnknown, written: true},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			f := newFakeIggy()
			config := quietConfig(f)
			config.OperationTimeout = 500 * time.Millisecond
			b := startBridge(t, config)
			l := openLog(t, b, 0)
			f.hooks(c.before, c.after)
			err := l.Append(testContext(t), []records.Record{keyed("a", "1"), keyed("b", "2")})
			f.hooks(nil, nil)
			if !errors.Is(err, c.want) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
			if err != nil {
				if again := l.Append(testContext(t), []records.Record{keyed("a", "0")}); !errors.Is(again, ErrLogChanged) {
					t.Errorf("an append before the log was loaded anew: %v", again)
				}
			}
			want := contents{}
			if c.written {
				want = contents{"a": "1", "b": "2"}
			}
			wantContents(t, l, want)
			if n := l.Len(); n != int64(len(want)) {
				t.Errorf("%d records, want %d: one was written twice", n, len(want))
			}
			want["c"] = "3"
			appendLog(t, l, keyed("c", "3"))
			wantContents(t, l, want)
		})
	}
}

func TestAppendGivesUpWaitingForAnotherCall(t *testing.T) {
	t.Parallel()
	b := startBridge(t, newFakeIggy().config())
	l := openLog(t, b, 0)
	unlock, err := l.lock(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(testContext(t))
	cancel()
	if err := l.Append(ctx, []records.Record{keyed("a", "1")}); !errors.Is(err, context.Canceled) {
		t.Errorf("append: %v", err)
	}
	if err := l.Compact(ctx, contents{}.snapshot()); !errors.Is(err, context.Canceled) {
		t.Errorf("compact: %v", err)
	}
	if _, err := tryLoad(ctx, l); !errors.Is(err, context.Canceled) {
		t.Errorf("load: %v", err)
	}
	unlock()
	appendLog(t, l, keyed("a", "still loaded"))
}

func TestLoadSaysWhereTheLogIsBroken(t *testing.T) {
	t.Parallel()
	version := func(n byte) []byte { return appendUserHeader(nil, headerVersion, "", 1, []byte{n}) }
	for _, c := range []struct {
		why, want string
		spoil     func(f *fakeIggy, at Location)
	}{
		{"a hole", "__consumer_offsets.0.0 has offset 2 where 1 should be", func(f *fakeIggy, at Location) {
			f.mu.Lock()
			defer f.mu.Unlock()
			p, _ := f.log(at, 0)
			p.messages = append(p.messages[:1:1], p.messages[2:]...)
		}},
		{"a message of a later mapping", "__consumer_offsets.0.0, offset 3: unknown mapping version", func(f *fakeIggy, at Location) {
			f.inject(at, 0, message{Payload: []byte("x"), UserHeaders: version(9)})
		}},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			f := newFakeIggy()
			b := startBridge(t, f.config())
			l := openLog(t, b, 0)
			appendLog(t, l, keyed("a", "1"), keyed("b", "2"), keyed("c", "3"))
			c.spoil(f, generationAt("__consumer_offsets.0.0"))
			_, err := tryLoad(testContext(t), l)
			if !errors.Is(err, ErrStorage) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q, want one with %q", err, c.want)
			}
			if l.Len() != 0 {
				t.Errorf("%d records in a log that is not loaded", l.Len())
			}
		})
	}
}

func TestLoadLeavesOutForeignMessages(t *testing.T) {
	t.Parallel()
	f := newFakeIggy()
	b := startBridge(t, f.config())
	l := openLog(t, b, 0)
	appendLog(t, l, keyed("a", "1"))
	f.inject(generationAt("__consumer_offsets.0.0"), 0, message{Payload: []byte("of an Iggy client")})
	wantContents(t, l, contents{"a": "1"})
	if n := l.Len(); n != 1 {
		t.Errorf("%d records, want 1", n)
	}
	appendLog(t, l, keyed("b", "2"))
	wantContents(t, l, contents{"a": "1", "b": "2"})
}

func TestLoadCanBeCalledAgainAfterAFault(t *testing.T) {
	t.Parallel()
	f := newFakeIggy()
	b := startBridge(t, quietConfig(f))
	l := openLog(t, b, 0)
	want := contents{}
	for i := range 300 {
		want[fmt.Sprintf("k%03d", i)] = "v"
	}
	for r := range want.snapshot() {
		appendLog(t, l, r)
	}
	for n := 1; ; n++ {
		calls := 0
		f.hooks(func(c fakeCall) error {
			if !onGenerations(c) {
				return nil
			}
			if calls++; calls == n {
				return errFakeDown
			}
			return nil
		}, nil)
		_, err := tryLoad(testContext(t), l)
		f.hooks(nil, nil)
		if err == nil {
			if n < 3 {
				t.Fatalf("a load of %d calls", n-1)
			}
			break
		}
		if !errors.Is(err, ErrUnavailable) {
			t.Fatalf("call %d failed: %v", n, err)
		}
		wantContents(t, l, want)
	}
}
