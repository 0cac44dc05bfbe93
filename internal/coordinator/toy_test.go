package coordinator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/records"
	"kafka-iggy-bridge/internal/statemachine"
)

// toy is a machine that keeps strings by key. A key's scope is what stands before
// its slash. Its requests are the keys of FindCoordinator requests, its answers
// the hosts of the answers:
//
//	set KEY VALUE...   writes all values, one after the other, as one action
//	get KEY            answers the value
//	park SCOPE         answers when the scope is woken
//	wake SCOPE         answers those who are parked, then itself
//	later MS KEY VALUE sets in that time, and answers then
//	effect SCOPE NAME  has something done outside, then answers
//	panic              panics
type toy struct {
	values  map[string]string
	parked  map[string][]statemachine.Token
	later   map[time.Time]func()
	actions []statemachine.Action
	loaded  bool
}

func newToy() statemachine.Machine {
	return &toy{values: map[string]string{}, parked: map[string][]statemachine.Token{}, later: map[time.Time]func(){}}
}

func (m *toy) Replay(r *records.Record) error {
	switch key := string(r.Key); {
	case key == "bad":
		return errors.New("bad record")
	case key == "boom":
		panic("boom")
	case r.Value == nil:
		delete(m.values, key)
	default:
		m.values[key] = string(r.Value)
	}
	return nil
}

func (m *toy) Loaded(time.Time) {
	if m.values["loaded/panic"] != "" {
		panic("loaded")
	}
	m.loaded = true
}

func (m *toy) set(key string, token statemachine.Token, values ...string) {
	scope, _, _ := strings.Cut(key, "/")
	var rs []records.Record
	for _, v := range values {
		m.values[key] = strings.Clone(v)
		rs = append(rs, records.Record{Key: []byte(key), Value: []byte(v)})
	}
	m.actions = append(m.actions, statemachine.Action{Scope: strings.Clone(scope), Records: rs, Token: token, Answer: said("ok")})
}

func (m *toy) Handle(now time.Time, c statemachine.Call) {
	words := strings.Fields(c.Body.(*generated.FindCoordinatorRequest).Key)
	switch words[0] {
	case "set":
		m.set(words[1], c.Token, words[2:]...)
	case "get":
		scope, _, _ := strings.Cut(words[1], "/")
		m.actions = append(m.actions, statemachine.Action{Scope: scope, Token: c.Token, Answer: said(m.values[words[1]])})
	case "park":
		m.parked[words[1]] = append(m.parked[words[1]], c.Token)
	case "wake":
		for _, token := range append(m.parked[words[1]], c.Token) {
			m.actions = append(m.actions, statemachine.Action{Scope: words[1], Token: token, Answer: said("awake")})
		}
		delete(m.parked, words[1])
	case "effect":
		scope := strings.Clone(words[1])
		m.actions = append(m.actions,
			statemachine.Action{Scope: scope, Effect: strings.Clone(words[2])},
			statemachine.Action{Scope: scope, Token: c.Token, Answer: said("ok")})
	case "later":
		var ms int
		if _, err := fmt.Sscan(words[1], &ms); err != nil {
			panic(err)
		}
		m.later[now.Add(time.Duration(ms)*time.Millisecond)] = func() {
			if words[3] == "panic" {
				panic("later")
			}
			m.set(words[2], c.Token, words[3])
		}
	default:
		panic(words[0])
	}
}

func (m *toy) Next() time.Time {
	var next time.Time
	for at := range m.later {
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next
}

func (m *toy) Tick(now time.Time) {
	for at, f := range m.later {
		if !at.After(now) {
			delete(m.later, at)
			f()
		}
	}
}

func (m *toy) Take() []statemachine.Action {
	actions := m.actions
	m.actions = nil
	return actions
}

func (m *toy) Snapshot() iter.Seq[records.Record] {
	if m.values["snapshot/panic"] != "" {
		panic("snapshot")
	}
	return func(yield func(records.Record) bool) {
		for _, key := range slices.Sorted(maps.Keys(m.values)) {
			if !yield(records.Record{Key: []byte(key), Value: []byte(m.values[key])}) {
				return
			}
		}
	}
}

func (m *toy) Live() int { return len(m.values) }

func said(text string) generated.Message {
	m := generated.DefaultFindCoordinatorResponse()
	m.Host = text
	return &m
}

// fakeLog is a log in memory. The functions, where set, decide what calls do.
type fakeLog struct {
	mu       sync.Mutex
	records  []records.Record
	appends  []int // records of each append
	loads    int
	compacts int
	busy     bool

	onAppend  func(ctx context.Context, n int) (written bool, err error)
	onLoad    func(n int) error
	onCompact func() error
}

// enter makes sure that nothing else is at work.
func (l *fakeLog) enter() func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy {
		panic("two uses of a log at a time")
	}
	l.busy = true
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.busy = false
	}
}

func (l *fakeLog) Load(_ context.Context, apply func(*records.Record)) error {
	defer l.enter()()
	l.mu.Lock()
	l.loads++
	n, on, rs := l.loads, l.onLoad, slices.Clone(l.records)
	l.mu.Unlock()
	for i := range rs {
		apply(&rs[i])
	}
	if on != nil {
		return on(n)
	}
	return nil
}

func (l *fakeLog) Append(ctx context.Context, rs []records.Record) error {
	defer l.enter()()
	l.mu.Lock()
	l.appends = append(l.appends, len(rs))
	n, on := len(l.appends), l.onAppend
	l.mu.Unlock()
	written, err := true, error(nil)
	if on != nil {
		written, err = on(ctx, n)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if written {
		l.records = append(l.records, rs...)
	}
	return err
}

func (l *fakeLog) Compact(_ context.Context, snapshot iter.Seq[records.Record]) error {
	defer l.enter()()
	l.mu.Lock()
	l.compacts++
	on := l.onCompact
	l.mu.Unlock()
	if on != nil {
		if err := on(); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = slices.Collect(snapshot)
	return nil
}

func (l *fakeLog) Len() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(len(l.records))
}

// do runs f with the log locked.
func (l *fakeLog) do(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

// content is what the log's records amount to.
func (l *fakeLog) content() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := newToy().(*toy)
	for i := range l.records {
		if err := m.Replay(&l.records[i]); err != nil {
			panic(err)
		}
	}
	return m.values
}

// metrics counts what is told to it.
type metrics struct {
	mu                                         sync.Mutex
	loads, failedLoads, appends, failedAppends int
	compactions, failedCompactions, records    int
}

func (m *metrics) count(all, failed *int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	*all++
	if err != nil {
		*failed++
	}
}

func (m *metrics) CoordinatorLoaded(_ string, _ int, _ time.Duration, err error) {
	m.count(&m.loads, &m.failedLoads, err)
}

func (m *metrics) CoordinatorAppended(_ string, n int, _ time.Duration, err error) {
	m.count(&m.appends, &m.failedAppends, err)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records += n
}

func (m *metrics) CoordinatorCompacted(_ string, _ int, _ time.Duration, err error) {
	m.count(&m.compactions, &m.failedCompactions, err)
}

// fixture is a coordinator of toys with one partition, unless changed.
type fixture struct {
	t    *testing.T
	c    *Coordinator
	log  *fakeLog
	told *metrics
}

func newFixture(t *testing.T, change func(*Options)) *fixture {
	t.Helper()
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	f := &fixture{t: t, log: &fakeLog{}, told: &metrics{}}
	one := func(context.Context) (int32, error) { return 1, nil }
	options := Options{
		Name: "toys", Find: one, Open: one,
		Log:     func(int32) Log { return f.log },
		Machine: newToy,
		Metrics: f.told,
		Logger:  logger,
	}
	if change != nil {
		change(&options)
	}
	f.c = New(options)
	return f
}

// inBubble runs a test in virtual time: every goroutine must have ended when it
// is over, and the clock goes on when all of them wait.
func inBubble(t *testing.T, change func(*Options), test func(f *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, change)
		test(f)
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		if err := f.c.Close(ctx); err != nil {
			t.Error(err)
		}
		// What the coordinator began has ended: Close waits for it.
	})
}

// start loads the machine.
func (f *fixture) start() {
	f.c.Start()
	synctest.Wait()
}

// outcome is how a call has ended.
type outcome struct {
	said string
	err  error
}

func (f *fixture) callWith(ctx context.Context, text string) outcome {
	body := generated.DefaultFindCoordinatorRequest()
	body.Key = text
	m, err := f.c.Call(ctx, text, statemachine.Call{Body: &body})
	if err != nil {
		return outcome{err: err}
	}
	return outcome{said: m.(*generated.FindCoordinatorResponse).Host}
}

func (f *fixture) call(text string) outcome { return f.callWith(context.Background(), text) }

// want makes a call and compares.
func (f *fixture) want(text, said string) {
	f.t.Helper()
	if got := f.call(text); got.said != said || got.err != nil {
		f.t.Errorf("%s: %q, %v; want %q", text, got.said, got.err, said)
	}
}

// fails makes a call that fails.
func (f *fixture) fails(text string, want error) {
	f.t.Helper()
	if got := f.call(text); !errors.Is(got.err, want) {
		f.t.Errorf("%s: %q, %v; want %v", text, got.said, got.err, want)
	}
}

// begin makes a call on a goroutine of its own and returns when it waits or has
// ended.
func (f *fixture) begin(text string) <-chan outcome {
	ch := make(chan outcome, 1)
	go func() { ch <- f.call(text) }()
	synctest.Wait()
	return ch
}

// pending reports that a call has not ended.
func (f *fixture) pending(what string, ch <-chan outcome) {
	f.t.Helper()
	synctest.Wait()
	select {
	case o := <-ch:
		f.t.Errorf("%s ended too early: %+v", what, o)
	default:
	}
}

// ended takes the outcome of a call that must have ended.
func (f *fixture) ended(what string, ch <-chan outcome) outcome {
	f.t.Helper()
	synctest.Wait()
	select {
	case o := <-ch:
		return o
	default:
		f.t.Fatalf("%s has not ended", what)
		return outcome{}
	}
}

// gate makes appends wait until something is sent to it: what they return then.
func (f *fixture) gate() chan error {
	ch := make(chan error)
	f.log.do(func() {
		f.log.onAppend = func(ctx context.Context, _ int) (bool, error) {
			select {
			case err := <-ch:
				return err == nil, err
			case <-ctx.Done():
				return false, ctx.Err()
			}
		}
	})
	return ch
}
