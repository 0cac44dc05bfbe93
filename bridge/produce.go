package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"kafka-iggy-bridge/internal/producers"
	"kafka-iggy-bridge/internal/records"
)

// Pending is an append in its partition's queue.
type Pending struct {
	partition *partition
	topic     *Topic
	batch     *records.Batch
	marker    *producers.Marker // set when batch is that marker
	submitted time.Time

	done    chan struct{}
	started bool // guarded by partition.mu
	result  Appended
	err     error
}

// tailReadMemory is how long after a read near a partition's end its batches
// are still worth caching.
const tailReadMemory = 30 * time.Second

// Submit puts a batch into its partition's queue and returns at once: batches
// of a partition are appended in the order of the calls. The batch must have
// been validated, must stay unchanged until Wait returns, and every Pending
// must be waited for.
func (b *Bridge) Submit(ctx context.Context, t *Topic, partition int32, batch *records.Batch) *Pending {
	job := newPending(t, batch)
	p, err := b.partition(ctx, t, partition)
	if err != nil {
		job.finish(Appended{}, err)
		return job
	}
	b.submit(p, job)
	return job
}

// submit puts a job into a partition's queue.
func (b *Bridge) submit(p *partition, job *Pending) {
	job.partition = p
	if p.enqueue(job) {
		b.spawn(p.drain)
	}
}

func newPending(t *Topic, batch *records.Batch) *Pending {
	return &Pending{topic: t, batch: batch, submitted: time.Now(), done: make(chan struct{})}
}

// Wait returns what became of the append. When ctx ends before the append has
// begun it is withdrawn and nothing is written; an append that has begun is
// waited for, which Config.OperationTimeout bounds.
func (job *Pending) Wait(ctx context.Context) (Appended, error) {
	select {
	case <-job.done: // also when ctx is over: what was refused has no partition
		return job.result, job.err
	default:
	}
	select {
	case <-job.done:
		return job.result, job.err
	case <-ctx.Done():
	}
	if job.partition != nil && job.partition.withdraw(job) {
		job.finish(Appended{}, fmt.Errorf("waiting for earlier appends: %w", ctx.Err()))
	}
	<-job.done
	return job.result, job.err
}

func (job *Pending) finish(result Appended, err error) {
	job.result, job.err = result, err
	close(job.done)
}

// Produce appends a batch, which must have been validated, to a partition and
// returns where it lies. It is Submit followed by Wait. Errors: whatever
// ErrorCode knows; when it is ErrOutcomeUnknown the batch may have been
// written, with all others it was not. With an error of package producers the
// log's start is told all the same.
func (b *Bridge) Produce(ctx context.Context, t *Topic, partition int32, batch *records.Batch) (Appended, error) {
	job := newPending(t, batch)
	p, err := b.partition(ctx, t, partition)
	if err != nil {
		return Appended{}, err
	}
	job.partition = p
	if p.enqueue(job) {
		// The queue was empty: this goroutine may as well do the work, which saves
		// a switch. What came in meanwhile is left to another.
		if p.runNext() {
			b.spawn(p.drain)
		}
	}
	return job.Wait(ctx)
}

// enqueue adds a job and reports whether the caller is to work the queue off.
func (p *partition) enqueue(job *Pending) (mine bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = append(p.queue, job)
	mine = !p.running
	p.running = true
	return mine
}

// withdraw takes a job that was not begun out of the queue.
func (p *partition) withdraw(job *Pending) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if job.started {
		return false
	}
	for i, other := range p.queue {
		if other == job {
			p.queue = append(p.queue[:i:i], p.queue[i+1:]...)
			return true
		}
	}
	return false
}

// drain works the queue off.
func (p *partition) drain() {
	for p.runNext() {
	}
}

// runNext appends the first batch of the queue and reports whether there are
// more; when not, the queue has no worker any longer.
func (p *partition) runNext() (more bool) {
	p.mu.Lock()
	if len(p.queue) == 0 {
		p.running = false
		p.mu.Unlock()
		return false
	}
	job := p.queue[0]
	job.started = true
	p.queue[0] = nil
	p.queue = p.queue[1:]
	p.mu.Unlock()

	b := p.topic.bridge
	// The time in the queue counts: a client gives a request up after 30 s or so,
	// and sends what was in it again.
	ctx, cancel := context.WithDeadline(b.ctx, job.submitted.Add(b.config.OperationTimeout))
	result, err := p.append(ctx, job)
	cancel()
	if err != nil {
		b.suspect(p.topic, err)
	}

	p.mu.Lock()
	more = len(p.queue) > 0
	if !more {
		p.queue = nil
		p.running = false
	}
	p.mu.Unlock()
	job.finish(result, err)
	return more
}

// append writes one batch.
func (p *partition) append(ctx context.Context, job *Pending) (Appended, error) {
	batch, b := job.batch, p.topic.bridge
	if err := ctx.Err(); err != nil {
		return Appended{}, fmt.Errorf("waiting for earlier appends: %w", err)
	}
	expected, err := p.expected(ctx)
	if err != nil {
		return Appended{}, err
	}
	before, err := p.admit(ctx, job, expected)
	if before != nil || err != nil {
		return p.notAppended(before), err
	}
	if err := batch.Decompress(job.topic.Config.MaxDecompressedBytes()); err != nil {
		return Appended{}, fmt.Errorf("%w: %w", ErrCorruptBatch, err)
	}
	e := encoders.Get().(*encoder)
	defer e.release()
	appendTime := job.topic.Config.LogAppendTime()
	if err := e.encode(batch, encodeOptions{ids: b.ids, now: b.config.Now(), appendTime: appendTime}); err != nil {
		return Appended{}, err
	}
	if len(e.messages) == 0 {
		return Appended{}, fmt.Errorf("%w: it has no records", ErrCorruptBatch)
	}
	base, us, err := p.write(ctx, e.messages, expected)
	if err != nil {
		return Appended{}, err
	}
	ms := int64(us / 1000)
	p.appended(ctx, job, e, base, ms, expected)
	result := Appended{BaseOffset: base, LogAppendTime: records.NoTimestamp, LogStartOffset: p.knownStart()}
	if appendTime {
		result.LogAppendTime = ms
	}
	return result, nil
}

// notAppended is the answer to a batch that was appended before, or that its
// producer must not send.
func (p *partition) notAppended(before *producers.Appended) Appended {
	result := Appended{BaseOffset: unknownOffset, LogAppendTime: records.NoTimestamp, LogStartOffset: p.knownStart()}
	if before != nil {
		// Kafka tells the batch's time here, whatever kind of time the topic has.
		result.BaseOffset, result.LogAppendTime = before.Base, before.Timestamp
	}
	return result
}

// expected is the offset that the next append should get. The first append to
// a partition also finds out where it starts.
func (p *partition) expected(ctx context.Context) (int64, error) {
	hw, known := p.watermark()
	if !known {
		var err error
		if hw, err = p.freshWatermark(ctx, 0); err != nil {
			return 0, fmt.Errorf("finding the end of %s-%d: %w", p.topic.name, p.id, err)
		}
	}
	if _, err := p.startOffset(ctx, -1); err != nil {
		return 0, fmt.Errorf("finding the start of %s-%d: %w", p.topic.name, p.id, err)
	}
	return hw, nil
}

// appended brings the partition up to date after an append at base.
func (p *partition) appended(ctx context.Context, job *Pending, e *encoder, base, appendMs, expected int64) {
	n := int64(len(e.messages))
	b, now := p.topic.bridge, p.topic.bridge.config.Now()
	maxTime, maxAt := e.maxTimestamp, base+int64(e.maxTimestampAt)
	appendTime := job.topic.Config.LogAppendTime()
	if appendTime {
		maxTime, maxAt = appendMs, base
	}
	if base < expected {
		p.shrank(base)
	}
	p.index.add(base, base+n, maxTime, maxAt)
	// Before the end is raised: whoever sees the records sees whose they are.
	p.account(ctx, job, base, len(e.messages), maxTime)

	p.mu.Lock()
	// A compressed batch is kept even if nobody reads near the end: built anew from
	// Iggy's messages it would not be compressed any more.
	cached := now.Sub(p.lastTailRead) < tailReadMemory || len(p.watchers) > 0 || job.batch.Codec() != records.CodecNone
	p.noteSizeLocked(e.bytes+int(n)*iggyMessageHeader, int(n))
	p.mu.Unlock()
	if cached && b.cache.enabled() {
		if raw := readyToFetch(job, base, maxTime); raw != nil {
			b.cache.put(p, base, base+n, raw)
		}
	}

	p.mu.Lock()
	if end := base + n; end > p.hw || base < expected {
		p.raiseLocked(end)
	}
	p.mu.Unlock()
}

// readyToFetch is the producer's batch as consumers get it, a copy; nil when it
// has to be compressed in another way.
func readyToFetch(job *Pending, base, maxTime int64) []byte {
	batch, config := job.batch, job.topic.Config
	if codec, fixed := config.Codec(); fixed && codec != batch.Codec() {
		return nil
	}
	raw := append([]byte(nil), batch.Raw...)
	records.Rebase(raw, base, leaderEpoch)
	if config.LogAppendTime() {
		records.SetLogAppendTime(raw, maxTime)
		return raw
	}
	header, _, err := records.Parse(raw)
	if err != nil {
		return nil
	}
	if header.MaxTimestamp != maxTime || header.LogAppendTime() {
		header.SetMaxTimestamp(maxTime)
	}
	return raw
}

// leaderEpoch is every partition's leader epoch: the leader never changes.
const leaderEpoch = 0

// noteSizeLocked brings the average size of a message up to date.
func (p *partition) noteSizeLocked(bytes, messages int) {
	if messages == 0 {
		return
	}
	size := float64(bytes) / float64(messages)
	if p.averageBytes == 0 {
		p.averageBytes = size
	}
	p.averageBytes += (size - p.averageBytes) / 4
	p.largestBytes = max(size, p.largestBytes*0.9)
}

// isOutcomeKnown reports whether an append that failed with err wrote nothing.
func isOutcomeKnown(err error) bool { return !errors.Is(err, errMaybeAppended) }
