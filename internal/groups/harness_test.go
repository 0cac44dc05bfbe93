package groups

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/statemachine"
	"kafka-iggy-bridge/internal/wire"
)

var update = flag.Bool("update", false, "rewrite the outputs of the golden traces")

// traceCommands are the commands of traces. Tests of other parts add theirs in
// their init functions.
var traceCommands = map[string]func(w *world, c *command){}

// onAnswer are called with each answer, so that clients learn from it what they
// send next: member ids, generations, epochs.
var onAnswer []func(c *client, answer generated.Message)

// beforeHandle do with each request what handlers do before the shard sees it.
var beforeHandle []func(w *world, body generated.Message)

// world is a shard with its log, its clients and a clock.
type world struct {
	t      testing.TB
	shard  *Shard
	config Config
	topics *TopicSet
	start  time.Time
	now    time.Time
	// log has the last record of each key, in the order in which they were written.
	log     []records.Record
	clients map[string]*client
	// open are the requests without answer, by token.
	open      map[statemachine.Token]*request
	lastToken statemachine.Token
	lastID    int
	// out is what the present command printed; nil throws it away.
	out *strings.Builder
	// lax leaves out the check of the log after each step.
	lax bool
}

// client is a client of the group, by the name that it has in the trace. What it
// learned is what its next requests say.
type client struct {
	name, group, instance string
	memberID              string
	generation            int32
	protocolType          string
	protocol, leader      string
	members               []string
	version               int16 // of its last request
	state                 any   // for the commands of other protocols
}

type request struct {
	client  *client
	version int16
	body    generated.Message
}

// command is a line of a trace: a name, words and key=value options.
type command struct {
	name string
	args []string
	opts map[string]string
}

func newWorld(t testing.TB) *world {
	w := &world{
		t:       t,
		config:  DefaultConfig(),
		topics:  NewTopicSet(nil),
		start:   time.UnixMilli(1_000_000),
		clients: make(map[string]*client),
		open:    make(map[statemachine.Token]*request),
	}
	w.now = w.start
	w.config.NewMemberID = func() string { w.lastID++; return strconv.Itoa(w.lastID) }
	w.config.NewMemberUUID = w.config.NewMemberID
	w.load()
	return w
}

// load makes the shard out of the log, as a restart does.
func (w *world) load() {
	w.shard = w.replay()
	w.shard.Loaded(w.now)
	w.settle()
}

func (w *world) replay() *Shard {
	s := NewShard(w.config, func() *TopicSet { return w.topics })
	for _, r := range w.log {
		if err := s.Replay(&r); err != nil {
			w.t.Fatalf("replay: %v", err)
		}
	}
	return s
}

// client finds a client, or makes it.
func (w *world) client(name string) *client {
	c, ok := w.clients[name]
	if !ok {
		c = &client{name: name, group: "g", generation: -1}
		w.clients[name] = c
	}
	return c
}

// send hands a request to the shard, out of a frame that is overwritten
// afterwards: what the shard keeps must be its own.
func (w *world) send(c *client, key, version int16, body generated.Message) {
	w.t.Helper()
	frame, err := body.Append(nil, version)
	if err != nil {
		w.t.Fatalf("%T of version %d: %v", body, version, err)
	}
	if _, err := body.Decode(version, frame); err != nil {
		w.t.Fatalf("%T of version %d: %v", body, version, err)
	}
	for _, prepare := range beforeHandle {
		prepare(w, body)
	}
	clientID := []byte(c.name)
	w.lastToken++
	c.version = version
	w.open[w.lastToken] = &request{c, version, body}
	w.shard.Handle(w.now, statemachine.Call{
		Token: w.lastToken, Key: key, Version: version, Body: body,
		ClientID: unsafe.String(unsafe.SliceData(clientID), len(clientID)), ClientHost: "/127.0.0.1",
	})
	for _, b := range [][]byte{frame, clientID} {
		for i := range b {
			b[i] = '!'
		}
	}
	w.settle()
}

// advance lets time pass, timer by timer.
func (w *world) advance(d time.Duration) {
	end := w.now.Add(d)
	for next := w.shard.Next(); !next.IsZero() && !next.After(end); next = w.shard.Next() {
		if next.After(w.now) {
			w.now = next
		}
		before := 0
		if w.out != nil {
			before = w.out.Len()
		}
		w.shard.Tick(w.now)
		w.settle()
		if w.out != nil && w.out.Len() > before {
			text := w.out.String()
			w.out.Reset()
			fmt.Fprintf(w.out, "%sat %v\n%s", text[:before], w.now.Sub(w.start), text[before:])
		}
	}
	w.now = end
}

// settle carries out the actions and checks what holds after each step.
func (w *world) settle() {
	w.t.Helper()
	for _, a := range w.shard.Take() {
		for _, r := range a.Records {
			w.append(r)
		}
		if a.Answer != nil {
			w.answered(a)
		}
	}
	if !w.lax {
		w.checkLog()
	}
}

func (w *world) append(r records.Record) {
	w.log = slices.DeleteFunc(w.log, func(old records.Record) bool { return string(old.Key) == string(r.Key) })
	w.log = append(w.log, r)
	w.printf("write %s\n", showRecord(w.t, r))
}

// answered checks that a request is answered once, in its version.
func (w *world) answered(a statemachine.Action) {
	w.t.Helper()
	req, ok := w.open[a.Token]
	if !ok {
		w.t.Fatalf("token %d of group %q is answered twice, or was never there: %s", a.Token, a.Scope, show(a.Answer))
	}
	delete(w.open, a.Token)
	frame, err := a.Answer.Append(nil, req.version)
	if err != nil {
		w.t.Fatalf("answer %s in version %d: %v", show(a.Answer), req.version, err)
	}
	answer := reflect.New(reflect.TypeOf(a.Answer).Elem()).Interface().(generated.Message)
	if _, err := answer.Decode(req.version, frame); err != nil {
		w.t.Fatalf("answer %s in version %d: %v", show(a.Answer), req.version, err)
	}
	w.printf("%s <- %s\n", req.client.name, show(answer))
	for _, learn := range onAnswer {
		learn(req.client, answer)
	}
}

// checkLog checks that the state is what the log replays to.
func (w *world) checkLog() {
	w.t.Helper()
	live, replayed := snapshotOf(w.t, w.shard), snapshotOf(w.t, w.replay())
	if diff := cmp.Diff(live, replayed); diff != "" {
		w.t.Fatalf("the log does not replay to the live state (-live +replayed):\n%s", diff)
	}
}

// snapshotOf gives the records of a snapshot in readable form, by key.
func snapshotOf(t testing.TB, s *Shard) map[string]string {
	t.Helper()
	snapshot := make(map[string]string)
	for r := range s.Snapshot() {
		if _, ok := snapshot[string(r.Key)]; ok || r.Value == nil {
			t.Fatalf("snapshot: a key twice, or a tombstone: %s", showRecord(t, r))
		}
		snapshot[string(r.Key)] = string(r.Value)
	}
	return snapshot
}

func (w *world) printf(format string, args ...any) {
	if w.out != nil {
		fmt.Fprintf(w.out, format, args...)
	}
}

// run executes a line of a trace and returns what happened.
func (w *world) run(line string) string {
	w.t.Helper()
	fields := strings.Fields(line)
	c := &command{name: fields[0], opts: make(map[string]string)}
	for _, f := range fields[1:] {
		if k, v, ok := strings.Cut(f, "="); ok {
			c.opts[k] = v
		} else {
			c.args = append(c.args, f)
		}
	}
	do, ok := traceCommands[c.name]
	if !ok {
		w.t.Fatalf("unknown command %q; there are %v", c.name, slices.Sorted(maps.Keys(traceCommands)))
	}
	w.out = new(strings.Builder)
	do(w, c)
	if len(c.opts) > 0 {
		w.t.Fatalf("%s: unknown options %v", line, slices.Sorted(maps.Keys(c.opts)))
	}
	return w.out.String()
}

// opt takes an option out of a command.
func (c *command) opt(name, otherwise string) string {
	v, ok := c.opts[name]
	if !ok {
		return otherwise
	}
	delete(c.opts, name)
	return v
}

func (c *command) num(w *world, name string, otherwise int) int {
	n, err := strconv.Atoi(c.opt(name, strconv.Itoa(otherwise)))
	if err != nil {
		w.t.Fatalf("%s: %v", name, err)
	}
	return n
}

func (c *command) ms(w *world, name, otherwise string) int32 {
	d, err := time.ParseDuration(c.opt(name, otherwise))
	if err != nil {
		w.t.Fatalf("%s: %v", name, err)
	}
	return int32(d.Milliseconds())
}

// nullable is an option that is null when it is not given.
func (c *command) nullable(name, otherwise string) wire.NullString {
	v := c.opt(name, otherwise)
	return wire.NullString{S: v, Valid: v != ""}
}

// topicID is the id that a topic has in traces.
func topicID(name string) (id wire.UUID) {
	copy(id[:], name)
	id[15] = 1
	return id
}

// TestTraces runs the golden traces: commands, a line of dashes, and what the
// shard did. An empty line ends that. With -update the outputs are rewritten.
func TestTraces(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*/*.trace")
	if err != nil || len(files) == 0 {
		t.Fatalf("no traces: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(strings.TrimPrefix(file, "testdata/"), ".trace"), func(t *testing.T) {
			t.Parallel()
			runTrace(t, file)
		})
	}
}

func runTrace(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	var got, output strings.Builder
	skip := false // the old output
	for i, line := range strings.Split(strings.TrimRight(string(text), "\n"), "\n") {
		switch {
		case skip && line != "":
			continue
		case line == "----":
			skip = true
			got.WriteString(line + "\n" + output.String())
			output.Reset()
			continue
		}
		skip = false
		got.WriteString(line + "\n")
		if line != "" && line[0] != '#' {
			if output.WriteString(w.run(line)); t.Failed() {
				t.Fatalf("%s:%d: %s", file, i+1, line)
			}
		}
	}
	if output.Len() > 0 {
		got.WriteString("----\n" + output.String())
	}
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(string(text), got.String()); diff != "" {
		t.Errorf("%s (-file +now; -update rewrites it):\n%s", file, diff)
	}
}
