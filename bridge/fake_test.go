package bridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// fakeIggy is an Iggy in memory, behind the transport interface. A hook sees
// every call and can make it fail, before or after it took effect.
type fakeIggy struct {
	mu     sync.Mutex
	byName map[string]*fakeStream
	now    func() time.Time
	nextID uint32
	clock  uint64 // creation times

	// before runs in front of a call, without the lock; an error is the call's
	// answer, and nothing is done.
	before func(call fakeCall) error
	// after runs behind a call that took effect; an error is the call's answer
	// all the same.
	after func(call fakeCall) error

	calls map[string]int

	offsets map[fakeOffsetKey]uint64
	groups  map[fakeGroupKey]*fakeGroup
}

// fakeCall is a call that a hook sees.
type fakeCall struct {
	op        string
	at        Location
	partition uint32
	messages  []message
	read      readRequest
}

type fakeStream struct {
	id      uint32
	created uint64
	topics  map[string]*fakeTopic
}

type fakeTopic struct {
	info       topicInfo
	partitions []*fakePartition
}

type fakePartition struct {
	start    int64 // offset of messages[0]
	messages []message
}

func newFakeIggy() *fakeIggy {
	return &fakeIggy{
		byName:  make(map[string]*fakeStream),
		now:     time.Now,
		calls:   make(map[string]int),
		offsets: make(map[fakeOffsetKey]uint64),
		groups:  make(map[fakeGroupKey]*fakeGroup),
	}
}

func (f *fakeIggy) config() Config { return Config{transport: f} }

func (f *fakeIggy) start()        {}
func (f *fakeIggy) close() error  { return nil }
func (f *fakeIggy) health() error { return f.enter(fakeCall{op: "health"}) }

func (f *fakeIggy) enter(call fakeCall) error {
	f.mu.Lock()
	f.calls[call.op]++
	before := f.before
	f.mu.Unlock()
	if before != nil {
		return before(call)
	}
	return nil
}

func (f *fakeIggy) leave(call fakeCall) error {
	f.mu.Lock()
	after := f.after
	f.mu.Unlock()
	if after != nil {
		return after(call)
	}
	return nil
}

// hooks replaces both hooks.
func (f *fakeIggy) hooks(before, after func(fakeCall) error) {
	f.mu.Lock()
	f.before, f.after = before, after
	f.mu.Unlock()
}

// do runs a call between the hooks.
func (f *fakeIggy) do(call fakeCall, run func() error) error {
	if err := f.enter(call); err != nil {
		return err
	}
	f.mu.Lock()
	err := run()
	f.mu.Unlock()
	if err != nil {
		return err
	}
	return f.leave(call)
}

func (f *fakeIggy) streams(context.Context) (out []streamInfo, err error) {
	err = f.do(fakeCall{op: "streams"}, func() error {
		for name, s := range f.byName {
			out = append(out, streamInfo{name: name, id: s.id, createdAt: s.created, topics: uint32(len(s.topics))})
		}
		return nil
	})
	return out, err
}

func (f *fakeIggy) createStream(_ context.Context, name string) error {
	return f.do(fakeCall{op: "create stream", at: Location{Stream: name}}, func() error {
		if f.byName[name] != nil {
			return errStreamExists
		}
		f.clock++
		f.byName[name] = &fakeStream{id: f.nextID, created: f.clock, topics: make(map[string]*fakeTopic)}
		f.nextID++
		return nil
	})
}

func (f *fakeIggy) deleteStream(_ context.Context, name string) error {
	return f.do(fakeCall{op: "delete stream", at: Location{Stream: name}}, func() error {
		if f.byName[name] == nil {
			return errStreamMissing
		}
		delete(f.byName, name)
		return nil
	})
}

func (f *fakeIggy) topics(_ context.Context, stream string) (out []topicInfo, err error) {
	err = f.do(fakeCall{op: "topics", at: Location{Stream: stream}}, func() error {
		if s := f.byName[stream]; s != nil {
			for _, t := range s.topics {
				info := t.info
				info.partitionCount = uint32(len(t.partitions))
				for _, p := range t.partitions {
					info.messages += uint64(len(p.messages))
				}
				out = append(out, info)
			}
		}
		return nil
	})
	return out, err
}

func (f *fakeIggy) find(at Location) (*fakeTopic, error) {
	if s := f.byName[at.Stream]; s != nil {
		if t := s.topics[at.Topic]; t != nil {
			return t, nil
		}
	}
	return nil, ErrTopicNotFound
}

func (f *fakeIggy) topic(_ context.Context, at Location) (info topicInfo, err error) {
	err = f.do(fakeCall{op: "topic", at: at}, func() error {
		t, err := f.find(at)
		if err != nil {
			return err
		}
		info = t.info
		info.partitionCount = uint32(len(t.partitions))
		info.partitions = nil
		for _, p := range t.partitions {
			b := bounds{end: p.end(), messages: uint64(len(p.messages))}
			for i := range p.messages {
				b.bytes += uint64(messageSize(&p.messages[i]))
			}
			info.partitions = append(info.partitions, b)
		}
		return nil
	})
	return info, err
}

func (p *fakePartition) end() int64 { return p.start + int64(len(p.messages)) }

func (f *fakeIggy) createTopic(_ context.Context, at Location, partitions int, expiry, maxSize uint64) error {
	return f.do(fakeCall{op: "create topic", at: at}, func() error { return f.create(at, partitions, expiry, maxSize) })
}

func (f *fakeIggy) create(at Location, partitions int, expiry, maxSize uint64) error {
	s := f.byName[at.Stream]
	if s == nil {
		return errStreamMissing
	}
	if s.topics[at.Topic] != nil {
		return ErrTopicExists
	}
	id := uint32(0)
	for used := true; used; {
		used = false
		for _, other := range s.topics {
			if other.info.id == id {
				used = true
				id++
				break
			}
		}
	}
	f.clock++
	t := &fakeTopic{info: topicInfo{location: at, streamID: unknownStream, id: id, createdAt: f.clock, expiry: expiry, maxSize: maxSize}}
	s.topics[at.Topic] = t
	t.grow(partitions)
	return nil
}

func (t *fakeTopic) grow(n int) {
	for range n {
		t.partitions = append(t.partitions, &fakePartition{})
	}
}

func (f *fakeIggy) updateTopic(_ context.Context, info topicInfo, expiry, maxSize uint64) error {
	return f.do(fakeCall{op: "update topic", at: info.location}, func() error {
		t, err := f.find(info.location)
		if err == nil {
			t.info.expiry, t.info.maxSize = expiry, maxSize
		}
		return err
	})
}

func (f *fakeIggy) createPartitions(_ context.Context, at Location, n int) error {
	return f.do(fakeCall{op: "create partitions", at: at}, func() error {
		t, err := f.find(at)
		if err == nil {
			t.grow(n)
		}
		return err
	})
}

func (f *fakeIggy) deleteTopic(_ context.Context, at Location) error {
	return f.do(fakeCall{op: "delete topic", at: at}, func() error {
		if _, err := f.find(at); err != nil {
			return err
		}
		delete(f.byName[at.Stream].topics, at.Topic)
		return nil
	})
}

func (f *fakeIggy) log(at Location, partition uint32) (*fakePartition, error) {
	t, err := f.find(at)
	if err != nil {
		return nil, err
	}
	if int(partition) >= len(t.partitions) {
		return nil, ErrPartitionNotFound
	}
	return t.partitions[partition], nil
}

func (f *fakeIggy) append(_ context.Context, at *partitionRef, messages []message) error {
	call := fakeCall{op: "append", at: at.location, partition: at.partition, messages: messages}
	return f.do(call, func() error { return f.write(at.location, at.partition, messages) })
}

// write puts messages at the end of a partition, whoever sends them.
func (f *fakeIggy) write(at Location, partition uint32, messages []message) error {
	p, err := f.log(at, partition)
	if err != nil {
		return err
	}
	us := uint64(f.now().UnixMicro())
	for _, m := range messages {
		m.Payload, m.UserHeaders = bytes.Clone(m.Payload), bytes.Clone(m.UserHeaders)
		m.Header.Offset, m.Header.Timestamp = uint64(p.end()), us
		p.messages = append(p.messages, m)
	}
	return nil
}

// inject writes as an Iggy client does.
func (f *fakeIggy) inject(at Location, partition uint32, messages ...message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.write(at, partition, messages); err != nil {
		panic(err)
	}
}

// retain deletes messages below an offset.
func (f *fakeIggy) retain(at Location, partition uint32, start int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, err := f.log(at, partition)
	if err != nil {
		panic(err)
	}
	p.messages = slices.Clone(p.messages[start-p.start:])
	p.start = start
}

func (f *fakeIggy) read(_ context.Context, at *partitionRef, r readRequest) (res readResult, err error) {
	call := fakeCall{op: "read", at: at.location, partition: at.partition, read: r}
	err = f.do(call, func() error {
		p, err := f.log(at.location, at.partition)
		if err != nil {
			return err
		}
		res.current = max(p.end()-1, 0)
		from := int64(0)
		if !r.first {
			from = max(r.offset-p.start, 0)
		}
		for i := from; i < int64(len(p.messages)) && len(res.messages) < r.count; i++ {
			res.messages = append(res.messages, p.messages[i])
		}
		return nil
	})
	return res, err
}

// lostReply is the answer to a call of which nobody knows what became of it.
func lostReply() error { return fmt.Errorf("%w: %w", errMaybeAppended, ErrTimeout) }

var errFakeDown = fmt.Errorf("%w: %w: the fake is down", errNotSent, ErrUnavailable)

// onCall makes a hook that fails the nth call of an operation to a stream.
func onCall(op, stream string, n int, err error) func(fakeCall) error {
	var mu sync.Mutex
	seen := 0
	return func(c fakeCall) error {
		if c.op != op || c.at.Stream != stream {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if seen++; seen == n {
			return err
		}
		return nil
	}
}

var errTest = errors.New("a fault of the test")
