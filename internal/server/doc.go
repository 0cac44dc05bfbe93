// Package server is the Kafka side of the bridge on the network: listeners,
// frames, the order of answers, limits and the graceful end.
//
// Each connection has a reader, and a worker and a writer while there is something
// for them to do. The reader takes frames off the socket, ahead of what is being
// worked on, within a budget of frames and bytes. The worker applies requests
// strictly in the order in which they came, one at a time, as a Kafka broker
// does. It sends an answer itself when the socket takes it at once and no other
// request waits; the writer sends the others, in the same order. What the client
// does not take piles up to a limit; then the worker stands still, the reader's
// budget is used up, and TCP tells the client to wait.
//
// Workers and writers are goroutines that all connections share. A connection
// that waits for its client has one goroutine, no buffers and no queues.
//
// A connection drains when there will be no more requests: the client has closed
// it, a frame was malformed, the bridge is shutting down. What was read before is
// still applied, and answered if the client can still be reached; what is parked
// answers at once. It aborts only when the grace time of a shutdown is over: what
// is at work loses its context, and what was not begun is dropped.
//
// The bytes of a frame belong to its request until the answer is written; the
// messages decoded from it are views of them. With the build tag framepoison,
// released frames are filled with rubbish, so a view that was kept shows.
package server
