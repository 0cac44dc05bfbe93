package telemetry

import (
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// namespace begins the name of every metric of the bridge.
const namespace = "kafka_bridge"

// Outcomes of a request that has no Kafka error code to count.
const (
	// OutcomeMalformed is a frame that could not be decoded.
	OutcomeMalformed = "malformed"
	// OutcomeUnsupported is an API key or version that the bridge does not serve.
	OutcomeUnsupported = "unsupported"
	// OutcomePanic is a handler that panicked.
	OutcomePanic = "panic"
	// OutcomeFailed is a handler that failed without an answer to give.
	OutcomeFailed = "failed"
)

// Reasons for which a connection was closed by the bridge.
const (
	// ClosedLimit is a connection above kafka.max_connections.
	ClosedLimit = "limit"
	// ClosedIdle is a connection without traffic for kafka.idle_timeout.
	ClosedIdle = "idle"
	// ClosedReadTimeout is a request that did not arrive in time.
	ClosedReadTimeout = "read_timeout"
	// ClosedWriteTimeout is a client that did not take its answer in time.
	ClosedWriteTimeout = "write_timeout"
	// ClosedMalformed is a frame or request that could not be read or served.
	ClosedMalformed = "malformed"
	// ClosedPanic is a handler that panicked.
	ClosedPanic = "panic"
)

// Metrics are the bridge's collectors. Its methods may be called from any
// goroutine and are cheap enough for every request, not for every record.
type Metrics struct {
	registry *prometheus.Registry

	requests *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	parked   prometheus.Gauge

	connections   prometheus.Gauge
	accepted      prometheus.Counter
	closed        *prometheus.CounterVec
	bytesIn       prometheus.Counter
	bytesOut      prometheus.Counter
	produced      prometheus.Counter
	producedBytes prometheus.Counter
	fetched       prometheus.Counter
	fetchedBytes  prometheus.Counter

	iggyCalls      *prometheus.CounterVec
	iggyErrors     *prometheus.CounterVec
	iggyLatency    *prometheus.HistogramVec
	iggyReconnects prometheus.Counter
	resolved       *prometheus.CounterVec
	unreadable     *prometheus.CounterVec
	cacheHits      prometheus.Counter
	cacheMisses    prometheus.Counter

	coordinator coordinatorCollectors

	// series holds the children of requests and latency that were used before:
	// a look-up by labels costs more than the rest of counting a request.
	series sync.Map // requestKey → *requestSeries
}

type requestKey struct {
	version int16
	api     string
	result  string
}

type requestSeries struct {
	count   prometheus.Counter
	latency prometheus.Observer
}

// latencyBuckets reach from a memory hit (50 µs) to a long poll (a minute).
var latencyBuckets = []float64{
	.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60,
}

// NewMetrics makes the collectors in a registry of their own, together with
// those of the Go runtime and the process. Version labels the build.
func NewMetrics(version string) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.requestCollectors()
	m.connectionCollectors()
	m.recordCollectors()
	m.iggyCollectors()
	m.coordinatorCollectors()
	build := gaugeVec("build_info", "The bridge's version; the value is always 1.", "version")
	build.WithLabelValues(version).Set(1)
	m.registry.MustRegister(build, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *Metrics) requestCollectors() {
	m.requests = counterVec("requests_total",
		"Kafka requests by API, version and the first Kafka error code in the answer (0 = none), or what kept it from being answered.",
		"api", "version", "error")
	m.latency = histogramVec("request_seconds",
		"Time from a request's turn on its connection to its answer being ready, waiting included.", "api")
	m.parked = gauge("parked_requests", "Requests that wait for data or for other group members.")
	m.registry.MustRegister(m.requests, m.latency, m.parked)
}

func (m *Metrics) connectionCollectors() {
	m.connections = gauge("connections", "Open Kafka connections.")
	m.accepted = counter("connections_accepted_total", "Kafka connections accepted.")
	m.closed = counterVec("connections_closed_total", "Kafka connections closed by the bridge, by reason.", "reason")
	m.bytesIn = counter("bytes_in_total", "Bytes of Kafka requests received.")
	m.bytesOut = counter("bytes_out_total", "Bytes of Kafka answers sent.")
	m.registry.MustRegister(m.connections, m.accepted, m.closed, m.bytesIn, m.bytesOut)
}

func (m *Metrics) recordCollectors() {
	m.produced = counter("produced_records_total", "Records written by Kafka clients.")
	m.producedBytes = counter("produced_bytes_total", "Bytes of record batches written by Kafka clients, as they came.")
	m.fetched = counter("fetched_records_total", "Records sent to Kafka clients.")
	m.fetchedBytes = counter("fetched_bytes_total", "Bytes of record batches sent to Kafka clients.")
	m.unreadable = counterVec("unreadable_messages_total",
		"Iggy messages that could not be read as records and were delivered with a kafka.unreadable header.", "topic", "partition")
	m.cacheHits = counter("cache_hits_total", "Record batches that were served from memory.")
	m.cacheMisses = counter("cache_misses_total", "Record batches that had to be read from Iggy.")
	m.registry.MustRegister(m.produced, m.producedBytes, m.fetched, m.fetchedBytes, m.unreadable, m.cacheHits, m.cacheMisses)
}

func (m *Metrics) iggyCollectors() {
	m.iggyCalls = counterVec("iggy_calls_total", "Calls to Iggy by operation.", "operation")
	m.iggyErrors = counterVec("iggy_errors_total", "Failed calls to Iggy by operation.", "operation")
	m.iggyLatency = histogramVec("iggy_call_seconds", "Duration of calls to Iggy.", "operation")
	m.iggyReconnects = counter("iggy_reconnects_total", "Connections to Iggy that were given up and made anew.")
	m.resolved = counterVec("iggy_ambiguous_appends_total",
		"Appends of which Iggy did not say whether they were done, by what was found out: appended, missing, unknown.", "outcome")
	m.registry.MustRegister(m.iggyCalls, m.iggyErrors, m.iggyLatency, m.iggyReconnects, m.resolved)
}

// Registry returns the registry that holds the collectors.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }

// Request counts one request that was answered, with the first Kafka error code
// in the answer (0 = none) and the time from its turn to its answer.
func (m *Metrics) Request(api string, version, code int16, took time.Duration) {
	s := m.requestSeries(api, version, strconv.Itoa(int(code)))
	s.count.Inc()
	s.latency.Observe(took.Seconds())
}

// RequestWithoutAnswer counts a request that ended its connection; outcome is
// one of the Outcome constants. Only APIs and versions from Kafka's tables may
// be given, with "unknown" and -1 for all others, or clients could make up labels.
func (m *Metrics) RequestWithoutAnswer(api string, version int16, outcome string) {
	m.requestSeries(api, version, outcome).count.Inc()
}

func (m *Metrics) requestSeries(api string, version int16, result string) *requestSeries {
	key := requestKey{version: version, api: api, result: result}
	if s, ok := m.series.Load(key); ok {
		return s.(*requestSeries)
	}
	s := &requestSeries{
		count:   m.requests.WithLabelValues(api, strconv.Itoa(int(version)), result),
		latency: m.latency.WithLabelValues(api),
	}
	m.series.Store(key, s)
	return s
}

// Parked adds to the number of waiting requests.
func (m *Metrics) Parked(delta int) { m.parked.Add(float64(delta)) }

// ConnectionOpened counts an accepted connection.
func (m *Metrics) ConnectionOpened() {
	m.accepted.Inc()
	m.connections.Inc()
}

// ConnectionEnded takes a connection that was opened off the gauge.
func (m *Metrics) ConnectionEnded() { m.connections.Dec() }

// ConnectionClosed counts a connection that the bridge closed; reason is one of
// the Closed constants.
func (m *Metrics) ConnectionClosed(reason string) { m.closed.WithLabelValues(reason).Inc() }

// BytesIn counts bytes of requests received.
func (m *Metrics) BytesIn(n int) { m.bytesIn.Add(float64(n)) }

// BytesOut counts bytes of answers sent.
func (m *Metrics) BytesOut(n int) { m.bytesOut.Add(float64(n)) }

// Produced counts records written and the bytes of their batches.
func (m *Metrics) Produced(records, bytes int) {
	m.produced.Add(float64(records))
	m.producedBytes.Add(float64(bytes))
}

// Fetched counts records sent and the bytes of their batches.
func (m *Metrics) Fetched(records, bytes int) {
	m.fetched.Add(float64(records))
	m.fetchedBytes.Add(float64(bytes))
}

// IggyCall counts one call to Iggy, its duration, and whether it failed.
func (m *Metrics) IggyCall(operation string, took time.Duration, err error) {
	m.iggyCalls.WithLabelValues(operation).Inc()
	m.iggyLatency.WithLabelValues(operation).Observe(took.Seconds())
	if err != nil {
		m.iggyErrors.WithLabelValues(operation).Inc()
	}
}

// Reconnect counts a connection to Iggy that was replaced.
func (m *Metrics) Reconnect() { m.iggyReconnects.Inc() }

// Unreadable counts an Iggy message that is no readable record.
func (m *Metrics) Unreadable(topic string, partition int32) {
	m.unreadable.WithLabelValues(topic, strconv.Itoa(int(partition))).Inc()
}

// Resolved counts an append of which Iggy did not say whether it was done, by
// what was found out: appended, missing, unknown.
func (m *Metrics) Resolved(outcome string) { m.resolved.WithLabelValues(outcome).Inc() }

// CacheLookup counts a batch that was sought among the recent ones.
func (m *Metrics) CacheLookup(hit bool) {
	if hit {
		m.cacheHits.Inc()
	} else {
		m.cacheMisses.Inc()
	}
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
}

func counterVec(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func gauge(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help})
}

func gaugeVec(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func histogramVec(name, help string, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: name, Help: help, Buckets: latencyBuckets,
	}, labels)
}
