package groups

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/statemachine"
	"kafka-iggy-bridge/internal/wire"
)

const simPartitions = 40

// simClient behaves as clients do: it joins, syncs, assigns as leader, sends
// heartbeats, and obeys the error codes.
type simClient struct {
	sim     *sim
	c       *client
	version int16 // of JoinGroup; the others follow
	session time.Duration
	phase   simPhase
	// do is what comes next, at a time: requests take theirs.
	do func()
	at time.Time
}

type simPhase int

const (
	simJoining simPhase = iota
	simSyncing
	simStable
	// simGone: left, killed or fenced. Its answers reach nobody.
	simGone
)

func init() {
	onAnswer = append(onAnswer, func(c *client, answer generated.Message) {
		if m, ok := c.state.(*simClient); ok && m.phase != simGone {
			m.answered(answer)
		}
	})
}

func (m *simClient) static() bool { return m.c.instance != "" }

// identity is who owns partitions: a static member keeps them across restarts.
func (m *simClient) identity() string {
	if m.static() {
		return m.c.instance
	}
	return m.c.memberID
}

// later plans the next step.
func (m *simClient) later(most time.Duration, do func()) {
	m.do, m.at = do, m.sim.w.now.Add(time.Duration(m.sim.rnd.Int64N(int64(most))))
}

func (m *simClient) rejoin() {
	m.phase = simJoining
	m.later(300*time.Millisecond, m.join)
}

func (m *simClient) join() {
	m.phase = simJoining
	r := generated.DefaultJoinGroupRequest()
	r.GroupId, r.MemberId, r.ProtocolType = m.c.group, m.c.memberID, consumerProtocolType
	r.SessionTimeoutMs = int32(m.session.Milliseconds())
	if m.version >= 1 {
		r.RebalanceTimeoutMs = 20_000
	}
	r.GroupInstanceId = wire.NullString{S: m.c.instance, Valid: m.static()}
	protocols := []string{"range", "roundrobin", "sticky"}
	if m.sim.rnd.IntN(10) == 0 {
		protocols[1], protocols[2] = protocols[2], protocols[1]
	}
	for _, p := range protocols[:1+m.sim.rnd.IntN(3)] {
		r.Protocols = append(r.Protocols, generated.JoinGroupRequestProtocol{Name: p, Metadata: m.sim.metadata})
	}
	m.sim.w.send(m.c, 11, m.version, &r)
}

// small is a version of the other APIs: those with instance ids go with a
// JoinGroup that has them.
func (m *simClient) small(most int16) int16 {
	if m.version < 5 {
		return int16(m.sim.rnd.IntN(3))
	}
	return 3 + int16(m.sim.rnd.IntN(int(most)-2))
}

func (m *simClient) sync() {
	m.phase = simSyncing
	r := generated.DefaultSyncGroupRequest()
	r.GroupId, r.MemberId, r.GenerationId = m.c.group, m.c.memberID, m.c.generation
	r.GroupInstanceId = wire.NullString{S: m.c.instance, Valid: m.static()}
	version := m.small(5)
	if version >= syncProtocolVersion {
		r.ProtocolType, r.ProtocolName = wire.String(m.c.protocolType), wire.String(m.c.protocol)
	}
	if m.c.leader == m.c.memberID {
		r.Assignments = m.assign()
	}
	m.sim.w.send(m.c, 14, version, &r)
}

// assign shares out the partitions, each to one member, and writes the
// generation down.
func (m *simClient) assign() []generated.SyncGroupRequestAssignment {
	to := make([]strings.Builder, len(m.c.members))
	for p := range simPartitions {
		fmt.Fprintf(&to[(p+int(m.c.generation))%len(to)], " %d", p)
	}
	var assignments []generated.SyncGroupRequestAssignment
	for i, id := range m.c.members {
		assignments = append(assignments, generated.SyncGroupRequestAssignment{
			MemberId: id, Assignment: fmt.Appendf(nil, "%d%s", m.c.generation, to[i].String()),
		})
	}
	return assignments
}

func (m *simClient) heartbeat() {
	r := generated.DefaultHeartbeatRequest()
	r.GroupId, r.MemberId, r.GenerationId = m.c.group, m.c.memberID, m.c.generation
	r.GroupInstanceId = wire.NullString{S: m.c.instance, Valid: m.static()}
	m.sim.w.send(m.c, 12, m.small(4), &r)
}

// leave ends the client, with a LeaveGroup unless it is static.
func (m *simClient) leave() {
	if !m.static() && m.c.memberID != "" {
		r := generated.DefaultLeaveGroupRequest()
		r.GroupId, r.MemberId = m.c.group, m.c.memberID
		version := m.small(5)
		if version >= leaveManyVersion {
			r.MemberId = ""
			r.Members = []generated.LeaveGroupRequestMemberIdentity{{MemberId: m.c.memberID}}
		}
		m.sim.w.send(m.c, 13, version, &r)
	}
	m.phase, m.do = simGone, nil
}

func (m *simClient) answered(answer generated.Message) {
	switch a := answer.(type) {
	case *generated.JoinGroupResponse:
		if a.ErrorCode == errorcode.None {
			if a.SkipAssignment {
				m.c.leader = ""
			}
			m.phase = simSyncing
			m.later(300*time.Millisecond, m.sync)
			return
		}
		m.failed(a.ErrorCode)
	case *generated.SyncGroupResponse:
		if a.ErrorCode == errorcode.None {
			m.phase = simStable
			m.sim.owns(m, a.Assignment)
			m.later(3*time.Second, m.heartbeat)
			return
		}
		m.failed(a.ErrorCode)
	case *generated.HeartbeatResponse:
		if a.ErrorCode == errorcode.None {
			m.later(3*time.Second, m.heartbeat)
			return
		}
		m.failed(a.ErrorCode)
	}
}

// failed obeys an error code.
func (m *simClient) failed(code int16) {
	switch code {
	case errorcode.MemberIDRequired, errorcode.RebalanceInProgress, errorcode.IllegalGeneration:
		m.rejoin()
	case errorcode.UnknownMemberID:
		m.c.memberID = ""
		m.rejoin()
	case errorcode.FencedInstanceID:
		m.phase, m.do = simGone, nil
	case errorcode.InconsistentGroupProtocol:
		// Members that only know sticky may be there; range comes back.
		m.rejoin()
	default:
		m.sim.w.t.Fatalf("%s in phase %d: %s", m.c.name, m.phase, errorcode.Name(code))
	}
}

// sim is a world full of clients.
type sim struct {
	w        *world
	rnd      *rand.Rand
	clients  []*simClient
	made     int
	metadata []byte
	// otherTimers are those of a shard without groups.
	otherTimers int
	// owners tells by group, generation and partition who was told that it owns
	// it.
	owners map[string]string
}

// start makes a client, which joins. A static one takes over its instance id
// from the one that had it.
func (s *sim) start(instance, group string) {
	s.made++
	c := &client{name: fmt.Sprintf("c%d", s.made), group: group, instance: instance, generation: -1}
	m := &simClient{sim: s, c: c, version: int16(s.rnd.IntN(10)), session: time.Duration(6+s.rnd.IntN(6)) * time.Second}
	if instance != "" {
		m.version = 5 + int16(s.rnd.IntN(5))
	}
	c.state = m
	s.clients = append(s.clients, m)
	m.later(time.Second, m.join)
}

// owns checks that nobody else was given the same partitions in the generation.
func (s *sim) owns(m *simClient, assignment []byte) {
	s.w.t.Helper()
	generation, partitions, _ := strings.Cut(string(assignment), " ")
	if generation != "" && generation != fmt.Sprint(m.c.generation) {
		s.w.t.Fatalf("%s was assigned %q in generation %d", m.c.name, assignment, m.c.generation)
	}
	for p := range strings.FieldsSeq(partitions) {
		key := fmt.Sprintf("%s generation %s partition %s", m.c.group, generation, p)
		if owner, ok := s.owners[key]; ok && owner != m.identity() {
			s.w.t.Fatalf("%s belongs to %s and to %s", key, owner, m.identity())
		}
		s.owners[key] = m.identity()
	}
}

// run lets time pass in small steps, in which clients do what they planned.
func (s *sim) run(d time.Duration, each func()) {
	for end := s.w.now.Add(d); s.w.now.Before(end); {
		s.w.advance(time.Duration(50+s.rnd.IntN(200)) * time.Millisecond)
		for _, m := range s.clients {
			if do := m.do; do != nil && !m.at.After(s.w.now) {
				m.do = nil
				do()
			}
		}
		if each != nil {
			each()
		}
	}
}

// restart loads the coordinator anew: clients whose requests waited hear that it
// is gone, and try again.
func (s *sim) restart() {
	waiting := s.w.open
	s.w.open = make(map[statemachine.Token]*request)
	s.w.load()
	for _, r := range waiting {
		if m, ok := r.client.state.(*simClient); ok && m.phase != simGone {
			m.rejoin()
		}
	}
}
