package main

import (
	"fmt"
	"net"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/wire"
)

// benchCase is one message with both codecs' ways of reading and writing it.
type benchCase struct {
	name                                   string
	size                                   int
	decode, kmsgDecode, encode, kmsgEncode func()
}

func cases() []benchCase {
	return []benchCase{
		header(),
		newCase[generated.ApiVersionsResponse]("ApiVersionsResponse v3", apiVersions(), 3, func() kmsgMessage { return kmsg.NewPtrApiVersionsResponse() }),
		newCase[generated.MetadataResponse]("MetadataResponse v12, 1,000 × 10", metadata(), 12, func() kmsgMessage { return kmsg.NewPtrMetadataResponse() }),
		newCase[generated.ProduceRequest]("ProduceRequest v9, 10 × 16 KiB", produce(), 9, func() kmsgMessage { return kmsg.NewPtrProduceRequest() }),
		newCase[generated.FetchRequest]("FetchRequest v12, 100 partitions", fetchRequest(), 12, func() kmsgMessage { return kmsg.NewPtrFetchRequest() }),
		newCase[generated.FetchResponse]("FetchResponse v12, 100 × 16 KiB", fetchResponse(), 12, func() kmsgMessage { return kmsg.NewPtrFetchResponse() }),
		newCase[generated.OffsetCommitRequest]("OffsetCommitRequest v8, 100 partitions", offsetCommit(), 8, func() kmsgMessage { return kmsg.NewPtrOffsetCommitRequest() }),
		newCase[generated.JoinGroupResponse]("JoinGroupResponse v9, 100 members", joinGroup(), 9, func() kmsgMessage { return kmsg.NewPtrJoinGroupResponse() }),
	}
}

// kmsgMessage is what kmsg's requests and responses have in common.
type kmsgMessage interface {
	SetVersion(int16)
	ReadFrom([]byte) error
	AppendTo([]byte) []byte
}

// newCase measures decoding into a new message each time, as a server or client
// does whose messages outlive the next one, and encoding into a warm buffer.
func newCase[T any, P interface {
	*T
	generated.Message
}](name string, m generated.Message, version int16, newTheirs func() kmsgMessage) benchCase {
	raw := must(m.Append(nil, version))
	theirs := newTheirs()
	theirs.SetVersion(version)
	check(theirs.ReadFrom(raw))
	var w wire.Writer
	w.KeepSegments()
	var parts net.Buffers
	dst := make([]byte, 0, 2*len(raw))
	return benchCase{
		name: name, size: len(raw),
		decode: func() { must(P(new(T)).Decode(version, raw)) },
		kmsgDecode: func() {
			into := newTheirs()
			into.SetVersion(version)
			check(into.ReadFrom(raw))
		},
		encode: func() {
			w.Reset()
			check(m.Encode(&w, version))
			parts = w.Buffers(parts[:0])
		},
		kmsgEncode: func() { dst = theirs.AppendTo(dst[:0]) },
	}
}

// header is the smallest exchange: a request header and an ApiVersionsRequest.
func header() benchCase {
	h := generated.RequestHeader{RequestApiKey: 18, RequestApiVersion: 3, CorrelationId: 7, ClientId: wire.String("console-producer")}
	body := generated.ApiVersionsRequest{ClientSoftwareName: "apache-kafka-java", ClientSoftwareVersion: "4.4.0"}
	raw := must(body.Append(must(h.Append(nil, 2)), 3))
	theirs := kmsg.NewPtrApiVersionsRequest()
	theirs.SetVersion(3)
	theirs.ClientSoftwareName, theirs.ClientSoftwareVersion = body.ClientSoftwareName, body.ClientSoftwareVersion
	formatter := kmsg.NewRequestFormatter(kmsg.FormatterClientID("console-producer"))
	var w wire.Writer
	dst := make([]byte, 0, 512)
	return benchCase{
		name: "RequestHeader v2 + ApiVersionsRequest v3", size: len(raw),
		decode: func() {
			var inHeader generated.RequestHeader
			rest := must(inHeader.Decode(2, raw))
			must(new(generated.ApiVersionsRequest).Decode(3, rest))
		},
		kmsgDecode: func() {
			into := kmsg.NewPtrApiVersionsRequest()
			into.SetVersion(3)
			check(into.ReadFrom(kmsgHeader(raw)))
		},
		encode: func() {
			w.Reset()
			at := w.BeginFrame()
			check(h.Encode(&w, 2))
			check(body.Encode(&w, 3))
			w.EndFrame(at)
		},
		kmsgEncode: func() { dst = formatter.AppendRequest(dst[:0], theirs, 7) },
	}
}

var sink struct {
	key, version int16
	correlation  int32
	client       *string
}

// kmsgHeader reads a request header as a server built on kmsg does; kmsg has no
// message for it.
func kmsgHeader(raw []byte) []byte {
	b := kbin.Reader{Src: raw}
	sink.key, sink.version, sink.correlation = b.Int16(), b.Int16(), b.Int32()
	sink.client = b.NullableString()
	kmsg.SkipTags(&b)
	return b.Src
}

func apiVersions() generated.Message {
	m := generated.DefaultApiVersionsResponse()
	for _, a := range generated.APIs() {
		if a.Valid() {
			m.ApiKeys = append(m.ApiKeys, generated.ApiVersionsResponseApiVersion{ApiKey: a.Key, MinVersion: a.Min, MaxVersion: a.Max})
		}
	}
	return &m
}

func metadata() generated.Message {
	m := generated.DefaultMetadataResponse()
	for i := range int32(3) {
		m.Brokers = append(m.Brokers, generated.MetadataResponseBroker{NodeId: i, Host: fmt.Sprintf("broker-%d.example", i), Port: 9092})
	}
	m.ClusterId = wire.String("abcdefghijklmnopqrstuv")
	for i := range 1000 {
		t := generated.DefaultMetadataResponseTopic()
		t.Name, t.TopicId[0], t.TopicId[1] = wire.String(fmt.Sprintf("topic-%04d", i)), byte(i), byte(i>>8)
		for p := range int32(10) {
			part := generated.DefaultMetadataResponsePartition()
			part.PartitionIndex, part.LeaderId, part.LeaderEpoch = p, p%3, 5
			part.ReplicaNodes, part.IsrNodes, part.OfflineReplicas = []int32{0, 1, 2}, []int32{0, 1, 2}, []int32{}
			t.Partitions = append(t.Partitions, part)
		}
		m.Topics = append(m.Topics, t)
	}
	return &m
}

func recordBytes() []byte {
	b := make([]byte, 16<<10)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

func produce() generated.Message {
	m := generated.DefaultProduceRequest()
	m.Acks, m.TimeoutMs = -1, 30000
	t := generated.DefaultProduceRequestTopicProduceData()
	t.Name = "orders"
	for p := range int32(10) {
		t.PartitionData = append(t.PartitionData, generated.ProduceRequestPartitionProduceData{Index: p, Records: recordBytes()})
	}
	m.TopicData = append(m.TopicData, t)
	return &m
}

func fetchRequest() generated.Message {
	m := generated.DefaultFetchRequest()
	m.MaxWaitMs, m.MinBytes, m.SessionId, m.SessionEpoch = 500, 1, 17, 3
	t := generated.DefaultFetchRequestFetchTopic()
	t.Topic = "orders"
	for p := range int32(100) {
		part := generated.DefaultFetchRequestFetchPartition()
		part.Partition, part.CurrentLeaderEpoch, part.FetchOffset, part.PartitionMaxBytes = p, 5, 1<<40, 1<<20
		t.Partitions = append(t.Partitions, part)
	}
	m.Topics = append(m.Topics, t)
	return &m
}

func fetchResponse() generated.Message {
	m := generated.DefaultFetchResponse()
	m.SessionId = 17
	t := generated.DefaultFetchResponseFetchableTopicResponse()
	t.Topic = "orders"
	for p := range int32(100) {
		part := generated.DefaultFetchResponsePartitionData()
		part.PartitionIndex, part.HighWatermark, part.LastStableOffset, part.LogStartOffset = p, 1<<40, 1<<40, 7
		part.Records = recordBytes()
		t.Partitions = append(t.Partitions, part)
	}
	m.Responses = append(m.Responses, t)
	return &m
}

func offsetCommit() generated.Message {
	m := generated.DefaultOffsetCommitRequest()
	m.GroupId, m.GenerationIdOrMemberEpoch, m.MemberId = "billing", 42, "consumer-1-3f2b9f0e-1c5d-4a58-9d7e-0a1b2c3d4e5f"
	t := generated.DefaultOffsetCommitRequestTopic()
	t.Name = "orders"
	for p := range int32(100) {
		part := generated.DefaultOffsetCommitRequestPartition()
		part.PartitionIndex, part.CommittedOffset, part.CommittedLeaderEpoch = p, 1<<40, 5
		part.CommittedMetadata = wire.String("host-17/worker-3")
		t.Partitions = append(t.Partitions, part)
	}
	m.Topics = append(m.Topics, t)
	return &m
}

func joinGroup() generated.Message {
	m := generated.DefaultJoinGroupResponse()
	m.GenerationId, m.ProtocolType, m.ProtocolName = 42, wire.String("consumer"), wire.String("range")
	m.Leader, m.MemberId = "consumer-1", "consumer-1"
	for i := range 100 {
		member := generated.DefaultJoinGroupResponseMember()
		member.MemberId = fmt.Sprintf("consumer-%d-3f2b9f0e-1c5d-4a58-9d7e-0a1b2c3d4e5f", i)
		member.Metadata = []byte("\x00\x01\x00\x00\x00\x01\x00\x06orders\xff\xff\xff\xff\x00\x00\x00\x00")
		m.Members = append(m.Members, member)
	}
	return &m
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
