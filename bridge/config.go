package bridge

import (
	"errors"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"
)

// Defaults of Config's fields, used where a field is zero.
const (
	DefaultPoolSize         = 4
	DefaultDialTimeout      = 5 * time.Second
	DefaultRequestTimeout   = 10 * time.Second
	DefaultOperationTimeout = 25 * time.Second
	DefaultRefreshInterval  = 5 * time.Second
	DefaultWatchInterval    = 250 * time.Millisecond
	DefaultCacheBytes       = 64 << 20

	DefaultProducerIDExpiration = 24 * time.Hour
	DefaultStateStream          = "__kafka_bridge"
)

// Config says how a Bridge reaches Iggy and how it lays Kafka's topics out
// there. The zero value of every field but Address, Username and Password has
// a sensible meaning.
type Config struct {
	// Address is Iggy's TCP address, host:port.
	Address string
	// Username and Password log the bridge itself in. The user needs the right
	// to manage streams and topics, and to send and poll.
	Username, Password string
	// TLS wraps the connections to Iggy.
	TLS TLSConfig

	// PoolSize is the number of connections for writes; reads have as many of
	// their own, and administration has one. 0 is DefaultPoolSize.
	PoolSize int
	// DialTimeout bounds connecting and logging in. 0 is DefaultDialTimeout.
	DialTimeout time.Duration
	// RequestTimeout bounds each call to Iggy; a connection on which a call takes
	// longer is cut and replaced. 0 is DefaultRequestTimeout.
	RequestTimeout time.Duration
	// OperationTimeout bounds an append with everything it takes to find out what
	// became of it. It should stay below the clients' request timeout (30 s in
	// most). 0 is DefaultOperationTimeout.
	OperationTimeout time.Duration

	// Stream puts all topics into the one Iggy stream of that name. When empty,
	// topic T is Iggy's topic T in a stream T of its own.
	Stream string
	// Topics says for single topics where they lie, whatever Stream says.
	Topics map[string]Location
	// StateStream is the stream of the bridge's own topics. Bridges that share an
	// Iggy and are to act as one share it. Empty is DefaultStateStream.
	StateStream string
	// ClusterID is the Kafka cluster id to report. When empty, the id in the
	// internal state is used; the first bridge makes one.
	ClusterID string
	// TopicDefaults are the broker-wide values of topic configurations, by the
	// topic configuration's name (retention.ms, not log.retention.ms). Those left
	// out are Kafka's.
	TopicDefaults map[string]string

	// RefreshInterval is how often topics that others made, deleted or changed in
	// Iggy are looked for. 0 is DefaultRefreshInterval.
	RefreshInterval time.Duration
	// WatchInterval is how often a watched topic is looked at for messages of
	// other writers. 0 is DefaultWatchInterval.
	WatchInterval time.Duration
	// CacheBytes bounds the memory for recent batches over all partitions. 0 is
	// DefaultCacheBytes; a negative value turns the cache off.
	CacheBytes int64

	// ProducerIDExpiration is how long a partition remembers a producer that writes
	// nothing (producer.id.expiration.ms). 0 is DefaultProducerIDExpiration.
	ProducerIDExpiration time.Duration

	// Logger receives the bridge's log. Nil discards it.
	Logger logrus.FieldLogger
	// Metrics receives what the bridge counts. Nil discards it.
	Metrics Metrics
	// Now is the clock for timestamps; nil is time.Now.
	Now func() time.Time

	// transport replaces Iggy in tests.
	transport transport
}

// TLSConfig says how the connections to Iggy are encrypted. Iggy 0.8.0 knows
// no client certificates.
type TLSConfig struct {
	// Enabled turns TLS on.
	Enabled bool
	// Domain is the name that the server's certificate must have; when empty, the
	// host of the address.
	Domain string
	// CAFile is a PEM file with the authorities to trust; when empty, the
	// system's.
	CAFile string
	// SkipVerify accepts any certificate.
	SkipVerify bool
}

// Location is where in Iggy a topic lies.
type Location struct {
	// Stream and Topic are names in Iggy, 1 to 255 bytes.
	Stream, Topic string
}

// String is the location as stream/topic.
func (l Location) String() string { return l.Stream + "/" + l.Topic }

// Metrics is what a Bridge counts. Implementations must be safe for concurrent
// use and must not block.
type Metrics interface {
	// IggyCall is called after each call to Iggy: what it was (append, read,
	// topic, …), how long it took, and whether it failed.
	IggyCall(operation string, took time.Duration, err error)
	// Reconnect is called when a connection to Iggy had to be built anew.
	Reconnect()
	// Unreadable is called for each message that could not be decoded.
	Unreadable(topic string, partition int32)
	// Resolved is called when the outcome of an ambiguous append was found out:
	// appended, missing (and sent again), or unknown.
	Resolved(outcome string)
	// CacheLookup is called for each batch sought in the cache.
	CacheLookup(hit bool)
}

type noMetrics struct{}

func (noMetrics) IggyCall(string, time.Duration, error) {}
func (noMetrics) Reconnect()                            {}
func (noMetrics) Unreadable(string, int32)              {}
func (noMetrics) Resolved(string)                       {}
func (noMetrics) CacheLookup(bool)                      {}

// withDefaults returns c with its zero fields filled in, or what is wrong
// with it.
func (c Config) withDefaults() (Config, error) {
	if c.transport == nil {
		switch {
		case c.Address == "":
			return c, errors.New("bridge: no address of Iggy given")
		case c.Username == "":
			return c, errors.New("bridge: no user name for Iggy given")
		}
	}
	if c.PoolSize < 0 || c.PoolSize > 256 {
		return c, fmt.Errorf("bridge: pool size %d is not within 1 to 256", c.PoolSize)
	}
	setDefault(&c.PoolSize, DefaultPoolSize)
	for _, d := range []struct {
		value *time.Duration
		def   time.Duration
	}{
		{&c.DialTimeout, DefaultDialTimeout},
		{&c.RequestTimeout, DefaultRequestTimeout},
		{&c.OperationTimeout, DefaultOperationTimeout},
		{&c.RefreshInterval, DefaultRefreshInterval},
		{&c.WatchInterval, DefaultWatchInterval},
		{&c.ProducerIDExpiration, DefaultProducerIDExpiration},
	} {
		if *d.value < 0 {
			return c, fmt.Errorf("bridge: a time of %v is negative", *d.value)
		}
		setDefault(d.value, d.def)
	}
	setDefault(&c.CacheBytes, DefaultCacheBytes)
	setDefault(&c.StateStream, DefaultStateStream)
	if c.Metrics == nil {
		c.Metrics = noMetrics{}
	}
	if c.Logger == nil {
		c.Logger = discardLogger()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c, c.checkLayout()
}

// checkLayout refuses locations that Iggy cannot hold or that two topics share.
func (c Config) checkLayout() error {
	if len(c.Stream) > maxIggyName || len(c.StateStream) > maxIggyName {
		return fmt.Errorf("bridge: a stream's name has at most %d bytes", maxIggyName)
	}
	if c.Stream == c.StateStream {
		return fmt.Errorf("bridge: stream %q is the bridge's own", c.Stream)
	}
	seen := make(map[Location]string, len(c.Topics))
	for name, loc := range c.Topics {
		if err := CheckTopicName(name); err != nil {
			return fmt.Errorf("bridge: topic override %q: %w", name, err)
		}
		if loc.Stream == "" || loc.Topic == "" || len(loc.Stream) > maxIggyName || len(loc.Topic) > maxIggyName {
			return fmt.Errorf("bridge: topic override %q: stream and topic are names of 1 to %d bytes", name, maxIggyName)
		}
		if loc.Stream == c.StateStream {
			return fmt.Errorf("bridge: topic override %q: stream %q is the bridge's own", name, loc.Stream)
		}
		if other, ok := seen[loc]; ok {
			return fmt.Errorf("bridge: topics %q and %q are both laid to %v", other, name, loc)
		}
		seen[loc] = name
	}
	return nil
}

func setDefault[T comparable](value *T, def T) {
	var zero T
	if *value == zero {
		*value = def
	}
}

func discardLogger() logrus.FieldLogger {
	l := logrus.New()
	l.SetOutput(discard{})
	l.SetLevel(logrus.PanicLevel)
	return l
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
