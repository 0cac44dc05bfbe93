package conformance

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"kafka-iggy-bridge/internal/engine/protocol"
	"kafka-iggy-bridge/internal/engine/rawclient"
)

// badRequest is one that is refused, after which the connection goes on.
type badRequest struct {
	name    string
	request []byte
	want    protocol.Status
	differs string // the server at hand may break on it for this reason
}

// badRequests are malformed in all ways that the protocol's encodings allow.
func badRequests(p *place) []badRequest {
	frame := rawclient.Frame
	return []badRequest{
		{"length below the code's", []byte{3, 0, 0, 0, 1, 0, 0, 0}, protocol.ErrInvalidCommand, ""},
		{"length zero", make([]byte, 8), protocol.ErrInvalidCommand, ""},
		{"unknown code with a payload", frame(9999, make([]byte, 5000)), protocol.ErrInvalidCommand, ""},
		{"payload above ten megabytes is drained", frame(200, make([]byte, protocol.MaxCommandBytes+1)), protocol.ErrInvalidCommand, undrainedCommand},
		{"identifier cut short", frame(200, []byte{2, 9, 'a'}), protocol.ErrInvalidCommand, ""},
		{"identifier of unknown kind", frame(200, []byte{7, 1, 'a'}), protocol.ErrInvalidCommand, ""},
		{"numeric identifier of three bytes", frame(200, []byte{1, 3, 0, 0, 0}), protocol.ErrInvalidFormat, ""},
		{"name that is not UTF-8", frame(202, []byte{2, 0xff, 0xfe}), protocol.ErrInvalidCommand, ""},
		{"empty name", frame(202, []byte{0}), protocol.ErrInvalidFormat, ""},
		{"empty payload where one is needed", frame(202, nil), protocol.ErrInvalidCommand, ""},
		{"poll with an unknown strategy", frame(100, pollWithStrategy(p, 9)), protocol.ErrInvalidCommand, ""},
		{"compression that does not exist", frame(302, topicRequest(p.rawS, "x", 1, 3, 0, 0)), protocol.ErrInvalidCommand, ""},
		{"permissions shorter than they have to be", frame(36, []byte{1, 4, 9, 0, 0, 0, 1, 3, 0, 0, 0, 1, 1, 1}), protocol.ErrInvalidCommand, ""},
		{"trailing bytes do not matter", frame(1, []byte("trailing")), protocol.OK, ""},
	}
}

func pollWithStrategy(p *place, kind byte) []byte {
	b := rawclient.Poll(p.rawTopic, 0, 0, 1)
	b[len(b)-rawclient.PollStrategyAt] = kind
	return b
}

// badSends are sends that are refused: first those whose payload is read to its end
// before they are, then those after which 0.8.0 reads it as requests.
func badSends(p *place) []badRequest {
	good := rawclient.Send(p.rawTopic, rawclient.ToPartition(0), "abc")
	meta := 4
	partitioning := meta + len(p.rawTopic)
	index := partitioning + 6 + 4
	body := index + 16
	edited := func(at int, v byte) []byte {
		b := bytes.Clone(good)
		b[at] = v
		return rawclient.Frame(101, b)
	}
	return []badRequest{
		{"without messages", rawclient.Frame(101, rawclient.Send(p.rawTopic, rawclient.ToPartition(0))), protocol.ErrNoMessages, undrainedSend},
		{"of nothing", rawclient.Frame(101, nil), protocol.ErrInvalidCommand, undrainedSend},
		{"with metadata longer than the payload", edited(1, 0xff), protocol.ErrInvalidCommand, undrainedSend},
		{"with an unknown identifier kind", edited(meta, 9), protocol.ErrInvalidIdentifier, undrainedSend},
		{"with an unknown partitioning", edited(partitioning, 9), protocol.ErrInvalidCommand, undrainedSend},
		{"with a count beyond the payload", edited(partitioning+6+2, 0xff), protocol.ErrInvalidCommand, undrainedSend},
		{"with an offset in its index", edited(index, 1), protocol.ErrIndexOffset, undrainedSend},
		{"with a time in its index", edited(index+8, 1), protocol.ErrIndexTimestamp, undrainedSend},
		{"with a payload length beyond the end", edited(body+52, 99), protocol.ErrMissingIndex, undrainedSend},
		{"with a payload length before the end", edited(body+52, 1), protocol.ErrMessagesSize, undrainedSend},
		{"with headers that the payload does not hold", edited(body+50, 9), protocol.ErrMissingIndex, undrainedSend},
		{"with a payload that is not all there", edited(body+55, 9), protocol.ErrMissingIndex, undrainedSend},
		{"cut inside a message's head", rawclient.Frame(101, good[:body+10]), protocol.ErrMissingIndex, undrainedSend},
		{"to a partition that is not there", rawclient.Frame(101, rawclient.Send(p.rawTopic, rawclient.ToPartition(9), "x")), protocol.ErrPartitionNotFound, ""},
		{"to a topic that is not there", rawclient.Frame(101, rawclient.Send(append(bytes.Clone(p.rawS), rawclient.NameID("no")...), rawclient.ToPartition(0), "x")), protocol.ErrTopicNotFound, ""},
		{"to a stream that is not there", rawclient.Frame(101, rawclient.Send(append(rawclient.NameID("no"), p.rawT...), rawclient.ToPartition(0), "x")), protocol.ErrStreamNotFound, ""},
	}
}

// TestBadRequestsKeepTheConnectionInStep sends a malformed request, then a ping, which
// must be answered next.
func TestBadRequestsKeepTheConnectionInStep(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		p := s.newPlace(t, s.sdkRoot(t), 1)
		refuse(t, s, badRequests(p))
	})
}

func TestSendsThatAreRefusedAreDrained(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		p := s.newPlace(t, s.sdkRoot(t), 1)
		refuse(t, s, badSends(p))
		if status, _ := s.rawRoot(t).Do(101, rawclient.Send(p.rawTopic, rawclient.ToPartition(0), "abc")); status != 0 {
			t.Errorf("the good send got %d", status)
		}
	})
}

// refuse sends each request over one connection, or one of its own where the server at
// hand may leave it out of step.
func refuse(t *testing.T, s *server, requests []badRequest) {
	t.Helper()
	c := s.rawRoot(t)
	for _, r := range requests {
		if r.differs != "" && s.differs(t, r.differs) {
			refuseAlone(t, s, r)
			continue
		}
		wait := c.Push(r.request)
		if status, _ := c.Read(); status != uint32(r.want) {
			t.Errorf("%s: status %d, want %d", r.name, status, r.want)
		}
		wait()
		if status, body := c.Do(1, nil); status != 0 || len(body) != 0 {
			t.Fatalf("%s: out of step, ping got %d with %d bytes", r.name, status, len(body))
		}
	}
}

// silence is how long a server gets that may wait for more instead of answering.
const silence = 2 * time.Second

// refuseAlone sends a request that leaves the server at hand out of step: it answers
// before it has read everything, or waits for what will never come.
func refuseAlone(t *testing.T, s *server, r badRequest) {
	t.Helper()
	c := s.rawRoot(t)
	wait := c.Push(r.request)
	if status, answered := c.ReadWithin(silence); answered && status != uint32(r.want) {
		t.Errorf("%s: status %d, want %d", r.name, status, r.want)
	}
	c.Close()
	wait()
}

func TestNothingButLoginsBeforeALogin(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		p := s.newPlace(t, s.sdkRoot(t), 1)
		c := s.raw(t)
		for _, code := range allCommands {
			// An empty payload parses as some of them: format errors come before
			// the login check.
			status, _ := c.Do(uint32(code), nil)
			if status != uint32(protocol.ErrUnauthenticated) && status != uint32(protocol.ErrInvalidCommand) {
				t.Errorf("command %d before login: status %d", code, status)
			}
		}
		if status, _ := c.Do(100, rawclient.Poll(p.rawTopic, 0, 0, 1)); status != uint32(protocol.ErrUnauthenticated) {
			t.Errorf("poll before login: status %d", status)
		}
		if status, _ := c.Do(100, pollWithStrategy(p, 9)); status != uint32(protocol.ErrInvalidCommand) {
			t.Errorf("malformed poll before login: status %d", status)
		}
		for _, size := range []int{0, 3, 5000, 1 << 20} {
			on := s.raw(t)
			on.Write(append(rawclient.Frame(101, make([]byte, size)), rawclient.Frame(1, nil)...))
			if status, _ := on.Read(); status != uint32(protocol.ErrUnauthenticated) {
				t.Errorf("send of %d bytes before login: status %d", size, status)
			}
			if size > 0 && s.differs(t, undrainedSend) {
				continue
			}
			if status, _ := on.Read(); status != 0 {
				t.Errorf("send of %d bytes before login: the ping behind it got %d", size, status)
			}
		}
	})
}

// allCommands are those that need a login, sends left out.
var allCommands = []protocol.Code{
	protocol.GetStats, protocol.GetSnapshot, protocol.GetClusterMetadata, protocol.GetMe, protocol.GetClient, protocol.GetClients,
	protocol.GetUser, protocol.GetUsers, protocol.CreateUser, protocol.DeleteUser, protocol.UpdateUser, protocol.UpdatePermissions,
	protocol.ChangePassword, protocol.LogoutUser, protocol.GetTokens, protocol.CreateToken, protocol.DeleteToken,
	protocol.PollMessages, protocol.FlushUnsavedBuffer, protocol.GetConsumerOffset, protocol.StoreConsumerOffset, protocol.DeleteConsumerOffset,
	protocol.GetStream, protocol.GetStreams, protocol.CreateStream, protocol.DeleteStream, protocol.UpdateStream, protocol.PurgeStream,
	protocol.GetTopic, protocol.GetTopics, protocol.CreateTopic, protocol.DeleteTopic, protocol.UpdateTopic, protocol.PurgeTopic,
	protocol.CreatePartitions, protocol.DeletePartitions, protocol.DeleteSegments,
	protocol.GetConsumerGroup, protocol.GetConsumerGroups, protocol.CreateConsumerGroup, protocol.DeleteConsumerGroup,
	protocol.JoinConsumerGroup, protocol.LeaveConsumerGroup,
}

func TestPipelinedRequestsAreAnsweredInOrder(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		p := s.newPlace(t, s.sdkRoot(t), 1)
		c := s.rawRoot(t)
		var all []byte
		const n = 300
		for i := range n {
			all = append(all, rawclient.Frame(101, rawclient.Send(p.rawTopic, rawclient.ToPartition(0), string(make([]byte, 1+i*20))))...)
			all = append(all, rawclient.Frame(100, rawclient.Poll(p.rawTopic, 0, uint64(i), 1))...)
			all = append(all, rawclient.Frame(200, rawclient.NameID("there is none"))...)
		}
		go c.Write(all)
		for i := range n {
			if status, body := c.Read(); status != 0 || len(body) != 0 {
				t.Fatalf("send %d: status %d, %d bytes", i, status, len(body))
			}
			status, body := c.Read()
			if status != 0 || len(body) != 16+64+1+i*20 || binary.LittleEndian.Uint64(body[16+24:]) != uint64(i) {
				t.Fatalf("poll %d: status %d, %d bytes", i, status, len(body))
			}
			if status, body := c.Read(); status != 0 || len(body) != 0 {
				t.Fatalf("get %d: status %d, %d bytes", i, status, len(body))
			}
		}
	})
}

func TestFrameArrivingByteByByte(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		c := s.rawRoot(t)
		request := rawclient.Frame(200, rawclient.NameID(string(bytes.Repeat([]byte{'n'}, 200))))
		for i := range request {
			c.Write(request[i : i+1])
		}
		if status, body := c.Read(); status != 0 || len(body) != 0 {
			t.Errorf("status %d, %d bytes", status, len(body))
		}
	})
}

func TestSnapshotIsNotOffered(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		if s.differs(t, snapshot) {
			return // it would gather the machine's figures for a while
		}
		if status, _ := s.rawRoot(t).Do(11, []byte{1, 1, 1}); status != uint32(protocol.ErrFeatureUnavailable) {
			t.Errorf("status %d", status)
		}
	})
}
