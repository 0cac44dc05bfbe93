package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// unresolvedAppend is an append of which it could not be found out whether it
// happened. When an idempotent producer sends the batch again, the log is
// searched for it first.
type unresolvedAppend struct {
	first, last messageID
	count       int
	from        int64
}

const (
	// maxUnresolved bounds what a partition remembers of such appends.
	maxUnresolved = 64
	// maxAttempts bounds how often messages are sent that were found missing.
	maxAttempts = 3
	// maxSearchBytes is about how much one read of a search fetches.
	maxSearchBytes = 4 << 20
	// backSearch is how many messages before the end are searched when the log
	// turns out to be shorter than it was.
	backSearch = 10_000
	// settlePause is the time given to a request that Iggy may have received and
	// not yet carried out, before its messages count as missing.
	settlePause = 100 * time.Millisecond
	// resolvePause is the pause between attempts to reach Iggy for a search.
	resolvePause = 50 * time.Millisecond
)

// Outcomes for Metrics.Resolved.
const (
	outcomeAppended = "appended"
	outcomeMissing  = "missing"
	outcomeUnknown  = "unknown"
)

// place is where messages were found.
type place struct {
	base    int64
	present int    // how many of them are there, 0 for none
	time    uint64 // Iggy's time of the append, µs
}

// write appends messages and finds out at which offset the first of them lies.
// expected is where it should be. The error is ErrOutcomeUnknown, or one that
// means nothing was written.
func (p *partition) write(ctx context.Context, messages []message, expected int64) (base int64, us uint64, err error) {
	if found, err := p.sentBefore(ctx, messages); err != nil || found.present > 0 {
		return found.base, found.time, err
	}
	tr := p.topic.bridge.transport
	for attempt := 1; ; attempt++ {
		err := tr.append(ctx, &p.ref, messages)
		if err != nil && isOutcomeKnown(err) {
			if attempt == 1 || isGone(err) {
				return 0, 0, err
			}
			// An earlier attempt was not found in the log, which is no proof that it
			// will never be: something between here and Iggy may hold it back.
			p.remember(messages, expected)
			return 0, 0, fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
		}
		found, searchErr := p.locate(ctx, messages, expected, err == nil)
		if searchErr == nil && found.present == 0 && err != nil && pause(ctx, settlePause) {
			found, searchErr = p.locate(ctx, messages, expected, false)
		}
		switch {
		case isGone(searchErr):
			// Whatever was written went with the topic.
			return 0, 0, searchErr
		case searchErr != nil:
			p.remember(messages, expected)
			return 0, 0, fmt.Errorf("%w: %w", ErrOutcomeUnknown, errors.Join(searchErr, err))
		case found.present == len(messages):
			if err != nil {
				p.topic.bridge.metrics.Resolved(outcomeAppended)
			}
			return found.base, found.time, nil
		case found.present > 0:
			return p.complete(ctx, messages, found)
		case err == nil:
			if gone := p.topic.refresh(ctx); isGone(gone) {
				return 0, 0, gone
			}
			p.remember(messages, expected)
			return 0, 0, fmt.Errorf("%w: iggy accepted the messages, but they are not in the log", ErrOutcomeUnknown)
		}
		p.topic.bridge.metrics.Resolved(outcomeMissing)
		if attempt == maxAttempts || ctx.Err() != nil {
			p.remember(messages, expected)
			return 0, 0, fmt.Errorf("%w: appending failed %d times: %w", ErrOutcomeUnknown, attempt, err)
		}
	}
}

// isGone reports whether an error says that the partition does not exist any
// more.
func isGone(err error) bool {
	return errors.Is(err, ErrTopicNotFound) || errors.Is(err, ErrPartitionNotFound)
}

// sentBefore looks for messages whose earlier append had an unknown outcome.
func (p *partition) sentBefore(ctx context.Context, messages []message) (place, error) {
	p.mu.Lock()
	var before *unresolvedAppend
	for i := range p.unresolved {
		u := p.unresolved[i]
		if u.first == messages[0].Header.Id && u.count == len(messages) && u.last == messages[len(messages)-1].Header.Id {
			before = &u
			p.unresolved = append(p.unresolved[:i:i], p.unresolved[i+1:]...)
			break
		}
	}
	p.mu.Unlock()
	if before == nil {
		return place{}, nil
	}
	found, err := p.locate(ctx, messages, before.from, false)
	if err != nil {
		p.remember(messages, before.from)
		return place{}, fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	}
	switch found.present {
	case len(messages):
		p.topic.bridge.metrics.Resolved(outcomeAppended)
	case 0:
		p.topic.bridge.metrics.Resolved(outcomeMissing)
	default:
		base, us, err := p.complete(ctx, messages, found)
		return place{base: base, present: len(messages), time: us}, err
	}
	return found, nil
}

// remember notes an append with an unknown outcome. Only a producer's messages
// have ids that come again.
func (p *partition) remember(messages []message, from int64) {
	p.topic.bridge.metrics.Resolved(outcomeUnknown)
	if _, ok := parseMessageID(messages[0].Header.Id); !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.unresolved) == maxUnresolved {
		p.unresolved = append(p.unresolved[:0:0], p.unresolved[1:]...)
	}
	p.unresolved = append(p.unresolved, unresolvedAppend{
		first: messages[0].Header.Id,
		last:  messages[len(messages)-1].Header.Id,
		count: len(messages),
		from:  from,
	})
}

// complete appends the rest of a batch of which Iggy kept only the beginning,
// as when it was killed while it wrote. That works as long as nobody wrote
// behind it.
func (p *partition) complete(ctx context.Context, messages []message, found place) (int64, uint64, error) {
	rest := messages[found.present:]
	err := p.topic.bridge.transport.append(ctx, &p.ref, rest)
	if err == nil || !isOutcomeKnown(err) {
		expected := found.base + int64(found.present)
		var at place
		if at, err = p.locate(ctx, rest, expected, err == nil); err == nil && at.present == len(rest) && at.base == expected {
			return found.base, found.time, nil
		}
	}
	return 0, 0, fmt.Errorf("%w: only %d of %d messages are in the log: %v", ErrOutcomeUnknown, found.present, len(messages), err)
}

// locate finds out where messages lie that were sent when the partition was
// expected to end at from. Accepted says that Iggy confirmed them: then the
// first id is proof enough, as a batch is written in one piece; otherwise the
// last is looked for as well. It tries until ctx ends.
func (p *partition) locate(ctx context.Context, messages []message, from int64, accepted bool) (place, error) {
	for {
		found, err := p.find(ctx, messages, from, accepted)
		if err == nil || isGone(err) || errors.Is(err, ErrUnauthorized) {
			return found, err
		}
		if !pause(ctx, resolvePause) {
			return place{}, err
		}
	}
}

// pause waits, and reports false when ctx ended meanwhile.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func (p *partition) find(ctx context.Context, messages []message, from int64, accepted bool) (place, error) {
	tr, id := p.topic.bridge.transport, messages[0].Header.Id
	res, err := tr.read(ctx, &p.ref, readRequest{offset: from, count: 1, behindAppend: true})
	if err != nil {
		return place{}, err
	}
	var at *message
	if len(res.messages) > 0 && res.messages[0].Header.Id == id {
		at = &res.messages[0]
	} else if at, err = p.search(ctx, id, from, len(messages), res); err != nil || at == nil {
		return place{}, err
	}
	found := place{base: int64(at.Header.Offset), present: len(messages), time: at.Header.Timestamp}
	if accepted || len(messages) == 1 {
		return found, nil
	}
	found.present, err = p.count(ctx, messages, found.base)
	return found, err
}

// search looks for a message from an offset to the end; res is what a read at
// that offset gave. It returns nil when the message is not there.
func (p *partition) search(ctx context.Context, id messageID, from int64, n int, res readResult) (*message, error) {
	end := res.current + 1
	if len(res.messages) == 0 && end <= from {
		if end == from || res.current == 0 && from <= 1 {
			return nil, nil // the log ends where it did
		}
		// The log is shorter than it was: Iggy lost messages, or the topic was made
		// anew. Either way ours would be near the end.
		from = max(0, end-int64(n)-backSearch)
	}
	tr, step := p.topic.bridge.transport, p.searchStep()
	for from < end {
		res, err := tr.read(ctx, &p.ref, readRequest{offset: from, count: step, behindAppend: true})
		if err != nil {
			return nil, err
		}
		if len(res.messages) == 0 {
			return nil, nil
		}
		for i := range res.messages {
			if res.messages[i].Header.Id == id {
				return &res.messages[i], nil
			}
		}
		from = int64(res.messages[len(res.messages)-1].Header.Offset) + 1
	}
	return nil, nil
}

// searchStep is how many messages a search reads at once.
func (p *partition) searchStep() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return min(max(int(maxSearchBytes/max(p.averageBytes, p.largestBytes, 64)), 1), 10_000)
}

// count is how many of the messages lie behind one another from base on.
func (p *partition) count(ctx context.Context, messages []message, base int64) (int, error) {
	tr, last := p.topic.bridge.transport, len(messages)-1
	res, err := tr.read(ctx, &p.ref, readRequest{offset: base + int64(last), count: 1, behindAppend: true})
	if err != nil {
		return 0, err
	}
	if len(res.messages) > 0 && res.messages[0].Header.Id == messages[last].Header.Id {
		return len(messages), nil
	}
	present, step := 1, p.searchStep()
	for present < len(messages) {
		res, err := tr.read(ctx, &p.ref, readRequest{offset: base + int64(present), count: step, behindAppend: true})
		if err != nil {
			return 0, err
		}
		for i := range res.messages {
			if present == len(messages) || res.messages[i].Header.Id != messages[present].Header.Id {
				return present, nil
			}
			present++
		}
		if len(res.messages) == 0 {
			return present, nil
		}
	}
	return present, nil
}
