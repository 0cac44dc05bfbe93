package coordinator

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/statemachine"
)

// performing collects effects.
func performing(effects *[]any) func(*Options) {
	return func(o *Options) { o.Perform = func(effect any) { *effects = append(*effects, effect) } }
}

func TestEffectsWaitForTheRecordsOfTheirScopeOnly(t *testing.T) {
	t.Parallel()
	var effects []any
	inBubble(t, performing(&effects), func(f *fixture) {
		f.start()
		gate := f.gate()
		write := f.begin("set a/x 1")
		waits := f.begin("effect a first")
		f.want("effect b second", "ok")
		if !slices.Equal(effects, []any{"second"}) {
			t.Errorf("before the append: %v", effects)
		}
		gate <- nil
		f.ended("the write", write)
		f.ended("the effect's request", waits)
		if !slices.Equal(effects, []any{"second", "first"}) {
			t.Errorf("after the append: %v", effects)
		}
	})
}

func TestEffectsOfAMachineThatFailsAreNotPerformed(t *testing.T) {
	t.Parallel()
	var effects []any
	inBubble(t, performing(&effects), func(f *fixture) {
		f.start()
		gate := f.gate()
		write := f.begin("set a/x 1")
		waits := f.begin("effect a never")
		gate <- errors.New("no room")
		f.ended("the write", write)
		f.ended("the effect's request", waits)
		synctest.Wait()
		if len(effects) > 0 {
			t.Errorf("performed: %v", effects)
		}
	})
}

func TestTellReachesAMachineThatIsLoaded(t *testing.T) {
	t.Parallel()
	inBubble(t, nil, func(f *fixture) {
		set := generated.DefaultFindCoordinatorRequest()
		set.Key = "set a/x 1"
		if err := f.c.Tell("a/x", &set); !errors.Is(err, ErrLoading) {
			t.Errorf("before it is loaded: %v", err)
		}
		f.start()
		if err := f.c.Tell("a/x", &set); err != nil {
			t.Error(err)
		}
		f.want("get a/x", "1")
		get := generated.DefaultFindCoordinatorRequest()
		get.Key = "get a/x"
		if _, err := f.c.CallPartition(t.Context(), 1, statemachine.Call{Body: &get}); !errors.Is(err, ErrNotOpen) {
			t.Errorf("a partition that there is not: %v", err)
		}
		if n, ok := f.c.PartitionFor("anything"); n != 0 || !ok {
			t.Errorf("partition %d, %v", n, ok)
		}
	})
}
