package bridge

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// ConfigType is the type of a configuration's value, numbered as DescribeConfigs
// numbers it.
type ConfigType int8

// The types that topic configurations have.
const (
	ConfigBoolean ConfigType = 1
	ConfigString  ConfigType = 2
	ConfigInt     ConfigType = 3
	ConfigLong    ConfigType = 5
	ConfigDouble  ConfigType = 6
	ConfigList    ConfigType = 7
)

// ConfigDef defines a topic configuration.
type ConfigDef struct {
	// Name is the configuration's name.
	Name string
	// Type is what its value is.
	Type ConfigType
	// Default is Kafka's own default value.
	Default string
	// Effective reports whether the bridge acts on it. The others are checked,
	// kept and reported, and change nothing.
	Effective bool

	min, max float64
	also     []string // numbers or names that are allowed whatever else holds
	oneOf    []string
}

const (
	maxLong = "9223372036854775807"
	noMin   = -math.MaxFloat64
	noMax   = math.MaxFloat64
)

// Names of the configurations that the bridge acts on.
const (
	ConfigCleanupPolicy      = "cleanup.policy"
	ConfigCompressionType    = "compression.type"
	ConfigMaxMessageBytes    = "max.message.bytes"
	ConfigMaxDecompressed    = "max.decompressed.message.bytes"
	ConfigTimestampType      = "message.timestamp.type"
	ConfigTimestampBeforeMax = "message.timestamp.before.max.ms"
	ConfigTimestampAfterMax  = "message.timestamp.after.max.ms"
	ConfigMinInsyncReplicas  = "min.insync.replicas"
	ConfigRetentionBytes     = "retention.bytes"
	ConfigRetentionMs        = "retention.ms"
)

// configDefs are the topic configurations of Kafka 4.4.0, sorted by name, with
// its types, defaults and limits.
var configDefs = []ConfigDef{
	{Name: ConfigCleanupPolicy, Type: ConfigList, Default: "delete", Effective: true, oneOf: []string{"compact", "delete"}},
	{Name: "compression.gzip.level", Type: ConfigInt, Default: "-1", min: 1, max: 9, also: []string{"-1"}},
	{Name: "compression.lz4.level", Type: ConfigInt, Default: "9", min: 1, max: 17},
	{Name: ConfigCompressionType, Type: ConfigString, Default: "producer", Effective: true, oneOf: []string{"uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"}},
	{Name: "compression.zstd.level", Type: ConfigInt, Default: "3", min: -131072, max: 22},
	{Name: "delete.retention.ms", Type: ConfigLong, Default: "86400000", min: 0, max: noMax},
	{Name: "errors.deadletterqueue.group.enable", Type: ConfigBoolean, Default: "false"},
	{Name: "file.delete.delay.ms", Type: ConfigLong, Default: "60000", min: 0, max: noMax},
	{Name: "flush.messages", Type: ConfigLong, Default: maxLong, min: 1, max: noMax},
	{Name: "flush.ms", Type: ConfigLong, Default: maxLong, min: 0, max: noMax},
	{Name: "follower.replication.throttled.replicas", Type: ConfigList},
	{Name: "index.interval.bytes", Type: ConfigInt, Default: "4096", min: 0, max: noMax},
	{Name: "leader.replication.throttled.replicas", Type: ConfigList},
	{Name: "local.retention.bytes", Type: ConfigLong, Default: "-2", min: -2, max: noMax},
	{Name: "local.retention.ms", Type: ConfigLong, Default: "-2", min: -2, max: noMax},
	{Name: "max.compaction.lag.ms", Type: ConfigLong, Default: maxLong, min: 1, max: noMax},
	{Name: ConfigMaxDecompressed, Type: ConfigInt, Default: "2147483639", Effective: true, min: 1, max: 2147483639},
	{Name: ConfigMaxMessageBytes, Type: ConfigInt, Default: "1048588", Effective: true, min: 0, max: noMax},
	{Name: ConfigTimestampAfterMax, Type: ConfigLong, Default: "3600000", Effective: true, min: 0, max: noMax},
	{Name: ConfigTimestampBeforeMax, Type: ConfigLong, Default: maxLong, Effective: true, min: 0, max: noMax},
	{Name: ConfigTimestampType, Type: ConfigString, Default: "CreateTime", Effective: true, oneOf: []string{"CreateTime", "LogAppendTime"}},
	{Name: "min.cleanable.dirty.ratio", Type: ConfigDouble, Default: "0.5", min: 0, max: 1},
	{Name: "min.compaction.lag.ms", Type: ConfigLong, Default: "0", min: 0, max: noMax},
	{Name: ConfigMinInsyncReplicas, Type: ConfigInt, Default: "1", min: 1, max: noMax},
	{Name: "preallocate", Type: ConfigBoolean, Default: "false"},
	{Name: "remote.copy.lag.bytes", Type: ConfigLong, Default: "-1", min: -1, max: noMax},
	{Name: "remote.copy.lag.ms", Type: ConfigLong, Default: "0", min: -1, max: noMax},
	{Name: "remote.log.copy.disable", Type: ConfigBoolean, Default: "false"},
	{Name: "remote.log.delete.on.disable", Type: ConfigBoolean, Default: "false"},
	{Name: "remote.storage.enable", Type: ConfigBoolean, Default: "false"},
	{Name: ConfigRetentionBytes, Type: ConfigLong, Default: "-1", Effective: true, min: noMin, max: noMax},
	{Name: ConfigRetentionMs, Type: ConfigLong, Default: "604800000", Effective: true, min: -1, max: noMax},
	{Name: "segment.bytes", Type: ConfigInt, Default: "1073741824", min: 1048576, max: noMax},
	{Name: "segment.index.bytes", Type: ConfigInt, Default: "10485760", min: 4, max: noMax},
	{Name: "segment.jitter.ms", Type: ConfigLong, Default: "0", min: 0, max: noMax},
	{Name: "segment.ms", Type: ConfigLong, Default: "604800000", min: 1, max: noMax},
	{Name: "unclean.leader.election.enable", Type: ConfigBoolean, Default: "false"},
}

// TopicConfigs are the definitions of all topic configurations, sorted by name.
func TopicConfigs() []ConfigDef { return slices.Clone(configDefs) }

// LookupTopicConfig finds the definition of a topic configuration.
func LookupTopicConfig(name string) (ConfigDef, bool) {
	i, ok := slices.BinarySearchFunc(configDefs, name, func(d ConfigDef, n string) int { return strings.Compare(d.Name, n) })
	if !ok {
		return ConfigDef{}, false
	}
	return configDefs[i], true
}

// Check reports whether value is one that the configuration can have. The
// error wraps ErrInvalidConfig and its text is Kafka's.
func (d *ConfigDef) Check(value string) error {
	value = strings.TrimSpace(value)
	switch d.Type {
	case ConfigBoolean:
		if !strings.EqualFold(value, "true") && !strings.EqualFold(value, "false") {
			return d.invalid(value, "Expected value to be either true or false")
		}
	case ConfigInt, ConfigLong, ConfigDouble:
		return d.checkNumber(value)
	case ConfigString:
		if !slices.Contains(d.oneOf, value) {
			return d.invalid(value, "String must be one of: "+strings.Join(d.oneOf, ", "))
		}
	case ConfigList:
		return d.checkList(value)
	}
	return nil
}

func (d *ConfigDef) checkNumber(value string) error {
	var number float64
	var err error
	var kind string
	switch d.Type {
	case ConfigInt:
		kind = "INT"
		var n int64
		n, err = strconv.ParseInt(value, 10, 32)
		number = float64(n)
	case ConfigLong:
		kind = "LONG"
		var n int64
		n, err = strconv.ParseInt(value, 10, 64)
		number = float64(n)
	default:
		kind = "DOUBLE"
		number, err = strconv.ParseFloat(value, 64)
		if math.IsNaN(number) {
			return d.invalid(value, "Not a number of type DOUBLE")
		}
	}
	switch {
	case err != nil:
		return d.invalid(value, "Not a number of type "+kind)
	case slices.Contains(d.also, value):
		return nil
	case len(d.also) > 0 && (number < d.min || number > d.max):
		return d.invalid(value, fmt.Sprintf("Value must be between %v and %v or equal to %s", d.min, d.max, strings.Join(d.also, ", ")))
	case number < d.min:
		return d.invalid(value, "Value must be at least "+strconv.FormatFloat(d.min, 'f', -1, 64))
	case number > d.max:
		return d.invalid(value, "Value must be no more than "+strconv.FormatFloat(d.max, 'f', -1, 64))
	}
	return nil
}

// checkList checks a comma-separated list. As in Kafka 4.4.0 it may be empty and
// name something twice.
func (d *ConfigDef) checkList(value string) error {
	if len(d.oneOf) == 0 {
		return d.checkReplicas(value)
	}
	for _, item := range splitList(value) {
		if !slices.Contains(d.oneOf, item) {
			return d.invalid(item, "String must be one of: "+strings.Join(d.oneOf, ", "))
		}
	}
	return nil
}

// checkReplicas checks the value of the throttled replicas: "*", or pairs of
// partition and broker.
func (d *ConfigDef) checkReplicas(value string) error {
	items := splitList(value)
	if len(items) == 1 && items[0] == "*" {
		return nil
	}
	for _, item := range items {
		partition, broker, ok := strings.Cut(item, ":")
		_, err1 := strconv.ParseUint(partition, 10, 31)
		_, err2 := strconv.ParseUint(broker, 10, 31)
		if !ok || err1 != nil || err2 != nil {
			return d.invalid("["+strings.Join(items, ", ")+"]", d.Name+
				" must be the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],...")
		}
	}
	return nil
}

func (d *ConfigDef) invalid(value, why string) error {
	return fmt.Errorf("%w: Invalid value %s for configuration %s: %s", ErrInvalidConfig, value, d.Name, why)
}

func splitList(value string) []string {
	var items []string
	for item := range strings.SplitSeq(value, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}
