package bridge

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

// TestStartOfAPartitionThatIsWrittenMeanwhile looks for the start of an empty
// partition while the first messages are written: between the read that finds
// nothing and the look at the end, and so on at each step.
func TestStartOfAPartitionThatIsWrittenMeanwhile(t *testing.T) {
	t.Parallel()
	for step := range int32(4) {
		f, b, topic := fakeBridge(t, nil)
		var calls atomic.Int32
		f.hooks(nil, func(call fakeCall) error {
			if call.op != "read" && call.op != "topic" || call.at.Stream != "orders" {
				return nil
			}
			if calls.Add(1) == step+1 {
				f.inject(call.at, 0, foreign("a"), foreign("b"), foreign("c"))
			}
			return nil
		})
		if start, err := b.LogStartOffset(testContext(t), topic, 0); err != nil || start != 0 {
			t.Errorf("written behind call %d: the log starts at %d (%v), want 0", step+1, start, err)
		}
		f.hooks(nil, nil)
		if hw, err := b.HighWatermark(testContext(t), topic, 0); err != nil || calls.Load() > step && hw != 3 {
			t.Errorf("written behind call %d: high watermark %d (%v), want 3", step+1, hw, err)
		}
		if _, err := b.Fetch(testContext(t), topic, 0, FetchSpec{Offset: 0, MaxBytes: 1 << 20}); err != nil {
			t.Errorf("written behind call %d: fetching from 0: %v", step+1, err)
		}
	}
}

// TestAppendToATopicThatIsDeletedMeanwhile is told that the topic is gone, and
// not that the outcome is unknown, wherever the deletion falls.
func TestAppendToATopicThatIsDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	for name, anew := range map[string]bool{"deleted": false, "made anew": true} {
		for _, when := range []string{"before the send", "behind the send"} {
			f, b, topic := fakeBridge(t, nil)
			vanish := func(call fakeCall) error {
				if call.op != "append" || call.at != topic.location {
					return nil
				}
				f.hooks(nil, nil)
				if err := f.deleteTopic(context.Background(), call.at); err != nil {
					t.Error(err)
				}
				if anew && when == "behind the send" {
					if err := f.createTopic(context.Background(), call.at, 2, iggyNever, iggyUnlimited); err != nil {
						t.Error(err)
					}
				}
				return nil
			}
			if when == "before the send" {
				f.hooks(vanish, nil)
			} else {
				f.hooks(nil, vanish)
			}
			_, err := b.Produce(testContext(t), topic, 0, plainBatch(t, "a", "b"))
			if !errors.Is(err, ErrTopicNotFound) || errors.Is(err, ErrOutcomeUnknown) {
				t.Errorf("%s %s: %v, want that the topic is gone", name, when, err)
			}
		}
	}
}

// TestOperationTimeCountsFromTheSubmission holds the first append up: the second
// has to answer within its own time all the same.
func TestOperationTimeCountsFromTheSubmission(t *testing.T) {
	t.Parallel()
	const limit = 300 * time.Millisecond
	f, b, topic := fakeBridge(t, func(c *Config) { c.OperationTimeout = limit })
	var blocked atomic.Bool
	release := make(chan struct{})
	f.hooks(func(call fakeCall) error {
		if call.op == "append" && call.at == topic.location && !blocked.Swap(true) {
			<-release
		}
		return nil
	}, nil)
	first := b.Submit(testContext(t), topic, 0, plainBatch(t, "a"))
	second := b.Submit(testContext(t), topic, 0, plainBatch(t, "b"))
	second.submitted = second.submitted.Add(-limit) // its time is over by now
	close(release)
	if _, err := first.Wait(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Wait(testContext(t)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an append whose time ended in the queue: %v, want that it was not begun", err)
	}
	if hw, err := b.HighWatermark(testContext(t), topic, 0); err != nil || hw != 1 {
		t.Errorf("high watermark %d (%v), want 1: it must not have been written", hw, err)
	}
}

func TestLocksKeepNamesThatChange(t *testing.T) {
	t.Parallel()
	var k keyedLocks
	frame := []byte("orders")
	unlock, err := k.lock(testContext(t), unsafe.String(&frame[0], len(frame)))
	if err != nil {
		t.Fatal(err)
	}
	copy(frame, "xxxxxx") // the request is answered, its frame used again
	ctx, cancel := context.WithTimeout(testContext(t), 20*time.Millisecond)
	defer cancel()
	if _, err := k.lock(ctx, "orders"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second holder of the lock: %v", err)
	}
	unlock()
	if len(k.locks) != 0 {
		t.Errorf("%d locks left behind", len(k.locks))
	}
}
