package handlers

import (
	"context"
	"slices"
	"strings"
	"testing"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/wire"
)

// internalName is an internal topic that the tests keep themselves.
const internalName = "__transaction_state"

// internalLog opens the internal topic and loads a partition of it.
func (f *dataFixture) internalLog(partition int32) (*bridge.Topic, *bridge.CompactedLog) {
	f.t.Helper()
	ctx := context.Background()
	if _, err := f.b.OpenInternalTopic(ctx, internalName, 3); err != nil {
		f.t.Fatal(err)
	}
	topic, err := f.b.Topic(ctx, internalName)
	if err != nil {
		f.t.Fatal(err)
	}
	l := f.b.CompactedLog(internalName, partition)
	if err := l.Load(ctx, func(*records.Record) {}); err != nil {
		f.t.Fatal(err)
	}
	return topic, l
}

func TestInternalTopicsAreReadLikeOthers(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	topic, l := f.internalLog(1)
	ctx := context.Background()
	first := []records.Record{{Timestamp: 1, Key: []byte("a"), Value: []byte("1")}, {Timestamp: 2, Key: []byte("a"), Value: []byte("2")}}
	if err := l.Append(ctx, first); err != nil {
		t.Fatal(err)
	}
	if got, want := f.contents(internalName, 1, 0), []string{"1", "2"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if err := l.Compact(ctx, slices.Values(first[1:])); err != nil {
		t.Fatal(err)
	}
	// Markers are batches of their own, which consumers skip.
	rows := f.fetchRows(ctx, 13, fetchRequest(part{id: topic.ID, partition: 1, offset: 2}))
	if len(rows) != 1 || rows[0].ErrorCode != errorcode.None || rows[0].HighWatermark != 5 || rows[0].LogStartOffset != 2 {
		t.Fatalf("behind the compaction: %+v", rows)
	}
	var kinds []bool
	for raw := rows[0].Records; len(raw) > 0; {
		b, rest, err := records.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		kinds, raw = append(kinds, b.IsControl() && b.IsTransactional()), rest
	}
	if want := []bool{true, false, true}; !slices.Equal(kinds, want) {
		t.Errorf("control batches: %v, want %v", kinds, want)
	}
	rows = f.fetchRows(ctx, 13, fetchRequest(part{id: topic.ID, partition: 1, offset: 1}))
	if len(rows) != 1 || rows[0].ErrorCode != errorcode.OffsetOutOfRange {
		t.Errorf("below the log's start: %+v", rows)
	}

	for _, row := range f.metadata(12, nil, internalName).Topics {
		if !row.IsInternal || len(row.Partitions) != 3 || row.TopicId != wire.UUID(topic.ID) {
			t.Errorf("metadata: %+v", row)
		}
	}
}

func TestInternalTopicsAreNotForClients(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	topic, l := f.internalLog(0)
	for name, got := range map[string][]int16{
		"produce by name":  produceCodes(f.produceRows(9, produceRequest(part{topic: internalName, records: values("x")}))),
		"produce by id":    produceCodes(f.produceRows(13, produceRequest(part{id: topic.ID, records: values("x")}))),
		"delete by name":   {f.remove(5, named(internalName))[0].ErrorCode},
		"delete by id":     {f.remove(6, generated.DeleteTopicsRequestDeleteTopicState{TopicId: topic.ID})[0].ErrorCode},
		"delete by name 6": {f.remove(6, named(internalName))[0].ErrorCode},
	} {
		if !slices.Equal(got, []int16{errorcode.InvalidTopic}) {
			t.Errorf("%s: %v, want %d", name, got, errorcode.InvalidTopic)
		}
	}
	rows := f.create(7, false, creatable(internalName, 1, -1))
	if rows[0].ErrorCode != errorcode.InvalidRequest || !strings.Contains(rows[0].ErrorMessage.S, internalName) {
		t.Errorf("create: %+v", rows[0])
	}
	if err := l.Append(context.Background(), []records.Record{{Key: []byte("a"), Value: []byte("1")}}); err != nil {
		t.Error(err)
	}
	if got, want := f.contents(internalName, 0, 0), []string{"1"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
