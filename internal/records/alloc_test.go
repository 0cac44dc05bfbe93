//go:build !race

package records

import "testing"

// The race detector empties sync.Pools at random, so allocations are counted
// without it.

func TestValidateAndIterateAllocateNothing(t *testing.T) {
	for _, c := range allCodecs {
		raw, opts := build(t, producerSpec(c), benchRecords()...), benchOptions()
		var r Record
		got := testing.AllocsPerRun(100, func() {
			if _, err := validateAndIterate(raw, opts, &r); err != nil {
				t.Fatal(err)
			}
		})
		if got > 0 {
			t.Errorf("%s: %v allocations per batch of 1,000 records", c, got)
		}
	}
}

func TestBuildAllocatesNothing(t *testing.T) {
	rs := benchRecords()
	for _, c := range allCodecs {
		var (
			builder Builder
			dst     []byte
			err     error
		)
		got := testing.AllocsPerRun(100, func() {
			if dst, err = rebuild(&builder, dst[:0], producerSpec(c), rs); err != nil {
				t.Fatal(err)
			}
		})
		if got > 0 {
			t.Errorf("%s: %v allocations per batch of 1,000 records", c, got)
		}
	}
}
