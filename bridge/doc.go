// Package bridge keeps Kafka's concepts - topics with ids and configurations,
// partitions with offsets, record batches, producer ids - in Apache Iggy.
//
// It is the only package that talks to Iggy, through Iggy's Go SDK. The
// mapping it implements is written down in docs/MAPPING.md; files are named by
// what they hold: encode.go and decode.go map records, produce.go and fetch.go
// move them, catalog.go knows the topics, state.go keeps what Iggy has no place
// for, compacted_*.go keep Kafka's internal topics, and sdk_*.go supervise the
// SDK's connections.
//
// A Bridge starts and answers while Iggy is away: operations then fail with
// errors that ErrorCode turns into codes on which Kafka clients retry, Health
// says what is wrong, and everything recovers without a restart.
//
// # Locks
//
// Where locks nest they are taken in this order: catalog, topicState,
// partition, batchCache. The watch hub's, the state's, the lanes' and the
// internal topics' locks are leaves: nothing else is taken while one of them is held. No lock is held
// across a call to Iggy except the ones whose purpose that is: a lane's
// ownership and the catalog's per-name creation lock.
package bridge
