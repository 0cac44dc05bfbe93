package groups

import (
	"strings"
	"testing"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/statemachine"
)

// TestTransactionsOfConsumerGroups checks what groups of the consumer protocol
// decide on offsets in transactions.
func TestTransactionsOfConsumerGroups(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, command, want string
	}{
		{"a member commits in its epoch", "txn-commit m orders:0@5 gen=2 id=m", "PendingOffset{g orders:0"},
		{"a producer that does not say for whom", "txn-commit p orders:0@5 version=2", "PendingOffset{g orders:0"},
		{"an epoch that is yet to come, old version", "txn-commit m orders:0@5 gen=3 id=m version=5", "ILLEGAL_GENERATION"},
		{"an epoch that is yet to come", "txn-commit m orders:0@5 gen=3 id=m version=6", "STALE_MEMBER_EPOCH"},
		{"an epoch before the partition was assigned, old version", "txn-commit m orders:0@5 gen=1 id=m version=5", "ILLEGAL_GENERATION"},
		{"an epoch before the partition was assigned", "txn-commit m orders:0@5 gen=1 id=m version=6", "STALE_MEMBER_EPOCH"},
		{"one partition that fails fails all", "txn-commit m payments:0@5 orders:0@5 gen=1 id=m version=5", "[{ILLEGAL_GENERATION}]} {Name:orders Partitions:[{ILLEGAL_GENERATION}]}"},
		{"somebody else", "txn-commit m orders:0@5 gen=2 id=other", "UNKNOWN_MEMBER_ID"},
		{"too much metadata does not ask for the partition", "txn-commit m orders:0@5 gen=1 id=m meta=x*4097", "OFFSET_METADATA_TOO_LARGE"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := consumerWorld(t)
			if got := w.run(test.command); !strings.Contains(got, test.want) {
				t.Errorf("%s: %s, want %s", test.command, got, test.want)
			}
			if got := w.run("delete-group x"); !strings.Contains(got, "NON_EMPTY_GROUP") {
				t.Errorf("the group's deletion: %s", got)
			}
		})
	}
}

// TestEpochsWhileThePartitionIsOwned commits with the epoch before the present
// one, for a partition that the member has had since.
func TestEpochsWhileThePartitionIsOwned(t *testing.T) {
	t.Parallel()
	w := consumerWorld(t)
	w.run("tick 2s") // past the assignment interval
	w.beat("m2", 0, "payments")
	w.beat("m", 2)
	if epoch := w.shard.groups["g"].(*consumerGroup).members["m"].epoch; epoch != 3 {
		t.Fatalf("the member has epoch %d, the test wants 3", epoch)
	}
	if got := w.run("txn-commit m orders:0@5 gen=2 id=m"); !strings.Contains(got, "PendingOffset{g orders:0") {
		t.Error(got)
	}
}

// endActions ends a transaction and returns what is to be done.
func endActions(w *world, token statemachine.Token, commit bool) []statemachine.Action {
	w.shard.Handle(w.now, statemachine.Call{Token: token, Body: &EndTransaction{ProducerID: 1, Commit: commit}})
	return w.shard.Take()
}

// TestAnEndIsAnsweredWhenItIsWritten looks at the order of the actions: an answer
// waits for the records of its scope before it, and those reach the log in order.
func TestAnEndIsAnsweredWhenItIsWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run("topics orders:3")
	for _, command := range []string{
		"txn-commit p orders:0@1 orders:1@1 group=b", "txn-commit p orders:0@1 group=a", "commit x orders:0@1 group=z",
	} {
		w.run(command)
	}
	actions := endActions(w, 100, true)
	if len(actions) != 3 {
		t.Fatalf("%d actions", len(actions))
	}
	for i, want := range []struct {
		group   string
		records int
	}{{"a", 2}, {"b", 4}} {
		if a := actions[i]; a.Scope != want.group || len(a.Records) != want.records || a.Answer != nil {
			t.Errorf("action %d: scope %q, %d records", i, a.Scope, len(a.Records))
		}
	}
	wantAnswer(t, "the answer", actions[2], 100, "b")

	// The first end is not written yet.
	again := endActions(w, 101, true)
	if len(again) != 1 {
		t.Fatalf("again: %d actions", len(again))
	}
	wantAnswer(t, "the answer to the repetition", again[0], 101, "b")

	if told := endActions(w, 0, true); len(told) != 0 {
		t.Errorf("without a token: %d actions", len(told))
	}
}

func wantAnswer(t *testing.T, what string, a statemachine.Action, token statemachine.Token, scope string) {
	t.Helper()
	if _, ok := a.Answer.(*generated.WriteTxnMarkersResponse); !ok || a.Token != token || a.Scope != scope || len(a.Records) > 0 {
		t.Errorf("%s: %+v, want token %d with scope %q", what, a, token, scope)
	}
}

// TestNothingIsRememberedForEver lets many producers come and go.
func TestNothingIsRememberedForEver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.lax = true
	w.run("topics orders:1")
	for pid := range int64(100) {
		w.shard.storePending("g", &generated.TxnOffsetCommitRequest{
			ProducerId: pid,
			Topics: []generated.TxnOffsetCommitRequestTopic{{
				Name: "orders", Partitions: []generated.TxnOffsetCommitRequestPartition{{}},
			}},
		})
	}
	if n := w.shard.Live(); n != 100 {
		t.Errorf("%d records are live", n)
	}
	for pid := range int64(100) {
		w.endTxn(w.client("coordinator"), &EndTransaction{ProducerID: pid, Commit: pid%2 == 0})
	}
	if n := len(w.shard.pending.producers); n != 100 {
		t.Errorf("%d producers are known", n)
	}
	w.run("tick 21m")
	if p := &w.shard.pending; len(p.producers) != 0 || len(p.groups) != 0 || p.count != 0 {
		t.Errorf("left: %d producers, %d groups, %d offsets", len(p.producers), len(p.groups), p.count)
	}
	w.load()
	if p := &w.shard.pending; len(p.producers) != 0 || w.shard.Live() != 1 {
		t.Errorf("after a restart: %d producers, %d live", len(p.producers), w.shard.Live())
	}
}
