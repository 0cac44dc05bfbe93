package bridge

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
)

// stateStore is the internal state: what the bridge has to remember and Iggy
// has no place for. See stateOp for how it is kept.
type stateStore struct {
	bridge *Bridge
	// sealAfter is the number of changes below which no generation is ended.
	sealAfter int
	// writing is held by whoever reads or writes the log.
	writing chan struct{}

	mu     sync.RWMutex
	log    *stateLog // nil until loaded; guarded by mu, changed only while writing is held
	reason error     // why it is not loaded
}

// stateBatchBytes is about how much of a snapshot goes into one append.
const stateBatchBytes = 1 << 20

// stateReadCount is how many messages of the log one read asks for.
const stateReadCount = 1000

func newStateStore(b *Bridge) *stateStore {
	return &stateStore{bridge: b, sealAfter: defaultSealAfter, writing: make(chan struct{}, 1), reason: ErrNotReady}
}

// ready is nil when the state is loaded.
func (s *stateStore) ready() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.log != nil {
		return nil
	}
	if errors.Is(s.reason, ErrNotReady) {
		return s.reason
	}
	return fmt.Errorf("%w: %w", ErrNotReady, s.reason)
}

// get is a key's value.
func (s *stateStore) get(key string) (json.RawMessage, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.log == nil {
		return nil, false
	}
	v, ok := s.log.entries[key]
	return v, ok
}

// keys are the keys with a prefix.
func (s *stateStore) keys(prefix string) []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var keys []string
	if s.log != nil {
		for key := range s.log.entries {
			if strings.HasPrefix(key, prefix) {
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	return keys
}

// put sets a key for good: when it returns nil the value is in the log.
func (s *stateStore) put(ctx context.Context, key string, value any) error {
	return s.change(ctx, opPut, key, value)
}

// putIfAbsent sets a key unless it is set; get tells which value holds.
func (s *stateStore) putIfAbsent(ctx context.Context, key string, value any) error {
	return s.change(ctx, opPutIfAbsent, key, value)
}

// remove removes keys that still have the values given with them.
func (s *stateStore) remove(ctx context.Context, entries map[string]json.RawMessage) error {
	for key, value := range entries {
		if err := s.change(ctx, opDelete, key, value); err != nil {
			return err
		}
	}
	return nil
}

func (s *stateStore) change(ctx context.Context, op stateOp, key string, value any) error {
	record := stateRecord{Op: op, Key: key}
	if value != nil {
		raw, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("internal state: key %s: %w", key, err)
		}
		record.Value = raw
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.catchUp(ctx); err != nil {
		return err
	}
	if err := s.write(ctx, record); err != nil {
		return fmt.Errorf("internal state: writing %s: %w", key, err)
	}
	return s.sealIfLong(ctx)
}

func (s *stateStore) lock(ctx context.Context) (unlock func(), err error) {
	return hold(ctx, s.writing)
}

// refresh loads the state, or reads what other bridges wrote since.
func (s *stateStore) refresh(ctx context.Context) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	err = s.catchUp(ctx)
	if err == nil {
		err = s.sealIfLong(ctx)
	}
	return err
}

// write appends a record and waits until it counts, in whatever generation.
func (s *stateStore) write(ctx context.Context, record stateRecord) error {
	for range maxLoads {
		generation := s.log.generation
		ids, err := s.appendTo(ctx, generation, []stateRecord{record})
		if err != nil && !errors.Is(err, errMaybeAppended) && !errors.Is(err, ErrTopicNotFound) {
			return err
		}
		seen, err := s.catchUpFor(ctx, ids[0])
		if err != nil {
			return err
		}
		if seen {
			return nil
		}
	}
	return fmt.Errorf("%w: the change does not appear in the log", ErrStorage)
}

// sealIfLong begins a new generation when the log is long.
func (s *stateStore) sealIfLong(ctx context.Context) error {
	if !s.log.worthSealing(s.sealAfter) {
		return nil
	}
	_, err := s.appendTo(ctx, s.log.generation, []stateRecord{{Op: opSeal}})
	if err != nil && isOutcomeKnown(err) {
		return fmt.Errorf("internal state: ending a generation: %w", err)
	}
	return s.catchUp(ctx)
}

// appendTo appends records to a generation, and returns their ids.
func (s *stateStore) appendTo(ctx context.Context, generation int, records []stateRecord) ([]messageID, error) {
	b := s.bridge
	messages := make([]message, len(records))
	ids := make([]messageID, len(records))
	first := b.ids.reserve(len(records))
	for i, r := range records {
		payload, err := json.Marshal(r)
		if err != nil {
			return ids, fmt.Errorf("encoding: %w", err)
		}
		ids[i] = b.ids.id(first + uint64(i))
		messages[i] = message{
			Header: iggcon.MessageHeader{
				Id:              ids[i],
				OriginTimestamp: uint64(b.config.Now().UnixMicro()),
				PayloadLength:   uint32(len(payload)),
			},
			Payload: payload,
		}
	}
	ref := s.ref(generation)
	return ids, b.transport.append(ctx, &ref, messages)
}

func (s *stateStore) ref(generation int) partitionRef {
	return newPartitionRef(Location{Stream: s.bridge.config.StateStream, Topic: generationName(generation)}, 0)
}

// catchUp reads the log to its end, or loads it when that was not done yet.
func (s *stateStore) catchUp(ctx context.Context) error {
	_, err := s.catchUpFor(ctx, messageID{})
	return err
}

// catchUpFor is catchUp, and reports whether it read the message with an id and
// that message counts.
func (s *stateStore) catchUpFor(ctx context.Context, id messageID) (seen bool, err error) {
	log := s.log
	if log == nil {
		return false, s.reload(ctx)
	}
	for {
		found, err := s.read(ctx, log, id)
		seen = seen || found
		next := log
		if err == nil && log.sealed {
			next, err = s.follow(ctx, log)
		}
		switch {
		case errors.Is(err, ErrTopicNotFound), errors.Is(err, errLogShrank):
			// Other bridges went on and deleted this generation, or Iggy lost
			// messages: begin again with what there is.
			return seen, s.reload(ctx)
		case err != nil:
			return false, fmt.Errorf("internal state: generation %d: %w", log.generation, err)
		case next == log:
			return seen, nil
		}
		s.adopt(next)
		s.dropGeneration(ctx, log.generation)
		log = next
	}
}

// reload loads the state anew.
func (s *stateStore) reload(ctx context.Context) error {
	log, err := s.load(ctx)
	if err != nil {
		s.fail(err)
		return err
	}
	s.adopt(log)
	return nil
}

// adopt makes a log the one that holds.
func (s *stateStore) adopt(log *stateLog) {
	s.mu.Lock()
	s.log, s.reason = log, nil
	s.mu.Unlock()
}

func (s *stateStore) fail(err error) {
	s.mu.Lock()
	s.reason = err
	s.mu.Unlock()
}

// errLogShrank says that a generation ends before what was read of it.
var errLogShrank = errors.New("the log is shorter than it was")

// read applies what is new in a generation, and reports whether the message
// with an id was among it and counts.
func (s *stateStore) read(ctx context.Context, log *stateLog, id messageID) (seen bool, err error) {
	ref := s.ref(log.generation)
	for {
		res, err := s.bridge.transport.read(ctx, &ref, readRequest{offset: log.next, count: stateReadCount, behindAppend: true})
		if err != nil {
			return seen, err
		}
		if len(res.messages) == 0 {
			if res.current+1 < log.next && !(res.current == 0 && log.next <= 1) {
				return seen, errLogShrank
			}
			return seen, nil
		}
		for i := range res.messages {
			m := &res.messages[i]
			s.mu.Lock()
			if m.Header.Id == id && !log.sealed {
				seen = true
			}
			err := log.apply(slices.Clone(m.Payload))
			log.next = int64(m.Header.Offset) + 1
			s.mu.Unlock()
			if err != nil {
				s.bridge.log.WithError(err).Warn("a message of the internal state could not be read and is left out")
			}
		}
	}
}

// newSnapshotID tells snapshots of different bridges apart.
func newSnapshotID() (string, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("reading random bytes: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}
