package bridge

import (
	"errors"
	"fmt"
	"testing"

	"kafka-iggy-bridge/internal/errorcode"
)

func TestErrorCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                                    string
		err                                     error
		partition, metadata, admin, coordinator int16
	}{
		{"no error", nil, 0, 0, 0, 0},
		{"an error of elsewhere", errors.New("odd"), -1, -1, -1, -1},
		{"Iggy is away", fmt.Errorf("x: %w", ErrUnavailable), 6, 5, 41, 15},
		{"the state is not loaded because Iggy is away", fmt.Errorf("%w: %w", ErrNotReady, ErrUnavailable), 6, 5, 41, 15},
		{"an unknown outcome, whatever the reason", fmt.Errorf("%w: %w", ErrOutcomeUnknown, ErrUnavailable), 7, 7, 7, 7},
		{"a call that took too long", ErrTimeout, 6, 5, 7, 15},
		{"a hole in the log", ErrStorage, 56, 5, 56, 15},
		{"out of range", ErrOffsetOutOfRange, 1, 1, 1, 1},
		{"no such topic", ErrTopicNotFound, 3, 3, 3, 3},
		{"no such id", ErrTopicIDNotFound, 100, 100, 100, 100},
		{"a topic there is", ErrTopicExists, 36, 36, 36, 36},
	} {
		t.Run(c.name, func(t *testing.T) {
			for scope, want := range map[Scope]int16{ScopePartition: c.partition, ScopeMetadata: c.metadata, ScopeAdmin: c.admin, ScopeCoordinator: c.coordinator} {
				if got := ErrorCodeIn(scope, c.err); got != want {
					t.Errorf("scope %d: code %d, want %d", scope, got, want)
				}
			}
			if ErrorCode(c.err) != c.partition {
				t.Errorf("ErrorCode is not the partition's code")
			}
		})
	}
}

func TestEveryErrorHasACode(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		ErrClosed, ErrUnavailable, ErrNotReady, ErrOutcomeUnknown, ErrTimeout, ErrStorage, ErrUnauthorized, ErrTopicNotFound, ErrTopicIDNotFound,
		ErrPartitionNotFound, ErrTopicExists, ErrInvalidTopicName, ErrInvalidPartitions, ErrInvalidConfig, ErrTooManyTopics, ErrOffsetOutOfRange,
		ErrRecordTooLarge, ErrCorruptBatch,
	} {
		if code := ErrorCode(err); code == errorcode.UnknownServerError || code == errorcode.None {
			t.Errorf("%v has code %d", err, code)
		}
	}
}

func TestConfigsThatAreRefused(t *testing.T) {
	t.Parallel()
	ok := Config{Address: "127.0.0.1:1", Username: "u", Password: "p"}
	for _, c := range []struct {
		name   string
		change func(*Config)
	}{
		{"no address", func(c *Config) { c.Address = "" }},
		{"no user", func(c *Config) { c.Username = "" }},
		{"a negative pool", func(c *Config) { c.PoolSize = -1 }},
		{"a negative time", func(c *Config) { c.RequestTimeout = -1 }},
		{"topics in the bridge's own stream", func(c *Config) { c.Stream = DefaultStateStream }},
		{"a topic in the bridge's own stream", func(c *Config) { c.Topics = map[string]Location{"a": {DefaultStateStream, "a"}} }},
		{"two topics in one place", func(c *Config) { c.Topics = map[string]Location{"a": {"s", "t"}, "b": {"s", "t"}} }},
		{"a name Kafka forbids", func(c *Config) { c.Topics = map[string]Location{"a b": {"s", "t"}} }},
		{"no topic to lie in", func(c *Config) { c.Topics = map[string]Location{"a": {"s", ""}} }},
		{"an unknown default", func(c *Config) { c.TopicDefaults = map[string]string{"log.retention.ms": "1"} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := ok
			c.change(&config)
			if _, err := New(config); err == nil {
				t.Fatal("accepted")
			}
		})
	}
	if _, err := New(ok); err != nil {
		t.Fatal(err)
	}
}
