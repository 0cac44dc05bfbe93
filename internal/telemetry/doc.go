// Package telemetry is how the bridge is watched: the set-up of its log, its
// Prometheus collectors, and the HTTP endpoints /metrics, /healthz and /readyz.
package telemetry
