package generated_test

import (
	"fmt"
	"testing"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/sample"
	"kafka-iggy-bridge/internal/wire"
)

// metadataResponse returns a cluster of so many topics with ten partitions of
// three replicas each.
func metadataResponse(topics int) generated.Message {
	m := generated.DefaultMetadataResponse()
	m.ClusterId = wire.String("cluster")
	for i := range int32(3) {
		b := generated.DefaultMetadataResponseBroker()
		b.NodeId, b.Host, b.Port = i, "broker.example", 9092
		m.Brokers = append(m.Brokers, b)
	}
	for i := range topics {
		topic := generated.DefaultMetadataResponseTopic()
		topic.Name, topic.TopicId = wire.String(fmt.Sprintf("topic-%04d", i)), wire.UUID{byte(i >> 8), byte(i), 1}
		for p := range int32(10) {
			part := generated.DefaultMetadataResponsePartition()
			part.PartitionIndex, part.LeaderId, part.LeaderEpoch = p, p%3, 7
			part.ReplicaNodes, part.IsrNodes = []int32{0, 1, 2}, []int32{0, 1, 2}
			topic.Partitions = append(topic.Partitions, part)
		}
		m.Topics = append(m.Topics, topic)
	}
	return &m
}

// offsetCommitRequest returns a commit of so many partitions of one topic.
func offsetCommitRequest(partitions int) generated.Message {
	m := generated.DefaultOffsetCommitRequest()
	m.GroupId, m.MemberId, m.GenerationIdOrMemberEpoch = "group", "member-1", 5
	topic := generated.DefaultOffsetCommitRequestTopic()
	topic.Name = "topic"
	for i := range partitions {
		p := generated.DefaultOffsetCommitRequestPartition()
		p.PartitionIndex, p.CommittedOffset, p.CommittedMetadata = int32(i), int64(1000*i), wire.String("metadata")
		topic.Partitions = append(topic.Partitions, p)
	}
	m.Topics = append(m.Topics, topic)
	return &m
}

// The tests below count allocations of the whole process, so nothing may run in
// parallel with them.

// TestDecodeAllocations: decoding takes at most a tenth of kmsg's allocations
// where messages are made of many small structs.
func TestDecodeAllocations(t *testing.T) {
	for _, c := range []struct {
		name    string
		message generated.Message
		version int16
		kmsg    kmsgMessage
	}{
		{"Metadata of 1,000 topics with 10 partitions", metadataResponse(1000), 12, kmsgResponse(generated.KeyMetadata, 12)},
		{"OffsetCommit of 100 partitions", offsetCommitRequest(100), 8, kmsgRequest(generated.KeyOffsetCommit, 8)},
	} {
		t.Run(c.name, func(t *testing.T) {
			frame, err := c.message.Append(nil, c.version)
			if err != nil {
				t.Fatal(err)
			}
			theirs := testing.AllocsPerRun(10, func() {
				if err := c.kmsg.ReadFrom(frame); err != nil {
					t.Error(err)
				}
			})
			m := newMessage(t, c.message.Schema().Name)
			ours := testing.AllocsPerRun(10, func() {
				if _, err := m.Decode(c.version, frame); err != nil {
					t.Error(err)
				}
			})
			t.Logf("%s v%d of %d bytes: %.0f allocations, kmsg %.0f", m.Schema().Name, c.version, len(frame), ours, theirs)
			if ours > theirs/10 {
				t.Errorf("%.0f allocations, kmsg makes %.0f; want a tenth at most", ours, theirs)
			}
		})
	}
}

// TestEncodeAllocations: encoding into a buffer that is large enough allocates
// nothing, in any version of any message.
func TestEncodeAllocations(t *testing.T) {
	for _, s := range generated.Schemas() {
		for v := s.Min; v <= s.Max; v++ {
			m := newMessage(t, s.Name)
			if err := sample.Fill(m, v, sample.NewRand(1, uint64(v)), sample.Options{UnknownTags: true}); err != nil {
				t.Fatal(err)
			}
			wantNoAllocation(t, m, v)
		}
	}
	for _, c := range []struct {
		message generated.Message
		version int16
	}{
		{metadataResponse(1000), 12},
		{offsetCommitRequest(100), 8},
		{withRecords(make([]byte, 16<<10))[generated.KeyProduce], 9},
		{withRecords(make([]byte, 16<<10))[generated.KeyFetch], 12},
	} {
		wantNoAllocation(t, c.message, c.version)
	}
}

func wantNoAllocation(t *testing.T, m generated.Message, v int16) {
	t.Helper()
	buf, err := m.Append(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	buf = make([]byte, 0, len(buf)+64) // room for moving tags
	if n := testing.AllocsPerRun(1, func() {
		if _, err := m.Append(buf, v); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%s v%d: appending allocates %.0f times", m.Schema().Name, v, n)
	}
	w := wire.NewWriter(buf)
	w.KeepSegments()
	if n := testing.AllocsPerRun(1, func() {
		w.Reset()
		if err := m.Encode(&w, v); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%s v%d: encoding with segments allocates %.0f times", m.Schema().Name, v, n)
	}
}
