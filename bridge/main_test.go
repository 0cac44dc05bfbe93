package bridge

import (
	"io"
	"log"
	"testing"

	"go.uber.org/goleak"
)

// TestMain checks that no goroutine outlives the tests, and keeps the SDK's own
// log, which it writes at each login, out of their output.
func TestMain(m *testing.M) {
	log.SetOutput(io.Discard)
	goleak.VerifyTestMain(m)
}
