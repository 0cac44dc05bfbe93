package bridge

import (
	"context"
	"fmt"
	"sync"

	"kafka-iggy-bridge/internal/producers"
	"kafka-iggy-bridge/internal/records"
)

const (
	// ledgerReadBytes and ledgerReadCount are about how much one read of the log
	// fetches.
	ledgerReadBytes = 2 << 20
	ledgerReadCount = 50_000
)

// logPart is a part of a partition's log, or why it could not be read.
type logPart struct {
	messages []message
	err      error
}

// replay reads the log from one offset to another into the ledger. While it
// takes note of one part, the next is on its way.
func (p *partition) replay(ctx context.Context, from, end int64) error {
	start, err := p.startOffset(ctx, startMaxAge)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	parts := make(chan logPart)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer stop()
	reading.Go(func() {
		defer close(parts)
		p.readParts(ctx, max(from, start), end, parts)
	})
	var d decoded
	for part := range parts {
		if part.err != nil {
			return part.err
		}
		p.replayMessages(&d, part.messages, end)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("reading the producers of %s-%d: %w", p.topic.name, p.id, err)
	}
	p.ledger.with(func(l *producers.Ledger) { l.Skip(end) })
	return nil
}

// readParts sends the log from one offset to another, until there is an error.
// Messages missing at the front were deleted by retention; holes are met, and
// told, by who reads them.
func (p *partition) readParts(ctx context.Context, from, end int64, parts chan<- logPart) {
	b := p.topic.bridge
	for from < end {
		count := int(min(int64(p.ledgerReadCount()), end-from))
		res, err := b.transport.read(ctx, &p.ref, readRequest{offset: from, count: count, behindAppend: true})
		switch {
		case err != nil:
			err = fmt.Errorf("reading the producers of %s-%d: %w", p.topic.name, p.id, err)
		case len(res.messages) == 0:
			err = fmt.Errorf("%w: nothing at offset %d of %s-%d, which ends at %d", ErrStorage, from, p.topic.name, p.id, end)
		default:
			p.noteSizes(res.messages)
			from = max(int64(res.messages[len(res.messages)-1].Header.Offset), from) + 1
		}
		select {
		case parts <- logPart{res.messages, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// noteSizes brings the average size of a message up to date.
func (p *partition) noteSizes(messages []message) {
	bytes := 0
	for i := range messages {
		bytes += messageSize(&messages[i])
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.noteSizeLocked(bytes, len(messages))
}

// ledgerReadCount is how many messages the next read asks for.
func (p *partition) ledgerReadCount() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	size := max(p.averageBytes, p.largestBytes/16)
	if size == 0 {
		return firstReadCount
	}
	return min(max(int(ledgerReadBytes/size), 1), ledgerReadCount)
}

// replayMessages puts messages up to an offset into the ledger.
func (p *partition) replayMessages(d *decoded, messages []message, end int64) {
	p.ledger.with(func(l *producers.Ledger) {
		for i := range messages {
			m := &messages[i]
			offset := int64(m.Header.Offset)
			if offset >= end {
				return
			}
			if offset >= l.Next() { // otherwise an append was faster
				replayMessage(l, d, m)
			}
		}
	})
}

func replayMessage(l *producers.Ledger, d *decoded, m *message) {
	offset := int64(m.Header.Offset)
	if _, ok := parseMessageID(m.Header.Id); !ok {
		l.Skip(offset + 1)
		return
	}
	d.decode(m)
	r := producers.Record{
		Offset: offset, HasProducer: true,
		ProducerID: d.stamp.ID, Epoch: d.stamp.Epoch, Sequence: d.stamp.Sequence,
		Transactional: d.transactional, Timestamp: d.Timestamp, AppendTime: m.Header.Timestamp,
	}
	switch {
	case d.control:
		marker, err := records.ParseEndTxnMarker(&d.Record)
		if err != nil { // of another kind
			l.Skip(offset + 1)
			return
		}
		r.Marker = &producers.Marker{
			ProducerID: d.stamp.ID, Epoch: d.stamp.Epoch, CoordinatorEpoch: marker.CoordinatorEpoch, Commit: marker.Commit,
		}
	case r.Sequence < 0:
		l.Skip(offset + 1)
		return
	}
	l.Replay(&r)
}
