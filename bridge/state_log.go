package bridge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// The internal state is a map of keys to JSON values, kept as a log: each
// change is a message in a topic of the state's stream, and reading the topic
// from its start gives the map. As Iggy never compacts, the log is begun anew
// from time to time, in a topic of the next generation:
//
//  1. A bridge appends a seal. The first seal ends the generation: what lies
//     behind it was never written.
//  2. Whoever sees a seal, the bridge that wrote it or any other, creates the
//     next generation's topic, appends all keys as a snapshot marked with a
//     number of its own, and then a message that declares that snapshot
//     complete. The first such message holds, other snapshots are ignored, and
//     changes count only behind it.
//  3. The old generation is deleted.
//
// So there is at any point exactly one generation that holds, however many
// bridges take part and wherever they stop: the last complete one.
type stateOp string

const (
	opPut         stateOp = "put"           // set a key
	opPutIfAbsent stateOp = "put-if-absent" // set a key that is not set
	opDelete      stateOp = "delete"        // remove a key that has this value
	opSnapshot    stateOp = "snapshot"      // a key of a snapshot
	opComplete    stateOp = "complete"      // a snapshot is whole
	opSeal        stateOp = "seal"          // the generation ends here
)

// stateRecord is a message of the state's log.
type stateRecord struct {
	Op       stateOp         `json:"op"`
	Key      string          `json:"key,omitempty"`
	Value    json.RawMessage `json:"value,omitempty"`
	Snapshot string          `json:"snapshot,omitempty"`
}

// generationPrefix begins the names of the state's topics; the generation's
// number follows.
const generationPrefix = "state."

func generationName(n int) string { return generationPrefix + strconv.Itoa(n) }

// generationNumber reads a generation's number from a topic's name.
func generationNumber(name string) (int, bool) {
	digits, ok := strings.CutPrefix(name, generationPrefix)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil && n >= 0 && digits == strconv.Itoa(n)
}

// stateLog is a generation as far as it was read. It does no I/O.
type stateLog struct {
	generation int
	next       int64 // offset of the next message to read
	complete   bool
	sealed     bool
	entries    map[string]json.RawMessage
	snapshots  map[string]map[string]json.RawMessage // until one is complete
	changes    int                                   // messages behind the snapshot
}

func newStateLog(generation int) *stateLog {
	return &stateLog{
		generation: generation,
		entries:    make(map[string]json.RawMessage),
		snapshots:  make(map[string]map[string]json.RawMessage),
	}
}

// apply takes the next message into account. A message that is not a record is
// an error and has no effect.
func (l *stateLog) apply(payload []byte) error {
	if l.sealed {
		return nil
	}
	var r stateRecord
	if err := json.Unmarshal(payload, &r); err != nil {
		return fmt.Errorf("generation %d, offset %d: %w", l.generation, l.next, err)
	}
	switch {
	case r.Op == opSeal:
		l.sealed = l.complete
		return nil
	case !l.complete:
		l.applySnapshot(r)
		return nil
	}
	l.changes++
	switch r.Op {
	case opPut:
		l.entries[r.Key] = r.Value
	case opPutIfAbsent:
		if _, ok := l.entries[r.Key]; !ok {
			l.entries[r.Key] = r.Value
		}
	case opDelete:
		// Between the decision to remove and this message somebody may have set
		// the key anew: that holds.
		if bytes.Equal(l.entries[r.Key], r.Value) {
			delete(l.entries, r.Key)
		}
	case opSnapshot, opComplete: // another bridge was faster
	default:
		return fmt.Errorf("generation %d, offset %d: unknown operation %q", l.generation, l.next, r.Op)
	}
	return nil
}

func (l *stateLog) applySnapshot(r stateRecord) {
	switch r.Op {
	case opSnapshot:
		entries := l.snapshots[r.Snapshot]
		if entries == nil {
			entries = make(map[string]json.RawMessage)
			l.snapshots[r.Snapshot] = entries
		}
		entries[r.Key] = r.Value
	case opComplete:
		l.complete = true
		if entries := l.snapshots[r.Snapshot]; entries != nil {
			l.entries = entries
		}
		l.snapshots = nil
	}
}

// worthSealing reports whether the log has grown long for what it holds.
func (l *stateLog) worthSealing(after int) bool {
	return l.complete && !l.sealed && l.changes > after+4*len(l.entries)
}

// defaultSealAfter is the number of changes below which a generation is never
// ended.
const defaultSealAfter = 1000

// snapshotRecords are the records that begin the next generation.
func (l *stateLog) snapshotRecords(id string) []stateRecord {
	records := make([]stateRecord, 0, len(l.entries)+1)
	for _, key := range slices.Sorted(maps.Keys(l.entries)) {
		records = append(records, stateRecord{Op: opSnapshot, Key: key, Value: l.entries[key], Snapshot: id})
	}
	return append(records, stateRecord{Op: opComplete, Snapshot: id})
}
