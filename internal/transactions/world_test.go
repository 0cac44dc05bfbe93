package transactions

import (
	"fmt"
	"math/rand/v2"
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/producers"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/statemachine"
	"kafka-iggy-bridge/internal/wire"
)

// world is a bridge without I/O: a machine with its log, and partitions with
// their ledgers. Whatever takes time is a step of its own, and the bridge can be
// killed between any two.
type world struct {
	random     *rand.Rand
	now        time.Time
	machine    *Machine
	log        []records.Record
	partitions map[TopicPartition]*partition
	nextID     int64
	tokens     statemachine.Token
	answers    map[statemachine.Token]generated.Message
	// pending are actions that are not carried out; effects are markers that are
	// to be written.
	pending []statemachine.Action
	effects []*effect
	kills   int
}

// effect is a WriteMarkers on its way.
type effect struct {
	WriteMarkers
	left []TopicPartition
}

// partition is a partition's log.
type partition struct {
	ledger  *producers.Ledger
	records []logged
}

// logged is a record, or a marker.
type logged struct {
	producers.Record
	attempt int // the transaction that it belongs to, as its producer counts
}

func newWorld(seed uint64, partitions int) *world {
	w := &world{
		random:     rand.New(rand.NewPCG(seed, 7)),
		now:        time.UnixMilli(1_700_000_000_000),
		partitions: make(map[TopicPartition]*partition),
		answers:    make(map[statemachine.Token]generated.Message),
	}
	for i := range partitions {
		w.partitions[TopicPartition{"orders", int32(i)}] = &partition{ledger: producers.NewLedger(0)}
	}
	w.load()
	return w
}

// load makes a machine of the log.
func (w *world) load() {
	config := DefaultConfig()
	config.NewProducerID = func() (int64, bool) { w.nextID++; return w.nextID, true }
	config.OffsetsPartition = func(string) int32 { return 3 }
	w.machine = NewMachine(config)
	for i := range w.log {
		if err := w.machine.Replay(&w.log[i]); err != nil {
			panic(err)
		}
	}
	w.machine.Loaded(w.now)
	w.take()
}

// kill ends the bridge: what is not in the logs is gone.
func (w *world) kill() {
	w.kills++
	w.pending, w.effects = nil, nil
	for _, p := range w.partitions {
		p.ledger = rebuilt(p.records)
	}
	w.load()
}

func rebuilt(log []logged) *producers.Ledger {
	l := producers.NewLedger(0)
	for i := range log {
		l.Replay(&log[i].Record)
	}
	return l
}

func (w *world) take() { w.pending = append(w.pending, w.machine.Take()...) }

// call gives a request to the machine, and returns the token of its answer.
func (w *world) call(version int16, body any) statemachine.Token {
	w.tokens++
	w.machine.Handle(w.now, statemachine.Call{Token: w.tokens, Version: version, Body: body})
	w.take()
	return w.tokens
}

// step carries out one action, or writes one marker. It reports whether there
// was anything to do.
func (w *world) step() bool {
	n := len(w.pending) + len(w.effects)
	if n == 0 {
		return false
	}
	if i := w.random.IntN(n); i >= len(w.pending) {
		w.writeMarker(i - len(w.pending))
		return true
	}
	a := w.pending[0]
	w.pending = w.pending[1:]
	w.log = append(w.log, a.Records...)
	if a.Answer != nil {
		w.answers[a.Token] = a.Answer
	}
	if m, ok := a.Effect.(WriteMarkers); ok {
		w.effects = append(w.effects, &effect{m, append([]TopicPartition(nil), m.Partitions...)})
	}
	return true
}

// writeMarker writes one marker of an effect, and tells the machine after the
// last.
func (w *world) writeMarker(i int) {
	e := w.effects[i]
	if len(e.left) > 0 {
		w.end(e.left[0], producers.Marker{ProducerID: e.ProducerID, Epoch: e.ProducerEpoch, Commit: e.Commit, Bumped: e.Bumped})
		e.left = e.left[1:]
		return
	}
	w.effects = append(w.effects[:i:i], w.effects[i+1:]...)
	w.machine.Handle(w.now, statemachine.Call{Body: &MarkersWritten{e.TransactionalID, e.ProducerID, e.ProducerEpoch}})
	w.take()
}

func (w *world) end(at TopicPartition, m producers.Marker) {
	p := w.partitions[at]
	needed, err := p.ledger.CheckMarker(m)
	if err != nil {
		panic(fmt.Sprintf("a marker was refused: %v", err))
	}
	if !needed {
		return
	}
	offset := p.ledger.Next()
	p.ledger.End(m, offset, w.now.UnixMilli())
	p.records = append(p.records, logged{Record: producers.Record{Offset: offset, Timestamp: w.now.UnixMilli(), Marker: &m}})
}

// append appends a batch of one record.
func (w *world) append(at TopicPartition, id int64, epoch int16, sequence int32, attempt int) error {
	p := w.partitions[at]
	b := producers.Batch{ProducerID: id, Epoch: epoch, FirstSequence: sequence, LastSequence: sequence, Transactional: true}
	if before, err := p.ledger.Check(b); before != nil || err != nil {
		return err
	}
	offset := p.ledger.Next()
	p.ledger.Append(b, producers.Appended{Base: offset, Timestamp: w.now.UnixMilli()}, 1)
	p.records = append(p.records, logged{attempt: attempt, Record: producers.Record{
		Offset: offset, HasProducer: true, ProducerID: id, Epoch: epoch, Sequence: sequence, Transactional: true,
		Timestamp: w.now.UnixMilli(), AppendTime: uint64(offset),
	}})
	return nil
}

// settle lets everything come to its end, time-outs too.
func (w *world) settle() {
	for range 3 {
		for w.step() {
		}
		w.now = w.now.Add(time.Hour)
		w.machine.Tick(w.now)
		w.take()
	}
	for w.step() {
	}
}

// committed are the attempts with records that a reader of committed records
// gets from a partition, each with the number of its records.
func (p *partition) committed() map[int]int {
	pending, seen := make(map[int64][]int), make(map[int]int)
	for _, r := range p.records {
		if r.Marker == nil {
			pending[r.ProducerID] = append(pending[r.ProducerID], r.attempt)
			continue
		}
		if r.Marker.Commit {
			for _, attempt := range pending[r.Marker.ProducerID] {
				seen[attempt]++
			}
		}
		delete(pending, r.Marker.ProducerID)
	}
	return seen
}

// client is a transactional producer, one step at a time.
type client struct {
	w         *world
	id        string
	version2  bool
	producer  int64
	epoch     int16
	sequences map[TopicPartition]int32
	waits     statemachine.Token
	waited    int
	state     clientState
	commit    bool
	joining   TopicPartition
	attempt   *attempt
	joined    map[TopicPartition]bool
}

type clientState int

const (
	clientNew clientState = iota
	clientInitialising
	clientReady
	clientJoining
	clientEnding
)

// attempt is a transaction as its producer sees it.
type attempt struct {
	number  int
	records map[TopicPartition]int
	outcome outcome
}

type outcome int

const (
	outcomeUnknown outcome = iota
	outcomeCommitted
	outcomeAborted
)

// patience is how many steps a client waits for an answer before it asks again.
const patience = 40

// step lets the client do one thing.
func (c *client) step(attempts *[]*attempt) {
	if c.waits != 0 {
		answer, ok := c.w.answers[c.waits]
		if c.waited++; !ok && c.waited < patience {
			return
		}
		c.waits = 0
		c.take(answer)
		return
	}
	switch c.state {
	case clientNew:
		req := generated.DefaultInitProducerIdRequest()
		req.TransactionalId, req.TransactionTimeoutMs = wire.String(c.id), 60_000
		c.ask(clientInitialising, 5, &req)
	case clientReady:
		c.work(attempts)
	case clientJoining:
		c.join()
	case clientEnding:
		c.end()
	}
}

func (c *client) ask(state clientState, version int16, body any) {
	c.state, c.waited = state, 0
	c.waits = c.w.call(version, body)
}

// work writes a record or ends the transaction.
func (c *client) work(attempts *[]*attempt) {
	if c.attempt == nil {
		c.attempt = &attempt{number: len(*attempts), records: make(map[TopicPartition]int)}
		*attempts = append(*attempts, c.attempt)
		c.joined = make(map[TopicPartition]bool)
	}
	if len(c.attempt.records) > 0 && c.w.random.IntN(5) == 0 {
		c.commit = c.w.random.IntN(3) > 0
		c.end()
		return
	}
	c.joining = TopicPartition{"orders", int32(c.w.random.IntN(len(c.w.partitions)))}
	if c.joined[c.joining] {
		c.write()
		return
	}
	c.join()
}

func (c *client) join() {
	if c.version2 {
		c.ask(clientJoining, 0, &AddPartitions{
			TransactionalID: c.id, ProducerID: c.producer, ProducerEpoch: c.epoch, Partitions: []TopicPartition{c.joining},
		})
		return
	}
	req := generated.DefaultAddPartitionsToTxnRequest()
	req.V3AndBelowTransactionalId, req.V3AndBelowProducerId, req.V3AndBelowProducerEpoch = c.id, c.producer, c.epoch
	req.V3AndBelowTopics = []generated.AddPartitionsToTxnRequestAddPartitionsToTxnTopic{
		{Name: c.joining.Topic, Partitions: []int32{c.joining.Partition}},
	}
	c.ask(clientJoining, 3, &req)
}

// write appends a record to a partition that was verified to take part.
func (c *client) write() {
	t := c.w.machine.find(c.id)
	if t == nil || t.producerID != c.producer || t.epoch != c.epoch || t.state != stateOngoing {
		c.restart() // what the bridge checks when it lets a record in
		return
	}
	if _, ok := t.partitions[c.joining]; !ok {
		c.restart()
		return
	}
	if err := c.w.append(c.joining, c.producer, c.epoch, c.sequences[c.joining], c.attempt.number); err != nil {
		c.restart()
		return
	}
	c.sequences[c.joining]++
	c.attempt.records[c.joining]++
	c.state = clientReady
}

func (c *client) end() {
	req := generated.DefaultEndTxnRequest()
	req.TransactionalId, req.ProducerId, req.ProducerEpoch, req.Committed = c.id, c.producer, c.epoch, c.commit
	version := int16(4)
	if c.version2 {
		version = 5
	}
	c.ask(clientEnding, version, &req)
}

// restart gives everything up, as a producer that has a fatal error.
func (c *client) restart() {
	c.state, c.attempt = clientNew, nil
}

// take takes an answer; nil is none.
func (c *client) take(answer generated.Message) {
	switch c.state {
	case clientInitialising:
		resp, _ := answer.(*generated.InitProducerIdResponse)
		if resp == nil || resp.ErrorCode != errorcode.None {
			c.state = clientNew
			return
		}
		c.producer, c.epoch, c.sequences = resp.ProducerId, resp.ProducerEpoch, make(map[TopicPartition]int32)
		c.state, c.attempt = clientReady, nil
	case clientJoining:
		c.tookJoin(answer)
	case clientEnding:
		c.tookEnd(answer)
	}
}

func (c *client) tookJoin(answer generated.Message) {
	resp, _ := answer.(*generated.AddPartitionsToTxnResponse)
	if resp == nil {
		return // it asks again
	}
	rows := resp.ResultsByTopicV3AndBelow
	if c.version2 {
		rows = resp.ResultsByTransaction[0].TopicResults
	}
	switch rows[0].ResultsByPartition[0].PartitionErrorCode {
	case errorcode.None:
		c.joined[c.joining] = true
		c.write()
	case errorcode.ConcurrentTransactions, errorcode.CoordinatorNotAvailable:
	default:
		c.restart()
	}
}

func (c *client) tookEnd(answer generated.Message) {
	resp, _ := answer.(*generated.EndTxnResponse)
	if resp == nil {
		return // it asks again
	}
	switch resp.ErrorCode {
	case errorcode.None:
		c.attempt.outcome = outcomeAborted
		if c.commit {
			c.attempt.outcome = outcomeCommitted
		}
		if c.version2 {
			if resp.ProducerId != c.producer || resp.ProducerEpoch != c.epoch {
				c.sequences = make(map[TopicPartition]int32)
			}
			c.producer, c.epoch = resp.ProducerId, resp.ProducerEpoch
		}
		c.state, c.attempt = clientReady, nil
	case errorcode.ConcurrentTransactions, errorcode.CoordinatorNotAvailable:
	default:
		c.restart()
	}
}
