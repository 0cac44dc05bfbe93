package engine

import (
	"kafka-iggy-bridge/internal/engine/access"
	"kafka-iggy-bridge/internal/engine/protocol"
)

// command carries out a request whose payload r reads, appending the body of its
// answer to c.out. Every command first takes its payload apart, then calls begin:
// that gives the order of checks that clients of Iggy see: format, authentication,
// existence, permission.
type command func(c *conn, r *protocol.Reader) error

var commands map[protocol.Code]command

func init() {
	commands = map[protocol.Code]command{
		protocol.Ping:                 (*conn).ping,
		protocol.GetStats:             (*conn).getStats,
		protocol.GetSnapshot:          (*conn).getSnapshot,
		protocol.GetClusterMetadata:   (*conn).getClusterMetadata,
		protocol.GetMe:                (*conn).getMe,
		protocol.GetClient:            (*conn).getClient,
		protocol.GetClients:           (*conn).getClients,
		protocol.GetUser:              (*conn).getUser,
		protocol.GetUsers:             (*conn).getUsers,
		protocol.CreateUser:           (*conn).createUser,
		protocol.DeleteUser:           (*conn).deleteUser,
		protocol.UpdateUser:           (*conn).updateUser,
		protocol.UpdatePermissions:    (*conn).updatePermissions,
		protocol.ChangePassword:       (*conn).changePassword,
		protocol.LoginUser:            (*conn).loginUser,
		protocol.LogoutUser:           (*conn).logoutUser,
		protocol.GetTokens:            (*conn).getTokens,
		protocol.CreateToken:          (*conn).createToken,
		protocol.DeleteToken:          (*conn).deleteToken,
		protocol.LoginWithToken:       (*conn).loginWithToken,
		protocol.FlushUnsavedBuffer:   (*conn).flushUnsavedBuffer,
		protocol.GetConsumerOffset:    (*conn).getConsumerOffset,
		protocol.StoreConsumerOffset:  (*conn).storeConsumerOffset,
		protocol.DeleteConsumerOffset: (*conn).deleteConsumerOffset,
		protocol.GetStream:            (*conn).getStream,
		protocol.GetStreams:           (*conn).getStreams,
		protocol.CreateStream:         (*conn).createStream,
		protocol.DeleteStream:         (*conn).deleteStream,
		protocol.UpdateStream:         (*conn).updateStream,
		protocol.PurgeStream:          (*conn).purgeStream,
		protocol.GetTopic:             (*conn).getTopic,
		protocol.GetTopics:            (*conn).getTopics,
		protocol.CreateTopic:          (*conn).createTopic,
		protocol.DeleteTopic:          (*conn).deleteTopic,
		protocol.UpdateTopic:          (*conn).updateTopic,
		protocol.PurgeTopic:           (*conn).purgeTopic,
		protocol.CreatePartitions:     (*conn).createPartitions,
		protocol.DeletePartitions:     (*conn).deletePartitions,
		protocol.DeleteSegments:       (*conn).deleteSegments,
		protocol.GetConsumerGroup:     (*conn).getConsumerGroup,
		protocol.GetConsumerGroups:    (*conn).getConsumerGroups,
		protocol.CreateConsumerGroup:  (*conn).createConsumerGroup,
		protocol.DeleteConsumerGroup:  (*conn).deleteConsumerGroup,
		protocol.JoinConsumerGroup:    (*conn).joinConsumerGroup,
		protocol.LeaveConsumerGroup:   (*conn).leaveConsumerGroup,
	}
}

// begin ends the reading of a request: it returns the logged-in user, or what was
// wrong with the payload, or that nobody is logged in.
func (c *conn) begin(r *protocol.Reader) (*user, error) {
	if err := r.Err(); err != nil {
		return nil, err
	}
	if u := c.loggedIn(); u != nil {
		return u, nil
	}
	return nil, protocol.ErrUnauthenticated
}

// loggedIn returns the connection's user, nil when there is none or it was deleted.
func (c *conn) loggedIn() *user {
	if u := c.user.Load(); u != nil && !u.deleted.Load() {
		return u
	}
	return nil
}

// allow is the status of an operation that no stream is concerned by.
func (u *user) allow(op access.Operation) error {
	if u.perms.Load().Allows(op) {
		return nil
	}
	return protocol.ErrUnauthorized
}

func (u *user) allowStream(op access.Operation, s *stream) error {
	if u.perms.Load().AllowsStream(op, s.id) {
		return nil
	}
	return protocol.ErrUnauthorized
}

func (u *user) allowTopic(op access.Operation, t *topic) error {
	if u.perms.Load().AllowsTopic(op, t.stream.id, t.id) {
		return nil
	}
	return protocol.ErrUnauthorized
}

// topicFor finds a topic for an operation. Engine.mu must be held.
func (c *conn) topicFor(u *user, op access.Operation, streamID, topicID protocol.ID) (*topic, error) {
	t, err := c.e.catalog.topic(streamID, topicID)
	if err != nil {
		return nil, err
	}
	return t, u.allowTopic(op, t)
}

// streamFor finds a stream for an operation. Engine.mu must be held.
func (c *conn) streamFor(u *user, op access.Operation, id protocol.ID) (*stream, error) {
	s := c.e.catalog.stream(id)
	if s == nil {
		return nil, protocol.ErrStreamNotFound
	}
	return s, u.allowStream(op, s)
}
