package groups

import (
	"fmt"
	"strings"
	"testing"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/statemachine"
)

func init() {
	traceCommands["txn-commit"] = traceTxnCommit
	traceCommands["end-txn"] = traceEndTxn
	beforeHandle = append(beforeHandle, resolveTxnTopics)
}

// traceTxnCommit sends TxnOffsetCommit: "txn-commit p orders:0@5 orders:1@7/3
// pid=1 epoch=0 version=5 gen=1 id=m1-1 instance=i meta=text group=g", with
// options as of commit. It commits for nobody unless told otherwise.
func traceTxnCommit(w *world, c *command) {
	who := w.client(c.args[0])
	r := generated.DefaultTxnOffsetCommitRequest()
	r.TransactionalId = who.name
	r.GroupId = c.opt("group", who.group)
	r.ProducerId = int64(c.num(w, "pid", 1))
	r.ProducerEpoch = int16(c.num(w, "epoch", 0))
	r.MemberId = c.opt("id", "")
	r.GenerationIdOrMemberEpoch = int32(c.num(w, "gen", -1))
	r.GroupInstanceId = c.nullable("instance", "")
	meta := metadataOption(w, c)
	version := int16(c.num(w, "version", 5))
	for _, arg := range c.args[1:] {
		topic, rest, _ := strings.Cut(arg, ":")
		partition, position, _ := strings.Cut(rest, "@")
		offset, epoch, hasEpoch := strings.Cut(position, "/")
		p := generated.DefaultTxnOffsetCommitRequestPartition()
		p.PartitionIndex = int32(w.atoi(partition))
		p.CommittedOffset = int64(w.atoi(offset))
		if hasEpoch {
			p.CommittedLeaderEpoch = int32(w.atoi(epoch))
		}
		p.CommittedMetadata = meta
		if n := len(r.Topics); n > 0 && r.Topics[n-1].Name == topic {
			r.Topics[n-1].Partitions = append(r.Topics[n-1].Partitions, p)
			continue
		}
		r.Topics = append(r.Topics, generated.TxnOffsetCommitRequestTopic{
			Name: topic, Partitions: []generated.TxnOffsetCommitRequestPartition{p},
		})
	}
	resolveTxnTopics(w, &r)
	w.send(who, 28, version, &r)
}

// resolveTxnTopics names topics by both name and id, as handlers do.
func resolveTxnTopics(w *world, body generated.Message) {
	r, ok := body.(*generated.TxnOffsetCommitRequest)
	if !ok {
		return
	}
	for i := range r.Topics {
		t := &r.Topics[i]
		if topic, ok := w.topics.ByID(t.TopicId); ok {
			t.Name = topic.Name
		} else if topic, ok := w.topics.ByName(t.Name); ok {
			t.TopicId = topic.ID
		}
	}
}

// traceEndTxn ends a transaction as its coordinator does: "end-txn commit pid=1
// epoch=0", or "end-txn abort"; with tell=1 without an answer.
func traceEndTxn(w *world, c *command) {
	end := &EndTransaction{
		ProducerID:    int64(c.num(w, "pid", 1)),
		ProducerEpoch: int16(c.num(w, "epoch", 0)),
		Commit:        c.args[0] == "commit",
	}
	if c.opt("tell", "") != "" {
		w.shard.Handle(w.now, statemachine.Call{Body: end})
		w.settle()
		return
	}
	w.endTxn(w.client("coordinator"), end)
}

// endTxn gives the shard an end of a transaction, which is answered.
func (w *world) endTxn(c *client, end *EndTransaction) {
	w.t.Helper()
	w.lastToken++
	w.open[w.lastToken] = &request{client: c, version: 1}
	w.shard.Handle(w.now, statemachine.Call{Token: w.lastToken, Body: end})
	w.settle()
}

// showPendingRecord writes a record of a pending offset.
func showPendingRecord(t testing.TB, r records.Record) string {
	t.Helper()
	groupID, topic, p, live, err := decodePendingOffset(&r)
	if err != nil {
		t.Fatal(err)
	}
	key := fmt.Sprintf("PendingOffset{%s %s:%d producer %d}", groupID, topic, p.partition, p.producerID)
	if !live {
		return key + " tombstone"
	}
	state := ""
	if p.outdated {
		state = " outdated"
	}
	return fmt.Sprintf("%s {epoch %d order %d%s: %d/%d %q at %d of %s}", key, p.producerEpoch, p.order, state,
		p.offset, p.leaderEpoch, p.metadata, p.commitMs, showTopicID(p.topicID))
}
