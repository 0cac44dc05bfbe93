package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/handlers"
	"kafka-iggy-bridge/internal/config"
	"kafka-iggy-bridge/internal/coordinator"
	"kafka-iggy-bridge/internal/engine"
	"kafka-iggy-bridge/internal/groups"
	"kafka-iggy-bridge/internal/offsetmirror"
	"kafka-iggy-bridge/internal/server"
	"kafka-iggy-bridge/internal/telemetry"
	"kafka-iggy-bridge/internal/transactions"
)

const (
	// closeShare is the part of shutdown.grace that is kept for closing the
	// bridge and the engine once the clients have been served.
	closeShare = 6

	// minCloseTime is what closing gets at least.
	minCloseTime = time.Second
)

// app is a running bridge: its parts in the order in which they were started.
type app struct {
	config       *config.Config
	log          *logrus.Logger
	metrics      *telemetry.Metrics
	listener     net.Listener
	engine       *engine.Engine // nil when Iggy is elsewhere
	bridge       *bridge.Bridge
	groups       *coordinator.Coordinator
	transactions *handlers.TransactionCoordinator
	mirror       *offsetmirror.Mirror // nil when switched off
	http         *telemetry.Endpoint  // nil when switched off
	server       *server.Server
	served       chan error
	ending       atomic.Bool
}

// errEnding is why a bridge that is shutting down is not ready.
var errEnding = errors.New("the bridge is shutting down")

// serve runs the bridge until a signal comes, and ends it in order. A second
// signal ends the process.
func serve(ctx context.Context, c *config.Config, stdout, stderr io.Writer, signals <-chan os.Signal) error {
	log, err := telemetry.NewLogger(stderr, c.Log.Level, c.Log.Format)
	if err != nil {
		return err
	}
	stdlog.SetFlags(0)
	stdlog.SetOutput(sdkLog{log})
	a := &app{config: c, log: log, metrics: telemetry.NewMetrics(buildVersion()), served: make(chan error, 1)}
	if err := a.start(ctx); err != nil {
		return errors.Join(err, a.stop())
	}
	if _, err := fmt.Fprintf(stdout, "kafka-iggy-bridge: Kafka clients: bootstrap.servers=%s · storage: %s\n", a.advertised(), a.storage()); err != nil {
		return errors.Join(err, a.stop())
	}
	select {
	case s := <-signals:
		log.WithField("signal", s.String()).Info("ending; a second signal ends at once")
	case err = <-a.served:
		a.served <- nil // for stop
	case <-ctx.Done():
	}
	ended := endAtOnce(signals, log)
	defer close(ended)
	return errors.Join(err, a.stop())
}

// sdkLog takes what Iggy's SDK writes to the standard logger: its connections'
// progress, of interest only to who debugs them.
type sdkLog struct{ log *logrus.Logger }

// Write logs one line at debug.
func (l sdkLog) Write(p []byte) (int, error) {
	l.log.WithField("from", "iggy sdk").Debug(strings.TrimSpace(string(p)))
	return len(p), nil
}

// start opens everything. What it opened before an error is closed by stop.
func (a *app) start(ctx context.Context) error {
	var err error
	var lc net.ListenConfig
	if a.listener, err = lc.Listen(ctx, "tcp", a.config.Kafka.Listen); err != nil {
		return fmt.Errorf("kafka.listen: %w", err)
	}
	bridgeConfig, err := a.bridgeConfig()
	if err != nil {
		return err
	}
	if a.bridge, err = bridge.New(bridgeConfig); err != nil {
		return err
	}
	if err := a.bridge.Start(ctx); err != nil {
		return fmt.Errorf("start the bridge: %w", err)
	}
	options := a.groupOptions()
	if a.config.Groups.MirrorOffsets {
		a.mirror = offsetmirror.New(a.bridge.ConsumerOffsets(), a.log)
		options.Written = a.mirror.Written
	}
	a.groups = handlers.NewGroupCoordinator(a.bridge, options)
	a.groups.Start()
	a.transactions = handlers.NewTransactionCoordinator(a.bridge, a.groups, a.transactionOptions())
	a.transactions.Start()
	host, port, err := splitAddress(a.advertised())
	if err != nil {
		return fmt.Errorf("kafka.advertised: %w", err)
	}
	registry := handlers.New(handlers.Config{
		NodeID:            int32(a.config.Kafka.NodeID),
		Host:              host,
		Port:              port,
		AutoCreate:        a.config.Topics.AutoCreate,
		DefaultPartitions: int32(a.config.Topics.DefaultPartitions),
		MaxMessageBytes:   int32(a.config.MessageMaxBytes),
	}, a.bridge, a.groups, a.transactions, a.metrics, a.log)
	a.metrics.CollectGroups(func() map[telemetry.GroupState]int { return groupCounts(ctx, registry) })
	if a.config.HTTP.Listen != "" {
		if a.http, err = telemetry.StartEndpoint(ctx, a.config.HTTP.Listen, a.metrics, a.ready, a.log); err != nil {
			return err
		}
	}
	a.server = server.New(a.serverOptions(), server.NewDispatcher(registry, a.log, a.metrics), a.log, a.metrics)
	go func() {
		err := a.server.Serve(a.listener)
		if errors.Is(err, server.ErrServerClosed) {
			err = nil
		}
		a.served <- err
	}()
	return nil
}

// ready tells what keeps Kafka clients from being served.
func (a *app) ready() error {
	if a.ending.Load() {
		return errEnding
	}
	return a.bridge.Health()
}

// bridgeConfig opens the engine where one is wanted, and says how to reach Iggy.
func (a *app) bridgeConfig() (bridge.Config, error) {
	c := a.config
	bc := iggyConfig(c)
	bc.ClusterID = c.Kafka.ClusterID
	bc.TopicDefaults = map[string]string{"max.message.bytes": strconv.FormatInt(c.MessageMaxBytes, 10)}
	bc.CacheBytes = c.Fetch.CacheBytes
	bc.ProducerIDExpiration = c.Transactions.ProducerIDExpiration
	bc.Logger, bc.Metrics = a.log, a.metrics
	if bc.CacheBytes == 0 {
		bc.CacheBytes = -1 // 0 would be the bridge's default
	}
	if c.Iggy.Address != "" {
		return bc, nil
	}
	e, err := openEngine(c, a.log)
	if err != nil {
		return bc, err
	}
	a.engine = e
	bc.Address = e.Addr().String()
	bc.Username, bc.Password = e.Credentials()
	// The connection never leaves this process, so there is nobody to be verified.
	bc.TLS = bridge.TLSConfig{Enabled: c.Embedded.TLS.Enabled, SkipVerify: true}
	return bc, nil
}

// iggyConfig is how the configured Iggy is reached, and where topics lie there.
// The address is empty for the embedded engine.
func iggyConfig(c *config.Config) bridge.Config {
	bc := bridge.Config{
		Address:  c.Iggy.Address,
		Username: c.Iggy.Username,
		Password: c.Iggy.Password,
		TLS: bridge.TLSConfig{
			Enabled:    c.Iggy.TLS.Enabled,
			Domain:     c.Iggy.TLS.Domain,
			CAFile:     c.Iggy.TLS.CAFile,
			SkipVerify: c.Iggy.TLS.SkipVerify,
		},
		PoolSize:        c.Iggy.PoolSize,
		DialTimeout:     c.Iggy.ConnectTimeout,
		RequestTimeout:  c.Iggy.RequestTimeout,
		RefreshInterval: c.Iggy.RefreshInterval,
		WatchInterval:   c.Iggy.WatchInterval,
		Stream:          c.Bridge.Stream,
		StateStream:     c.Bridge.StateStream,
		Topics:          make(map[string]bridge.Location, len(c.Bridge.Topics)),
	}
	for name, place := range c.Bridge.Topics {
		bc.Topics[name] = bridge.Location{Stream: place.Stream, Topic: place.Topic}
	}
	return bc
}

func (a *app) serverOptions() server.Options {
	k := a.config.Kafka
	return server.Options{
		MaxRequestBytes:     int(k.MaxRequestBytes),
		MaxConnections:      k.MaxConnections,
		MaxInFlightRequests: k.MaxInFlightRequests,
		MaxInFlightBytes:    int(k.MaxInFlightBytes),
		MaxResponseBacklog:  int(k.MaxResponseBacklog),
		IdleTimeout:         k.IdleTimeout,
		ReadTimeout:         k.RequestReadTimeout,
		WriteTimeout:        k.WriteTimeout,
	}
}

// groupOptions say how groups are coordinated.
func (a *app) groupOptions() handlers.GroupOptions {
	g := a.config.Groups
	return handlers.GroupOptions{
		Config: groups.Config{
			MinSessionTimeout:          g.MinSessionTimeout,
			MaxSessionTimeout:          g.MaxSessionTimeout,
			InitialRebalanceDelay:      g.InitialRebalanceDelay,
			MaxSize:                    g.MaxSize,
			OffsetMetadataMaxBytes:     int(g.OffsetMetadataMaxBytes),
			OffsetsRetention:           g.OffsetsRetention,
			OffsetsRetentionCheck:      g.OffsetsRetentionCheck,
			ConsumerSessionTimeout:     g.Consumer.SessionTimeout,
			ConsumerHeartbeatInterval:  g.Consumer.HeartbeatInterval,
			ConsumerMaxSize:            g.Consumer.MaxSize,
			ConsumerAssignmentInterval: g.Consumer.AssignmentInterval,
			RegexRefreshInterval:       g.Consumer.RegexRefresh,
		},
		Partitions: int32(g.OffsetsPartitions),
		Metrics:    a.metrics,
		Logger:     a.log,
	}
}

// transactionOptions say how transactions are coordinated.
func (a *app) transactionOptions() handlers.TransactionOptions {
	t := a.config.Transactions
	options := handlers.TransactionOptions{
		Config:     transactions.DefaultConfig(),
		Partitions: int32(t.StatePartitions),
		Metrics:    a.metrics,
		Logger:     a.log,
	}
	options.Config.MaxTimeout = t.MaxTimeout
	options.Config.IDExpiration = t.IDExpiration
	return options
}

// groupCounts counts groups for the metrics.
func groupCounts(ctx context.Context, h *handlers.Handlers) map[telemetry.GroupState]int {
	counts := make(map[telemetry.GroupState]int)
	for kind, n := range h.GroupCounts(ctx) {
		counts[telemetry.GroupState(kind)] = n
	}
	return counts
}

// stop closes what start has opened, the other way round, within shutdown.grace:
// the clients are served to the end first, then the storage is closed.
func (a *app) stop() error {
	a.ending.Store(true)
	grace := a.config.ShutdownGrace
	reserve := max(grace/closeShare, minCloseTime)
	serving, cancel := context.WithTimeout(context.Background(), max(grace-reserve, 0))
	defer cancel()
	closing, cancelClosing := context.WithTimeout(context.Background(), max(grace, reserve))
	defer cancelClosing()

	var errs []error
	switch {
	case a.server != nil:
		errs = append(errs, a.server.Shutdown(serving), <-a.served)
	case a.listener != nil:
		errs = append(errs, a.listener.Close())
	}
	if a.transactions != nil {
		errs = append(errs, a.transactions.Close(closing))
	}
	if a.groups != nil {
		errs = append(errs, a.groups.Close(closing))
	}
	if a.mirror != nil {
		// The commits themselves are safe: this ends no bridge in disorder.
		if err := a.mirror.Close(closing); err != nil {
			a.log.WithError(err).Warn("Iggy's consumer offsets are behind")
		}
	}
	if a.bridge != nil {
		errs = append(errs, a.bridge.Close(closing))
	}
	if a.engine != nil {
		errs = append(errs, a.engine.Close(closing))
	}
	if a.http != nil {
		errs = append(errs, a.http.Close(closing))
	}
	return errors.Join(errs...)
}

// advertised is the address that clients are told: the configured one, else the
// host as configured with the port that was really taken.
func (a *app) advertised() string {
	if a.config.Kafka.Advertised != "" {
		return a.config.Kafka.Advertised
	}
	bound := a.listener.Addr().String()
	host, _, err := net.SplitHostPort(a.config.Kafka.Listen)
	if err != nil {
		return bound
	}
	_, port, err := net.SplitHostPort(bound)
	if err != nil {
		return bound
	}
	return net.JoinHostPort(host, port)
}

// storage says where everything is kept.
func (a *app) storage() string {
	if a.engine == nil {
		return "Iggy at " + a.config.Iggy.Address
	}
	return "embedded engine in " + a.config.Embedded.DataDir
}

func splitAddress(address string) (string, int32, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	port, err := strconv.ParseUint(text, 10, 16)
	return host, int32(port), err
}
