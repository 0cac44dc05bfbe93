package bridge

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/apache/iggy/foreign/go/client/tcp"
	ierror "github.com/apache/iggy/foreign/go/errors"
	"github.com/sirupsen/logrus"
)

// lane is one connection to Iggy, with at most one call at a time. It connects
// when it is used, and anew after a fault.
type lane struct {
	pool *sdkPool
	turn chan struct{} // holds a token while a call has the lane

	// client and socket belong to whoever has the turn; socket is read by
	// interrupt as well, and so guarded by mu.
	client *tcp.IggyTcpClient
	mu     sync.Mutex
	socket *socket
	used   time.Time
}

// idleCheck is how long a connection may lie idle without being looked at
// before it is used again.
const idleCheck = 20 * time.Millisecond

func newLane(p *sdkPool) *lane { return &lane{pool: p, turn: make(chan struct{}, 1)} }

// errNotSent marks errors of calls that never reached Iggy.
var errNotSent = errors.New("nothing was sent")

// call runs one SDK call on the lane, within Config.RequestTimeout. A call that
// has begun is not ended by ctx: its outcome matters to others. Errors of Iggy's
// own come as they are, see translate; others wrap ErrUnavailable, ErrTimeout or
// ErrStorage, and errNotSent when nothing was sent.
func (l *lane) call(ctx context.Context, operation string, do func(*tcp.IggyTcpClient) error) error {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", errNotSent, ctx.Err())
	case <-l.pool.ctx.Done():
		return fmt.Errorf("%w: %w", errNotSent, ErrClosed)
	}
	defer func() { <-l.turn }()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", errNotSent, err) // the turn came too late
	}
	if err := l.ready(ctx); err != nil {
		return fmt.Errorf("%w: %w", errNotSent, err)
	}
	begun := time.Now()
	err := l.attempt(begun, do)
	l.used = time.Now()
	l.pool.metrics.IggyCall(operation, l.used.Sub(begun), err)
	if err == nil {
		return nil
	}
	var answer ierror.IggyError
	if errors.As(err, &answer) && !endsConnection(answer) {
		return err
	}
	l.drop()
	l.pool.silent(err)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%w: %s took longer than %v", ErrTimeout, operation, l.pool.config.RequestTimeout)
	case errors.Is(err, errSDKPanic):
		return fmt.Errorf("%w: %s: %w", ErrStorage, operation, err)
	}
	return fmt.Errorf("%w: %s: %w", errConnectionLost, operation, err)
}

// errConnectionLost says that a connection broke during a call.
var errConnectionLost = errors.New("the connection to iggy broke")

// attempt is one SDK call with a deadline.
func (l *lane) attempt(begun time.Time, do func(*tcp.IggyTcpClient) error) error {
	if err := l.socket.limit(begun.Add(l.pool.config.RequestTimeout)); err != nil {
		return err
	}
	if l.pool.ctx.Err() != nil {
		return net.ErrClosed
	}
	err := guarded(l.pool.log, l.client, do)
	if err == nil {
		l.pool.answered()
	}
	return err
}

// errSDKPanic says that the SDK panicked, as it does on answers it does not
// expect.
var errSDKPanic = errors.New("the Iggy SDK panicked")

func guarded(log logrus.FieldLogger, client *tcp.IggyTcpClient, do func(*tcp.IggyTcpClient) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			log.WithField("stack", string(debug.Stack())).WithField("panic", r).Error("the Iggy SDK panicked")
			err = fmt.Errorf("%w: %v", errSDKPanic, r)
		}
	}()
	return do(client)
}

// endsConnection reports whether the server closes the connection behind an
// answer, or the answer means that both sides no longer agree where a frame
// begins.
func endsConnection(answer ierror.IggyError) bool {
	switch answer.Code() {
	case ierror.DisconnectedCode, ierror.StaleClientCode, ierror.UnauthenticatedCode, ierror.ClientNotFoundCode,
		ierror.InvalidCommandCode, ierror.EmptyResponseCode:
		return true
	}
	return false
}

// ready makes sure that there is a connection that was not closed meanwhile.
func (l *lane) ready(ctx context.Context) error {
	if l.client != nil && time.Since(l.used) > idleCheck {
		if err := l.socket.check(); err != nil {
			l.drop()
			l.pool.silent(err)
		}
	}
	if l.client != nil {
		return nil
	}
	if err := l.pool.mayConnect(); err != nil {
		return err
	}
	err := l.connect(ctx)
	if ctx.Err() == nil {
		l.pool.connected(err)
	}
	if err == nil || errors.Is(err, ErrUnauthorized) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// drop gives a connection up.
func (l *lane) drop() {
	l.mu.Lock()
	s := l.socket
	l.socket = nil
	l.mu.Unlock()
	if s != nil {
		s.abort()
	}
	l.client = nil
}

// interrupt makes a call that is on its way fail.
func (l *lane) interrupt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.socket != nil {
		l.socket.abort()
	}
}

// shut waits for the call that has the lane and ends the connection.
func (l *lane) shut() {
	l.turn <- struct{}{}
	l.drop()
	<-l.turn
}

// built is an SDK client that is logged in.
type built struct {
	client *tcp.IggyTcpClient
	socket *socket
	err    error
}

// connect makes an SDK client and logs it in, within Config.DialTimeout.
func (l *lane) connect(ctx context.Context) error {
	p := l.pool
	probing, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(p.ctx, cancel)
	err := p.config.probe(probing)
	stop()
	cancel()
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.stuck++
	p.mu.Unlock()
	result := make(chan built, 1)
	go func() {
		result <- p.build()
		p.mu.Lock()
		p.stuck--
		p.mu.Unlock()
	}()
	timer := time.NewTimer(2 * p.config.DialTimeout)
	defer timer.Stop()
	select {
	case b := <-result:
		if b.err != nil {
			return b.err
		}
		l.client = b.client
		l.mu.Lock()
		l.socket = b.socket
		l.mu.Unlock()
		return nil
	case <-timer.C:
	case <-p.ctx.Done():
	}
	// The SDK cannot be told to stop. Whatever comes of it is closed.
	go func() {
		if b := <-result; b.socket != nil {
			b.socket.abort()
		}
	}()
	if p.ctx.Err() != nil {
		return ErrClosed
	}
	return fmt.Errorf("%w: connecting", ErrTimeout)
}

// build makes an SDK client and logs it in. Only the redirection to a cluster's
// leader, deep inside the SDK, can take for ever.
func (p *sdkPool) build() built {
	options := []tcp.Option{tcp.WithServerAddress(p.config.Address)}
	if t := p.config.TLS; t.Enabled {
		options = append(options, tcp.WithTLS(
			tcp.WithTLSDomain(t.Domain), tcp.WithTLSCAFile(t.CAFile), tcp.WithTLSValidateCertificate(!t.SkipVerify)))
	}
	client, err := tcp.NewIggyTcpClient(options...)
	if err != nil {
		return built{err: err}
	}
	s, err := socketOf(client)
	if err != nil {
		return built{err: err}
	}
	if err := s.limit(time.Now().Add(p.config.DialTimeout)); err != nil {
		s.abort()
		return built{err: err}
	}
	err = guarded(p.log, client, func(c *tcp.IggyTcpClient) error {
		_, err := c.LoginUser(p.config.Username, p.config.Password)
		return err
	})
	if err != nil {
		s.abort()
		var answer ierror.IggyError
		if errors.As(err, &answer) && refusesUser(answer.Code()) {
			return built{err: fmt.Errorf("%w %s: %w", ErrUnauthorized, p.config.Username, err)}
		}
		return built{err: fmt.Errorf("logging in: %w", err)}
	}
	// A redirection made another connection.
	if s, err = socketOf(client); err != nil {
		return built{err: err}
	}
	return built{client: client, socket: s}
}
