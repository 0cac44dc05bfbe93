package handlers

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/records"
)

// traceRecord is a record that Kafka wrote.
type traceRecord struct {
	Type       string
	Key, Value string
}

// groupRecord is a record of __consumer_offsets, decoded. Value is nil for a
// tombstone.
type groupRecord struct {
	Kind         string
	Key          generated.Message
	ValueVersion int16
	Value        generated.Message
}

func (r groupRecord) String() string {
	value := "deleted"
	if r.Value != nil {
		value = fmt.Sprintf("v%d %+v", r.ValueVersion, r.Value)
	}
	return fmt.Sprintf("%s %+v = %s", r.Kind, r.Key, value)
}

// groupID is the group that a record belongs to.
func (r groupRecord) groupID() string {
	key := reflect.ValueOf(r.Key).Elem()
	for _, name := range []string{"Group", "GroupId"} {
		if f := key.FieldByName(name); f.IsValid() {
			return f.String()
		}
	}
	return ""
}

// groupRecordTypes makes messages for a key and a value by the key's type.
var groupRecordTypes = map[uint16]struct{ key, value func() generated.Message }{
	1:  {func() generated.Message { return &generated.OffsetCommitKey{} }, func() generated.Message { return &generated.OffsetCommitValue{} }},
	2:  {func() generated.Message { return &generated.GroupMetadataKey{} }, func() generated.Message { return &generated.GroupMetadataValue{} }},
	3:  {func() generated.Message { return &generated.ConsumerGroupMetadataKey{} }, func() generated.Message { return &generated.ConsumerGroupMetadataValue{} }},
	4:  {func() generated.Message { return &generated.ConsumerGroupPartitionMetadataKey{} }, func() generated.Message { return &generated.ConsumerGroupPartitionMetadataValue{} }},
	5:  {func() generated.Message { return &generated.ConsumerGroupMemberMetadataKey{} }, func() generated.Message { return &generated.ConsumerGroupMemberMetadataValue{} }},
	6:  {func() generated.Message { return &generated.ConsumerGroupTargetAssignmentMetadataKey{} }, func() generated.Message { return &generated.ConsumerGroupTargetAssignmentMetadataValue{} }},
	7:  {func() generated.Message { return &generated.ConsumerGroupTargetAssignmentMemberKey{} }, func() generated.Message { return &generated.ConsumerGroupTargetAssignmentMemberValue{} }},
	8:  {func() generated.Message { return &generated.ConsumerGroupCurrentMemberAssignmentKey{} }, func() generated.Message { return &generated.ConsumerGroupCurrentMemberAssignmentValue{} }},
	16: {func() generated.Message { return &generated.ConsumerGroupRegularExpressionKey{} }, func() generated.Message { return &generated.ConsumerGroupRegularExpressionValue{} }},
}

func decodeGroupRecord(key, value []byte) (r groupRecord, err error) {
	if len(key) < 2 {
		return r, fmt.Errorf("a key of %d bytes", len(key))
	}
	types, ok := groupRecordTypes[binary.BigEndian.Uint16(key)]
	if !ok {
		return r, fmt.Errorf("unknown type %d", binary.BigEndian.Uint16(key))
	}
	r.Key = types.key()
	r.Kind = strings.TrimSuffix(reflect.TypeOf(r.Key).Elem().Name(), "Key")
	if _, err := r.Key.Decode(0, key[2:]); err != nil || value == nil {
		return r, err
	}
	r.Value, r.ValueVersion = types.value(), int16(binary.BigEndian.Uint16(value))
	_, err = r.Value.Decode(r.ValueVersion, value[2:])
	return r, err
}

// decode reads a recorded record.
func (r *traceRecord) decode() (groupRecord, error) {
	key, err := hex.DecodeString(r.Key)
	if err != nil {
		return groupRecord{}, err
	}
	if r.Value == "" {
		return decodeGroupRecord(key, nil)
	}
	value, err := hex.DecodeString(r.Value)
	if err != nil {
		return groupRecord{}, err
	}
	return decodeGroupRecord(key, value)
}

// keep copies a record that the bridge wrote.
func keep(r *records.Record) (groupRecord, error) {
	return decodeGroupRecord(slices.Clone(r.Key), slices.Clone(r.Value))
}

func (s *sameness) recordDifferences(path string, want, got groupRecord) []string {
	if want.Kind != got.Kind || (want.Value == nil) != (got.Value == nil) || want.ValueVersion != got.ValueVersion {
		return []string{fmt.Sprintf("%s: Kafka wrote %.400v, bridge %.400v", path, want, got)}
	}
	list := s.differences(path+" "+want.Kind+" key", reflect.ValueOf(want.Key), reflect.ValueOf(got.Key))
	if want.Value != nil {
		list = append(list, s.differences(path+" "+want.Kind+" value", reflect.ValueOf(want.Value), reflect.ValueOf(got.Value))...)
	}
	return list
}

// matched takes out the records that are the same on both sides. Kafka's order
// counts only where it is the same in each run, so a permutation is the same.
func (s *sameness) matched(want, got []groupRecord) (restWant, restGot []groupRecord) {
	restGot = slices.Clone(got)
	for _, w := range want {
		at := slices.IndexFunc(restGot, func(g groupRecord) bool { return len(s.clone().recordDifferences("", w, g)) == 0 })
		if at < 0 {
			restWant = append(restWant, w)
			continue
		}
		s.recordDifferences("", w, restGot[at]) // to learn
		restGot = slices.Delete(restGot, at, at+1)
	}
	return restWant, restGot
}

// recordsDifferences describes what is left without a match, by key.
func (s *sameness) recordsDifferences(want, got []groupRecord) []string {
	var list []string
	left := slices.Clone(got)
	for _, w := range want {
		at := slices.IndexFunc(left, func(g groupRecord) bool {
			return g.Kind == w.Kind && (g.Value == nil) == (w.Value == nil) &&
				len(s.clone().differences("", reflect.ValueOf(w.Key), reflect.ValueOf(g.Key))) == 0
		})
		if at < 0 {
			list = append(list, fmt.Sprintf("record: Kafka wrote %.500v, the bridge did not", w))
			continue
		}
		list = append(list, s.recordDifferences("record", w, left[at])...)
		left = slices.Delete(left, at, at+1)
	}
	for _, g := range left {
		list = append(list, fmt.Sprintf("record: the bridge wrote %.500v, Kafka did not", g))
	}
	return list
}

// compareRecords compares what a step has written.
func (r *traceRun) compareRecords(s *traceStep) {
	r.t.Helper()
	var want []groupRecord
	for i := range s.Records {
		w, err := s.Records[i].decode()
		if err != nil {
			r.t.Fatal(err)
		}
		want = append(want, w)
	}
	for deadline := time.Now().Add(time.Second); len(r.of(s.Trace)) < r.seen+len(want) && time.Now().Before(deadline); {
		<-time.After(2 * time.Millisecond)
	}
	all := r.of(s.Trace)
	got := all[r.seen:]
	r.seen = len(all)
	if _, known := groupDifferences[s.Trace+": records of "+s.Why]; known {
		return
	}
	r.unmatched.want, r.unmatched.got = r.matched(append(r.unmatched.want, want...), append(r.unmatched.got, got...))
	r.unmatched.want = slices.DeleteFunc(r.unmatched.want, r.needless)
	r.unmatched.got = slices.DeleteFunc(r.unmatched.got, r.needless)
	old := &r.unmatched.since
	if len(r.unmatched.want)+len(r.unmatched.got) == 0 {
		*old = nil
		return
	}
	if *old == nil && s.Step < r.last {
		*old = s
		return
	}
	if *old == nil {
		*old = s
	}
	for _, d := range r.recordsDifferences(r.unmatched.want, r.unmatched.got) {
		r.t.Errorf("step %d (%s v%d, %s) %s", (*old).Step, (*old).API, (*old).Version, (*old).Why, d)
	}
	r.unmatched = stepRecords{}
}

// needless tells of a record without a match that changes nothing: Kafka deletes
// the metadata also of groups that have offsets only, and never had metadata;
// the bridge writes the metadata of a new group also for those.
func (r *traceRun) needless(record groupRecord) bool {
	switch value := record.Value.(type) {
	case *generated.GroupMetadataValue:
		return value.Generation == 0 && value.ProtocolType == "" && len(value.Members) == 0
	case nil:
		return record.Kind == "GroupMetadata" && !slices.ContainsFunc(r.of(record.groupID()), func(other groupRecord) bool {
			return other.Kind == "GroupMetadata" && other.groupID() == record.groupID()
		})
	default:
		return false
	}
}

// stepRecords are records without a match, and the first step that has some.
type stepRecords struct {
	since     *traceStep
	want, got []groupRecord
}
