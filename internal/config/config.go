package config

import "time"

// Config is the effective configuration.
type Config struct {
	Kafka        Kafka
	Iggy         Iggy
	Embedded     Embedded
	Bridge       Bridge
	Topics       Topics
	Groups       Groups
	Transactions Transactions
	Fetch        Fetch
	HTTP         HTTP
	Log          Log

	// MessageMaxBytes is message.max.bytes: the largest record batch taken.
	MessageMaxBytes int64
	// ShutdownGrace is shutdown.grace: the time for an orderly end.
	ShutdownGrace time.Duration

	// values are what the keys were set to, and where, for Print.
	values map[string]value
}

// Kafka is the side that Kafka clients see.
type Kafka struct {
	// Listen is the address to listen on, host:port.
	Listen string
	// Advertised is the address told to clients, host:port; empty for that of
	// the listener.
	Advertised string
	// NodeID is this bridge's broker id.
	NodeID int
	// ClusterID is the cluster id to report; empty for the one kept in Iggy.
	ClusterID string
	// MaxRequestBytes is the largest request frame taken.
	MaxRequestBytes int64
	// MaxConnections is the number of connections at the same time.
	MaxConnections int
	// MaxInFlightRequests and MaxInFlightBytes bound what is read ahead per
	// connection.
	MaxInFlightRequests int
	MaxInFlightBytes    int64
	// MaxResponseBacklog bounds what waits for a slow reader, per connection.
	MaxResponseBacklog int64
	// IdleTimeout, RequestReadTimeout and WriteTimeout end silent, slowly
	// sending and slowly reading connections.
	IdleTimeout        time.Duration
	RequestReadTimeout time.Duration
	WriteTimeout       time.Duration
}

// Iggy is the Iggy server that stores everything.
type Iggy struct {
	// Address is its TCP address, host:port; empty for the embedded engine.
	Address string
	// Username and Password are the bridge's own account. Password has been read
	// from iggy.password_file where that is set.
	Username string
	Password string
	// PasswordFile is where Password was read from, if anywhere.
	PasswordFile string
	TLS          IggyTLS
	// PoolSize is the number of connections for writing; reading has as many.
	PoolSize int
	// ConnectTimeout bounds connecting and logging in, RequestTimeout each call.
	ConnectTimeout time.Duration
	RequestTimeout time.Duration
	// WatchInterval is how often topics that consumers wait for are looked at
	// for messages of other writers.
	WatchInterval time.Duration
	// RefreshInterval is how often topics that others made in Iggy are looked for.
	RefreshInterval time.Duration
}

// IggyTLS is how connections to Iggy are encrypted.
type IggyTLS struct {
	Enabled bool
	// Domain is the name in the server's certificate; empty for the address' host.
	Domain string
	// CAFile holds the authorities to trust, in PEM; empty for the system's.
	CAFile string
	// SkipVerify takes any certificate.
	SkipVerify bool
}

// Fsync policies of the embedded engine.
const (
	FsyncNever    = "never"
	FsyncInterval = "interval"
	FsyncAlways   = "always"
)

// Embedded is the engine inside the bridge, used when Iggy.Address is empty.
type Embedded struct {
	// DataDir is the folder of its data.
	DataDir string
	// Fsync is one of the Fsync constants, FsyncInterval the time between syncs.
	Fsync         string
	FsyncInterval time.Duration
	// SegmentBytes is the size at which a new segment is begun.
	SegmentBytes int64
	// Listen is where it serves Iggy's TCP protocol, host:port.
	Listen string
	TLS    EmbeddedTLS
	// Heartbeat is how often clients must ping to stay in their consumer groups; 0
	// for not at all.
	Heartbeat time.Duration
}

// EmbeddedTLS is how the engine's listener is encrypted.
type EmbeddedTLS struct {
	Enabled bool
	// CertFile and KeyFile are PEM files; both empty for a self-signed certificate.
	CertFile, KeyFile string
	// SelfSigned allows the engine to make its own certificate.
	SelfSigned bool
}

// Location is where in Iggy a topic lies.
type Location struct{ Stream, Topic string }

// Bridge is the layout in Iggy.
type Bridge struct {
	// Stream holds all topics; empty for a stream per topic.
	Stream string
	// Topics are the places of single topics, by Kafka name.
	Topics map[string]Location
	// StateStream is the stream of the bridge's own topics.
	StateStream string
}

// Topics is how topics are created.
type Topics struct {
	AutoCreate        bool
	DefaultPartitions int
}

// Groups is how consumer groups are coordinated. Kafka's names for these are with
// the keys.
type Groups struct {
	// InitialRebalanceDelay is how long a new classic group waits for members.
	InitialRebalanceDelay time.Duration
	// MinSessionTimeout and MaxSessionTimeout bound what classic members ask for.
	MinSessionTimeout, MaxSessionTimeout time.Duration
	// MaxSize is the number of members of a classic group.
	MaxSize int
	// OffsetsRetention is how long the offsets of a group without members live,
	// OffsetsRetentionCheck how often those that have expired are looked for.
	OffsetsRetention, OffsetsRetentionCheck time.Duration
	// OffsetsPartitions is how many partitions __consumer_offsets is made with.
	OffsetsPartitions int
	// OffsetMetadataMaxBytes bounds the metadata of an offset.
	OffsetMetadataMaxBytes int64
	// MirrorOffsets stores commits as offsets of Iggy's consumers too.
	MirrorOffsets bool
	Consumer      ConsumerGroups
}

// ConsumerGroups is how groups of the protocol of KIP-848 are coordinated.
type ConsumerGroups struct {
	// SessionTimeout and HeartbeatInterval are what members are given.
	SessionTimeout, HeartbeatInterval time.Duration
	// MaxSize is the number of members of a group.
	MaxSize int
	// AssignmentInterval is the least time between two assignments of a group.
	AssignmentInterval time.Duration
	// RegexRefresh is how often subscriptions to regular expressions are matched
	// with the topics anew.
	RegexRefresh time.Duration
}

// Transactions is how idempotent producers are remembered and transactions are
// coordinated.
type Transactions struct {
	// MaxTimeout is the greatest time that a producer may give its transactions.
	MaxTimeout time.Duration
	// IDExpiration is how long a transactional id without an open transaction is
	// remembered, ProducerIDExpiration how long partitions remember a producer.
	IDExpiration, ProducerIDExpiration time.Duration
	// StatePartitions is how many partitions __transaction_state is made with.
	StatePartitions int
}

// Fetch is how records are served.
type Fetch struct {
	// CacheBytes bounds the memory for recent batches; 0 turns the cache off.
	CacheBytes int64
}

// HTTP is the endpoint for metrics and health.
type HTTP struct {
	// Listen is its address, host:port; empty for none.
	Listen string
}

// Log is what is logged, and how.
type Log struct{ Level, Format string }
