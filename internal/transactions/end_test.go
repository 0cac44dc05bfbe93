package transactions

import (
	"testing"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/wire"
)

// answered gives a request to the machine and carries out what it writes, but
// writes no markers.
func answered[R generated.Message](t *testing.T, w *world, version int16, body any) R {
	t.Helper()
	token := w.call(version, body)
	for len(w.pending) > 0 {
		effects := w.effects
		w.effects = nil
		w.step()
		w.effects = append(effects, w.effects...)
	}
	answer, ok := w.answers[token].(R)
	if !ok {
		t.Fatalf("%T got the answer %T", body, w.answers[token])
	}
	return answer
}

func endRequest(id string, producer int64, epoch int16, commit bool) *generated.EndTxnRequest {
	req := generated.DefaultEndTxnRequest()
	req.TransactionalId, req.ProducerId, req.ProducerEpoch, req.Committed = id, producer, epoch, commit
	return &req
}

// TestAskingWhileTransactionEnds has requests come between the decision and the
// last marker. Kafka 4.4.0 answers all of them with CONCURRENT_TRANSACTIONS, also
// those of a producer that goes on with the epoch which the decision gave it.
func TestAskingWhileTransactionEnds(t *testing.T) {
	t.Parallel()
	at := TopicPartition{"orders", 0}
	for _, committed := range []bool{true, false} {
		w := newWorld(1, 1)
		init := generated.DefaultInitProducerIdRequest()
		init.TransactionalId, init.TransactionTimeoutMs = wire.String("tx"), 60_000
		p := answered[*generated.InitProducerIdResponse](t, w, 5, &init)
		answered[*generated.AddPartitionsToTxnResponse](t, w, 0, &AddPartitions{
			TransactionalID: "tx", ProducerID: p.ProducerId, ProducerEpoch: p.ProducerEpoch, Partitions: []TopicPartition{at},
		})
		next := answered[*generated.EndTxnResponse](t, w, 5, endRequest("tx", p.ProducerId, p.ProducerEpoch, committed))
		if next.ErrorCode != errorcode.None || next.ProducerEpoch != p.ProducerEpoch+1 {
			t.Fatalf("commit %t: %+v", committed, next)
		}
		for _, c := range []struct {
			why     string
			version int16
			epoch   int16
			commit  bool
		}{
			{"the same again", 5, p.ProducerEpoch, committed},
			{"the opposite", 5, p.ProducerEpoch, !committed},
			{"an abort in the next epoch, of nothing", 5, next.ProducerEpoch, false},
			{"a commit in the next epoch, of nothing", 5, next.ProducerEpoch, true},
			{"a client of before KIP-890", 4, next.ProducerEpoch, committed},
			{"a client of before KIP-890, the opposite", 4, next.ProducerEpoch, !committed},
		} {
			if got := answered[*generated.EndTxnResponse](t, w, c.version, endRequest("tx", p.ProducerId, c.epoch, c.commit)); got.ErrorCode != errorcode.ConcurrentTransactions {
				t.Errorf("commit %t: %s: %s", committed, c.why, errorcode.Name(got.ErrorCode))
			}
		}
		init.ProducerId, init.ProducerEpoch = p.ProducerId+1000, 0
		if got := answered[*generated.InitProducerIdResponse](t, w, 5, &init); got.ErrorCode != errorcode.ConcurrentTransactions {
			t.Errorf("commit %t: another producer: %s", committed, errorcode.Name(got.ErrorCode))
		}

		for w.step() { // the marker
		}
		for _, c := range []struct {
			why    string
			epoch  int16
			commit bool
			want   int16
		}{
			{"the same again", p.ProducerEpoch, committed, errorcode.None},
			{"the opposite", p.ProducerEpoch, !committed, errorcode.InvalidTxnState},
			{"a commit of nothing", next.ProducerEpoch, true, errorcode.InvalidTxnState},
			{"an epoch that is to come", next.ProducerEpoch + 1, false, errorcode.ProducerFenced},
			{"an abort of nothing", next.ProducerEpoch, false, errorcode.None},
			{"an epoch that is over", p.ProducerEpoch, committed, errorcode.ProducerFenced},
		} {
			if got := answered[*generated.EndTxnResponse](t, w, 5, endRequest("tx", p.ProducerId, c.epoch, c.commit)); got.ErrorCode != c.want {
				t.Errorf("commit %t, ended: %s: %s, want %s", committed, c.why, errorcode.Name(got.ErrorCode), errorcode.Name(c.want))
			}
		}
		if got := answered[*generated.InitProducerIdResponse](t, w, 5, &init); got.ErrorCode != errorcode.ProducerFenced {
			t.Errorf("commit %t, ended: another producer: %s", committed, errorcode.Name(got.ErrorCode))
		}
	}
}
