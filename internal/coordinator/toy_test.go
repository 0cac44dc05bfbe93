package coordinator

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

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
