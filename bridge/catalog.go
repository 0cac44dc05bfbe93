package bridge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// unknownStream stands for a stream's id in descriptions that lack it.
const unknownStream = 1<<32 - 1

// catalog knows the topics. Its snapshot is replaced as a whole when Iggy or a
// configuration changed, so readers take no lock for long.
type catalog struct {
	bridge *Bridge

	mu       sync.Mutex
	byName   map[string]*Topic
	byID     map[[16]byte]*Topic
	loaded   bool
	loadedAt time.Time
	misses   map[string]time.Time  // names sought in vain, and when
	streams  map[string]streamInfo // as last listed
	checked  map[string]time.Time  // when a topic was last compared with Iggy
	hidden   map[string]string     // what Iggy has and Kafka cannot see, and why
	version  atomic.Uint64         // grows when topics or partitions come or go

	// naming serialises what makes and deletes the topic of a name.
	naming keyedLocks

	loads flights
}

func newCatalog(b *Bridge) *catalog {
	return &catalog{
		bridge:  b,
		byName:  make(map[string]*Topic),
		byID:    make(map[[16]byte]*Topic),
		streams: make(map[string]streamInfo),
		checked: make(map[string]time.Time),
		hidden:  make(map[string]string),
		misses:  make(map[string]time.Time),
	}
}

// locate says where in Iggy the topic of a name lies.
func (c *Config) locate(name string) Location {
	if at, ok := c.Topics[name]; ok {
		return at
	}
	if c.Stream != "" {
		return Location{Stream: c.Stream, Topic: name}
	}
	return Location{Stream: name, Topic: name}
}

// get finds a topic by its name among those known.
func (c *catalog) get(name string) (t *Topic, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok = c.byName[name]
	return t, ok
}

// list are the topics known, sorted by name.
func (c *catalog) list() []*Topic {
	c.mu.Lock()
	topics := make([]*Topic, 0, len(c.byName))
	for _, t := range c.byName {
		topics = append(topics, t)
	}
	c.mu.Unlock()
	slices.SortFunc(topics, func(a, b *Topic) int { return strings.Compare(a.Name, b.Name) })
	return topics
}

// load brings the catalog up to date with Iggy. It asks for the list of streams
// and looks closer only at those that changed, and at topics that were not
// compared for long.
func (c *catalog) load(ctx context.Context) error {
	return c.loads.join(ctx, func(ctx context.Context) error {
		if err := c.bridge.state.ready(); err != nil {
			return err
		}
		streams, err := c.bridge.transport.streams(ctx)
		if err != nil {
			return fmt.Errorf("listing streams: %w", err)
		}
		begun := c.bridge.config.Now()
		now := make(map[string]streamInfo, len(streams))
		for _, s := range streams {
			now[s.name] = s
		}
		if err := c.compare(ctx, now); err != nil {
			return err
		}
		if err := c.loadInternals(); err != nil {
			return err
		}
		c.mu.Lock()
		c.streams, c.loaded, c.loadedAt = now, true, begun
		c.mu.Unlock()
		return nil
	})
}

// compare looks at all topics that may have changed.
func (c *catalog) compare(ctx context.Context, streams map[string]streamInfo) error {
	config := &c.bridge.config
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(config.PoolSize)
	if config.Stream != "" {
		group.Go(func() error { return c.compareStream(ctx, config.Stream, streams) })
	}
	for _, name := range c.candidates(streams) {
		group.Go(func() error { return c.look(ctx, name, streams) })
	}
	return group.Wait()
}

// candidates are the names of topics to look at one by one: the overridden, in
// the layout with a stream for each topic those whose stream is new, gone or
// otherwise than before, and some that were not looked at for the longest time.
func (c *catalog) candidates(streams map[string]streamInfo) []string {
	config := &c.bridge.config
	c.mu.Lock()
	defer c.mu.Unlock()
	names := make(map[string]bool)
	for name := range config.Topics {
		names[name] = true
	}
	if config.Stream == "" {
		for name, s := range streams {
			before, ok := c.streams[name]
			if ok && before.id == s.id && before.createdAt == s.createdAt && before.topics == s.topics {
				continue
			}
			if name != config.StateStream && !overridden(config, name) {
				names[name] = true
			}
		}
	}
	old := make([]string, 0, len(c.byName))
	for name, t := range c.byName {
		if t.Internal {
			continue
		}
		if _, ok := streams[t.location.Stream]; !ok {
			names[name] = true
		} else if config.Stream == "" || overridden(config, name) {
			old = append(old, name)
		}
	}
	slices.SortFunc(old, func(a, b string) int { return c.checked[a].Compare(c.checked[b]) })
	for _, name := range old[:min(len(old), recheckTopics)] {
		names[name] = true
	}
	out := make([]string, 0, len(names))
	for name := range names {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// recheckTopics is how many topics whose stream looks unchanged are compared
// in each round: Iggy's list of streams does not show everything.
const recheckTopics = 32

func overridden(config *Config, name string) bool {
	_, ok := config.Topics[name]
	return ok
}

// compareStream compares a stream that holds many topics.
func (c *catalog) compareStream(ctx context.Context, stream string, streams map[string]streamInfo) error {
	config := &c.bridge.config
	var infos []topicInfo
	// A stream that was made after the list was waits for the next round: its id
	// is part of its topics' ids.
	listed, ok := streams[stream]
	if ok {
		var err error
		if infos, err = c.bridge.transport.topics(ctx, stream); err != nil {
			return fmt.Errorf("listing the topics of stream %s: %w", stream, err)
		}
	}
	seen := make(map[string]bool, len(infos))
	for _, info := range infos {
		name := info.location.Topic
		if overridden(config, name) {
			continue // this name's topic lies elsewhere
		}
		seen[name] = true
		info.streamID = listed.id
		c.found(name, info)
	}
	for _, t := range c.list() {
		if t.location.Stream == stream && !overridden(config, t.Name) && !seen[t.Name] {
			c.lost(t.Name)
		}
	}
	return nil
}

// look compares one topic with Iggy.
func (c *catalog) look(ctx context.Context, name string, streams map[string]streamInfo) error {
	at := c.bridge.config.locate(name)
	info, err := c.bridge.transport.topic(ctx, at)
	if errors.Is(err, ErrTopicNotFound) {
		c.lost(name)
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking at topic %v: %w", at, err)
	}
	stream, ok := streams[at.Stream]
	if !ok {
		return nil // made since the list was: the next round has it
	}
	info.streamID = stream.id
	c.found(name, info)
	return nil
}

// found takes a topic as Iggy describes it into the catalog.
func (c *catalog) found(name string, info topicInfo) *Topic {
	b := c.bridge
	if why := unusable(name, info); why != "" {
		c.hide(name, info.location, why)
		c.lost(name)
		return nil
	}
	id := topicID(info)
	config := b.state.topicConfig(name, id, info)
	t, replaced := c.place(name, id, info, config)
	if replaced != nil {
		b.forget(replaced)
	}
	return t
}

// place puts a topic into the catalog, and returns the one of the same name and
// another identity that it replaced.
func (c *catalog) place(name string, id [16]byte, info topicInfo, config TopicConfig) (t, replaced *Topic) {
	b := c.bridge
	c.mu.Lock()
	defer c.mu.Unlock()
	if !internalTopics[name] { // what is hidden under such a name is another topic
		delete(c.hidden, name)
	}
	delete(c.misses, name)
	c.checked[name] = b.config.Now()
	before := c.byName[name]
	if before != nil && before.ID == id && int(before.Partitions) == int(info.partitionCount) && before.Config.equal(config) {
		return before, nil
	}
	t = &Topic{
		Name:       name,
		ID:         id,
		Partitions: int32(info.partitionCount),
		Internal:   internalTopics[name],
		Config:     config,
		location:   info.location,
	}
	switch {
	case before != nil && before.ID == id:
		t.state = before.state
		t.state.grow(int(info.partitionCount))
	default:
		if before != nil {
			c.dropLocked(before)
			replaced = before
		}
		t.state = newTopicState(b, name, id, info)
	}
	c.byName[name], c.byID[id] = t, t
	if before == nil || before.ID != id || before.Partitions != t.Partitions {
		c.version.Add(1)
	}
	return t, replaced
}

// unusable says why Kafka cannot see a topic of Iggy's, "" when it can.
func unusable(name string, info topicInfo) string {
	switch {
	case CheckTopicName(name) != nil:
		return "Kafka does not allow its name"
	case info.partitionCount == 0:
		return "it has no partitions"
	case info.streamID >= maxStreams || info.id >= maxStreams:
		return "Iggy 0.8.0 mixes up stream and topic ids from 4096 on"
	case internalTopics[name]:
		return "its name is reserved"
	}
	return ""
}

// hide notes, and logs once, what Kafka cannot see.
func (c *catalog) hide(name string, at Location, why string) {
	c.mu.Lock()
	known := c.hidden[name] == why
	c.hidden[name] = why
	c.mu.Unlock()
	if !known {
		c.bridge.log.WithField("iggy", at.String()).WithField("reason", why).Warn("a topic in Iggy is not shown to Kafka clients")
	}
}

// lost takes a topic out of the catalog. Internal topics stay, whatever Iggy has
// under their names.
func (c *catalog) lost(name string) {
	c.mu.Lock()
	t := c.byName[name]
	if t != nil && t.Internal {
		t = nil
	}
	if t != nil {
		c.dropLocked(t)
	}
	delete(c.checked, name)
	c.mu.Unlock()
	if t != nil {
		c.bridge.forget(t)
	}
}

// dropLocked ends a topic's life in the catalog.
func (c *catalog) dropLocked(t *Topic) {
	t.state.gone.Store(true)
	c.version.Add(1)
	delete(c.byName, t.Name)
	delete(c.byID, t.ID)
	c.bridge.cache.dropTopic(t.state)
	for _, p := range t.state.all() {
		p.wakeAll()
	}
}

// keyedLocks is a lock for each name.
type keyedLocks struct {
	mu    sync.Mutex
	locks map[string]*keyedLock
}

type keyedLock struct {
	name  string
	held  chan struct{} // holds a token while locked
	users int
}

// lock waits for a name's lock, or for the end of ctx.
func (k *keyedLocks) lock(ctx context.Context, name string) (unlock func(), err error) {
	k.mu.Lock()
	if k.locks == nil {
		k.locks = make(map[string]*keyedLock)
	}
	l := k.locks[name]
	if l == nil {
		// A caller's name may be a view of a request, which changes when the request
		// is answered; a key must not.
		l = &keyedLock{name: strings.Clone(name), held: make(chan struct{}, 1)}
		k.locks[l.name] = l
	}
	l.users++
	k.mu.Unlock()
	leave := func() {
		k.mu.Lock()
		if l.users--; l.users == 0 {
			delete(k.locks, l.name)
		}
		k.mu.Unlock()
	}
	select {
	case l.held <- struct{}{}:
		return func() { <-l.held; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
