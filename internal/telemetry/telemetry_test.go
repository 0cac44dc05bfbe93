package telemetry

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// get asks an endpoint and returns status and body.
func get(t *testing.T, e *Endpoint, path string) (int, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + e.Addr().String() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func startEndpoint(t *testing.T, m *Metrics, ready Health) *Endpoint {
	t.Helper()
	e, err := StartEndpoint(t.Context(), "127.0.0.1:0", m, ready, logrus.New())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return e
}

func TestReadinessFollowsHealthAndLivenessDoesNot(t *testing.T) {
	t.Parallel()
	var away atomic.Bool
	away.Store(true)
	e := startEndpoint(t, NewMetrics("v1"), func() error {
		if away.Load() {
			return errors.New("iggy at 127.0.0.1:8090 is away since 12:00")
		}
		return nil
	})
	if code, body := get(t, e, "/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "is away since") {
		t.Errorf("/readyz while Iggy is away: %d %q", code, body)
	}
	if code, _ := get(t, e, "/healthz"); code != http.StatusOK {
		t.Errorf("/healthz while Iggy is away: %d", code)
	}
	away.Store(false)
	if code, body := get(t, e, "/readyz"); code != http.StatusOK {
		t.Errorf("/readyz when Iggy is back: %d %q", code, body)
	}
	if code, _ := get(t, e, "/nothing"); code != http.StatusNotFound {
		t.Errorf("unknown path: %d", code)
	}
}

func TestMetricsAreServed(t *testing.T) {
	t.Parallel()
	m := NewMetrics("v1")
	e := startEndpoint(t, m, func() error { return nil })
	for range 3 {
		m.Request("Fetch", 18, 0, 2*time.Millisecond)
	}
	m.Request("Produce", 13, 87, time.Microsecond)
	m.RequestWithoutAnswer("unknown", -1, OutcomeUnsupported)
	m.Parked(2)
	m.ConnectionOpened()
	m.ConnectionOpened()
	m.ConnectionEnded()
	m.ConnectionClosed(ClosedIdle)
	m.BytesIn(10)
	m.BytesOut(20)
	m.Produced(5, 500)
	m.Fetched(6, 600)
	m.IggyCall("append", time.Millisecond, nil)
	m.IggyCall("append", time.Millisecond, errors.New("cut"))
	m.Reconnect()
	m.Resolved("missing")
	m.CacheLookup(true)
	m.CacheLookup(false)
	m.Unreadable("orders", 3)
	m.CoordinatorLoaded("groups", 7, time.Second, nil)
	m.CoordinatorLoaded("groups", 0, time.Second, errors.New("away"))
	m.CoordinatorAppended("groups", 3, time.Millisecond, nil)
	m.CoordinatorAppended("groups", 4, time.Millisecond, errors.New("cut"))
	m.CoordinatorCompacted("groups", 1, time.Millisecond, nil)
	m.CoordinatorCompacted("groups", 1, time.Millisecond, errors.New("cut"))
	m.Rebalanced()
	m.CollectGroups(func() map[GroupState]int { return map[GroupState]int{{Type: "classic", State: "Stable"}: 2} })
	_, body := get(t, e, "/metrics")
	for _, line := range []string{
		`kafka_bridge_requests_total{api="Fetch",error="0",version="18"} 3`,
		`kafka_bridge_requests_total{api="Produce",error="87",version="13"} 1`,
		`kafka_bridge_requests_total{api="unknown",error="unsupported",version="-1"} 1`,
		`kafka_bridge_request_seconds_bucket{api="Fetch",le="0.0025"} 3`,
		`kafka_bridge_parked_requests 2`,
		`kafka_bridge_connections 1`,
		`kafka_bridge_connections_accepted_total 2`,
		`kafka_bridge_connections_closed_total{reason="idle"} 1`,
		`kafka_bridge_bytes_in_total 10`,
		`kafka_bridge_bytes_out_total 20`,
		`kafka_bridge_produced_records_total 5`,
		`kafka_bridge_produced_bytes_total 500`,
		`kafka_bridge_fetched_records_total 6`,
		`kafka_bridge_fetched_bytes_total 600`,
		`kafka_bridge_iggy_calls_total{operation="append"} 2`,
		`kafka_bridge_iggy_errors_total{operation="append"} 1`,
		`kafka_bridge_iggy_reconnects_total 1`,
		`kafka_bridge_iggy_ambiguous_appends_total{outcome="missing"} 1`,
		`kafka_bridge_cache_hits_total 1`,
		`kafka_bridge_coordinator_loads_total{coordinator="groups"} 2`,
		`kafka_bridge_coordinator_load_errors_total{coordinator="groups"} 1`,
		`kafka_bridge_coordinator_loaded_records_total{coordinator="groups"} 7`,
		`kafka_bridge_coordinator_appends_total{coordinator="groups"} 2`,
		`kafka_bridge_coordinator_append_errors_total{coordinator="groups"} 1`,
		`kafka_bridge_coordinator_appended_records_total{coordinator="groups"} 3`,
		`kafka_bridge_coordinator_compactions_total{coordinator="groups"} 2`,
		`kafka_bridge_coordinator_compaction_errors_total{coordinator="groups"} 1`,
		`kafka_bridge_group_rebalances_total 1`,
		`kafka_bridge_groups{state="Stable",type="classic"} 2`,
		`kafka_bridge_cache_misses_total 1`,
		`kafka_bridge_unreadable_messages_total{partition="3",topic="orders"} 1`,
		`kafka_bridge_build_info{version="v1"} 1`,
		`go_goroutines`,
	} {
		if !strings.Contains(body, line) {
			t.Errorf("/metrics lacks %s", line)
		}
	}
}

func TestCountingARequestAllocatesNothing(t *testing.T) {
	m := NewMetrics("v1")
	m.Request("Fetch", 18, 0, time.Millisecond)
	if n := testing.AllocsPerRun(100, func() { m.Request("Fetch", 18, 0, time.Millisecond) }); n > 1 {
		t.Errorf("%v allocations", n) // one: the key of the look-up
	}
}

func TestAnAddressInUseIsAnErrorThatNamesTheKey(t *testing.T) {
	t.Parallel()
	m := NewMetrics("v1")
	e := startEndpoint(t, m, func() error { return nil })
	_, err := StartEndpoint(t.Context(), e.Addr().String(), m, func() error { return nil }, logrus.New())
	if err == nil || !strings.Contains(err.Error(), "http.listen") {
		t.Errorf("error %v", err)
	}
}

func TestLogFormats(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log, err := NewLogger(&out, "warn", "json")
	if err != nil {
		t.Fatal(err)
	}
	log.Info("below the level")
	log.WithField("topic", "orders").Warn("seen")
	var line map[string]string
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("%v in %q", err, out.String())
	}
	if line["topic"] != "orders" || line["msg"] != "seen" || !strings.HasSuffix(line["time"], "Z") {
		t.Errorf("line %v", line)
	}
	out.Reset()
	if log, err = NewLogger(&out, "info", "text"); err != nil {
		t.Fatal(err)
	}
	log.WithField("partition", 3).Info("seen")
	if !strings.Contains(out.String(), "partition=3") {
		t.Errorf("text %q", out.String())
	}
}

func TestLogSettingsThatDoNotExistAreErrors(t *testing.T) {
	t.Parallel()
	for name, s := range map[string][2]string{"level": {"loud", "text"}, "format": {"info", "xml"}} {
		if _, err := NewLogger(io.Discard, s[0], s[1]); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
