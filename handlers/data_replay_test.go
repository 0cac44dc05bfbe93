package handlers

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/server/parking"
	"kafka-iggy-bridge/internal/wire"
)

// untagged lets structs be compared with their unknown tags.
var untagged = gocmp.AllowUnexported(wire.RawTags{})

// dataExchange is a recorded exchange of the data plane.
type dataExchange struct {
	adminExchange
	Parked bool
}

func recordedData(t *testing.T, file string) []dataExchange {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "testdata", "kafka-answers", file+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}()
	var list []dataExchange
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e dataExchange
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		if _, served := routes[e.APIKey]; served && e.decode() && e.Version <= routes[e.APIKey].max {
			list = append(list, e)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// knownDifferences are what the bridge answers otherwise than Kafka, and why, by
// a part of an exchange's name.
var knownDifferences = map[string]string{
	"length 2147483647 in place of":  "Kafka says -1 to a batch that is cut short, the bridge 87",
	"offset deltas 0, 2, 1, version": "Kafka takes what contradicts its log's offsets, the bridge refuses it",
	"offset deltas 1, 2, 3, version": "the same",
	"offset deltas 0, 0, 0, version": "the same",
	", cut short, version":           "Kafka says -1 to what cannot be decompressed, the bridge 87",
	"announced, plain records":       "the same",
	"unknown codec":                  "Kafka says -1, the bridge 76",
	"isolation level 7":              "Kafka says -1, the bridge 42",
	"isolation level 5":              "the same",
	"request limit -1":               "Kafka says -1, to the bridge it is no byte",
	"partition limit -1":             "the same",
	"request limit 100":              "Kafka fills the limit with a part of a batch, the bridge sends whole ones",
	"request limit 200":              "the same",
	"one partition twice":            "Kafka answers once, the bridge for each; see the tests of each handler",
	"one topic and partition twice":  "the same",
	"before.max.ms=1000":             "depends on the time of the recording; see TestProduceTimestamps",
	"record timestamp now":           "the same",
	"in the far future":              "the same",
}

// skipped reports whether the bridge knowingly answers otherwise.
func (e *dataExchange) skipped() bool {
	for part := range knownDifferences {
		if strings.Contains(e.Why, part) {
			return true
		}
	}
	return false
}

// place gives the recorded topics their present ids.
func place(id *wire.UUID, topic wire.UUID) {
	if !id.IsZero() && id.String() != madeUp {
		*id = topic
	}
}

func TestReplayProduce(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	anyTime := []string{"message.timestamp.after.max.ms", "9223372036854775807"}
	f.topic("ans-prod", 2, anyTime...)
	f.topic("ans-idem", 1, anyTime...)
	for name, configs := range map[string][]string{
		"compact":         {"cleanup.policy", "compact"},
		"compact,delete":  {"cleanup.policy", "compact,delete"},
		"log append time": {"message.timestamp.type", "LogAppendTime"},
		"exactly":         {"max.message.bytes", "200"},
		"one byte above":  {"max.message.bytes", "200"},
		"gzip within":     {"max.message.bytes", "100"},
		"plain above":     {"max.message.bytes", "100", "compression.type", "gzip"},
		"min.insync":      {"min.insync.replicas", "2"},
	} {
		f.topic(configured(name), 1, append(configs, anyTime...)...)
	}
	for _, file := range []string{"produce", "produce-batches", "produce-configs", "produce-idempotent"} {
		for _, e := range recordedData(t, file) {
			if e.APIKey != generated.KeyProduce || e.skipped() {
				continue
			}
			t.Run(file+"/"+e.Why, func(t *testing.T) { f.replayProduce(t, file, e) })
		}
	}
}

// TestReplaySequences sends the batches of idempotent producers to an empty
// topic, as they were sent to Kafka, so offsets and times are the same as well.
func TestReplaySequences(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	f.topic("ans-idem", 1, "message.timestamp.after.max.ms", "9223372036854775807", "message.timestamp.before.max.ms", "9223372036854775807")
	for _, e := range recordedData(t, "produce-sequences") {
		answer, _ := f.call(context.Background(), e.APIKey, e.Version, e.request)
		got, want := answer.(*generated.ProduceResponse), e.response.(*generated.ProduceResponse)
		for _, topic := range append(got.Responses, want.Responses...) {
			for i := range topic.PartitionResponses {
				topic.PartitionResponses[i].RecordErrors, topic.PartitionResponses[i].ErrorMessage = nil, wire.NullString{}
			}
		}
		if diff := gocmp.Diff(want, got, untagged); diff != "" {
			t.Errorf("%s: Kafka answered otherwise (-Kafka +bridge):\n%s", e.Why, diff)
		}
	}
}

// configured is the name of the topic for exchanges whose names begin so.
func configured(prefix string) string {
	return "for-" + strings.NewReplacer(",", ".", " ", "-").Replace(prefix)
}

type produceRow struct {
	Topic                    string
	Partition                int32
	Code                     int16
	Written, AppendTime      bool
	LogStart                 int64
	RecordErrors             []int32
	HasMessageOfRecordErrors bool
}

func (f *dataFixture) replayProduce(t *testing.T, file string, e dataExchange) {
	req := e.request.(*generated.ProduceRequest)
	for i := range req.TopicData {
		topic := &req.TopicData[i]
		name := "ans-prod"
		if file == "produce-configs" {
			for _, prefix := range []string{"compact,delete", "compact", "log append time", "exactly", "one byte above", "gzip within", "plain above", "min.insync"} {
				if strings.HasPrefix(e.Why, prefix) {
					name = configured(prefix)
					break
				}
			}
			topic.Name = name
		}
		now, err := f.b.Topic(context.Background(), name)
		if err != nil {
			t.Fatal(err)
		}
		place(&topic.TopicId, now.ID)
	}
	answer, _ := f.call(context.Background(), e.APIKey, e.Version, req)
	if answer == nil {
		t.Fatal("no answer")
	}
	got, want := produceTable(answer.(*generated.ProduceResponse)), produceTable(e.response.(*generated.ProduceResponse))
	if file == "produce-configs" {
		for i := range want {
			want[i].Topic = got[i].Topic
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("Kafka answered otherwise (-Kafka +bridge):\n%s", diff)
	}
}

// produceTable is what can be compared of an answer: Kafka's rows come in any
// order, and base offsets depend on what was taken before.
func produceTable(resp *generated.ProduceResponse) []produceRow {
	var rows []produceRow
	for _, t := range resp.Responses {
		for _, p := range t.PartitionResponses {
			r := produceRow{
				Topic: t.Name, Partition: p.Index, Code: p.ErrorCode, Written: p.BaseOffset >= 0,
				AppendTime: p.LogAppendTimeMs >= 0, LogStart: p.LogStartOffset,
			}
			for _, e := range p.RecordErrors {
				r.RecordErrors = append(r.RecordErrors, e.BatchIndex)
				r.HasMessageOfRecordErrors = p.ErrorMessage.Valid && e.BatchIndexErrorMessage.Valid
			}
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b produceRow) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Code, b.Code))
	})
	return rows
}

// answersLog makes the topics that the fetches were recorded on.
func answersLog(t *testing.T) *dataFixture {
	f := newData(t, nil)
	f.topic("ans-log", 3, "retention.ms", "3600000", "message.timestamp.after.max.ms", "9223372036854775807")
	f.topic("ans-empty", 1)
	f.topic("ans-times", 2)
	one := func(i int) record {
		return record{key: []byte(fmt.Sprint("k", i)), value: []byte(fmt.Sprint("v", i)), timestamp: 1700000000000 + int64(i)}
	}
	for i := range 10 {
		f.mustProduce("ans-log", 0, batch(records.BatchSpec{}, one(i)))
	}
	f.expire()
	f.await(func() bool {
		return f.offsetRows(7, offsetRequest(0, offsetPart{"ans-log", 0, -2, -1}))[0].Offset == 10
	})
	for i := 10; i < 20; i++ {
		f.mustProduce("ans-log", 0, batch(records.BatchSpec{}, one(i)))
	}
	for b := range 3 {
		list := make([]record, 3)
		for i := range list {
			list[i] = record{key: []byte(fmt.Sprint(string("abc"[i]), b)), value: []byte(fmt.Sprint(i + 1)), timestamp: 1700000000000 + int64(10*b+i)}
		}
		f.mustProduce("ans-log", 1, batch(records.BatchSpec{}, list...))
	}
	f.timed("ans-times", 0, []int64{100, 500, 900}, []int64{300, 200}, []int64{900}, []int64{-1}, []int64{50})
	f.timed("ans-times", 1, []int64{-1})
	return f
}

func TestReplayFetch(t *testing.T) {
	t.Parallel()
	f := answersLog(t)
	for _, file := range []string{"fetch", "fetch-epochs", "fetch-sessions"} {
		for _, e := range recordedData(t, file) {
			if e.APIKey != generated.KeyFetch || e.skipped() || file == "fetch-sessions" && !outsideSession(e.request.(*generated.FetchRequest)) {
				continue
			}
			t.Run(file+"/"+e.Why, func(t *testing.T) { f.replayFetch(t, e) })
		}
	}
}

// outsideSession reports whether a request has nothing to do with an open
// session, which the bridge never has.
func outsideSession(req *generated.FetchRequest) bool {
	return req.SessionEpoch <= 0 || req.SessionId == 0 || req.SessionId == 12345
}

func (f *dataFixture) replayFetch(t *testing.T, e dataExchange) {
	req, want := e.request.(*generated.FetchRequest), e.response.(*generated.FetchResponse)
	for i := range req.Topics {
		name := "ans-log"
		if strings.HasPrefix(e.Why, "empty topic") || strings.HasPrefix(e.Why, "a new session, ") && i > 0 {
			name = "ans-empty"
		}
		topic, err := f.b.Topic(context.Background(), name)
		if err != nil {
			t.Fatal(err)
		}
		place(&req.Topics[i].TopicId, topic.ID)
	}
	parked := false
	var lot *parking.Lot
	lot = parking.NewLot(func(delta int) {
		parked = true
		if delta > 0 {
			go lot.Evict(parking.ErrShutdown) // nothing will come
		}
	})
	answer, _ := f.call(parking.NewContext(context.Background(), lot), e.APIKey, e.Version, req)
	got := answer.(*generated.FetchResponse)
	// The other way round proves nothing: the broker may just have been slow.
	if parked && !e.Parked {
		t.Error("waits, which Kafka did not")
	}
	want.SessionId = 0 // the bridge has no sessions
	wantRows, gotRows := fetchTable(want), fetchTable(got)
	compareRecords(t, wantRows, gotRows)
	for i := range req.Topics {
		if i < len(want.Responses) && i < len(got.Responses) {
			want.Responses[i].TopicId = got.Responses[i].TopicId
		}
	}
	for i := range wantRows {
		wantRows[i].Records = nil
	}
	for i := range gotRows {
		gotRows[i].Records = nil
	}
	if diff := gocmp.Diff(wantRows, gotRows, untagged); diff != "" || want.ErrorCode != got.ErrorCode || want.SessionId != got.SessionId {
		t.Errorf("Kafka answered otherwise, %d and %d (-Kafka +bridge):\n%s", want.ErrorCode, got.ErrorCode, diff)
	}
}

func fetchTable(resp *generated.FetchResponse) []generated.FetchResponsePartitionData {
	var rows []generated.FetchResponsePartitionData
	for _, t := range resp.Responses {
		rows = append(rows, t.Partitions...)
	}
	// Kafka puts rows that it could not find last.
	slices.SortStableFunc(rows, func(a, b generated.FetchResponsePartitionData) int {
		return cmp.Or(cmp.Compare(a.PartitionIndex, b.PartitionIndex), cmp.Compare(a.ErrorCode, b.ErrorCode))
	})
	return rows
}

// compareRecords compares what was fetched, record by record: where batches
// begin, and what is in the cut-off last one of Kafka's, may differ.
func compareRecords(t *testing.T, want, got []generated.FetchResponsePartitionData) {
	for i := range min(len(want), len(got)) {
		if (len(want[i].Records) == 0) != (len(got[i].Records) == 0) || got[i].Records == nil {
			t.Errorf("partition %d: %d bytes of records, Kafka %d", got[i].PartitionIndex, len(got[i].Records), len(want[i].Records))
			continue
		}
		theirs := map[int64]fetched{}
		for raw := want[i].Records; len(raw) > 0; {
			b, rest, err := records.Parse(raw)
			if err != nil {
				break
			}
			for _, r := range unpack(t, b.Raw, 0) {
				theirs[r.offset] = r
			}
			raw = rest
		}
		for _, r := range unpack(t, got[i].Records, 0) {
			if their, ok := theirs[r.offset]; ok && their != r {
				t.Errorf("partition %d: %+v, Kafka %+v", got[i].PartitionIndex, r, their)
			}
		}
	}
}

func TestReplayListOffsets(t *testing.T) {
	t.Parallel()
	f := answersLog(t)
	for _, e := range recordedData(t, "list-offsets") {
		if e.skipped() {
			continue
		}
		t.Run(e.Why, func(t *testing.T) {
			answer, _ := f.call(context.Background(), e.APIKey, e.Version, e.request)
			table := func(m generated.Message) []generated.ListOffsetsResponseListOffsetsPartitionResponse {
				var rows []generated.ListOffsetsResponseListOffsetsPartitionResponse
				for _, topic := range m.(*generated.ListOffsetsResponse).Topics {
					rows = append(rows, topic.Partitions...)
				}
				slices.SortFunc(rows, func(a, b generated.ListOffsetsResponseListOffsetsPartitionResponse) int {
					return cmp.Compare(a.PartitionIndex, b.PartitionIndex)
				})
				return rows
			}
			if diff := gocmp.Diff(table(e.response), table(answer), untagged); diff != "" {
				t.Errorf("Kafka answered otherwise (-Kafka +bridge):\n%s", diff)
			}
		})
	}
}

func TestReplayOffsetForLeaderEpoch(t *testing.T) {
	t.Parallel()
	f := answersLog(t)
	for _, e := range recordedData(t, "offset-for-leader-epoch") {
		t.Run(e.Why, func(t *testing.T) {
			answer, _ := f.call(context.Background(), e.APIKey, e.Version, e.request)
			if diff := gocmp.Diff(e.response, answer, untagged); diff != "" {
				t.Errorf("Kafka answered otherwise (-Kafka +bridge):\n%s", diff)
			}
		})
	}
}

func TestReplayInitProducerID(t *testing.T) {
	t.Parallel()
	f := newData(t, nil)
	for _, e := range recordedData(t, "init-producer-id") {
		t.Run(e.Why, func(t *testing.T) {
			answer, _ := f.call(context.Background(), e.APIKey, e.Version, e.request)
			want, got := e.response.(*generated.InitProducerIdResponse), answer.(*generated.InitProducerIdResponse)
			if want.ProducerId >= 0 && got.ProducerId >= 0 {
				want.ProducerId = got.ProducerId
			}
			if diff := gocmp.Diff(want, got, untagged); diff != "" {
				t.Errorf("Kafka answered otherwise (-Kafka +bridge):\n%s", diff)
			}
		})
	}
}
