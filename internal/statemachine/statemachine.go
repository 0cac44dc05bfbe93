// Package statemachine is what coordinators' state machines and their runtime
// (package coordinator) agree on. A machine owns one partition of an internal
// topic, such as __consumer_offsets. It does no I/O and has no clock: requests
// and the time go in, actions come out. Its state is a function of the records
// of that partition, plus what does not need to survive a restart.
package statemachine

import (
	"iter"
	"time"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/records"
)

// Token names a request from the moment it goes into a machine until its answer
// comes out. The runtime never uses one twice for a machine. 0 is nobody's.
type Token uint64

// Call is a request.
type Call struct {
	Token Token
	// Key and Version are those of the request's header.
	Key, Version int16
	// ClientID and ClientHost describe the client: the host is its IP address
	// with a slash in front, as Kafka's coordinator shows it.
	ClientID, ClientHost string
	// Body is the request message of Key, or what the machine has for requests from
	// within. Its strings and bytes, and ClientID, are views of a frame that is
	// released when Handle has returned: what the machine keeps, or puts into an
	// action, it clones.
	Body any
}

// Action is something a machine wants done. Actions are carried out in their
// order, except that answers do not wait for other groups' records.
type Action struct {
	// Scope names what the action belongs to: a group id, a transactional id. An
	// answer is sent when all records of its scope from actions before it are
	// written.
	Scope string
	// Records are appended to the machine's partition, as one append: all or none.
	Records []records.Record
	// Token and Answer, when Answer is not nil, answer a request.
	Token  Token
	Answer generated.Message
	// Effect, when it is not nil, is something to be done outside of the machine,
	// when answers of the scope would be sent. Whoever does it tells the machine by
	// a request from within. It may get lost with the machine: one that is loaded
	// asks for it again.
	Effect any
}

// Machine is a coordinator of one partition. It is used by one goroutine at a
// time. The runtime replaces it by a new one, loaded from the log, when records
// could not be written: a machine's state never has to be turned back.
type Machine interface {
	// Replay applies a record of the log while the machine is loaded. The record's
	// bytes are views. A record that cannot be read is an error and changes
	// nothing; the runtime logs it and goes on, since a later release may have
	// written it.
	Replay(r *records.Record) error
	// Loaded says that the log has been replayed to its end.
	Loaded(now time.Time)
	// Handle takes a request. Its answer comes as an action, at once or later.
	Handle(now time.Time, c Call)
	// Next is when Tick has something to do, zero for never.
	Next() time.Time
	// Tick does what is due.
	Tick(now time.Time)
	// Take returns the actions since the last Take. They are the caller's.
	Take() []Action
	// Snapshot yields records that, replayed, give the present state: at most one
	// per key, and no tombstones. The machine must not change meanwhile.
	Snapshot() iter.Seq[records.Record]
	// Live is about how many records Snapshot yields.
	Live() int
}
