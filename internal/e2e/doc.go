// Package e2e holds the tests that run the built binary and reach it as its users
// do: Kafka clients over TCP on one side, Iggy's SDK on the other.
package e2e
