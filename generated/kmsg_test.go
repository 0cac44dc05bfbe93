package generated_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/sample"
	"kafka-iggy-bridge/internal/tool/frame"
	"kafka-iggy-bridge/internal/wire"
)

// kmsgRounds is how many random messages each version of each message is
// compared with.
const kmsgRounds = 40

// kmsgMessage is what requests, responses and records of kmsg have in common.
type kmsgMessage interface {
	ReadFrom([]byte) error
	AppendTo([]byte) []byte
}

// kmsgUnknown are versions that kmsg does not have, with the reason.
var kmsgUnknown = map[int16]int16{
	generated.KeyInitProducerId: 6, // unstable in Kafka 4.4
}

// eachKmsgVersion calls do with every API version that kmsg knows, and makes
// sure that only those of kmsgUnknown are left out.
func eachKmsgVersion(t *testing.T, do func(t *testing.T, a *generated.API, version int16)) {
	t.Helper()
	for i := range generated.APIs() {
		a := &generated.APIs()[i]
		if !a.Valid() {
			continue
		}
		k := kmsg.RequestForKey(a.Key)
		if k == nil {
			t.Errorf("kmsg has no %s", a.Name)
			continue
		}
		for v := a.Min; v <= a.Max; v++ {
			if v <= k.MaxVersion() {
				do(t, a, v)
			} else if kmsgUnknown[a.Key] != v {
				t.Errorf("kmsg has no %s v%d", a.Name, v)
			}
		}
	}
}

func kmsgRequest(key, version int16) kmsg.Request {
	k := kmsg.RequestForKey(key)
	k.SetVersion(version)
	return k
}

func kmsgResponse(key, version int16) kmsg.Response {
	k := kmsg.ResponseForKey(key)
	k.SetVersion(version)
	return k
}

// TestKmsgReadsOurs: what we encode kmsg decodes, and encodes to the same bytes.
func TestKmsgReadsOurs(t *testing.T) {
	t.Parallel()
	eachKmsgVersion(t, func(t *testing.T, a *generated.API, v int16) {
		if kmsgRequest(a.Key, v).IsFlexible() != a.Flexible(v) {
			t.Errorf("%s v%d: flexible is %t, kmsg disagrees", a.Name, v, a.Flexible(v))
		}
		for seed := range uint64(kmsgRounds) {
			kmsgReads(t, a.NewRequest(), v, seed, nil, kmsgRequest(a.Key, v))
			kmsgReads(t, a.NewResponse(), v, seed, nil, kmsgResponse(a.Key, v))
		}
	})
}

// kmsgReads compares one random message, which stands behind prefix in kmsg.
func kmsgReads(t *testing.T, m generated.Message, v int16, seed uint64, prefix []byte, k kmsgMessage) {
	t.Helper()
	name := m.Schema().Name
	if err := sample.Fill(m, v, sample.NewRand(seed, uint64(v)), sample.Options{UnknownTags: true, RawRecords: true}); err != nil {
		t.Fatal(err)
	}
	if l, ok := m.(*generated.LeaderChangeMessage); ok {
		l.Version, prefix = v, nil // it holds its version itself
	}
	raw, err := m.Append(bytes.Clone(prefix), v)
	if err != nil {
		t.Errorf("%s v%d, seed %d: %v", name, v, seed, err)
		return
	}
	if err := k.ReadFrom(raw); err != nil {
		t.Errorf("%s v%d, seed %d: kmsg: %v", name, v, seed, err)
		return
	}
	if again := k.AppendTo(nil); !bytes.Equal(again, raw) {
		t.Errorf("%s v%d, seed %d: kmsg encodes\n%x, we\n%x", name, v, seed, again, raw)
	}
}

// TestOursReadsKmsg: what kmsg encodes we decode, and encode to the same bytes.
func TestOursReadsKmsg(t *testing.T) {
	t.Parallel()
	eachKmsgVersion(t, func(t *testing.T, a *generated.API, v int16) {
		for seed := range uint64(kmsgRounds) {
			oursReads(t, a.NewRequest(), v, seed, kmsgRequest(a.Key, v))
			oursReads(t, a.NewResponse(), v, seed, kmsgResponse(a.Key, v))
		}
	})
}

func oursReads(t *testing.T, m generated.Message, v int16, seed uint64, k kmsgMessage) {
	t.Helper()
	name := m.Schema().Name
	fillKmsg(reflect.ValueOf(k).Elem(), sample.NewRand(seed, uint64(v)), m.Schema().Flexible(v), 0)
	raw := k.AppendTo(nil)
	rest, err := m.Decode(v, raw)
	if err != nil && writesYoungTags(m.Schema().Root, v) && strings.Contains(err.Error(), "is not valid in this version") {
		return
	}
	if err != nil || len(rest) > 0 {
		t.Errorf("%s v%d, seed %d: %d bytes left, %v", name, v, seed, len(rest), err)
		return
	}
	if again, err := m.Append(nil, v); err != nil || !bytes.Equal(again, raw) {
		t.Errorf("%s v%d, seed %d: we encode (%v)\n%x, kmsg\n%x", name, v, seed, err, again, raw)
	}
}

// writesYoungTags reports whether a message has tagged fields that are younger
// than the version. The one difference to kmsg that we want: kmsg writes them in
// older versions, too, while Kafka refuses to read them there ("Tag 1 is not
// valid for version 12"), and so do we.
func writesYoungTags(s *wire.Struct, v int16) bool {
	for i := range s.Fields {
		f := &s.Fields[i]
		if f.Tagged.Max >= f.Tagged.Min && f.Tagged.Min > v {
			return true
		}
		if f.Struct != nil && f.Versions.Contains(v) && writesYoungTags(f.Struct, v) {
			return true
		}
	}
	return false
}

// fillKmsg sets everything in a struct of kmsg but its version, nothing to null:
// what may be null is not to be seen in these structs.
func fillKmsg(v reflect.Value, rng *rand.Rand, flexible bool, depth int) {
	switch v.Kind() {
	case reflect.Struct:
		if tags, ok := v.Addr().Interface().(*kmsg.Tags); ok {
			if flexible && rng.IntN(3) == 0 {
				tags.Set(100+rng.Uint32N(1000), []byte("tag"))
			}
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && (depth > 0 || f.Name != "Version") {
				fillKmsg(v.Field(i), rng, flexible, depth+1)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillKmsg(v.Elem(), rng, flexible, depth+1)
	case reflect.Slice:
		n := rng.IntN(3)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fillKmsg(v.Index(i), rng, flexible, depth+1)
		}
	case reflect.Array:
		for i := range v.Len() {
			fillKmsg(v.Index(i), rng, flexible, depth+1)
		}
	case reflect.String:
		v.SetString([]string{"", "a", "topic", "漢字"}[rng.IntN(4)])
	case reflect.Bool:
		v.SetBool(rng.IntN(2) == 0)
	case reflect.Float64:
		v.SetFloat(rng.NormFloat64())
	default:
		if v.CanUint() {
			v.SetUint(rng.Uint64() >> (64 - v.Type().Bits()))
		} else {
			v.SetInt(int64(rng.Uint64()) >> (64 - v.Type().Bits()))
		}
	}
}

// TestKmsgFrames: requests that kmsg puts into frames have the header that we
// expect of their version.
func TestKmsgFrames(t *testing.T) {
	t.Parallel()
	format := kmsg.NewRequestFormatter(kmsg.FormatterClientID("someone"))
	eachKmsgVersion(t, func(t *testing.T, a *generated.API, v int16) {
		k := kmsgRequest(a.Key, v)
		if d, ok := k.(interface{ Default() }); ok {
			d.Default()
		}
		payload, err := frame.Payload(format.AppendRequest(nil, k, 4711))
		if err != nil {
			t.Fatal(err)
		}
		h, m, err := frame.DecodeRequest(payload)
		if err != nil {
			t.Errorf("%s v%d: %v", a.Name, v, err)
			return
		}
		if h.RequestApiKey != a.Key || h.RequestApiVersion != v || h.CorrelationId != 4711 || h.ClientId.S != "someone" {
			t.Errorf("%s v%d: header %+v", a.Name, v, h)
		}
		if m.Schema().APIKey != a.Key {
			t.Errorf("%s v%d: body %s", a.Name, v, m.Schema().Name)
		}
	})
}

// TestKmsgReadsRecords: the records that Kafka keeps in topics and batches, as
// far as kmsg has them. Theirs begin with a version, or in keys with a type,
// which our callers handle.
func TestKmsgReadsRecords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		message string
		kmsg    func() kmsgMessage
	}{
		{"LegacyOffsetCommitKey", func() kmsgMessage { return new(kmsg.OffsetCommitKey) }},
		{"OffsetCommitKey", func() kmsgMessage { return new(kmsg.OffsetCommitKey) }},
		{"OffsetCommitValue", func() kmsgMessage { return new(kmsg.OffsetCommitValue) }},
		{"GroupMetadataKey", func() kmsgMessage { return new(kmsg.GroupMetadataKey) }},
		{"GroupMetadataValue", func() kmsgMessage { return new(kmsg.GroupMetadataValue) }},
		{"TransactionLogKey", func() kmsgMessage { return new(kmsg.TxnMetadataKey) }},
		{"TransactionLogValue", func() kmsgMessage { return new(kmsg.TxnMetadataValue) }},
		{"ConsumerProtocolSubscription", func() kmsgMessage { return new(kmsg.ConsumerMemberMetadata) }},
		{"ConsumerProtocolAssignment", func() kmsgMessage { return new(kmsg.ConsumerMemberAssignment) }},
		{"EndTxnMarker", func() kmsgMessage { return new(kmsg.EndTxnMarker) }},
		{"LeaderChangeMessage", func() kmsgMessage { return new(kmsg.LeaderChangeMessage) }},
	} {
		t.Run(c.message, func(t *testing.T) {
			t.Parallel()
			s := newMessage(t, c.message).Schema()
			for v := s.Min; v <= s.Max; v++ {
				first := v
				if s.Type == "coordinator-key" {
					first = s.APIKey
				}
				prefix := binary.BigEndian.AppendUint16(nil, uint16(first))
				for seed := range uint64(kmsgRounds) {
					kmsgReads(t, newMessage(t, c.message), v, seed, prefix, c.kmsg())
				}
			}
		})
	}
}
