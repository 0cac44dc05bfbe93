package engine

import (
	"encoding/binary"
	"fmt"

	"kafka-iggy-bridge/internal/engine/access"
	"kafka-iggy-bridge/internal/engine/metalog"
	"kafka-iggy-bridge/internal/engine/protocol"
)

// The catalog's log maps keys to values; the first byte of a key is its kind. Values
// are little-endian in the encodings of the protocol package.
const (
	keyStream = 'S' // + stream u32
	keyTopic  = 'T' // + stream u32, topic u32
	keyGroup  = 'G' // + stream u32, topic u32, group u32
	keyUser   = 'U' // + user u32
	keyToken  = 'K' // + user u32, name
	keyUID    = 'N' // the last identity given out
)

func key(kind byte, ids ...uint32) []byte {
	b := []byte{kind}
	for _, id := range ids {
		b = protocol.AppendU32(b, id)
	}
	return b
}

func (s *stream) key() []byte { return key(keyStream, s.id) }
func (t *topic) key() []byte  { return key(keyTopic, t.stream.id, t.id) }
func (g *group) key() []byte  { return key(keyGroup, g.topic.stream.id, g.topic.id, g.id) }
func (u *user) key() []byte   { return key(keyUser, u.id) }
func (t *token) key() []byte  { return append(key(keyToken, t.user.id), t.name...) }

func (s *stream) value() []byte {
	return protocol.AppendName(protocol.AppendU64(nil, s.createdAt), s.name)
}

// topicValue encodes a topic as it will be, which need not be what it is yet.
func topicValue(createdAt uint64, name string, set topicSettings, partitions []*partition) []byte {
	b := protocol.AppendU64(nil, createdAt)
	b = protocol.AppendName(b, name)
	b = append(b, set.compression)
	b = protocol.AppendU64(b, set.expiry)
	b = protocol.AppendU64(b, set.maxSize)
	b = append(b, set.replication)
	b = protocol.AppendU32(b, uint32(len(partitions)))
	for _, p := range partitions {
		b = protocol.AppendU64(b, p.uid)
		b = protocol.AppendU64(b, p.createdAt)
	}
	return b
}

func (t *topic) value() []byte { return topicValue(t.createdAt, t.name, t.settings, t.partitions) }

func (g *group) value() []byte { return protocol.AppendName(protocol.AppendU64(nil, g.uid), g.name) }

// userValue encodes a user as it will be.
func userValue(createdAt uint64, name string, status uint8, hash string, perms *access.Permissions) []byte {
	b := protocol.AppendU64(nil, createdAt)
	b = protocol.AppendName(b, name)
	b = append(b, status)
	b = protocol.AppendText(b, hash)
	return access.AppendOptional(b, perms)
}

func (u *user) value() []byte {
	return userValue(u.createdAt, u.name, u.status, u.hash, u.perms.Load())
}

func (t *token) value() []byte { return append(protocol.AppendU64(nil, t.expiresAt), t.hash[:]...) }

// snapshot writes the whole catalog.
func (c *catalog) snapshot(put func(key, value []byte)) error {
	put([]byte{keyUID}, protocol.AppendU64(nil, c.nextUID))
	for s := range c.streams.all() {
		put(s.key(), s.value())
		for t := range s.topics.all() {
			put(t.key(), t.value())
			for g := range t.groups.all() {
				put(g.key(), g.value())
			}
		}
	}
	for u := range c.users.all() {
		put(u.key(), u.value())
		for _, t := range u.tokens {
			put(t.key(), t.value())
		}
	}
	return nil
}

// keyNumber is the number that a key's entry has among its siblings.
func keyNumber(key []byte) uint32 {
	var at int
	switch {
	case len(key) == 0:
		return 0
	case key[0] == keyTopic:
		at = 5
	case key[0] == keyGroup:
		at = 9
	case key[0] == keyStream, key[0] == keyUser:
		at = 1
	}
	if at == 0 || len(key) < at+4 {
		return 0 // none, or cut short, which parsing finds
	}
	return binary.LittleEndian.Uint32(key[at:])
}

// apply replays one change of the log. Names are linked when all are in.
func (c *catalog) apply(change metalog.Change) error {
	r := protocol.NewReader(change.Key)
	v := protocol.NewReader(change.Value)
	remove := change.Value == nil
	if keyNumber(change.Key) >= maxNumber {
		return fmt.Errorf("%w: a number in the catalog is out of range", metalog.ErrCorrupt)
	}
	switch kind := r.U8(); kind {
	case keyUID:
		c.nextUID = v.U64()
	case keyStream:
		c.applyStream(r.U32(), remove, &v)
	case keyTopic:
		c.applyTopic(r.U32(), r.U32(), remove, &v, &r)
	case keyGroup:
		c.applyGroup(r.U32(), r.U32(), r.U32(), remove, &v, &r)
	case keyUser:
		c.applyUser(r.U32(), remove, &v)
	case keyToken:
		c.applyToken(r.U32(), remove, &v, &r)
	default:
		return fmt.Errorf("%w: unknown kind %q in the catalog", metalog.ErrCorrupt, kind)
	}
	if r.Err() != nil || v.Err() != nil && !remove {
		return fmt.Errorf("%w: a catalog entry does not parse, or belongs to nothing", metalog.ErrCorrupt)
	}
	return nil
}

func (c *catalog) applyStream(id uint32, remove bool, v *protocol.Reader) {
	if remove {
		c.streams.remove(id)
		return
	}
	createdAt, name := v.U64(), v.Name()
	s := c.streams.get(id)
	if s == nil {
		s = &stream{id: id, topicNames: make(map[string]*topic)}
		c.streams.set(id, s)
	}
	s.createdAt, s.name = createdAt, name
}

func (c *catalog) applyTopic(streamID, id uint32, remove bool, v, r *protocol.Reader) {
	s := c.streams.get(streamID)
	if s == nil {
		if !remove {
			r.Fail(protocol.ErrStreamNotFound)
		}
		return
	}
	if remove {
		s.topics.remove(id)
		return
	}
	t := s.topics.get(id)
	if t == nil {
		t = &topic{id: id, stream: s, groupNames: make(map[string]*group)}
		s.topics.set(id, t)
	}
	t.createdAt, t.name = v.U64(), v.Name()
	t.settings = topicSettings{compression: v.U8(), expiry: v.U64(), maxSize: v.U64(), replication: v.U8()}
	n := v.U32()
	if uint64(n)*16 > uint64(len(v.Rest())) {
		v.Fail(protocol.ErrInvalidFormat)
		return
	}
	t.partitions = make([]*partition, n)
	for i := range t.partitions {
		t.partitions[i] = &partition{id: uint32(i), uid: v.U64(), createdAt: v.U64()}
	}
}

func (c *catalog) applyGroup(streamID, topicID, id uint32, remove bool, v, r *protocol.Reader) {
	var t *topic
	if s := c.streams.get(streamID); s != nil {
		t = s.topics.get(topicID)
	}
	if t == nil {
		if !remove {
			r.Fail(protocol.ErrTopicNotFound)
		}
		return
	}
	if remove {
		t.groups.remove(id)
		return
	}
	t.groups.set(id, &group{id: id, topic: t, uid: v.U64(), name: v.Name()})
}

func (c *catalog) applyUser(id uint32, remove bool, v *protocol.Reader) {
	if remove {
		c.users.remove(id)
		return
	}
	u := c.users.get(id)
	if u == nil {
		u = &user{id: id, tokens: make(map[string]*token)}
		c.users.set(id, u)
	}
	u.createdAt, u.name, u.status, u.hash = v.U64(), v.Name(), v.U8(), v.LongText()
	u.perms.Store(access.ReadOptional(v))
}

func (c *catalog) applyToken(userID uint32, remove bool, v, r *protocol.Reader) {
	u, name := c.users.get(userID), string(r.Rest())
	if u == nil {
		if !remove {
			r.Fail(protocol.ErrResourceNotFound)
		}
		return
	}
	if remove {
		delete(u.tokens, name)
		return
	}
	t := &token{user: u, name: name, expiresAt: v.U64()}
	copy(t.hash[:], v.Bytes(len(t.hash)))
	u.tokens[name] = t
}

// link fills the tables of names and hashes after a replay.
func (c *catalog) link() error {
	taken := func(what, name string) error {
		return fmt.Errorf("%w: two %ss are called %q", metalog.ErrCorrupt, what, name)
	}
	for s := range c.streams.all() {
		if c.streamNames[s.name] != nil {
			return taken("stream", s.name)
		}
		c.streamNames[s.name] = s
		for t := range s.topics.all() {
			if s.topicNames[t.name] != nil {
				return taken("topic", t.name)
			}
			s.topicNames[t.name] = t
			for g := range t.groups.all() {
				t.groupNames[g.name] = g
			}
		}
	}
	for u := range c.users.all() {
		if c.userNames[u.name] != nil {
			return taken("user", u.name)
		}
		c.userNames[u.name] = u
		for _, t := range u.tokens {
			c.tokens[t.hash] = t
		}
	}
	return nil
}

// metaTx is a change of the catalog on its way into the log. The catalog in memory is
// changed only after write has returned without an error.
type metaTx struct {
	metalog.Tx
	e *Engine
}

func (e *Engine) begin() *metaTx { return &metaTx{e: e} }

// putUID records the identities given out since the last record.
func (t *metaTx) putUID() {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], t.e.catalog.nextUID)
	t.Put([]byte{keyUID}, b[:])
}

// write appends the change. Engine.mu must be held for writing. The returned function
// waits, without the lock, until the change is as durable as the engine promises.
func (t *metaTx) write() (wait func() error, err error) {
	ticket, err := t.e.meta.Append(&t.Tx)
	if err != nil {
		t.e.log.WithError(err).Error("catalog change not written")
		return nil, protocol.ErrGeneric
	}
	return func() error {
		if err := t.e.meta.Wait(ticket); err != nil {
			t.e.log.WithError(err).Error("catalog change not synced")
			return protocol.ErrGeneric
		}
		return nil
	}, nil
}

// change runs f with the catalog locked for writing, then waits until what f wrote is
// durable. f returns nil for the wait when it changed nothing.
func (e *Engine) change(f func() (wait func() error, err error)) error {
	wait, err := e.changeLocked(f)
	if err != nil || wait == nil {
		return err
	}
	return wait()
}

func (e *Engine) changeLocked(f func() (wait func() error, err error)) (func() error, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	wait, err := f()
	if err == nil && e.meta.NeedsCompact() {
		if err := e.meta.Compact(e.catalog.snapshot); err != nil {
			e.log.WithError(err).Error("catalog snapshot not written")
		}
	}
	return wait, err
}
