package bridge

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"kafka-iggy-bridge/internal/records"
)

func TestAnotherBridgeInTheMiddleOfACompaction(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		// act is what the other bridge does; it returns what it was confirmed.
		act func(t *testing.T, l *CompactedLog) contents
	}{
		{"appends to what it had loaded", func(t *testing.T, l *CompactedLog) contents {
			if err := l.Append(testContext(t), []records.Record{keyed("other", "1")}); err == nil {
				return contents{"other": "1"}
			}
			return nil
		}},
		{"loads and appends", func(t *testing.T, l *CompactedLog) contents {
			loadLog(t, l)
			appendLog(t, l, keyed("other", "1"))
			return contents{"other": "1"}
		}},
		{"loads, compacts and appends", func(t *testing.T, l *CompactedLog) contents {
			compactLog(t, l, loadLog(t, l))
			appendLog(t, l, keyed("other", "1"))
			return contents{"other": "1"}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for step := 1; ; step++ {
				f := newFakeIggy()
				mine, other := openLog(t, startBridge(t, quietConfig(f)), 0), openLog(t, startBridge(t, quietConfig(f)), 0)
				want := fillLog(t, mine, 10)
				loadLog(t, other)
				calls := 0
				var confirmed contents
				f.hooks(func(call fakeCall) error {
					if calls < 0 || !onGenerations(call) {
						return nil
					}
					if calls++; calls == step {
						calls = -1 // the other's own calls do not count
						confirmed = c.act(t, other)
					}
					return nil
				}, nil)
				err := mine.Compact(testContext(t), want.snapshot())
				f.hooks(nil, nil)
				for k, v := range confirmed {
					want[k] = v
				}
				mineKey := keyed("mine", "1")
				if mine.Append(testContext(t), []records.Record{mineKey}) == nil || loadLog(t, mine)["mine"] != "" {
					want.apply(&mineKey) // what is not confirmed may be there all the same
				}
				wantContents(t, openLog(t, startBridge(t, quietConfig(f)), 0), want)
				wantContents(t, mine, want)
				wantContents(t, other, want)
				if calls >= 0 {
					if err != nil || step < 8 {
						t.Fatalf("undisturbed, with %d steps: %v", step-1, err)
					}
					return
				}
			}
		})
	}
}

// TestCompactedLogsUnderChance lets two bridges do at random what they like, with
// faults: whatever was confirmed is there in the end.
func TestCompactedLogsUnderChance(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			newChances(t, seed).run(t)
		})
	}
}

// chances is a run of TestCompactedLogsUnderChance.
type chances struct {
	rng       *rand.Rand
	fake      *fakeIggy
	clock     *testClock
	bridges   []*Bridge
	states    []contents // of each bridge's log, nil when it is to be loaded
	confirmed contents
	percent   int // of calls that fail
}

func newChances(t *testing.T, seed uint64) *chances {
	c := &chances{rng: rand.New(rand.NewPCG(seed, 1)), fake: newFakeIggy(), clock: newTestClock(), confirmed: make(contents)}
	config := quietConfig(c.fake)
	config.Now, config.OperationTimeout = c.clock.Now, 50*time.Millisecond
	for range 2 {
		b := startBridge(t, config)
		openLog(t, b, 0)
		c.bridges, c.states = append(c.bridges, b), append(c.states, nil)
	}
	return c
}

func (c *chances) run(t *testing.T) {
	c.fake.hooks(c.before, c.after)
	for op := range 60 {
		c.percent = c.rng.IntN(2) * 6
		c.step(t, c.rng.IntN(len(c.bridges)), op)
	}
	c.fake.hooks(nil, nil)
	got := loadLog(t, openLog(t, startBridge(t, quietConfig(c.fake)), 0))
	for k, v := range c.confirmed {
		if got[k] != v {
			t.Errorf("%s is %q, was confirmed as %q", k, got[k], v)
		}
	}
}

// before and after fail calls, and may leave open what became of an append.
func (c *chances) before(call fakeCall) error {
	if !onGenerations(call) || c.rng.IntN(100) >= c.percent {
		return nil
	}
	if call.op == "append" && c.rng.IntN(2) == 0 {
		return lostReply()
	}
	return fmt.Errorf("%w: by chance", ErrTimeout)
}

func (c *chances) after(call fakeCall) error {
	err := c.before(call)
	if err != nil && call.op == "append" {
		return lostReply()
	}
	return err
}

// step lets one bridge do something.
func (c *chances) step(t *testing.T, i, op int) {
	l, ctx := c.bridges[i].CompactedLog(offsetsTopic, 0), testContext(t)
	switch {
	case c.states[i] == nil:
		if state, err := tryLoad(ctx, l); err == nil {
			c.states[i] = state
		}
	case c.rng.IntN(4) == 0:
		if err := l.Compact(ctx, c.states[i].snapshot()); errors.Is(err, ErrLogChanged) {
			c.states[i] = nil
		}
	case c.rng.IntN(8) == 0:
		c.clock.pass(generationGrace)
		c.bridges[i].internals.sweep(ctx)
	default:
		r := keyed(fmt.Sprintf("key %d", op), fmt.Sprintf("of bridge %d", i))
		if err := l.Append(ctx, []records.Record{r}); err != nil {
			c.states[i] = nil
			return
		}
		c.states[i].apply(&r)
		c.confirmed.apply(&r)
	}
}
