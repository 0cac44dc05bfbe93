package config

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// kind is how a key's value is written.
type kind string

const (
	kindString    kind = "string"
	kindAddress   kind = "host:port"
	kindInt       kind = "integer"
	kindBool      kind = "boolean"
	kindDuration  kind = "duration"
	kindBytes     kind = "size"
	kindChoice    kind = "choice"
	kindLocations kind = "list of TOPIC=STREAM/TOPIC"
)

// key is one row of the table of keys.
type key struct {
	name string
	kind kind
	def  string
	// allowed are the values of a kindChoice.
	allowed []string
	// min and max bound integers, sizes (bytes) and durations (nanoseconds).
	min, max int64
	// optional says that the empty value has a meaning, which doc gives.
	optional bool
	// secret values are masked when printed.
	secret bool
	doc    string
	// set stores the parsed value: string, int64, bool, time.Duration or
	// map[string]Location.
	set func(*Config, any)
}

// Bounds that several keys share.
const (
	maxDuration = int64(24 * time.Hour)
	gib         = int64(1) << 30
	// maxRetention is 100 years.
	maxRetention = 36_500 * maxDuration
)

func str(p func(*Config) *string) func(*Config, any) {
	return func(c *Config, v any) { *p(c) = v.(string) }
}

func num(p func(*Config) *int) func(*Config, any) {
	return func(c *Config, v any) { *p(c) = int(v.(int64)) }
}

func size(p func(*Config) *int64) func(*Config, any) {
	return func(c *Config, v any) { *p(c) = v.(int64) }
}

func flag(p func(*Config) *bool) func(*Config, any) {
	return func(c *Config, v any) { *p(c) = v.(bool) }
}

func span(p func(*Config) *time.Duration) func(*Config, any) {
	return func(c *Config, v any) { *p(c) = v.(time.Duration) }
}

// keys are all keys, in the order in which they are documented.
func keys() []key {
	var all []key
	for _, group := range [][]key{kafkaKeys(), kafkaLimitKeys(), iggyKeys(), iggyTuningKeys(), embeddedKeys(), topicKeys(), groupKeys(), consumerGroupKeys(), transactionKeys(), operationKeys()} {
		all = append(all, group...)
	}
	return all
}

func kafkaKeys() []key {
	return []key{
		{name: "kafka.listen", kind: kindAddress, def: "127.0.0.1:9093",
			doc: "Address on which Kafka clients are served. Port 0 takes a free one.",
			set: str(func(c *Config) *string { return &c.Kafka.Listen })},
		{name: "kafka.advertised", kind: kindAddress, optional: true,
			doc: "Address that clients are told to connect to. Empty: the listener's. Must be set when kafka.listen is a wildcard such as 0.0.0.0.",
			set: str(func(c *Config) *string { return &c.Kafka.Advertised })},
		{name: "kafka.node_id", kind: kindInt, def: "1", min: 0, max: math.MaxInt32,
			doc: "Broker id of this bridge. Bridges that share an Iggy need different ones.",
			set: num(func(c *Config) *int { return &c.Kafka.NodeID })},
		{name: "kafka.cluster_id", kind: kindString, optional: true,
			doc: "Cluster id that clients see. Empty: one that the first bridge makes and keeps in Iggy.",
			set: str(func(c *Config) *string { return &c.Kafka.ClusterID })},
		{name: "message.max.bytes", kind: kindBytes, def: "1048588", min: 1, max: gib,
			doc: "Largest record batch that is taken, as it comes (compressed). A topic's max.message.bytes overrides it.",
			set: size(func(c *Config) *int64 { return &c.MessageMaxBytes })},
	}
}

func kafkaLimitKeys() []key {
	return []key{
		{name: "kafka.max_request_bytes", kind: kindBytes, def: "100MiB", min: 1 << 10, max: 2*gib - 1,
			doc: "Largest request that is taken. The connection of a larger one is closed.",
			set: size(func(c *Config) *int64 { return &c.Kafka.MaxRequestBytes })},
		{name: "kafka.max_connections", kind: kindInt, def: "10000", min: 1, max: 1_000_000,
			doc: "Connections served at the same time. Those above are closed.",
			set: num(func(c *Config) *int { return &c.Kafka.MaxConnections })},
		{name: "kafka.max_in_flight_requests", kind: kindInt, def: "64", min: 1, max: 10_000,
			doc: "Requests of one connection that are read ahead of the one at work.",
			set: num(func(c *Config) *int { return &c.Kafka.MaxInFlightRequests })},
		{name: "kafka.max_in_flight_bytes", kind: kindBytes, def: "8MiB", min: 1 << 10, max: 2*gib - 1,
			doc: "The same in bytes. A request that is larger is read when it is the only one.",
			set: size(func(c *Config) *int64 { return &c.Kafka.MaxInFlightBytes })},
		{name: "kafka.max_response_backlog", kind: kindBytes, def: "8MiB", min: 1 << 10, max: 2*gib - 1,
			doc: "Answers that may wait for a slow reader before its next request is begun.",
			set: size(func(c *Config) *int64 { return &c.Kafka.MaxResponseBacklog })},
		{name: "kafka.idle_timeout", kind: kindDuration, def: "10m", min: int64(time.Second), max: 7 * maxDuration,
			doc: "A connection without traffic and without a request at work is closed after this time.",
			set: span(func(c *Config) *time.Duration { return &c.Kafka.IdleTimeout })},
		{name: "kafka.request_read_timeout", kind: kindDuration, def: "30s", min: int64(10 * time.Millisecond), max: maxDuration,
			doc: "Time in which the next 64 KiB of a request that has begun, or the rest of it, must arrive.",
			set: span(func(c *Config) *time.Duration { return &c.Kafka.RequestReadTimeout })},
		{name: "kafka.write_timeout", kind: kindDuration, def: "2m", min: int64(10 * time.Millisecond), max: maxDuration,
			doc: "Time in which a client must take the next 256 KiB of its answers, or the rest of them.",
			set: span(func(c *Config) *time.Duration { return &c.Kafka.WriteTimeout })},
	}
}

func iggyKeys() []key {
	return []key{
		{name: "iggy.address", kind: kindAddress, optional: true,
			doc: "TCP address of the Iggy server that stores everything. Empty: the embedded engine.",
			set: str(func(c *Config) *string { return &c.Iggy.Address })},
		{name: "iggy.username", kind: kindString, def: "iggy",
			doc: "The bridge's own user in Iggy. It needs the rights to manage streams and topics, to send and to poll.",
			set: str(func(c *Config) *string { return &c.Iggy.Username })},
		{name: "iggy.password", kind: kindString, optional: true, secret: true,
			doc: "Password of that user. Prefer iggy.password_file: flags and environments can be seen by others. Empty with the embedded engine: one that the engine makes and keeps in its folder.",
			set: str(func(c *Config) *string { return &c.Iggy.Password })},
		{name: "iggy.password_file", kind: kindString, optional: true,
			doc: "File that holds the password; a line break at its end does not count. Not together with iggy.password.",
			set: str(func(c *Config) *string { return &c.Iggy.PasswordFile })},
		{name: "iggy.tls.enabled", kind: kindBool, def: "false",
			doc: "Encrypt the connections to Iggy.",
			set: flag(func(c *Config) *bool { return &c.Iggy.TLS.Enabled })},
		{name: "iggy.tls.domain", kind: kindString, optional: true,
			doc: "Name that the server's certificate must have. Empty: the host of iggy.address.",
			set: str(func(c *Config) *string { return &c.Iggy.TLS.Domain })},
		{name: "iggy.tls.ca_file", kind: kindString, optional: true,
			doc: "PEM file with the authorities to trust. Empty: the system's.",
			set: str(func(c *Config) *string { return &c.Iggy.TLS.CAFile })},
		{name: "iggy.tls.skip_verify", kind: kindBool, def: "false",
			doc: "Take any certificate. For tests only.",
			set: flag(func(c *Config) *bool { return &c.Iggy.TLS.SkipVerify })},
	}
}

func iggyTuningKeys() []key {
	return []key{
		{name: "iggy.pool_size", kind: kindInt, def: "4", min: 1, max: 256,
			doc: "Connections to Iggy for writing; there are as many for reading, and one more. A partition always uses the same.",
			set: num(func(c *Config) *int { return &c.Iggy.PoolSize })},
		{name: "iggy.connect_timeout", kind: kindDuration, def: "5s", min: int64(10 * time.Millisecond), max: maxDuration,
			doc: "Time for connecting to Iggy and logging in.",
			set: span(func(c *Config) *time.Duration { return &c.Iggy.ConnectTimeout })},
		{name: "iggy.request_timeout", kind: kindDuration, def: "10s", min: int64(10 * time.Millisecond), max: maxDuration,
			doc: "Time for one call to Iggy. A connection on which a call takes longer is replaced.",
			set: span(func(c *Config) *time.Duration { return &c.Iggy.RequestTimeout })},
		{name: "iggy.watch_interval", kind: kindDuration, def: "250ms", min: int64(10 * time.Millisecond), max: maxDuration,
			doc: "How often a topic that consumers wait for is looked at for messages that did not come through this bridge.",
			set: span(func(c *Config) *time.Duration { return &c.Iggy.WatchInterval })},
		{name: "iggy.refresh_interval", kind: kindDuration, def: "5s", min: int64(10 * time.Millisecond), max: maxDuration,
			doc: "How often topics that others made, changed or deleted in Iggy are looked for.",
			set: span(func(c *Config) *time.Duration { return &c.Iggy.RefreshInterval })},
	}
}

func embeddedKeys() []key {
	return []key{
		{name: "embedded.data_dir", kind: kindString, def: "./data",
			doc: "Folder in which the embedded engine keeps its data. One process at a time uses it.",
			set: str(func(c *Config) *string { return &c.Embedded.DataDir })},
		{name: "embedded.fsync", kind: kindChoice, def: FsyncInterval, allowed: []string{FsyncNever, FsyncInterval, FsyncAlways},
			doc: "When writes are forced to the disk: left to the operating system, every embedded.fsync_interval, or before each is acknowledged. What is acknowledged survives the end of the process in any case; this is about the end of the machine.",
			set: str(func(c *Config) *string { return &c.Embedded.Fsync })},
		{name: "embedded.fsync_interval", kind: kindDuration, def: "1s", min: int64(time.Millisecond), max: maxDuration,
			doc: "Time between two syncs with embedded.fsync=interval.",
			set: span(func(c *Config) *time.Duration { return &c.Embedded.FsyncInterval })},
		{name: "embedded.segment_bytes", kind: kindBytes, def: "1GiB", min: 512, max: gib,
			doc: "Size at which a partition begins a new segment file. Retention deletes whole segments.",
			set: size(func(c *Config) *int64 { return &c.Embedded.SegmentBytes })},
		{name: "embedded.listen", kind: kindAddress, def: "127.0.0.1:0",
			doc: "Address on which the embedded engine serves Iggy's TCP protocol. Port 0 takes a free one; Iggy's own is 8090.",
			set: str(func(c *Config) *string { return &c.Embedded.Listen })},
		{name: "embedded.heartbeat", kind: kindDuration, def: "0s", min: 0, max: maxDuration,
			doc: "How often Iggy clients have to ping the embedded engine. Those whose last ping is older than 1.2 times this lose their places in consumer groups. 0: no ping is expected.",
			set: span(func(c *Config) *time.Duration { return &c.Embedded.Heartbeat })},
		{name: "embedded.tls.enabled", kind: kindBool, def: "false",
			doc: "Serve TLS on embedded.listen, and nothing else.",
			set: flag(func(c *Config) *bool { return &c.Embedded.TLS.Enabled })},
		{name: "embedded.tls.cert_file", kind: kindString, optional: true,
			doc: "PEM file with the certificate, and those between it and the authority. Empty: a self-signed one.",
			set: str(func(c *Config) *string { return &c.Embedded.TLS.CertFile })},
		{name: "embedded.tls.key_file", kind: kindString, optional: true,
			doc: "PEM file with the certificate's key.",
			set: str(func(c *Config) *string { return &c.Embedded.TLS.KeyFile })},
		{name: "embedded.tls.self_signed", kind: kindBool, def: "true",
			doc: "Without embedded.tls.cert_file: make a certificate at first start and keep it in embedded.data_dir, as tls-cert.pem, which clients can be given to trust.",
			set: flag(func(c *Config) *bool { return &c.Embedded.TLS.SelfSigned })},
	}
}

func topicKeys() []key {
	return []key{
		{name: "bridge.stream", kind: kindString, optional: true,
			doc: "Iggy stream that holds all topics. Empty: topic T lies in a stream T of its own.",
			set: str(func(c *Config) *string { return &c.Bridge.Stream })},
		{name: "bridge.topics", kind: kindLocations, optional: true,
			doc: "Places of single topics in Iggy, whatever bridge.stream says: a Kafka topic, an equals sign, an Iggy stream, a slash, an Iggy topic. In a file a list; elsewhere separated by commas.",
			set: func(c *Config, v any) { c.Bridge.Topics = v.(map[string]Location) }},
		{name: "bridge.state_stream", kind: kindString, def: "__kafka_bridge",
			doc: "Iggy stream of the bridge's own topics. Bridges that act as one cluster share it.",
			set: str(func(c *Config) *string { return &c.Bridge.StateStream })},
		{name: "topics.auto_create", kind: kindBool, def: "true",
			doc: "Create topics that are produced to or asked for, where the request allows it.",
			set: flag(func(c *Config) *bool { return &c.Topics.AutoCreate })},
		{name: "topics.default_partitions", kind: kindInt, def: "1", min: 1, max: 1000,
			doc: "Partitions of topics that are created without saying how many.",
			set: num(func(c *Config) *int { return &c.Topics.DefaultPartitions })},
		{name: "fetch.cache_bytes", kind: kindBytes, def: "64MiB", min: 0, max: 1024 * gib,
			doc: "Memory for recent record batches, which serve consumers that keep up. 0 turns the cache off.",
			set: size(func(c *Config) *int64 { return &c.Fetch.CacheBytes })},
	}
}

func groupKeys() []key {
	return []key{
		{name: "groups.initial_rebalance_delay", kind: kindDuration, def: "3s", min: 0, max: maxDuration,
			doc: "Time that a new group of the classic protocol waits for more members (Kafka's group.initial.rebalance.delay.ms).",
			set: span(func(c *Config) *time.Duration { return &c.Groups.InitialRebalanceDelay })},
		{name: "groups.min_session_timeout", kind: kindDuration, def: "6s", min: int64(time.Millisecond), max: maxDuration,
			doc: "Least session timeout that members of classic groups may ask for (group.min.session.timeout.ms).",
			set: span(func(c *Config) *time.Duration { return &c.Groups.MinSessionTimeout })},
		{name: "groups.max_session_timeout", kind: kindDuration, def: "30m", min: int64(time.Millisecond), max: maxDuration,
			doc: "Greatest session timeout that members of classic groups may ask for (group.max.session.timeout.ms).",
			set: span(func(c *Config) *time.Duration { return &c.Groups.MaxSessionTimeout })},
		{name: "groups.max_size", kind: kindInt, def: "2147483647", min: 1, max: math.MaxInt32,
			doc: "Members that a classic group may have (group.max.size).",
			set: num(func(c *Config) *int { return &c.Groups.MaxSize })},
		{name: "groups.offsets_retention", kind: kindDuration, def: "168h", min: int64(time.Millisecond), max: maxRetention,
			doc: "Time for which the offsets of a group without members, or of a topic that it does not consume any more, are kept (offsets.retention.minutes).",
			set: span(func(c *Config) *time.Duration { return &c.Groups.OffsetsRetention })},
		{name: "groups.offsets_retention_check", kind: kindDuration, def: "10m", min: int64(time.Millisecond), max: maxDuration,
			doc: "How often offsets that have expired are looked for (offsets.retention.check.interval.ms).",
			set: span(func(c *Config) *time.Duration { return &c.Groups.OffsetsRetentionCheck })},
		{name: "groups.offsets_partitions", kind: kindInt, def: "50", min: 1, max: 1000,
			doc: "Partitions that __consumer_offsets is made with (offsets.topic.num.partitions). It keeps the number it was made with.",
			set: num(func(c *Config) *int { return &c.Groups.OffsetsPartitions })},
		{name: "groups.offset_metadata_max_bytes", kind: kindBytes, def: "4096", min: 0, max: math.MaxInt16,
			doc: "Greatest size of the text that a consumer may commit with an offset (offset.metadata.max.bytes).",
			set: size(func(c *Config) *int64 { return &c.Groups.OffsetMetadataMaxBytes })},
		{name: "groups.mirror_offsets", kind: kindBool, def: "false",
			doc: "Store what groups commit in Iggy as well, as the offsets of a consumer named like the group, for Iggy's own tools to see. Kafka clients never read it. In Iggy a stored offset keeps retention from deleting what lies above it: a group that stops consuming then holds its topics' messages until its offsets expire or are deleted.",
			set: flag(func(c *Config) *bool { return &c.Groups.MirrorOffsets })},
	}
}

func consumerGroupKeys() []key {
	return []key{
		{name: "groups.consumer.session_timeout", kind: kindDuration, def: "45s", min: int64(time.Millisecond), max: maxDuration,
			doc: "Time after which a member of a consumer group (KIP-848) that is not heard of is removed (group.consumer.session.timeout.ms).",
			set: span(func(c *Config) *time.Duration { return &c.Groups.Consumer.SessionTimeout })},
		{name: "groups.consumer.heartbeat_interval", kind: kindDuration, def: "5s", min: int64(time.Millisecond), max: maxDuration,
			doc: "How often members of consumer groups are told to send heartbeats (group.consumer.heartbeat.interval.ms). Less than groups.consumer.session_timeout.",
			set: span(func(c *Config) *time.Duration { return &c.Groups.Consumer.HeartbeatInterval })},
		{name: "groups.consumer.max_size", kind: kindInt, def: "2147483647", min: 1, max: math.MaxInt32,
			doc: "Members that a consumer group may have (group.consumer.max.size).",
			set: num(func(c *Config) *int { return &c.Groups.Consumer.MaxSize })},
		{name: "groups.consumer.assignment_interval", kind: kindDuration, def: "1s", min: 0, max: maxDuration,
			doc: "Least time between two assignments of a consumer group (group.consumer.assignment.interval.ms).",
			set: span(func(c *Config) *time.Duration { return &c.Groups.Consumer.AssignmentInterval })},
		{name: "groups.consumer.regex_refresh", kind: kindDuration, def: "10m", min: int64(10 * time.Millisecond), max: maxDuration,
			doc: "How often subscriptions of consumer groups to regular expressions are matched with the topics anew (group.consumer.regex.refresh.interval.ms).",
			set: span(func(c *Config) *time.Duration { return &c.Groups.Consumer.RegexRefresh })},
	}
}

func transactionKeys() []key {
	return []key{
		{name: "transactions.max_timeout", kind: kindDuration, def: "15m", min: int64(time.Millisecond), max: maxDuration,
			doc: "Greatest time-out that a transactional producer may ask for (transaction.max.timeout.ms). A transaction that takes longer than its producer's is aborted.",
			set: span(func(c *Config) *time.Duration { return &c.Transactions.MaxTimeout })},
		{name: "transactions.id_expiration", kind: kindDuration, def: "168h", min: int64(time.Millisecond), max: maxRetention,
			doc: "Time for which a transactional id without an open transaction is remembered (transactional.id.expiration.ms).",
			set: span(func(c *Config) *time.Duration { return &c.Transactions.IDExpiration })},
		{name: "transactions.producer_id_expiration", kind: kindDuration, def: "24h", min: int64(time.Millisecond), max: maxRetention,
			doc: "Time for which a partition remembers an idempotent producer that writes nothing (producer.id.expiration.ms). What such a producer sends again after that is not known to be a repetition.",
			set: span(func(c *Config) *time.Duration { return &c.Transactions.ProducerIDExpiration })},
		{name: "transactions.state_partitions", kind: kindInt, def: "50", min: 1, max: 1000,
			doc: "Partitions that __transaction_state is made with (transaction.state.log.num.partitions). It keeps the number it was made with.",
			set: num(func(c *Config) *int { return &c.Transactions.StatePartitions })},
	}
}

func operationKeys() []key {
	return []key{
		{name: "http.listen", kind: kindAddress, def: "127.0.0.1:9094", optional: true,
			doc: "Address of the HTTP endpoint with /metrics (Prometheus), /healthz and /readyz. Empty: none.",
			set: str(func(c *Config) *string { return &c.HTTP.Listen })},
		{name: "log.level", kind: kindChoice, def: "info", allowed: []string{"error", "warn", "info", "debug", "trace"},
			doc: "Least level that is logged. Single requests are logged at debug.",
			set: str(func(c *Config) *string { return &c.Log.Level })},
		{name: "log.format", kind: kindChoice, def: "text", allowed: []string{"text", "json"},
			doc: "Form of the log, which goes to standard error.",
			set: str(func(c *Config) *string { return &c.Log.Format })},
		{name: "shutdown.grace", kind: kindDuration, def: "30s", min: 0, max: maxDuration,
			doc: "Time for an orderly end after SIGTERM or SIGINT. A second signal ends the bridge at once.",
			set: span(func(c *Config) *time.Duration { return &c.ShutdownGrace })},
	}
}

// env is the key's name in the environment.
func (k *key) env() string { return envName(k.name) }

func envName(name string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
}

// allowedText says in words what the key may be set to.
func (k *key) allowedText() string {
	text := ""
	switch k.kind {
	case kindChoice:
		text = strings.Join(k.allowed, ", ")
	case kindInt:
		text = fmt.Sprintf("%d to %d", k.min, k.max)
	case kindBytes:
		text = fmt.Sprintf("%s to %s, as bytes or with a unit (KiB, MiB, GiB, kB, MB, GB)", formatBytes(k.min), formatBytes(k.max))
	case kindDuration:
		text = fmt.Sprintf("%s to %s, with a unit (ms, s, m, h)", formatDuration(time.Duration(k.min)), formatDuration(time.Duration(k.max)))
	case kindBool:
		text = "true, false"
	case kindAddress:
		text = "HOST:PORT"
	case kindLocations:
		text = "TOPIC=STREAM/TOPIC, …"
	case kindString:
		text = "any text"
	}
	if k.optional {
		text += ", or empty"
	}
	return text
}
