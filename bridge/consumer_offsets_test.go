package bridge

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/apache/iggy/foreign/go/client/tcp"
	iggcon "github.com/apache/iggy/foreign/go/contracts"
)

// offsetsOf are the consumer offsets of a bridge with a topic of one partition
// that holds four records, and another one that is empty.
func offsetsOf(t *testing.T, config Config) (*Bridge, *ConsumerOffsets) {
	t.Helper()
	b := startBridge(t, config)
	topic := makeTopic(t, b, "offsets", 2)
	produce(t, b, topic, 0, plainBatch(t, "a", "b", "c", "d"))
	return b, b.ConsumerOffsets()
}

func TestConsumerOffsetsAreKafkas(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		partition int32
		set       []int64
		want      int64 // -1 for none
		err       error
	}{
		"the first message was consumed":       {0, []int64{1}, 1, nil},
		"all was consumed":                     {0, []int64{4}, 4, nil},
		"backwards":                            {0, []int64{3, 2}, 2, nil},
		"nothing consumed removes what is":     {0, []int64{3, 0}, -1, nil},
		"nothing consumed, and nothing stored": {1, []int64{0}, -1, nil},
		"behind the end":                       {0, []int64{5}, -1, ErrOffsetOutOfRange},
		"an empty partition has only 0":        {1, []int64{1}, -1, ErrOffsetOutOfRange},
		"a partition that is not":              {2, []int64{1}, -1, ErrPartitionNotFound},
		"a negative partition":                 {-1, []int64{1}, -1, ErrPartitionNotFound},
		"a negative offset":                    {0, []int64{-1}, -1, ErrOffsetOutOfRange},
	}
	for _, side := range []struct {
		name string
		open func(*testing.T) Config
	}{
		{"the fake", func(*testing.T) Config { return newFakeIggy().config() }},
		{"iggy", func(t *testing.T) Config { return iggyConfig(t) }},
	} {
		t.Run(side.name, func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
			_, offsets := offsetsOf(t, side.open(t))
			for name, tc := range cases {
				who := strings.ReplaceAll(name, " ", "-")
				var err error
				for _, next := range tc.set {
					if err = offsets.SetConsumer(ctx, who, "offsets", tc.partition, next); err != nil {
						break
					}
				}
				if !errors.Is(err, tc.err) || (err == nil) != (tc.err == nil) {
					t.Errorf("%s: got %v, want %v", name, err, tc.err)
				}
				if tc.partition < 0 {
					continue
				}
				got, ok, err := offsets.Consumer(ctx, who, "offsets", tc.partition)
				if !ok {
					got = -1
				}
				if err != nil || got != tc.want {
					t.Errorf("%s: stored %d, %v; want %d", name, got, err, tc.want)
				}
			}
		})
	}
}

func TestConsumerOffsetsThatCannotBe(t *testing.T) {
	t.Parallel()
	_, offsets := offsetsOf(t, newFakeIggy().config())
	for name, tc := range map[string]struct {
		consumer, topic string
		want            error
	}{
		"no name":              {"", "offsets", ErrInvalidConsumer},
		"a name of 256 bytes":  {strings.Repeat("n", 256), "offsets", ErrInvalidConsumer},
		"a name that is none":  {"\xff", "offsets", ErrInvalidConsumer},
		"a topic that is none": {"c", "nowhere", ErrTopicNotFound},
	} {
		if err := offsets.SetConsumer(testContext(t), tc.consumer, tc.topic, 0, 1); !errors.Is(err, tc.want) {
			t.Errorf("%s: got %v, want %v", name, err, tc.want)
		}
	}
}

func TestIggyShowsTheOffsetsOfASingleConsumerByItsName(t *testing.T) {
	t.Parallel()
	config := iggyConfig(t)
	_, offsets := offsetsOf(t, config)
	if err := offsets.SetConsumer(testContext(t), "42", "offsets", 0, 3); err != nil {
		t.Fatal(err)
	}
	client := nativeClient(t, config)
	topic, partition := nameIdentifier("offsets"), uint32(0)
	info, err := client.GetConsumerOffset(iggcon.NewSingleConsumer(nameIdentifier("42")), topic, topic, &partition)
	if err != nil || info == nil || info.StoredOffset != 2 {
		t.Errorf("a name of digits: %+v, %v", info, err)
	}
}

func nativeClient(t *testing.T, config Config) *tcp.IggyTcpClient {
	t.Helper()
	client, err := tcp.NewIggyTcpClient(tcp.WithServerAddress(config.Address))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if _, err := client.LoginUser(config.Username, config.Password); err != nil {
		t.Fatal(err)
	}
	return client
}

func TestGroupOffsetsOfIggy(t *testing.T) {
	t.Parallel()
	config := iggyConfig(t)
	offsetsOf(t, config)
	offsets, err := OpenConsumerOffsets(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := offsets.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx := testContext(t)
	if _, err := offsets.GroupMembers(ctx, "g", "offsets"); !errors.Is(err, ErrGroupNotFound) {
		t.Fatalf("before there is a group: %v", err)
	}
	if err := offsets.SetGroup(ctx, "g", "offsets", map[int32]int64{0: 3, 1: 0}); err != nil {
		t.Fatal(err)
	}
	checkGroup(t, offsets, 3, true)
	if n, err := offsets.GroupMembers(ctx, "g", "offsets"); err != nil || n != 0 {
		t.Errorf("%d members stay, %v", n, err)
	}
	client, id := nativeClient(t, config), nameIdentifier("offsets")
	if err := client.JoinConsumerGroup(id, id, nameIdentifier("g")); err != nil {
		t.Fatal(err)
	}
	polled, err := client.PollMessages(id, id, iggcon.NewGroupConsumer(nameIdentifier("g")), iggcon.NextPollingStrategy(), 10, false, new(uint32))
	if err != nil || len(polled.Messages) != 1 || polled.Messages[0].Header.Offset != 3 {
		t.Errorf("a member goes on with %+v, %v", polled, err)
	}
	if err := offsets.SetGroup(ctx, "g", "offsets", map[int32]int64{0: 1}); !errors.Is(err, ErrGroupActive) {
		t.Errorf("with a member: %v", err)
	}
	if err := client.LeaveConsumerGroup(id, id, nameIdentifier("g")); err != nil {
		t.Fatal(err)
	}
	if err := offsets.SetGroup(ctx, "g", "offsets", map[int32]int64{0: 0}); err != nil {
		t.Fatal(err)
	}
	checkGroup(t, offsets, 0, false)
}

func checkGroup(t *testing.T, offsets *ConsumerOffsets, want int64, wantOK bool) {
	t.Helper()
	next, ok, err := offsets.Group(testContext(t), "g", "offsets", 0)
	if err != nil || next != want || ok != wantOK {
		t.Errorf("group offset %d, %v, %v; want %d, %v", next, ok, err, want, wantOK)
	}
}

func TestAMemberThatComesBetweenIsNoticed(t *testing.T) {
	t.Parallel()
	fake := newFakeIggy()
	_, offsets := offsetsOf(t, fake.config())
	at := Location{Stream: "offsets", Topic: "offsets"}
	other := func(op string) {
		fake.hooks(nil, func(call fakeCall) error {
			if call.op == op {
				fake.mu.Lock()
				fake.groups[fakeGroupKey{at, "g"}].others = 1
				fake.mu.Unlock()
			}
			return nil
		})
	}
	for _, op := range []string{"join consumer group", "store consumer offset"} {
		other(op)
		if err := offsets.SetGroup(testContext(t), "g", "offsets", map[int32]int64{0: 2}); !errors.Is(err, ErrGroupActive) {
			t.Errorf("behind %s: %v", op, err)
		}
		fake.hooks(nil, nil)
		fake.mu.Lock()
		if g := fake.groups[fakeGroupKey{at, "g"}]; g.joined {
			t.Errorf("behind %s: still a member", op)
		} else {
			g.others = 0
		}
		fake.mu.Unlock()
	}
}

func TestAGroupIsLeftWhenTheContextEnds(t *testing.T) {
	t.Parallel()
	fake := newFakeIggy()
	_, offsets := offsetsOf(t, fake.config())
	ctx, cancel := context.WithCancel(testContext(t))
	fake.hooks(func(call fakeCall) error {
		if call.op == "store consumer offset" {
			cancel()
			return ctx.Err()
		}
		return nil
	}, nil)
	if err := offsets.SetGroup(ctx, "g", "offsets", map[int32]int64{0: 2}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	fake.mu.Lock()
	defer fake.mu.Unlock()
	if fake.groups[fakeGroupKey{Location{Stream: "offsets", Topic: "offsets"}, "g"}].joined {
		t.Error("still a member")
	}
}
