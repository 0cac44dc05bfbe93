package bridge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// lookFresh compares one topic with Iggy now and returns it. The error is
// ErrTopicNotFound when there is none that Kafka can see.
func (c *catalog) lookFresh(ctx context.Context, name string) (*Topic, error) {
	if err := c.bridge.state.ready(); err != nil {
		return nil, err
	}
	if internalTopics[name] {
		return c.lookInternal(name)
	}
	name = strings.Clone(name) // it is kept, and may be a view of a request
	at := c.bridge.config.locate(name)
	info, err := c.bridge.transport.topic(ctx, at)
	if errors.Is(err, ErrTopicNotFound) {
		c.lost(name)
		c.miss(name)
		return nil, fmt.Errorf("%w: %s", ErrTopicNotFound, name)
	}
	if err != nil {
		return nil, err
	}
	if at.Stream == c.bridge.config.StateStream {
		return nil, fmt.Errorf("%w: %s", ErrTopicNotFound, name)
	}
	streams, err := c.bridge.transport.streams(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range streams {
		if s.name == at.Stream {
			info.streamID = s.id
			if t := c.found(name, info); t != nil {
				return t, nil
			}
			break
		}
	}
	c.miss(name)
	return nil, fmt.Errorf("%w: %s", ErrTopicNotFound, name)
}

// byTopicID finds a topic by its id among those known.
func (c *catalog) byTopicID(id [16]byte) (t *Topic, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok = c.byID[id]
	return t, ok
}

// miss notes that Iggy has no topic of a name that Kafka can see.
func (c *catalog) miss(name string) {
	now := c.bridge.config.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.misses) >= maxMisses {
		clear(c.misses)
	}
	c.misses[name] = now
}

// missed reports whether a name was sought in vain a moment ago.
func (c *catalog) missed(name string) bool {
	now := c.bridge.config.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.misses[name]
	if ok && now.Sub(at) > missAge {
		delete(c.misses, name)
		ok = false
	}
	return ok
}

// age is the time since the catalog was compared with Iggy as a whole.
func (c *catalog) age(now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return now.Sub(c.loadedAt)
}

func (c *catalog) isLoaded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.loaded
}
