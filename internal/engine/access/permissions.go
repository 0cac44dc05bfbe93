// Package access holds what users may do: the permission sets of Iggy 0.8, their
// wire form, and the table of which grants each operation needs.
package access

import (
	"encoding/binary"
	"maps"
	"slices"

	"kafka-iggy-bridge/internal/engine/protocol"
)

// Grants on everything, one bit each, in wire order.
const (
	ManageServers uint16 = 1 << iota
	ReadServers
	ManageUsers
	ReadUsers
	ManageStreams
	ReadStreams
	ManageTopics
	ReadTopics
	PollMessages
	SendMessages

	globalCount = 10
)

// Grants on one stream, one bit each, in wire order.
const (
	StreamManage uint16 = 1 << iota
	StreamRead
	StreamManageTopics
	StreamReadTopics
	StreamPoll
	StreamSend

	streamCount = 6
)

// Grants on one topic, one bit each, in wire order.
const (
	TopicManage uint16 = 1 << iota
	TopicRead
	TopicPoll
	TopicSend

	topicCount = 4
)

// Permissions are what a user may do beyond what every logged-in user may. A nil
// *Permissions grants nothing. They are not changed once in use.
type Permissions struct {
	Global  uint16
	Streams map[uint32]Stream
}

// Stream are the grants on one stream and its topics.
type Stream struct {
	Grants uint16
	Topics map[uint32]uint16
}

// All returns the permissions of the root user.
func All() *Permissions { return &Permissions{Global: 1<<globalCount - 1} }

// Append appends the wire form, without its length.
func (p *Permissions) Append(dst []byte) []byte {
	dst = appendGrants(dst, p.Global, globalCount)
	if len(p.Streams) == 0 {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	ids := slices.Sorted(maps.Keys(p.Streams))
	for i, id := range ids {
		stream := p.Streams[id]
		dst = protocol.AppendU32(dst, id)
		dst = appendGrants(dst, stream.Grants, streamCount)
		dst = appendTopics(dst, stream.Topics)
		dst = append(dst, more(i, len(ids)))
	}
	return dst
}

func appendTopics(dst []byte, topics map[uint32]uint16) []byte {
	if len(topics) == 0 {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	ids := slices.Sorted(maps.Keys(topics))
	for i, id := range ids {
		dst = protocol.AppendU32(dst, id)
		dst = appendGrants(dst, topics[id], topicCount)
		dst = append(dst, more(i, len(ids)))
	}
	return dst
}

// more is the byte behind an entry that says whether another one follows.
func more(i, n int) byte {
	if i+1 < n {
		return 1
	}
	return 0
}

func appendGrants(dst []byte, grants uint16, n int) []byte {
	for i := range n {
		dst = append(dst, byte(grants>>i&1))
	}
	return dst
}

// AppendOptional appends the block that user records end with: four zero bytes for
// no permissions, else a flag, the length, and the permissions.
func AppendOptional(dst []byte, p *Permissions) []byte {
	if p == nil {
		return append(dst, 0, 0, 0, 0)
	}
	dst = append(dst, 1)
	at := len(dst)
	dst = protocol.AppendU32(dst, 0)
	dst = p.Append(dst)
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

// ReadOptional reads a flag and, when it is set, a length and the permissions, which
// must take exactly that length: a shorter one is an invalid command, a longer one an
// invalid format, as a real 0.8.0 answers.
func ReadOptional(r *protocol.Reader) *Permissions {
	if r.U8() == 0 {
		return nil
	}
	n := r.U32()
	if uint64(n) > uint64(len(r.Rest())) {
		r.Fail(protocol.ErrInvalidCommand)
		return nil
	}
	block := protocol.NewReader(r.Bytes(int(n)))
	p := read(&block)
	switch {
	case block.Err() != nil:
		r.Fail(protocol.ErrInvalidCommand) // as all that ends too early
		return nil
	case len(block.Rest()) > 0:
		r.Fail(protocol.ErrInvalidFormat)
		return nil
	}
	return p
}

// Parse decodes the wire form without a length.
func Parse(b []byte) (*Permissions, error) {
	r := protocol.NewReader(b)
	p := read(&r)
	if len(r.Rest()) > 0 {
		r.Fail(protocol.ErrInvalidFormat)
	}
	return p, r.Err()
}

func read(r *protocol.Reader) *Permissions {
	p := &Permissions{Global: readGrants(r, globalCount)}
	if r.U8() == 0 {
		return p
	}
	p.Streams = make(map[uint32]Stream)
	for again := true; again && r.Err() == nil; again = r.U8() != 0 {
		id := r.U32()
		stream := Stream{Grants: readGrants(r, streamCount)}
		if r.U8() != 0 {
			stream.Topics = make(map[uint32]uint16)
			for again := true; again && r.Err() == nil; again = r.U8() != 0 {
				topic := r.U32()
				stream.Topics[topic] = readGrants(r, topicCount)
			}
		}
		p.Streams[id] = stream
	}
	return p
}

func readGrants(r *protocol.Reader, n int) uint16 {
	var grants uint16
	for i, b := range r.Bytes(n) {
		if b != 0 {
			grants |= 1 << i
		}
	}
	return grants
}

// WithoutStream returns the permissions less those on a stream, and whether that
// changes anything. A stream's number is used again after it is deleted; what was
// granted on it must not pass to its successor.
func (p *Permissions) WithoutStream(stream uint32) (*Permissions, bool) {
	if p == nil {
		return nil, false
	}
	if _, ok := p.Streams[stream]; !ok {
		return p, false
	}
	next := &Permissions{Global: p.Global, Streams: maps.Clone(p.Streams)}
	delete(next.Streams, stream)
	return next, true
}

// WithoutTopic is WithoutStream for one topic of a stream.
func (p *Permissions) WithoutTopic(stream, topic uint32) (*Permissions, bool) {
	if p == nil {
		return nil, false
	}
	if _, ok := p.Streams[stream].Topics[topic]; !ok {
		return p, false
	}
	next := &Permissions{Global: p.Global, Streams: maps.Clone(p.Streams)}
	grants := next.Streams[stream]
	grants.Topics = maps.Clone(grants.Topics)
	delete(grants.Topics, topic)
	next.Streams[stream] = grants
	return next, true
}
