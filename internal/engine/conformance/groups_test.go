package conformance

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/apache/iggy/foreign/go/client/tcp"
	iggcon "github.com/apache/iggy/foreign/go/contracts"

	"kafka-iggy-bridge/internal/engine/protocol"
	"kafka-iggy-bridge/internal/engine/rawclient"
)

// group creates group "g" of a place and returns it as a consumer.
func (p *place) group(t *testing.T, cli iggcon.Client) iggcon.Consumer {
	t.Helper()
	if _, err := cli.CreateConsumerGroup(p.stream, p.topic, "g"); err != nil {
		t.Fatalf("create group: %v", err)
	}
	return iggcon.NewGroupConsumer(named(t, "g"))
}

func (p *place) join(t *testing.T, cli iggcon.Client) {
	t.Helper()
	if err := cli.JoinConsumerGroup(p.stream, p.topic, named(t, "g")); err != nil {
		t.Fatalf("join: %v", err)
	}
}

// members are the partitions of each member of group "g", by member.
func (p *place) members(t *testing.T, c *rawclient.Conn) [][]uint32 {
	t.Helper()
	status, b := c.Do(uint32(protocol.GetConsumerGroup), append(slices.Clone(p.rawTopic), rawclient.NameID("g")...))
	if status != 0 || len(b) < 13 {
		t.Fatalf("get group: status %d, %d bytes", status, len(b))
	}
	count := binary.LittleEndian.Uint32(b[8:])
	var all [][]uint32
	for b = b[13+int(b[12]):]; len(b) > 0; {
		n := binary.LittleEndian.Uint32(b[4:])
		var partitions []uint32
		for i := range n {
			partitions = append(partitions, binary.LittleEndian.Uint32(b[8+4*i:]))
		}
		all, b = append(all, partitions), b[8+4*n:]
	}
	if len(all) != int(count) {
		t.Fatalf("group says %d members and lists %d", count, len(all))
	}
	return all
}

func TestGroupSharesPartitions(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		first, second := s.sdkRoot(t), s.sdkRoot(t)
		p := s.newPlace(t, first, 2)
		watcher := s.rawRoot(t)
		group := p.group(t, first)
		p.join(t, first)
		p.join(t, first) // again is as good as once
		if got := p.members(t, watcher); len(got) != 1 || len(got[0]) != 2 {
			t.Fatalf("one member: %v", got)
		}
		p.join(t, second)
		if got := p.members(t, watcher); len(got) != 2 || len(got[0])+len(got[1]) != 2 {
			t.Fatalf("two members: %v", got)
		}
		p.send(t, first, 0, "zero")
		p.send(t, first, 1, "one")
		read := func(cli *tcp.IggyTcpClient) (all []string) {
			for range 2 { // its partitions in turn, one per poll
				if got := texts(p.pollAs(t, cli, group, nil, iggcon.NextPollingStrategy(), 10, true)); got != "" {
					all = append(all, got)
				}
			}
			return all
		}
		got := append(read(first), read(second)...)
		if slices.Sort(got); !slices.Equal(got, []string{"0:one", "0:zero"}) {
			t.Errorf("both members together got %q", got)
		}
		if err := second.Close(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the second member to be gone", func() bool { return len(p.members(t, watcher)) == 1 })
		if got := p.members(t, watcher); len(got[0]) != 2 {
			t.Errorf("the one that is left has %v", got)
		}
		p.send(t, first, 1, "more")
		if got := read(first); !slices.Equal(got, []string{"1:more"}) {
			t.Errorf("the one that is left got %q: what was committed must not come again", got)
		}
		if err := first.DeleteConsumerGroup(p.stream, p.topic, named(t, "g")); err != nil {
			t.Fatal(err)
		}
		if _, err := first.GetConsumerGroup(p.stream, p.topic, named(t, "g")); err == nil {
			t.Error("the group is there after its deletion")
		}
	})
}

func TestGroupsWantMembers(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		cli := s.sdkRoot(t)
		p := s.newPlace(t, cli, 2)
		p.send(t, cli, 0, "a", "b")
		p.group(t, cli)
		member, stranger := s.rawRoot(t), s.rawRoot(t)
		groupID := rawclient.NameID("g")
		membership := append(slices.Clone(p.rawTopic), groupID...)
		if status, _ := member.Do(uint32(protocol.JoinConsumerGroup), membership); status != 0 {
			t.Fatalf("join: status %d", status)
		}
		consumer := append(append([]byte{2}, groupID...), p.rawTopic...)
		partition := append(slices.Clone(consumer), 1, 0, 0, 0, 0)
		poll := append(binary.LittleEndian.AppendUint64(append(slices.Clone(partition), 5), 0), 10, 0, 0, 0, 0)
		store := binary.LittleEndian.AppendUint64(slices.Clone(partition), 1)
		unknown := append(slices.Clone(p.rawTopic), rawclient.NameID("no")...)
		for _, step := range []struct {
			name    string
			c       *rawclient.Conn
			code    protocol.Code
			payload []byte
			want    protocol.Status
			size    int
		}{
			{"a stranger polls", stranger, protocol.PollMessages, poll, protocol.ErrNotMember, 0},
			{"a stranger stores", stranger, protocol.StoreConsumerOffset, store, protocol.ErrNotMember, 0},
			{"a stranger leaves", stranger, protocol.LeaveConsumerGroup, membership, protocol.ErrNotMember, 0},
			{"a stranger joins what is not there", stranger, protocol.JoinConsumerGroup, unknown, protocol.ErrGroupNotFound, 0},
			{"the group is created again", stranger, protocol.CreateConsumerGroup, append(slices.Clone(p.rawTopic), rawclient.Name("g")...), protocol.ErrGroupExists, 0},
			{"a group that is not there is deleted", stranger, protocol.DeleteConsumerGroup, unknown, protocol.ErrGroupNotFound, 0},
			{"a group that is not there is asked for", stranger, protocol.GetConsumerGroup, unknown, protocol.OK, 0},
			{"a member polls", member, protocol.PollMessages, poll, protocol.OK, 16 + 2*65},
			{"a member stores", member, protocol.StoreConsumerOffset, store, protocol.OK, 0},
			{"a stranger gets what is stored", stranger, protocol.GetConsumerOffset, partition, protocol.OK, 20},
			{"a member leaves", member, protocol.LeaveConsumerGroup, membership, protocol.OK, 0},
			{"a member that left polls", member, protocol.PollMessages, poll, protocol.ErrNotMember, 0},
			{"what is stored stays", stranger, protocol.GetConsumerOffset, partition, protocol.OK, 20},
		} {
			if status, body := step.c.Do(uint32(step.code), step.payload); status != uint32(step.want) || len(body) != step.size {
				t.Errorf("%s: status %d with %d bytes, want %d with %d", step.name, status, len(body), step.want, step.size)
			}
		}
	})
}

func TestGroupFollowsTheNumberOfPartitions(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		cli := s.sdkRoot(t)
		p := s.newPlace(t, cli, 1)
		watcher := s.rawRoot(t)
		p.group(t, cli)
		p.join(t, cli)
		owned := func() []uint32 { return slices.Sorted(slices.Values(p.members(t, watcher)[0])) }
		if err := cli.CreatePartitions(p.stream, p.topic, 2); err != nil {
			t.Fatal(err)
		}
		if got := owned(); !slices.Equal(got, []uint32{0, 1, 2}) {
			t.Errorf("after two more partitions: %v", got)
		}
		if err := cli.DeletePartitions(p.stream, p.topic, 1); err != nil {
			t.Fatal(err)
		}
		if got := owned(); !slices.Equal(got, []uint32{0, 1}) {
			t.Errorf("after one less: %v", got)
		}
	})
}

func TestGetMeKnowsUserAndGroups(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		cli := s.sdkRoot(t)
		p := s.newPlace(t, cli, 1)
		p.group(t, cli)
		c := s.rawRoot(t)
		if status, _ := c.Do(uint32(protocol.JoinConsumerGroup), append(slices.Clone(p.rawTopic), rawclient.NameID("g")...)); status != 0 {
			t.Fatal(status)
		}
		if !s.differs(t, migration) { // a send moves the connection there, and what is known of it is lost
			if status, _ := c.Do(101, rawclient.Send(p.rawTopic, rawclient.ToPartition(0), "x")); status != 0 {
				t.Fatal(status)
			}
		}
		status, me := c.Do(uint32(protocol.GetMe), nil)
		address := c.Net.LocalAddr().String()
		if status != 0 || len(me) != 17+len(address)+12 || string(me[13:13+len(address)]) != address {
			t.Fatalf("me: %d, %x", status, me)
		}
		if id := binary.LittleEndian.Uint32(me); id != protocol.XXH32([]byte(address)) {
			t.Errorf("client id %d is not the address's hash", id)
		}
		if user, transport := binary.LittleEndian.Uint32(me[4:]), me[8]; user != 0 || transport != 1 {
			t.Errorf("user %d, transport %d", user, transport)
		}
		if stream := binary.LittleEndian.Uint32(me[17+len(address):]); stream != p.streamNumber {
			t.Errorf("a group of stream %d, want %d", stream, p.streamNumber)
		}
		if status, same := c.Do(uint32(protocol.GetClient), me[:4]); status != 0 || !slices.Equal(same, me) {
			t.Errorf("client: %d, %x", status, same)
		}
		other := binary.LittleEndian.AppendUint32(nil, binary.LittleEndian.Uint32(me)+1)
		if status, none := c.Do(uint32(protocol.GetClient), other); status != 0 || len(none) != 0 {
			t.Errorf("unknown client: %d, %x", status, none)
		}
		if status, _ := c.Do(uint32(protocol.GetClient), make([]byte, 4)); status != uint32(protocol.ErrInvalidClientID) {
			t.Errorf("client zero: %d", status)
		}
	})
}
