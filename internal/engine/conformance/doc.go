// Package conformance holds the tests of what any server of Iggy 0.8's TCP protocol
// does. They run against the embedded engine always, and against a real server when
// IGGY_ADDRESS, IGGY_USERNAME and IGGY_PASSWORD name one: the same requests, the same
// assertions. Where the engine differs on purpose, the test says so by the name of a
// row of docs/ENGINE.md (see differences_test.go).
//
// A real server must be new, without a past of other streams and users, and used by
// nobody else; its user must be the root user. What the tests create there they delete
// again, but its counters go on, so one server serves one run.
package conformance
