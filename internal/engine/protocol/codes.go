// Package protocol is the wire form of Apache Iggy 0.8's TCP protocol: command
// codes, status codes, identifiers, and the encodings that requests and responses
// share. It knows nothing of what the commands do.
package protocol

import "strconv"

// Code is a command's number.
type Code uint32

// The commands of server 0.8.0.
const (
	Ping                 Code = 1
	GetStats             Code = 10
	GetSnapshot          Code = 11
	GetClusterMetadata   Code = 12
	GetMe                Code = 20
	GetClient            Code = 21
	GetClients           Code = 22
	GetUser              Code = 31
	GetUsers             Code = 32
	CreateUser           Code = 33
	DeleteUser           Code = 34
	UpdateUser           Code = 35
	UpdatePermissions    Code = 36
	ChangePassword       Code = 37
	LoginUser            Code = 38
	LogoutUser           Code = 39
	GetTokens            Code = 41
	CreateToken          Code = 42
	DeleteToken          Code = 43
	LoginWithToken       Code = 44
	PollMessages         Code = 100
	SendMessages         Code = 101
	FlushUnsavedBuffer   Code = 102
	GetConsumerOffset    Code = 120
	StoreConsumerOffset  Code = 121
	DeleteConsumerOffset Code = 122
	GetStream            Code = 200
	GetStreams           Code = 201
	CreateStream         Code = 202
	DeleteStream         Code = 203
	UpdateStream         Code = 204
	PurgeStream          Code = 205
	GetTopic             Code = 300
	GetTopics            Code = 301
	CreateTopic          Code = 302
	DeleteTopic          Code = 303
	UpdateTopic          Code = 304
	PurgeTopic           Code = 305
	CreatePartitions     Code = 402
	DeletePartitions     Code = 403
	DeleteSegments       Code = 503
	GetConsumerGroup     Code = 600
	GetConsumerGroups    Code = 601
	CreateConsumerGroup  Code = 602
	DeleteConsumerGroup  Code = 603
	JoinConsumerGroup    Code = 604
	LeaveConsumerGroup   Code = 605
)

// Status is the outcome of a request as it stands in the response's first four bytes.
// It is an error, except OK, so that what a command does can return it.
type Status uint32

// The status codes this server answers with.
const (
	OK                     Status = 0
	ErrGeneric             Status = 1
	ErrInvalidCommand      Status = 3
	ErrInvalidFormat       Status = 4
	ErrFeatureUnavailable  Status = 5
	ErrInvalidIdentifier   Status = 6
	ErrDisconnected        Status = 8
	ErrResourceNotFound    Status = 20
	ErrStaleClient         Status = 30
	ErrUnauthenticated     Status = 40
	ErrUnauthorized        Status = 41
	ErrInvalidCredentials  Status = 42
	ErrInvalidUsername     Status = 43
	ErrInvalidPassword     Status = 44
	ErrInvalidUserStatus   Status = 45
	ErrUserExists          Status = 46
	ErrUserInactive        Status = 47
	ErrCannotDeleteUser    Status = 48
	ErrCannotChangePerms   Status = 49
	ErrInvalidTokenName    Status = 50
	ErrTokenExists         Status = 51
	ErrTokenLimit          Status = 52
	ErrTokenExpired        Status = 54
	ErrUserLimit           Status = 55
	ErrInvalidSize         Status = 80
	ErrClientNotFound      Status = 100
	ErrInvalidClientID     Status = 101
	ErrCannotCreateStream  Status = 1006
	ErrStreamNotFound      Status = 1009
	ErrStreamExists        Status = 1012
	ErrInvalidTopicSize    Status = 1019
	ErrCannotCreateTopic   Status = 2006
	ErrTopicNotFound       Status = 2010
	ErrTopicExists         Status = 2013
	ErrTooManyPartitions   Status = 2015
	ErrPartitionsCount     Status = 2019
	ErrPartitionNotFound   Status = 3007
	ErrOffsetNotFound      Status = 3021
	ErrPartitionUnassigned Status = 3022
	ErrNoMessages          Status = 4009
	ErrCannotAppend        Status = 4010
	ErrCannotRead          Status = 4011
	ErrHeadersTooLarge     Status = 4017
	ErrPayloadTooLarge     Status = 4022
	ErrInvalidChecksum     Status = 4027
	ErrIndexOffset         Status = 4031
	ErrIndexTimestamp      Status = 4032
	ErrMissingIndex        Status = 4033
	ErrMessagesSize        Status = 4036
	ErrInvalidOffset       Status = 4100
	ErrGroupNotFound       Status = 5000
	ErrGroupExists         Status = 5004
	ErrNotMember           Status = 5006
)

// Error names the status by its number; clients know the texts.
func (s Status) Error() string { return "iggy status " + strconv.FormatUint(uint64(s), 10) }

// Limits of names and requests.
const (
	MaxNameBytes        = 255
	MaxCommandBytes     = 10 << 20 // payload of any command but SendMessages
	MaxPayloadBytes     = 64_000_000
	MaxUserHeadersBytes = 100_000
	MaxPartitionsPerOp  = 1000
)

// Never is the value of an expiry or size limit that means none.
const Never = ^uint64(0)
