package groups

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/statemachine"
	"kafka-iggy-bridge/internal/wire"
)

// TestRandomTransactions lets producers commit offsets for several groups, ends
// their transactions, commits and deletes in between, and loses the shard at any
// step. A model that keeps offsets with their places in a log, as Kafka does,
// says what fetches must answer: what was committed in a transaction appears if
// and only if that is committed, and nothing newer is undone by it.
func TestRandomTransactions(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.topics = NewTopicSet([]Topic{{"a", topicID("a"), 4}, {"b", topicID("b"), 4}})
			w.load()
			m := &txnModel{
				w: w, r: rand.New(rand.NewPCG(seed, 6)),
				committed: make(map[offsetKey]placedOffset),
				pending:   make(map[int64]map[offsetKey]placedOffset),
			}
			for pid := range int64(4) {
				m.producers = append(m.producers, &txnProducer{id: pid, bumps: pid%2 == 0})
			}
			for step := range 400 {
				m.step()
				m.compare()
				if t.Failed() {
					t.Fatalf("seed %d, step %d", seed, step)
				}
			}
			if m.commits < 10 || m.aborts < 10 || m.losses < 20 || m.outdated < 5 {
				t.Errorf("%d commits, %d aborts, %d losses, %d outdated offsets: not what was to be tried", m.commits, m.aborts, m.losses, m.outdated)
			}
		})
	}
}

// txnModel is what clients may rely on.
type txnModel struct {
	w *world
	r *rand.Rand
	// log is how many records of offsets there are.
	log       int
	committed map[offsetKey]placedOffset
	pending   map[int64]map[offsetKey]placedOffset
	producers []*txnProducer

	answered                          generated.Message
	commits, aborts, losses, outdated int
}

// placedOffset is an offset with its place in the log.
type placedOffset struct {
	offset int64
	at     int
}

// txnProducer is a producer, whose epoch grows with each transaction or not.
type txnProducer struct {
	id    int64
	epoch int16
	bumps bool
	// ending is the end of its transaction, which was not answered.
	ending *EndTransaction
}

func init() {
	onAnswer = append(onAnswer, func(c *client, answer generated.Message) {
		if m, ok := c.state.(*txnModel); ok {
			m.answered = answer
		}
	})
}

func (m *txnModel) step() {
	p := m.producers[m.r.IntN(len(m.producers))]
	switch n := m.r.IntN(20); {
	case n < 8:
		m.txnCommit(p)
	case n < 13:
		m.end(p)
	case n < 16:
		m.commit()
	case n == 16:
		m.zombie(p)
	case n == 17:
		m.delete()
	case n == 18:
		m.deleteGroup()
	default:
		m.losses++
		m.w.load()
	}
}

func (m *txnModel) group() string { return fmt.Sprintf("g%d", m.r.IntN(3)) }

// offsets makes up what is to be committed for a group.
func (m *txnModel) offsets(group string) map[offsetKey]int64 {
	offsets := make(map[offsetKey]int64)
	for range 1 + m.r.IntN(3) {
		offsets[offsetKey{group, []string{"a", "b"}[m.r.IntN(2)], m.r.Int32N(4)}] = m.r.Int64N(1000)
	}
	return offsets
}

// handle gives the shard a request. Now and then the shard is lost on the way:
// only the first of its actions are carried out then. Without an answer the
// groups are returned whose records were written.
func (m *txnModel) handle(key, version int16, body any) (answer generated.Message, written []string) {
	m.w.t.Helper()
	m.answered = nil
	c := &client{name: "x", state: m}
	if m.r.IntN(6) > 0 {
		if request, ok := body.(generated.Message); ok {
			m.w.send(c, key, version, request)
		} else {
			m.w.endTxn(c, body.(*EndTransaction))
		}
		if m.answered == nil {
			m.w.t.Fatalf("%T is not answered", body)
		}
		return m.answered, nil
	}
	m.losses++
	m.w.shard.Handle(m.w.now, statemachine.Call{Token: 1 << 40, Key: key, Version: version, Body: body})
	actions := m.w.shard.Take()
	for _, a := range actions[:m.r.IntN(len(actions))] {
		for _, r := range a.Records {
			m.w.append(r)
		}
		written = append(written, a.Scope)
	}
	m.w.load()
	return nil, written
}

func (m *txnModel) txnCommit(p *txnProducer) {
	if p.ending != nil {
		m.end(p)
		return
	}
	group := m.group()
	offsets := m.offsets(group)
	answer, written := m.handle(28, 5, m.txnRequest(p.id, p.epoch, group, offsets))
	if answer == nil && len(written) == 0 {
		return
	}
	if answer != nil {
		m.wantCode(answer, errorcode.None)
	}
	if m.pending[p.id] == nil {
		m.pending[p.id] = make(map[offsetKey]placedOffset)
	}
	for key, offset := range offsets {
		m.log++
		m.pending[p.id][key] = placedOffset{offset, m.log}
	}
}

// txnRequest lists each partition as a topic of its own, which is as good.
func (m *txnModel) txnRequest(pid int64, epoch int16, group string, offsets map[offsetKey]int64) *generated.TxnOffsetCommitRequest {
	req := generated.DefaultTxnOffsetCommitRequest()
	req.GroupId, req.ProducerId, req.ProducerEpoch = group, pid, epoch
	for key, offset := range offsets {
		row := generated.DefaultTxnOffsetCommitRequestPartition()
		row.PartitionIndex, row.CommittedOffset, row.CommittedMetadata = key.partition, offset, wire.String("m")
		req.Topics = append(req.Topics, generated.TxnOffsetCommitRequestTopic{
			Name: key.topic, Partitions: []generated.TxnOffsetCommitRequestPartition{row},
		})
	}
	return &req
}

func (m *txnModel) wantCode(answer generated.Message, want int16) {
	m.w.t.Helper()
	for _, topic := range answer.(*generated.TxnOffsetCommitResponse).Topics {
		for _, row := range topic.Partitions {
			if row.ErrorCode != want {
				m.w.t.Fatalf("a commit is answered %s, want %s", errorcode.Name(row.ErrorCode), errorcode.Name(want))
			}
		}
	}
}

// zombie commits in an epoch that is over.
func (m *txnModel) zombie(p *txnProducer) {
	if len(m.pending[p.id]) == 0 || p.epoch == 0 || p.ending != nil {
		return
	}
	group := m.group()
	if answer, _ := m.handle(28, 5, m.txnRequest(p.id, p.epoch-1, group, m.offsets(group))); answer != nil {
		m.wantCode(answer, errorcode.InvalidProducerEpoch)
	}
}

// end ends a transaction, until there is an answer, and sometimes once more.
func (m *txnModel) end(p *txnProducer) {
	if p.ending == nil {
		p.ending = &EndTransaction{ProducerID: p.id, ProducerEpoch: p.epoch, Commit: m.r.IntN(3) > 0}
		if p.bumps || m.r.IntN(4) == 0 {
			p.ending.ProducerEpoch++
		}
	}
	answer, written := m.handle(0, 0, p.ending)
	m.ended(p, func(group string) bool { return answer != nil || slices.Contains(written, group) })
	if answer == nil {
		return
	}
	if p.ending.Commit {
		m.commits++
	} else {
		m.aborts++
	}
	if m.r.IntN(4) == 0 {
		m.handle(0, 0, p.ending)
	}
	p.epoch, p.ending = p.ending.ProducerEpoch, nil
}

// ended takes over what is pending of a producer, or forgets it.
func (m *txnModel) ended(p *txnProducer, in func(group string) bool) {
	for key, o := range m.pending[p.id] {
		if !in(key.group) {
			continue
		}
		delete(m.pending[p.id], key)
		switch old, ok := m.committed[key]; {
		case !p.ending.Commit:
		case ok && o.at <= old.at:
			m.outdated++
		default:
			m.committed[key] = o
		}
	}
}

func (m *txnModel) commit() {
	group := m.group()
	offsets := m.offsets(group)
	req := generated.DefaultOffsetCommitRequest()
	req.GroupId = group
	for key, offset := range offsets {
		row := generated.DefaultOffsetCommitRequestPartition()
		row.PartitionIndex, row.CommittedOffset = key.partition, offset
		req.Topics = append(req.Topics, generated.OffsetCommitRequestTopic{
			Name: key.topic, Partitions: []generated.OffsetCommitRequestPartition{row},
		})
	}
	if answer, written := m.handle(8, 9, &req); answer == nil && len(written) == 0 {
		return
	}
	for key, offset := range offsets {
		m.log++
		m.committed[key] = placedOffset{offset, m.log}
	}
}

func (m *txnModel) delete() {
	group, topic, partition := m.group(), []string{"a", "b"}[m.r.IntN(2)], m.r.Int32N(4)
	req := generated.DefaultOffsetDeleteRequest()
	req.GroupId = group
	req.Topics = []generated.OffsetDeleteRequestTopic{{
		Name: topic, Partitions: []generated.OffsetDeleteRequestPartition{{PartitionIndex: partition}},
	}}
	answer, written := m.handle(47, 0, &req)
	if answer != nil || len(written) > 0 {
		m.forget(func(key offsetKey) bool { return key == offsetKey{group, topic, partition} })
	}
}

func (m *txnModel) deleteGroup() {
	group := m.group()
	req := generated.DefaultDeleteGroupsRequest()
	req.GroupsNames = []string{group}
	answer, written := m.handle(42, 2, &req)
	if answer != nil || len(written) > 0 {
		m.forget(func(key offsetKey) bool { return key.group == group })
	}
}

func (m *txnModel) forget(gone func(key offsetKey) bool) {
	drop := func(key offsetKey, _ placedOffset) bool { return gone(key) }
	maps.DeleteFunc(m.committed, drop)
	for _, pending := range m.pending {
		maps.DeleteFunc(pending, drop)
	}
}

// compare fetches everything, with and without require_stable. That writes
// nothing, so the log need not be looked at.
func (m *txnModel) compare() {
	m.w.t.Helper()
	m.w.lax = true
	defer func() { m.w.lax = false }()
	for _, stable := range []bool{false, true} {
		for g := range 3 {
			group := fmt.Sprintf("g%d", g)
			req := generated.DefaultOffsetFetchRequest()
			req.RequireStable = stable
			all := []int32{0, 1, 2, 3}
			req.Groups = []generated.OffsetFetchRequestGroup{{GroupId: group, MemberEpoch: -1, Topics: []generated.OffsetFetchRequestTopics{
				{Name: "a", PartitionIndexes: all}, {Name: "b", PartitionIndexes: all},
			}}}
			m.answered = nil
			m.w.send(&client{name: "x", state: m}, 9, 9, &req)
			for _, t := range m.answered.(*generated.OffsetFetchResponse).Groups[0].Topics {
				for _, row := range t.Partitions {
					m.compareRow(offsetKey{group, t.Name, row.PartitionIndex}, stable, row)
				}
			}
		}
	}
}

func (m *txnModel) compareRow(key offsetKey, stable bool, row generated.OffsetFetchResponsePartitions) {
	m.w.t.Helper()
	offset, code := int64(invalidOffset), errorcode.None
	if o, ok := m.committed[key]; ok {
		offset = o.offset
	}
	for _, pending := range m.pending {
		if _, ok := pending[key]; ok && stable {
			offset, code = invalidOffset, errorcode.UnstableOffsetCommit
		}
	}
	if row.CommittedOffset != offset || row.ErrorCode != code {
		m.w.t.Errorf("%v (stable %v): %d %s, want %d %s", key, stable,
			row.CommittedOffset, errorcode.Name(row.ErrorCode), offset, errorcode.Name(code))
	}
}
