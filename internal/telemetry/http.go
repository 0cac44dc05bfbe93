package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/sirupsen/logrus"
)

// Health tells what keeps the bridge from serving its clients, or nil. It is
// asked on every /readyz and must not block.
type Health func() error

// Endpoint is the HTTP server for those who watch the bridge:
//
//	/metrics  the collectors in Prometheus' text format
//	/healthz  200 as long as the process answers
//	/readyz   200 when Kafka clients can be served, else 503 with the reason
type Endpoint struct {
	listener net.Listener
	server   *http.Server
	done     chan struct{}
	log      logrus.FieldLogger
}

// StartEndpoint listens on address (host:port, port 0 takes a free one) and
// serves until Close.
func StartEndpoint(ctx context.Context, address string, m *Metrics, ready Health, log logrus.FieldLogger) (*Endpoint, error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("http.listen: %w", err)
	}
	e := &Endpoint{
		listener: listener,
		server: &http.Server{
			Handler:           endpointHandler(m, ready, log),
			ReadHeaderTimeout: 5 * time.Second,
			ReadTimeout:       10 * time.Second,
			WriteTimeout:      30 * time.Second,
			IdleTimeout:       2 * time.Minute,
			MaxHeaderBytes:    16 << 10,
		},
		done: make(chan struct{}),
		log:  log,
	}
	go e.serve()
	return e, nil
}

// Addr returns the address it listens on.
func (e *Endpoint) Addr() net.Addr { return e.listener.Addr() }

// Close lets running requests finish until ctx ends, then cuts them.
func (e *Endpoint) Close(ctx context.Context) error {
	err := e.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, e.server.Close())
	}
	<-e.done
	return err
}

func (e *Endpoint) serve() {
	defer close(e.done)
	if err := e.server.Serve(e.listener); !errors.Is(err, http.ErrServerClosed) {
		e.log.WithError(err).Error("the HTTP endpoint has ended")
	}
}

func endpointHandler(m *Metrics, ready Health, log logrus.FieldLogger) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorLog: log}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, "ok", log)
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := ready(); err != nil {
			answer(w, http.StatusServiceUnavailable, err.Error(), log)
			return
		}
		answer(w, http.StatusOK, "ok", log)
	})
	return mux
}

func answer(w http.ResponseWriter, status int, text string, log logrus.FieldLogger) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if _, err := w.Write([]byte(text + "\n")); err != nil {
		log.WithError(err).Debug("a health answer could not be sent")
	}
}
