package engine

import (
	"context"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"kafka-iggy-bridge/internal/engine/groups"
	"kafka-iggy-bridge/internal/engine/protocol"
)

// session is what the engine knows of a connected client beside its socket.
type session struct {
	client   groups.Client // unique as long as the engine runs
	id       uint32        // as clients see it
	address  string
	conn     net.Conn
	user     atomic.Pointer[user] // nil when not logged in
	lastPing atomic.Int64         // µs
	stale    atomic.Bool          // lost its memberships to the heartbeat check

	mu     sync.Mutex
	joined []*group
}

// memberships returns the groups the client is a member of.
func (s *session) memberships() []*group {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.joined = slices.DeleteFunc(s.joined, func(g *group) bool { return g.deleted.Load() })
	return slices.Clone(s.joined)
}

func (s *session) joinedGroup(g *group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.joined = append(s.joined, g)
}

func (s *session) leftGroup(g *group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.joined = slices.DeleteFunc(s.joined, func(o *group) bool { return o == g })
}

// leaveAll ends all memberships.
func (s *session) leaveAll() {
	s.mu.Lock()
	joined := s.joined
	s.joined = nil
	s.mu.Unlock()
	for _, g := range joined {
		g.mu.Lock()
		g.state.Leave(s.client)
		g.mu.Unlock()
	}
}

// sessions are the connected clients.
type sessions struct {
	mu      sync.Mutex
	next    groups.Client
	byID    map[uint32]*session
	closing bool
	done    sync.WaitGroup
}

// add registers a connection; it reports false when the engine is stopping.
func (s *sessions) add(conn net.Conn, now time.Time) (*session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return nil, false
	}
	if s.byID == nil {
		s.byID = make(map[uint32]*session)
	}
	address := conn.RemoteAddr().String()
	// The number is the hash of the address, as in Iggy. Two may collide: then the
	// next free one is taken, since zero and another client's are not to be had.
	id := protocol.XXH32([]byte(address))
	for id == 0 || s.byID[id] != nil {
		id++
	}
	s.next++
	c := &session{client: s.next, id: id, address: address, conn: conn}
	c.lastPing.Store(now.UnixMicro())
	s.byID[id] = c
	s.done.Add(1)
	return c, true
}

func (s *sessions) remove(c *session) {
	s.mu.Lock()
	delete(s.byID, c.id)
	s.mu.Unlock()
	s.done.Done()
}

// get finds a client by its number.
func (s *sessions) get(id uint32) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID[id]
}

// list returns all clients in the order they connected.
func (s *sessions) list() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*session, 0, len(s.byID))
	for _, c := range s.byID {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *session) int { return int(a.client) - int(b.client) })
	return all
}

func (s *sessions) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byID)
}

// shutdown wakes all connections so that they end after the request they are at, and
// waits for them. When ctx ends first they are cut.
func (s *sessions) shutdown(ctx context.Context) {
	s.mu.Lock()
	s.closing = true
	for _, c := range s.byID {
		// An error means that the connection is gone already.
		_ = c.conn.SetReadDeadline(time.Unix(1, 0))
	}
	s.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		s.done.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	for _, c := range s.list() {
		_ = c.conn.Close()
	}
	<-ended
}

func (s *sessions) stopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}
