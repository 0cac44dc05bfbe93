package bridge

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/apache/iggy/foreign/go/client/tcp"
	"github.com/sirupsen/logrus"
)

// sdkPool is the transport over Iggy's Go SDK. It keeps connections in lanes:
// a partition's appends always take the same one, so that they stay in order;
// reads take whichever reader's lane is free, so that a slow one delays no
// append; administration has its own.
type sdkPool struct {
	config  Config
	log     logrus.FieldLogger
	metrics Metrics

	writers []*lane
	readers chan *lane
	all     []*lane
	admin   *lane

	ctx    context.Context // ends when the pool closes
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu       sync.Mutex
	failures int       // attempts to connect that failed in a row
	retryAt  time.Time // no attempt before
	why      error     // the last failure, nil when Iggy answers
	stuck    int       // SDK constructors that have not returned yet
}

const (
	// firstBackoff and maxBackoff bound the pause between attempts to connect.
	firstBackoff = 100 * time.Millisecond
	maxBackoff   = time.Second
	// pingInterval is how often the administration's connection is tried when
	// nothing else tells whether Iggy answers.
	pingInterval = 2 * time.Second
	// maxStuck bounds the SDK constructors waited for in vain. The SDK may look
	// for a cluster's leader for ever, and cannot be told to stop.
	maxStuck = 16
)

func newSDKPool(config Config) *sdkPool {
	p := &sdkPool{
		config:  config,
		log:     config.Logger,
		metrics: config.Metrics,
		readers: make(chan *lane, config.PoolSize),
		why:     errors.New("no connection was tried yet"),
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	for range config.PoolSize {
		p.writers = append(p.writers, newLane(p))
		reader := newLane(p)
		p.readers <- reader
		p.all = append(p.all, reader)
	}
	p.admin = newLane(p)
	p.all = append(append(p.all, p.writers...), p.admin)
	return p
}

func (p *sdkPool) start() { p.work.Go(p.watchOver) }

// watchOver pings Iggy, so that its absence and its return are noticed when
// nothing else is going on.
func (p *sdkPool) watchOver() {
	ticker := time.NewTicker(pingInterval)
	defer ticker.Stop()
	for {
		// The outcome is kept by the call itself.
		_ = p.admin.call(p.ctx, "ping", func(c *tcp.IggyTcpClient) error { return c.Ping() })
		select {
		case <-ticker.C:
		case <-p.ctx.Done():
			return
		}
	}
}

// close ends all connections, also those with a call on its way.
func (p *sdkPool) close() error {
	p.cancel()
	for _, l := range p.all {
		l.interrupt()
	}
	p.work.Wait()
	for _, l := range p.all {
		l.shut()
	}
	return nil
}

func (p *sdkPool) health() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.why == nil {
		return nil
	}
	if errors.Is(p.why, ErrUnauthorized) {
		return fmt.Errorf("iggy at %s: %w", p.config.Address, p.why)
	}
	return fmt.Errorf("%w at %s: %w", ErrUnavailable, p.config.Address, p.why)
}

// mayConnect reports whether it is time for an attempt to connect.
func (p *sdkPool) mayConnect() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.ctx.Err() != nil:
		return ErrClosed
	case p.stuck >= maxStuck:
		return fmt.Errorf("%w: %d connections have been under way for long", ErrUnavailable, p.stuck)
	case p.why != nil && time.Now().Before(p.retryAt):
		return fmt.Errorf("%w: %w", ErrUnavailable, p.why)
	}
	return nil
}

// connected takes note of an attempt to connect.
func (p *sdkPool) connected(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		if p.failures > 0 {
			p.log.WithField("iggy", p.config.Address).Info("connected to Iggy")
		}
		p.failures, p.why, p.retryAt = 0, nil, time.Time{}
		return
	}
	if p.ctx.Err() != nil {
		return
	}
	if p.failures == 0 {
		p.log.WithError(err).WithField("iggy", p.config.Address).Warn("no connection to Iggy")
	}
	pause := min(firstBackoff<<min(p.failures, 10), maxBackoff)
	p.failures++
	p.why = err
	p.retryAt = time.Now().Add(pause/2 + rand.N(pause/2+1))
}

// answered takes note that Iggy answered a call.
func (p *sdkPool) answered() {
	p.mu.Lock()
	if p.why != nil && !errors.Is(p.why, ErrUnauthorized) {
		p.failures, p.why, p.retryAt = 0, nil, time.Time{}
	}
	p.mu.Unlock()
}

// silent takes note that a connection broke or a call was not answered in time.
func (p *sdkPool) silent(err error) {
	p.metrics.Reconnect()
	p.mu.Lock()
	if p.why == nil && p.ctx.Err() == nil {
		p.why = err
	}
	p.mu.Unlock()
}

// onReader runs a call on a free reader's lane.
func (p *sdkPool) onReader(ctx context.Context, operation string, do func(*tcp.IggyTcpClient) error) error {
	select {
	case l := <-p.readers:
		defer func() { p.readers <- l }()
		return l.call(ctx, operation, do)
	case <-ctx.Done():
		return ctx.Err()
	case <-p.ctx.Done():
		return ErrClosed
	}
}
