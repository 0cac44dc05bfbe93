package bridge

import (
	"context"
	"errors"
	"fmt"
)

// internalTransport makes the chains of generations of internal topics look like
// ordinary partitions: it takes what goes to an internal topic's virtual location
// to the generation that holds, and shifts offsets. Everything else passes. So
// the rest of the bridge knows nothing of generations.
type internalTransport struct {
	transport
	internals *internals
}

// at is the internal topic of a virtual location, nil for all others.
func (tr *internalTransport) at(at Location) *internalTopic {
	n := tr.internals
	if at.Stream != n.bridge.config.StateStream || !internalTopics[at.Topic] {
		return nil
	}
	return n.get(at.Topic)
}

func (tr *internalTransport) topic(ctx context.Context, at Location) (topicInfo, error) {
	t := tr.at(at)
	if t == nil {
		return tr.transport.topic(ctx, at)
	}
	if err := t.look(ctx); err != nil {
		return topicInfo{}, err
	}
	info := t.info()
	for i, c := range t.allChains() {
		c.mu.Lock()
		info.partitions[i].end = c.end
		c.mu.Unlock()
	}
	return info, nil
}

// info describes the topic as Iggy would if it had it.
func (t *internalTopic) info() topicInfo {
	t.mu.Lock()
	defer t.mu.Unlock()
	return topicInfo{
		location:       t.at,
		streamID:       unknownStream,
		partitionCount: uint32(t.count),
		expiry:         iggyNever,
		maxSize:        iggyUnlimited,
		partitions:     make([]bounds, t.count),
	}
}

func (tr *internalTransport) read(ctx context.Context, at *partitionRef, r readRequest) (readResult, error) {
	t := tr.at(at.location)
	if t == nil {
		return tr.transport.read(ctx, at, r)
	}
	c := t.chain(int32(at.partition))
	g, err := c.generation(ctx)
	if err != nil {
		return readResult{}, err
	}
	res, err := tr.readGeneration(ctx, g, r)
	if !errors.Is(err, ErrTopicNotFound) {
		return res, err
	}
	// It was left and deleted: there is another one by now.
	if err := t.look(ctx); err != nil {
		return readResult{}, err
	}
	next, _ := c.current()
	res, err = tr.readGeneration(ctx, next, r)
	if errors.Is(err, ErrTopicNotFound) {
		// The topic itself is there for ever.
		return readResult{}, fmt.Errorf("%w: generation %v vanished: %v", ErrStorage, next.location, err)
	}
	return res, err
}

// readGeneration reads with Kafka's offsets from a generation.
func (tr *internalTransport) readGeneration(ctx context.Context, g generation, r readRequest) (readResult, error) {
	if !g.exists() {
		return readResult{}, nil
	}
	r.offset = max(r.offset-g.base, 0)
	res, err := tr.transport.read(ctx, g.ref, r)
	if err != nil {
		return readResult{}, err
	}
	if len(res.messages) == 0 && res.current == 0 && r.offset == 0 {
		// Nothing was ever written: the last message is the one before the base.
		return readResult{current: max(g.base-1, 0)}, nil
	}
	res.current += g.base
	for i := range res.messages {
		res.messages[i].Header.Offset += uint64(g.base)
	}
	return res, nil
}

func (tr *internalTransport) append(ctx context.Context, at *partitionRef, messages []message) error {
	t := tr.at(at.location)
	if t == nil {
		return tr.transport.append(ctx, at, messages)
	}
	c := t.chain(int32(at.partition))
	g, err := c.generation(ctx)
	if err == nil && !g.exists() {
		g, err = c.begin(ctx)
	}
	if err != nil {
		return err
	}
	return tr.transport.append(ctx, g.ref, messages)
}

// begin makes the first generation of a partition.
func (c *chain) begin(ctx context.Context) (generation, error) {
	g, err := c.topic.create(ctx, c.partition, 0)
	if err != nil && !errors.Is(err, ErrTopicExists) {
		return generation{}, err
	}
	// Other bridges may have made it, and may even have left it for later ones and
	// deleted it, so that this one was made for nothing.
	listed, err := c.topic.listGenerations(ctx)
	if err != nil {
		return generation{}, err
	}
	generations := listed[c.partition]
	if len(generations) == 1 && generations[0].base == 0 {
		c.moveTo(generations[0], 0)
		return generations[0], nil
	}
	if len(generations) > 1 && generations[0].same(g) {
		c.topic.bridge.internals.discard(ctx, g)
	}
	return generation{}, fmt.Errorf("%w: %s-%d has %d generations by now", ErrLogChanged, c.topic.at.Topic, c.partition, len(generations))
}

// create makes a generation. The error is ErrTopicExists when there is one of
// that base.
func (t *internalTopic) create(ctx context.Context, partition int32, base int64) (generation, error) {
	at := Location{Stream: t.at.Stream, Topic: generationTopic(t.at.Topic, partition, base)}
	if err := t.bridge.inner.createTopic(ctx, at, 1, iggyNever, iggyUnlimited); err != nil {
		return generation{}, fmt.Errorf("creating %v: %w", at, err)
	}
	info, err := t.bridge.inner.topic(ctx, at)
	if err != nil {
		return generation{}, fmt.Errorf("looking at %v: %w", at, err)
	}
	return newGeneration(at, base, info), nil
}
