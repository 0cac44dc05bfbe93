package bridge

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Each partition of an internal topic is a chain of generations. A generation
// is an Iggy topic with one partition in the state's stream; the first message
// of it has the Kafka offset that the topic's name ends with, and the offsets
// behind follow on. So Iggy, which never compacts, need not:
//
//  1. The owner makes the next generation, whose base is the end of the present
//     one, and writes a seal and the snapshot into it.
//  2. It appends a seal to the present generation, too: both have one at the
//     offset where they meet, so a reader may have come from either. When this
//     seal does not lie there, somebody else has written meanwhile, and the
//     attempt ends.
//  3. It appends a marker to the next generation, which is the present one from
//     then on if the marker lies right behind the snapshot.
//  4. A minute later the generations before are deleted.
//
// The seal keeps late writers out: whoever still takes the old generation for
// the present one expects its own message where the seal lies.
//
// Whoever loads a partition and finds a generation that is not complete behind
// another one writes a void marker into it. The first marker of a generation
// decides, so that two bridges cannot come to different conclusions. A voided
// generation stays for a while, and its name is not used again meanwhile, so
// that what is still on its way to it cannot end up elsewhere.
//
// There is thus at any point exactly one generation that holds, wherever
// bridges stop and also if Iggy loses the ends of logs: the last complete one,
// or the oldest if none is.
type generation struct {
	location Location
	base     int64  // Kafka offset of the first message
	created  uint64 // Iggy's time of creation, tells one from another of that name
	messages uint64 // as last listed
	ref      *partitionRef
}

func newGeneration(at Location, base int64, info topicInfo) generation {
	ref := newPartitionRef(at, 0)
	return generation{location: at, base: base, created: info.createdAt, messages: info.messages, ref: &ref}
}

// generationTopic is the name of the generation of a partition with that base.
func generationTopic(topic string, partition int32, base int64) string {
	return topic + "." + strconv.Itoa(int(partition)) + "." + strconv.FormatInt(base, 10)
}

// parseGeneration reads partition and base from a generation's name.
func parseGeneration(topic, name string) (partition int32, base int64, ok bool) {
	rest, ok := strings.CutPrefix(name, topic+".")
	if !ok {
		return 0, 0, false
	}
	left, right, ok := strings.Cut(rest, ".")
	if !ok {
		return 0, 0, false
	}
	p, err := strconv.ParseInt(left, 10, 32)
	if err != nil {
		return 0, 0, false
	}
	base, err = strconv.ParseInt(right, 10, 64)
	if err != nil || p < 0 || base < 0 || generationTopic(topic, int32(p), base) != name {
		return 0, 0, false
	}
	return int32(p), base, true
}

// same reports whether two descriptions are of one generation.
func (g generation) same(o generation) bool {
	return g.location == o.location && g.created == o.created
}

// exists is false for the zero generation, the one of a partition that was
// never written.
func (g generation) exists() bool { return g.location != Location{} }

// listGenerations lists an internal topic's generations by partition, oldest
// first.
func (t *internalTopic) listGenerations(ctx context.Context) (map[int32][]generation, error) {
	infos, err := t.bridge.inner.topics(ctx, t.at.Stream)
	if err != nil {
		return nil, fmt.Errorf("listing the generations of %s: %w", t.at.Topic, err)
	}
	out := make(map[int32][]generation)
	for _, info := range infos {
		p, base, ok := parseGeneration(t.at.Topic, info.location.Topic)
		if !ok || info.partitionCount == 0 {
			continue
		}
		at := Location{Stream: t.at.Stream, Topic: info.location.Topic}
		out[p] = append(out[p], newGeneration(at, base, info))
	}
	for _, generations := range out {
		slices.SortFunc(generations, func(a, b generation) int { return cmp.Compare(a.base, b.base) })
	}
	return out, nil
}

// verdict is what a generation's first marker says.
type verdict struct {
	generation generation
	next       int64  // Iggy offset up to which it was read
	marker     marker // markerNone while there is none
}

func newVerdict(g generation) verdict { return verdict{generation: g, marker: markerNone} }

// markerReadCount is how many messages one read asks for when a marker is
// sought.
const markerReadCount = 2000

// judge seeks a generation's first marker, from where v ends.
func (t *internalTopic) judge(ctx context.Context, v *verdict) error {
	for v.marker == markerNone {
		res, err := t.bridge.inner.read(ctx, v.generation.ref, readRequest{offset: v.next, count: markerReadCount, behindAppend: true})
		if err != nil {
			return fmt.Errorf("reading %v at %d: %w", v.generation.location, v.next, err)
		}
		if len(res.messages) == 0 {
			return nil
		}
		for i := range res.messages {
			v.next = int64(res.messages[i].Header.Offset) + 1
			if k := markerOf(&res.messages[i]); k == markerComplete || k == markerVoid {
				v.marker = k
				break
			}
		}
	}
	return nil
}
