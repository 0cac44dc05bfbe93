package bridge

import (
	"context"
	"os"
	"testing"
	"time"

	"kafka-iggy-bridge/internal/engine"
)

// iggyConfig starts an embedded engine, or names the real server that the
// environment gives.
func iggyConfig(t testing.TB) Config {
	t.Helper()
	if address := os.Getenv("IGGY_ADDRESS"); address != "" {
		return Config{Address: address, Username: os.Getenv("IGGY_USERNAME"), Password: os.Getenv("IGGY_PASSWORD"), StateStream: "__kafka_bridge_test"}
	}
	return engineConfig(t, openEngine(t, t.TempDir()))
}

func openEngine(t testing.TB, dir string) *engine.Engine {
	t.Helper()
	e, err := engine.Open(engine.Options{DataDir: dir, Fsync: "never", Logger: discardLogger()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeEngine(t, e) })
	return e
}

func closeEngine(t testing.TB, e *engine.Engine) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := e.Close(ctx); err != nil {
		t.Errorf("closing the engine: %v", err)
	}
}

func engineConfig(t testing.TB, e *engine.Engine) Config {
	t.Helper()
	user, password := e.Credentials()
	return Config{Address: e.Addr().String(), Username: user, Password: password}
}
