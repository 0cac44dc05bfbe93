package handlers

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/wire"
)

// sameness tells whether what Kafka said and what the bridge says is the same
// but for what is random: the UUIDs in member ids and topic ids, and producer ids.
// The first time that a recorded UUID stands where the bridge has another one, the
// two are taken for the same, and from then on they have to be.
type sameness struct {
	uuids     map[string]string       // recorded UUIDs in member ids, and the bridge's
	topics    map[wire.UUID]wire.UUID // recorded topic ids, and the bridge's
	producers map[int64]int64         // recorded producer ids, and the bridge's
}

func newSameness() *sameness {
	return &sameness{uuids: map[string]string{}, topics: map[wire.UUID]wire.UUID{}, producers: map[int64]int64{}}
}

// clone makes one that may learn what turns out to be wrong.
func (s *sameness) clone() *sameness {
	return &sameness{uuids: maps.Clone(s.uuids), topics: maps.Clone(s.topics), producers: maps.Clone(s.producers)}
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

	"AddPartitionsToTxnResponseAddPartitionsToTxnResult":          true,
	"AddPartitionsToTxnResponseAddPartitionsToTxnTopicResult":     true,
	"AddPartitionsToTxnResponseAddPartitionsToTxnPartitionResult": true,
	"DescribeProducersResponseProducerState":                      true,
	"DescribeTransactionsResponseTopicData":                       true,
	"DescribeTransactionsResponseTransactionState":                true,
	"ListOffsetsResponseListOffsetsPartitionResponse":             true,
	"ListTransactionsResponseTransactionState":                    true,
	"TransactionLogValuePartitionsSchema":                         true,
	"TxnOffsetCommitResponsePartition":                            true,
	"WriteTxnMarkersResponseWritableTxnMarkerPartitionResult":     true,
	"WriteTxnMarkersResponseWritableTxnMarkerTopicResult":         true,
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

	"LastTimestamp":                    true,
	"TransactionStartTimeMs":           true,
	"TransactionStartTimestampMs":      true,
	"TransactionLastUpdateTimestampMs": true,
}

// producerFields are fields with producer ids.
var producerFields = map[string]bool{"ProducerId": true, "V3AndBelowProducerId": true, "PreviousProducerId": true, "NextProducerId": true, "ProducerIdFilters": true}

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
		want, got = inPartitionOrder(want), inPartitionOrder(got)
		if want.Type() == reflect.TypeFor[generated.ConsumerGroupDescribeResponseMember]() {
			sortNames(want)
			sortNames(got)
		}
		var list []string
		for i := range want.NumField() {
			name := want.Type().Field(i).Name
			if name == "UnknownTags" || varying[name] && bothSet(want.Field(i), got.Field(i)) {
				continue
			}
			if producerFields[name] && want.Field(i).CanInt() {
				list = append(list, differ(path+"."+name, want.Field(i), got.Field(i), s.sameProducer(want.Field(i).Int(), got.Field(i).Int()))...)
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

// inPartitionOrder sorts the partitions of an assignment to a member, which come
// out of a hash table in Kafka, together with their epochs.
func inPartitionOrder(v reflect.Value) reflect.Value {
	partitions, ok := v.Type().FieldByName("Partitions")
	if !ok {
		partitions, ok = v.Type().FieldByName("PartitionIds")
	}
	if !ok || partitions.Type != reflect.TypeFor[[]int32]() {
		return v
	}
	list := v.FieldByIndex(partitions.Index).Interface().([]int32)
	var epochs []int32
	if f := v.FieldByName("AssignmentEpochs"); f.IsValid() && f.Len() == len(list) {
		epochs = f.Interface().([]int32)
	}
	pairs := make([][2]int32, len(list))
	for i, p := range list {
		pairs[i][0] = p
		if epochs != nil {
			pairs[i][1] = epochs[i]
		}
	}
	slices.SortFunc(pairs, func(a, b [2]int32) int { return cmp.Compare(a[0], b[0]) })
	for i, p := range pairs {
		list[i] = p[0]
		if epochs != nil {
			epochs[i] = p[1]
		}
	}
	return v
}

// sortNames sorts a described member's topics, a set in Kafka.
func sortNames(member reflect.Value) {
	slices.Sort(member.FieldByName("SubscribedTopicNames").Interface().([]string))
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

// sameProducer compares producer ids, and learns them.
func (s *sameness) sameProducer(want, got int64) bool {
	ours, known := s.producers[want]
	if known {
		return ours == got
	}
	if want <= 0 || got < 0 {
		return want == got // nobody: no trace has the producer id 0
	}
	for _, taken := range s.producers {
		if taken == got {
			return false
		}
	}
	s.producers[want] = got
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
			switch name := v.Type().Field(i).Name; {
			case name == "UnknownTags":
			case producerFields[name]:
				s.ourProducers(v.Field(i))
			default:
				s.ours(v.Field(i))
			}
		}
	}
}

// ourProducers is ours for a producer id or a list of them.
func (s *sameness) ourProducers(v reflect.Value) {
	if v.Kind() == reflect.Slice {
		for i := range v.Len() {
			s.ourProducers(v.Index(i))
		}
		return
	}
	if ours, ok := s.producers[v.Int()]; ok {
		v.SetInt(ours)
	}
}
