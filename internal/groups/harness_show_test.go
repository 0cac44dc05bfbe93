package groups

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/wire"
)

// recordTypes makes the messages of a record by the type in its key.
var recordTypes = map[int16]func() (key, value generated.Message){
	recordOffsetCommit: func() (generated.Message, generated.Message) {
		return &generated.OffsetCommitKey{}, &generated.OffsetCommitValue{}
	},
	recordGroupMetadata: func() (generated.Message, generated.Message) {
		return &generated.GroupMetadataKey{}, &generated.GroupMetadataValue{}
	},
	recordConsumerGroup: func() (generated.Message, generated.Message) {
		return &generated.ConsumerGroupMetadataKey{}, &generated.ConsumerGroupMetadataValue{}
	},
	recordConsumerPartitions: func() (generated.Message, generated.Message) {
		return &generated.ConsumerGroupPartitionMetadataKey{}, &generated.ConsumerGroupPartitionMetadataValue{}
	},
	recordConsumerMember: func() (generated.Message, generated.Message) {
		return &generated.ConsumerGroupMemberMetadataKey{}, &generated.ConsumerGroupMemberMetadataValue{}
	},
	recordConsumerTarget: func() (generated.Message, generated.Message) {
		return &generated.ConsumerGroupTargetAssignmentMetadataKey{}, &generated.ConsumerGroupTargetAssignmentMetadataValue{}
	},
	recordConsumerTargetMember: func() (generated.Message, generated.Message) {
		return &generated.ConsumerGroupTargetAssignmentMemberKey{}, &generated.ConsumerGroupTargetAssignmentMemberValue{}
	},
	recordConsumerMemberAssignment: func() (generated.Message, generated.Message) {
		return &generated.ConsumerGroupCurrentMemberAssignmentKey{}, &generated.ConsumerGroupCurrentMemberAssignmentValue{}
	},
	recordConsumerRegex: func() (generated.Message, generated.Message) {
		return &generated.ConsumerGroupRegularExpressionKey{}, &generated.ConsumerGroupRegularExpressionValue{}
	},
}

// showRecord writes a record: its key, and its value with the version.
func showRecord(t testing.TB, r records.Record) string {
	t.Helper()
	if int16(binary.BigEndian.Uint16(r.Key)) == recordPendingOffset {
		return showPendingRecord(t, r)
	}
	makeMessages, ok := recordTypes[int16(binary.BigEndian.Uint16(r.Key))]
	if !ok {
		t.Fatalf("a record with key %q", r.Key)
	}
	key, value := makeMessages()
	if rest, err := key.Decode(0, r.Key[2:]); err != nil || len(rest) > 0 {
		t.Fatalf("key %q: %v", r.Key, err)
	}
	if r.Value == nil {
		return show(key) + " tombstone"
	}
	version := int16(binary.BigEndian.Uint16(r.Value))
	if rest, err := value.Decode(version, r.Value[2:]); err != nil || len(rest) > 0 {
		t.Fatalf("value %q: %v", r.Value, err)
	}
	return fmt.Sprintf("%s v%d %s", show(key), version, show(value))
}

// show writes a message without the fields that are zero.
func show(m generated.Message) string {
	v := reflect.ValueOf(m).Elem()
	return v.Type().Name() + showValue(v)
}

func showValue(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case wire.NullString:
		return strconv.Quote(x.S)
	case wire.UUID:
		return showTopicID(x)
	case []byte:
		return showBytes(x)
	case string:
		return showString(x)
	}
	switch v.Kind() {
	case reflect.Pointer:
		return showValue(v.Elem())
	case reflect.Slice:
		items := make([]string, v.Len())
		for i := range items {
			items[i] = showValue(v.Index(i))
		}
		return "[" + strings.Join(items, " ") + "]"
	case reflect.Struct:
		var fields []string
		for i := range v.NumField() {
			f, name := v.Field(i), v.Type().Field(i).Name
			switch {
			case f.IsZero() || name == "UnknownTags" || f.Kind() == reflect.Slice && f.Len() == 0:
			case name == "ErrorCode":
				fields = append(fields, errorcode.Name(int16(f.Int())))
			default:
				fields = append(fields, name+":"+showValue(f))
			}
		}
		return "{" + strings.Join(fields, " ") + "}"
	default:
		return fmt.Sprint(v.Interface())
	}
}

// showBytes writes bytes as text, and what consumers subscribe to by its topics.
func showBytes(b []byte) string {
	var m generated.ConsumerProtocolSubscription
	if len(b) > 2 && b[0] == 0 && b[1] == 0 {
		if rest, err := m.Decode(0, b[2:]); err == nil && len(rest) == 0 && len(m.Topics) > 0 {
			return "topics(" + strings.Join(m.Topics, ",") + ")"
		}
	}
	if text, ok := showEmbedded(b); ok {
		return text
	}
	return strconv.Quote(string(b))
}

// showString quotes where it must.
func showString(s string) string {
	if s == "" || strings.ContainsAny(s, " {}[]:\"") {
		return strconv.Quote(s)
	}
	return s
}

// showTopicID writes a topic id by the name that topicID made it of.
func showTopicID(id wire.UUID) string {
	if name := strings.TrimRight(string(id[:15]), "\x00"); id == topicID(name) {
		return "#" + name
	}
	return id.String()
}
