package offsetmirror

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
	"go.uber.org/goleak"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/records"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds the waits of these tests.
const patience = 20 * time.Second

// store is an Iggy that keeps offsets in memory and reports each call.
type store struct {
	mu      sync.Mutex
	fail    func(key) error
	offsets map[key]int64
	calls   chan key
}

func newStore() *store {
	return &store{offsets: make(map[key]int64), calls: make(chan key, 10_000)}
}

func (s *store) SetConsumer(ctx context.Context, consumer, topic string, partition int32, next int64) error {
	k := key{consumer, topic, partition}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.calls <- k }()
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.fail != nil {
		if err := s.fail(k); err != nil {
			return err
		}
	}
	s.offsets[k] = next
	return nil
}

func (s *store) failing(fail func(key) error) {
	s.mu.Lock()
	s.fail = fail
	s.mu.Unlock()
}

func (s *store) call(t *testing.T) key {
	t.Helper()
	select {
	case k := <-s.calls:
		return k
	case <-time.After(patience):
		t.Fatal("nothing is stored")
		return key{}
	}
}

func quiet() logrus.FieldLogger {
	l := logrus.New()
	l.SetOutput(io.Discard)
	return l
}

// end closes a mirror, which stores what waits.
func end(t *testing.T, m *Mirror) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := m.Close(ctx); err != nil {
		t.Error(err)
	}
}

func TestTheNewestCommitIsStoredOnce(t *testing.T) {
	t.Parallel()
	s := newStore()
	m := start(s, quiet(), time.Hour)
	for i := range int64(100) {
		m.Committed("g", "t", 0, i)
	}
	m.Committed("g", "t", 1, 7)
	m.Committed("other", "t", 0, 3)
	m.Committed("gone", "t", 0, 3)
	m.Deleted("gone", "t", 0)
	end(t, m)
	want := map[key]int64{{"g", "t", 0}: 99, {"g", "t", 1}: 7, {"other", "t", 0}: 3, {"gone", "t", 0}: 0}
	if diff := cmp.Diff(want, s.offsets, cmp.AllowUnexported(key{})); diff != "" {
		t.Error(diff)
	}
	if len(s.calls) != len(want) {
		t.Errorf("%d calls for %d offsets", len(s.calls), len(want))
	}
}

func TestCommitsAreStoredWithoutBeingAskedFor(t *testing.T) {
	t.Parallel()
	s := newStore()
	m := start(s, quiet(), time.Millisecond)
	defer end(t, m)
	for i := range int64(3) {
		m.Committed("g", "t", int32(i), i)
		if k := s.call(t); k.partition != int32(i) {
			t.Fatalf("stored %+v", k)
		}
	}
}

func TestWhatFailsIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.failing(func(key) error { return fmt.Errorf("for now: %w", bridge.ErrUnavailable) })
	m := start(s, quiet(), time.Millisecond)
	m.Committed("g", "t", 0, 1)
	s.call(t)
	s.call(t)
	m.Committed("g", "t", 0, 2) // newer than what is tried again
	s.failing(nil)
	end(t, m)
	if got := s.offsets[key{"g", "t", 0}]; got != 2 {
		t.Errorf("stored %d", got)
	}
}

func TestWhatIggyCannotHoldIsDropped(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.failing(func(k key) error {
		switch k.topic {
		case "gone":
			return bridge.ErrTopicNotFound
		case "short":
			return fmt.Errorf("store: %w", bridge.ErrOffsetOutOfRange)
		}
		return nil
	})
	m := start(s, quiet(), time.Hour)
	m.Committed("g", "gone", 0, 1)
	m.Committed("g", "short", 0, 100)
	m.Committed("g", "fine", 0, 1)
	m.Committed(strings.Repeat("g", 256), "fine", 0, 1)
	m.Committed("", "fine", 0, 1)
	m.Committed("\xff", "fine", 0, 1)
	m.Committed("g", "fine", 1, -1)
	end(t, m)
	if diff := cmp.Diff(map[key]int64{{"g", "fine", 0}: 1}, s.offsets, cmp.AllowUnexported(key{})); diff != "" {
		t.Error(diff)
	}
	if len(s.calls) != 3 {
		t.Errorf("%d calls", len(s.calls))
	}
}

func TestWhatWaitsIsBounded(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.failing(func(key) error { return bridge.ErrUnavailable })
	m := start(s, quiet(), time.Hour)
	for i := range int32(maxPending + 100) {
		m.Committed("g", "t", i, 1)
	}
	m.Committed("g", "t", 0, 2) // known already
	m.mu.Lock()
	n, first := len(m.pending), m.pending[key{"g", "t", 0}]
	m.mu.Unlock()
	if n != maxPending || first != 2 {
		t.Errorf("%d wait, the first with %d", n, first)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := m.Close(ctx); err == nil || !strings.Contains(err.Error(), fmt.Sprint(maxPending)) {
		t.Errorf("closed with %v", err)
	}
}

func TestClosingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	m := start(stuck{}, quiet(), time.Hour)
	m.Committed("g", "t", 0, 1)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if err := m.Close(ctx); err == nil {
		t.Error("closed as if all were stored")
	}
	m.Committed("g", "t", 1, 1) // goes nowhere
	if err := m.Close(ctx); err == nil {
		t.Error("closed twice, the second time as if all were stored")
	}
}

// stuck is an Iggy that does not answer.
type stuck struct{}

func (stuck) SetConsumer(ctx context.Context, _, _ string, _ int32, _ int64) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestRecordsOfTheOffsetsTopic(t *testing.T) {
	t.Parallel()
	s := newStore()
	m := start(s, quiet(), time.Hour)
	m.Written([]records.Record{
		commit(t, 1, "g", 0, 3, 4),
		commit(t, 0, "g", 1, 1, 5),
		commit(t, 1, "g", 2, 4, 6),
		{Key: commit(t, 1, "g", 3, 4, 0).Key},               // deleted
		{Key: []byte{0, 2, 0, 1, 'g'}, Value: []byte{0, 3}}, // a group
		{Key: []byte{0}}, {Key: []byte{0, 1, 9}},            // broken keys
		{Key: commit(t, 1, "g", 4, 4, 0).Key, Value: []byte{0}}, // broken values
		{Key: commit(t, 1, "g", 4, 4, 0).Key, Value: []byte{0, 99, 1}},
	})
	end(t, m)
	want := map[key]int64{{"g", "t", 0}: 4, {"g", "t", 1}: 5, {"g", "t", 2}: 6, {"g", "t", 3}: 0}
	if diff := cmp.Diff(want, s.offsets, cmp.AllowUnexported(key{})); diff != "" {
		t.Error(diff)
	}
}

// commit encodes an offset commit for topic t.
func commit(t *testing.T, keyType uint16, group string, partition int32, version uint16, offset int64) records.Record {
	t.Helper()
	k := generated.OffsetCommitKey{Group: group, Topic: "t", Partition: partition}
	v := generated.DefaultOffsetCommitValue()
	v.Offset = offset
	key, err := k.Append(binary.BigEndian.AppendUint16(nil, keyType), 0)
	if err != nil {
		t.Fatal(err)
	}
	value, err := v.Append(binary.BigEndian.AppendUint16(nil, version), int16(version))
	if err != nil {
		t.Fatal(err)
	}
	return records.Record{Key: key, Value: value}
}
