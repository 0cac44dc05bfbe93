package bridge

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/iggy/foreign/go/client/tcp"
	iggcon "github.com/apache/iggy/foreign/go/contracts"
	ierror "github.com/apache/iggy/foreign/go/errors"
)

// Offsets and groups go over the administration's lane: a membership belongs to
// a connection, and these calls must not delay reads or appends.

func (o offsetOwner) consumer() iggcon.Consumer {
	if o.group {
		return iggcon.NewGroupConsumer(nameIdentifier(o.name))
	}
	return iggcon.NewSingleConsumer(nameIdentifier(o.name))
}

func (p *sdkPool) storedOffset(ctx context.Context, of offsetOwner, at Location, partition uint32) (offset uint64, ok bool, err error) {
	var info *iggcon.ConsumerOffsetInfo
	err = p.admin.call(ctx, "get consumer offset", func(c *tcp.IggyTcpClient) (err error) {
		info, err = c.GetConsumerOffset(of.consumer(), nameIdentifier(at.Stream), nameIdentifier(at.Topic), &partition)
		return err
	})
	if err != nil || info == nil {
		return 0, false, translateOffset(err)
	}
	return info.StoredOffset, true, nil
}

func (p *sdkPool) storeOffset(ctx context.Context, of offsetOwner, at Location, partition uint32, offset uint64) error {
	return translateOffset(p.admin.call(ctx, "store consumer offset", func(c *tcp.IggyTcpClient) error {
		return c.StoreConsumerOffset(of.consumer(), nameIdentifier(at.Stream), nameIdentifier(at.Topic), offset, &partition)
	}))
}

func (p *sdkPool) deleteOffset(ctx context.Context, of offsetOwner, at Location, partition uint32) error {
	err := p.admin.call(ctx, "delete consumer offset", func(c *tcp.IggyTcpClient) error {
		return c.DeleteConsumerOffset(of.consumer(), nameIdentifier(at.Stream), nameIdentifier(at.Topic), &partition)
	})
	if errors.Is(err, ierror.ErrConsumerOffsetNotFound) {
		return nil
	}
	return translateOffset(err)
}

func (p *sdkPool) groupMembers(ctx context.Context, at Location, group string) (int, error) {
	var details *iggcon.ConsumerGroupDetails
	err := p.admin.call(ctx, "consumer group", func(c *tcp.IggyTcpClient) (err error) {
		details, err = c.GetConsumerGroup(nameIdentifier(at.Stream), nameIdentifier(at.Topic), nameIdentifier(group))
		return err
	})
	if err != nil {
		return 0, translateOffset(err)
	}
	return int(details.MembersCount), nil
}

func (p *sdkPool) createGroup(ctx context.Context, at Location, group string) error {
	return translateOffset(p.admin.call(ctx, "create consumer group", func(c *tcp.IggyTcpClient) error {
		_, err := c.CreateConsumerGroup(nameIdentifier(at.Stream), nameIdentifier(at.Topic), group)
		return err
	}))
}

func (p *sdkPool) joinGroup(ctx context.Context, at Location, group string) error {
	return translateOffset(p.admin.call(ctx, "join consumer group", func(c *tcp.IggyTcpClient) error {
		return c.JoinConsumerGroup(nameIdentifier(at.Stream), nameIdentifier(at.Topic), nameIdentifier(group))
	}))
}

func (p *sdkPool) leaveGroup(ctx context.Context, at Location, group string) error {
	return translateOffset(p.admin.call(ctx, "leave consumer group", func(c *tcp.IggyTcpClient) error {
		return c.LeaveConsumerGroup(nameIdentifier(at.Stream), nameIdentifier(at.Topic), nameIdentifier(group))
	}))
}

// translateOffset is translate with what Iggy's codes mean where offsets and
// groups are concerned.
func translateOffset(err error) error {
	var answer ierror.IggyError
	if !errors.As(err, &answer) {
		return translate(err)
	}
	switch answer.Code() {
	case ierror.InvalidOffsetCode:
		return fmt.Errorf("%w: %w", ErrOffsetOutOfRange, err)
	case ierror.ConsumerGroupIdNotFoundCode, ierror.ConsumerGroupNameNotFoundCode:
		return fmt.Errorf("%w: %w", ErrGroupNotFound, err)
	case ierror.ConsumerGroupMemberNotFoundCode:
		return fmt.Errorf("%w: %w", errMembershipLost, err)
	}
	return translate(err)
}

// errMembershipLost says that the connection is no member of a group: it was
// replaced since it joined.
var errMembershipLost = errors.New("the membership in the iggy consumer group was lost")
