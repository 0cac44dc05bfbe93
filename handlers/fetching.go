package handlers

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/producers"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/server/parking"
)

// noRecords are records that are there and empty, where nil would be null.
var noRecords = []byte{}

// noAborted is the list of aborted transactions where there are none.
var noAborted = []generated.FetchResponseAbortedTransaction{}

// fetching is a Fetch request on its way.
type fetching struct {
	h         *Handlers
	version   int16
	isolation int8
	replica   bool
	minBytes  int
	left      int // bytes that the answer may still take
	size      int // bytes of records read

	partitions []fetchPartition
	watching   []bridge.TopicPartition
	urgent     bool // something was found that the client is to know at once
	outage     bool // Iggy failed
}

// fetchPartition is a partition that can be read.
type fetchPartition struct {
	topic     *bridge.Topic
	row       *generated.FetchResponsePartitionData
	lastEpoch int32
	next      int64 // the offset to go on from
	left      int   // bytes that the partition may still take
	done      bool  // it is not read any more

	batches [][]byte
	size    int
}

// fetchings are kept with their lists: idle consumers ask again and again.
var fetchings = sync.Pool{New: func() any { return new(fetching) }}

// maxKeptPartitions is how long the lists may be that are kept.
const maxKeptPartitions = 256

func newFetching(h *Handlers, version int16, body *generated.FetchRequest) *fetching {
	left := min(max(int(body.MaxBytes), 0), maxFetchBytes)
	f := fetchings.Get().(*fetching)
	*f = fetching{
		h:          h,
		version:    version,
		isolation:  body.IsolationLevel,
		replica:    body.ReplicaId >= 0 || body.ReplicaState.ReplicaId >= 0,
		minBytes:   min(int(body.MinBytes), left),
		left:       left,
		partitions: f.partitions,
		watching:   f.watching,
	}
	return f
}

// release keeps what is left of a request that is answered. The answer is not
// part of it.
func (f *fetching) release() {
	if cap(f.partitions) > maxKeptPartitions {
		return
	}
	clear(f.partitions)
	clear(f.watching)
	*f = fetching{partitions: f.partitions[:0], watching: f.watching[:0]}
	fetchings.Put(f)
}

// begin makes the answer's rows and finds the partitions that can be read.
func (f *fetching) begin(ctx context.Context, body *generated.FetchRequest, resp *generated.FetchResponse) {
	n := 0
	for i := range body.Topics {
		n += len(body.Topics[i].Partitions)
	}
	f.partitions = slices.Grow(f.partitions, n)
	rows := make([]generated.FetchResponsePartitionData, n)
	resp.Responses = make([]generated.FetchResponseFetchableTopicResponse, len(body.Topics))
	for i := range body.Topics {
		asked, told := &body.Topics[i], &resp.Responses[i]
		*told = generated.DefaultFetchResponseFetchableTopicResponse()
		told.Topic, told.TopicId = asked.Topic, asked.TopicId
		n := len(asked.Partitions)
		told.Partitions, rows = rows[:n:n], rows[n:]
		f.topic(ctx, asked, told.Partitions, resp.ErrorCode)
	}
}

// topic makes the rows of one topic.
func (f *fetching) topic(ctx context.Context, asked *generated.FetchRequestFetchTopic, rows []generated.FetchResponsePartitionData, code int16) {
	var t *bridge.Topic
	if code == errorcode.None {
		t, code = f.h.findTopic(ctx, asked.Topic, asked.TopicId, f.version >= fetchIDs)
		f.outage = f.outage || isOutage(code)
		f.urgent = f.urgent || isOutage(code)
	}
	for i := range asked.Partitions {
		p, row := &asked.Partitions[i], &rows[i]
		*row = generated.DefaultFetchResponsePartitionData()
		row.PartitionIndex = p.Partition
		row.HighWatermark = notKnown
		row.Records = noRecords
		row.AbortedTransactions = noAborted
		if row.ErrorCode = code; code == errorcode.None {
			row.ErrorCode = f.check(t, p)
		}
		if row.ErrorCode != errorcode.None {
			if code == errorcode.None && row.ErrorCode != errorcode.UnknownTopicOrPartition {
				row.AbortedTransactions = nil
			}
			continue
		}
		f.partitions = append(f.partitions, fetchPartition{
			topic:     t,
			row:       row,
			lastEpoch: p.LastFetchedEpoch,
			next:      p.FetchOffset,
			left:      max(int(p.PartitionMaxBytes), 0),
		})
	}
}

// check is what is wrong before a partition is read.
func (f *fetching) check(t *bridge.Topic, p *generated.FetchRequestFetchPartition) (code int16) {
	switch {
	case !hasPartition(t, p.Partition):
		return errorcode.UnknownTopicOrPartition
	case p.CurrentLeaderEpoch > leaderEpoch:
		code = errorcode.UnknownLeaderEpoch
	case f.replica:
		code = errorcode.NotLeaderOrFollower
	case p.LastFetchedEpoch > leaderEpoch:
		code = errorcode.OffsetOutOfRange
	}
	f.urgent = f.urgent || code != errorcode.None
	return code
}

// isOutage reports whether a code says that Iggy failed, as opposed to what was
// asked of it.
func isOutage(code int16) bool {
	switch code {
	case errorcode.None, errorcode.OffsetOutOfRange, errorcode.UnknownTopicOrPartition, errorcode.UnknownTopicID:
		return false
	}
	return true
}

// read reads what the partitions have beyond what was read before.
func (f *fetching) read(ctx context.Context) {
	for i := range f.partitions {
		// The bridge may return less than there is; while that is too little to
		// answer with, the rest is not to be waited for.
		for p := &f.partitions[i]; !p.done && f.readPartition(ctx, p) && f.size < f.minBytes && p.left > 0; {
		}
	}
}

// readPartition reads on in a partition and reports whether there was more.
func (f *fetching) readPartition(ctx context.Context, p *fetchPartition) bool {
	got, err := f.h.bridge.Fetch(ctx, p.topic, p.row.PartitionIndex, bridge.FetchSpec{
		Offset:     p.next,
		MaxBytes:   min(p.left, f.left),
		AtLeastOne: f.size == 0,
		Committed:  f.isolation != readUncommitted,
	})
	if err != nil {
		f.failed(p, got, err)
		return false
	}
	p.row.HighWatermark = got.HighWatermark
	p.row.LastStableOffset = got.LastStableOffset
	p.row.LogStartOffset = got.LogStartOffset
	if len(got.Records) == 0 {
		return false
	}
	n := got.Size()
	p.size, f.size = p.size+n, f.size+n
	p.left, f.left = max(p.left-n, 0), max(f.left-n, 0)
	p.next = endOffset(got.Records[len(got.Records)-1])
	p.addAborted(got.Aborted)
	if p.batches == nil {
		p.batches = got.Records
	} else {
		p.batches = append(p.batches, got.Records...)
	}
	if f.isolation != readUncommitted {
		return p.next < got.LastStableOffset
	}
	return p.next < got.HighWatermark
}

// addAborted puts aborted transactions into the row. One that two reads met is
// told once.
func (p *fetchPartition) addAborted(aborted []producers.Aborted) {
	for _, a := range aborted {
		row := generated.FetchResponseAbortedTransaction{ProducerId: a.ProducerID, FirstOffset: a.First}
		known := slices.ContainsFunc(p.row.AbortedTransactions, func(r generated.FetchResponseAbortedTransaction) bool {
			return r.ProducerId == row.ProducerId && r.FirstOffset == row.FirstOffset
		})
		if !known {
			p.row.AbortedTransactions = append(p.row.AbortedTransactions, row)
		}
	}
}

// failed fills in the row of a partition that could not be read. What was read
// of it before is delivered; the next request meets the fault again.
func (f *fetching) failed(p *fetchPartition, got bridge.Fetched, err error) {
	p.done, f.urgent = true, true
	if len(p.batches) > 0 {
		return
	}
	row := p.row
	if errors.Is(err, bridge.ErrOffsetOutOfRange) && p.lastEpoch == leaderEpoch && got.HighWatermark >= 0 && p.next > got.HighWatermark {
		row.HighWatermark, row.LastStableOffset, row.LogStartOffset = got.HighWatermark, got.LastStableOffset, got.LogStartOffset
		row.DivergingEpoch.Epoch, row.DivergingEpoch.EndOffset = leaderEpoch, got.HighWatermark
		return
	}
	row.ErrorCode = partitionCode(err, f.version >= fetchIDs)
	row.HighWatermark, row.LastStableOffset, row.LogStartOffset = notKnown, notKnown, notKnown
	f.outage = f.outage || isOutage(row.ErrorCode)
}

// enough reports whether the answer is worth sending.
func (f *fetching) enough() bool { return f.urgent || f.size >= f.minBytes }

// wait reads on as partitions grow, until there is enough, the time is over, or
// the client or the bridge goes.
func (f *fetching) wait(ctx context.Context, atMost time.Duration) {
	if atMost <= 0 {
		return
	}
	spot := parking.Enter(ctx)
	defer spot.Leave()
	watcher := f.h.bridge.Watch(f.watched())
	defer watcher.Close()
	timer := startTimer(atMost)
	defer stopTimer(timer)
	for !f.enough() {
		select {
		case <-watcher.C:
			f.read(ctx)
		case <-timer.C:
			return
		case <-spot.Evicted():
			return
		case <-ctx.Done():
			return
		}
	}
}

// timers are kept: idle consumers need one after the other.
var timers sync.Pool

func startTimer(d time.Duration) *time.Timer {
	if t, ok := timers.Get().(*time.Timer); ok {
		t.Reset(d)
		return t
	}
	return time.NewTimer(d)
}

// stopTimer stops a timer that nobody looks at any more. Nothing comes out of its
// channel after that.
func stopTimer(t *time.Timer) {
	t.Stop()
	timers.Put(t)
}

// watched are the partitions to wait for, with what is known of their ends.
func (f *fetching) watched() []bridge.TopicPartition {
	for i := range f.partitions {
		p := &f.partitions[i]
		f.watching = append(f.watching, bridge.TopicPartition{Topic: p.topic, Partition: p.row.PartitionIndex, Offset: p.row.HighWatermark})
	}
	return f.watching
}

// hold waits without hope of data.
func (f *fetching) hold(ctx context.Context, atMost time.Duration) {
	if atMost <= 0 {
		return
	}
	spot := parking.Enter(ctx)
	defer spot.Leave()
	timer := startTimer(atMost)
	defer stopTimer(timer)
	select {
	case <-timer.C:
	case <-spot.Evicted():
	case <-ctx.Done():
	}
}

// fill puts what was read into the answer's rows.
func (f *fetching) fill() {
	for i := range f.partitions {
		p := &f.partitions[i]
		if f.isolation == readUncommitted || p.row.ErrorCode != errorcode.None || p.row.DivergingEpoch.Epoch != notKnown {
			p.row.AbortedTransactions = nil
		}
		if len(p.batches) > 0 {
			f.h.metrics.Fetched(countRecords(p.batches), p.size)
		}
		switch len(p.batches) {
		case 0:
		case 1:
			p.row.Records = p.batches[0]
		default:
			p.row.Records = join(p.batches, p.size)
		}
	}
}

// join is the batches one behind the other. An answer holds a partition's
// records in one piece.
func join(batches [][]byte, size int) []byte {
	joined := make([]byte, 0, size)
	for _, b := range batches {
		joined = append(joined, b...)
	}
	return joined
}

// countRecords is how many records batches hold.
func countRecords(batches [][]byte) int {
	n := 0
	for _, raw := range batches {
		if batch, _, err := records.Parse(raw); err == nil {
			n += int(batch.Count)
		}
	}
	return n
}

// endOffset is the offset behind the last record of a batch.
func endOffset(raw []byte) int64 {
	batch, _, err := records.Parse(raw)
	if err != nil {
		// The bridge makes the batches; this is a fault of ours.
		panic(err)
	}
	return batch.LastOffset() + 1
}
