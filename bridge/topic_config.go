package bridge

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"kafka-iggy-bridge/internal/records"
)

// TopicConfig is the configuration of a topic: what was set on it, above the
// broker-wide values, above Kafka's defaults. It does not change.
type TopicConfig struct {
	overrides map[string]string
	defaults  map[string]string // broker-wide, may be nil
}

// ConfigEntry is one configuration of a topic with its present value.
type ConfigEntry struct {
	ConfigDef
	// Value is the effective value.
	Value string
	// Override reports whether the value was set on the topic itself.
	Override bool
	// BrokerDefault reports whether the broker has another default than Kafka,
	// and BrokerValue is that one.
	BrokerDefault bool
	BrokerValue   string
}

// CheckTopicConfigs reports whether the configurations are known, have
// possible values and go together. The error wraps ErrInvalidConfig and its
// text is for the client.
func CheckTopicConfigs(configs map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(configs)) {
		def, ok := LookupTopicConfig(name)
		if !ok {
			return fmt.Errorf("%w: Unknown topic config name: %s", ErrInvalidConfig, name)
		}
		if err := def.Check(configs[name]); err != nil {
			return err
		}
	}
	c := TopicConfig{overrides: configs}
	if low, high := c.long("min.compaction.lag.ms"), c.long("max.compaction.lag.ms"); low > high {
		return fmt.Errorf("%w: conflict topic config setting min.compaction.lag.ms (%d) > max.compaction.lag.ms (%d)", ErrInvalidConfig, low, high)
	}
	if c.Value("remote.storage.enable") == "true" {
		return fmt.Errorf("%w: %s", ErrInvalidConfig, "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.")
	}
	return nil
}

// TopicConfig is the configuration that a topic made with these overrides has.
func (b *Bridge) TopicConfig(overrides map[string]string) TopicConfig {
	return TopicConfig{overrides: maps.Clone(overrides), defaults: b.config.TopicDefaults}
}

// Overrides are the configurations set on the topic itself, a copy.
func (c TopicConfig) Overrides() map[string]string { return maps.Clone(c.overrides) }

// Value is the effective value of a configuration, "" for an unknown one.
func (c TopicConfig) Value(name string) string {
	if v, ok := c.overrides[name]; ok {
		return strings.TrimSpace(v)
	}
	if v, ok := c.defaults[name]; ok {
		return strings.TrimSpace(v)
	}
	def, _ := LookupTopicConfig(name)
	return def.Default
}

// Entries are all configurations with their values, sorted by name.
func (c TopicConfig) Entries() []ConfigEntry {
	entries := make([]ConfigEntry, len(configDefs))
	for i, def := range configDefs {
		_, override := c.overrides[def.Name]
		broker, hasBroker := c.defaults[def.Name]
		entries[i] = ConfigEntry{
			ConfigDef:     def,
			Value:         c.Value(def.Name),
			Override:      override,
			BrokerDefault: hasBroker,
			BrokerValue:   broker,
		}
	}
	return entries
}

// long is a value that Check has let pass; a broker-wide value that is wrong is
// refused when the bridge is made.
func (c TopicConfig) long(name string) int64 {
	n, err := strconv.ParseInt(c.Value(name), 10, 64)
	if err != nil {
		def, _ := LookupTopicConfig(name)
		n, _ = strconv.ParseInt(def.Default, 10, 64)
	}
	return n
}

// RetentionMs is how long records are kept, in ms; -1 is for ever.
func (c TopicConfig) RetentionMs() int64 { return c.long(ConfigRetentionMs) }

// RetentionBytes is how much a partition keeps; negative is everything.
func (c TopicConfig) RetentionBytes() int64 { return c.long(ConfigRetentionBytes) }

// MaxMessageBytes is the size in bytes of the largest batch accepted.
func (c TopicConfig) MaxMessageBytes() int { return int(c.long(ConfigMaxMessageBytes)) }

// MaxDecompressedBytes bounds a batch's records in bytes once decompressed.
func (c TopicConfig) MaxDecompressedBytes() int { return int(c.long(ConfigMaxDecompressed)) }

// TimestampBeforeMaxMs is how far a record's time may lie in the past, in ms.
func (c TopicConfig) TimestampBeforeMaxMs() int64 { return c.long(ConfigTimestampBeforeMax) }

// TimestampAfterMaxMs is how far a record's time may lie in the future, in ms.
func (c TopicConfig) TimestampAfterMaxMs() int64 { return c.long(ConfigTimestampAfterMax) }

// MinInsyncReplicas is what acks=all needs.
func (c TopicConfig) MinInsyncReplicas() int { return int(c.long(ConfigMinInsyncReplicas)) }

// LogAppendTime reports whether records take the time of their append (KIP-32).
func (c TopicConfig) LogAppendTime() bool { return c.Value(ConfigTimestampType) == "LogAppendTime" }

// Compacted reports whether cleanup.policy names compact: records need a key.
func (c TopicConfig) Compacted() bool {
	return slices.Contains(splitList(c.Value(ConfigCleanupPolicy)), "compact")
}

// Deleted reports whether cleanup.policy names delete: retention holds.
func (c TopicConfig) Deleted() bool {
	return slices.Contains(splitList(c.Value(ConfigCleanupPolicy)), "delete")
}

// Codec is the compression that compression.type asks for. For "producer" ok
// is false: a batch keeps the one it came with.
func (c TopicConfig) Codec() (codec records.Codec, ok bool) {
	switch c.Value(ConfigCompressionType) {
	case "uncompressed":
		return records.CodecNone, true
	case "gzip":
		return records.CodecGzip, true
	case "snappy":
		return records.CodecSnappy, true
	case "lz4":
		return records.CodecLZ4, true
	case "zstd":
		return records.CodecZstd, true
	}
	return records.CodecNone, false
}

// iggyNever and iggyUnlimited are Iggy's values for no expiry and no size limit.
const (
	iggyNever     = math.MaxUint64
	iggyUnlimited = math.MaxUint64
)

// iggyRetention is what Iggy is told: the age in µs at which messages expire
// and the size in bytes that the topic may have. Kafka counts bytes for each
// partition, Iggy for the topic. A topic that is only compacted keeps
// everything, as Iggy never compacts.
func (c TopicConfig) iggyRetention(partitions int32) (expiry, maxSize uint64) {
	expiry, maxSize = iggyNever, iggyUnlimited
	if !c.Deleted() {
		return expiry, maxSize
	}
	// 0 means "the server's default" to Iggy, so the shortest age is one µs.
	if ms := c.RetentionMs(); ms >= 0 && ms < math.MaxInt64/1000 {
		expiry = max(uint64(ms)*1000, 1)
	}
	if size, n := c.RetentionBytes(), int64(max(partitions, 1)); size >= 0 && size <= math.MaxInt64/n {
		maxSize = max(uint64(size*n), 1)
	}
	return expiry, maxSize
}

// nativeOverrides are the configurations that express what an Iggy client set
// on a topic of which the bridge knows nothing more.
func nativeOverrides(expiry, maxSize uint64, partitions int32) map[string]string {
	overrides := make(map[string]string, 2)
	switch expiry {
	case 0, iggyNever:
		overrides[ConfigRetentionMs] = "-1"
	default:
		overrides[ConfigRetentionMs] = strconv.FormatUint(expiry/1000, 10)
	}
	switch maxSize {
	case 0, iggyUnlimited:
		overrides[ConfigRetentionBytes] = "-1"
	default:
		overrides[ConfigRetentionBytes] = strconv.FormatUint(maxSize/uint64(max(partitions, 1)), 10)
	}
	return overrides
}
