// Package engine is a durable server of Apache Iggy 0.8's TCP protocol. It keeps
// streams, topics, partitions, messages, consumer offsets, groups, users and tokens
// in one data folder and answers any client of that protocol.
//
// What is acknowledged has been handed to the operating system, so the end of the
// process at any moment loses nothing; what the end of the machine may take is
// decided by Options.Fsync.
//
// Lock order: Engine.mu, group.mu, offsetStore.mu. Partition logs have locks of
// their own, below all of these.
package engine

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"kafka-iggy-bridge/internal/engine/metalog"
	"kafka-iggy-bridge/internal/engine/storage"
)

// FsyncPolicy says when written data is forced to the disk.
type FsyncPolicy string

// The policies.
const (
	FsyncNever    FsyncPolicy = "never"    // the operating system decides
	FsyncInterval FsyncPolicy = "interval" // every Options.FsyncInterval
	FsyncAlways   FsyncPolicy = "always"   // before it is acknowledged; concurrent appends share one sync
)

// Defaults of Options.
const (
	DefaultListen            = "127.0.0.1:0"
	DefaultRootUser          = "iggy"
	DefaultFsyncInterval     = time.Second
	DefaultSegmentBytes      = storage.MaxSegmentBytes
	DefaultRetentionInterval = time.Minute
	DefaultMaxSendBytes      = 256 << 20
	DefaultMaxPollBytes      = 256 << 20
	DefaultWriteTimeout      = 30 * time.Second
)

// Options configure an Engine. Only DataDir is needed.
type Options struct {
	// DataDir is the folder everything is kept in; it is created when absent. One
	// engine at a time may use it.
	DataDir string

	// Listen is the TCP address to serve; 127.0.0.1 and a free port when empty.
	Listen string

	// TLS, when set, makes the address serve TLS only.
	TLS *tls.Config

	// SelfSigned does the same with a certificate that signs itself. It is made at
	// first start and kept in the data folder. Not together with TLS.
	SelfSigned bool

	// RootUser and RootPassword are the root user's credentials. Without a password
	// one is generated at first start and kept in the data folder. A password given
	// later replaces the one in use.
	RootUser, RootPassword string

	// Fsync is when data is forced to disk; FsyncNever when empty.
	Fsync FsyncPolicy

	// FsyncInterval is the period of FsyncInterval; one second when 0.
	FsyncInterval time.Duration

	// SegmentBytes is the size at which a partition's segment is sealed: 512 bytes
	// to 1 GiB, 1 GiB when 0. No topic's maximum size may be below it.
	SegmentBytes int64

	// RetentionInterval is how often expired and surplus segments are looked for;
	// one minute when 0.
	RetentionInterval time.Duration

	// Heartbeat, when above 0, makes clients whose last Ping is older than 1.2 times
	// this lose their group memberships.
	Heartbeat time.Duration

	// MaxSendBytes bounds one send's payload and MaxPollBytes about bounds one poll's
	// answer; 256 MiB each when 0, 512 MiB at most.
	MaxSendBytes, MaxPollBytes int

	// MaxOpenFiles bounds open segment files; 512 when 0.
	MaxOpenFiles int

	// WriteTimeout is how long a client may take to accept an answer; 30 seconds
	// when 0.
	WriteTimeout time.Duration

	// Logger receives the engine's logs; they are dropped when nil.
	Logger logrus.FieldLogger

	// Clock gives the time; the wall clock when nil.
	Clock func() time.Time

	// OpenFile opens segment files; tests put faults behind it.
	OpenFile storage.OpenFunc

	// compactBytes is how much the catalog and the offsets may grow before a new
	// snapshot; the log's default when 0.
	compactBytes int64
}

// Errors of Open that callers decide on.
var (
	// ErrLocked means another engine uses the data folder.
	ErrLocked = errors.New("engine: the data folder is in use")

	// ErrNewerFormat means the data folder was written by a newer version.
	ErrNewerFormat = errors.New("engine: the data folder was written by a newer version")
)

func (o *Options) setDefaults() error {
	if o.DataDir == "" {
		return errors.New("engine: no data folder given")
	}
	setDefault(&o.Listen, DefaultListen)
	setDefault(&o.Fsync, FsyncNever)
	setDefault(&o.FsyncInterval, DefaultFsyncInterval)
	setDefault(&o.SegmentBytes, DefaultSegmentBytes)
	setDefault(&o.RetentionInterval, DefaultRetentionInterval)
	setDefault(&o.MaxSendBytes, DefaultMaxSendBytes)
	setDefault(&o.MaxPollBytes, DefaultMaxPollBytes)
	setDefault(&o.WriteTimeout, DefaultWriteTimeout)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Logger == nil {
		quiet := logrus.New()
		quiet.SetLevel(logrus.PanicLevel)
		o.Logger = quiet
	}
	switch {
	case o.Fsync != FsyncNever && o.Fsync != FsyncInterval && o.Fsync != FsyncAlways:
		return fmt.Errorf("engine: fsync policy %q is not one of never, interval, always", o.Fsync)
	case o.FsyncInterval < 0 || o.RetentionInterval < 0 || o.Heartbeat < 0 || o.WriteTimeout < 0:
		return errors.New("engine: a negative interval was given")
	case o.TLS != nil && o.SelfSigned:
		return errors.New("engine: both a TLS configuration and a self-signed certificate are asked for")
	case o.MaxSendBytes < 1 || o.MaxSendBytes > storage.MaxBatchBytes:
		return fmt.Errorf("engine: send limit %d is outside 1..%d bytes", o.MaxSendBytes, storage.MaxBatchBytes)
	case o.MaxPollBytes < 1 || o.MaxPollBytes > storage.MaxBatchBytes:
		return fmt.Errorf("engine: poll limit %d is outside 1..%d bytes", o.MaxPollBytes, storage.MaxBatchBytes)
	}
	return nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Engine is a running server.
type Engine struct {
	opts     Options
	log      logrus.FieldLogger
	started  time.Time
	folder   *folder
	store    *storage.Store
	listener net.Listener
	offsets  *offsetStore
	sessions sessions
	hasher   hasher
	usage    usage

	// mu guards the catalog: everything reachable from it except what has a lock of
	// its own. A request holds it for reading while it looks things up, and for
	// writing while it changes the catalog and its log.
	mu      sync.RWMutex
	catalog catalog
	meta    *metalog.Log

	stop    chan struct{}  // closed when Close begins
	tasks   sync.WaitGroup // background work
	removal sync.WaitGroup // deletions of data under way
	once    sync.Once
	closing error
}

// Open starts an engine on a data folder. It returns when clients can connect.
func Open(opts Options) (*Engine, error) {
	if err := opts.setDefaults(); err != nil {
		return nil, err
	}
	folder, err := openFolder(opts.DataDir)
	if err != nil {
		return nil, err
	}
	e := &Engine{
		opts:    opts,
		log:     opts.Logger,
		started: opts.Clock(),
		folder:  folder,
		stop:    make(chan struct{}),
	}
	if err := e.load(); err != nil {
		return nil, errors.Join(err, e.closeFiles(false))
	}
	if opts.SelfSigned {
		if e.opts.TLS, err = e.selfSigned(); err != nil {
			return nil, errors.Join(err, e.closeFiles(true))
		}
	}
	if err := e.listen(); err != nil {
		return nil, errors.Join(err, e.closeFiles(true))
	}
	if err := e.folder.writeContact(storedContact{Address: e.Addr().String(), TLS: e.opts.TLS != nil, SelfSigned: e.opts.SelfSigned}); err != nil {
		return nil, errors.Join(err, e.Close(context.Background()))
	}
	e.startTasks()
	e.log.WithFields(logrus.Fields{"address": e.Addr().String(), "data_dir": opts.DataDir, "fsync": string(opts.Fsync)}).
		Info("engine started")
	return e, nil
}

// load reads the data folder.
func (e *Engine) load() error {
	var err error
	e.store, err = storage.NewStore(e.folder.partitions(), storage.Options{
		Sync:           e.syncPolicy(),
		SegmentBytes:   e.opts.SegmentBytes,
		MaxOpenFiles:   e.opts.MaxOpenFiles,
		Salt:           e.folder.salt,
		MachineCrashed: e.folder.machineCrashed,
		Now:            e.now,
		OpenFile:       e.opts.OpenFile,
		Logger:         e.log,
	})
	if err != nil {
		return err
	}
	options := metalog.Options{Sync: e.opts.Fsync == FsyncAlways, MachineCrashed: e.folder.machineCrashed, CompactBytes: e.opts.compactBytes, Logger: e.log}
	e.catalog.init()
	e.meta, err = metalog.Open(e.folder.meta(), "catalog", options, e.catalog.apply)
	if err != nil {
		return e.folderError(err)
	}
	if err := e.catalog.link(); err != nil {
		return err
	}
	options.SkipCorrupt = true
	e.offsets, err = openOffsets(e.folder.meta(), options)
	if err != nil {
		return e.folderError(err)
	}
	if err := e.openLogs(); err != nil {
		return err
	}
	return e.ensureRoot()
}

func (e *Engine) folderError(err error) error {
	if errors.Is(err, metalog.ErrNewerFormat) {
		return fmt.Errorf("%w: %w", ErrNewerFormat, err)
	}
	return err
}

func (e *Engine) syncPolicy() storage.SyncPolicy {
	switch e.opts.Fsync {
	case FsyncAlways:
		return storage.SyncAlways
	case FsyncInterval:
		return storage.SyncInterval
	}
	return storage.SyncNever
}

// now is the server's time in µs since the Unix epoch.
func (e *Engine) now() uint64 { return uint64(e.opts.Clock().UnixMicro()) }

// Addr returns the address the engine serves.
func (e *Engine) Addr() net.Addr { return e.listener.Addr() }

// Credentials returns the root user's name and password. The password is empty when it
// was configured at an earlier start and is not in these options.
func (e *Engine) Credentials() (user, password string) {
	return e.folder.credentials()
}

// Close stops accepting, lets requests under way finish, tells clients that they are
// disconnected, and closes the data folder with everything forced to disk. When ctx
// ends first, connections are cut; the data is still closed in order. It returns the
// first error of closing the data.
func (e *Engine) Close(ctx context.Context) error {
	e.once.Do(func() {
		close(e.stop)
		if err := e.listener.Close(); err != nil {
			e.log.WithError(err).Debug("listener closed")
		}
		e.sessions.shutdown(ctx)
		e.tasks.Wait()
		e.removal.Wait()
		e.closing = e.closeFiles(true)
		e.log.Info("engine stopped")
	})
	return e.closing
}

// closeFiles closes what load opened; clean says that everything is in order and may
// be trusted at the next start.
func (e *Engine) closeFiles(clean bool) error {
	var failed []error
	note := func(err error) {
		if err != nil {
			failed = append(failed, err)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	note(e.closeLogs(clean))
	if e.meta != nil {
		note(e.meta.Sync())
		note(e.meta.Close())
	}
	if e.offsets != nil {
		note(e.offsets.close())
	}
	note(e.folder.close(clean && len(failed) == 0))
	return errors.Join(failed...)
}

// closeLogs closes all partitions' logs, forced to disk when force is set. Syncs wait
// for the disk, which takes many at once as well as one.
func (e *Engine) closeLogs(force bool) error {
	const together = 16
	work := make(chan *storage.Log)
	failed := make([]error, together)
	var workers sync.WaitGroup
	for i := range together {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for l := range work {
				if force {
					failed[i] = errors.Join(failed[i], l.Sync())
				}
				failed[i] = errors.Join(failed[i], l.Close())
			}
		}()
	}
	for p := range e.catalog.allPartitions() {
		if p.log != nil {
			work <- p.log
		}
	}
	close(work)
	workers.Wait()
	return errors.Join(failed...)
}
