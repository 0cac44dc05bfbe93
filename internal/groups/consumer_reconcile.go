package groups

import (
	"cmp"
	"maps"
	"slices"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/groups/assignor"
	"kafka-iggy-bridge/internal/wire"
)

// reconciliation takes a member towards its target assignment. A partition is
// given to it only when nobody owns it any more, and the member gets a new epoch
// only when it has given up what it must: so no partition ever has two owners.
type reconciliation struct {
	group *consumerGroup
	// epoch and target are where the member shall get.
	epoch  int32
	target assignor.Assignment
	// subscriptionChanged: the member may have partitions of topics that it does
	// not want any more.
	subscriptionChanged bool
	// owned is what the member says it owns, nil when it does not say.
	owned []generated.ConsumerGroupHeartbeatRequestTopicPartitions
}

// reconcile moves a member, records its new state and keeps the time in which it
// has to give up partitions.
func (op *consumerOp) reconcile(m *consumerMember, r *reconciliation) (*consumerMember, *refusal) {
	if !r.subscriptionChanged && m.reconciledTo(r.epoch) {
		return m, nil
	}
	next, bad := r.next(m)
	if bad != nil {
		return nil, bad
	}
	if next.sameState(m) {
		return m, nil
	}
	op.setCurrent(next)
	if next.classic == nil {
		op.after = append(op.after, func() {
			if next.state == memberUnrevoked {
				op.s.startRebalanceTimer(op.groupID, next)
			} else {
				op.s.timers.Cancel(timerKey{timerConsumerRebalance, op.groupID, next.id})
			}
		})
	}
	return next, nil
}

// next is the member's next state, the present one when it cannot move.
func (r *reconciliation) next(m *consumerMember) (*consumerMember, *refusal) {
	switch m.state {
	case memberStable:
		if m.epoch != r.epoch {
			return r.advance(m, m.epoch), nil
		}
		if r.subscriptionChanged {
			return r.shrink(m), nil
		}
		return m, nil
	case memberUnrevoked:
		if r.stillOwns(m.revoking) {
			if r.subscriptionChanged {
				return r.shrink(m), nil
			}
			return m, nil
		}
		return r.advance(m, m.epoch), nil
	case memberUnreleased:
		return r.advance(m, m.epoch), nil
	default:
		// What a later release meant is not known: the member starts anew.
		if r.owned == nil || len(r.owned) > 0 {
			return nil, refuse(errorcode.FencedMemberEpoch,
				"The consumer group member is in a unknown state. The member must abandon all its partitions and rejoin.")
		}
		return r.advance(m, r.epoch), nil
	}
}

// stillOwns reports whether the member has not given up partitions, or did not
// say so.
func (r *reconciliation) stillOwns(revoking ownership) bool {
	return r.owned == nil || revoking.touches(r.owned)
}

// shrink takes away the partitions of topics to which the member does not
// subscribe any more, without waiting for a new target assignment.
func (r *reconciliation) shrink(m *consumerMember) *consumerMember {
	assigned, revoking := maps.Clone(m.assigned), maps.Clone(m.revoking)
	if revoking == nil {
		revoking = ownership{}
	}
	for id, owned := range m.assigned {
		if !r.group.subscribes(m, id) {
			delete(assigned, id)
			revoking[id] = merge(revoking[id], owned)
		}
	}
	if len(assigned) == len(m.assigned) {
		return m
	}
	next := *m
	next.previousEpoch = m.epoch
	next.assigned = assigned
	if r.stillOwns(revoking) {
		next.state, next.revoking = memberUnrevoked, revoking
	}
	return &next
}

func merge(a, b []ownedPartition) []ownedPartition {
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(p, q ownedPartition) int { return cmp.Compare(p.partition, q.partition) })
	return all
}

// split is how a member's present and its target assignment relate.
type split struct {
	// kept is in both, revoked only in the present one, free only in the target
	// one and without an owner.
	kept, revoked ownership
	free          assignor.Assignment
	// unreleased: some of the target belongs to others.
	unreleased bool
}

// advance moves the member towards the target; epoch is where it comes from.
func (r *reconciliation) advance(m *consumerMember, epoch int32) *consumerMember {
	s := r.split(m)
	next := *m
	next.previousEpoch = m.epoch
	if len(s.revoked) > 0 && r.stillOwns(s.revoked) {
		next.state, next.epoch = memberUnrevoked, epoch
		next.assigned, next.revoking = s.kept, s.revoked
		return &next
	}
	for id, partitions := range s.free {
		given := make([]ownedPartition, len(partitions))
		for i, p := range partitions {
			given[i] = ownedPartition{partition: p, epoch: r.epoch}
		}
		s.kept[id] = merge(s.kept[id], given)
	}
	next.state, next.epoch = memberStable, r.epoch
	if s.unreleased {
		next.state = memberUnreleased
	}
	next.assigned, next.revoking = s.kept, ownership{}
	return &next
}

func (r *reconciliation) split(m *consumerMember) split {
	s := split{kept: ownership{}, revoked: ownership{}, free: assignor.Assignment{}}
	for id, owned := range m.assigned {
		target := r.target[id]
		if !r.group.subscribes(m, id) {
			target = nil
		}
		for _, p := range owned {
			if _, ok := slices.BinarySearch(target, p.partition); ok {
				s.kept[id] = append(s.kept[id], p)
			} else {
				s.revoked[id] = append(s.revoked[id], p)
			}
		}
	}
	for id, target := range r.target {
		if r.group.subscribes(m, id) {
			r.take(&s, m, id, target)
		}
	}
	return s
}

// take adds the partitions of a topic that the member has not got yet.
func (r *reconciliation) take(s *split, m *consumerMember, id wire.UUID, target []int32) {
	for _, p := range target {
		if _, ok := s.kept.find(id, p); ok {
			continue
		}
		// What the member itself is giving up nobody else has.
		_, own := m.revoking.find(id, p)
		if !own && r.group.owned(id, p) {
			s.unreleased = true
			continue
		}
		s.free[id] = append(s.free[id], p)
	}
}
