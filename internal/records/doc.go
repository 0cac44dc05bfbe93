// Package records reads, checks, compresses and writes Kafka record batches of
// magic 2, the only format that Produce v3+ and Fetch v4+ carry (KIP-98).
//
// Reading copies nothing: keys, values and header values are views of the batch
// (or of its decompressed records), and header names are strings laid over the
// same bytes. Whoever keeps one of them longer than the batch clones it.
// Iterating, validating and building allocate nothing per record, and nothing
// per batch once the pools are warm.
//
// Nothing here trusts a length: each is checked against the bytes at hand, and
// decompression stops at a limit that the caller sets.
//
// The package knows nothing of sockets, topics or Iggy and imports nothing of
// this module.
package records
