package handlers

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/engine"
	"kafka-iggy-bridge/internal/errorcode"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/server/parking"
	"kafka-iggy-bridge/internal/wire"
)

// traceStep is a line of a recorded trace (testdata/kafka-answers/README.md).
type traceStep struct {
	adminExchange
	Trace      string
	Step       int
	Connection string
	AnsweredBy *int
	PauseMs    int
	Topic      string
	Partitions int32
	TopicID    string
	Records    []traceRecord
}

// traces reads a file's traces, in their order; the first line of each, which
// has no step, says what it is about.
func traces(t *testing.T, file string) [][]traceStep {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "testdata", "kafka-answers", file+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}()
	var list [][]traceStep
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var s traceStep
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		if s.Step == 0 {
			list = append(list, nil)
		}
		if s.Request != "" && !s.readable() {
			t.Fatalf("%s, step %d cannot be read", s.Trace, s.Step)
		}
		list[len(list)-1] = append(list[len(list)-1], s)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// readable decodes a step's messages; it may have no answer.
func (s *traceStep) readable() bool {
	if s.decode() {
		return true
	}
	answered := s.Response
	s.Response = s.Request // any hex will do where there is none
	s.decode()
	s.Response = answered
	return s.request != nil && (answered == "closed" || answered == "never")
}

// traceFixture is a bridge that coordinates groups as the recorded broker was
// configured, and keeps what it writes to __consumer_offsets.
type traceFixture struct {
	*adminFixture

	mu      sync.Mutex
	written []groupRecord
	failed  error
}

func newTraceFixture(t *testing.T, assignmentInterval time.Duration) *traceFixture {
	t.Helper()
	e, err := engine.Open(engine.Options{DataDir: t.TempDir(), Fsync: "never", Logger: adminLog()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeWithin(t, "engine", e.Close) })
	user, password := e.Credentials()
	b, err := bridge.New(bridge.Config{Address: e.Addr().String(), Username: user, Password: password, Logger: adminLog()})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeWithin(t, "bridge", b.Close) })
	f := &traceFixture{}
	options := groupOptionsOf(t)
	options.Config.MinSessionTimeout = 500 * time.Millisecond
	options.Config.MaxSize = 4
	options.Config.ConsumerMaxSize = 4
	options.Config.ConsumerSessionTimeout = 5 * time.Second
	options.Config.ConsumerHeartbeatInterval = time.Second
	options.Config.ConsumerAssignmentInterval = assignmentInterval
	options.Written = f.keepAll
	f.adminFixture = &adminFixture{t: t, h: newHandlers(t, adminConfig(), b, options), b: b, engine: e}
	f.await(func() bool { return b.Health() == nil })
	f.findCoordinators(6, keyTypeGroup, "g")
	f.await(func() bool {
		answer, err := f.ask(generated.KeyListGroups, 5, &generated.ListGroupsRequest{})
		return err == nil && firstCode(answer) == errorcode.None
	})
	return f
}

func (f *traceFixture) keepAll(rs []records.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range rs {
		r, err := keep(&rs[i])
		f.failed = errors.Join(f.failed, err)
		f.written = append(f.written, r)
	}
}

// of are all records of a trace's groups.
func (f *traceFixture) of(trace string) []groupRecord {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []groupRecord
	for _, r := range f.written {
		if id := r.groupID(); id == trace || strings.HasPrefix(id, trace+".") {
			list = append(list, r)
		}
	}
	return list
}

// traceRun replays one trace.
type traceRun struct {
	*traceFixture
	*sameness
	t    *testing.T
	last int // the number of the last step
	seen int // how many records have been compared
	// Kafka writes some records a moment after its answer, so what has no match is
	// looked for once more with the next step.
	unmatched stepRecords
	waiting   map[*traceStep]chan traceAnswer
	stop      context.CancelFunc
	ctx       context.Context
}

type traceAnswer struct {
	message generated.Message
	err     error
}

func TestReplayGroups(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"group-list", "group-admin", "group-classic", "group-static", "group-offsets", "group-consumer", "group-migration", "group-assignment-interval"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			var interval time.Duration
			if file == "group-assignment-interval" {
				interval = time.Second
			}
			f := newTraceFixture(t, interval)
			t.Run("traces", func(t *testing.T) {
				for _, steps := range traces(t, file) {
					t.Run(steps[0].Trace, func(t *testing.T) {
						t.Parallel()
						f.replay(t, steps)
					})
				}
			})
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.failed != nil {
				t.Error(f.failed)
			}
		})
	}
}

func (f *traceFixture) replay(t *testing.T, steps []traceStep) {
	ctx, stop := context.WithCancel(context.Background())
	r := &traceRun{last: len(steps) - 1, traceFixture: f, sameness: newSameness(), t: t, waiting: map[*traceStep]chan traceAnswer{}, ctx: ctx, stop: stop}
	defer r.end()
	for i := range steps[1:] {
		s := &steps[i+1]
		if _, ends := groupTraceEnds[s.Trace+": "+s.Why]; ends {
			return
		}
		switch {
		case s.Topic != "":
			r.topic(s)
		case s.PauseMs > 0:
			<-time.After(time.Duration(s.PauseMs) * time.Millisecond)
		default:
			r.send(s)
		}
		r.collect(s)
		r.compareRecords(s)
	}
}

// end lets go of what is still parked.
func (r *traceRun) end() {
	r.stop()
	for _, answers := range r.waiting {
		<-answers
	}
}

// topic makes, grows or deletes a topic.
func (r *traceRun) topic(s *traceStep) {
	r.t.Helper()
	recorded, err := wire.ParseUUID(s.TopicID)
	if err != nil {
		r.t.Fatal(err)
	}
	_, err = r.b.Topic(r.ctx, s.Topic)
	switch {
	case errors.Is(err, bridge.ErrTopicNotFound):
		var made *bridge.Topic
		if made, err = r.b.CreateTopic(r.ctx, s.Topic, bridge.TopicSpec{Partitions: s.Partitions}); err == nil {
			r.topics[recorded] = made.ID
		}
	case s.Partitions == 0:
		err = r.b.DeleteTopic(r.ctx, s.Topic)
	case err == nil:
		_, err = r.b.CreatePartitions(r.ctx, s.Topic, s.Partitions)
	}
	if err != nil {
		r.t.Fatalf("step %d, topic %s: %v", s.Step, s.Topic, err)
	}
}

// send sends a step's request. One that Kafka answers later has to park.
func (r *traceRun) send(s *traceStep) {
	r.ours(reflect.ValueOf(s.request))
	answers := make(chan traceAnswer, 1)
	r.waiting[s] = answers
	parked := make(chan struct{}, 1)
	lot := parking.NewLot(func(delta int) {
		if delta > 0 {
			parked <- struct{}{}
		}
	})
	ctx := parking.NewContext(r.ctx, lot)
	go func() {
		message, err := r.handle(ctx, s)
		answers <- traceAnswer{message, err}
	}()
	if s.AnsweredBy == nil && s.Response != "never" {
		return
	}
	select {
	case <-parked:
	case <-time.After(5 * time.Second):
		r.t.Errorf("step %d (%s): Kafka lets it wait, the bridge does not", s.Step, s.Why)
	}
	// Parked it is before the group knows of it, and no event tells of that.
	<-time.After(30 * time.Millisecond)
}

func (r *traceRun) handle(ctx context.Context, s *traceStep) (generated.Message, error) {
	endpoint, ok := r.h.Lookup(s.APIKey)
	if !ok {
		return nil, errors.New("not served")
	}
	api, _ := generated.LookupAPI(s.APIKey)
	frame, err := s.request.Append(nil, s.Version)
	if err != nil {
		return nil, err
	}
	req := &Request{Key: s.APIKey, Version: s.Version, ClientID: "rec", Body: api.NewRequest(), Peer: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}}
	if _, err := req.Body.Decode(s.Version, frame); err != nil {
		return nil, err
	}
	answer, err := endpoint.Handle(ctx, req)
	if err != nil {
		return nil, err
	}
	out, err := answer.Append(nil, s.Version)
	if err != nil {
		return nil, err
	}
	again := api.NewResponse()
	_, err = again.Decode(s.Version, out)
	return again, err
}

// collect takes the answers that Kafka gives at this step, and makes sure that
// no others come.
func (r *traceRun) collect(now *traceStep) {
	r.t.Helper()
	// In the order of sending: a newcomer learns its id before the leader is told.
	byStep := func(a, b *traceStep) int { return a.Step - b.Step }
	for _, s := range slices.SortedFunc(maps.Keys(r.waiting), byStep) {
		answers := r.waiting[s]
		due := s == now && s.AnsweredBy == nil && s.Response != "never" || s.AnsweredBy != nil && *s.AnsweredBy == now.Step
		if !due {
			select {
			case a := <-answers:
				delete(r.waiting, s)
				if s.Response != "never" {
					r.t.Errorf("step %d (%s %s): answered by step %d (%s), Kafka lets it wait: %+v", s.Step, s.API, s.Why, now.Step, now.Why, a.message)
				}
			default:
			}
			continue
		}
		delete(r.waiting, s)
		select {
		case a := <-answers:
			r.compareAnswer(s, a)
		case <-time.After(3 * time.Second):
			r.t.Errorf("step %d (%s %s): no answer by step %d (%s)", s.Step, s.API, s.Why, now.Step, now.Why)
			go func() { <-answers }()
		}
	}
}

func (r *traceRun) compareAnswer(s *traceStep, a traceAnswer) {
	r.t.Helper()
	if s.Response == "closed" {
		if a.err == nil {
			r.t.Errorf("step %d (%s v%d, %s): Kafka closes the connection, the bridge says %+v", s.Step, s.API, s.Version, s.Why, a.message)
		}
		return
	}
	if a.err != nil {
		r.t.Errorf("step %d (%s v%d, %s): %v", s.Step, s.API, s.Version, s.Why, a.err)
		return
	}
	if _, known := groupDifferences[s.Trace+": "+s.Why]; known {
		return
	}
	for _, d := range r.differences("", reflect.ValueOf(s.response), reflect.ValueOf(a.message)) {
		r.t.Errorf("step %d (%s v%d, %s) %s", s.Step, s.API, s.Version, s.Why, d)
	}
}

// groupDifferences are the answers, by trace and step, that are not compared,
// and why.
var groupDifferences = map[string]string{
	"classic-size: one more": leaderByHash,
	"classic-size: the fifth: one of the old members is not there yet": leaderByHash,
	"consumer-offsets: epoch 0, member null, version 9":                noMemberID,
	"consumer-offsets: epoch 1, member null, version 9":                noMemberID,
	"consumer-offsets: epoch 2, member null, version 9":                noMemberID,
	"consumer-offsets: epoch 3, member null, version 9":                noMemberID,
	"consumer-regex-alone: records of another expression":              "Kafka writes the member's assignment once more, as it was",
}

// groupTraceEnds are the steps at which traces are left, and why.
var groupTraceEnds = map[string]string{
	"consumer-preferences: wants range: one each": "with a tie of assignors Kafka counts by two hash tables that differ: two winners, and an epoch that grows with each heartbeat",
	"consumer-regex-alone: has it":                "when other traces make topics while an expression is worked out, the epoch may grow once more",
}

const (
	leaderByHash = "Kafka's new leader is the first in a hash table"
	noMemberID   = "Kafka fails with -1 on a null member id, the bridge knows no such member"
)
