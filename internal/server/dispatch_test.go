package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/handlers"
	"kafka-iggy-bridge/internal/telemetry"
	"kafka-iggy-bridge/internal/wire"
)

// endpoints is a registry for tests.
type endpoints map[int16]handlers.Endpoint

func (e endpoints) Lookup(key int16) (handlers.Endpoint, bool) {
	ep, ok := e[key]
	return ep, ok
}

// kafkaEndpoints serves a few APIs as simply as can be.
func kafkaEndpoints() endpoints {
	return endpoints{
		generated.KeyApiVersions: {Min: 0, Max: 5, Handle: func(_ context.Context, req *handlers.Request) (generated.Message, error) {
			m := generated.DefaultApiVersionsResponse()
			if req.Version >= 3 && req.Body.(*generated.ApiVersionsRequest).ClientSoftwareName == "" {
				m.ErrorCode = 42
			}
			return &m, nil
		}},
		generated.KeyMetadata: {Min: 0, Max: 13, Handle: func(_ context.Context, req *handlers.Request) (generated.Message, error) {
			m := generated.DefaultMetadataResponse()
			m.ClusterId = wire.String("client:" + req.ClientID)
			return &m, nil
		}},
		generated.KeyProduce: {Min: 3, Max: 13, Handle: func(_ context.Context, req *handlers.Request) (generated.Message, error) {
			if req.Body.(*generated.ProduceRequest).Acks == 0 {
				return nil, nil
			}
			m := generated.DefaultProduceResponse()
			return &m, nil
		}},
		generated.KeyHeartbeat: {Min: 0, Max: 4, Handle: func(context.Context, *handlers.Request) (generated.Message, error) {
			panic("as asked")
		}},
	}
}

func startKafka(t *testing.T) *harness {
	t.Helper()
	log := logrus.New()
	log.SetOutput(&logLines{})
	return start(t, Options{}, NewDispatcher(kafkaEndpoints(), log, telemetry.NewMetrics("test")))
}

// kafkaFrame is a framed request: key, version, correlation id and what is given
// in hexadecimal, blanks ignored.
func kafkaFrame(t *testing.T, key, version int16, correlation int32, rest string) []byte {
	t.Helper()
	tail, err := hex.DecodeString(strings.ReplaceAll(rest, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(8+len(tail)))
	b = binary.BigEndian.AppendUint16(b, uint16(key))
	b = binary.BigEndian.AppendUint16(b, uint16(version))
	b = binary.BigEndian.AppendUint32(b, uint32(correlation))
	return append(b, tail...)
}

const (
	noClient      = "ffff "   // client id null, header v1
	noClientTags  = "ffff 00" // client id null, no tags, header v2
	softwareNamed = " 02 61 02 31 00"
	softwareEmpty = " 01 01 00"
)

func TestApiVersionsThatIsTooNew(t *testing.T) {
	t.Parallel()
	const want = "0023 00000001 0012 0000 0005"
	cases := map[string]struct {
		version int16
		rest    string
	}{
		"version 6, no body":                  {6, noClientTags},
		"version 99, body as of version 3":    {99, noClientTags + softwareNamed},
		"version 99, garbage for a body":      {99, noClientTags + "ff ff ff ff ff"},
		"version 32767":                       {math.MaxInt16, noClientTags},
		"version -1, whose header is a v1":    {-1, noClient},
		"version 99, a client id and one tag": {99, "0001 63 01 07 03 010203"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := startKafka(t)
			c := h.dial()
			c.send(kafkaFrame(t, generated.KeyApiVersions, tc.version, 7, tc.rest)...)
			n, body := c.answer()
			if got, plain := hex.EncodeToString(body), strings.ReplaceAll(want, " ", ""); n != 7 || got != plain {
				t.Fatalf("answer %d %s, want 7 %s", n, got, plain)
			}
			c.send(kafkaFrame(t, generated.KeyApiVersions, 3, 8, noClientTags+softwareNamed)...)
			if n, body := c.answer(); n != 8 || binary.BigEndian.Uint16(body) != 0 {
				t.Fatalf("the follow-up in version 3: answer %d %x", n, body)
			}
		})
	}
}

func TestApiVersionsAnswersHaveAHeaderWithoutTags(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		version int16
		rest    string
		code    uint16
	}{
		"version 0":                          {0, noClient, 0},
		"version 3":                          {3, noClientTags + softwareNamed, 0},
		"version 3, spare bytes behind":      {3, noClientTags + softwareNamed + "ffff", 0},
		"version 4":                          {4, noClientTags + softwareNamed, 0},
		"version 3, without software's name": {3, noClientTags + softwareEmpty, 42},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startKafka(t).dial()
			c.send(kafkaFrame(t, generated.KeyApiVersions, tc.version, 5, tc.rest)...)
			n, body := c.answer()
			m := generated.DefaultApiVersionsResponse()
			rest, err := m.Decode(tc.version, body)
			if n != 5 || err != nil || len(rest) != 0 || uint16(m.ErrorCode) != tc.code {
				t.Errorf("answer %d %x: code %d, %d bytes left, %v", n, body, m.ErrorCode, len(rest), err)
			}
		})
	}
}

func TestHeadersOfManyKinds(t *testing.T) {
	t.Parallel()
	const allTopics = " 00 00 00 00" // Metadata v12: null topics, two flags, no tags
	cases := map[string]struct {
		correlation int32
		rest        string
		client      string
	}{
		"null client id":               {1, noClientTags + allTopics, ""},
		"null client id, one tag":      {2, "ffff 01 07 03 010203" + allTopics, ""},
		"client id is not compact":     {3, "0003 616263 00" + allTopics, "abc"},
		"correlation id -1":            {-1, noClientTags + allTopics, ""},
		"correlation id the least":     {math.MinInt32, noClientTags + allTopics, ""},
		"correlation id of a re-login": {math.MaxInt32, noClientTags + allTopics, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startKafka(t).dial()
			request := kafkaFrame(t, generated.KeyMetadata, 12, tc.correlation, tc.rest)
			c.send(append(request, request...)...) // the same correlation id twice
			for range 2 {
				n, body := c.answer()
				if int32(n) != tc.correlation || body[0] != 0 {
					t.Fatalf("answer %d, tags of the header %x; want %d and none", int32(n), body[0], tc.correlation)
				}
				m := generated.DefaultMetadataResponse()
				if _, err := m.Decode(12, body[1:]); err != nil {
					t.Fatal(err)
				}
				if got := m.ClusterId.OrEmpty(); got != "client:"+tc.client {
					t.Errorf("the handler saw client id %q", got)
				}
			}
		})
	}
}

func TestRequestsThatEndTheirConnection(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		key, version int16
		rest         string
		api, reason  string
	}{
		"key that Kafka does not have":               {95, 0, noClient, "api=95", "unsupported"},
		"negative key":                               {-1, 0, noClient, "api=unknown", "unsupported"},
		"key that Kafka removed":                     {generated.KeyControlledShutdown, 0, noClient, "api=ControlledShutdown", "unsupported"},
		"key that is not served here":                {generated.KeyVote, 0, noClientTags, "api=Vote", "unsupported"},
		"version above":                              {generated.KeyMetadata, 14, noClientTags, "version=14", "unsupported"},
		"negative version":                           {generated.KeyMetadata, -1, noClient, "version=-1", "unsupported"},
		"version that is advertised but gone":        {generated.KeyProduce, 2, noClient, "api=Produce", "unsupported"},
		"ApiVersions too new, header without tags":   {generated.KeyApiVersions, 99, "ffff", "api=ApiVersions", "malformed"},
		"ApiVersions 3, body cut short":              {generated.KeyApiVersions, 3, noClientTags + "02 61", "api=ApiVersions", "malformed"},
		"header cut short":                           {generated.KeyMetadata, 1, "00", "api=Metadata", "malformed"},
		"client id longer than the frame":            {generated.KeyMetadata, 1, "7fff 61", "api=Metadata", "malformed"},
		"Metadata v1 with 2^31-2 topics":             {generated.KeyMetadata, 1, noClient + "7ffffffe", "api=Metadata", "malformed"},
		"Metadata v9 with a compact count of 2^32-1": {generated.KeyMetadata, 9, noClientTags + "ffffffff0f", "api=Metadata", "malformed"},
		"varint of six bytes":                        {generated.KeyMetadata, 9, noClientTags + "ffffffffff01", "api=Metadata", "malformed"},
		"Metadata v0 with null topics":               {generated.KeyMetadata, 0, noClient + "ffffffff", "api=Metadata", "malformed"},
		"string length -2":                           {generated.KeyMetadata, 1, noClient + "00000001 fffe", "api=Metadata", "malformed"},
		"records longer than the frame":              {generated.KeyProduce, 3, noClient + "ffff 0001 00000000 00000001 0001 61 00000001 00000000 7fffffff", "api=Produce", "malformed"},
		"handler that panics":                        {generated.KeyHeartbeat, 0, noClient + "0001 61 00000000 0001 62", "panic", "as asked"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := startKafka(t)
			other, c := h.dial(), h.dial()
			c.send(kafkaFrame(t, tc.key, tc.version, 1, tc.rest)...)
			c.expectClosed()
			lines := h.log.containing("connection closed")
			if len(lines) != 1 || !strings.Contains(lines[0], tc.api) || !strings.Contains(lines[0], tc.reason) {
				t.Errorf("log lines %q, want one with %q and %q", lines, tc.api, tc.reason)
			}
			other.send(kafkaFrame(t, generated.KeyApiVersions, 0, 9, noClient)...)
			if n, _ := other.answer(); n != 9 {
				t.Errorf("the other connection: answer to %d", n)
			}
		})
	}
}

func TestProduceWithoutAcksHasNoAnswer(t *testing.T) {
	t.Parallel()
	c := startKafka(t).dial()
	c.send(kafkaFrame(t, generated.KeyProduce, 7, 1, noClient+"ffff 0000 00000000 00000000")...)
	c.send(kafkaFrame(t, generated.KeyProduce, 7, 2, noClient+"ffff ffff 00000000 00000000")...)
	if n, _ := c.answer(); n != 2 {
		t.Errorf("answer to %d, want none to the first", n)
	}
}

// segmentsOf a response joined.
func segmentsOf(r Response) []byte { return bytes.Join(r.Segments, nil) }

func TestRecordsAreNotCopiedIntoTheAnswer(t *testing.T) {
	t.Parallel()
	records := bytes.Repeat([]byte{'r'}, 64<<10)
	m := generated.DefaultFetchResponse()
	partition := generated.DefaultFetchResponsePartitionData()
	partition.Records = records
	topic := generated.DefaultFetchResponseFetchableTopicResponse()
	topic.Partitions = append(topic.Partitions, partition, partition)
	m.Responses = append(m.Responses, topic)
	api, _ := generated.LookupAPI(generated.KeyFetch)
	c := &call{api: api}
	c.req.Header.CorrelationId = 77
	resp, err := encode(c, &reply{message: &m, version: 12})
	if err != nil {
		t.Fatal(err)
	}
	shared := 0
	for _, s := range resp.Segments {
		if len(s) > 0 && &s[0] == &records[0] {
			shared++
		}
	}
	if shared != 2 {
		t.Errorf("%d segments are the records themselves, want 2", shared)
	}
	whole := segmentsOf(resp)
	if size := int(binary.BigEndian.Uint32(whole)); size != len(whole)-4 || size != resp.size()-4 {
		t.Errorf("the frame says %d of %d bytes", size, len(whole)-4)
	}
	back := generated.DefaultFetchResponse()
	if _, err := back.Decode(12, whole[9:]); err != nil || !bytes.Equal(back.Responses[0].Partitions[1].Records, records) {
		t.Errorf("the answer does not decode to what was encoded: %v", err)
	}
	resp.release()
}

func TestTheFirstErrorCodeOfAnAnswerIsCounted(t *testing.T) {
	t.Parallel()
	top := generated.DefaultApiVersionsResponse()
	top.ErrorCode = 35
	nested := generated.DefaultProduceResponse()
	good, bad := generated.DefaultProduceResponsePartitionProduceResponse(), generated.DefaultProduceResponsePartitionProduceResponse()
	bad.ErrorCode = 87
	topic := generated.DefaultProduceResponseTopicProduceResponse()
	topic.PartitionResponses = append(topic.PartitionResponses, good, bad)
	nested.Responses = append(nested.Responses, topic)
	none := generated.DefaultFetchResponse()
	var null *generated.FetchResponse
	for name, tc := range map[string]struct {
		message generated.Message
		want    int16
	}{
		"at the top": {&top, 35}, "in a partition": {&nested, 87}, "nowhere": {&none, 0}, "null message": {null, 0},
	} {
		if got := firstErrorCode(tc.message); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

func TestAnEncodingThatFailsEndsTheConnection(t *testing.T) {
	t.Parallel()
	log := logrus.New()
	log.SetOutput(&logLines{})
	registry := endpoints{generated.KeyMetadata: {Min: 0, Max: 13,
		Handle: func(context.Context, *handlers.Request) (generated.Message, error) {
			m := generated.DefaultMetadataResponse()
			m.ClusterId = wire.String(strings.Repeat("x", 40_000))
			return &m, nil
		}}}
	d := NewDispatcher(registry, log, telemetry.NewMetrics("test"))
	frame := kafkaFrame(t, generated.KeyMetadata, 12, 1, noClientTags+"00 00 00 00")[4:]
	_, err := d.Dispatch(t.Context(), &Peer{}, frame)
	var request *RequestError
	if !errors.As(err, &request) || request.API != "Metadata" || request.Version != 12 || errors.Is(err, ErrMalformed) {
		t.Errorf("error %v", err)
	}
}
