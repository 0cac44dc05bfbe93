package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// copying is how members of a group copy what they receive to another topic, in
// transactions that commit the group's offsets as well.
type copying struct {
	addr, group, from, to string
	opts                  []kgo.Opt
	// lives is how many times a copier leaves in the midst of a transaction, each
	// time after some that it has ended, to come back with the same transactional id.
	lives int
	// aborts makes it abort a transaction now and then.
	aborts bool
	// kills is how often the bridge was killed. A producer that did not get the
	// epoch it was given before a kill is taken for a former one behind it: also with
	// Kafka, whose records do not have the epoch before.
	kills *atomic.Int64
}

// copier is such a member.
type copier struct {
	copying
	id    string
	s     *kgo.GroupTransactSession
	stop  context.CancelFunc
	ended chan struct{}

	copied atomic.Int64 // records in transactions that were committed
	fenced int64        // how often the copier was taken for a former one
}

// join starts a copier that works until it is told to leave.
func (w copying) join(t *testing.T, id string) *copier {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	c := &copier{copying: w, id: id, stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		for ctx.Err() == nil {
			if err := c.live(ctx); err != nil {
				t.Errorf("%s: %v", id, err)
				return
			}
		}
	}()
	t.Cleanup(c.leave)
	return c
}

// leave ends the copier; its group is told.
func (c *copier) leave() {
	c.stop()
	<-c.ended
}

// retryPause is the time between attempts which kgo gives up when nobody listens.
const retryPause = 50 * time.Millisecond

var (
	// errLeft says that a copier has left its group.
	errLeft = errors.New("the copier has left")
	// errAgain says that it does not know where it is.
	errAgain = errors.New("the copier begins anew")
)

// options are those of a copier's session.
func (w copying) options(id string) []kgo.Opt {
	return slices.Concat([]kgo.Opt{kgo.SeedBrokers(w.addr), kgo.TransactionalID(id), kgo.ClientID(id), kgo.ConsumerGroup(w.group), kgo.ConsumeTopics(w.from),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.ProducerLinger(0),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.FetchMaxWait(100 * time.Millisecond), kgo.HeartbeatInterval(100 * time.Millisecond),
		kgo.SessionTimeout(6 * time.Second), kgo.MetadataMaxAge(time.Second)}, persistent(), w.opts)
}

// live is one life of a copier.
func (c *copier) live(ctx context.Context) error {
	const transactions = 3
	s, err := kgo.NewGroupTransactSession(c.options(c.id)...)
	if err != nil {
		return err
	}
	defer s.Close()
	c.s = s
	// What the life before left open is to be aborted, even if there is nothing to
	// copy.
	for _, _, err := s.Client().ProducerID(ctx); err != nil; _, _, err = s.Client().ProducerID(ctx) {
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
			return nil
		}
	}
	for i := 0; ; {
		n, err := c.once(ctx, c.lives > 0 && i == transactions)
		switch {
		case errors.Is(err, errLeft):
			c.lives--
			return nil
		case errors.Is(err, errAgain):
			return nil
		case fenced(err) && c.kills != nil && c.fenced < c.kills.Load():
			c.fenced++
			return nil
		case err != nil:
			return err
		case n > 0:
			i++
			c.copied.Add(int64(n))
		}
	}
}

// once copies what one poll brings, and returns how many records were committed.
// Leaving, it writes them and does not end the transaction.
func (c *copier) once(ctx context.Context, leaving bool) (int, error) {
	fetches := c.s.PollRecords(ctx, 30)
	if ctx.Err() != nil || fetches.IsClientClosed() {
		return 0, errLeft
	}
	for _, e := range fetches.Errors() {
		if e.Topic != "" { // else it is about the group, which it joins again
			return 0, fmt.Errorf("fetch %s-%d: %w", e.Topic, e.Partition, e.Err)
		}
	}
	rs := fetches.Records()
	if len(rs) == 0 {
		return 0, nil
	}
	if err := c.s.Begin(); err != nil {
		return 0, fmt.Errorf("begin: %w", err)
	}
	var failed atomic.Pointer[error]
	for _, r := range rs {
		c.s.Produce(context.Background(), &kgo.Record{Topic: c.to, Partition: r.Partition, Key: r.Key, Value: r.Value}, func(_ *kgo.Record, err error) {
			if err != nil && !errors.Is(err, kgo.ErrAborting) {
				failed.CompareAndSwap(nil, &err)
			}
		})
	}
	if leaving {
		err := c.s.Client().Flush(ctx)
		if err == nil {
			err = errLeft
		}
		return 0, err
	}
	bound, cancel := context.WithTimeout(context.Background(), stepTime)
	defer cancel()
	committed, err := c.s.End(bound, kgo.TransactionEndTry(!c.aborts || rand.N(5) > 0))
	switch lost := failed.Load(); {
	case err != nil:
		return 0, c.giveUp(err)
	case !committed:
		return 0, nil
	case lost != nil:
		return 0, fmt.Errorf("a transaction is committed without a record: %w", *lost)
	}
	return len(rs), nil
}

// giveUp ends a transaction of which it is not known how it ended: a new epoch
// aborts what is open. What the group has committed must then be asked for anew,
// which is a new life.
func (c *copier) giveUp(why error) error {
	ctx, cancel := context.WithTimeout(context.Background(), stepTime)
	defer cancel()
	for {
		if _, told := errors.AsType[*kerr.Error](why); told || ctx.Err() != nil {
			return fmt.Errorf("end: %w", why)
		}
		if why = c.s.Client().EndTransaction(ctx, kgo.TryAbort); why == nil {
			_, _, why = c.s.Client().ProducerID(ctx)
		}
		if why == nil {
			return errAgain
		}
		<-time.After(retryPause)
	}
}

// copyMatches checks, while nobody copies, that a topic has exactly the records of
// another one that a group has committed.
func copyMatches(t *testing.T, addr, group, from, to string) {
	t.Helper()
	source, copied := readRecords(t, addr, kgo.ReadCommitted(), from), readAll(t, addr, kgo.ReadCommitted(), to)
	stored := fetchCommits(t, addr, group)
	want := map[place][]string{}
	for at, rs := range source {
		committed, _ := stored.Lookup(from, at.partition)
		for _, r := range rs {
			if r.Offset < committed.At {
				want[place{to, at.partition}] = append(want[place{to, at.partition}], string(r.Value))
			}
		}
	}
	sameValues(t, to, copied, want)
}
