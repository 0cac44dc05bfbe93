package groups

import (
	"strconv"
	"strings"
	"time"
)

func init() {
	traceCommands["tick"] = traceTick
	traceCommands["restart"] = traceRestart
	traceCommands["config"] = traceConfig
	traceCommands["topics"] = traceTopics
}

// traceTick lets time pass: "tick 10s".
func traceTick(w *world, c *command) {
	d, err := time.ParseDuration(c.args[0])
	if err != nil {
		w.t.Fatal(err)
	}
	w.advance(d)
}

// traceRestart loads the shard from its log. Requests that wait are answered by
// the runtime then, and not by the shard.
func traceRestart(w *world, _ *command) {
	clear(w.open)
	w.load()
}

// traceConfig changes the configuration, from a restart on.
func traceConfig(w *world, c *command) {
	durations := map[string]*time.Duration{
		"initial-delay":      &w.config.InitialRebalanceDelay,
		"offsets-retention":  &w.config.OffsetsRetention,
		"retention-check":    &w.config.OffsetsRetentionCheck,
		"consumer-session":   &w.config.ConsumerSessionTimeout,
		"consumer-heartbeat": &w.config.ConsumerHeartbeatInterval,
		"regex-refresh":      &w.config.RegexRefreshInterval,
	}
	for name, d := range durations {
		*d = time.Duration(c.ms(w, name, d.String())) * time.Millisecond
	}
	w.config.MaxSize = c.num(w, "max-size", w.config.MaxSize)
	w.config.ConsumerMaxSize = c.num(w, "consumer-max-size", w.config.ConsumerMaxSize)
	w.config.OffsetMetadataMaxBytes = c.num(w, "max-metadata", w.config.OffsetMetadataMaxBytes)
	w.load()
}

// traceTopics says which topics there are: "topics orders:3 payments:1".
func traceTopics(w *world, c *command) {
	var topics []Topic
	for _, arg := range c.args {
		name, partitions, _ := strings.Cut(arg, ":")
		n, err := strconv.Atoi(partitions)
		if err != nil {
			w.t.Fatal(err)
		}
		topics = append(topics, Topic{Name: name, ID: topicID(name), Partitions: int32(n)})
	}
	w.topics = NewTopicSet(topics)
}
