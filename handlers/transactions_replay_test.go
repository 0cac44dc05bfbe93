package handlers

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/engine"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/server/parking"
	"kafka-iggy-bridge/internal/transactions"
	"kafka-iggy-bridge/internal/wire"
)

// transactionDifferences are the answers, by trace and step, that are not
// compared, and why; "records of" before the step stands for what is written.
var transactionDifferences = func() map[string]string {
	known := map[string]string{
		"txn-markers-v2: transaction version 2 with the transaction's own epoch, version 2": "Kafka says 47, the bridge takes it for a marker that came late, writes nothing either and says so",
	}
	for v := range 3 {
		trace := fmt.Sprintf("txn-markers-v%d: ", v)
		for _, why := range []string{"a negative epoch", "a negative producer id"} {
			known[fmt.Sprintf("%s%s, version %d", trace, why, v)] = "Kafka fails with -1, the bridge says 42"
		}
	}
	for v := range 7 {
		trace := fmt.Sprintf("txn-offsets-v%d: ", v)
		for _, why := range []string{"an unknown transactional id", "an empty transactional id"} {
			known[trace+why] = "Kafka does not look at the id while the producer's transaction is open in the group's partition, the bridge does"
		}
	}
	return known
}()

// TestReplayTransactions does what was done to Kafka, step by step, and compares
// the answers and what is written to __transaction_state.
func TestReplayTransactions(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"transactions-list", "transactions-states", "transactions-produce", "transactions-read", "transactions-offsets"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			f := newTransactionTraces(t)
			t.Run("traces", func(t *testing.T) {
				for _, steps := range traces(t, file) {
					t.Run(steps[0].Trace, func(t *testing.T) {
						t.Parallel()
						f.replayTransactions(t, steps)
					})
				}
			})
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.failed != nil {
				t.Error(f.failed)
			}
		})
	}
}

// newTransactionTraces is a bridge that keeps what it writes to
// __transaction_state.
func newTransactionTraces(t *testing.T) *traceFixture {
	t.Helper()
	e, err := engine.Open(engine.Options{DataDir: t.TempDir(), Fsync: "never", Logger: adminLog()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeWithin(t, "engine", e.Close) })
	user, password := e.Credentials()
	b, err := bridge.New(bridge.Config{Address: e.Addr().String(), Username: user, Password: password, Logger: adminLog()})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeWithin(t, "bridge", b.Close) })
	f := &traceFixture{}
	groups := groupOptionsOf(t)
	h := newHandlersOf(t, adminConfig(), b, groups, TransactionOptions{
		Config: transactions.DefaultConfig(), Partitions: groups.Partitions, Written: f.keepTransactions, Metrics: groups.Metrics, Logger: groups.Logger,
	})
	f.adminFixture = &adminFixture{t: t, h: h, b: b, engine: e}
	f.await(func() bool { return b.Health() == nil })
	f.findCoordinators(6, keyTypeGroup, "g")
	f.findCoordinators(6, keyTypeTransaction, "t")
	f.await(func() bool {
		groups, err1 := f.ask(generated.KeyListGroups, 5, &generated.ListGroupsRequest{})
		list := generated.DefaultListTransactionsRequest()
		open, err2 := f.ask(generated.KeyListTransactions, 2, &list)
		return err1 == nil && err2 == nil && firstCode(groups) == errorcode.None && firstCode(open) == errorcode.None
	})
	return f
}

func (f *traceFixture) keepTransactions(rs []records.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range rs {
		r, err := decodeTransactionRecord(slices.Clone(rs[i].Key), slices.Clone(rs[i].Value))
		f.failed = errors.Join(f.failed, err)
		f.written = append(f.written, r)
	}
}

func decodeTransactionRecord(key, value []byte) (groupRecord, error) {
	id := &generated.TransactionLogKey{}
	r := groupRecord{Kind: "TransactionLog", Key: id}
	if len(key) < 2 || binary.BigEndian.Uint16(key) != 0 {
		return r, fmt.Errorf("a key that begins with %.2x", key)
	}
	if _, err := id.Decode(0, key[2:]); err != nil || value == nil {
		return r, err
	}
	if len(value) < 2 {
		return r, fmt.Errorf("a value of %d bytes", len(value))
	}
	r.Value, r.ValueVersion = &generated.TransactionLogValue{}, int16(binary.BigEndian.Uint16(value))
	_, err := r.Value.Decode(r.ValueVersion, value[2:])
	return r, err
}

// transactionalID is the id that a record belongs to.
func (r groupRecord) transactionalID() string {
	return r.Key.(*generated.TransactionLogKey).TransactionalId
}

// writtenFor are all records of a trace's transactional ids, those of each id in
// their order, and the ids in theirs.
func (f *traceFixture) writtenFor(trace string) []groupRecord {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []groupRecord
	for _, r := range f.written {
		if id := r.transactionalID(); id == trace || strings.HasPrefix(id, trace+".") {
			list = append(list, r)
		}
	}
	return list
}

func (f *traceFixture) replayTransactions(t *testing.T, steps []traceStep) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	r := &traceRun{traceFixture: f, sameness: newSameness(), t: t, ctx: ctx, stop: stop}
	for i := range steps[1:] {
		s := &steps[i+1]
		s.Trace = steps[0].Trace
		switch {
		case s.Topic != "":
			r.topic(s)
		case s.PauseMs == 0:
			r.step(s)
		case len(s.Records) == 0:
			<-time.After(time.Duration(s.PauseMs) * time.Millisecond)
		default:
			// Something happens by itself, and is waited for below.
		}
		r.compareTransactionRecords(s)
	}
}

// step sends a request and compares the answer.
func (r *traceRun) step(s *traceStep) {
	r.t.Helper()
	api, _ := generated.LookupAPI(s.APIKey)
	s.API = api.Name
	r.ours(reflect.ValueOf(s.request))
	if produce, ok := s.request.(*generated.ProduceRequest); ok {
		r.ourBatches(produce)
	}
	ctx, cancel := context.WithTimeout(r.ctx, 30*time.Second)
	defer cancel()
	answer, err := r.handle(parking.NewContext(ctx, parking.NewLot(func(int) {})), s)
	if _, known := transactionDifferences[s.Trace+": "+s.Why]; known {
		return
	}
	if s.Response == "closed" {
		if err == nil {
			r.t.Errorf("step %d (%s v%d, %s): Kafka closes the connection, the bridge says %+v", s.Step, s.API, s.Version, s.Why, answer)
		}
		return
	}
	if err != nil {
		r.t.Errorf("step %d (%s v%d, %s): %v", s.Step, s.API, s.Version, s.Why, err)
		return
	}
	differences := r.recordsOfAnswer(s, answer)
	differences = append(differences, r.differences("", reflect.ValueOf(s.response), reflect.ValueOf(answer))...)
	for _, d := range differences {
		r.t.Errorf("step %d (%s v%d, %s) %s", s.Step, s.API, s.Version, s.Why, d)
	}
}

// ourBatches puts the bridge's producer ids into the batches of a request.
func (r *traceRun) ourBatches(req *generated.ProduceRequest) {
	const atCRC, atAttributes, atProducerID = 17, 21, 43
	for i := range req.TopicData {
		for j := range req.TopicData[i].PartitionData {
			batch := slices.Clone(req.TopicData[i].PartitionData[j].Records)
			if ours, ok := r.producers[int64(binary.BigEndian.Uint64(batch[atProducerID:]))]; ok {
				binary.BigEndian.PutUint64(batch[atProducerID:], uint64(ours))
				binary.BigEndian.PutUint32(batch[atCRC:], crc32.Checksum(batch[atAttributes:], crc32.MakeTable(crc32.Castagnoli)))
			}
			req.TopicData[i].PartitionData[j].Records = batch
		}
	}
}

// recordsOfAnswer compares the records in an answer one by one, since the bridge
// may cut batches otherwise, and leaves out messages that are for people.
func (r *traceRun) recordsOfAnswer(s *traceStep, answer generated.Message) []string {
	var list []string
	switch got := answer.(type) {
	case *generated.ProduceResponse:
		for _, resp := range []*generated.ProduceResponse{got, s.response.(*generated.ProduceResponse)} {
			for i := range resp.Responses {
				for j := range resp.Responses[i].PartitionResponses {
					row := &resp.Responses[i].PartitionResponses[j]
					row.ErrorMessage, row.RecordErrors = wire.NullString{}, nil
				}
			}
		}
	case *generated.FetchResponse:
		want := s.response.(*generated.FetchResponse)
		from := s.request.(*generated.FetchRequest).Topics[0].Partitions[0].FetchOffset
		if len(want.Responses) != len(got.Responses) || len(got.Responses) == 0 {
			return nil
		}
		w, g := &want.Responses[0].Partitions[0], &got.Responses[0].Partitions[0]
		list = r.batchDifferences(r.seenRecords(w.Records, from), r.seenRecords(g.Records, from))
		w.Records, g.Records = nil, nil
	}
	return list
}

// seenRecord is a record as a client sees it, with what its batch says of it.
type seenRecord struct {
	Offset, Producer       int64
	Epoch                  int16
	Sequence               int32
	Transactional, Control bool
	Timestamp              int64 // 0 in control records
	Key, Value             string
}

func (r *traceRun) seenRecords(raw []byte, from int64) []seenRecord {
	r.t.Helper()
	var list []seenRecord
	for len(raw) > 0 {
		b, rest, err := records.Parse(raw)
		if err != nil {
			r.t.Fatal(err)
		}
		if err := b.VerifyCRC(); err != nil {
			r.t.Error(err)
		}
		raw = rest
		for _, f := range unpack(r.t, b.Raw, from) {
			seen := seenRecord{
				Offset: f.offset, Producer: b.ProducerID, Epoch: b.ProducerEpoch, Sequence: b.BaseSequence,
				Transactional: b.IsTransactional(), Control: b.IsControl(), Timestamp: f.timestamp, Key: f.key, Value: f.value,
			}
			if seen.Sequence >= 0 {
				seen.Sequence += int32(f.offset - b.BaseOffset)
			}
			if seen.Control {
				seen.Timestamp = 0
			}
			list = append(list, seen)
		}
	}
	return list
}

func (r *traceRun) batchDifferences(want, got []seenRecord) []string {
	var list []string
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(got):
			list = append(list, fmt.Sprintf("Kafka sends %+v, the bridge does not", want[i]))
		case i >= len(want):
			list = append(list, fmt.Sprintf("the bridge sends %+v, Kafka does not", got[i]))
		default:
			w, g := want[i], got[i]
			same := r.sameProducer(w.Producer, g.Producer)
			w.Producer, g.Producer = 0, 0
			if !same || w != g {
				list = append(list, fmt.Sprintf("Kafka sends %+v, the bridge %+v", want[i], got[i]))
			}
		}
	}
	return list
}

// compareTransactionRecords compares what a step has written. With it the step is
// over: what is written last says that all markers are there.
func (r *traceRun) compareTransactionRecords(s *traceStep) {
	r.t.Helper()
	var want []groupRecord
	for i := range s.Records {
		w, err := s.Records[i].decodeTransaction()
		if err != nil {
			r.t.Fatal(err)
		}
		want = append(want, w)
	}
	patience := 20 * time.Second
	if r.t.Failed() {
		patience = 200 * time.Millisecond
	}
	for deadline := time.Now().Add(patience); len(r.writtenFor(s.Trace)) < r.seen+len(want) && time.Now().Before(deadline); {
		<-time.After(2 * time.Millisecond)
	}
	all := r.writtenFor(s.Trace)
	got := slices.Clone(all[r.seen:])
	r.seen = len(all)
	if _, known := transactionDifferences[s.Trace+": records of "+s.Why]; known {
		return
	}
	byID := func(a, b groupRecord) int { return cmp.Compare(a.transactionalID(), b.transactionalID()) }
	slices.SortStableFunc(want, byID)
	slices.SortStableFunc(got, byID)
	for i := range max(len(want), len(got)) {
		var differences []string
		switch {
		case i >= len(got):
			differences = []string{fmt.Sprintf("record: Kafka wrote %.500v, the bridge did not", want[i])}
		case i >= len(want):
			differences = []string{fmt.Sprintf("record: the bridge wrote %.500v, Kafka did not", got[i])}
		default:
			differences = r.recordDifferences("record", want[i], got[i])
		}
		for _, d := range differences {
			r.t.Errorf("step %d (%s v%d, %s) %s", s.Step, s.API, s.Version, s.Why, d)
		}
	}
}

// decodeTransaction reads a recorded record of __transaction_state.
func (r *traceRecord) decodeTransaction() (groupRecord, error) {
	key, err := hex.DecodeString(r.Key)
	if err != nil {
		return groupRecord{}, err
	}
	if r.Value == "" {
		return decodeTransactionRecord(key, nil)
	}
	value, err := hex.DecodeString(r.Value)
	if err != nil {
		return groupRecord{}, err
	}
	return decodeTransactionRecord(key, value)
}
