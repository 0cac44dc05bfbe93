package bridge

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestProduceAndFetchThroughIggy(t *testing.T) {
	t.Parallel()
	b := startBridge(t, iggyConfig(t))
	topic := makeTopic(t, b, "it-orders", 3)
	if a := produce(t, b, topic, 1, plainBatch(t, "a", "b")); a.BaseOffset != 0 || a.LogAppendTime != -1 || a.LogStartOffset != 0 {
		t.Fatalf("first append: %+v", a)
	}
	if a := produce(t, b, topic, 1, plainBatch(t, "c")); a.BaseOffset != 2 {
		t.Fatalf("second append: %+v", a)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, values(readAll(t, b, topic, 1, 0))); diff != "" {
		t.Fatal(diff)
	}
	if err := b.DeleteTopic(testContext(t), "it-orders"); err != nil {
		t.Fatal(err)
	}
}
