package engine

import (
	"net"

	"kafka-iggy-bridge/internal/engine/access"
	"kafka-iggy-bridge/internal/engine/protocol"
)

const (
	transportTCP = 1
	noUser       = ^uint32(0)
)

func (c *conn) ping(*protocol.Reader) error {
	c.lastPing.Store(c.e.opts.Clock().UnixMicro())
	return nil
}

// getSnapshot would be an archive of the server's diagnostics, which this server does
// not have.
func (c *conn) getSnapshot(r *protocol.Reader) error {
	r.U8()
	r.Bytes(int(r.U8()))
	if _, err := c.begin(r); err != nil {
		return err
	}
	return protocol.ErrFeatureUnavailable
}

// getClusterMetadata describes this server as the only node, leading and healthy. It
// has no transport but TCP.
func (c *conn) getClusterMetadata(r *protocol.Reader) error {
	if _, err := c.begin(r); err != nil {
		return err
	}
	ip, port := "", uint16(0)
	if a, ok := c.conn.LocalAddr().(*net.TCPAddr); ok {
		ip, port = a.IP.String(), uint16(a.Port)
	}
	c.out = protocol.AppendText(c.out, "single-node")
	c.out = protocol.AppendU32(c.out, 1)
	c.out = protocol.AppendText(c.out, "iggy-node")
	c.out = protocol.AppendText(c.out, ip)
	c.out = append(c.out, byte(port), byte(port>>8))
	c.out = append(c.out, 0, 0, 0, 0, 0, 0) // QUIC, HTTP, WebSocket
	c.out = append(c.out, 0, 0)             // leader, healthy
	return nil
}

// appendClient appends a client's record and returns the groups it is a member of.
func (c *conn) appendClient(s *session) []*group {
	id := noUser
	if u := s.user.Load(); u != nil && !u.deleted.Load() {
		id = u.id
	}
	joined := s.memberships()
	c.out = protocol.AppendU32(c.out, s.id)
	c.out = protocol.AppendU32(c.out, id)
	c.out = append(c.out, transportTCP)
	c.out = protocol.AppendText(c.out, s.address)
	c.out = protocol.AppendU32(c.out, uint32(len(joined)))
	return joined
}

// appendClientDetails appends a client's record with its groups.
func (c *conn) appendClientDetails(s *session) {
	for _, g := range c.appendClient(s) {
		c.out = protocol.AppendU32(c.out, g.topic.stream.id)
		c.out = protocol.AppendU32(c.out, g.topic.id)
		c.out = protocol.AppendU32(c.out, g.id)
	}
}

func (c *conn) getMe(r *protocol.Reader) error {
	if err := r.Err(); err != nil {
		return err
	}
	u := c.user.Load()
	switch {
	case u == nil:
		return protocol.ErrUnauthenticated
	case u.deleted.Load():
		return protocol.ErrClientNotFound
	}
	c.appendClientDetails(c.session)
	return nil
}

func (c *conn) getClient(r *protocol.Reader) error {
	id := r.U32()
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	if id == 0 {
		return protocol.ErrInvalidClientID
	}
	if err := u.allow(access.ReadServer); err != nil {
		return err
	}
	if s := c.e.sessions.get(id); s != nil {
		c.appendClientDetails(s)
	}
	return nil
}

func (c *conn) getClients(r *protocol.Reader) error {
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	if err := u.allow(access.ReadServer); err != nil {
		return err
	}
	for _, s := range c.e.sessions.list() {
		c.appendClient(s)
	}
	return nil
}
