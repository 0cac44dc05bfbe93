package groups

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/statemachine"
)

// examplePending has another value in every field.
func examplePending() pendingOffset {
	return pendingOffset{
		committedOffset: committedOffset{
			offset: 0x0102030405060708, commitMs: 1_700_000_000_000, expireMs: noExpiry,
			metadata: "mé", topicID: topicID("t"), leaderEpoch: -1, partition: 7,
		},
		producerID: 1 << 40, producerEpoch: 32766, order: 3, outdated: true,
	}
}

// TestPendingRecordBytes fixes the form of the records: other releases read them.
func TestPendingRecordBytes(t *testing.T) {
	t.Parallel()
	p := examplePending()
	r := pendingOffsetRecord(time.UnixMilli(5), "g", "t", &p)
	key := []byte{125, 0, 0, 1, 'g', 0, 1, 't', 0, 0, 0, 7, 0, 0, 1, 0, 0, 0, 0, 0}
	value := []byte{
		0, 0, 127, 254, 0, 0, 0, 0, 0, 0, 0, 3, 1, 1, 2, 3, 4, 5, 6, 7, 8, 255, 255, 255, 255,
		0, 3, 'm', 0xc3, 0xa9, 0, 0, 1, 139, 207, 229, 104, 0, 't', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
	}
	if !bytes.Equal(r.Key, key) || !bytes.Equal(r.Value, value) || r.Timestamp != 5 {
		t.Errorf("key   %v\nvalue %v\nat %d", r.Key, r.Value, r.Timestamp)
	}
	tombstone := pendingOffsetTombstone(time.UnixMilli(5), "g", "t", &p)
	if !bytes.Equal(tombstone.Key, key) || tombstone.Value != nil {
		t.Errorf("tombstone %v = %v", tombstone.Key, tombstone.Value)
	}
}

func TestPendingRecordsAreReadBack(t *testing.T) {
	t.Parallel()
	full := examplePending()
	empty := pendingOffset{committedOffset: committedOffset{offset: -1, expireMs: noExpiry}}
	for name, want := range map[string]pendingOffset{"every field": full, "an empty one": empty} {
		r := pendingOffsetRecord(time.UnixMilli(5), "group", "topic", &want)
		groupID, topic, got, live, err := decodePendingOffset(&r)
		if err != nil || !live || groupID != "group" || topic != "topic" {
			t.Errorf("%s: %q %q %v %v", name, groupID, topic, live, err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(pendingOffset{}, committedOffset{})); diff != "" {
			t.Errorf("%s (-written +read):\n%s", name, diff)
		}
	}
}

// TestBrokenPendingRecords replays what is no record: an error, and nothing
// changes.
func TestBrokenPendingRecords(t *testing.T) {
	t.Parallel()
	p := examplePending()
	good := pendingOffsetRecord(time.UnixMilli(5), "g", "t", &p)
	changed := func(at int, b byte) []byte {
		value := slices.Clone(good.Value)
		value[at] = b
		return value
	}
	broken := map[string]records.Record{
		"a key with more behind it":   {Key: append(slices.Clone(good.Key), 0), Value: good.Value},
		"a value with more behind it": {Key: good.Key, Value: append(slices.Clone(good.Value), 0)},
		"an empty value":              {Key: good.Key, Value: []byte{}},
		"a mark that is unknown":      {Key: good.Key, Value: changed(12, 2)},
		"a negative length":           {Key: good.Key, Value: changed(25, 255)},
		"a later version":             {Key: good.Key, Value: changed(1, 1)},
	}
	for n := 2; n < len(good.Key); n++ {
		broken["a key cut at "+string(rune('0'+n))] = records.Record{Key: good.Key[:n], Value: good.Value}
	}
	for n := range good.Value {
		broken["a value cut at "+string(rune('0'+n))] = records.Record{Key: good.Key, Value: good.Value[:n]}
	}
	for name, r := range broken {
		w := newWorld(t)
		err := w.shard.Replay(&r)
		if !errors.Is(err, errPendingRecord) && !errors.Is(err, statemachine.ErrUnknownRecord) {
			t.Errorf("%s: %v", name, err)
		}
		if w.shard.Live() != 0 || len(w.shard.offsets) != 0 {
			t.Errorf("%s: something is there", name)
		}
	}
	w := newWorld(t)
	if err := w.shard.Replay(&records.Record{Key: good.Key, Value: changed(1, 1)}); !errors.Is(err, statemachine.ErrUnknownRecord) {
		t.Errorf("a later version: %v", err)
	}
	if err := w.shard.Replay(&records.Record{Key: good.Key}); err != nil {
		t.Errorf("a tombstone of nothing: %v", err)
	}
}
