package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"kafka-iggy-bridge/internal/errorcode"
)

// stateBridge makes a bridge that is not started: tests drive its state.
func stateBridge(t testing.TB, f *fakeIggy) *stateStore {
	t.Helper()
	b, err := New(f.config())
	if err != nil {
		t.Fatal(err)
	}
	b.state.sealAfter = sealAfter
	return b.state
}

// sealAfter makes the tests' generations short.
const sealAfter = 30

func generationsOf(f *fakeIggy) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var names []string
	for name := range f.byName[DefaultStateStream].topics {
		if strings.HasPrefix(name, generationPrefix) {
			names = append(names, name)
		}
	}
	return names
}

// TestStateSurvivesAStopAnywhere stops a bridge at each call it makes while it
// begins a new generation, before or after that call took effect, and checks
// that the next bridge finds everything that had been confirmed.
func TestStateSurvivesAStopAnywhere(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		stops := 0
		for stop := 1; ; stop++ {
			f := newFakeIggy()
			s := stateBridge(t, f)
			ctx := testContext(t)
			confirmed := make(map[string]int)
			if err := s.put(ctx, "precious", 1); err != nil {
				t.Fatal(err)
			}
			confirmed["precious"] = 1
			stopped := false
			var mu sync.Mutex
			calls, sealed := 0, false
			hook := func(c fakeCall) error {
				mu.Lock()
				defer mu.Unlock()
				if c.op == "append" && strings.Contains(string(c.messages[0].Payload), `"op":"seal"`) {
					sealed = true
				}
				if stopped {
					return errFakeDown
				}
				if sealed {
					if calls++; calls == stop {
						stopped = true
						if c.op == "append" {
							return lostReply()
						}
						return errFakeDown
					}
				}
				return nil
			}
			down := func(fakeCall) error {
				mu.Lock()
				defer mu.Unlock()
				if stopped {
					return errFakeDown
				}
				return nil
			}
			if late {
				f.hooks(down, hook)
			} else {
				f.hooks(hook, nil)
			}
			for i := range sealAfter + 40 {
				key := fmt.Sprintf("key-%d", i%5)
				if err := s.put(ctx, key, i); err == nil {
					confirmed[key] = i
				} else if !stopped {
					t.Fatal(err)
				} else {
					break
				}
			}
			f.hooks(nil, nil)
			if !stopped {
				stops = stop - 1
				break
			}
			next := stateBridge(t, f)
			if err := next.refresh(ctx); err != nil {
				t.Fatalf("stop %d, late %v: %v", stop, late, err)
			}
			for key, want := range confirmed {
				raw, ok := next.get(key)
				var got int
				if _, err := fmt.Sscan(string(raw), &got); !ok || err != nil || got < want {
					t.Fatalf("stop %d, late %v: %s is %s, want %d or later", stop, late, key, raw, want)
				}
			}
			if names := generationsOf(f); len(names) > 2 {
				t.Fatalf("stop %d, late %v: generations %v are left", stop, late, names)
			}
		}
		if stops < 8 {
			t.Fatalf("late %v: only %d calls were tried", late, stops)
		}
	}
}

func TestBridgesShareTheState(t *testing.T) {
	t.Parallel()
	f := newFakeIggy()
	ctx := testContext(t)
	stores := make([]*stateStore, 3)
	for i := range stores {
		stores[i] = stateBridge(t, f)
	}
	var work sync.WaitGroup
	errs := make([]error, len(stores))
	for i, s := range stores {
		work.Go(func() {
			for n := range 10 * sealAfter {
				if err := s.put(ctx, fmt.Sprintf("bridge-%d/%d", i, n%10), n); err != nil {
					errs[i] = err
					return
				}
			}
		})
	}
	work.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for i, s := range stores {
		if err := s.refresh(ctx); err != nil {
			t.Fatal(err)
		}
		if keys := s.keys("bridge-"); len(keys) != 10*len(stores) {
			t.Fatalf("bridge %d knows %d keys", i, len(keys))
		}
		for _, key := range s.keys("bridge-") {
			a, _ := s.get(key)
			b, _ := stores[0].get(key)
			if string(a) != string(b) {
				t.Fatalf("bridge %d has %s=%s, bridge 0 %s", i, key, a, b)
			}
		}
		for n := range 10 {
			for j := range stores {
				raw, _ := s.get(fmt.Sprintf("bridge-%d/%d", j, n))
				if want := fmt.Sprint(10*sealAfter - 10 + n); string(raw) != want {
					t.Fatalf("bridge-%d/%d is %s, want %s", j, n, raw, want)
				}
			}
		}
	}
	if names := generationsOf(f); len(names) != 1 || names[0] == generationName(0) {
		t.Fatalf("generations %v", names)
	}
}

func TestPutIfAbsentKeepsTheFirst(t *testing.T) {
	t.Parallel()
	f := newFakeIggy()
	ctx := testContext(t)
	ids := make(map[string]bool)
	for range 5 {
		b := startBridge(t, f.config())
		id, err := b.ClusterID(ctx)
		if err != nil || len(id) != 22 {
			t.Fatal(id, err)
		}
		ids[id] = true
	}
	if len(ids) != 1 {
		t.Fatalf("cluster ids %v", ids)
	}
}

func TestAMessageThatIsNoStateIsLeftOut(t *testing.T) {
	t.Parallel()
	f := newFakeIggy()
	ctx := testContext(t)
	s := stateBridge(t, f)
	if err := s.put(ctx, "a", 1); err != nil {
		t.Fatal(err)
	}
	f.inject(Location{Stream: DefaultStateStream, Topic: generationName(0)}, 0, foreign("junk"))
	if err := s.put(ctx, "b", 2); err != nil {
		t.Fatal(err)
	}
	next := stateBridge(t, f)
	if err := next.refresh(ctx); err != nil {
		t.Fatal(err)
	}
	if keys := next.keys(""); len(keys) != 2 {
		t.Fatalf("keys %v", keys)
	}
}

func TestProducerIDsAreNeverRepeated(t *testing.T) {
	t.Parallel()
	f := newFakeIggy()
	f.hooks(nil, onCall("append", DefaultStateStream, 7, lostReply()))
	seen := make(map[int64]bool)
	var mu sync.Mutex
	for range 3 {
		var work sync.WaitGroup
		for range 2 {
			b := startBridge(t, f.config())
			for range 4 {
				work.Go(func() {
					for range 700 {
						id, err := b.NextProducerID(testContext(t))
						mu.Lock()
						if err != nil || id < 0 || seen[id] {
							t.Errorf("id %d, seen %v, %v", id, seen[id], err)
						}
						seen[id] = true
						mu.Unlock()
					}
				})
			}
		}
		work.Wait()
	}
}

func TestOperationsWaitForTheState(t *testing.T) {
	t.Parallel()
	f := newFakeIggy()
	f.hooks(func(fakeCall) error { return errFakeDown }, nil)
	b := openBridge(t, f.config())
	ctx := testContext(t)
	_, topicErr := b.Topic(ctx, "orders")
	_, listErr := b.Topics(ctx)
	_, createErr := b.CreateTopic(ctx, "orders", TopicSpec{Partitions: 1})
	_, idErr := b.NextProducerID(ctx)
	_, clusterErr := b.ClusterID(ctx)
	for i, err := range []error{topicErr, listErr, createErr, idErr, clusterErr} {
		if code := ErrorCode(err); code != errorcode.NotLeaderOrFollower {
			t.Errorf("call %d: code %d, %v", i, code, err)
		}
	}
	if err := b.Health(); err == nil || !strings.Contains(err.Error(), "since ") {
		t.Fatalf("health: %v", err)
	}
	f.hooks(nil, nil)
	waitHealthy(t, b)
	if _, err := b.CreateTopic(ctx, "orders", TopicSpec{Partitions: 1}); err != nil {
		t.Fatal(err)
	}
}

func TestCloseSavesTimeIndexes(t *testing.T) {
	t.Parallel()
	f, b, topic := fakeBridge(t, nil)
	produce(t, b, topic, 0, plainBatch(t, "a"))
	closeBridge(t, b)
	if _, err := b.Produce(testContext(t), topic, 0, plainBatch(t, "b")); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
	next := startBridge(t, f.config())
	if keys := next.state.keys(timeIndexKeys(topic.ID)); len(keys) != 1 {
		t.Fatalf("keys %v", keys)
	}
	if err := next.DeleteTopic(testContext(t), "orders"); err != nil {
		t.Fatal(err)
	}
	eventually(t, 5*time.Second, func() error {
		if keys := append(next.state.keys(timeIndexPrefix), next.state.keys(topicConfigPrefix)...); len(keys) != 0 {
			return fmt.Errorf("keys %v are left", keys)
		}
		return nil
	})
}

func TestRemovalSparesAValueSetSince(t *testing.T) {
	t.Parallel()
	f := newFakeIggy()
	ctx := testContext(t)
	s, other := stateBridge(t, f), stateBridge(t, f)
	if err := s.put(ctx, "a", "<old>"); err != nil {
		t.Fatal(err)
	}
	old, _ := s.get("a")
	if err := other.put(ctx, "a", "<new>"); err != nil {
		t.Fatal(err)
	}
	if err := s.remove(ctx, map[string]json.RawMessage{"a": old}); err != nil {
		t.Fatal(err)
	}
	now, ok := s.get("a")
	if !ok {
		t.Fatal("a value that was set since is removed")
	}
	if err := other.remove(ctx, map[string]json.RawMessage{"a": now}); err != nil {
		t.Fatal(err)
	}
	if v, ok := other.get("a"); ok {
		t.Errorf("%s is still there", v)
	}
}

// TestRecreationKeepsItsConfiguration deletes a topic and makes it anew at once,
// again and again: what the old one leaves behind is cleared away meanwhile.
func TestRecreationKeepsItsConfiguration(t *testing.T) {
	t.Parallel()
	f := newFakeIggy()
	ctx := testContext(t)
	b := startBridge(t, f.config())
	for i := range 200 {
		want := strconv.Itoa(1000 + i)
		topic, err := b.CreateTopic(ctx, "again", TopicSpec{Partitions: 1, Configs: map[string]string{ConfigRetentionMs: want}})
		if err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
		if got := topic.Config.Overrides()[ConfigRetentionMs]; got != want {
			t.Fatalf("round %d: retention.ms is %s, want %s", i, got, want)
		}
		if err := b.DeleteTopic(ctx, "again"); err != nil {
			t.Fatal(err)
		}
	}
}
