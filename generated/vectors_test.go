package generated_test

import (
	"path/filepath"
	"testing"

	"kafka-iggy-bridge/generated"
	"kafka-iggy-bridge/internal/tool/verify"
)

const vectorDir = "../testdata/codec"

// TestRecordedTruth checks the codec against what Kafka's own classes wrote,
// refused to write and made of malformed bytes. The counts are those of the
// recorded files: fewer would mean that some are not checked.
func TestRecordedTruth(t *testing.T) {
	t.Parallel()
	for _, file := range []struct {
		name  string
		lines int
	}{
		{"vectors.jsonl.gz", 3200},
		{"failures.jsonl.gz", 863},
		{"malformed.jsonl.gz", 56},
		{"headers.jsonl", 95},
	} {
		t.Run(file.name, func(t *testing.T) {
			t.Parallel()
			n := 0
			err := verify.File(filepath.Join(vectorDir, file.name), func(r verify.Result) {
				n++
				if r.Err != nil {
					t.Errorf("line %d, %s: %v", r.Line, r.Case.Name(), r.Err)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			if n < file.lines {
				t.Errorf("%d lines, want at least %d", n, file.lines)
			}
		})
	}
}

// vectorsOf calls do with the recorded cases of one kind.
func vectorsOf[C verify.Case](t testing.TB, name string, do func(C)) {
	t.Helper()
	err := verify.Cases(filepath.Join(vectorDir, name), func(_ int, c verify.Case) error {
		if c, ok := c.(C); ok {
			do(c)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func newMessage(t testing.TB, name string) generated.Message {
	t.Helper()
	m, ok := generated.NewMessage(name)
	if !ok {
		t.Fatalf("no message %s", name)
	}
	return m
}
