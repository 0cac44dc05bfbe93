package generated_test

import (
	"bytes"
	"errors"
	"testing"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/sample"
	"kafka-iggy-bridge/internal/wire"
)

// TestRandomMessages: messages filled at random come back from their bytes, and
// from their JSON, with nothing lost, null and empty kept apart.
func TestRandomMessages(t *testing.T) {
	t.Parallel()
	const rounds = 40
	for _, s := range generated.Schemas() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			for v := s.Min; v <= s.Max; v++ {
				for seed := range uint64(rounds) {
					m := newMessage(t, s.Name)
					if err := sample.Fill(m, v, sample.NewRand(seed, uint64(v)), sample.Options{UnknownTags: true}); err != nil {
						t.Fatal(err)
					}
					raw, err := m.Append(nil, v)
					if err != nil {
						t.Fatalf("v%d, seed %d: %v", v, seed, err)
					}
					decoded := newMessage(t, s.Name)
					if rest, err := decoded.Decode(v, raw); err != nil || len(rest) > 0 {
						t.Fatalf("v%d, seed %d: decoding leaves %d bytes: %v", v, seed, len(rest), err)
					}
					wantBytes(t, decoded, v, raw, "decoded")
					checkJSON(t, m, v, raw)
				}
			}
		})
	}
}

// TestSegments: a writer that leaves large records where they are gives the same
// bytes as one that copies them.
func TestSegments(t *testing.T) {
	t.Parallel()
	large := bytes.Repeat([]byte("record"), wire.SegmentSize)
	for _, a := range []int16{generated.KeyProduce, generated.KeyFetch} {
		api, _ := generated.LookupAPI(a)
		for v := api.Min; v <= api.Max; v++ {
			m := withRecords(large)[a]
			flat, err := m.Append(nil, v)
			if err != nil {
				t.Fatal(err)
			}
			var w wire.Writer
			w.KeepSegments()
			if err := m.Encode(&w, v); err != nil {
				t.Fatal(err)
			}
			if got := bytes.Join(w.Buffers(nil), nil); !bytes.Equal(got, flat) {
				t.Errorf("%s v%d: segments differ from one buffer", m.Schema().Name, v)
			}
			if w.Len() != len(flat) || len(w.Bytes()) > len(flat)-2*len(large) {
				t.Errorf("%s v%d: %d bytes, %d of them copied; want %d and no records copied", m.Schema().Name, v, w.Len(), len(w.Bytes()), len(flat))
			}
		}
	}
}

// withRecords returns a request and a response with two partitions that hold
// records.
func withRecords(b []byte) map[int16]generated.Message {
	produce := generated.DefaultProduceRequest()
	data := generated.DefaultProduceRequestTopicProduceData()
	response := generated.DefaultFetchResponse()
	fetched := generated.DefaultFetchResponseFetchableTopicResponse()
	for range 2 {
		p := generated.DefaultProduceRequestPartitionProduceData()
		p.Records = b
		data.PartitionData = append(data.PartitionData, p)
		f := generated.DefaultFetchResponsePartitionData()
		f.Records = b
		fetched.Partitions = append(fetched.Partitions, f)
	}
	produce.TopicData = append(produce.TopicData, data)
	response.Responses = append(response.Responses, fetched)
	return map[int16]generated.Message{generated.KeyProduce: &produce, generated.KeyFetch: &response}
}

// TestUnknownVersions: what is outside the versions of a message is an error
// that says so, when decoding and when encoding.
func TestUnknownVersions(t *testing.T) {
	t.Parallel()
	for _, s := range generated.Schemas() {
		m := newMessage(t, s.Name)
		for _, v := range []int16{-32768, -1, s.Min - 1, s.Max + 1, 32767} {
			_, decoding := m.Decode(v, make([]byte, 1024))
			_, encoding := m.Append(nil, v)
			for _, err := range []error{decoding, encoding} {
				var e *wire.Error
				if !errors.As(err, &e) || e.Message != s.Name || e.Version != v {
					t.Errorf("%s v%d: got %v, want an error that names both", s.Name, v, err)
				}
			}
		}
	}
}
