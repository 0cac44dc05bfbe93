package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// coordinatorCollectors are those of the coordinators of groups and the like,
// labelled by the coordinator's name.
type coordinatorCollectors struct {
	loads, loadErrors, loadedRecords           *prometheus.CounterVec
	appends, appendErrors, appendedRecords     *prometheus.CounterVec
	compactions, compactionErrors              *prometheus.CounterVec
	loadLatency, appendLatency, compactLatency *prometheus.HistogramVec
	rebalances                                 prometheus.Counter
}

func (m *Metrics) coordinatorCollectors() {
	c := &m.coordinator
	const label = "coordinator"
	c.loads = counterVec("coordinator_loads_total", "Partitions of internal topics that were loaded, or could not be.", label)
	c.loadErrors = counterVec("coordinator_load_errors_total", "Partitions of internal topics that could not be loaded.", label)
	c.loadedRecords = counterVec("coordinator_loaded_records_total", "Records read while loading.", label)
	c.loadLatency = histogramVec("coordinator_load_seconds", "Duration of loading one partition.", label)
	c.appends = counterVec("coordinator_appends_total", "Appends to internal topics. Each holds the records of several requests.", label)
	c.appendErrors = counterVec("coordinator_append_errors_total", "Appends that failed, after which the partition is loaded anew.", label)
	c.appendedRecords = counterVec("coordinator_appended_records_total", "Records appended to internal topics.", label)
	c.appendLatency = histogramVec("coordinator_append_seconds", "Duration of an append.", label)
	c.compactions = counterVec("coordinator_compactions_total", "Compactions of partitions of internal topics.", label)
	c.compactionErrors = counterVec("coordinator_compaction_errors_total", "Compactions that failed.", label)
	c.compactLatency = histogramVec("coordinator_compaction_seconds", "Duration of a compaction.", label)
	c.rebalances = counter("group_rebalances_total", "Generations of classic groups that all members have joined.")
	m.registry.MustRegister(c.loads, c.loadErrors, c.loadedRecords, c.loadLatency, c.appends, c.appendErrors, c.appendedRecords,
		c.appendLatency, c.compactions, c.compactionErrors, c.compactLatency, c.rebalances)
}

// CoordinatorLoaded counts the loading of a partition by a coordinator.
func (m *Metrics) CoordinatorLoaded(name string, records int, took time.Duration, err error) {
	m.coordinator.loads.WithLabelValues(name).Inc()
	m.coordinator.loadedRecords.WithLabelValues(name).Add(float64(records))
	m.coordinator.loadLatency.WithLabelValues(name).Observe(took.Seconds())
	if err != nil {
		m.coordinator.loadErrors.WithLabelValues(name).Inc()
	}
}

// CoordinatorAppended counts an append of records by a coordinator.
func (m *Metrics) CoordinatorAppended(name string, records int, took time.Duration, err error) {
	m.coordinator.appends.WithLabelValues(name).Inc()
	m.coordinator.appendLatency.WithLabelValues(name).Observe(took.Seconds())
	if err != nil {
		m.coordinator.appendErrors.WithLabelValues(name).Inc()
		return
	}
	m.coordinator.appendedRecords.WithLabelValues(name).Add(float64(records))
}

// CoordinatorCompacted counts a compaction of a partition by a coordinator.
func (m *Metrics) CoordinatorCompacted(name string, _ int, took time.Duration, err error) {
	m.coordinator.compactions.WithLabelValues(name).Inc()
	m.coordinator.compactLatency.WithLabelValues(name).Observe(took.Seconds())
	if err != nil {
		m.coordinator.compactionErrors.WithLabelValues(name).Inc()
	}
}

// Rebalanced counts a generation of a classic group that all members have joined.
func (m *Metrics) Rebalanced() { m.coordinator.rebalances.Inc() }

// GroupState is a kind of groups to count.
type GroupState struct{ Type, State string }

// CollectGroups makes the number of groups a metric. count is called when metrics
// are read; it returns nil when the numbers are not known at the time.
func (m *Metrics) CollectGroups(count func() map[GroupState]int) {
	desc := prometheus.NewDesc(namespace+"_groups", "Groups by type and state.", []string{"type", "state"}, nil)
	m.registry.MustRegister(groupCollector{desc, count})
}

// groupCollector asks for the number of groups when metrics are read.
type groupCollector struct {
	desc  *prometheus.Desc
	count func() map[GroupState]int
}

// Describe is for package prometheus.
func (c groupCollector) Describe(ch chan<- *prometheus.Desc) { ch <- c.desc }

// Collect is for package prometheus.
func (c groupCollector) Collect(ch chan<- prometheus.Metric) {
	for state, n := range c.count() {
		ch <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(n), state.Type, state.State)
	}
}
