package records

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// javaRecords are what testdata/java-*.bin hold: batches that Kafka's own
// MemoryRecords wrote (testdata/JavaBatches.java), with its default block sizes
// and levels, and once with zstd's level 22 and its window of 128 MiB.
func javaRecords(n int) []Record {
	out := make([]Record, n)
	for i := range out {
		r := Record{Offset: int64(i), Timestamp: testNow + int64(i)}
		if i%2 == 1 {
			r.Timestamp = testNow - int64(i)
		}
		if i%3 != 0 {
			r.Key = fmt.Appendf(nil, "key-%d", i)
		}
		switch i {
		case 1:
		case 2:
			r.Value = []byte{}
		default:
			r.Value = bytes.Repeat(fmt.Appendf(nil, "value %d of a record. ", i), 1+i)
		}
		if i%4 == 3 {
			r.Headers = []Header{{Key: "h", Value: []byte("1")}, {Key: "h"}, {Key: "", Value: []byte{}}}
		}
		out[i] = r
	}
	return out
}

func TestReadsWhatJavaWrites(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/java-*.bin")
	if err != nil || len(files) != 6 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		b, err := ValidateProduce(raw, DefaultValidateOptions(13, testNow))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if want := strings.TrimSuffix(strings.TrimPrefix(file, "testdata/java-"), ".bin"); !strings.HasPrefix(want, b.Codec().String()) {
			t.Errorf("%s: codec %s", file, b.Codec())
		}
		if diff := diffRecords(javaRecords(int(b.Count)), collect(t, b), 0); diff != "" {
			t.Errorf("%s: %s", file, diff)
		}
		b.Release()
	}
}

func TestWritesTheBytesThatJavaWrites(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("testdata/java-none.bin")
	if err != nil {
		t.Fatal(err)
	}
	if got := build(t, producerSpec(CodecNone), javaRecords(4)...); !bytes.Equal(got, want) {
		t.Errorf("\n%x, want\n%x", got, want)
	}
}

func TestFranzGoReadsWhatWeWrite(t *testing.T) {
	t.Parallel()
	for _, c := range allCodecs {
		spec := BatchSpec{BaseOffset: 500, LeaderEpoch: 3, Codec: c}
		partition := kmsg.NewFetchResponseTopicPartition()
		partition.RecordBatches = build(t, spec, edge()...)
		got, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Topic: "t", Offset: 500}, &partition, kgo.DefaultDecompressor(), nil)
		if got.Err != nil || next != 506 {
			t.Fatalf("%s: next offset %d, %v", c, next, got.Err)
		}
		var rs []Record
		for _, r := range got.Records {
			if r.LeaderEpoch != 3 {
				t.Errorf("%s: leader epoch %d", c, r.LeaderEpoch)
			}
			rec := Record{Offset: r.Offset - 500, Timestamp: r.Timestamp.UnixMilli(), Key: r.Key, Value: r.Value}
			for _, h := range r.Headers {
				rec.Headers = append(rec.Headers, Header(h))
			}
			rs = append(rs, rec)
		}
		if diff := diffRecords(edge(), rs, 0); diff != "" {
			t.Errorf("%s: %s", c, diff)
		}
	}
}

func TestFranzGoDropsWhatOurMarkerAborts(t *testing.T) {
	t.Parallel()
	spec := BatchSpec{LeaderEpoch: 1, Transactional: true, HasProducer: true, ProducerID: 8, ProducerEpoch: 2}
	for _, commit := range []bool{true, false} {
		raw := build(t, spec, three()...)
		marker := spec
		marker.BaseOffset = 3
		raw, err := AppendEndTxnMarker(raw, marker, testNow, EndTxnMarker{Commit: commit, CoordinatorEpoch: 4})
		if err != nil {
			t.Fatal(err)
		}
		partition := kmsg.NewFetchResponseTopicPartition()
		partition.RecordBatches = raw
		want := 3
		if !commit {
			aborted := kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
			aborted.ProducerID = 8
			partition.AbortedTransactions = append(partition.AbortedTransactions, aborted)
			want = 0
		}
		opts := kgo.ProcessFetchPartitionOpts{Topic: "t", IsolationLevel: kgo.ReadCommitted()}
		got, next := kgo.ProcessFetchPartition(opts, &partition, kgo.DefaultDecompressor(), nil)
		if got.Err != nil || len(got.Records) != want || next != 4 {
			t.Errorf("commit %t: %d records, next offset %d, %v", commit, len(got.Records), next, got.Err)
		}
	}
}

func TestKmsgReadsHeaderAndRecords(t *testing.T) {
	t.Parallel()
	spec := BatchSpec{BaseOffset: 9, LeaderEpoch: 1, Transactional: true, HasProducer: true, ProducerID: 5, ProducerEpoch: 6, BaseSequence: 7}
	raw := build(t, spec, edge()...)
	var b kmsg.RecordBatch
	if err := b.ReadFrom(raw); err != nil {
		t.Fatal(err)
	}
	want := kmsg.RecordBatch{
		FirstOffset: 9, Length: int32(len(raw) - 12), PartitionLeaderEpoch: 1, Magic: 2, CRC: int32(checksum(raw)),
		Attributes: attrTransactional, LastOffsetDelta: 5, FirstTimestamp: testNow, MaxTimestamp: testNow + 5,
		ProducerID: 5, ProducerEpoch: 6, FirstSequence: 7, NumRecords: 6,
	}
	if diff := cmp.Diff(want, b, cmpopts.IgnoreFields(kmsg.RecordBatch{}, "Records")); diff != "" {
		t.Error(diff)
	}
	var rs []Record
	for in := b.Records; len(in) > 0; {
		size, at := varint(in, 0)
		var r kmsg.Record
		if err := r.ReadFrom(in[:at+int(size)]); err != nil {
			t.Fatal(err)
		}
		rec := Record{Offset: int64(r.OffsetDelta), Timestamp: testNow + r.TimestampDelta64, Key: r.Key, Value: r.Value}
		for _, h := range r.Headers {
			rec.Headers = append(rec.Headers, Header(h))
		}
		rs = append(rs, rec)
		in = in[at+int(size):]
	}
	if diff := diffRecords(edge(), rs, 0); diff != "" {
		t.Error(diff)
	}
}

func TestKafkaGoReadsWhatWeWriteAndBack(t *testing.T) {
	t.Parallel()
	for _, c := range allCodecs {
		raw := build(t, BatchSpec{BaseOffset: 40, Codec: c}, edge()...)
		var set protocol.RecordSet
		framed := append(binary.BigEndian.AppendUint32(nil, uint32(len(raw))), raw...)
		if _, err := set.ReadFrom(bytes.NewReader(framed)); err != nil {
			t.Fatalf("%s: %v", c, err)
		}
		rs := readKafkaGo(t, set.Records)
		for i := range rs {
			rs[i].Offset -= 40
		}
		// kafka-go holds time -1 to be none and an empty header value to be null.
		if diff := diffRecords(edge(), rs, sameEmpty|anyTime); diff != "" {
			t.Errorf("%s: %s", c, diff)
		}

		var out bytes.Buffer
		back := protocol.RecordSet{Version: 2, Attributes: protocol.Attributes(c), Records: kafkaGoRecords(javaRecords(20))}
		if _, err := back.WriteTo(&out); err != nil {
			t.Fatalf("%s: %v", c, err)
		}
		b, err := ValidateProduce(out.Bytes()[4:], DefaultValidateOptions(9, testNow))
		if err != nil {
			t.Fatalf("%s: kafka-go's batch is refused: %v", c, err)
		}
		if diff := diffRecords(javaRecords(20), collect(t, b), sameEmpty); diff != "" {
			t.Errorf("%s: %s", c, diff)
		}
		b.Release()
	}
}

func kafkaGoRecords(rs []Record) protocol.RecordReader {
	out := make([]protocol.Record, len(rs))
	for i, r := range rs {
		out[i] = protocol.Record{Time: msTime(r.Timestamp)}
		if r.Key != nil {
			out[i].Key = protocol.NewBytes(r.Key)
		}
		if r.Value != nil {
			out[i].Value = protocol.NewBytes(r.Value)
		}
		for _, h := range r.Headers {
			out[i].Headers = append(out[i].Headers, protocol.Header(h))
		}
	}
	return protocol.NewRecordReader(out...)
}

func readKafkaGo(t *testing.T, in protocol.RecordReader) []Record {
	t.Helper()
	var out []Record
	for {
		r, err := in.ReadRecord()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		rec := Record{Offset: r.Offset, Timestamp: r.Time.UnixMilli()}
		for from, to := range map[protocol.Bytes]*[]byte{r.Key: &rec.Key, r.Value: &rec.Value} {
			if from == nil {
				continue
			}
			if *to, err = protocol.ReadAll(from); err != nil {
				t.Fatal(err)
			}
		}
		for _, h := range r.Headers {
			rec.Headers = append(rec.Headers, Header(h))
		}
		out = append(out, cloneRecord(rec))
	}
}

func msTime(ms int64) time.Time { return time.UnixMilli(ms) }
