package bridge

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// load finds the generation that holds and reads it; the first bridge makes
// the first one.
func (s *stateStore) load(ctx context.Context) (log *stateLog, err error) {
	for range maxLoads {
		// A generation that vanishes meanwhile was one that another bridge left
		// behind: there is a later one.
		if log, err = s.loadOnce(ctx); !errors.Is(err, ErrTopicNotFound) {
			break
		}
	}
	return log, err
}

// maxLoads bounds how often the state is loaded anew because other bridges went
// on meanwhile.
const maxLoads = 10

func (s *stateStore) loadOnce(ctx context.Context) (*stateLog, error) {
	if err := s.ensureStream(ctx); err != nil {
		return nil, err
	}
	numbers, err := s.generations(ctx)
	if err != nil {
		return nil, err
	}
	if len(numbers) == 0 {
		return s.begin(ctx, newStateLog(-1))
	}
	for i := len(numbers) - 1; i >= 0; i-- {
		log := newStateLog(numbers[i])
		if _, err := s.read(ctx, log, messageID{}); err != nil {
			return nil, fmt.Errorf("reading generation %d: %w", log.generation, err)
		}
		switch {
		case log.complete && log.sealed:
			if log, err = s.follow(ctx, log); err != nil {
				return nil, err
			}
		case log.complete:
		case i > 0:
			continue // a bridge stopped while it began this one
		default:
			// The only generation there is was never completed: it is the first, and
			// has nothing to take over.
			if log, err = s.begin(ctx, newStateLog(log.generation-1)); err != nil {
				return nil, err
			}
		}
		for _, n := range numbers {
			if n < log.generation {
				s.dropGeneration(ctx, n)
			}
		}
		return log, nil
	}
	return nil, fmt.Errorf("%w: the internal state has no generation", ErrStorage)
}

func (s *stateStore) ensureStream(ctx context.Context) error {
	tr, name := s.bridge.transport, s.bridge.config.StateStream
	streams, err := tr.streams(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(streams, func(i streamInfo) bool { return i.name == name }) {
		return nil
	}
	if len(streams) >= maxStreams {
		return fmt.Errorf("%w: %d streams, and the bridge needs one of its own", ErrTooManyTopics, len(streams))
	}
	if err := tr.createStream(ctx, name); err != nil && !errors.Is(err, errStreamExists) {
		return fmt.Errorf("creating stream %s: %w", name, err)
	}
	return nil
}

// generations are the numbers of the generations there are, ascending.
func (s *stateStore) generations(ctx context.Context) ([]int, error) {
	infos, err := s.bridge.transport.topics(ctx, s.bridge.config.StateStream)
	if err != nil {
		return nil, fmt.Errorf("listing generations: %w", err)
	}
	var numbers []int
	for _, info := range infos {
		if n, ok := generationNumber(info.location.Topic); ok {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// follow goes on to the generation behind one that was sealed, which it
// completes if nobody did yet, and behind that one if it was sealed as well.
func (s *stateStore) follow(ctx context.Context, log *stateLog) (*stateLog, error) {
	for log.sealed {
		next, err := s.begin(ctx, log)
		if err != nil {
			return nil, err
		}
		log = next
	}
	return log, nil
}

// begin makes the generation behind a log's hold, with the log's entries, and
// reads it. The error is ErrTopicNotFound when other bridges went on beyond it
// meanwhile.
func (s *stateStore) begin(ctx context.Context, before *stateLog) (*stateLog, error) {
	log, err := s.complete(ctx, before)
	if err != nil {
		return nil, err
	}
	// A generation is deleted when a later one is complete. A bridge that was slow
	// may just have made one of those again: then there is a later one by now.
	numbers, err := s.generations(ctx)
	if err != nil {
		return nil, err
	}
	if len(numbers) > 0 && numbers[len(numbers)-1] > log.generation {
		return nil, fmt.Errorf("%w: generation %d was left behind", ErrTopicNotFound, log.generation)
	}
	return log, nil
}

// complete reads the generation behind a log's, after writing what it lacks.
func (s *stateStore) complete(ctx context.Context, before *stateLog) (*stateLog, error) {
	log := newStateLog(before.generation + 1)
	at := s.ref(log.generation).location
	err := s.bridge.transport.createTopic(ctx, at, 1, iggyNever, iggyUnlimited)
	if err != nil && !errors.Is(err, ErrTopicExists) {
		return nil, fmt.Errorf("creating %v: %w", at, err)
	}
	if _, err := s.read(ctx, log, messageID{}); err != nil {
		return nil, err
	}
	if log.complete {
		return log, nil
	}
	id, err := newSnapshotID()
	if err != nil {
		return nil, err
	}
	for records := before.snapshotRecords(id); len(records) > 0; {
		n, size := 1, len(records[0].Value)
		for n < len(records) && size < stateBatchBytes {
			size += len(records[n].Value) + len(records[n].Key)
			n++
		}
		if _, err := s.appendTo(ctx, log.generation, records[:n]); err != nil {
			// Whether it was written or not: this snapshot is not declared complete,
			// and the next attempt makes another.
			return nil, fmt.Errorf("writing a snapshot to %v: %w", at, err)
		}
		records = records[n:]
	}
	if _, err := s.read(ctx, log, messageID{}); err != nil {
		return nil, err
	}
	if !log.complete {
		return nil, fmt.Errorf("%w: the snapshot in %v is not complete", ErrStorage, at)
	}
	return log, nil
}

// dropGeneration deletes a generation that does not hold any longer. It may
// stay when that fails: nobody reads it, and the next load tries again.
func (s *stateStore) dropGeneration(ctx context.Context, n int) {
	at := s.ref(n).location
	if err := s.bridge.transport.deleteTopic(ctx, at); err != nil && !errors.Is(err, ErrTopicNotFound) {
		s.bridge.log.WithError(err).WithField("iggy", at.String()).Warn("an old generation of the internal state could not be deleted")
	}
}
