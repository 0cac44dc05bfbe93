package handlers

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/wire"
)

// txnFixture is a data fixture with a topic of two partitions, whose transaction
// coordinator is loaded.
type txnFixture struct{ *dataFixture }

func newTxn(t *testing.T) txnFixture {
	t.Helper()
	f := txnFixture{newData(t, nil)}
	f.topic("orders", 2)
	f.await(func() bool {
		req := generated.DefaultFindCoordinatorRequest()
		req.KeyType, req.CoordinatorKeys = keyTypeTransaction, []string{"any"}
		answer, _ := f.call(context.Background(), generated.KeyFindCoordinator, 4, &req)
		if answer.(*generated.FindCoordinatorResponse).Coordinators[0].ErrorCode != errorcode.None {
			return false
		}
		list := generated.DefaultListTransactionsRequest()
		answer, _ = f.call(context.Background(), generated.KeyListTransactions, 2, &list)
		return answer.(*generated.ListTransactionsResponse).ErrorCode == errorcode.None
	})
	return f
}

// producer is a transactional producer that speaks raw requests.
type txnProducer struct {
	txnFixture
	id       string
	producer int64
	epoch    int16
	next     map[int32]int32
}

// init gives an id a producer, which repeats what it is told to.
func (f txnFixture) init(id string) *txnProducer {
	f.t.Helper()
	p := &txnProducer{txnFixture: f, id: id}
	f.await(func() bool { return p.initOnce(5, -1, -1) == errorcode.None })
	return p
}

func (p *txnProducer) initOnce(version int16, producer int64, epoch int16) int16 {
	req := generated.DefaultInitProducerIdRequest()
	req.TransactionalId, req.TransactionTimeoutMs = wire.String(p.id), 60_000
	req.ProducerId, req.ProducerEpoch = producer, epoch
	answer, _ := p.call(context.Background(), generated.KeyInitProducerId, version, &req)
	r := answer.(*generated.InitProducerIdResponse)
	if r.ErrorCode == errorcode.None {
		p.producer, p.epoch, p.next = r.ProducerId, r.ProducerEpoch, map[int32]int32{}
	}
	return r.ErrorCode
}

// add adds a partition of orders.
func (p *txnProducer) add(version int16, partition int32) int16 {
	req := generated.DefaultAddPartitionsToTxnRequest()
	topics := []generated.AddPartitionsToTxnRequestAddPartitionsToTxnTopic{{Name: "orders", Partitions: []int32{partition}}}
	if version < addPartitionsListSince {
		req.V3AndBelowTransactionalId, req.V3AndBelowProducerId, req.V3AndBelowProducerEpoch, req.V3AndBelowTopics = p.id, p.producer, p.epoch, topics
	} else {
		req.Transactions = []generated.AddPartitionsToTxnRequestAddPartitionsToTxnTransaction{
			{TransactionalId: p.id, ProducerId: p.producer, ProducerEpoch: p.epoch, Topics: topics},
		}
	}
	answer, _ := p.call(context.Background(), generated.KeyAddPartitionsToTxn, version, &req)
	r := answer.(*generated.AddPartitionsToTxnResponse)
	if version < addPartitionsListSince {
		return r.ResultsByTopicV3AndBelow[0].ResultsByPartition[0].PartitionErrorCode
	}
	return r.ResultsByTransaction[0].TopicResults[0].ResultsByPartition[0].PartitionErrorCode
}

// write produces one record.
func (p *txnProducer) write(version int16, partition int32, value string) int16 {
	raw := batch(records.BatchSpec{
		Transactional: true, HasProducer: true, ProducerID: p.producer, ProducerEpoch: p.epoch, BaseSequence: p.next[partition],
	}, record{value: []byte(value)})
	req := produceRequest(part{topic: "orders", partition: partition, records: raw})
	req.TransactionalId = wire.String(p.id)
	code := p.produceRows(version, req)[0].ErrorCode
	if code == errorcode.None {
		p.next[partition]++
	}
	return code
}

// end ends the transaction; from version 5 on the producer goes on with the next
// epoch.
func (p *txnProducer) end(version int16, commit bool) int16 {
	req := generated.DefaultEndTxnRequest()
	req.TransactionalId, req.ProducerId, req.ProducerEpoch, req.Committed = p.id, p.producer, p.epoch, commit
	answer, _ := p.call(context.Background(), generated.KeyEndTxn, version, &req)
	r := answer.(*generated.EndTxnResponse)
	if r.ErrorCode == errorcode.None && version >= 5 {
		if r.ProducerEpoch != p.epoch {
			p.next = map[int32]int32{}
		}
		p.producer, p.epoch = r.ProducerId, r.ProducerEpoch
	}
	return r.ErrorCode
}

// committed are the values that a reader of committed records gets.
func (f txnFixture) committed(partition int32) []string {
	f.t.Helper()
	var values []string
	skipping := map[int64][]int64{}
	for offset := int64(0); ; {
		req := fetchRequest(part{topic: "orders", partition: partition, offset: offset})
		req.IsolationLevel = readCommitted
		row := f.fetchRows(context.Background(), 12, req)[0]
		if row.ErrorCode != errorcode.None {
			f.t.Fatalf("fetch: %d", row.ErrorCode)
		}
		for _, a := range row.AbortedTransactions {
			if !slices.Contains(skipping[a.ProducerId], a.FirstOffset) {
				skipping[a.ProducerId] = append(skipping[a.ProducerId], a.FirstOffset)
			}
		}
		if len(row.Records) == 0 {
			if offset != row.LastStableOffset {
				f.t.Fatalf("nothing at %d, the last stable offset is %d", offset, row.LastStableOffset)
			}
			return values
		}
		for raw := row.Records; len(raw) > 0; {
			b, rest, err := records.Parse(raw)
			if err != nil {
				f.t.Fatal(err)
			}
			raw, offset = rest, b.LastOffset()+1
			aborted := skipping[b.ProducerID]
			switch {
			case b.IsControl():
				if len(aborted) > 0 && aborted[0] <= b.BaseOffset {
					skipping[b.ProducerID] = aborted[1:]
				}
			case b.IsTransactional() && len(aborted) > 0 && aborted[0] <= b.BaseOffset:
			default:
				for _, r := range unpack(f.t, b.Raw, 0) {
					values = append(values, r.value)
				}
			}
		}
	}
}

func TestTransactionsOfBothKindsOfClients(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                string
		add, produce, ended int16
	}{
		{"clients that add partitions", 3, 9, 4},
		{"brokers' way of adding", 4, 11, 4},
		{"clients that add by producing", -1, 12, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newTxn(t)
			p := f.init("tx")
			var want []string
			for i := range 6 {
				commit := i%3 != 1
				for partition := range int32(2) {
					if c.add >= 0 {
						f.await(func() bool { return p.add(c.add, partition) == errorcode.None })
					}
					value := fmt.Sprint(i)
					f.await(func() bool { return p.write(c.produce, partition, value) == errorcode.None })
				}
				if code := p.end(c.ended, commit); code != errorcode.None {
					t.Fatalf("end: %s", errorcode.Name(code))
				}
				if commit {
					want = append(want, fmt.Sprint(i))
				}
			}
			for partition := range int32(2) {
				f.await(func() bool { return slices.Equal(f.committed(partition), want) })
			}
		})
	}
}

func TestOpenTransactionsAreNotRead(t *testing.T) {
	t.Parallel()
	f := newTxn(t)
	p := f.init("tx")
	if code := p.write(12, 0, "open"); code != errorcode.None {
		t.Fatal(errorcode.Name(code))
	}
	f.mustProduce("orders", 0, values("plain"))
	if got := f.committed(0); len(got) != 0 {
		t.Errorf("read: %v", got)
	}
	for isolation, want := range map[int8]int64{readUncommitted: 2, readCommitted: 0} {
		req := offsetRequest(isolation, offsetPart{"orders", 0, -1, -1})
		if got := f.offsetRows(7, req)[0].Offset; got != want {
			t.Errorf("latest offset at isolation %d: %d, want %d", isolation, got, want)
		}
	}
	if code := p.end(5, false); code != errorcode.None {
		t.Fatal(errorcode.Name(code))
	}
	f.await(func() bool { return slices.Equal(f.committed(0), []string{"plain"}) })
}

func TestFencedProducers(t *testing.T) {
	t.Parallel()
	f := newTxn(t)
	old := f.init("tx")
	if code := old.write(12, 0, "of the old one"); code != errorcode.None {
		t.Fatal(errorcode.Name(code))
	}
	again := f.init("tx") // aborts what is open
	for _, c := range []struct {
		what string
		got  int16
		want int16
	}{
		{"Produce", old.write(12, 0, "late"), errorcode.InvalidProducerEpoch},
		{"Produce v9", old.write(9, 1, "late"), errorcode.InvalidProducerEpoch},
		{"AddPartitionsToTxn v1", old.add(1, 0), errorcode.InvalidProducerEpoch},
		{"AddPartitionsToTxn v2", old.add(2, 0), errorcode.ProducerFenced},
		{"EndTxn v1", old.end(1, true), errorcode.InvalidProducerEpoch},
		{"EndTxn v3", old.end(3, true), errorcode.ProducerFenced},
		{"EndTxn v5", old.end(5, true), errorcode.ProducerFenced},
		{"InitProducerId v3", old.initOnce(3, old.producer, old.epoch), errorcode.InvalidProducerEpoch},
		{"InitProducerId v4", old.initOnce(4, old.producer, old.epoch), errorcode.ProducerFenced},
		{"InitProducerId with another's id", old.initOnce(5, old.producer+1000, 0), errorcode.ProducerFenced},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.what, errorcode.Name(c.got), errorcode.Name(c.want))
		}
	}
	f.await(func() bool { return again.write(12, 0, "of the new one") == errorcode.None })
	if code := again.end(5, true); code != errorcode.None {
		t.Fatal(errorcode.Name(code))
	}
	f.await(func() bool { return slices.Equal(f.committed(0), []string{"of the new one"}) })
}

func TestProduceOutsideOfATransaction(t *testing.T) {
	t.Parallel()
	f := newTxn(t)
	p := f.init("tx")
	for version, want := range map[int16]int16{9: errorcode.InvalidTxnState, 11: errorcode.TransactionAbortable} {
		if code := p.write(version, 0, "not added"); code != want {
			t.Errorf("v%d, not added: %s, want %s", version, errorcode.Name(code), errorcode.Name(want))
		}
	}
	transactional := batch(records.BatchSpec{Transactional: true, HasProducer: true, ProducerID: p.producer}, record{value: []byte("t")})
	for _, c := range []struct {
		name string
		id   wire.NullString
		raw  []byte
		want []int16
	}{
		{"a transactional batch of nobody's id", wire.String("other"), transactional, []int16{49, 0}},
		{"a transactional batch without an id", wire.NullString{}, transactional, []int16{53, 53}},
		{"a transactional batch with an empty id", wire.String(""), transactional, []int16{42, 0}},
		{"an id and a plain batch", wire.String("tx"), values("plain"), []int16{0, 0}},
	} {
		req := produceRequest(part{topic: "orders", records: c.raw}, part{topic: "orders", partition: 1, records: values("beside")})
		req.TransactionalId = c.id
		if got := produceCodes(f.produceRows(12, req)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestTransactionsAreShown(t *testing.T) {
	t.Parallel()
	f := newTxn(t)
	p := f.init("tx")
	if code := p.write(12, 1, "open"); code != errorcode.None {
		t.Fatal(errorcode.Name(code))
	}
	describe := generated.DefaultDescribeTransactionsRequest()
	describe.TransactionalIds = []string{"tx", "none", ""}
	answer, _ := f.call(context.Background(), generated.KeyDescribeTransactions, 0, &describe)
	rows := answer.(*generated.DescribeTransactionsResponse).TransactionStates
	if r := rows[0]; r.ErrorCode != 0 || r.TransactionState != "Ongoing" || r.ProducerId != p.producer || len(r.Topics) != 1 || !slices.Equal(r.Topics[0].Partitions, []int32{1}) {
		t.Errorf("described: %+v", r)
	}
	if rows[1].ErrorCode != errorcode.TransactionalIDNotFound || rows[2].ErrorCode != errorcode.InvalidRequest {
		t.Errorf("others: %+v", rows[1:])
	}
	list := generated.DefaultListTransactionsRequest()
	list.StateFilters = []string{"Ongoing", "Rubbish"}
	answer, _ = f.call(context.Background(), generated.KeyListTransactions, 2, &list)
	listed := answer.(*generated.ListTransactionsResponse)
	if len(listed.TransactionStates) != 1 || listed.TransactionStates[0].TransactionalId != "tx" || !slices.Equal(listed.UnknownStateFilters, []string{"Rubbish"}) {
		t.Errorf("listed: %+v", listed)
	}
	producers := generated.DefaultDescribeProducersRequest()
	producers.Topics = []generated.DescribeProducersRequestTopicRequest{{Name: "orders", PartitionIndexes: []int32{0, 1, 2}}}
	answer, _ = f.call(context.Background(), generated.KeyDescribeProducers, 0, &producers)
	partitions := answer.(*generated.DescribeProducersResponse).Topics[0].Partitions
	if len(partitions[0].ActiveProducers) != 0 || partitions[2].ErrorCode != errorcode.UnknownTopicOrPartition {
		t.Errorf("producers: %+v", partitions)
	}
	if a := partitions[1].ActiveProducers; len(a) != 1 || a[0].ProducerId != p.producer || a[0].CurrentTxnStartOffset != 0 || a[0].LastSequence != 0 {
		t.Errorf("producers of partition 1: %+v", a)
	}

	// What an administrator ends is ended, although the coordinator knows nothing.
	abort := generated.DefaultWriteTxnMarkersRequest()
	abort.Markers = []generated.WriteTxnMarkersRequestWritableTxnMarker{{
		ProducerId: p.producer, ProducerEpoch: p.epoch,
		Topics: []generated.WriteTxnMarkersRequestWritableTxnMarkerTopic{{Name: "orders", PartitionIndexes: []int32{1, 2}}},
	}}
	answer, _ = f.call(context.Background(), generated.KeyWriteTxnMarkers, 1, &abort)
	ended := answer.(*generated.WriteTxnMarkersResponse).Markers[0].Topics[0].Partitions
	if ended[0].ErrorCode != errorcode.None || ended[1].ErrorCode != errorcode.UnknownTopicOrPartition {
		t.Errorf("ended: %+v", ended)
	}
	if got := f.offsetRows(7, offsetRequest(readCommitted, offsetPart{"orders", 1, -1, -1}))[0].Offset; got != 2 {
		t.Errorf("last stable offset %d, want 2", got)
	}
}

// While the bridge cannot reach Iggy, or has only just begun to, FindCoordinator
// answers with the one code that all clients take for a reason to ask again.
func TestTransactionCoordinatorIsNotThereYet(t *testing.T) {
	t.Parallel()
	f := newAdminAt(t, bridge.Config{Address: nowhere(t), Username: "iggy", Password: "iggy"}, nil)
	for _, version := range []int16{1, 6} {
		row := f.findCoordinators(version, keyTypeTransaction, "id")[0]
		if row.ErrorCode != errorcode.CoordinatorNotAvailable || row.NodeId != notKnown {
			t.Errorf("FindCoordinator v%d: %+v, want 15", version, row)
		}
	}
}
