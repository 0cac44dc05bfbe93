package bridge

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
)

// generationGrace is how long a generation stays that does not hold any more:
// until then Iggy may still lose the end of the one that took its place, and
// what is on its way to it may still arrive.
const generationGrace = time.Minute

// doomedGeneration is a generation to delete.
type doomedGeneration struct {
	generation generation
	due        time.Time
	// proof is the marker because of which it does not hold. Only while that is
	// still there may it be deleted.
	proof verdict
}

// doom makes generations be deleted when a while has passed, because of a
// marker.
func (n *internals) doom(proof verdict, generations ...generation) {
	due := n.bridge.config.Now().Add(generationGrace)
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, g := range generations {
		if d, ok := n.doomed[g.location]; ok && d.generation.same(g) && d.proof.generation.same(proof.generation) {
			continue // its time runs already
		}
		n.doomed[g.location] = doomedGeneration{generation: g, due: due, proof: proof}
	}
}

// sweep deletes the generations whose time has come. Those that stay because of
// a fault are tried again.
func (n *internals) sweep(ctx context.Context) {
	now := n.bridge.config.Now()
	var due []doomedGeneration
	n.mu.Lock()
	for _, d := range n.doomed {
		if !now.Before(d.due) {
			due = append(due, d)
		}
	}
	n.mu.Unlock()
	// One that took another's place may be left itself by now: it is the proof for
	// that one, which goes first.
	slices.SortFunc(due, func(a, b doomedGeneration) int { return cmp.Compare(a.generation.base, b.generation.base) })
	for _, d := range due {
		if err := n.delete(ctx, d); err != nil {
			n.bridge.log.WithError(err).WithField("iggy", d.generation.location.String()).
				Warn("an old generation of an internal topic could not be deleted")
			continue
		}
		n.mu.Lock()
		if n.doomed[d.generation.location] == d {
			delete(n.doomed, d.generation.location)
		}
		n.mu.Unlock()
	}
}

// delete deletes a generation, unless the proof is gone: then the next load
// decides anew.
func (n *internals) delete(ctx context.Context, d doomedGeneration) error {
	ok, err := n.proven(ctx, d.proof)
	if err != nil || !ok {
		return err
	}
	return n.remove(ctx, d.generation)
}

// remove deletes a generation, and none that was made under its name since.
func (n *internals) remove(ctx context.Context, g generation) error {
	info, err := n.bridge.inner.topic(ctx, g.location)
	if err == nil && info.createdAt == g.created {
		err = n.bridge.inner.deleteTopic(ctx, g.location)
	}
	if errors.Is(err, ErrTopicNotFound) {
		return nil
	}
	return err
}

// proven reports whether a marker is where it was.
func (n *internals) proven(ctx context.Context, v verdict) (bool, error) {
	info, err := n.bridge.inner.topic(ctx, v.generation.location)
	if errors.Is(err, ErrTopicNotFound) || err == nil && info.createdAt != v.generation.created {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	res, err := n.bridge.inner.read(ctx, v.generation.ref, readRequest{offset: v.next - 1, count: 1})
	if err != nil {
		return false, err
	}
	return len(res.messages) > 0 && int64(res.messages[0].Header.Offset) == v.next-1 && markerOf(&res.messages[0]) == v.marker, nil
}

// discard deletes a generation that this bridge has just made for nothing. Should
// that fail, the next load of the partition sees to it.
func (n *internals) discard(ctx context.Context, g generation) {
	if err := n.remove(ctx, g); err != nil {
		n.bridge.log.WithError(err).WithField("iggy", g.location.String()).Debug("a generation that is not needed could not be deleted")
	}
}
