package handlers

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/wire"
)

// sameness tells whether what Kafka said and what the bridge says is the same
// but for what is random: the UUIDs in member ids and topic ids. The first time
// that a recorded UUID stands where the bridge has another one, the two are taken
// for the same, and from then on they have to be.
type sameness struct {
	uuids  map[string]string       // recorded UUIDs in member ids, and the bridge's
	topics map[wire.UUID]wire.UUID // recorded topic ids, and the bridge's
}

func newSameness() *sameness {
	return &sameness{uuids: map[string]string{}, topics: map[wire.UUID]wire.UUID{}}
}

// clone makes one that may learn what turns out to be wrong.
func (s *sameness) clone() *sameness {
	return &sameness{uuids: maps.Clone(s.uuids), topics: maps.Clone(s.topics)}
}

// uuidPattern finds the random part of a member id, also within a message.
var uuidPattern = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// shortIDPattern finds what may be a topic id within a message; members of
// consumer groups have ids of this form, too, when the coordinator makes them.
var shortIDPattern = regexp.MustCompile(`[A-Za-z0-9_-]{22}`)

// unordered names lists whose order is that of a hash table in Kafka.
var unordered = map[string]bool{
	"JoinGroupResponseMember":                                  true,
	"DescribeGroupsResponseDescribedGroup":                     true,
	"DescribeGroupsResponseDescribedGroupMember":               true,
	"DeleteGroupsResponseDeletableGroupResult":                 true,
	"ListGroupsResponseListedGroup":                            true,
	"ConsumerGroupDescribeResponseDescribedGroup":              true,
	"ConsumerGroupDescribeResponseMember":                      true,
	"ConsumerGroupDescribeResponseTopicPartitions":             true,
	"ConsumerGroupHeartbeatResponseTopicPartitions":            true,
	"OffsetFetchResponseTopic":                                 true,
	"OffsetFetchResponseTopics":                                true,
	"OffsetFetchResponsePartition":                             true,
	"OffsetFetchResponsePartitions":                            true,
	"GroupMetadataValueMemberMetadata":                         true,
	"ConsumerGroupTargetAssignmentMemberValueTopicPartition":   true,
	"ConsumerGroupCurrentMemberAssignmentValueTopicPartitions": true,
}

// varying are fields with times, or with what follows from topic ids.
var varying = map[string]bool{
	"CommitTimestamp":       true,
	"ExpireTimestamp":       true,
	"AssignmentTimestamp":   true,
	"Timestamp":             true, // of a regular expression
	"Version":               true, // of the metadata that it was matched with
	"CurrentStateTimestamp": true,
	"MetadataHash":          true,
	"Host":                  true,
	"Port":                  true,
}

// differences lists where two values differ: Kafka's and the bridge's.
func (s *sameness) differences(path string, want, got reflect.Value) []string {
	switch want.Kind() {
	case reflect.Pointer:
		if want.IsNil() || got.IsNil() {
			return differ(path, want, got, want.IsNil() == got.IsNil())
		}
		return s.differences(path, want.Elem(), got.Elem())
	case reflect.String:
		return differ(path, want, got, s.sameText(want.String(), got.String()))
	case reflect.Slice:
		return s.listDifferences(path, want, got)
	case reflect.Array:
		return differ(path, want, got, s.sameTopic(want.Interface().(wire.UUID), got.Interface().(wire.UUID)))
	case reflect.Struct:
		var list []string
		for i := range want.NumField() {
			name := want.Type().Field(i).Name
			if name == "UnknownTags" || varying[name] && bothSet(want.Field(i), got.Field(i)) {
				continue
			}
			list = append(list, s.differences(path+"."+name, want.Field(i), got.Field(i))...)
		}
		return list
	default:
		return differ(path, want, got, want.Equal(got))
	}
}

// bothSet compares what varies: it is there, or is 0 or -1 on both sides.
func bothSet(want, got reflect.Value) bool {
	set := func(v reflect.Value) bool { return !v.IsZero() && (!v.CanInt() || v.Int() != -1) }
	return set(want) == set(got)
}

func differ(path string, want, got reflect.Value, same bool) []string {
	if same {
		return nil
	}
	return []string{fmt.Sprintf("%s: Kafka %.300s, bridge %.300s", path, show(want), show(got))}
}

func show(v reflect.Value) string { return fmt.Sprintf("%+v", v) }

func (s *sameness) listDifferences(path string, want, got reflect.Value) []string {
	if want.Type().Elem().Kind() == reflect.Uint8 {
		same := want.IsNil() == got.IsNil() && s.sameText(string(want.Bytes()), string(got.Bytes()))
		return differ(path, reflect.ValueOf(fmt.Sprintf("%q", want.Bytes())), reflect.ValueOf(fmt.Sprintf("%q", got.Bytes())), same)
	}
	if want.IsNil() != got.IsNil() || want.Len() != got.Len() {
		return differ(path, want, got, false)
	}
	got = s.inOrder(want, got)
	var list []string
	for i := range want.Len() {
		list = append(list, s.differences(fmt.Sprintf("%s[%d]", path, i), want.Index(i), got.Index(i))...)
	}
	return list
}

// inOrder brings the bridge's list into Kafka's order, if that has no meaning.
func (s *sameness) inOrder(want, got reflect.Value) reflect.Value {
	if !unordered[want.Type().Elem().Name()] {
		return got
	}
	ordered := reflect.MakeSlice(got.Type(), 0, got.Len())
	left := make([]reflect.Value, got.Len())
	for i := range left {
		left[i] = got.Index(i)
	}
	for i := range want.Len() {
		at := slices.IndexFunc(left, func(g reflect.Value) bool { return s.wouldMatch(want.Index(i), g) })
		if at < 0 {
			return got
		}
		s.differences("", want.Index(i), left[at]) // to learn
		ordered = reflect.Append(ordered, left[at])
		left = slices.Delete(left, at, at+1)
	}
	return ordered
}

// wouldMatch compares without learning.
func (s *sameness) wouldMatch(want, got reflect.Value) bool {
	trial := s.clone()
	return len(trial.differences("", want, got)) == 0
}

// sameText compares text in which there may be UUIDs, and learns them.
func (s *sameness) sameText(want, got string) bool {
	if isShortID(want) && isShortID(got) && s.withShortIDs(want) == want {
		s.uuids[want] = got
		return true
	}
	w, g := uuidPattern.FindAllString(want, -1), uuidPattern.FindAllString(got, -1)
	if len(w) != len(g) || s.withShortIDs(uuidPattern.ReplaceAllString(want, "?")) != uuidPattern.ReplaceAllString(got, "?") {
		return false
	}
	for i := range w {
		ours, known := s.uuids[w[i]]
		if !known {
			s.uuids[w[i]] = g[i]
		} else if ours != g[i] {
			return false
		}
	}
	return true
}

// withShortIDs puts the bridge's ids in the place of Kafka's.
func (s *sameness) withShortIDs(text string) string {
	return shortIDPattern.ReplaceAllStringFunc(text, func(recorded string) string {
		if id, err := wire.ParseUUID(recorded); err == nil {
			if ours, ok := s.topics[id]; ok {
				return ours.String()
			}
		}
		if ours, ok := s.uuids[recorded]; ok {
			return ours
		}
		return recorded
	})
}

// isShortID tells whether text is one short id and nothing else.
func isShortID(text string) bool { return len(text) == 22 && shortIDPattern.MatchString(text) }

// sameTopic compares topic ids, and learns those of topics that the trace did
// not make.
func (s *sameness) sameTopic(want, got wire.UUID) bool {
	ours, known := s.topics[want]
	if known || want == got {
		return !known || ours == got
	}
	if want.IsZero() || got.IsZero() || want.String() == madeUp {
		return false
	}
	s.topics[want] = got
	return true
}

// ours turns a recorded request into the bridge's, in place.
func (s *sameness) ours(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		s.ours(v.Elem())
	case reflect.String:
		v.SetString(s.withShortIDs(uuidPattern.ReplaceAllStringFunc(v.String(), func(recorded string) string {
			if ours, ok := s.uuids[recorded]; ok {
				return ours
			}
			return recorded
		})))
	case reflect.Array:
		if ours, ok := s.topics[v.Interface().(wire.UUID)]; ok {
			v.Set(reflect.ValueOf(ours))
		}
	case reflect.Slice:
		for i := range v.Len() {
			if v.Index(i).Kind() != reflect.Uint8 {
				s.ours(v.Index(i))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "UnknownTags" {
				s.ours(v.Field(i))
			}
		}
	}
}

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
