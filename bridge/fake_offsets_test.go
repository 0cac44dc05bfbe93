package bridge

import (
	"context"
)

type fakeOffsetKey struct {
	of        offsetOwner
	at        Location
	partition uint32
}

type fakeGroupKey struct {
	at   Location
	name string
}

// fakeGroup is a consumer group of the fake's: how many members others have in
// it, and whether the bridge is one as well.
type fakeGroup struct {
	others int
	joined bool
}

func (f *fakeIggy) storedOffset(_ context.Context, of offsetOwner, at Location, partition uint32) (offset uint64, ok bool, err error) {
	err = f.do(fakeCall{op: "get consumer offset", at: at, partition: partition}, func() error {
		offset, ok = f.offsets[fakeOffsetKey{of, at, partition}]
		return nil
	})
	return offset, ok, err
}

// mayStore checks what Iggy checks before it stores or deletes an offset.
func (f *fakeIggy) mayStore(of offsetOwner, at Location, partition uint32) (*fakePartition, error) {
	p, err := f.log(at, partition)
	if err != nil {
		return nil, err
	}
	if of.group {
		g := f.groups[fakeGroupKey{at, of.name}]
		switch {
		case g == nil:
			return nil, ErrGroupNotFound
		case !g.joined:
			return nil, errMembershipLost
		}
	}
	return p, nil
}

func (f *fakeIggy) storeOffset(_ context.Context, of offsetOwner, at Location, partition uint32, offset uint64) error {
	return f.do(fakeCall{op: "store consumer offset", at: at, partition: partition}, func() error {
		p, err := f.mayStore(of, at, partition)
		if err != nil {
			return err
		}
		if int64(offset) >= p.end() {
			return ErrOffsetOutOfRange
		}
		f.offsets[fakeOffsetKey{of, at, partition}] = offset
		return nil
	})
}

func (f *fakeIggy) deleteOffset(_ context.Context, of offsetOwner, at Location, partition uint32) error {
	return f.do(fakeCall{op: "delete consumer offset", at: at, partition: partition}, func() error {
		if _, err := f.mayStore(of, at, partition); err != nil {
			return err
		}
		delete(f.offsets, fakeOffsetKey{of, at, partition})
		return nil
	})
}

func (f *fakeIggy) groupMembers(_ context.Context, at Location, group string) (members int, err error) {
	err = f.do(fakeCall{op: "consumer group", at: at}, func() error {
		g := f.groups[fakeGroupKey{at, group}]
		if g == nil {
			return ErrGroupNotFound
		}
		members = g.others
		if g.joined {
			members++
		}
		return nil
	})
	return members, err
}

func (f *fakeIggy) createGroup(_ context.Context, at Location, group string) error {
	return f.do(fakeCall{op: "create consumer group", at: at}, func() error {
		if _, err := f.find(at); err != nil {
			return err
		}
		f.groups[fakeGroupKey{at, group}] = &fakeGroup{}
		return nil
	})
}

func (f *fakeIggy) setJoined(op string, at Location, group string, joined bool) error {
	return f.do(fakeCall{op: op, at: at}, func() error {
		g := f.groups[fakeGroupKey{at, group}]
		if g == nil {
			return ErrGroupNotFound
		}
		g.joined = joined
		return nil
	})
}

func (f *fakeIggy) joinGroup(_ context.Context, at Location, group string) error {
	return f.setJoined("join consumer group", at, group, true)
}

func (f *fakeIggy) leaveGroup(_ context.Context, at Location, group string) error {
	return f.setJoined("leave consumer group", at, group, false)
}
