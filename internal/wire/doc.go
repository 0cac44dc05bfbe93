// Package wire holds the primitives that the generated message code is written
// in: a bounds-checked reader over one frame, an append-style writer that
// leaves large records where they are, and the descriptions of messages that
// tools read.
//
// Everything follows the Kafka protocol guide and KIP-482 (compact forms and
// tagged fields). Decoded strings, bytes and records are views of the frame:
// they are valid as long as the frame is.
package wire
